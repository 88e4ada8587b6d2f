"""The views of the explorer in their order, each with the key that shows it."""

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class View:
    """A view: its id, the key that shows it, and the module of its widget if that is not the id."""

    id: str
    key: str
    module: str = ""

    @property
    def label(self) -> str:
        """Its line in the list of views."""
        return f"{self.key or ' '} {self.id.capitalize()}"

    def widget(self) -> Any:
        """Return a new widget."""
        module = importlib.import_module(f"ragmem.cli.explorer.{self.module or self.id}")
        return getattr(module, self.id.capitalize())(id=self.id)


LISTS = "lists"
"""The module of several small views."""

VIEWS = tuple(
    View(*one)
    for one in (
        ("overview", "1"),
        ("sources", "2", LISTS),
        ("memories", "3"),
        ("search", "4"),
        ("entities", "5"),
        ("connections", "6"),
        ("lifecycle", "7"),
        ("queue", "8", LISTS),
        ("injections", "9", LISTS),
        ("records", "0", LISTS),
        ("approvals", "", LISTS),
        ("shared", ""),
        ("transcripts", "", LISTS),
        ("agents", "", LISTS),
        ("log", "", LISTS),
    )
)

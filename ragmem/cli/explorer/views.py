"""The views of the explorer in their order, each with the key that shows it."""

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class View:
    """A view: its id, which is also the module of its widget, and the key that shows it."""

    id: str
    key: str

    @property
    def label(self) -> str:
        """Its line in the list of views."""
        return f"{self.key or ' '} {self.id.capitalize()}"

    def widget(self) -> Any:
        """Return a new widget."""
        module = importlib.import_module(f"ragmem.cli.explorer.{self.id}")
        return getattr(module, self.id.capitalize())(id=self.id)


VIEWS = tuple(
    View(name, key)
    for name, key in (
        ("overview", "1"),
        ("sources", "2"),
        ("memories", "3"),
        ("search", "4"),
        ("entities", "5"),
        ("connections", "6"),
        ("lifecycle", "7"),
        ("queue", "8"),
        ("injections", "9"),
        ("records", "0"),
        ("approvals", ""),
        ("shared", ""),
        ("transcripts", ""),
        ("agents", ""),
        ("log", ""),
    )
)

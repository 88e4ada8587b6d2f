"""The views of the explorer in their order, each with the key that shows it."""

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class View:
    """A view: its id, the key that shows it, and where its widget is, which is imported then."""

    id: str
    key: str
    module: str

    @property
    def label(self) -> str:
        """How it stands in the list."""
        return f"{self.key or ' '} {self.id.capitalize()}"

    def widget(self) -> Any:
        """Return its widget, made now."""
        module = importlib.import_module(f"ragmem.cli.explorer.{self.module}")
        return getattr(module, self.id.capitalize())(id=self.id)


VIEWS = tuple(
    View(name, key, module)
    for name, key, module in (
        ("overview", "1", "overview"),
        ("sources", "2", "sources"),
        ("memories", "3", "memories"),
        ("search", "4", "search"),
        ("entities", "5", "entities"),
        ("connections", "6", "connections"),
        ("lifecycle", "7", "lifecycle"),
        ("queue", "8", "queue"),
        ("injections", "9", "injections"),
        ("records", "0", "records"),
        ("transcripts", "", "transcripts"),
        ("agents", "", "agents"),
        ("log", "", "log"),
    )
)

"""The open scopes at a position of a file, and the facts that are found there."""

from dataclasses import dataclass, field
from typing import Any

from ragmem.domain.code.code import SymbolKind

OWNING = (SymbolKind.CLASS, SymbolKind.INTERFACE)
"""Kinds of symbols that have members."""


@dataclass(slots=True)
class Scope:
    """An open definition, or a function without a name."""

    end: int
    prefix: str
    symbol: str
    owner: str
    type_owner: str = ""
    """The class of `this`."""
    kind: SymbolKind | None = None
    names: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Facts:
    """The facts of a file that linking needs, as lists of rows."""

    namespace: str
    imports: list[list[Any]] = field(default_factory=list)
    members: list[list[str]] = field(default_factory=list)
    calls: list[list[Any]] = field(default_factory=list)
    passed: list[list[Any]] = field(default_factory=list)
    bases: list[list[Any]] = field(default_factory=list)
    fields: list[list[str]] = field(default_factory=list)
    returns: list[list[str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the facts that are not empty."""
        rows = {name: getattr(self, name) for name in self.__slots__}
        # The result of a chain of calls is known in its own file alone.
        rows["fields"] = [row for row in self.fields if not row[2].startswith("#")]
        return {name: value for name, value in rows.items() if value or name == "namespace"}

"""What is open at a place of a file, and what is found there."""

from dataclasses import dataclass, field
from typing import Any

from ragmem.domain.code.code import SymbolKind

OWNING = (SymbolKind.CLASS, SymbolKind.INTERFACE)
"""Kinds of symbols that have members."""


@dataclass(slots=True)
class Scope:
    """What is open at a place of the file: a definition, or a function without a name."""

    end: int
    prefix: str
    symbol: str
    owner: str
    type_owner: str = ""
    """The class that `this` is one of."""
    kind: SymbolKind | None = None
    names: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Facts:
    """What linking needs of a file; each list is one of rows."""

    namespace: str
    imports: list[list[Any]] = field(default_factory=list)
    members: list[list[str]] = field(default_factory=list)
    calls: list[list[Any]] = field(default_factory=list)
    bases: list[list[Any]] = field(default_factory=list)
    fields: list[list[str]] = field(default_factory=list)
    returns: list[list[str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return what there is of them."""
        rows = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in rows.items() if value or name == "namespace"}

"""The facts of a Python file that linking needs: a flat list of value flows, without the source.

Every variable and every intermediate result is a node, a number within the file. The facts list which value
flows to which node, in numbers, so that they are compact JSON and fast to read.
"""

from dataclasses import dataclass, field
from typing import Any

VERSION = 1
"""Version of the facts; other versions are not linked."""

MODULE, CLASS, FUNCTION, LAMBDA = "m", "c", "f", "l"

KEY_CHARS = 40
"""A longer string is text, not a dictionary key."""

NOTHING = -1
"""The node of an expression through which no function or class flows."""


def is_key(value: object) -> bool:
    """Return whether a constant may be a key."""
    if isinstance(value, str):
        return len(value) <= KEY_CHARS and value.isprintable()
    return isinstance(value, int) and abs(value) < 2**31


Place = tuple[list[Any], int]
"""The position of the value of an entry in the facts: a row, and an index in it."""


@dataclass(slots=True)
class Unread:
    """The entries of a container that have not been read yet, by key; `length` is that of a list."""

    length: int | None = None
    places: dict[Any, Place] = field(default_factory=dict)

    def at(self, key: Any) -> Any:
        """Return the key of an entry, counted from the start of a list."""
        return key + self.length if self.length is not None and isinstance(key, int) and key < 0 else key


@dataclass(slots=True)
class Scope:
    """A module, class, function or lambda during the analysis; `names` are the nodes of its variables."""

    index: int
    kind: str
    name: str
    parent: "Scope | None"
    line: int
    names: dict[str, int] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    hidden: list[dict[str, int]] = field(default_factory=list)
    result: int = NOTHING
    yields: int = NOTHING
    lambdas: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    bases: list[int] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    owner: "Scope | None" = None
    of_class: bool = False
    definition: int = NOTHING
    unread: dict[str, Unread] = field(default_factory=dict)
    """Containers that have not been read since a variable was assigned."""
    guards: int = 0
    """Blocks around the current statement that catch exceptions."""


class Facts:
    """Collects the nodes and flows of one file."""

    def __init__(self) -> None:
        self.size = 0
        self.scopes: list[Scope] = []
        self.lists: dict[str, list[Any]] = {}
        self.constants: dict[tuple[type, Any], int] = {}
        self.types: dict[str, int] = {}
        self.exports: list[str] | None = None

    def node(self) -> int:
        """Return a new node."""
        self.size += 1
        return self.size - 1

    def scope(self, kind: str, name: str, parent: Scope | None, line: int) -> Scope:
        """Return a new scope; `name` is qualified within the module."""
        made = Scope(len(self.scopes), kind, name, parent, line)
        if kind in {FUNCTION, LAMBDA}:
            made.result = self.node()
        self.scopes.append(made)
        return made

    def add(self, relation: str, *row: Any) -> None:
        """Add a flow."""
        self.lists.setdefault(relation, []).append(list(row))

    def copy(self, source: int, target: int) -> None:
        """Add a flow from one node to another."""
        if NOTHING not in {source, target} and source != target:
            self.lists.setdefault("copies", []).append([source, target])

    def constant(self, value: object) -> int:
        """Return the node of a constant; constants that are no keys have none."""
        if not is_key(value):
            return self.type(type(value).__name__) if isinstance(value, str | bytes) else NOTHING
        known = self.constants.get((type(value), value))
        if known is None:
            known = self.constants[type(value), value] = self.node()
        return known

    def type(self, name: str) -> int:
        """Return the node of a value of a built-in type."""
        if name not in self.types:
            self.types[name] = self.node()
        return self.types[name]

    def name(self, scope: Scope, name: str) -> int:
        """Return the node of a variable that a scope reads."""
        at: Scope | None = scope
        while at is not None:
            for hidden in reversed(at.hidden):
                if name in hidden:
                    return hidden[name]
            if name in at.bound:
                break
            at = at.parent
        return self._own(scope, name)

    def bind(self, scope: Scope, name: str) -> int:
        """Return the node of a variable that a scope assigns."""
        if scope.hidden and name in scope.hidden[-1]:
            return scope.hidden[-1][name]
        if name in scope.globals:
            scope = self.scopes[0]
        if name not in scope.nonlocals:
            scope.bound.add(name)
        return self._own(scope, name)

    def _own(self, scope: Scope, name: str) -> int:
        scope.unread.pop(name, None)
        node = scope.names.get(name)
        if node is None:
            node = scope.names[name] = self.node()
        return node

    def finish(self) -> dict[str, Any]:
        """Return all facts as JSON; a nonlocal variable is one node."""
        module = self.scopes[0]
        alias: list[int] = []
        for scope in self.scopes[1:]:
            for name, node in list(scope.names.items()):
                if name in scope.bound:
                    continue
                alias += [node, self._outer(scope, name, module)]
        made: dict[str, Any] = {"version": VERSION, "scopes": [_row(one) for one in self.scopes]}
        made["globals"] = {name: node for name, node in module.names.items() if name in module.bound}
        made["free"] = {name: node for name, node in module.names.items() if name not in module.bound}
        made["alias"] = alias
        made["constants"] = [[node, key] for (_, key), node in self.constants.items()]
        made["types"] = dict(self.types)
        made.update(self.lists)
        if self.exports is not None:
            made["exports"] = self.exports
        made["size"] = self.size
        return made

    def _outer(self, scope: Scope, name: str, module: Scope) -> int:
        outer = None if name in scope.globals else scope.parent
        while outer is not None and outer is not module:
            if outer.kind != CLASS and name in outer.bound:
                return outer.names[name]
            outer = outer.parent
        if name not in module.names:
            module.names[name] = self.node()
        return module.names[name]


def _row(scope: Scope) -> dict[str, Any]:
    """Return the stored facts of a scope, without empty ones."""
    row: dict[str, Any] = {"kind": scope.kind, "name": scope.name, "line": scope.line}
    if scope.parent is not None:
        row["parent"] = scope.parent.index
    if scope.result != NOTHING:
        row["result"] = scope.result
    if scope.yields != NOTHING:
        row["yields"] = scope.yields
    if scope.owner is not None:
        row["owner"] = scope.owner.index
        if scope.of_class:
            row["of_class"] = 1
    if scope.kind == CLASS:
        row["bases"] = scope.bases
        row["names"] = {name: node for name, node in scope.names.items() if name in scope.bound}
        row["node"] = scope.definition
        if scope.fields:
            row["fields"] = scope.fields
    row.update(scope.parameters)
    return row

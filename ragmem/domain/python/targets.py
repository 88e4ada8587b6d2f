"""Collect the facts of assignments: the flow into names, attributes and elements."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ragmem.domain.python.facts import NOTHING, Facts, Scope
from ragmem.domain.python.overwritten_entries import EntryTracker

Value = int | list[Any]
"""The node of a value; a list of values for a tuple that is unpacked at once."""


class Targets(ABC):
    """Assigns in the current scope."""

    facts: Facts
    scope: Scope
    entries: EntryTracker

    @abstractmethod
    def value(self, node: ast.expr) -> int:
        """Return the node of an expression's value; NOTHING if no relevant value flows."""

    @abstractmethod
    def key(self, node: ast.expr) -> int | list[Any] | None:
        """Return a subscript's key: a constant in a list, a node, or None if it is unknown."""

    def row(self, relation: str, node: int, *rest: Any, at: ast.expr | ast.stmt) -> int:
        """Add a flow from a node at a line of the current scope; return its target."""
        if node == NOTHING:
            return NOTHING
        target = self.facts.node()
        self.facts.add(relation, node, *rest, target, at.lineno, self.scope.index)
        return target

    def elements(self, node: int, at: ast.expr | ast.stmt) -> int:
        """Return the node of the items of an iteration over a value."""
        return self.row("iters", node, at=at)

    def slice(self, base: int, lower: int, upper: int | None, *, plain: bool = True) -> int:
        """Return the node of a slice of a list."""
        if base == NOTHING:
            return NOTHING
        target = self.facts.node()
        self.facts.add("slices", base, lower, upper, int(plain), target)
        return target

    def box(self, kind: str, elements: Sequence[int]) -> int:
        """Return the node of a new list, tuple, set or dict with the elements."""
        target = self.facts.node()
        self.facts.add("boxes", target, kind, list(elements))
        return target

    def assign(self, target: ast.expr, value: Value) -> None:
        """Flow a value to the target of an assignment."""
        if isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value)
            return
        if isinstance(value, list):
            value = self.pack(value)
        if isinstance(target, ast.Name):
            self.facts.copy(value, self.facts.bind(self.scope, target.id))
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            if NOTHING not in {base, value}:
                self.facts.add("stores", base, target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._put(target, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)

    def _put(self, target: ast.Subscript, value: int) -> None:
        base, at = self.entry(target)
        if isinstance(target.slice, ast.Slice):
            value = self.elements(value, target)
        if NOTHING in {base, value}:
            return
        self.facts.add("puts", base, at, value)
        name = target.value.id if isinstance(target.value, ast.Name) else ""
        if isinstance(at, list) and name in self.scope.unread:
            self.entries.put(self.scope, name, at[0], self.facts.lists["puts"][-1])

    def entry(self, node: ast.Subscript) -> tuple[int, int | list[Any] | None]:
        """Return the nodes of a container and of the key at which an entry is read or written.

        An access by a constant key does not read the other entries.
        """
        name = node.value.id if isinstance(node.value, ast.Name) and not self.scope.hidden else ""
        unread = self.scope.unread.get(name)
        base = self.value(node.value)
        at = None if isinstance(node.slice, ast.Slice) else self.key(node.slice)
        if unread is not None and isinstance(at, list):
            self.scope.unread[name] = unread
            if not isinstance(node.ctx, ast.Load):
                self.entries.lose(self.scope, name, at)
            unread.places.pop(unread.at(at[0]), None)
            if isinstance(node.ctx, ast.Del) and unread.length is not None:
                # The elements after it have other positions now.
                self.scope.unread.pop(name)
        return base, at

    def pack(self, value: list[Any]) -> int:
        """Return the node of a tuple that could not be unpacked at once."""
        return self.box("tuple", [self.pack(one) if isinstance(one, list) else one for one in value])

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        count = len(target.elts)
        star = next((at for at, one in enumerate(target.elts) if isinstance(one, ast.Starred)), None)
        if isinstance(value, list) and (len(value) == count if star is None else len(value) >= count - 1):
            taken: list[Value] = list(value)
            if star is not None:
                after = star + len(value) - count + 1
                taken = [*value[:star], value[star:after], *value[after:]]
            for one, part in zip(target.elts, taken, strict=True):
                self.assign(one, part)
            return
        whole = self.pack(value) if isinstance(value, list) else value
        for at, one in enumerate(target.elts):
            if star is None or at < star:
                self.assign(one, self.row("parts", whole, at, at=one))
            elif at == star:
                rest = count - star - 1
                self.assign(one, self.slice(whole, star, -rest if rest else None))
            else:
                self.assign(one, self.row("parts", whole, at - count, at=one))

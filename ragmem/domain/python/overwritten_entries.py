"""Track entries of Python containers that are overwritten before they can be read.

The flow of values has no order, so it would keep the old value beside the new one. A new container in one
variable has no reader until the variable is mentioned. In code without branches, an entry that is overwritten
before that mention is certainly unread, and its old value is dropped.
"""

import ast
from collections.abc import Iterable
from typing import Any

from ragmem.domain.python.facts import CLASS, NOTHING, Facts, Place, Scope, Unread


class EntryTracker:
    """The unread entries of a scope's variables, and those of a file that were overwritten."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._overwritten: list[tuple[Scope, str, Place]] = []

    def hold(self, scope: Scope, name: str, display: ast.expr, rows: Iterable[list[Any]]) -> None:
        """Track a new container that a variable is assigned; `rows` are its entries."""
        if scope.guards or name in scope.globals or name in scope.nonlocals:
            return
        if isinstance(display, ast.Dict):
            scope.unread[name] = Unread()
            for row in rows:
                if isinstance(row[1], list):
                    self.put(scope, name, row[1][0], row)
        elif isinstance(display, ast.List):
            elements = self.facts.lists["boxes"][-1][2]
            places = {at: (elements, at) for at in range(len(elements))}
            scope.unread[name] = Unread(len(display.elts), places)

    def put(self, scope: Scope, name: str, key: Any, row: list[Any]) -> None:
        """Track a new entry."""
        self.lose(scope, name, [key])
        unread = scope.unread[name]
        unread.places[unread.at(key)] = (row, len(row) - 1)

    def lose(self, scope: Scope, name: str, keys: Iterable[Any]) -> None:
        """Record that a variable's container loses its values at the keys."""
        for key in keys:
            unread = scope.unread[name]
            place = unread.places.pop(unread.at(key), None)
            if place is not None:
                self._overwritten.append((scope, name, place))

    def drop(self) -> None:
        """Remove the overwritten values from the facts, unless an inner scope may have read them."""
        for scope, name, (row, at) in self._overwritten:
            if not any(_mentions(one, name, scope) for one in self.facts.scopes):
                row[at] = NOTHING


def _mentions(scope: Scope, name: str, outer: Scope) -> bool:
    own = name in scope.bound and scope.kind != CLASS
    if scope is outer or (name not in scope.globals | scope.nonlocals and (own or name not in scope.names)):
        return False
    above = scope.parent
    while above is not None and above is not outer:
        above = above.parent
    return above is outer


def overwritten_keys(node: ast.Call | ast.AugAssign, unread: Unread) -> list[Any]:
    """Return the keys whose values a method or an operator certainly removes from a container."""
    if isinstance(node, ast.AugAssign):
        return _display_keys(node.value) if isinstance(node.op, ast.BitOr) else []
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if method == "clear":
        return list(unread.places)
    if unread.length is not None:
        return []
    if method == "pop":
        return [one.value for one in node.args[:1] if isinstance(one, ast.Constant)]
    if method == "update":
        named = [one.arg for one in node.keywords if one.arg is not None]
        return [*named, *(key for one in node.args for key in _display_keys(one))]
    return []


def _display_keys(node: ast.expr) -> list[Any]:
    keys = node.keys if isinstance(node, ast.Dict) else []
    return [one.value for one in keys if isinstance(one, ast.Constant)]

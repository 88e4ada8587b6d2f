"""Entries of Python containers that are overwritten before anything can have read them.

The flow of values knows no order, so it would keep the old value beside the new one. A container that a
display makes and one variable holds has no reader until the variable is mentioned. In code without branches,
what overwrites an entry before that mention is certain, and the old value flows nowhere.
"""

import ast
from collections.abc import Iterable
from typing import Any

from ragmem.domain.python.facts import CLASS, NOTHING, Facts, Place, Scope, Unread


class Entries:
    """The unread entries of a scope's variables, and those of a file that were overwritten."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._overwritten: list[tuple[Scope, str, Place]] = []

    def hold(self, scope: Scope, name: str, display: ast.expr, rows: Iterable[list[Any]]) -> None:
        """Follow the container that a variable is given, where a display makes it; `rows` fill it."""
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
        """Follow a new entry."""
        self.lose(scope, name, [key])
        unread = scope.unread[name]
        unread.places[unread.at(key)] = (row, len(row) - 1)

    def lose(self, scope: Scope, name: str, keys: Iterable[Any]) -> None:
        """Note that a variable's container loses its values at the keys."""
        for key in keys:
            unread = scope.unread[name]
            place = unread.places.pop(unread.at(key), None)
            if place is not None:
                self._overwritten.append((scope, name, place))

    def drop(self) -> None:
        """Take the overwritten values out of the facts, unless an inner scope may have read them."""
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
    """Return the keys at which a container certainly loses its values to a method or an operator."""
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

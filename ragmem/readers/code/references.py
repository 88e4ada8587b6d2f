"""The references of the code within a definition: calls, bases, types of variables, imports."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.expressions import bare_type, call_of, dotted_name, receiver_of, type_stated
from ragmem.readers.code.syntax import Syntax

if TYPE_CHECKING:  # the parser is loaded when a file is read
    from tree_sitter import Node

    from ragmem.readers.code.parsing import Captures


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


_LONGEST_NAME = 120
_LONGEST_TEXT = 300
"""Characters of a type or a value that are read, because what matters comes first."""
_LONGEST_RECEIVER = 160
_LONGEST_TOKENS = 4_000
_AROUND_CALL = frozenset({"await_expression", "try_expression", "parenthesized_expression"})
_RECEIVER = 1
"""The column of a call's receiver."""
_CALLED = re.compile(r"(\)\s*\??\s*\.\s*)?\b((?:\w+\s*(?:::|\.)\s*)*[a-zA-Z_]\w*)\s*\(")


class References:
    """The references of one file, recorded as facts.

    `heads` are the positions of the names of definitions, `tests` those of calls that define a test.
    """

    def __init__(self, source: bytes, syntax: Syntax, facts: Facts) -> None:
        self.source = source
        # One byte is one character in most files, and a text is sliced faster than it is decoded.
        self.ascii = source.decode() if source.isascii() else ""
        self.syntax = syntax
        self.facts = facts
        self.heads: set[int] = set()
        self.tests: set[int] = set()
        self.awaited: dict[tuple[int, int], tuple[Any, Any]] = {}
        """First and last byte of a call -> the row or the names that have its result, and the key there."""

    def text(self, node: "Node", most: int = _LONGEST_TEXT) -> str:
        """Return the first `most` bytes of a node's source text."""
        start = node.start_byte
        end = min(node.end_byte, start + most)
        return self.ascii[start:end] if self.ascii else self.source[start:end].decode("utf-8", "replace")

    def refer(self, main: str, node: "Node", captures: "Captures", line: int, stack: list[Scope]) -> None:
        """Record the references of a match on a line within the scopes of `stack`, the innermost last."""
        if main in {"call", "passed"}:
            if node.start_byte not in self.tests:
                self._call(node, captures, stack, self.facts.calls if main == "call" else self.facts.passed)
        elif main == "import":
            if stack[-1].kind in OWNING:
                return  # C++ takes over names of a base in this way
            within = next((scope.prefix for scope in reversed(stack) if scope.kind is SymbolKind.MODULE), "")
            self.facts.imports.extend(
                [item.module, item.member, item.local, line, item.exported, within]
                for item in self.syntax.imports(self.text(node, len(self.source)))
            )
        elif main == "base":
            for base in captures["base"]:
                self.facts.bases.append([stack[-1].owner, bare_type(self.text(base)), line])
        elif main == "returns":
            holder = stack[-1] if stack[-1].kind or len(stack) == 1 else stack[-2]
            if holder.kind in {SymbolKind.FUNCTION, SymbolKind.METHOD}:
                self.facts.returns.append([holder.symbol, bare_type(self.text(node))])
        elif main == "tokens":
            self._tokens(node, line, stack)
        else:
            self._variable(main, node, captures, stack)

    def _tokens(self, node: "Node", line: int, stack: list[Scope]) -> None:
        """Record the calls in the arguments of a macro, which no grammar parses."""
        text = self.text(node, _LONGEST_TOKENS)
        before: re.Match[str] | None = None
        called = ""
        for found in _CALLED.finditer(text):
            receiver, _, name = dotted_name(found[2]).rpartition(".")
            on = receiver and receiver_of(self.syntax, receiver)
            if found[1]:
                # The object is the result of the previous call, if there is nothing in between.
                passed = text[before.end() : found.start() + 1] if before else "("
                on = f"={called}()" if before and passed.count("(") + 1 == passed.count(")") else "?"
            called = f"{on}.{name}" if on and on != "?" and not on.startswith("=") else name
            called = "" if on.startswith(("=", "?")) else called
            before = found if called else None
            at = line + text.count("\n", 0, found.start(2))
            self._note(on, name, at, stack, self.facts.calls)

    def _variable(self, main: str, node: "Node", captures: "Captures", stack: list[Scope]) -> None:
        around = stack[-1]
        if not around.type_owner if main == "field" else around.kind in OWNING:
            return  # the latter is the parameter of a method that is only declared
        stated = self.text(captures["type"][0]) if "type" in captures else ""
        value = self.text(captures["value"][0]) if "value" in captures else ""
        declared = type_stated(self.syntax, stated, value)
        if declared in self.syntax.loaders:
            return  # what is loaded is an import
        name = self.text(node, _LONGEST_NAME).lstrip("@#$")
        if main == "field":
            if declared:
                self.facts.fields.append([around.type_owner, name, declared])
                self._await(captures, self.facts.fields[-1], 2)
        elif declared or (len(stack) > 1 and node.start_byte not in self.heads):
            names = around.names
            if not names.get(name):
                names[name] = declared
                self._await(captures, names, name)

    def _await(self, captures: "Captures", place: Any, key: Any) -> None:
        """Have a type that is read off a value replaced where that is a chain of calls."""
        if "value" in captures and "type" not in captures:
            value = captures["value"][0]
            while value.type in _AROUND_CALL and (inner := value.named_child(0)):
                value = inner
            self.awaited[value.start_byte, value.end_byte] = place, key

    def _call(self, node: "Node", captures: "Captures", stack: list[Scope], rows: list[list[Any]]) -> None:
        callee = captures["callee"][0]
        if callee.start_byte in self.heads:
            return
        written = None
        if "receiver" in captures:
            on = captures["receiver"][0]
            written = self.text(on) if on.end_byte - on.start_byte <= _LONGEST_RECEIVER else "?"
        text = self.text(callee)
        whole = text.endswith(("!", "?")) and callee.type == "identifier"  # Ruby ends names so
        receiver, name = call_of(self.syntax, text, written, whole=whole)
        if not name or name in self.syntax.selves:
            return
        count = len(rows)
        self._note(receiver, name, callee.start_point.row + 1, stack, rows)
        if len(rows) > count:
            is_chain = receiver.startswith(("?", "="))
            place, key = self.awaited.pop((node.start_byte, node.end_byte), (None, None))
            if place is not None and (is_chain or key == _RECEIVER or not place[key]):
                # What the text says of a variable counts where nobody knows what the chain returns.
                place[key] = f"#{count}" if key == _RECEIVER else f"#{count} {place[key]}"
            if receiver == "?" and "receiver" in captures:
                on = captures["receiver"][0]
                self.awaited[on.start_byte, on.end_byte] = rows[-1], _RECEIVER

    def _note(self, receiver: str, name: str, line: int, stack: list[Scope], rows: list[list[Any]]) -> None:
        first = (receiver or name).partition(".")[0]
        declared = ""
        for scope in reversed(stack):
            if first in scope.names:
                declared = scope.names[first] or "?"
                break
        if declared and not receiver:
            return  # a variable is called; what it holds is not stated
        around = stack[-1]
        rows.append([around.symbol, receiver, name, line, declared, around.type_owner])

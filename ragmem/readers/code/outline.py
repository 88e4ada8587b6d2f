"""A file of code as its definitions and what they refer to, found by the query of its language."""

import functools
import importlib
import re
import time
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ragmem.domain.code import ParsedFile, Symbol, SymbolKind
from ragmem.readers.code.comments import Comment, doc_before, joined, purpose
from ragmem.readers.code.expressions import bare_type, dotted, receiver_of, type_stated, without_arguments
from ragmem.readers.code.syntax import Naming, Syntax

if TYPE_CHECKING:  # the parser is loaded when a file is read
    from tree_sitter import Language, Node, Parser, Query

    Captures = dict[str, list[Node]]

_KINDS = {
    "interface": SymbolKind.INTERFACE,
    "class": SymbolKind.CLASS,
    "function": SymbolKind.FUNCTION,
    "method": SymbolKind.METHOD,
    "constant": SymbolKind.CONSTANT,
    "module": SymbolKind.MODULE,
    "test": SymbolKind.FUNCTION,
}
_OPENING = (*_KINDS, "namespace", "implementation", "scope")
_REFERRING = ("variable", "field", "returns", "base", "import", "call", "tokens")
_RANK = {name: rank for rank, name in enumerate(("package", *_OPENING, *_REFERRING))}
_OWNING = (SymbolKind.CLASS, SymbolKind.INTERFACE)
_LONGEST_NAME = 120
_LONGEST_TEXT = 300
"""Characters of a type or a value that are read: what matters stands first."""
_LONGEST_RECEIVER = 160
_LONGEST_TOKENS = 4_000
LONGEST_SECONDS = 5.0
"""Of the processor; the largest files that people write take a fifth of this."""
_PIECE = 4_096
"""Bytes that the parser takes at once; no text of one piece is slow."""
_MOST_MATCHES = 128
"""Matches that the query keeps open at once; it would take time in the square of them."""
_DEEPEST = 60
"""Definitions and functions inside each other; what lies deeper is no work of a person."""

_CALLED = re.compile(r"(\)\s*\??\s*\.\s*)?\b((?:\w+\s*(?:::|\.)\s*)*[a-zA-Z_]\w*)\s*\(")
_MOST_NAMED = 4
"""Definitions that a file's purpose names where its author says none."""


@dataclass(slots=True)
class _Scope:
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
class _Facts:
    """What linking needs of a file; each list is one of rows."""

    namespace: str
    imports: list[list[Any]] = field(default_factory=list)
    members: list[list[str]] = field(default_factory=list)
    calls: list[list[Any]] = field(default_factory=list)
    bases: list[list[Any]] = field(default_factory=list)
    fields: list[list[str]] = field(default_factory=list)
    returns: list[list[str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        rows = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in rows.items() if value or name == "namespace"}


class SlowFileError(Exception):
    """A file takes longer to parse than any that a person writes."""


@functools.lru_cache(maxsize=16)
def _loaded(package: str, entry: str, query: str) -> "tuple[Language, Query]":
    from tree_sitter import Language, Query  # noqa: PLC0415 - a question must not pay for it

    language = Language(getattr(importlib.import_module(package), entry)())
    return language, Query(language, query)


def outline(path: str, text: str, *, language: str, syntax: Syntax) -> ParsedFile:
    """Read one file. What the grammar cannot read is passed over and told in `problem`.

    Raises SlowFileError for a file that no parser gets through in LONGEST_SECONDS.
    """
    from tree_sitter import Parser, QueryCursor  # noqa: PLC0415 - a question must not pay for it

    grammar, query = _loaded(syntax.package, syntax.entry, syntax.query)
    text = text.encode("utf-8", "replace").decode()
    source = syntax.prepared(text).encode()
    parser = Parser(grammar)
    _check_time(parser, source)
    tree = parser.parse(source)
    cursor = QueryCursor(query, match_limit=_MOST_MATCHES)
    matches = [found for _, found in cursor.matches(tree.root_node)]
    reader = _Reader(path, text, source, language, syntax)
    problem = _errors(grammar, tree.root_node) if tree.root_node.has_error else ""
    first_code = next(
        (node.start_point.row for node in tree.root_node.named_children if "comment" not in node.type), 0
    )
    return reader.read(matches, problem=problem, first_code=first_code)


def _check_time(parser: "Parser", source: bytes) -> None:
    """Raise SlowFileError for a text over which the parser breaks its head.

    Only a parser that asks for its text piece by piece can be stopped, and only trees of a whole text can be
    searched safely (py-tree-sitter 0.26 crashes otherwise): what is large enough to matter is parsed twice.
    """
    if len(source) < _PIECE:
        return
    until = time.thread_time() + LONGEST_SECONDS
    try:
        parser.parse(
            lambda offset, _: source[offset : offset + _PIECE],
            progress_callback=lambda *_: time.thread_time() > until,
        )
    except ValueError:
        parser.reset()
        raise SlowFileError from None


def _errors(grammar: "Language", root: "Node") -> str:
    from tree_sitter import Query, QueryCursor  # noqa: PLC0415 - a question must not pay for it

    found = QueryCursor(Query(grammar, "(ERROR) @error (MISSING) @error"), match_limit=_MOST_MATCHES)
    lines = sorted({node.start_point.row + 1 for node in found.captures(root).get("error", ())})
    more = f" and in {len(lines) - 1} more places" if len(lines) > 1 else ""
    return f"line {lines[0] if lines else 1}{more} does not follow the grammar"


class _Reader:
    """Walks the matches of one file in the order of their places."""

    def __init__(self, path: str, text: str, source: bytes, language: str, syntax: Syntax) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.source = source
        self.language = language
        self.syntax = syntax
        self.naming: Naming = syntax.naming(path)
        self.in_tests = syntax.is_test_file(path)
        self.facts = _Facts(self.naming.prefix)
        self.symbols: list[Symbol] = []
        self.comments: list[Comment] = []
        self.ends: dict[int, Comment] = {}
        self.heads: set[int] = set()
        self.tests: set[int] = set()

    def read(self, matches: "list[Captures]", *, problem: str, first_code: int) -> ParsedFile:
        events = self._ordered(matches)
        module = self.naming.module
        stack = [_Scope(len(self.lines) * 10**9, self.naming.prefix, module, self.naming.prefix)]
        for main, node, captures in events:
            while node.start_byte >= stack[-1].end:
                stack.pop()
            if main == "package":
                self._package(captures, stack[0])
            elif main in _OPENING:
                self._open(main, node, captures, stack)
            else:
                self._refer(main, node, captures, stack)
        described = min((item.line - 1 for item in self.symbols), default=-1)
        said = purpose(self.comments, first_code, described) or self._defines()
        name = PurePosixPath(self.path).name
        own = Symbol(
            module, name, SymbolKind.MODULE, 1, max(len(self.lines), 1), doc=said, is_test=self.in_tests
        )
        return ParsedFile(
            self.path,
            self.language,
            module,
            said,
            (own, *self.symbols),
            facts=self.facts.as_json(),
            problem=problem,
        )

    def _ordered(self, matches: "list[Captures]") -> "list[tuple[str, Node, Captures]]":
        events: dict[tuple[int, int, int, bool], tuple[str, Node, Captures]] = {}
        comments = []
        for number, captures in enumerate(matches):
            comments += [self._comment(node) for node in captures.get("comment", ()) if self._is_alone(node)]
            main = next((name for name in captures if name in _RANK), "")
            if not main:
                continue
            node = captures[main][0]
            named = captures["name"][0].start_byte if captures.get("name") else -1
            opening = main in _OPENING
            # One definition may match as several kinds: the first of them is meant.
            key = (node.start_byte, node.end_byte, named if opening else number, opening)
            if key not in events or _RANK[main] < _RANK[events[key][0]]:
                events[key] = (main, node, captures)
        self.comments = joined(comments)
        self.ends = {comment.last: comment for comment in self.comments}
        defined = [event for event in events.values() if event[0] in _KINDS]
        self.heads = {event[2]["name"][0].start_byte for event in defined}
        self.tests = {event[1].start_byte for event in defined if event[0] == "test"}
        # What a framework's macro makes a test looks like a function to the grammar.
        events = {key: event for key, event in events.items() if not self._shadowed(event)}
        return sorted(
            events.values(), key=lambda event: (event[1].start_byte, -event[1].end_byte, _RANK[event[0]])
        )

    def _is_alone(self, node: "Node") -> bool:
        return not self.lines[node.start_point.row].encode()[: node.start_point.column].strip()

    def _shadowed(self, event: "tuple[str, Node, Captures]") -> bool:
        return event[0] == "function" and event[1].start_byte in self.tests

    def _comment(self, node: "Node") -> Comment:
        first = node.start_point.row
        last = node.end_point.row - (1 if node.end_point.column == 0 else 0)
        return Comment(first, max(first, last), self._text(node, _LONGEST_TOKENS).rstrip())

    def _package(self, captures: "Captures", top: _Scope) -> None:
        if not top.prefix:
            top.prefix = top.owner = self.facts.namespace = dotted(self._text(captures["name"][0]))

    def _open(self, main: str, node: "Node", captures: "Captures", stack: list[_Scope]) -> None:
        around = stack[-1]
        if len(stack) > _DEEPEST:
            return
        if main == "scope":
            stack.append(_Scope(node.end_byte, around.prefix, around.symbol, around.owner, around.type_owner))
        elif main == "implementation":
            owner = self._within(around.prefix, bare_type(self._text(captures["owner"][0])))
            stack.append(_Scope(node.end_byte, owner, around.symbol, owner, owner, SymbolKind.CLASS))
        elif main == "namespace":
            if captures.get("name"):
                name = dotted(self._text(captures["name"][0])).replace(".", self.syntax.separator)
                prefix = self._within(around.prefix, name)
            else:  # what it holds is seen by this file alone
                prefix = self.naming.module
            stack.append(_Scope(node.end_byte, prefix, around.symbol, prefix))
        elif name := self._text(captures["name"][0], _LONGEST_NAME).strip("\"'`"):
            self._define(main, name, node, captures, stack)

    def _define(self, main: str, name: str, node: "Node", captures: "Captures", stack: list[_Scope]) -> None:
        around = stack[-1]
        prefix, kind = around.prefix, _KINDS[main]
        functions = (SymbolKind.FUNCTION, SymbolKind.METHOD)
        if kind is SymbolKind.CONSTANT and any(scope.kind in functions for scope in stack):
            return
        owner = bare_type(self._text(captures["owner"][0])) if captures.get("owner") else ""
        if main != "test":
            name = without_arguments(name)
        if "::" in name and main != "test":
            owner, _, name = name.rpartition("::")
        storage = self._text(captures["storage"][0]) if captures.get("storage") else ""
        if owner:
            prefix = self._within(prefix, owner.replace(".", self.syntax.separator))
        elif (main == "test" and not prefix) or (
            around.kind not in _OWNING and self.syntax.is_local(name, storage)
        ):
            prefix = self.naming.module
        if kind is SymbolKind.FUNCTION and main != "test" and (owner or around.kind in _OWNING):
            kind = SymbolKind.METHOD
        instance = kind is SymbolKind.METHOD and not captures.get("static")
        joint = self.syntax.member_separator if instance and around.kind in _OWNING else self.syntax.separator
        joint = "." if captures.get("static") else joint
        qualified = f"{prefix}{joint}{name}" if prefix else name
        first = self._first_line(node, captures)
        head = "\n".join(self.lines[self._top(first) : captures["name"][0].start_point.row + 1])
        self.symbols.append(
            Symbol(
                qualified,
                name,
                kind,
                first + 1,
                node.end_point.row + (1 if node.end_point.column else 0),
                doc=doc_before(first, self.ends, self.lines),
                is_test=self.in_tests or main == "test" or self.syntax.is_test(name, kind, head),
            )
        )
        # Nobody calls a test by its name.
        self.facts.members.append([prefix, "" if main == "test" else name, qualified])
        if kind is not SymbolKind.CONSTANT:
            holder = prefix if owner else qualified if kind in _OWNING else around.type_owner
            stack.append(_Scope(node.end_byte, qualified, qualified, qualified, holder, kind))

    def _first_line(self, node: "Node", captures: "Captures") -> int:
        """Return the line (from 0) of a definition; that of its name where it begins in the midst of one."""
        return min(node.start_point.row, captures["name"][0].start_point.row)

    def _top(self, line: int) -> int:
        """Return the first line of the attributes above a line."""
        while line > 0 and self.lines[line - 1].lstrip().startswith("#["):
            line -= 1
        return line

    def _within(self, prefix: str, name: str) -> str:
        return f"{prefix}{self.syntax.separator}{name}" if prefix else name

    def _refer(self, main: str, node: "Node", captures: "Captures", stack: list[_Scope]) -> None:
        line = node.start_point.row + 1
        if main == "import":
            if stack[-1].kind in _OWNING:
                return  # C++ takes over a base's names so
            within = next((scope.prefix for scope in reversed(stack) if scope.kind is SymbolKind.MODULE), "")
            self.facts.imports.extend(
                [item.module, item.member, item.local, line, item.exported, within]
                for item in self.syntax.imports(captures)
            )
        elif main == "base":
            for base in captures["base"]:
                self.facts.bases.append([stack[-1].owner, bare_type(self._text(base)), line])
        elif main == "returns":
            holder = stack[-1] if stack[-1].kind or len(stack) == 1 else stack[-2]
            if holder.kind in {SymbolKind.FUNCTION, SymbolKind.METHOD}:
                self.facts.returns.append([holder.symbol, bare_type(self._text(node))])
        elif main == "tokens":
            self._tokens(node, line, stack)
        elif main != "call":
            self._variable(main, node, captures, stack)
        elif node.start_byte not in self.tests:
            self._call(captures, line, stack)

    def _tokens(self, node: "Node", line: int, stack: list[_Scope]) -> None:
        """Note the calls in the arguments of a macro, which no grammar reads."""
        for found in _CALLED.finditer(self._text(node, _LONGEST_TOKENS)):
            receiver, _, name = dotted(found[2]).rpartition(".")
            on = "?" if found[1] else receiver and receiver_of(self.syntax, receiver)
            self._note(on, name, line, stack)

    def _variable(self, main: str, node: "Node", captures: "Captures", stack: list[_Scope]) -> None:
        stated = self._text(captures["type"][0]) if captures.get("type") else ""
        value = self._text(captures["value"][0]) if captures.get("value") else ""
        declared = type_stated(self.syntax, stated, value)
        if declared in self.syntax.loaders:
            return  # what is loaded is an import
        is_head = node.start_byte in self.heads
        name = self._text(node, _LONGEST_NAME).lstrip("@#$")
        around = stack[-1]
        if main == "field":
            if around.type_owner and declared:
                self.facts.fields.append([around.type_owner, name, declared])
        elif around.kind in _OWNING:
            return  # the parameter of a method that is declared only
        elif declared or (len(stack) > 1 and not is_head):
            names = around.names
            names[name] = names.get(name) or declared

    def _call(self, captures: "Captures", line: int, stack: list[_Scope]) -> None:
        callee = captures["callee"][0]
        name = dotted(bare_type(self._text(callee)))
        receiver = ""
        if captures.get("receiver"):
            on = captures["receiver"][0]
            long = on.end_byte - on.start_byte > _LONGEST_RECEIVER
            receiver = "?" if long else receiver_of(self.syntax, self._text(on))
        elif "." in name:
            receiver, _, name = name.rpartition(".")
            receiver = receiver_of(self.syntax, receiver)
        if name and name not in self.syntax.selves and callee.start_byte not in self.heads:
            self._note(receiver, name, line, stack)

    def _note(self, receiver: str, name: str, line: int, stack: list[_Scope]) -> None:
        first = (receiver or name).partition(".")[0]
        declared = next((scope.names[first] or "?" for scope in reversed(stack) if first in scope.names), "")
        if declared and not receiver:
            return  # a variable is called; what it holds is not stated
        around = stack[-1]
        self.facts.calls.append([around.symbol, receiver, name, line, declared, around.type_owner])

    def _text(self, node: "Node", most: int = _LONGEST_TEXT) -> str:
        end = min(node.end_byte, node.start_byte + most)
        return self.source[node.start_byte : end].decode("utf-8", "replace")

    def _defines(self) -> str:
        known = {item.qualified for item in self.symbols}
        tops = {row[2] for row in self.facts.members if row[0] not in known}
        kinds = (SymbolKind.CONSTANT, SymbolKind.METHOD)
        shown = [item for item in self.symbols if item.qualified in tops and item.kind not in kinds]
        shown = shown or [item for item in self.symbols if item.kind not in kinds] or self.symbols
        told = [item.doc for item in shown if item.doc]
        if len(shown) == 1 and told:
            return told[0]
        names = list(dict.fromkeys(item.name for item in shown))
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"defines {', '.join(names[:_MOST_NAMED])}{more}" if names else ""

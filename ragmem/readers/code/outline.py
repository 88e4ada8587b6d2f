"""Extract the definitions and references of a file of code with the query of its language."""

import re
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ragmem.domain.code.code import ParsedFile, Symbol, SymbolKind
from ragmem.readers.code.comments import Comment, doc_before, join_comments, purpose
from ragmem.readers.code.expressions import (
    bare_type,
    call_of,
    dotted_name,
    receiver_of,
    type_stated,
    without_arguments,
)
from ragmem.readers.code.parsing import ParseResult, parse_code
from ragmem.readers.code.syntax import Namespace, Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

    from ragmem.readers.code.parsing import Captures

    _Event = tuple[int, int, int, int, str, Node, Captures]
    """A match: its first byte, minus its last, its rank, its number, its main capture, the node, and all.

    Sorted, matches have the order of their positions, the larger of two that begin together first.
    """

OWNING = (SymbolKind.CLASS, SymbolKind.INTERFACE)
"""Kinds of symbols that have members."""

_LONGEST_TEXT = 300
"""Characters of a type or a value that are read, because what matters comes first."""
_LONGEST_RECEIVER = 160
_LONGEST_TOKENS = 4_000
_AROUND_CALL = frozenset({"await_expression", "try_expression", "parenthesized_expression"})
_RECEIVER = 1
"""The column of a call's receiver."""
_CALLED = re.compile(r"(\)\s*\??\s*\.\s*)?\b((?:\w+\s*(?:::|\.)\s*)*[a-zA-Z_]\w*)\s*\(")

_KINDS = {
    "interface": SymbolKind.INTERFACE,
    "class": SymbolKind.CLASS,
    "method": SymbolKind.METHOD,
    "function": SymbolKind.FUNCTION,
    "constant": SymbolKind.CONSTANT,
    "module": SymbolKind.MODULE,
    "test": SymbolKind.FUNCTION,
}
_OPENING = (*_KINDS, "namespace", "implementation", "scope")
_REFERRING = ("variable", "field", "returns", "base", "import", "call", "passed", "tokens", "mention")
_RANK = {name: rank for rank, name in enumerate(("package", *_OPENING, *_REFERRING))}
_OPENS = frozenset(_OPENING)
_LONGEST_NAME = 120
_LONGEST_COMMENT = 4_000
_DEEPEST = 60
"""Maximum nesting of definitions and functions; no person nests deeper."""
_MOST_NAMED = 4
"""Definitions that a file's purpose names where its author gives none."""


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
    mentions: list[list[Any]] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the facts that are not empty."""
        rows = {name: getattr(self, name) for name in self.__slots__}
        # The result of a chain of calls is known in its own file alone.
        rows["fields"] = [row for row in self.fields if not row[2].startswith("#")]
        return {name: value for name, value in rows.items() if value or name == "namespace"}


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
        self.mentioned: set[str] = set()
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
        elif main in {"import", "mention"}:
            self._import(main, node, line, stack)
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

    def _import(self, main: str, node: "Node", line: int, stack: list[Scope]) -> None:
        if main == "mention":
            if (name := bare_type(self.text(node))) not in self.mentioned:
                self.mentioned.add(name)
                self.facts.mentions.append([name, stack[-1].symbol, line])
        elif stack[-1].kind not in OWNING:  # C++ takes over names of a base in this way
            within = next((scope.prefix for scope in reversed(stack) if scope.kind is SymbolKind.MODULE), "")
            self.facts.imports.extend(
                [item.module, item.member, item.local, line, item.exported, within]
                for item in self.syntax.imports(self.text(node, len(self.source)))
            )

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
        if "loaded" in captures:  # a parameter that is a module, or a name of one
            parts = [self.text(one[0]) for key in ("loaded", "member") if (one := captures.get(key))]
            declared = receiver_of(self.syntax, ".".join(parts))
        else:
            declared = type_stated(self.syntax, stated, value)
        if declared in self.syntax.loaders:
            return  # what is loaded is an import
        name = self.text(node, _LONGEST_NAME).lstrip("@#")
        if main == "field":
            # A parameter that is kept gives its type to the field.
            if declared := declared or around.names.get(value, ""):
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
        text = self.text(callee).strip("`")
        whole = text.endswith(("!", "?")) and callee.type == "identifier"  # Ruby ends names so
        receiver, name = call_of(self.syntax, text, written, whole=whole)
        if not name or name in self.syntax.selves:
            return
        count = len(rows)
        self._note(receiver, name, callee.start_point.row + 1, stack, rows)
        if len(rows) > count:
            is_chain = receiver.startswith(("?", "="))
            place, key = self.awaited.pop((node.start_byte, node.end_byte), (None, None))
            is_name = isinstance(place, dict)
            if place is not None and (is_chain or is_name or key == _RECEIVER or not place[key]):
                # A declared type counts if the result of the chain is unknown.
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
        module, dot, member = declared.partition(".")
        if module.startswith("'") and any(row[2] == module for row in self.facts.imports):
            # It is a module, or a name of one.
            if receiver:
                receiver, declared = declared + receiver[len(first) :], ""
            elif dot:
                receiver, name, declared = module, member, ""
        if declared and not receiver:
            return  # a variable is called; what it holds is not stated
        around = stack[-1]
        rows.append([around.symbol, receiver, name, line, declared, around.type_owner])


def outline(path: str, text: str, *, language: str, syntax: Syntax) -> ParsedFile:
    """Read one file. Text that does not follow the grammar is skipped and reported in `problem`.

    Raises SlowFileError for a file that takes the parser too long.
    """
    text = text.encode("utf-8", "replace").decode()
    source = syntax.preprocess(text).encode()
    return _Reader(path, text, source, language, syntax).read(parse_code(source, syntax))


class _Reader:
    """Walks the matches of one file in the order of their positions."""

    def __init__(self, path: str, text: str, source: bytes, language: str, syntax: Syntax) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.language = language
        self.syntax = syntax
        self.namespace: Namespace = syntax.namespace(path)
        self.in_tests = bool(syntax.is_test_file(path))
        self.facts = Facts(self.namespace.prefix)
        self.references = References(source, syntax, self.facts)
        self.symbols: list[Symbol] = []
        self.comments: list[Comment] = []
        self.ends: dict[int, Comment] = {}

    def read(self, found: ParseResult) -> ParsedFile:
        module = self.namespace.module
        stack = [Scope(len(self.lines) * 10**9, self.namespace.prefix, module, self.namespace.prefix)]
        # Bytes up to the end of each line, without the line breaks: counting is faster than asking each node.
        line, sizes = 0, list(accumulate(map(len, self.references.source.split(b"\n"))))
        for start, _, _, _, main, node, captures in self._sort_events(found.matches):
            while start >= stack[-1].end:
                stack.pop()
            while start > sizes[line] + line:
                line += 1
            if main == "package":
                self._package(captures, stack[0])
            elif main in _OPENS:
                self._open(main, node, captures, stack)
            else:
                self.references.refer(main, node, captures, line + 1, stack)
        described = min((item.line - 1 for item in self.symbols), default=-1)
        said = purpose(self.comments, found.first_code, described) or self._list_definitions()
        name = PurePosixPath(self.path).name
        own = Symbol(
            module, name, SymbolKind.MODULE, 1, max(len(self.lines), 1), doc=said, is_test=self.in_tests
        )
        symbols, facts = (own, *self.symbols), self.facts.as_json()
        return ParsedFile(self.path, self.language, module, said, symbols, facts, found.problem)

    def _sort_events(self, matches: "list[Captures]") -> "list[_Event]":
        referring: list[_Event] = []
        opening: dict[tuple[int, int, int], _Event] = {}
        comments: list[Node] = []
        ranks = _RANK
        for number, captures in enumerate(matches):
            for main in captures:
                if (rank := ranks.get(main)) is not None:
                    break
            else:
                comments += [node for node in captures.get("comment", ()) if self._is_alone(node)]
                continue
            node = captures[main][0]
            start, end = node.start_byte, node.end_byte
            if main not in _OPENS:
                referring.append((start, -end, rank, number, main, node, captures))
                continue
            key = (start, end, captures["name"][0].start_byte if "name" in captures else -1)
            # One definition may match as several kinds: the first one counts.
            _, _, best, place, *_ = opening.get(key, (0, 0, len(_RANK), number))
            if rank < best:
                opening[key] = (start, -end, rank, place, main, node, captures)
        self.comments = join_comments(map(self._comment, comments))
        self.ends = {comment.last: comment for comment in self.comments}
        for start, _, _, _, main, _, captures in opening.values():
            if main in _KINDS:
                self.references.heads.add(captures["name"][0].start_byte)
            if main == "test":
                self.references.tests.add(start)
        # A test that a framework's macro defines looks like a function to the grammar.
        tests = self.references.tests
        real = [event for event in opening.values() if event[4] != "function" or event[0] not in tests]
        return sorted([*referring, *real])

    def _is_alone(self, node: "Node") -> bool:
        return not self.lines[node.start_point.row].encode()[: node.start_point.column].strip()

    def _comment(self, node: "Node") -> Comment:
        first = node.start_point.row
        last = node.end_point.row - (1 if node.end_point.column == 0 else 0)
        return Comment(first, max(first, last), self.references.text(node, _LONGEST_COMMENT).rstrip())

    def _package(self, captures: "Captures", top: Scope) -> None:
        if not top.prefix:
            name = dotted_name(self.references.text(captures["name"][0]))
            top.prefix = top.owner = self.facts.namespace = name.replace(".", self.syntax.separator)

    def _open(self, main: str, node: "Node", captures: "Captures", stack: list[Scope]) -> None:
        around = stack[-1]
        if len(stack) > _DEEPEST:
            return
        if main == "scope":
            stack.append(Scope(node.end_byte, around.prefix, around.symbol, around.owner, around.type_owner))
        elif main == "implementation":
            owner = self._within(around.prefix, bare_type(self.references.text(captures["owner"][0])))
            stack.append(Scope(node.end_byte, owner, owner, owner, owner, SymbolKind.CLASS))
        elif main == "namespace":
            if captures.get("name"):
                name = dotted_name(self.references.text(captures["name"][0])).replace(
                    ".", self.syntax.separator
                )
                prefix = self._within(around.prefix, name)
            else:  # only this file sees its contents
                prefix = self.namespace.module
            stack.append(Scope(node.end_byte, prefix, around.symbol, prefix))
        elif name := self.references.text(captures["name"][0], _LONGEST_NAME).strip("\"'`"):
            self._define(main, name, node, captures, stack)

    def _define(self, main: str, name: str, node: "Node", captures: "Captures", stack: list[Scope]) -> None:
        around = stack[-1]
        prefix, kind = around.prefix, _KINDS[main]
        functions = (SymbolKind.FUNCTION, SymbolKind.METHOD)
        if kind is SymbolKind.CONSTANT and any(scope.kind in functions for scope in stack):
            return
        owner = bare_type(self.references.text(captures["owner"][0])) if captures.get("owner") else ""
        if main != "test":
            name = without_arguments(name)
        if "::" in name and main != "test":
            owner, _, name = name.rpartition("::")
        if not name:
            return
        storage = self.references.text(captures["storage"][0]) if captures.get("storage") else ""
        if owner:
            prefix = self._within(prefix, owner.replace(".", self.syntax.separator))
        elif (main == "test" and not prefix) or (
            around.kind not in OWNING and self.syntax.is_local(name, storage)
        ):
            prefix = self.namespace.module
        if kind is SymbolKind.FUNCTION and main != "test" and (owner or around.kind in OWNING):
            kind = SymbolKind.METHOD
        instance = kind in self.syntax.member_kinds and not captures.get("static")
        joint = self.syntax.member_separator if instance and around.kind in OWNING else self.syntax.separator
        joint = "." if captures.get("static") else joint
        qualified = f"{prefix}{joint}{name}" if prefix else name
        first = min(node.start_point.row, captures["name"][0].start_point.row)
        last = node.end_point.row + (1 if node.end_point.column else 0)
        doc = doc_before(first, self.ends, self.lines)
        is_test = (
            self.in_tests or main == "test" or self.syntax.is_test(name, kind, self._head(first, captures))
        )
        self.symbols.append(Symbol(qualified, name, kind, first + 1, last, doc=doc, is_test=is_test))
        # Tests are not called by their names.
        self.facts.members.append([prefix, "" if main == "test" else name, qualified])
        if kind is not SymbolKind.CONSTANT:
            holder = prefix if owner else qualified if kind in OWNING else around.type_owner
            if captures.get("extended"):
                self.facts.extensions.append(qualified)
                holder = holder or self._within(
                    prefix, bare_type(self.references.text(captures["extended"][0]))
                )
            stack.append(Scope(node.end_byte, qualified, qualified, qualified, holder, kind))

    def _head(self, first: int, captures: "Captures") -> str:
        """Return the lines from the attributes of a definition to its name."""
        return "\n".join(self.lines[self._top(first) : captures["name"][0].start_point.row + 1])

    def _top(self, line: int) -> int:
        """Return the first line of the attributes above a line."""
        while line > 0 and self.lines[line - 1].lstrip().startswith(("#[", "@")):
            line -= 1
        return line

    def _within(self, prefix: str, name: str) -> str:
        return f"{prefix}{self.syntax.separator}{name}" if prefix else name

    def _list_definitions(self) -> str:
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

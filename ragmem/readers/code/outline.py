"""A file of code as its definitions and what they refer to, found by the query of its language."""

import functools
import importlib
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ragmem.domain.code import ParsedFile, Symbol, SymbolKind
from ragmem.readers.code.comments import Comment, doc_before, joined, purpose
from ragmem.readers.code.syntax import Naming, Syntax

if TYPE_CHECKING:  # the parser is loaded when a file is read
    from tree_sitter import Language, Node, Query

    Captures = dict[str, list[Node]]

_KINDS = {
    "class": SymbolKind.CLASS,
    "interface": SymbolKind.INTERFACE,
    "function": SymbolKind.FUNCTION,
    "method": SymbolKind.METHOD,
    "constant": SymbolKind.CONSTANT,
    "module": SymbolKind.MODULE,
    "test": SymbolKind.FUNCTION,
}
_OPENING = (*_KINDS, "namespace", "implementation", "scope")
_RANK = {
    name: rank
    for rank, name in enumerate(
        ("package", *_OPENING, "variable", "field", "returns", "base", "import", "call")
    )
}
_OWNING = (SymbolKind.CLASS, SymbolKind.INTERFACE)
_LONGEST_NAME = 120
_LONGEST_RECEIVER = 160
_MOST_MATCHES = 400_000

_SEPARATORS = re.compile(r"\s*(?:\?\.|!\.|->|::|\.|&\.)\s*")
_PATH = re.compile(r"[@$]{0,2}[\w$]+(?:\.[\w$]+)*\Z")
_MAKING = re.compile(r"(?:await\s+)?(?:new\s+)([\w$.:\\]+)")
_CALLING = re.compile(r"(?:await\s+)?[(&*]*([@$\w.:]+?)(?:(?:::)?<[^()]*>)?\([^\n]*", re.DOTALL)


@dataclass(slots=True)
class _Scope:
    """What is open at a place of the file: a definition, or a function without a name."""

    end: int
    prefix: str
    symbol: str
    owner: str
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


@functools.lru_cache(maxsize=16)
def _loaded(package: str, entry: str, query: str) -> "tuple[Language, Query]":
    from tree_sitter import Language, Query  # noqa: PLC0415 - a question must not pay for it

    language = Language(getattr(importlib.import_module(package), entry)())
    return language, Query(language, query)


def outline(path: str, text: str, *, language: str, syntax: Syntax) -> ParsedFile:
    """Read one file. What the grammar cannot read is passed over and told in `problem`."""
    from tree_sitter import Parser, QueryCursor  # noqa: PLC0415 - a question must not pay for it

    grammar, query = _loaded(syntax.package, syntax.entry, syntax.query)
    tree = Parser(grammar).parse(text.encode("utf-8", "replace"))
    cursor = QueryCursor(query, match_limit=_MOST_MATCHES)
    matches = [captures for _, captures in cursor.matches(tree.root_node)]
    reader = _Reader(path, text, language, syntax)
    problem = "parts of it do not follow the grammar" if tree.root_node.has_error else ""
    first_code = next(
        (node.start_point.row for node in tree.root_node.named_children if "comment" not in node.type), 0
    )
    return reader.read(matches, problem=problem, first_code=first_code)


class _Reader:
    """Walks the matches of one file in the order of their places."""

    def __init__(self, path: str, text: str, language: str, syntax: Syntax) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.language = language
        self.syntax = syntax
        self.naming: Naming = syntax.naming(path)
        self.in_tests = syntax.is_test_file(path)
        self.facts = _Facts(self.naming.prefix)
        self.symbols: list[Symbol] = []
        self.comments: list[Comment] = []
        self.ends: dict[int, Comment] = {}
        self.heads: set[int] = set()

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
        events = []
        comments = []
        for captures in matches:
            for comment in captures.get("comment", ()):
                first, column = comment.start_point
                if not self.lines[first].encode()[:column].strip():
                    body = _text(comment)
                    last = comment.end_point.row - (1 if comment.end_point.column == 0 else 0)
                    comments.append(Comment(first, max(first, last), body.rstrip()))
            main = next((name for name in captures if name in _RANK), "")
            if main:
                events.append((main, captures[main][0], captures))
        self.comments = joined(comments)
        self.ends = {comment.last: comment for comment in self.comments}
        self.heads = {
            captures["name"][0].start_byte
            for main, _, captures in events
            if main in _KINDS and captures.get("name")
        }
        events.sort(key=lambda event: (event[1].start_byte, -event[1].end_byte, _RANK[event[0]]))
        return events

    def _package(self, captures: "Captures", top: _Scope) -> None:
        name = _path(_text(captures["name"][0]))
        top.prefix = top.owner = self.facts.namespace = name

    def _open(self, main: str, node: "Node", captures: "Captures", stack: list[_Scope]) -> None:
        around = stack[-1]
        if main == "scope":
            stack.append(_Scope(node.end_byte, around.prefix, around.symbol, around.owner))
            return
        if main == "implementation":
            owner = self._within(stack[0].prefix, _type(_text(captures["owner"][0])))
            stack.append(_Scope(node.end_byte, owner, around.symbol, owner, SymbolKind.CLASS))
            return
        name = _text(captures["name"][0]).strip("\"'`")[:_LONGEST_NAME]
        if main == "namespace":
            prefix = self._within(around.prefix, name.replace("::", self.syntax.separator))
            stack.append(_Scope(node.end_byte, prefix, around.symbol, prefix))
            return
        if name:
            self._define(main, name, node, captures, stack)

    def _define(self, main: str, name: str, node: "Node", captures: "Captures", stack: list[_Scope]) -> None:
        around = stack[-1]
        prefix, kind = around.prefix, _KINDS[main]
        if captures.get("owner"):
            prefix = self._within(around.prefix, _type(_text(captures["owner"][0])))
            kind = SymbolKind.METHOD
        elif kind is SymbolKind.FUNCTION and main != "test" and around.kind in _OWNING:
            kind = SymbolKind.METHOD
        joint = self.syntax.member_separator if kind is SymbolKind.METHOD else self.syntax.separator
        qualified = f"{prefix}{joint}{name}" if prefix else name
        first = node.start_point.row
        head = "\n".join(self.lines[max(first - 3, 0) : captures["name"][0].start_point.row + 1])
        self.symbols.append(
            Symbol(
                qualified,
                name,
                kind,
                first + 1,
                node.end_point.row + 1,
                doc=doc_before(first, self.ends, self.lines),
                is_test=self.in_tests or main == "test" or self.syntax.is_test(name, kind, head),
            )
        )
        self.facts.members.append([prefix, name, qualified])
        stack.append(_Scope(node.end_byte, qualified, qualified, qualified, kind))

    def _within(self, prefix: str, name: str) -> str:
        return f"{prefix}{self.syntax.separator}{name}" if prefix else name

    def _refer(self, main: str, node: "Node", captures: "Captures", stack: list[_Scope]) -> None:
        line = node.start_point.row + 1
        if main == "import":
            self.facts.imports.extend(
                [item.module, item.member, item.local, line, item.exported]
                for item in self.syntax.imports(captures)
            )
        elif main == "base":
            self.facts.bases.append([stack[-1].owner, _type(_text(node)), line])
        elif main == "returns":
            if stack[-1].kind in (SymbolKind.FUNCTION, SymbolKind.METHOD):
                self.facts.returns.append([stack[-1].symbol, _type(_text(node))])
        elif main == "call":
            self._call(captures, line, stack)
        elif node.start_byte not in self.heads:
            self._variable(main, _text(node), captures, stack)

    def _variable(self, main: str, name: str, captures: "Captures", stack: list[_Scope]) -> None:
        declared = self._declared(captures)
        owners = [scope.owner for scope in stack if scope.kind in _OWNING]
        if main == "field" or (stack[-1].kind in _OWNING):
            if owners and declared:
                self.facts.fields.append([owners[-1], name, declared])
            return
        if len(stack) > 1 or declared:
            stack[-1].names.setdefault(name, declared)

    def _declared(self, captures: "Captures") -> str:
        """Return the type that a declaration states; `name()` for what a call returns."""
        if captures.get("type"):
            return _type(_text(captures["type"][0]))
        if not captures.get("value"):
            return ""
        value = _text(captures["value"][0])
        if made := _MAKING.match(value):
            return _path(made[1])
        if called := _CALLING.match(value):
            path = _path(called[1])
            owner, _, name = path.rpartition(".")
            return owner if owner and name in self.syntax.constructors else f"{path}()"
        return ""

    def _call(self, captures: "Captures", line: int, stack: list[_Scope]) -> None:
        name = _path(_type(_text(captures["callee"][0])))
        receiver = ""
        if captures.get("receiver"):
            receiver = self._receiver(_text(captures["receiver"][0]))
        elif "." in name:
            receiver, _, name = name.rpartition(".")
        if not name:
            return
        declared = ""
        first, _, _ = (receiver or name).partition(".")
        for scope in reversed(stack):
            if first in scope.names:
                declared = scope.names[first] or "?"
                break
        if declared and not receiver:
            return  # a variable is called; what it holds is not stated
        owner = next((scope.owner for scope in reversed(stack) if scope.kind in _OWNING), "")
        self.facts.calls.append([stack[-1].symbol, receiver, name, line, declared, owner])

    def _receiver(self, text: str) -> str:
        """Return whom a call goes to: names joined by dots, `@self` first for the object itself.

        `?` is anything else, `=Type` an object that is made on the spot.
        """
        if len(text) > _LONGEST_RECEIVER:
            return "?"
        if made := _MAKING.match(text.lstrip("(")):
            return f"={_path(made[1])}"
        path = _path(text)
        if not _PATH.match(path):
            called = _CALLING.fullmatch(text)
            return f"={_path(called[1])}()" if called and _PATH.match(_path(called[1])) else "?"
        first, dot, rest = path.partition(".")
        if first in self.syntax.selves:
            return f"@self{dot}{rest}"
        if first in self.syntax.supers:
            return f"@super{dot}{rest}"
        return path

    def _defines(self) -> str:
        shown = [item for item in self.symbols if item.kind is not SymbolKind.METHOD]
        told = [item.doc for item in shown if item.doc]
        if len(shown) == 1 and told:
            return told[0]
        names = list(dict.fromkeys(item.name for item in shown))
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return f"defines {', '.join(names[:4])}{more}" if names else ""


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _path(text: str) -> str:
    """Return names with dots between them, whatever the language puts there."""
    return _SEPARATORS.sub(".", text.strip())


def _type(text: str) -> str:
    """Return a type's bare name: no arguments, pointers, references, nor what says that it may be missing."""
    bare = text.strip().removeprefix(":").strip()
    bare = re.sub(
        r"^(?:(?:const|mut|dyn|impl|struct|class|enum|readonly|ref|unsigned|static)\s+|[&*?\[\]]+\s*|'\w+\s+)+",
        "",
        bare,
    )
    wrapped = re.match(
        r"(?:Promise|Option|Result|Box|Rc|Arc|RefCell|Mutex|std::unique_ptr|std::shared_ptr|unique_ptr|shared_ptr|Optional|Task)\s*<\s*(.+?)\s*(?:,.*)?>\s*$",
        bare,
        re.DOTALL,
    )
    if wrapped:
        return _type(wrapped[1])
    bare = re.split(r"[<({|&\[]", bare, maxsplit=1)[0]
    return _path(bare.rstrip("*&?! \t\n"))

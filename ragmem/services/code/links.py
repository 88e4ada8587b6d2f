"""Find the memories that mention code, and the code that a memory mentions, from the texts on demand.

Nothing is stored that could grow stale. Both ways give the same links: a memory is one of a symbol's memories
if and only if the symbol is in the memory's code.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragmem.domain.code.code import Symbol, SymbolKind
from ragmem.domain.code.mentions import Mention, candidate_lines, is_distinctive, line_mentions, mentions
from ragmem.domain.code.names import (
    NEAR,
    MentionTargets,
    Names,
    ProjectSymbol,
    candidates_of,
    file_of,
    needs_context,
    resolve_mentions,
)
from ragmem.domain.code.qualified_names import parts_of
from ragmem.domain.model import USER, Category, Kind, Memory
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.storage.code.code import SymbolPlace
from ragmem.storage.code.overview import test_code
from ragmem.storage.fulltext.name_search import SearchedMemory, find_memories_by_names, searched_memories
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.edits import edited_paths, edits_of
from ragmem.storage.sql.rows import from_stamp

NOTHING = MentionTargets({}, {})

FEW = 20
"""Maximum symbols that are also searched by names that are words; beyond it, with a qualifier only."""

MOST = 300
"""Maximum symbols per search; a file with more is generated."""

MOST_READ = 2000
"""Maximum memories that are read for a name that is also a word; the latest are taken."""

MOST_PLACES = 3
"""Maximum places quoted from a memory."""

QUOTE = 160
"""Maximum characters of a quoted line."""

LONGEST_SECRET = 4000
"""Characters around a line that are searched for secrets that reach into it: a key has up to 3300."""

LIMIT = 50
"""Default number of memories returned."""

TELLING: frozenset[str] = frozenset(
    {Category.ERROR_SOLUTION, Category.GOTCHA, Category.PATTERN, Kind.ERROR, Kind.ARCHITECTURE}
)
"""Decisions, gotchas, patterns and errors: the most important ones before a change of code."""

How = Literal["symbol", "file", "edit"]


class MentionReader:
    """Reads texts; the project's names are looked up as they occur."""

    def __init__(self, catalog: Catalog, project: str) -> None:
        self._database, self._code, self._project = catalog.database, catalog.code, project
        self._met: set[str] = set()
        self._symbols: dict[str, list[ProjectSymbol]] = {}
        self._files: dict[str, list[str]] = {}
        self._former: dict[str, str] = {}
        self._roots = [root.root for root in self._code.roots() if root.project == project]
        self._renamed: dict[str, list[str]] = {}
        for rename in self._code.renames(project):
            self._renamed.setdefault(rename.old.rpartition("/")[2], []).append(rename.old)

    @property
    def names(self) -> Names:
        """The known names of the project's code."""
        return Names(self._symbols, self._files, self._former, self._roots)

    def meet(self, names: Iterable[str]) -> None:
        """Look up the symbols and files with these names, and the files that had them."""
        new = [name for name in dict.fromkeys(names) if name not in self._met]
        self._met.update(new)
        symbols = self._code.symbols_called(self._project, new)
        tests = test_code(self._database, self._project, symbols)
        for one in symbols:
            symbol = one.symbol
            known = ProjectSymbol(
                symbol.qualified,
                one.path,
                is_module=symbol.kind is SymbolKind.MODULE,
                is_test=one in tests,
                is_method=symbol.kind is SymbolKind.METHOD,
            )
            self._symbols.setdefault(symbol.name, []).append(known)
        for path in self._code.paths_called(self._project, new):
            self._files.setdefault(path.rpartition("/")[2], []).append(path)
        for old in (old for name in new for old in self._renamed.get(name, ())):
            if current := self._code.current(self._project, old):
                self._former[old] = current

    def read(self, title: str, text: str, *, own: bool) -> MentionTargets:
        """Return all mentions in a text; its title is line 0."""
        found = list(mentions(f"{_one_line(title)}\n{text}"))
        self.meet(one.last for one in found)
        return _from_title(resolve_mentions(found, self.names, own=own))

    def read_for(
        self, title: str, text: str, sought: "SearchTargets", names: Iterable[str], *, own: bool
    ) -> MentionTargets:
        """Return the mentions in `read` of the targets, if the text may have these of its names.

        Only the lines with these names are looked at, and those around a name that several symbols have.
        """
        whole = f"{_one_line(title)}\n{text}"
        numbers = set().union(*(candidate_lines(whole, name) for name in names))
        if not numbers:
            return NOTHING
        lines = whole.split("\n")
        found = [
            mention
            for number in sorted(numbers)
            for mention in line_mentions(lines[number - 1], number)
            if mention.last in sought.lasts
        ]
        if not found:
            return NOTHING
        around = {
            number
            for one in found
            if not one.is_path and self._is_open(one, sought, own=own)
            for number in range(max(1, one.line - NEAR), min(len(lines), one.line + NEAR) + 1)
        }
        if around:
            found = [one for one in found if one.line not in around]
            found += [one for number in around for one in line_mentions(lines[number - 1], number)]
            self.meet(one.last for one in found)
        return sought.of(_from_title(resolve_mentions(found, self.names, own=own)))

    def _is_open(self, mention: Mention, sought: "SearchTargets", *, own: bool) -> bool:
        may_be = candidates_of(mention, self.names, own=own)
        return needs_context(mention, may_be) and any(
            one.qualified in sought.symbols or one.path in sought.files for one in may_be
        )


class SearchTargets:
    """The symbols and files to search for, and the strings to search by: names, or suffixes of them."""

    def __init__(self, symbols: Iterable[Symbol], files: AbstractSet[str], file_names: Iterable[str]) -> None:
        every = list(symbols)
        few = len(every) <= FEW
        self.symbols = {one.qualified for one in every}
        self.files = files
        self.texts = {*file_names, *(text for one in every[:MOST] for text in _texts_of(one, few=few))}
        self.lasts = {*file_names, *(one.name for one in every)}

    def of(self, found: MentionTargets) -> MentionTargets:
        """Return the mentions of the targets only."""
        return MentionTargets(
            {path: lines for path, lines in found.files.items() if path in self.files},
            {name: lines for name, lines in found.symbols.items() if name in self.symbols},
        )


def _texts_of(symbol: Symbol, *, few: bool) -> list[str]:
    """Return the strings that mention a symbol; with a qualifier if its name is only a word."""
    if is_distinctive(symbol.name):
        return [symbol.name]
    if few and symbol.kind is not SymbolKind.MODULE:
        return [symbol.name]
    around = parts_of(symbol.qualified)[-2:]
    # In the syntax of its language, or with a dot.
    return [mark.join(around) for mark in {".", *re.findall(r"::|#", symbol.qualified)}]


def _one_line(title: str) -> str:
    return title.replace("\n", " ")


def _from_title(found: MentionTargets) -> MentionTargets:
    """Return line numbers that count the title as 0."""
    return MentionTargets(
        {path: [line - 1 for line in lines] for path, lines in found.files.items()},
        {name: [line - 1 for line in lines] for name, lines in found.symbols.items()},
    )


@dataclass(frozen=True, slots=True)
class MentionPlace:
    """A mention of code in a memory: a line of its text (0: its title) without secrets, and the target.

    `means` is a qualified name or a path. A recorded edit has no line (-1).
    """

    line: int
    quote: str
    means: str
    how: How


@dataclass(frozen=True, slots=True)
class CodeMemory:
    """A memory that mentions code, with its first mentions."""

    id: str
    title: str
    project: str
    source: str
    kind: Kind
    category: Category
    event_time: datetime
    places: tuple[MentionPlace, ...]


@dataclass(frozen=True, slots=True)
class Memories:
    """The first memories that mention code, and their total number."""

    total: int
    shown: tuple[CodeMemory, ...]


@dataclass(frozen=True, slots=True)
class CodeLink:
    """A symbol, or (with an empty `qualified`) a file, that a memory mentions on some of its lines.

    `line` is that of the definition; `edited` tells that the memory records edits to the file.
    """

    project: str
    path: str
    qualified: str
    line: int
    lines: tuple[int, ...]
    edited: bool = False


@dataclass(slots=True)
class _Candidate:
    memory: SearchedMemory
    meant: MentionTargets = NOTHING
    edited: tuple[str, ...] = ()

    def order(self) -> tuple[bool, bool, int, str]:
        told = self.memory
        tells = told.kind in TELLING or told.category in TELLING
        return (not tells, not self.meant.symbols, -told.event_at, told.id)


def memories_of(
    catalog: Catalog,
    project: str,
    *,
    symbols: Sequence[SymbolPlace] = (),
    paths: Sequence[str] = (),
    limit: int = LIMIT,
) -> Memories:
    """Return the memories of a project and of the user that mention symbols, or files by their paths.

    A module is its file, and a file also has its former paths. The order is: decisions, gotchas and errors,
    then mentions of a symbol before mentions of a file, then the newest.
    """
    files = {*paths, *(one.path for one in symbols if one.symbol.kind is SymbolKind.MODULE)}
    file_names = {
        path.rpartition("/")[2] for now in files for path in (now, *catalog.code.former(project, now))
    }
    modules = [one for one in catalog.code.symbols(project, files) if one.symbol.kind is SymbolKind.MODULE]
    sought = SearchTargets(dict.fromkeys(one.symbol for one in (*modules, *symbols)), files, file_names)
    reader = MentionReader(catalog, project)
    reader.meet(sought.lasts)
    found: dict[str, _Candidate] = {}
    for memory, names in find_memories_by_names(
        catalog.database, sought.texts, projects=(project, USER), most=MOST_READ
    ):
        own = memory.project == project
        meant = reader.read_for(memory.title, memory.text, sought, names, own=own)
        if meant.files or meant.symbols:
            found[memory.id] = _Candidate(memory, meant)
    edited = _edits(catalog, project, file_names, reader, files)
    for memory in searched_memories(
        catalog.database, (identifier for identifier in edited if identifier not in found)
    ):
        found[memory.id] = _Candidate(memory)
    for identifier in edited.keys() & found.keys():
        found[identifier].edited = tuple(edited[identifier])
    ordered = sorted(found.values(), key=_Candidate.order)
    return Memories(
        len(ordered), tuple(_code_memory(one, redactor=catalog.redactor) for one in ordered[:limit])
    )


def _edits(
    catalog: Catalog, project: str, names: Iterable[str], reader: MentionReader, files: set[str]
) -> dict[str, dict[str, None]]:
    """Return memory id -> the files among these that it records edits to."""
    found: dict[str, dict[str, None]] = {}
    for name in sorted(names):
        for scope in (project, USER):
            for edit in edits_of(catalog.database, name, projects=(scope,)):
                path = file_of(edit.path, reader.names, own=scope == project)
                if path in files:
                    found.setdefault(edit.memory_id, {})[path] = None
    return found


def _code_memory(found: _Candidate, redactor: Redactor) -> CodeMemory:
    memory = found.memory
    spots: list[tuple[int, str, How]] = [
        *((lines[0], name, "symbol") for name, lines in found.meant.symbols.items()),
        *((lines[0], path, "file") for path, lines in found.meant.files.items()),
    ]
    spots.sort(key=lambda spot: (spot[2] != "symbol", spot[0]))
    places = [
        MentionPlace(line, _quote(memory, line, redactor=redactor), means, how)
        for line, means, how in spots[:MOST_PLACES]
    ]
    places += [MentionPlace(-1, "", path, "edit") for path in found.edited]
    return CodeMemory(
        memory.id,
        redactor.redact(memory.title)[0],
        memory.project,
        memory.source,
        Kind(memory.kind),
        Category(memory.category),
        from_stamp(memory.event_at),
        tuple(places[:MOST_PLACES]),
    )


def _quote(memory: SearchedMemory, line: int, redactor: Redactor) -> str:
    """Return a line of a memory without secrets, including those that only partly lie in it."""
    if line == 0:
        return redactor.redact(memory.title)[0]
    start = 0
    for _ in range(line - 1):
        start = memory.text.index("\n", start) + 1
    end = memory.text.find("\n", start)
    end = len(memory.text) if end < 0 else end
    first, last = max(0, start - LONGEST_SECRET), end + LONGEST_SECRET
    part = memory.text[first:last]
    return " ".join(cover(part, redactor.find(part), start - first, end - first).split())[:QUOTE]


def code_of(catalog: Catalog, memory: Memory) -> list[CodeLink]:
    """Return the symbols and files that a memory mentions, in its project or, for the user's, in all.

    Edited files come first, then the order of the text.
    """
    projects = [root.project for root in catalog.code.roots()]
    if memory.scope.project != USER:
        projects = [project for project in projects if project == memory.scope.project]
    return [link for project in projects for link in _links(catalog, project, memory)]


def _links(catalog: Catalog, project: str, memory: Memory) -> list[CodeLink]:
    own = memory.scope.project == project
    reader = MentionReader(catalog, project)
    found = reader.read(memory.title, memory.indexed_text, own=own)
    edits = edited_paths(memory.metadata)
    reader.meet(path.rpartition("/")[2] for path in edits)
    edited = {path for edit in edits if (path := file_of(edit, reader.names, own=own))}
    links = [
        CodeLink(project, path, "", 1, tuple(found.files.get(path, ())), edited=path in edited)
        for path in edited | found.files.keys()
    ]
    places = {one.symbol.qualified: one for one in catalog.code.symbols_named(project, found.symbols)}
    links += [
        CodeLink(project, one.path, name, one.symbol.line, tuple(found.symbols[name]))
        for name, one in places.items()
        if one.symbol.kind is not SymbolKind.MODULE
    ]
    return sorted(links, key=lambda link: (not link.edited, link.lines[:1], link.path, link.qualified))

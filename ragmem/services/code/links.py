"""Find the memories that mention code, and the code that a memory mentions, from the texts on demand.

Nothing is stored that could grow stale. Both ways give the same links: a memory is one of a symbol's memories
if and only if the symbol is in the memory's code.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragmem.domain.code.code import SymbolKind
from ragmem.domain.code.names import MentionTargets, file_of
from ragmem.domain.model import USER, Category, Kind, Memory
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.services.code.mention_reader import NOTHING, MentionReader, SearchTargets
from ragmem.storage.code.code import SymbolPlace
from ragmem.storage.fulltext.name_search import SearchedMemory, find_memories_by_names, searched_memories
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.edits import edited_paths, edits_of
from ragmem.storage.sql.rows import from_stamp

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

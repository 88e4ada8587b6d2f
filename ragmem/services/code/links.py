"""Memories that speak of code, and the code that a memory speaks of: read from the texts at each question.

Nothing is stored that could grow stale. Both ways give the same links: a memory is one of a symbol's memories
if and only if the symbol is in the memory's code.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragmem.domain.code.code import SymbolKind
from ragmem.domain.code.names import Meant, file_of
from ragmem.domain.model import USER, Category, Kind, Memory
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.services.code.mention_reading import NOTHING, Reader, Sought
from ragmem.storage.code.code import Located
from ragmem.storage.fulltext.name_search import Told, naming, told
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.edits import edited_paths, edits_of
from ragmem.storage.sql.rows import from_stamp

MOST_READ = 2000
"""Memories whose texts are read for a name that is also a word; those stored last."""

MOST_PLACES = 3
"""Places that are quoted of a memory."""

QUOTE = 160
"""Characters of a quoted line."""

LONGEST_SECRET = 4000
"""Characters before and behind a line that are searched for secrets that reach into it: a key takes 3300."""

LIMIT = 50
"""Memories that are returned unless more are asked for."""

TELLING: frozenset[str] = frozenset(
    {Category.ERROR_SOLUTION, Category.GOTCHA, Category.PATTERN, Kind.ERROR, Kind.ARCHITECTURE}
)
"""Decisions, gotchas, patterns and errors: what whoever changes code should know first."""

How = Literal["symbol", "file", "edit"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory mentions code: a line of its text (0: its title) without secrets, and what that means.

    `means` is a qualified name or a path. An edit that a memory tells of stands in no line (-1).
    """

    line: int
    quote: str
    means: str
    how: How


@dataclass(frozen=True, slots=True)
class Linked:
    """A memory that mentions code, with the first places of the mentions."""

    id: str
    title: str
    project: str
    source: str
    kind: Kind
    category: Category
    event_time: datetime
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories that mention code, and how many there are of which these are the first."""

    total: int
    shown: tuple[Linked, ...]


@dataclass(frozen=True, slots=True)
class CodeLink:
    """A symbol, or (with an empty `qualified`) a file, that a memory mentions on some of its lines.

    `line` is that of the definition; `edited` tells that the memory tells of edits to the file.
    """

    project: str
    path: str
    qualified: str
    line: int
    lines: tuple[int, ...]
    edited: bool = False


@dataclass(slots=True)
class _Found:
    memory: Told
    meant: Meant = NOTHING
    edited: tuple[str, ...] = ()

    def order(self) -> tuple[bool, bool, int, str]:
        told = self.memory
        tells = told.kind in TELLING or told.category in TELLING
        return (not tells, not self.meant.symbols, -told.event_at, told.id)


def memories_of(
    catalog: Catalog,
    project: str,
    *,
    symbols: Sequence[Located] = (),
    paths: Sequence[str] = (),
    limit: int = LIMIT,
) -> Memories:
    """Return the memories of a project and of the user that mention symbols, or files by their paths.

    A module is its file, and a file also goes by its former paths. Decisions, gotchas and errors come first,
    then what names a symbol before what only names a file, then the newest.
    """
    files = {*paths, *(one.path for one in symbols if one.symbol.kind is SymbolKind.MODULE)}
    file_names = {
        path.rpartition("/")[2] for now in files for path in (now, *catalog.code.former(project, now))
    }
    modules = [one for one in catalog.code.symbols(project, files) if one.symbol.kind is SymbolKind.MODULE]
    sought = Sought(dict.fromkeys(one.symbol for one in (*modules, *symbols)), files, file_names)
    reader = Reader(catalog, project)
    reader.meet(sought.lasts)
    found: dict[str, _Found] = {}
    for memory, names in naming(catalog.database, sought.texts, projects=(project, USER), most=MOST_READ):
        own = memory.project == project
        meant = reader.read_for(memory.title, memory.text, sought, names, own=own)
        if meant.files or meant.symbols:
            found[memory.id] = _Found(memory, meant)
    edited = _edited(catalog, project, file_names, reader, files)
    for memory in told(catalog.database, (identifier for identifier in edited if identifier not in found)):
        found[memory.id] = _Found(memory)
    for identifier in edited.keys() & found.keys():
        found[identifier].edited = tuple(edited[identifier])
    ordered = sorted(found.values(), key=_Found.order)
    return Memories(len(ordered), tuple(_linked(one, redactor=catalog.redactor) for one in ordered[:limit]))


def _edited(
    catalog: Catalog, project: str, names: Iterable[str], reader: Reader, files: set[str]
) -> dict[str, dict[str, None]]:
    """Return memory id -> those of the files to which it tells of edits."""
    found: dict[str, dict[str, None]] = {}
    for name in sorted(names):
        for scope in (project, USER):
            for edit in edits_of(catalog.database, name, projects=(scope,)):
                path = file_of(edit.path, reader.names, own=scope == project)
                if path in files:
                    found.setdefault(edit.memory_id, {})[path] = None
    return found


def _linked(found: _Found, redactor: Redactor) -> Linked:
    memory = found.memory
    spots: list[tuple[int, str, How]] = [
        *((lines[0], name, "symbol") for name, lines in found.meant.symbols.items()),
        *((lines[0], path, "file") for path, lines in found.meant.files.items()),
    ]
    spots.sort(key=lambda spot: (spot[2] != "symbol", spot[0]))
    places = [
        Place(line, _quoted(memory, line, redactor=redactor), means, how)
        for line, means, how in spots[:MOST_PLACES]
    ]
    places += [Place(-1, "", path, "edit") for path in found.edited]
    return Linked(
        memory.id,
        redactor.redact(memory.title)[0],
        memory.project,
        memory.source,
        Kind(memory.kind),
        Category(memory.category),
        from_stamp(memory.event_at),
        tuple(places[:MOST_PLACES]),
    )


def _quoted(memory: Told, line: int, redactor: Redactor) -> str:
    """Return a line of a memory without secrets, those that begin before it or end behind it included."""
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
    """Return the symbols and files that a memory mentions, of its project or, for one of the user, of all.

    Files that it edited come first, then the order of the text.
    """
    projects = [root.project for root in catalog.code.roots()]
    if memory.scope.project != USER:
        projects = [project for project in projects if project == memory.scope.project]
    return [link for project in projects for link in _links(catalog, project, memory)]


def _links(catalog: Catalog, project: str, memory: Memory) -> list[CodeLink]:
    own = memory.scope.project == project
    reader = Reader(catalog, project)
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

"""The invariants of a catalog, as statements that find the rows which violate them."""

from collections.abc import Iterator, Mapping

from ragmem.domain.model import Chunk, Memory, State, content_hash
from ragmem.errors import StoreDamagedError
from ragmem.storage.fulltext.lexicon import unsound
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.migrations import table_exists
from ragmem.storage.sql.sqlite_files import integrity_check

_STATES = ", ".join(f"'{state.value}'" for state in (State.PENDING, State.INDEXED, State.BUFFERED))

# The fault, and a query whose first column names the rows.
_RULES: Mapping[str, str] = {
    "chunks belong to no memory": (
        "SELECT id FROM chunks WHERE memory NOT IN (SELECT n FROM memories) ORDER BY id"
    ),
    "memories in the catalog have an invalid state": (
        f"SELECT id FROM memories WHERE state NOT IN ({_STATES}) ORDER BY id"
    ),
    "memories have chunks whose positions are not 0, 1, 2, ...": (
        "SELECT m.id FROM memories m JOIN chunks c ON c.memory = m.n GROUP BY m.id"
        " HAVING min(c.position) <> 0 OR max(c.position) <> count(*) - 1"
        " OR count(DISTINCT c.position) <> count(*) ORDER BY m.id"
    ),
    "chunks are missing from the full text": (
        "SELECT id FROM chunks WHERE memory NOT IN (SELECT memory FROM lexicon_memories) ORDER BY id"
    ),
    "memories have other chunks than their entry in the full text": (
        "SELECT l.memory FROM lexicon_memories l LEFT JOIN chunks c ON c.memory = l.memory"
        " GROUP BY l.memory, l.chunks HAVING count(c.id) <> l.chunks ORDER BY l.memory"
    ),
    "segments of the full text lack blocks": (
        "SELECT last FROM lexicon_segments s WHERE blocks <> (SELECT count(*) FROM lexicon_blocks b"
        " WHERE b.n >= s.block AND b.n < s.block + s.blocks) ORDER BY last"
    ),
    "segments of the full text do not add up to its memories": (
        "SELECT there FROM (SELECT coalesce(sum(chunks - dead_chunks), 0) AS there"
        " FROM lexicon_segments) AS counted"
        " WHERE there <> (SELECT coalesce(sum(chunks), 0) FROM lexicon_memories)"
    ),
}

_NAME_RULES: Mapping[str, str] = {
    "names refer to a node that does not exist": (
        "SELECT name FROM entity_names e WHERE NOT EXISTS (SELECT 1 FROM entity_names h"
        " WHERE h.project = e.project AND h.name = e.canonical AND h.canonical = h.name) ORDER BY name"
    ),
    "names mention memories of another project": (
        "SELECT e.name FROM entity_names e JOIN entity_mentions x ON x.name = e.n"
        " JOIN memories m ON m.n = x.memory WHERE m.project <> e.project ORDER BY e.name"
    ),
}

_CONNECTION_RULES: Mapping[str, str] = {
    "connections are stored in the wrong direction": (
        "SELECT low FROM connections WHERE low >= high ORDER BY low"
    ),
    "memories of two projects are connected": (
        "SELECT a.id FROM connections c JOIN memories a ON a.n = c.low JOIN memories b ON b.n = c.high"
        " WHERE a.project <> b.project ORDER BY a.id"
    ),
    "connections lead to memories that do not exist": (
        "SELECT c.low FROM connections c WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.n = c.low)"
        " OR NOT EXISTS (SELECT 1 FROM memories m WHERE m.n = c.high) ORDER BY c.low"
    ),
}

_SQLITE_RULES: Mapping[str, str] = {
    "rows refer to others that do not exist": (
        "SELECT \"table\" || ' ' || rowid FROM pragma_foreign_key_check ORDER BY 1"
    ),
    # Each transaction that moves a memory to the archive, or out of it, also counts it for its run.
    "runs in the archive are incomplete": (
        "SELECT a.run FROM (SELECT run, count(*) AS held FROM archive GROUP BY run) a"
        " LEFT JOIN gc_runs g ON g.run = a.run WHERE a.held <> coalesce(g.archived, ("
        "SELECT json_extract(detail, '$.removed') FROM log"
        " WHERE operation = 'gc' AND json_extract(detail, '$.run') = a.run), a.held)"
        " UNION SELECT run FROM gc_runs WHERE archived <> 0 AND run NOT IN (SELECT run FROM archive)"
        " ORDER BY 1"
    ),
}

CODE_RULES: Mapping[str, str] = {
    "files of code belong to no project": (
        "SELECT path FROM code_files WHERE root NOT IN (SELECT n FROM code_roots) ORDER BY path"
    ),
    "symbols of code belong to no file": (
        "SELECT s.qualified FROM code_symbols s LEFT JOIN code_files f ON f.n = s.file"
        " WHERE f.n IS NULL OR f.root <> s.root ORDER BY s.qualified"
    ),
    "edges of code belong to no file": (
        "SELECT e.source FROM code_edges e LEFT JOIN code_files f ON f.n = e.file"
        " WHERE f.n IS NULL OR f.root <> e.root ORDER BY e.source"
    ),
    "edges of code start at a symbol that their file lacks": (
        "SELECT e.source FROM code_edges e WHERE NOT EXISTS (SELECT 1 FROM code_symbols s"
        " WHERE s.file = e.file AND s.qualified = e.source) ORDER BY e.source"
    ),
    "edges of code lead to symbols that the project lacks": (
        "SELECT e.target FROM code_edges e JOIN code_roots r ON r.n = e.root"
        " WHERE e.internal = 1 AND r.complete = 1 AND NOT EXISTS (SELECT 1 FROM code_symbols s"
        " WHERE s.root = e.root AND s.qualified = e.target) ORDER BY e.target"
    ),
}
"""The same for the graph of code; a killed run is not a violation: the next one completes it."""


def sentence(what: str, names: list[str]) -> str:
    """Return one line with the number of rows that violate a rule, and the first ones."""
    return f"{what}: {len(names):,} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"


def violations(catalog: Catalog, *, deep: bool = False) -> list[str]:
    """Return the violations of the catalog's invariants, one line each.

    `deep` also reads every page of the database and compares every chunk with its memory's text. Raises
    StoreDamagedError where the database cannot be read at all.
    """
    sqlite = catalog.database.dialect == "sqlite"
    rules = {**_RULES, **(_SQLITE_RULES if sqlite else {})}
    found: list[str] = []
    with catalog.database.read() as connection:
        # A home that cannot be written may be older than the tables of code and of names.
        if table_exists(catalog.database, connection, "code_renames"):
            rules |= CODE_RULES
        if table_exists(catalog.database, connection, "entity_names"):
            rules |= _NAME_RULES
        if table_exists(catalog.database, connection, "connections"):
            rules |= _CONNECTION_RULES
        for what, query in rules.items():
            names = [str(row[0]) for row in connection.execute(query)]
            if names:
                found.append(sentence(what, names))
        if deep and sqlite:
            found += [f"the database: {line}" for line in integrity_check(connection)]
    if deep:
        found += _text_violations(catalog)
        found += _full_text_violations(catalog)
        found += _archive_violations(catalog)
    return found


def _full_text_violations(catalog: Catalog) -> list[str]:
    """Compare the index of the full text with its chunks."""
    try:
        with catalog.database.read() as connection:
            wrong = unsound(connection)
    except StoreDamagedError as error:
        return [str(error)]
    return [sentence("segments of the full text do not fit their chunks", wrong)] if wrong else []


def _text_violations(catalog: Catalog) -> list[str]:
    """Compare each memory's text with its hash and its chunks."""
    wrong: dict[str, list[str]] = {}
    for memory in catalog.memories.each():
        for what in _text_of(catalog, memory):
            wrong.setdefault(what, []).append(memory.id)
    return [sentence(what, names) for what, names in wrong.items()]


def _text_of(catalog: Catalog, memory: Memory) -> Iterator[str]:
    with catalog.database.read():
        # Read again, together with the chunks: a writer may have replaced it since.
        now = catalog.memories.get([memory.id]).get(memory.id)
        if now is None:
            return
        chunks = catalog.memories.chunks(now)
    if now.content_hash != content_hash(now.text):
        yield "texts of memories do not match their hashes"
    if not covers(now.indexed_text, chunks):
        yield "memories have chunks that do not rebuild their text"


def covers(text: str, chunks: tuple[Chunk, ...]) -> bool:
    """Return whether the chunks are in order and leave out only white space."""
    last = 0
    for chunk in chunks:
        if chunk.start < last or chunk.end > len(text) or text[last : chunk.start].strip():
            return False
        last = chunk.end
    return not text[last:].strip()


def _archive_violations(catalog: Catalog) -> list[str]:
    """Read each memory of the archive: an unreadable one could not be restored."""
    broken = []
    for run in catalog.archive.runs():
        try:
            whole = all(
                memory.content_hash == content_hash(memory.text)
                for memory in catalog.archive.memories(run.run)
            )
        except (StoreDamagedError, ValueError, KeyError):
            whole = False
        if not whole:
            broken.append(run.run)
    return [sentence("runs in the archive have memories that cannot be restored", broken)] if broken else []

"""What holds of a sound catalog at any moment, as statements that find the rows which break it."""

from collections.abc import Iterator

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.database import Connection
from ragmem.domain.model import Chunk, Memory, State, content_hash
from ragmem.errors import StoreDamagedError

_STATES = ", ".join(f"'{state.value}'" for state in (State.PENDING, State.INDEXED, State.BUFFERED))

# What is wrong, and a query whose first column names the rows.
_RULES: tuple[tuple[str, str], ...] = (
    (
        "chunks belong to no memory",
        "SELECT id FROM chunks WHERE memory NOT IN (SELECT n FROM memories) ORDER BY id",
    ),
    (
        "memories are in a state that a memory of the catalog cannot have",
        f"SELECT id FROM memories WHERE state NOT IN ({_STATES}) ORDER BY id",
    ),
    (
        "memories have chunks whose places are not 0, 1, 2, ...",
        (
            "SELECT m.id FROM memories m JOIN chunks c ON c.memory = m.n GROUP BY m.id"
            " HAVING min(c.position) <> 0 OR max(c.position) <> count(*) - 1"
            " OR count(DISTINCT c.position) <> count(*) ORDER BY m.id"
        ),
    ),
)

_SQLITE_RULES: tuple[tuple[str, str], ...] = (
    (
        "chunks are not in the full text",
        "SELECT id FROM chunks WHERE n NOT IN (SELECT rowid FROM chunks_text) ORDER BY id",
    ),
    (
        "rows of the full text belong to no chunk",
        "SELECT rowid FROM chunks_text WHERE rowid NOT IN (SELECT n FROM chunks) ORDER BY rowid",
    ),
    (
        "rows refer to others that do not exist",
        "SELECT \"table\" || ' ' || rowid FROM pragma_foreign_key_check ORDER BY 1",
    ),
    (
        # One removal is one transaction, which also writes how many it removed.
        "runs in the trash are not whole",
        (
            "SELECT run FROM trash GROUP BY run HAVING count(*) <> coalesce(("
            "SELECT json_extract(detail, '$.removed') FROM log"
            " WHERE operation = 'gc' AND json_extract(detail, '$.run') = trash.run), count(*)) ORDER BY run"
        ),
    ),
)

_POSTGRES_RULES: tuple[tuple[str, str], ...] = (
    (
        "chunks are not in the full text",
        "SELECT id FROM chunks WHERE n NOT IN (SELECT n FROM chunks_text) ORDER BY id",
    ),
    (
        "rows of the full text belong to no chunk",
        "SELECT n FROM chunks_text WHERE n NOT IN (SELECT n FROM chunks) ORDER BY n",
    ),
)


def sentence(what: str, names: list[str]) -> str:
    """Return one line that tells how many rows break a rule, and names the first."""
    return f"{what}: {len(names):,} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"


def violations(catalog: Catalog, *, deep: bool = False) -> list[str]:
    """Return what is wrong with the catalog by itself, one line each; empty when it is sound.

    `deep` also reads every page of the database and compares every chunk with its memory's text. Raises
    StoreDamagedError where the database cannot be read at all.
    """
    sqlite = catalog.database.dialect == "sqlite"
    rules = (*_RULES, *(_SQLITE_RULES if sqlite else _POSTGRES_RULES))
    found: list[str] = []
    with catalog.database.read() as connection:
        for what, query in rules:
            names = [str(row[0]) for row in connection.execute(query)]
            if names:
                found.append(sentence(what, names))
        if deep and sqlite:
            found += _pages(connection)
    if deep:
        found += _texts(catalog, full_text=sqlite)
        found += _trashed(catalog)
    if deep and sqlite and not catalog.database.read_only:
        found += _full_text_index(catalog)
    return found


def _pages(connection: Connection) -> list[str]:
    lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [] if lines == ["ok"] else [f"the database: {' '.join(line.split())}" for line in lines]


def _full_text_index(catalog: Catalog) -> list[str]:
    """Compare the full text's index with the text that it was made of."""
    try:
        with catalog.database.write() as connection:
            connection.execute("INSERT INTO chunks_text (chunks_text) VALUES ('integrity-check')")
    except StoreDamagedError:
        return ["the index of the full text does not fit its rows"]
    return []


def _texts(catalog: Catalog, *, full_text: bool) -> list[str]:
    """Compare each memory's text with its hash, its chunks and what full text has of them."""
    wrong: dict[str, list[str]] = {}
    for memory in catalog.memories.each():
        for what in _text_of(catalog, memory, full_text=full_text):
            wrong.setdefault(what, []).append(memory.id)
    return [sentence(what, names) for what, names in wrong.items()]


def _text_of(catalog: Catalog, memory: Memory, *, full_text: bool) -> Iterator[str]:
    with catalog.database.read() as connection:
        # Asked again, together with the chunks: a writer may have replaced it since.
        now = catalog.memories.get([memory.id]).get(memory.id)
        if now is None:
            return
        chunks = catalog.memories.chunks(now)
        rows = _full_text_of(connection, now) if full_text else []
    if now.content_hash != content_hash(now.text):
        yield "memories have another text than their hash says"
    if not covers(now.indexed_text, chunks):
        yield "memories have chunks that do not rebuild their text"
    tags = " ".join(now.tags)
    if full_text and rows != [(now.title, chunk.heading, chunk.text, tags) for chunk in chunks]:
        yield "memories have another text than full text has of them"


def _full_text_of(connection: Connection, memory: Memory) -> list[tuple[str, str, str, str]]:
    return connection.execute(
        "SELECT t.title, t.heading, t.text, t.tags FROM memories m JOIN chunks c ON c.memory = m.n"
        " JOIN chunks_text t ON t.rowid = c.n WHERE m.id = ? ORDER BY c.position",
        (memory.id,),
    ).fetchall()


def covers(text: str, chunks: tuple[Chunk, ...]) -> bool:
    """Tell whether the chunks follow each other and leave out nothing but white space."""
    last = 0
    for chunk in chunks:
        if chunk.start < last or chunk.end > len(text) or text[last : chunk.start].strip():
            return False
        last = chunk.end
    return not text[last:].strip()


def _trashed(catalog: Catalog) -> list[str]:
    """Read each memory of the trash: what cannot be read could not be brought back."""
    broken = []
    for run in catalog.trash.runs():
        try:
            whole = all(
                memory.content_hash == content_hash(memory.text) for memory in catalog.trash.memories(run.run)
            )
        except (StoreDamagedError, ValueError, KeyError):
            whole = False
        if not whole:
            broken.append(run.run)
    return [sentence("runs in the trash have memories that cannot be brought back", broken)] if broken else []

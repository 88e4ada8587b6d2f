"""MemPalace: drawers in the SQLite file of Chroma, and facts in a knowledge graph beside it."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.fields import as_fields
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.databases import ForeignDatabase, has_tables, open_database
from ragmem.readers.foreign.entries import Entry, Fact, LeftOut, name_of, text_of, time_of

FILE = "chroma.sqlite3"
PALACE = "palace"
GRAPH = "knowledge_graph.sqlite3"
DRAWERS = "mempalace_drawers"

_TABLES = {
    "collections": ("id", "name"),
    "segments": ("id", "collection"),
    "embeddings": ("id", "segment_id", "embedding_id", "created_at"),
    "embedding_metadata": ("id", "key", "string_value", "int_value", "float_value"),
}
_TRIPLES = {"triples": ("id", "subject", "predicate", "object", "valid_from", "valid_to")}
_TEXT = "chroma:document"
_OUTSIDE = frozenset({_TEXT, "wing", "room", "filed_at", "content_date", "last_modified", "date"})

_ROWS = """
    SELECT e.id, e.embedding_id, e.created_at, m.key, coalesce(m.string_value, m.int_value, m.float_value)
    FROM collections c JOIN segments s ON s.collection = c.id JOIN embeddings e ON e.segment_id = s.id
        JOIN embedding_metadata m ON m.id = e.id
    WHERE c.name = ? ORDER BY e.id, m.key
"""


def entries(path: Path, _redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield a fact for each drawer, its wing as project, and for each fact of the graph that still holds."""
    with open_database(_database_of(path), tool="mempalace") as database:
        database.require(_TABLES, TOOL.version)
        yield from _drawers(database, left_out)
    for graph in {_database_of(path).parent / GRAPH, _database_of(path).parent.parent / GRAPH}:
        if has_tables(graph, _TRIPLES):
            yield from _triples(graph, left_out)


def _drawers(database: ForeignDatabase, left_out: LeftOut) -> Iterator[Entry]:
    for (_, key, stored), rows in groupby(database.rows(_ROWS, (DRAWERS,)), key=lambda row: row[:3]):
        values: dict[str, Any] = {str(name): value for *_, name, value in rows}
        text = text_of(values.get(_TEXT))
        if not text:
            left_out["drawer without a text"] += 1
            continue
        room = name_of(values.get("room"))
        at = time_of(values.get("content_date"), values.get("date"), values.get("filed_at"), stored)
        metadata = as_fields(values, leave_out=_OUTSIDE)
        yield Fact(
            name_of(key),
            text,
            at=at,
            project=name_of(values.get("wing")).removeprefix("wing_"),
            tags=(room.lower(),) if room else (),
            metadata=metadata,
        )


def _triples(path: Path, left_out: LeftOut) -> Iterator[Entry]:
    with open_database(path, tool="mempalace") as database:
        names = dict(database.rows("SELECT id, name FROM entities")) if database.columns("entities") else {}
        sql = "SELECT id, subject, predicate, object, valid_from, valid_to FROM triples ORDER BY rowid"
        for key, subject, predicate, value, since, until in database.rows(sql):
            if until:
                left_out["fact that no longer holds"] += 1
                continue
            said = (names.get(subject, subject), str(predicate).replace("_", " "), names.get(value, value))
            yield Fact(f"triple/{name_of(key)}", " ".join(map(name_of, said)), at=time_of(since))


def _database_of(path: Path) -> Path:
    if not path.is_dir():
        return path
    return next((one for one in (path / FILE, path / PALACE / FILE) if one.is_file()), path / FILE)


def _recognise(path: Path) -> bool:
    database = _database_of(path)
    if not has_tables(database, _TABLES):
        return False
    with open_database(database, tool="mempalace") as opened:
        return any(name == DRAWERS for (name,) in opened.rows("SELECT name FROM collections"))


TOOL = Tool("mempalace", "3.11.0", _recognise, entries)

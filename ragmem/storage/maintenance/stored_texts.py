"""Find and change every text of a database, in any table."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.storage.activity.model_record import ACTIVE, NEXT
from ragmem.storage.sql.database import Connection, Database

DEFLATED = frozenset({("code_facts", "data"), ("store_documents", "extractions")})
"""Columns with deflated texts."""

WORDS = ("lexicon_segments", "lexicon_blocks", "lexicon_memories", "code_words")
"""The full-text indexes, which only have numbers."""

_GENERATED: dict[str, frozenset[str]] = {
    table: frozenset(columns.split())
    for table, columns in {
        "migrations": "component name checksum applied_at version",
        "memories": "id source project kind category tier state content_hash",
        "chunks": "id",
        "archive": "run id rule successor",
        "lives": "id life",
        "recalled_in": "id",
        "supersessions": "older newer rule",
        "merged_from": "merged original run",
        "gc_runs": "run caller",
        "gc_changes": "run what id",
        "compared": "content_hash model",
        "extractions": "text_hash model",
        "files": "source rules",
        "projects": "id",
        "project_paths": "project root_commit stamp",
        "project_commits": "root_commit project",
        "project_remotes": "project",
        "project_aliases": "alias project",
        "project_moves": "place memory former",
        "code_roots": "project rules run",
        "code_files": "content_hash links language",
        "code_symbols": "kind",
        "code_edges": "kind",
        "entity_names": "project rule",
        "entity_aliases": "project rule",
        "entity_apart": "project rule",
        "sessions": "project",
        "transcripts": "head rules project",
        "injections": "memory project",
        "violations": "project",
        "shared_records": "project id member kind target memory text_hash verdict approval body_hash",
        "shared_supersessions": "project older newer statement",
        "share_members": "project member keys",
        "share_heads": "project member head",
        "log": "operation",
        "messages": "sort",
        "store_kv": "workspace namespace id",
        "store_vector_models": "name",
        "store_name_vectors": "workspace namespace id model",
        "store_spaces": "name",
        "store_statuses": "workspace id status created_at updated_at",
        "store_documents": "id fingerprint texts",
        "store_chunks": "id",
    }.items()
}
"""Columns with values that ragmem generates: ids, hashes, names of rules and models, but never secrets."""

_ROWS = {"meta": f"key NOT IN ('{ACTIVE}', '{NEXT}')"}
"""Conditions for tables of which not all rows are searched: the records of models are generated too."""

_NAMES: dict[str, frozenset[str]] = {
    "entity_names": frozenset({"name", "form", "head", "canonical", "spelling", "node"}),
    "entity_aliases": frozenset({"short", "long", "short_form", "long_form"}),
    "entity_apart": frozenset({"name"}),
    "extractions": frozenset({"data"}),
    "store_name_vectors": frozenset({"subject", "object"}),
    "store_nodes": frozenset({"id", "lowered"}),
    "agents": frozenset({"id"}),
    "messages": frozenset({"agent"}),
    "events": frozenset({"agent", "type"}),
}
"""Key columns of tables that can be rebuilt: a row with a match there is deleted.

So is an agent's row, with its messages: the agent checks in again by itself."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with texts: its key columns, and those with texts."""

    name: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a table, with the key of its row and its column."""

    table: Table
    row: tuple[Any, ...]
    column: str
    text: str


def tables(database: Database, connection: Connection) -> list[Table]:
    """Return the tables with texts, except for the full-text index, by name."""
    found = _postgres_tables(connection) if database.dialect == "postgres" else _sqlite_tables(connection)
    return sorted(
        (table for table in found if table.columns and table.name not in WORDS), key=lambda table: table.name
    )


def _sqlite_tables(connection: Connection) -> Iterator[Table]:
    names = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    ).fetchall()
    for name, statement in names:
        columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        whole = [column[1] for column in sorted(columns, key=lambda one: one[5]) if column[5]]
        keys = whole if "WITHOUT ROWID" in statement.upper() else ["rowid"]
        texts = [column[1] for column in columns if column[2].upper() in {"TEXT", ""}]
        yield _table(name, keys, [*texts, *(column for table, column in DEFLATED if table == name)])


def _postgres_tables(connection: Connection) -> Iterator[Table]:
    columns: dict[str, list[str]] = {}
    for name, column, sort in connection.execute(
        "SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c"
        " JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name"
        " WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'"
        " ORDER BY c.table_name, c.ordinal_position"
    ).fetchall():
        if sort in {"text", "character varying"} or (name, column) in DEFLATED:
            columns.setdefault(name, []).append(column)
    for name, texts in columns.items():
        yield _table(name, ["ctid"], texts)


def _table(name: str, keys: Sequence[str], columns: Sequence[str]) -> Table:
    ours = _GENERATED.get(name, frozenset())
    return Table(name, tuple(keys), tuple(column for column in columns if column not in ours))


def texts(connection: Connection, table: Table) -> Iterator[Text]:
    """Yield every non-empty text of a table, inflated if necessary. Raises zlib.error."""
    selected = ", ".join(map(_quote, (*table.keys, *table.columns)))
    width = len(table.keys)
    condition = _ROWS.get(table.name, "1 = 1")
    for row in connection.execute(f'SELECT {selected} FROM "{table.name}" WHERE {condition}'):
        for column, value in zip(table.columns, row[width:], strict=True):
            text = zlib.decompress(value).decode() if isinstance(value, bytes) else value
            if isinstance(text, str) and text:
                yield Text(table, tuple(row[:width]), column, text)


def columns_of(connection: Connection, text: Text, *columns: str) -> tuple[Any, ...]:
    """Return the values of columns in the row of a text."""
    row = connection.execute(
        f'SELECT {", ".join(columns)} FROM "{text.table.name}" WHERE {_condition(text.table)}', text.row
    ).fetchone()
    return tuple(row)


def change(
    database: Database, connection: Connection, found: Sequence[Text], cover: Callable[[str], str]
) -> int:
    """Write redacted texts within the caller's transaction; return the number of rows.

    Rows with a match in a key that can be rebuilt are deleted instead, and so are rows that would become
    duplicates.
    """
    rows: dict[tuple[Table, tuple[Any, ...]], list[Text]] = {}
    for text in found:
        rows.setdefault((text.table, text.row), []).append(text)
    for (table, row), changed in rows.items():
        condition = _condition(table)
        names = _NAMES.get(table.name, frozenset())
        if any(text.column in names for text in changed):
            connection.execute(f'DELETE FROM "{table.name}" WHERE {condition}', row)
            continue
        assigned = ", ".join(f'"{text.column}" = ?' for text in changed)
        values = [_encode(text, cover(text.text)) for text in changed]
        ignoring = "" if database.dialect == "postgres" else " OR IGNORE"
        written = connection.execute(
            f'UPDATE{ignoring} "{table.name}" SET {assigned} WHERE {condition}', (*values, *row)
        ).rowcount
        if not written:
            connection.execute(f'DELETE FROM "{table.name}" WHERE {condition}', row)
    return len(rows)


def _condition(table: Table) -> str:
    """Return the condition that selects one row by the values of the table's keys."""
    return " AND ".join(f"{_quote(key)} = ?" for key in table.keys)


def _quote(key: str) -> str:
    return key if key in {"rowid", "ctid"} else f'"{key}"'


def _encode(text: Text, covered: str) -> str | bytes:
    deflated = (text.table.name, text.column) in DEFLATED
    return zlib.compress(covered.encode(), 1) if deflated else covered

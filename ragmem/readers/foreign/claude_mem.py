"""claude-mem: observations, summaries of sessions and prompts in an SQLite database."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragmem.domain.model import Category, Kind, digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.fields import as_tags
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.databases import ForeignDatabase, has_tables, open_database
from ragmem.readers.foreign.entries import (
    Entry,
    Fact,
    LeftOut,
    lines_of,
    list_of,
    name_of,
    text_of,
    time_of,
    without_empty,
)

FILE = "claude-mem.db"

_OBSERVATIONS = ("id", "project", "type", "title", "subtitle", "facts", "narrative", "created_at_epoch")
_SUMMARIES = ("id", "project", "request", "learned", "completed", "next_steps", "created_at_epoch")
_TABLES = {"observations": _OBSERVATIONS, "session_summaries": _SUMMARIES}

_KINDS = {
    "decision": (Kind.ARCHITECTURE, None),
    "bugfix": (Kind.ERROR, Category.ERROR_SOLUTION),
    "security_alert": (Kind.ERROR, None),
    "discovery": (Kind.RESEARCH, None),
    "feature": (Kind.GENERAL, None),
    "refactor": (Kind.GENERAL, None),
    "change": (Kind.GENERAL, None),
}
_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def entries(path: Path, _redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield a fact for each observation and each summary of a session."""
    with open_database(path / FILE if path.is_dir() else path, tool="claude-mem") as database:
        database.require(_TABLES, TOOL.version)
        for row in _records(database, "observations"):
            yield _observation(row)
        for row in _records(database, "session_summaries"):
            yield _summary(row)
        if database.columns("user_prompts"):
            ((count,),) = database.rows("SELECT count(*) FROM user_prompts")
            left_out["prompt without its answer"] += int(count)


def _records(database: ForeignDatabase, table: str) -> Iterator[dict[str, Any]]:
    names = sorted(database.columns(table))
    listed = ", ".join(f'"{name}"' for name in names)
    for row in database.rows(f"SELECT {listed} FROM {table} ORDER BY id"):
        yield dict(zip(names, row, strict=True))


def _session(row: dict[str, Any]) -> str:
    return name_of(row.get("memory_session_id")) or name_of(row.get("sdk_session_id"))


def _key(table: str, row: dict[str, Any]) -> str:
    """Return a key that is unique among machines: ids of rows begin at 1 on each."""
    parts = (_session(row), str(row["created_at_epoch"]), str(row["id"]))
    return f"{table}/{row['id']}-{digest(*parts, length=12)}"


def _observation(row: dict[str, Any]) -> Fact:
    sort = name_of(row["type"])
    kind, category = _KINDS.get(sort, (None, None))
    title = name_of(row["title"])
    parts = (
        text_of(row["subtitle"]),
        text_of(row["narrative"]),
        lines_of(list_of(row["facts"])),
        text_of(row.get("text")),
    )
    return Fact(
        _key("observation", row),
        "\n\n".join(part for part in (title, *parts) if part),
        title,
        time_of(row["created_at_epoch"], row.get("created_at")),
        name_of(row["project"]),
        kind,
        category,
        as_tags(list_of(row.get("concepts"))),
        without_empty(
            {
                "type": sort,
                "session": _session(row),
                "files": ", ".join(map(name_of, list_of(row.get("files_modified")))),
            }
        ),
    )


def _summary(row: dict[str, Any]) -> Fact:
    parts = {name.replace("_", " "): text for name in _PARTS if (text := text_of(row.get(name)))}
    return Fact(
        _key("summary", row),
        "\n\n".join(f"{name.capitalize()}: {text}" for name, text in parts.items()),
        name_of(row["request"]),
        time_of(row["created_at_epoch"], row.get("created_at")),
        name_of(row["project"]),
        metadata=without_empty({"type": "session summary", "session": _session(row)}),
    )


def _recognise(path: Path) -> bool:
    return has_tables(path / FILE if path.is_dir() else path, _TABLES)


TOOL = Tool("claude-mem", "13.25.3", _recognise, entries)

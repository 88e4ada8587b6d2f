"""mcp-memory-service: memories in an SQLite database with vectors beside them, or in its JSON export."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragmem.domain.model import Category, Kind
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.fields import as_fields, as_tags
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.databases import has_tables, is_database, open_database
from ragmem.readers.foreign.entries import Entry, Fact, LeftOut, mapping_of, name_of, text_of, time_of
from ragmem.readers.foreign.json_items import is_first_item, open_items

FILE = "sqlite_vec.db"
KEYS = ("memories",)

_COLUMNS = ("content_hash", "content", "tags", "memory_type", "metadata", "created_at", "updated_at")
_TABLES = {"memories": _COLUMNS}

_KINDS: Mapping[str, tuple[Kind | None, Category | None]] = {
    "decision": (Kind.ARCHITECTURE, None),
    "architecture": (Kind.ARCHITECTURE, None),
    "tool_choice": (Kind.ARCHITECTURE, None),
    "approach": (Kind.ARCHITECTURE, None),
    "configuration": (Kind.ARCHITECTURE, None),
    "design_pattern": (Kind.ARCHITECTURE, Category.PATTERN),
    "pattern": (None, Category.PATTERN),
    "workflow": (None, Category.PATTERN),
    "error": (Kind.ERROR, None),
    "bug": (Kind.ERROR, None),
    "failure": (Kind.ERROR, None),
    "exception": (Kind.ERROR, None),
    "mistake": (Kind.ERROR, None),
    "recurring_issue": (Kind.ERROR, None),
    "gotcha": (None, Category.GOTCHA),
    "anti_pattern": (None, Category.GOTCHA),
    "best_practice": (None, Category.BEST_PRACTICE),
    "research": (Kind.RESEARCH, None),
    "reference": (Kind.RESEARCH, None),
    "preference": (Kind.PREFERENCE, None),
    "preference_signal": (Kind.PREFERENCE, None),
    "user_correction": (Kind.PREFERENCE, None),
}
_OF_PROJECT = ("project:", "proj:")


def entries(path: Path, _redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield a fact for each memory that is not deleted, of the database or the JSON export."""
    path = path / FILE if path.is_dir() else path
    if not path.exists() or is_database(path):
        yield from _rows(path, left_out)
        return
    yield from map(_memory, open_items(path, _is_memory, keys=KEYS, left_out=left_out))


def _rows(path: Path, left_out: LeftOut) -> Iterator[Entry]:
    with open_database(path, tool="mcp-memory-service") as database:
        database.require(_TABLES, TOOL.version)
        deleted = "deleted_at" if "deleted_at" in database.columns("memories") else "NULL"
        sql = f"SELECT {', '.join(_COLUMNS)}, {deleted} FROM memories ORDER BY id"
        for *row, gone in database.rows(sql):
            if gone is not None:
                left_out["deleted memory"] += 1
            elif not text_of(row[1]):
                left_out["record without a memory"] += 1
            else:
                yield _memory(dict(zip(_COLUMNS, row, strict=True)))


def _memory(item: Mapping[str, Any]) -> Fact:
    sort = name_of(item.get("memory_type")).lower()
    kind, category = _KINDS.get(sort, (None, None))
    tags, more = as_tags(item.get("tags")), mapping_of(item.get("metadata"))
    named = (tag.partition(":")[2] for tag in tags if tag.startswith(_OF_PROJECT))
    return Fact(
        name_of(item["content_hash"]),
        text_of(item["content"]),
        at=time_of(item.get("created_at"), item.get("created_at_iso")),
        project=name_of(more.get("project")) or next(named, ""),
        kind=kind,
        category=category,
        tags=tuple(tag for tag in tags if tag != "untagged"),
        metadata=as_fields(more) | ({"type": sort} if sort else {}),
    )


def _is_memory(item: Mapping[str, Any]) -> bool:
    known = isinstance(item.get("content"), str) and "memory_type" in item
    return known and bool(name_of(item.get("content_hash")))


def _recognise(path: Path) -> bool:
    if path.is_dir():
        path = path / FILE
    return has_tables(path, _TABLES) or is_first_item(path, _is_memory, keys=KEYS)


TOOL = Tool("mcp-memory-service", "12.4.0", _recognise, entries)

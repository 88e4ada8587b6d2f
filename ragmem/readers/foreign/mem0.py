"""mem0: its memories as JSON, and the history of its memories in an SQLite database."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.fields import as_fields, as_tags
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.databases import has_tables, is_database, open_database
from ragmem.readers.foreign.entries import (
    Entry,
    Fact,
    LeftOut,
    mapping_of,
    name_of,
    text_of,
    time_of,
    without_empty,
)
from ragmem.readers.foreign.json_items import is_first_item, open_items

FILE = "history.db"
KEYS = ("results", "memories")

_COLUMNS = ("memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted")
_TABLES = {"history": _COLUMNS}

# The last event of each memory is what it says now; those that were deleted are gone.
_LATEST = """
    SELECT memory_id, new_memory, (SELECT min(created_at) FROM history f WHERE f.memory_id = h.memory_id),
        coalesce(updated_at, created_at), upper(event), is_deleted
    FROM history h
    WHERE rowid = (SELECT rowid FROM history l WHERE l.memory_id = h.memory_id
        ORDER BY coalesce(l.updated_at, l.created_at) DESC, l.rowid DESC LIMIT 1)
    ORDER BY rowid
"""


def entries(path: Path, _redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield a fact for each memory that is not deleted, of the JSON or the history."""
    path = path / FILE if path.is_dir() else path
    if not path.exists() or is_database(path):
        yield from _history(path, left_out)
        return
    for item in open_items(path, _has_memory, keys=KEYS, left_out=left_out):
        yield _memory(name_of(item["id"]), text_of(item["memory"]), item)


def _memory(key: str, text: str, item: Mapping[str, Any]) -> Fact:
    more = mapping_of(item.get("metadata"))
    project = name_of(more.get("project")) or name_of(more.get("repo")) or name_of(item.get("app_id"))
    owners = {name: item.get(name) for name in ("user_id", "agent_id", "run_id", "actor_id", "role")}
    return Fact(
        key,
        text,
        at=time_of(item.get("updated_at"), item.get("created_at")),
        project=project,
        tags=as_tags(item.get("categories")),
        metadata={**as_fields(more), **without_empty(owners)},
    )


def _history(path: Path, left_out: LeftOut) -> Iterator[Entry]:
    with open_database(path, tool="mem0") as database:
        database.require(_TABLES, TOOL.version)
        for key, text, created, changed, event, deleted in database.rows(_LATEST):
            if deleted or event == "DELETE":
                left_out["deleted memory"] += 1
            elif not text_of(text) or not name_of(key):
                left_out["record without a memory"] += 1
            else:
                yield Fact(name_of(key), text_of(text), at=time_of(changed, created))


def _has_memory(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("memory"), str) and bool(name_of(item.get("id")))


def _is_memory(item: Mapping[str, Any]) -> bool:
    return _has_memory(item) and ("hash" in item or "user_id" in item)


def _recognise(path: Path) -> bool:
    if path.is_dir():
        path = path / FILE
    return has_tables(path, _TABLES) or is_first_item(path, _is_memory, keys=KEYS)


TOOL = Tool("mem0", "2.2.1", _recognise, entries)

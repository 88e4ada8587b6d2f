"""When the server last tended the memory by itself, and with what end."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import from_stamp, to_stamp

KEY = "tended"
"""In the catalog's table `meta`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a run, the signature of what it left, and why it changed no memory, where it must not."""

    at: datetime
    signature: str
    refused: str = ""


def signature(database: Database) -> str:
    """Return what differs once a memory was stored, changed, removed, recalled or rated; cheap."""
    counts = []
    with database.read() as connection:
        for statement in (
            # Each new text, and each change of one, has a higher version there.
            "SELECT coalesce(max(last), 0) FROM lexicon_segments",
            "SELECT count(*) FROM memories",
            "SELECT coalesce(max(changed_at), 0) FROM lives",
            "SELECT count(*) FROM recalled_in",
        ):
            (count,) = connection.execute(statement).fetchone()
            counts.append(str(count))
    return "/".join(counts)


def mark_of(database: Database) -> Mark | None:
    """Return the last mark; None where there is none that this release can read."""
    content = _kept(database, KEY)
    try:
        return Mark(
            from_stamp(int(content["at"])), str(content["signature"]), str(content.get("refused", ""))
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def keep_mark(database: Database, mark: Mark) -> None:
    """Keep a mark in place of the last one."""
    _keep(database, KEY, {"at": to_stamp(mark.at), "signature": mark.signature, "refused": mark.refused})


def _kept(database: Database, key: str) -> Any:
    with database.read() as connection:
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    try:
        return orjson.loads(row[0]) if row else None
    except orjson.JSONDecodeError:
        return None


def _keep(database: Database, key: str, content: dict[str, int | str]) -> None:
    with database.write() as connection:
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        connection.execute(
            "INSERT INTO meta (key, value) VALUES (?, ?)", (key, orjson.dumps(content).decode())
        )

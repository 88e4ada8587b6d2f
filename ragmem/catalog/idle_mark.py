"""When the warm process last tended the memory by itself, and what the memory was like then."""

from dataclasses import dataclass
from datetime import datetime

import orjson

from ragmem.catalog.database import Database
from ragmem.catalog.rows import from_stamp, to_stamp

KEY = "tended"
"""In the catalog's table `meta`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a run, and the signature of what it left."""

    at: datetime
    signature: str


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
    with database.read() as connection:
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).fetchone()
    try:
        content = orjson.loads(row[0]) if row else {}
        return Mark(from_stamp(int(content["at"])), str(content["signature"]))
    except (KeyError, TypeError, ValueError):
        return None


def keep_mark(database: Database, mark: Mark) -> None:
    """Keep a mark in place of the last one."""
    text = orjson.dumps({"at": to_stamp(mark.at), "signature": mark.signature}).decode()
    with database.write() as connection:
        connection.execute("DELETE FROM meta WHERE key = ?", (KEY,))
        connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (KEY, text))

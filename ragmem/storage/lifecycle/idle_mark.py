"""The last idle gc of the server, and its outcome."""

from dataclasses import dataclass
from datetime import datetime

import orjson

from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import from_stamp, to_stamp

KEY = "tended"
"""In the catalog's table `meta`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a run, the signature after it, and why it was refused, if it was."""

    at: datetime
    signature: str
    refused: str = ""


def signature(database: Database) -> str:
    """Return a cheap text that changes when a memory is stored, changed, removed, recalled or rated."""
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
    """Return the last mark; None without one that this release can read."""
    with database.read() as connection:
        text = meta.get(connection, KEY)
    try:
        content = orjson.loads(text or "null")
        return Mark(
            from_stamp(int(content["at"])), str(content["signature"]), str(content.get("refused", ""))
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def write_mark(database: Database, mark: Mark) -> None:
    """Replace the mark."""
    content = {"at": to_stamp(mark.at), "signature": mark.signature, "refused": mark.refused}
    with database.write() as connection:
        meta.put(connection, KEY, orjson.dumps(content).decode())

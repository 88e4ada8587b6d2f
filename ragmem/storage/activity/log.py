"""The log of operations that changed the memory."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import from_stamp, to_stamp


class Log:
    """Operations, latest last."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, operation: str, detail: Mapping[str, Any], *, now: datetime) -> None:
        """Add an entry; `detail` holds counts and names, never a memory's text."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO log (at, operation, detail) VALUES (?,?,?)",
                (to_stamp(now), operation, orjson.dumps(dict(detail)).decode()),
            )

    def entries(self, *, limit: int = 20) -> list[dict[str, Any]]:
        """Return the latest entries, newest first."""
        rows = self._database.select(
            "SELECT at, operation, detail FROM log ORDER BY n DESC LIMIT ?", (limit,)
        )
        return [
            {"at": from_stamp(at), "operation": operation, "detail": orjson.loads(detail)}
            for at, operation, detail in rows
        ]

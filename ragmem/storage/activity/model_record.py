"""The embedding models of a database: the active one, and the next one while it changes."""

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any

import orjson

from ragmem.frozen import dataclass
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import table_exists

ACTIVE = "active_model"
"""The key of the model whose vectors answer questions."""

NEXT = "next_model"
"""The key of the model whose vectors are being made; absent unless the model changes."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model; `recipe` is the [models] table that opens it, without secrets; empty if unknown."""

    model: str
    dimensions: int = 0
    recipe: Mapping[str, Any] = field(default_factory=dict)


class ModelRecords:
    """The records of one database, in the catalog's table `meta`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._there = False

    @property
    def are_committed(self) -> bool:
        """Whether there are records, and what this thread reads of them may not be undone."""
        return self._there and not self.database.is_writing

    def read(self, key: str) -> ModelRecord | None:
        """Return a record, None if there is none; creates nothing."""
        if not self._there and not self.database.exists():
            return None
        with self.database.read() as connection:
            self._there = self._there or table_exists(self.database, connection, "meta")
            text = meta.get(connection, key) if self._there else None
        return None if text is None else _record_in(text)

    def replace(self, key: str, before: ModelRecord | None, record: ModelRecord) -> None:
        """Replace a record, unless another process did so since `before` was read."""
        with self.database.write():
            if self.read(key) == before:
                self.write(key, record)

    def write(self, key: str, record: ModelRecord | None) -> None:
        """Replace a record, or remove it, within the caller's transaction if there is one."""
        with self.database.write() as connection:
            if record is None:
                meta.delete(connection, key)
                return
            content = {"model": record.model, "dimensions": record.dimensions, "recipe": dict(record.recipe)}
            meta.put(connection, key, orjson.dumps(content).decode())


@lru_cache(maxsize=4)  # a question reads the same one several times
def _record_in(text: str) -> ModelRecord | None:
    """Parse a record; return None for an invalid one, since the vectors identify their model as well."""
    try:
        content = orjson.loads(text)
        return ModelRecord(
            str(content["model"]), int(content.get("dimensions", 0)), dict(content.get("recipe", {}))
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None

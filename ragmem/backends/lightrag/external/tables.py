"""Tables in the catalog's database about a store whose contents are elsewhere: workspaces and model."""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragmem.storage.memories.read_cache import ReadCache
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import Migration, Schema, migrate

FOREIGN = Schema(
    "shared store",
    (
        Migration(
            1,
            "tables",
            (
                # `store` separates profiles: a home that changes its profile finds nothing of the other.
                """
                CREATE TABLE IF NOT EXISTS store_workspaces (
                  store TEXT NOT NULL, project TEXT NOT NULL, workspace TEXT NOT NULL,
                  PRIMARY KEY (store, project)
                )
                """,
                """
                CREATE TABLE IF NOT EXISTS store_placements (
                  store TEXT NOT NULL, memory_id TEXT NOT NULL, project TEXT NOT NULL,
                  PRIMARY KEY (store, memory_id)
                )
                """,
                """
                CREATE TABLE IF NOT EXISTS store_models (
                  store TEXT NOT NULL PRIMARY KEY, model TEXT NOT NULL, dimensions INTEGER NOT NULL
                )
                """,
            ),
        ),
    ),
)
"""Three small tables in the catalog's database, written in the catalog's transactions."""

_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Model:
    """The embedder whose vectors a store holds."""

    id: str
    dimensions: int


class Registry:
    """The rows of one store in these tables."""

    def __init__(self, database: Database, store: str) -> None:
        self._database = database
        self._store = store
        self._ready = False
        # Each question asks for it several times.
        self._known = ReadCache(database, self._read)

    def readable(self) -> bool:
        """Return whether the tables exist, without creating anything."""
        if not self._ready:
            # Asking SQLite would create its file.
            absent = self._database.dialect == "sqlite" and not self._database.exists()
            self._ready = not absent and migrate(self._database, FOREIGN, create=False)
        return self._ready

    def create(self) -> None:
        """Create the tables where they are missing."""
        if not self._ready:
            self._ready = migrate(self._database, FOREIGN)
            if self._database.dialect == "postgres":
                from ragmem.storage.home.postgres_members import renew_members

                renew_members(self._database)

    def workspaces(self) -> dict[str, str]:
        """Return LightRAG's name of each project's workspace, by project in order of name."""
        return self._known.value()[0] if self.readable() else {}

    def _read(self) -> tuple[dict[str, str], Model | None]:
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT project, workspace FROM store_workspaces WHERE store = ? ORDER BY project",
                (self._store,),
            ).fetchall()
            model = connection.execute(
                "SELECT model, dimensions FROM store_models WHERE store = ?", (self._store,)
            ).fetchone()
        return dict(rows), Model(*model) if model else None

    def add_workspace(self, connection: Connection, project: str) -> None:
        """Give a project a workspace where it has none.

        Its name ends in a random part, so that homes with one server but several catalogs never mix.
        """
        name = f"p_{_UNSAFE.sub('_', project.lower())[:24].strip('_')}_{uuid.uuid4().hex[:12]}"
        connection.execute(
            "INSERT INTO store_workspaces (store, project, workspace) VALUES (?, ?, ?)"
            " ON CONFLICT (store, project) DO NOTHING",
            (self._store, project, name),
        )

    def model(self) -> Model | None:
        """Return the model of the store's vectors; None while there are none."""
        return self._known.value()[1] if self.readable() else None

    def pin(self, connection: Connection, model: Model | None) -> None:
        """Record the model of the store's vectors from now on."""
        connection.execute("DELETE FROM store_models WHERE store = ?", (self._store,))
        if model is not None:
            connection.execute(
                "INSERT INTO store_models (store, model, dimensions) VALUES (?, ?, ?)",
                (self._store, model.id, model.dimensions),
            )

    def places(self, memory_ids: Iterable[str] | None = None) -> dict[str, str]:
        """Return the project of each of these memories; of all memories by default."""
        if not self.readable():
            return {}
        statement = "SELECT memory_id, project FROM store_placements WHERE store = ?"
        with self._database.read() as connection:
            if memory_ids is None:
                return dict(connection.execute(statement, (self._store,)).fetchall())
            found: dict[str, str] = {}
            for part in batches(memory_ids):
                found.update(
                    connection.execute(
                        f"{statement} AND memory_id IN ({marks(part)})", (self._store, *part)
                    ).fetchall()
                )
        return found

    def place(self, connection: Connection, projects: Mapping[str, str]) -> None:
        """Record the projects of memories."""
        connection.executemany(
            "INSERT INTO store_placements (store, memory_id, project) VALUES (?, ?, ?)"
            " ON CONFLICT (store, memory_id) DO UPDATE SET project = excluded.project",
            [(self._store, memory_id, project) for memory_id, project in projects.items()],
        )

    def unplace(self, connection: Connection, memory_ids: Sequence[str]) -> bool:
        """Forget the projects of these memories; return whether the store still has others."""
        connection.executemany(
            "DELETE FROM store_placements WHERE store = ? AND memory_id = ?",
            [(self._store, memory_id) for memory_id in memory_ids],
        )
        row = connection.execute(
            "SELECT 1 FROM store_placements WHERE store = ? LIMIT 1", (self._store,)
        ).fetchone()
        return row is not None

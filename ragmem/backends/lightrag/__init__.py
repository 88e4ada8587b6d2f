"""LightRAG as the store: on storages of our own in the one SQLite database, or on any that LightRAG has.

Importing this, searching and reading the graph never import LightRAG itself, which takes about a second.
"""

from collections.abc import Mapping
from typing import cast

from ragmem.backends.lightrag.store import LightRAGStore
from ragmem.errors import ConfigError
from ragmem.ports import Models, Store
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.sqlite import SQLiteDatabase

__all__ = ["LightRAGStore", "open_store"]

_OURS = ("profile", "url", "storages", "environment")
"""Options that choose the storages; the others are LightRAG's."""


def open_store(options: Mapping[str, object], models: Models, *, database: Database) -> Store:
    """Return the store of a home; creates nothing until the first put.

    `options`: `profile` chooses LightRAG's storages (sqlite: ours), `url` (postgres), `storages` and
    `environment` (custom) say more of them; the others override LightRAG's settings by name (`top_k`,
    `max_graph_nodes`, ...), see engine.py. Raises ConfigError where they are wrong, BackendError where a
    storage's package is missing.
    """
    settings = {name: value for name, value in options.items() if name not in _OURS}
    profile = str(options.get("profile", "sqlite"))
    if profile == "sqlite":
        if database.dialect != "sqlite":
            raise ConfigError(
                f'the profile sqlite cannot keep its tables in "{database.place}"',
                hint='set [store] profile = "postgres"',
            )
        return LightRAGStore(settings, models, cast("SQLiteDatabase", database))
    from ragmem.backends.lightrag.external import foreign
    from ragmem.backends.lightrag.external import profile as foreign_profile

    chosen = foreign_profile.choose(
        profile,
        url=str(options.get("url", "")),
        storages=cast("Mapping[str, str]", options.get("storages") or {}),
        environment=cast("Mapping[str, str]", options.get("environment") or {}),
    )
    return foreign.ForeignStore(chosen, settings, models, database)

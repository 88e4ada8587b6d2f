"""LightRAG as the store: on storages of our own in the one SQLite database, or on any that LightRAG has.

Importing this, searching and reading the graph never import LightRAG itself, which takes about a second.
"""

from collections.abc import Mapping

from ragmem.backends.lightrag.store import LightRAGStore
from ragmem.catalog.database import Database
from ragmem.catalog.sqlite import SQLiteDatabase
from ragmem.errors import BackendError
from ragmem.ports import Models, Store

__all__ = ["LightRAGStore", "open_store"]

_OURS = ("profile", "storages", "environment")
"""Options that choose the storages; the others are LightRAG's."""


def open_store(options: Mapping[str, object], models: Models, *, database: Database) -> Store:
    """Return the store of a home; creates nothing until the first put.

    `options`: `profile`, `storages` and `environment` choose LightRAG's storages (sqlite: ours); the others
    override LightRAG's settings by name (`top_k`, `max_graph_nodes`, ...), see engine.py.
    """
    settings = {name: value for name, value in options.items() if name not in _OURS}
    profile = str(options.get("profile", "sqlite"))
    if profile == "sqlite" and isinstance(database, SQLiteDatabase):
        return LightRAGStore(settings, models, database)
    raise BackendError(f'the profile "{profile}" is not part of this release', hint="set [store] profile")

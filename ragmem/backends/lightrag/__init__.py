"""LightRAG as the store, on storages of our own in the one SQLite database.

Importing this, searching and reading the graph never import LightRAG itself, which takes about a second.
"""

from collections.abc import Mapping

from ragmem.backends.lightrag.store import LightRAGStore
from ragmem.catalog.database import Database
from ragmem.ports import Models

__all__ = ["LightRAGStore", "open_store"]


def open_store(options: Mapping[str, object], models: Models, *, database: Database) -> LightRAGStore:
    """Return the store of a home; creates nothing until the first put.

    `options` overrides LightRAG's settings by name (`top_k`, `max_graph_nodes`, ...), see engine.py.
    """
    return LightRAGStore(options, models, database)

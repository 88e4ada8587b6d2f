"""The shared state of LightRAG's storages in one home. LightRAG builds them, so they find it by folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragmem.backends.lightrag.rows.names import VectorKey
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.errors import BackendError
from ragmem.ports import Embedder, Models
from ragmem.storage.sql.sqlite import SQLiteDatabase


@dataclass(slots=True)
class Home:
    """One home's database, vector index and models.

    The storages are built for `embedder` and live as long as its vectors answer. `named` says up to which
    state of the store the names have vectors, by workspace, namespace and model.
    """

    database: SQLiteDatabase
    models: Models
    index: VectorIndex
    embedder: Embedder | None = None
    named: dict[VectorKey, tuple[int, ...]] = field(default_factory=dict)


_homes: dict[str, Home] = {}


def working_dir(folder: Path) -> str:
    """Return LightRAG's working_dir of a home."""
    return str(folder.absolute())


def register(home: Home) -> None:
    """Register a home for the storages that LightRAG will build."""
    _homes[working_dir(home.database.home)] = home


def forget(home: Home) -> None:
    """Undo `register`; a home that was replaced meanwhile stays."""
    if _homes.get(working_dir(home.database.home)) is home:
        del _homes[working_dir(home.database.home)]


def home_of(global_config: Mapping[str, Any]) -> Home:
    """Return the home that a storage belongs to."""
    folder = str(global_config["working_dir"])
    if folder not in _homes:
        raise BackendError(
            f'no store is open in "{folder}"', hint="open it with ragmem.backends.lightrag.open_store"
        )
    return _homes[folder]

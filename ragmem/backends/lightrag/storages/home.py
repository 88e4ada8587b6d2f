"""The shared state of LightRAG's storages in one home. LightRAG builds them, so they find it by folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.errors import BackendError
from ragmem.ports import Embedder, Models
from ragmem.storage.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VectorKey = tuple[str, str, str]
"""Workspace, namespace and id of a vector."""


@dataclass(slots=True)
class Home:
    """One home's database, vector index and models.

    The storages are built for `embedder` and live as long as its vectors answer. During a put, `prepared`
    holds the vectors that were computed before the write lock.
    """

    database: SQLiteDatabase
    models: Models
    index: VectorIndex
    embedder: Embedder | None = None
    prepared: "dict[VectorKey, NDArray[np.float32]]" = field(default_factory=dict)


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

"""The workspaces of a store on LightRAG's storages: opened when they are needed, with the right model."""

import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ragmem.backends.lightrag.external.profile import Profile
from ragmem.backends.lightrag.external.tables import Model, Registry
from ragmem.errors import BackendError
from ragmem.ports import Embedder, Models
from ragmem.storage.sql.database import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragmem.backends.lightrag.engine import Instance
    from ragmem.backends.lightrag.external.engine import ForeignEngine
    from ragmem.backends.lightrag.external.postgres_vectors import VectorSearch

_T = TypeVar("_T")
_P = ParamSpec("_P")


class Workspaces:
    """The workspaces of a store, with LightRAG for each, imported on first use.

    Do not open a workspace for the first time inside a transaction: to create tables LightRAG waits until all
    transactions of the server's database have ended.
    """

    def __init__(
        self, profile: Profile, options: Mapping[str, object], models: Models, database: Database
    ) -> None:
        self._profile = profile
        self._options = options
        self._models = models
        self._database = database
        self.registry = Registry(database, profile.identity)
        self._opened: ForeignEngine | None = None
        self._search: tuple[str, VectorSearch] | None = None
        self._opening = threading.Lock()

    @property
    def _engine(self) -> "ForeignEngine":
        with self._opening:
            if self._opened is None:
                from ragmem.backends.lightrag.external.engine import ForeignEngine

                self._opened = ForeignEngine(self._profile, self._models, self._options, self._database.home)
            return self._opened

    @property
    def ahead(self) -> "dict[str, NDArray[np.float32]]":
        """Precomputed vectors by text, for LightRAG's storages."""
        return self._engine.ahead

    def forget_ahead(self, texts: Iterable[str]) -> None:
        """Drop the vectors of these texts; each would keep the whole array of its call in memory."""
        if self._opened is not None:
            for text in texts:
                self._opened.ahead.pop(text, None)

    def run(self, work: Callable[_P, Coroutine[Any, Any, _T]], *arguments: _P.args, **named: _P.kwargs) -> _T:
        """Run a coroutine to its end; raises BackendError if a server fails."""
        return self._engine.run(work, *arguments, **named)

    def configured_model(self) -> Model:
        """Return the configured model."""
        return _model_of(self._models.embedder)

    def refuse_other_model(self) -> Embedder:
        """Return the embedder; raises BackendError where the store has vectors of another model."""
        pinned, embedder = self.registry.model(), self._models.embedder
        asked = _model_of(embedder)
        if pinned is not None and pinned != asked:
            raise BackendError(
                f'the vectors in the store are of the model "{pinned.id}", not of "{asked.id}"',
                hint="run `ragmem seed --rebuild`, or restore [models]",
            )
        return embedder

    def instances(self, projects: Iterable[str] | None = None) -> dict[str, "Instance"]:
        """Return the opened LightRAG of each of these projects (None: all) that has a workspace."""
        known = self.registry.workspaces()
        chosen = [
            project
            for project in (known if projects is None else dict.fromkeys(projects))
            if project in known
        ]
        if not chosen:
            return {}
        self._engine.use(self.registry.model() or self.configured_model())
        return {project: self._engine.instance(known[project]) for project in chosen}

    def vector_search(self, project: str) -> "VectorSearch | None":
        """Return the search in the table of all chunks' vectors, if that is in the catalog's database.

        `project` is any that has a workspace. None within a write, of which its connections see nothing.
        """
        if not self._profile.url or self._database.is_writing:
            return None
        index = self.instances([project])[project].rag.chunks_vdb
        with self._opening:
            if self._search is None or self._search[0] != index.table_name:
                from ragmem.backends.lightrag.external.postgres_vectors import VectorSearch

                self._close_search()
                half = index.db.vector_index_type == "HNSW_HALFVEC"
                search = VectorSearch(
                    self._profile.url,
                    self._database.home,
                    store=self._profile.identity,
                    table=index.table_name,
                    cast="halfvec" if half else "vector",
                    settings=self._opened.server_settings if self._opened else "",
                )
                self._search = index.table_name, search
            return self._search[1]

    def _close_search(self) -> None:
        if self._search is not None:
            self._search[1].close()
            self._search = None

    def open_new(self, projects: Iterable[str]) -> None:
        """Open the workspaces of these projects, creating missing ones."""
        wanted, known = list(projects), self.registry.workspaces()
        new = [project for project in wanted if project not in known]
        if new:
            with self._database.write() as connection:
                for project in new:
                    self.registry.add_workspace(connection, project)
        self.instances(wanted)

    def instances_holding(self, memory_ids: Sequence[str]) -> dict[str, "Instance"]:
        """Return the opened LightRAG of each project that may hold some of these memories."""
        places = self.registry.places(memory_ids)
        # A put that was killed before its commit left a document whose project is unknown.
        lost = len(places) < len(memory_ids)
        return self.instances(None if lost else set(places.values()))

    def forget_pending(self) -> None:
        """Discard the buffers of the storages after a failed put."""
        if self._opened is not None:
            self._opened.forget_pending()

    def close(self) -> None:
        """Close LightRAG; closing twice is fine."""
        self._close_search()
        if self._opened is not None:
            self._opened.close()


def _model_of(embedder: Embedder) -> Model:
    return Model(embedder.model_id, embedder.dimensions)

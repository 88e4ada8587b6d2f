"""The LightRAG instances of one home, one per workspace, on a private event loop."""

import asyncio
import atexit
import contextlib
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from ragmem.backends.lightrag.rows import reads
from ragmem.backends.lightrag.rows.names import join_descriptions
from ragmem.backends.lightrag.rows.sources import MAX_SOURCES
from ragmem.backends.lightrag.rows.tokens import PieceTokenizer
from ragmem.backends.lightrag.storages import registration
from ragmem.backends.lightrag.storages.home import Home, register, working_dir
from ragmem.domain.entities.description import MAX_SENTENCES
from ragmem.errors import BackendError
from ragmem.ports import Embedder, Models

SHUTDOWN_TIMEOUT_S = 5.0
"""Seconds for an interrupted coroutine to end; a driver would wait longer for a frozen server."""

FAILURE_KEPT_S = 1.0
"""Seconds for which a failed model is not called again; LightRAG would do so at once."""

_UNBOUNDED = 100_000_000

_T = TypeVar("_T")

# LightRAG keeps locks and worker queues in module-level state that belongs to the loop that used it first. So
# there is one loop for all stores of the process, and one thread at a time on it.
_loop_lock = threading.RLock()
_loop: asyncio.AbstractEventLoop | None = None


def run(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end in the calling thread, which must have no running event loop."""
    global _loop  # noqa: PLW0603 - see above
    with _loop_lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            atexit.register(_shut_down, _loop)
        task = _loop.create_task(work())
        try:
            return _loop.run_until_complete(task)
        finally:
            if not task.done():
                # Interrupted from the keyboard: otherwise it would keep writing beside later work.
                _loop.run_until_complete(_end([task]))


def answer_summary_prompt(prompt: str) -> str:
    """Answer LightRAG's request to summarise descriptions by rule: the best ones, still separated.

    They come as lines of JSON, oldest first. Separated descriptions can be merged one by one at the next
    insert, and removed when their memory is deleted.
    """
    found: list[str] = []
    for line in prompt.splitlines():
        if line.startswith('{"Description":'):
            with contextlib.suppress(orjson.JSONDecodeError):
                found.append(str(orjson.loads(line)["Description"]))
    return join_descriptions(found)


@contextlib.contextmanager
def _bare_environment() -> Iterator[None]:
    """Hide the environment variables that LightRAG reads while it is constructed."""
    hidden = {name: os.environ.pop(name) for name in _AMBIENT if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)


_AMBIENT = (
    "ENTITY_TYPES",
    "WORKSPACE",
    "USER_PROMPT_PREFIX",
    "SUMMARY_LANGUAGE",
    "ENTITY_TYPE_PROMPT_FILE",
    *(f"CHUNK_{letter}_{name}" for letter in "FRVP" for name in ("SIZE", "OVERLAP_SIZE")),
    "CHUNK_SIZE",
    "CHUNK_OVERLAP_SIZE",
    *(f"{role}_MAX_ASYNC_LLM" for role in ("EXTRACT", "KEYWORD", "QUERY", "VLM")),
)


@dataclass(slots=True)
class Instance:
    """A LightRAG object with open storages, and the configuration for its merge."""

    rag: Any
    config: dict[str, Any]

    def indexes(self) -> tuple[Any, Any, Any]:
        """Return the vector storages."""
        return self.rag.chunks_vdb, self.rag.entities_vdb, self.rag.relationships_vdb

    def storages(self) -> tuple[Any, ...]:
        """Return all storages except that of the documents' status."""
        rag = self.rag
        return (
            rag.full_docs,
            rag.text_chunks,
            rag.llm_response_cache,
            rag.full_entities,
            rag.full_relations,
            rag.entity_chunks,
            rag.relation_chunks,
            rag.chunk_entity_relation_graph,
            *self.indexes(),
        )

    async def flush(self) -> None:
        """Flush all storages except that of the documents' status."""
        for storage in self.storages():
            await storage.index_done_callback()


@dataclass(frozen=True, slots=True)
class Storages:
    """LightRAG's names of the four storages."""

    kv: str
    vector: str
    graph: str
    doc_status: str


OURS = Storages(registration.KV, registration.VECTOR, registration.GRAPH, registration.DOC_STATUS)
"""The storages on the shared SQLite database."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedding function for LightRAG; `name` is part of the table's name in some storages."""

    name: str
    dimensions: int
    embed: Callable[..., Coroutine[Any, Any, "NDArray[np.float32]"]]


def construct(
    folder: Path,
    *,
    working_dir: str,
    workspace: str,
    storages: Storages,
    embedding: Embedding,
    models: Models,
    options: Mapping[str, object],
) -> Any:
    """Return a LightRAG object whose storages are not open yet; imports LightRAG in `folder`."""
    lightrag = registration.import_lightrag(folder)
    from lightrag.utils import EmbeddingFunc, Tokenizer

    # A plain function, not a method: LightRAG deep-copies its configuration, and copying a method copies its
    # object.
    async def complete(prompt: str, system_prompt: str | None = None, **_: Any) -> str:
        if '{"Description":' in prompt:
            return answer_summary_prompt(prompt)
        model = models.language_model
        if model is None:
            raise BackendError(
                "this needs a language model, and none is configured",
                hint="set [models] language in config.toml",
            )
        return model.complete(prompt, system=system_prompt or "")

    with _bare_environment():
        return lightrag.LightRAG(
            working_dir=working_dir,
            workspace=workspace,
            kv_storage=storages.kv,
            vector_storage=storages.vector,
            graph_storage=storages.graph,
            doc_status_storage=storages.doc_status,
            tokenizer=Tokenizer("ragmem-pieces", PieceTokenizer()),
            embedding_func=EmbeddingFunc(
                embedding_dim=embedding.dimensions,
                func=embedding.embed,
                model_name=embedding.name,
                supports_asymmetric=True,
            ),
            llm_model_func=complete,
            llm_model_name="ragmem",
            **_settings(options),
        )


def start(rag: Any) -> Instance:
    """Open the storages of a LightRAG object."""
    run(rag.initialize_storages)
    config = rag._build_global_config()  # noqa: SLF001 - as its own callers of the merge do

    # The merge calls this directly, without LightRAG's queue of workers.
    async def summarise(prompt: str, **_: Any) -> str:
        return answer_summary_prompt(prompt)

    config["role_llm_funcs"] = {**config["role_llm_funcs"], "extract": summarise}
    return Instance(rag=rag, config=config)


def _settings(options: Mapping[str, object]) -> dict[str, Any]:
    """Return every setting whose default LightRAG would take from the environment."""
    settings: dict[str, Any] = {
        "top_k": 40,
        "chunk_top_k": 20,
        "max_entity_tokens": 6000,
        "max_relation_tokens": 8000,
        "max_total_tokens": 30000,
        "related_chunk_number": 5,
        "kg_chunk_pick_method": "WEIGHT",
        "entity_extract_max_gleaning": 0,
        "entity_extraction_use_json": True,
        "embedding_batch_num": 64,
        "embedding_func_max_async": 1,
        "default_embedding_timeout": 600,
        "llm_model_max_async": 2,
        "default_llm_timeout": 600,
        "max_parallel_insert": 1,
        "max_graph_nodes": 1000,
        "cosine_better_than_threshold": 0.2,
        "enable_llm_cache": False,
        "enable_llm_cache_for_entity_extract": True,
        "chunk_token_size": 1200,
        "chunk_overlap_token_size": 100,
        "force_llm_summary_on_merge": MAX_SENTENCES + 1,
        # Length alone never triggers a summary: the number of descriptions is limited instead.
        "summary_max_tokens": _UNBOUNDED,
        "summary_context_size": _UNBOUNDED,
        "max_source_ids_per_entity": MAX_SOURCES,
        "max_source_ids_per_relation": MAX_SOURCES,
        # New sources replace old ones; KEEP, the default, would reject them.
        "source_ids_limit_method": "FIFO",
        "max_file_paths": MAX_SOURCES,
        "user_prompt_prefix": "",
        "max_pending_documents": 0,
    }
    unknown = sorted(set(options) - set(settings))
    if unknown:
        raise BackendError(
            f'the lightrag store has no option "{unknown[0]}"',
            hint=f"options: {', '.join(sorted(settings))}",
        )
    return {**settings, **options}


class _LastFailure:
    """The last error of a model, for the duration of one question."""

    def __init__(self) -> None:
        self._error: BackendError | None = None
        self._until = 0.0

    def remember(self, error: BackendError) -> None:
        self._error, self._until = error, time.monotonic() + FAILURE_KEPT_S

    def raise_if_recent(self) -> None:
        """Raise the last error again if it is recent."""
        if self._error is not None and time.monotonic() < self._until:
            raise BackendError(str(self._error), hint=self._error.hint)


class Engine:
    """LightRAG for each workspace of a home, built on first use."""

    def __init__(self, home: Home, options: Mapping[str, object], embedder: Embedder) -> None:
        self._home = home
        self._embedder = embedder
        self._options = options
        self._instances: dict[str, Instance] = {}

    @property
    def model_id(self) -> str:
        """The model whose vectors the storages write and search."""
        return self._embedder.model_id

    def instance(self, workspace: str) -> Instance:
        """Return the opened LightRAG of a workspace; do not call it from a coroutine."""
        with _loop_lock:
            found = self._instances.get(workspace)
            if found is None:
                found = self._instances[workspace] = self._open(workspace)
            return found

    def _open(self, workspace: str) -> Instance:
        embedder = self._home.embedder = self._embedder
        with self._home.database.read() as connection:
            stored = reads.dimensions_of(connection, embedder.model_id)
        # The embedder may need a request to a provider for it, which would delay a question.
        dimensions = stored or embedder.dimensions
        # Another store of the same home may have registered since; its connections must not be used.
        register(self._home)

        failure = _LastFailure()

        async def embed(texts: list[str], context: str = "document", **_: Any) -> NDArray[np.float32]:
            if context != "query":
                return embedder.embed(list(texts), role="document")
            # One question embeds up to four times, and would wait for each failure.
            failure.raise_if_recent()
            try:
                return embedder.embed(list(texts), role="query")
            except BackendError as error:
                failure.remember(error)
                raise

        return start(
            construct(
                self._home.database.home,
                working_dir=working_dir(self._home.database.home),
                workspace=workspace,
                storages=OURS,
                embedding=Embedding(embedder.model_id, dimensions, embed),
                models=self._home.models,
                options=self._options,
            )
        )

    def discard_pending(self) -> None:
        """Discard the buffers of the storages after a rollback."""

        async def discard() -> None:
            for instance in self._instances.values():
                for index in instance.indexes():
                    await index.drop_pending_index_ops()

        if self._instances:
            run(discard)

    def close(self) -> None:
        """Close all instances; closing twice is fine."""
        if not self._instances:
            return
        with _loop_lock:
            self.discard_pending()
            for instance in self._instances.values():
                run(instance.rag.finalize_storages)
            self._instances.clear()
            run(_cancel_workers)


def _shut_down(loop: asyncio.AbstractEventLoop) -> None:
    """Close the loop at the end of the process, without warnings even if a store was not closed."""
    if not loop.is_closed() and not loop.is_running():
        loop.run_until_complete(_cancel_workers())
        loop.close()


async def _cancel_workers() -> None:
    """Cancel the tasks of LightRAG's queues; other instances restart theirs."""
    await _end([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        ended, _ = await asyncio.wait(tasks, timeout=SHUTDOWN_TIMEOUT_S)
        for task in ended:
            if not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not report it

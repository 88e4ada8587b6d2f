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
from ragmem.backends.lightrag.rows.names import summarised
from ragmem.backends.lightrag.rows.sources import MAX_SOURCES
from ragmem.backends.lightrag.rows.tokens import PieceTokenizer
from ragmem.backends.lightrag.storages import registration
from ragmem.backends.lightrag.storages.home import Home, register, working_dir
from ragmem.domain.entities.description import MAX_SENTENCES
from ragmem.errors import BackendError
from ragmem.ports import Embedder, Models

FAREWELL = 5.0
"""Seconds that an interrupted coroutine has to end; a driver waits longer for a server that is frozen."""

FAILURE_KEPT_S = 1.0
"""Seconds for which a model that failed a question is not asked again: LightRAG does so at once."""

_UNBOUNDED = 100_000_000

_T = TypeVar("_T")

# LightRAG keeps locks and worker queues in module-level state that belongs to the loop that used it first. So
# there is one loop for all stores of the process, and one thread at a time on it.
_turn = threading.RLock()
_loop: asyncio.AbstractEventLoop | None = None


def run(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end in the calling thread, which must have no running event loop."""
    global _loop  # noqa: PLW0603 - see above
    with _turn:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            atexit.register(_shut_down, _loop)
        task = _loop.create_task(work())
        try:
            return _loop.run_until_complete(task)
        finally:
            if not task.done():
                # Interrupted from the keyboard: left alone, it would go on writing beside whatever runs next.
                _loop.run_until_complete(_end([task]))


def answered(prompt: str) -> str:
    """Answer LightRAG's request to summarise descriptions by rule: the best ones, still separated.

    They come as lines of JSON, oldest first. Being separated, they are merged one by one at the next insert
    and can be taken out again when their memory is deleted.
    """
    found: list[str] = []
    for line in prompt.splitlines():
        if line.startswith('{"Description":'):
            with contextlib.suppress(orjson.JSONDecodeError):
                found.append(str(orjson.loads(line)["Description"]))
    return summarised(found)


@contextlib.contextmanager
def _bare_environment() -> Iterator[None]:
    """Hide the variables that LightRAG reads while it is constructed; whose they are is anyone's guess."""
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
    """A LightRAG object with its storages open, and the configuration that its merge takes."""

    rag: Any
    config: dict[str, Any]

    def indexes(self) -> tuple[Any, Any, Any]:
        """Return the vector storages."""
        return self.rag.chunks_vdb, self.rag.entities_vdb, self.rag.relationships_vdb

    def storages(self) -> tuple[Any, ...]:
        """Return all storages but that of the documents' status."""
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
        """Let all storages but that of the status write what they hold back."""
        for storage in self.storages():
            await storage.index_done_callback()


@dataclass(frozen=True, slots=True)
class Storages:
    """The names under which LightRAG knows four storages."""

    kv: str
    vector: str
    graph: str
    doc_status: str


OURS = Storages(registration.KV, registration.VECTOR, registration.GRAPH, registration.DOC_STATUS)
"""Those on the shared SQLite database."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """How LightRAG gets its vectors; `name` is part of the table's name in some storages."""

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
    """Return a LightRAG object whose storages are not open yet; imports LightRAG, in `folder`."""
    lightrag = registration.import_lightrag(folder)
    from lightrag.utils import EmbeddingFunc, Tokenizer

    # A plain function and no method: LightRAG deep-copies its configuration, and a copied method copies the
    # object that it belongs to.
    async def complete(prompt: str, system_prompt: str | None = None, **_: Any) -> str:
        if '{"Description":' in prompt:
            return answered(prompt)
        model = models.language_model
        if model is None:
            raise BackendError(
                "this needs a language model and none is configured",
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
    config = rag._build_global_config()  # noqa: SLF001 - what its own callers hand to the merge

    # The merge calls the rule directly and not through the queue of workers that LightRAG puts around it.
    async def summarise(prompt: str, **_: Any) -> str:
        return answered(prompt)

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
        # Length alone never asks for a summary: descriptions are bounded by their number.
        "summary_max_tokens": _UNBOUNDED,
        "summary_context_size": _UNBOUNDED,
        "max_source_ids_per_entity": MAX_SOURCES,
        "max_source_ids_per_relation": MAX_SOURCES,
        # New memories win; KEEP, the default, would refuse them.
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


class _Failure:
    """What a model said last of why it does not answer, for the length of one question."""

    def __init__(self) -> None:
        self._error: BackendError | None = None
        self._until = 0.0

    def keep(self, error: BackendError) -> None:
        self._error, self._until = error, time.monotonic() + FAILURE_KEPT_S

    def again(self) -> None:
        """Raise the failure anew where it is of this moment."""
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
        """Whose vectors its storages write and search."""
        return self._embedder.model_id

    def instance(self, workspace: str) -> Instance:
        """Return the opened LightRAG of a workspace; not to be called from a coroutine."""
        with _turn:
            found = self._instances.get(workspace)
            if found is None:
                found = self._instances[workspace] = self._open(workspace)
            return found

    def _open(self, workspace: str) -> Instance:
        embedder = self._home.embedder = self._embedder
        with self._home.database.read() as connection:
            stored = reads.dimensions_of(connection, embedder.model_id)
        # A provider may have to be asked for it, and a question would wait meanwhile.
        dimensions = stored or embedder.dimensions
        # Another store of the same home may have been opened since; the storages would take its connections.
        register(self._home)

        failed = _Failure()

        async def embed(texts: list[str], context: str = "document", **_: Any) -> NDArray[np.float32]:
            if context != "query":
                return embedder.embed(list(texts), role="document")
            # One question embeds up to four times, though the first failed: it would wait each time.
            failed.again()
            try:
                return embedder.embed(list(texts), role="query")
            except BackendError as error:
                failed.keep(error)
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
        """Forget what the storages have buffered, after a transaction was rolled back."""

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
        with _turn:
            self.discard_pending()
            for instance in self._instances.values():
                run(instance.rag.finalize_storages)
            self._instances.clear()
            run(_cancel_workers)


def _shut_down(loop: asyncio.AbstractEventLoop) -> None:
    """End the loop at the end of the process, quietly also where a store was not closed."""
    if not loop.is_closed() and not loop.is_running():
        loop.run_until_complete(_cancel_workers())
        loop.close()


async def _cancel_workers() -> None:
    """End the tasks that LightRAG's queues left behind; its other instances start theirs again."""
    await _end([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        ended, _ = await asyncio.wait(tasks, timeout=FAREWELL)
        for task in ended:
            if not task.cancelled():
                task.exception()  # looked at, so that asyncio does not tell of it on its own

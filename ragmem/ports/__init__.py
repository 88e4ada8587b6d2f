"""The ports: the interfaces of back ends, as structural protocols.

A back end is a module with `open_models(options) -> Models`, with `open_store(options, models, *, database)
-> Store`, or with both. An entry point in the group `ragmem.backends` names it, also for ragmem's own back
ends.

The options of models are the keys of [models] or [language_model] in config.toml and of their table
`options`, and three more. `language_model` names the language model and `model` the embedding model; only
the needed one is present. `meter` is a Meter that counts the requests to a provider; it may be absent.
`cache` is a folder for files that can be made again; without it nothing is cached.

A store is a vector index, a graph and maintenance. `backends.simple_store` derives it all from two methods; a
store overrides what it does faster.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from ragmem.domain.model import Entity, Hit, Record, Relation
from ragmem.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Role = Literal["document", "query"]
Purpose = Literal["query", "document", "extraction", "answer", "rerank", "test"]
"""Why a model is called: to embed a question or a text, to extract entities, to answer a person, to rerank
results, to test the model.

"document" and "extraction" are background work, which a daily cap stops.
"""

model_due: ContextVar[float] = ContextVar("ragmem.model_due", default=math.inf)
"""The moment (time.monotonic) until which a question may wait for a provider; later full text answers it."""

INVALID = "invalid"
"""The `error` of a Call that counts no new request: the answer to the previous one was unusable."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a provider. `error` is one word for the failure, empty after success.

    Token counts come from the provider, or are estimates. `seconds` is the time until the answer.
    """

    backend: str
    model: str
    purpose: Purpose
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    error: str = ""


class Meter(Protocol):
    """Counts requests to providers; safe to use from several threads."""

    def admit(self, purpose: Purpose) -> None:
        """Raise BackendError if a daily cap is reached and the purpose is background work."""

    def record(self, call: Call) -> None:
        """Count a request; never fails and never waits for another process."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def model_id(self) -> str:
        """Name of the model and its weights; vectors of different ids never mix."""

    @property
    def dimensions(self) -> int:
        """Length of each vector."""

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Return an array (len(texts), dimensions) of unit length rows; an empty input gives (0, dimensions).

        A text's vector does not depend on the other texts of the call. Safe to call from several threads.
        """


@runtime_checkable
class KnowsScripts(Protocol):
    """Optional for an embedder: report which texts it can read."""

    def can_read(self, text: str) -> bool:
        """Return whether the vocabulary has most of a text; if not, its vector is meaningless."""


class LanguageModel(Protocol):
    """Completes a prompt."""

    @property
    def model_id(self) -> str:
        """Name of the model."""

    def complete(
        self,
        prompt: str,
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the completion. With a schema it is JSON text that should satisfy the schema; validate it.

        The result is cut at max_tokens. Raises BackendError if the model gives no answer, or an empty one
        within max_tokens. Safe to call from several threads.
        """


@runtime_checkable
class CompletesMany(Protocol):
    """Optional for a language model: complete many prompts faster than one after the other."""

    def complete_many(
        self,
        prompts: Sequence[str],
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Return the completion of each prompt, in order; raises BackendError if one fails."""


@runtime_checkable
class Streams(Protocol):
    """Optional for a language model: stream a completion while the model produces it."""

    def stream(self, prompt: str, *, system: str = "", max_tokens: int = 1024) -> Iterator[str]:
        """Yield the parts of the completion; close the iterator to stop the model.

        The first part may take long. Raises BackendError as `complete` does, also after some parts; the
        completion is then incomplete.
        """


@runtime_checkable
class Sees(Protocol):
    """Optional for a language model: describe a picture."""

    def describe(
        self, prompt: str, *, image: bytes, media_type: str, system: str = "", max_tokens: int = 400
    ) -> str:
        """Return the completion of a prompt about a picture of the media type "image/png" or "image/jpeg".

        Raises BackendError as `complete` does, and if the model takes no pictures. Safe to call from
        several threads.
        """


class Reranker(Protocol):
    """Scores how well each text answers a question (a cross-encoder)."""

    @property
    def model_id(self) -> str:
        """Name of the model."""

    def score(self, query: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return a number for each text, higher is better, on the model's own scale.

        A text that it had no time to read has NaN. An empty input gives an array of shape (0,). Raises
        BackendError. Safe to call from several threads.
        """


@runtime_checkable
class HasReranker(Protocol):
    """Optional for models: a reranker. The option `reranker` names its model."""

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, or None if none is configured; raises BackendError when it cannot load."""


class Span(NamedTuple):
    """A name in a text: `text[start:end]`, the best of the labels, and its score between 0 and 1."""

    start: int
    end: int
    label: str
    score: float


class EntityRecognizer(Protocol):
    """Finds the names in a text that fit given labels (named entity recognition)."""

    @property
    def model_id(self) -> str:
        """Name of the model; another one for files that find other names."""

    def recognize(self, texts: Sequence[str], labels: Sequence[str], *, threshold: float) -> list[list[Span]]:
        """Return the spans of each text that score above the threshold and do not overlap, in their order.

        The same text has the same spans, whatever stands beside it. Raises BackendError. Safe to call from
        several threads.
        """


@runtime_checkable
class HasEntityRecognizer(Protocol):
    """Optional for models: a recognizer of entities. The option `recognizer` names its model."""

    @property
    def recognizer(self) -> EntityRecognizer | None:
        """The recognizer, or None if none is configured; raises BackendError when it cannot load."""


class Models(Protocol):
    """The models of one back end; opening them is cheap, the first use loads them."""

    @property
    def embedder(self) -> Embedder:
        """The embedder; raises BackendError when it cannot load."""

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model, or None if none is configured."""

    def check(self) -> list[str]:
        """Return the problems of the models' files, one line each; loads nothing."""

    def close(self) -> None:
        """Free the models; closing twice is fine."""


Mode = Literal["local", "global", "hybrid", "naive", "mix"]
"""LightRAG's own retrieval modes."""

TextsOf = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Maps chunk id -> memory id to chunk id -> text to embed; chunks that the catalog lacks are absent."""

Refuse = Callable[[Mapping[str, str]], None]
"""Takes memories out of the store: id -> why the model rejects a text of it."""


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Vectors of some chunks: row n of `vectors` (n, dimensions), of unit length, belongs to `chunk_ids[n]`.

    `memory_ids[n]` is the memory of that chunk.
    """

    chunk_ids: Sequence[str]
    memory_ids: Sequence[str]
    vectors: "NDArray[np.float32]"


class VectorIndex(Protocol):
    """Vectors of chunks, per project. All reads use the active model."""

    def prepare(self, records: Sequence[Record]) -> None:
        """Compute the embeddings for `put` in advance, without a lock; safe in a thread."""

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index the records, all or nothing; a record replaces the former one of its memory.

        Embeds before it takes the write lock. `finish` runs inside the transaction, just before the commit:
        its writes to the catalog are durable exactly if the records are.
        """

    def delete(self, memory_ids: Sequence[str], *, finish: Callable[[], None] | None = None) -> None:
        """Remove everything that belongs only to these memories; ignores unknown ids."""

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks of these projects (None: all), best first; the score is the cosine."""

    def similarities(
        self, query: str, chunk_ids: Sequence[str], *, projects: Sequence[str] | None = None
    ) -> Mapping[str, float]:
        """Return chunk id -> cosine with the query, as `search` would score these chunks.

        Chunks without a vector and chunks of other projects are absent. Does not embed a query again that
        `search` embedded just before. Raises BackendError if the embedder fails.
        """

    def answering_model(self) -> str:
        """Return the id of the active model; raises BackendError if it cannot load."""

    def vector_blocks(
        self, project: str, *, memory_ids: Sequence[str] | None = None
    ) -> Iterator[VectorBlock]:
        """Yield the vectors of a project's chunks, or of those of some memories, each once, in blocks.

        Chunks without a vector are absent. Concurrent writes may or may not show. Raises BackendError where
        the model cannot load.
        """

    def nearest_to(self, vectors: "NDArray[np.float32]", *, limit: int, project: str) -> list[list[Hit]]:
        """Return for each vector of unit length the nearest chunks of a project, as `search` would."""

    def vectors(self, records: Sequence[Record]) -> "Mapping[str, NDArray[np.float32]]":
        """Return embedded text -> vector of these records; texts whose vector cannot be reused are absent."""


class Graph(Protocol):
    """Entities and relations, per project, with the chunks that they come from."""

    def entities(
        self, prefix: str = "", *, limit: int = 50, project: str | None = None, described: bool = True
    ) -> list[tuple[Entity, int]]:
        """Return entities whose name starts with the prefix (any case), with degree, most connected first.

        Without `described`, a store may leave their descriptions empty to be faster.
        """

    def neighbours(
        self, name: str, *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Relation, Entity]]:
        """Return the relations of an entity with the entity at the other end, heaviest first."""

    def nodes(self, project: str, *, described: bool = True) -> Iterator[tuple[Entity, int]]:
        """Yield every entity of a project with its degree, ordered by name.

        Later items reflect concurrent writes; `described` as for `entities`.
        """

    def edges(self, project: str, *, described: bool = True) -> Iterator[Relation]:
        """Yield every relation of a project, ordered by source and target; otherwise like `nodes`."""

    def mentions(
        self, chunk_ids: Sequence[str], *, project: str, most: int
    ) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Return chunk -> entity -> all chunks of the project that name it.

        Entities that more than `most` chunks name are absent, and so are chunks of another project and
        chunks that name nothing. Every query calls this.
        """

    def chunks_naming(self, names: Sequence[str], *, project: str, most: int) -> Mapping[str, Sequence[str]]:
        """Return entity -> the `most` latest chunks that name it; unknown entities are absent."""

    def chunks_relating(
        self, pairs: Sequence[tuple[str, str]], *, project: str, most: int
    ) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return pair -> the `most` latest chunks that relate these entities, in either direction."""


class Maintenance(Protocol):
    """Counts, checks and repairs."""

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories in the store."""

    def statistics(self) -> Mapping[str, int]:
        """Return counts: vectors, entities, relations, ..."""

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return (model id, dimensions) -> number of vectors."""

    def model_of_most(self) -> tuple[str, int] | None:
        """Return the model of most vectors and its number of dimensions; None if there are no vectors."""

    def has_vectors_of(self, model: str) -> bool:
        """Return whether any vector is of this model. Every query calls this."""

    def second_model(self, model: str) -> tuple[int, int]:
        """Return how many vectors this model has, and how many it needs to replace the current one."""

    def sweep(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Remove vectors, nodes and edges that belong to no memory, and compact; return the counts."""

    def check(self, *, deep: bool = False) -> list[str]:
        """Return the violations of the store's own invariants, one line each; changes nothing.

        `deep` also reads every vector.
        """

    def repair(self, *, whole: bool = False) -> Mapping[str, int]:
        """Remove damaged memories, and rewrite derived data; return counts.

        `memory_ids` then lacks them, so that they can be put again. `whole` removes all memories. Raises
        BackendError, and changes nothing, if the embedder does not answer.
        """

    def close(self) -> None:
        """Close the store; closing twice is fine."""


class NativeModes(Protocol):
    """LightRAG's own retrieval and graph document; no other store has them."""

    def native_query(
        self,
        query: str,
        mode: Mode,
        *,
        keywords: Sequence[str],
        themes: Sequence[str] = (),
        limit: int,
        project: str,
    ) -> Mapping[str, Any]:
        """Return LightRAG's aquery_data document.

        LightRAG looks for `keywords` among entities and for `themes` among relations; without themes it takes
        the keywords. Raises UsageError for a query that is too short.
        """

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return LightRAG's document {nodes, edges, is_truncated} around a label ("*": most connected)."""


class TwoModels(Protocol):
    """Vectors of two models, so that one can replace the other while the first is in use.

    `put`, `search` and all other methods use the model of `models.embedder`. A put that embedded with one
    model does not commit after a change to the other, and a delete removes the vectors of both.
    """

    def fill(self, embedder: Embedder, texts_of: TextsOf, refuse: Refuse) -> Iterator[int]:
        """Make the vectors that the embedder's model lacks, in batches; yield the size of each.

        A yielded batch is durable. Stopping early is fine: the next call resumes. Others may put and delete
        meanwhile. `refuse` gets the memories of which the embedder rejects a text. Raises BackendError if
        the embedder fails.
        """

    def change_over(self, model: str, *, finish: Callable[[], None]) -> bool:
        """Call `finish` in a transaction if the model lacks no vector; else return False."""

    def drop_others(self, model: str) -> Iterator[int]:
        """Remove the vectors of all other models, in batches, a transaction each; yield the size of each."""


class Store(VectorIndex, Graph, Maintenance, Protocol):
    """Vectors and graph of the memories; the graphs of two projects never mix.

    Safe to use from several threads.
    """

    @property
    def name(self) -> str:
        """Name of the back end, for messages."""

    @property
    def native(self) -> NativeModes | None:
        """LightRAG's own modes; None in any other store."""

    @property
    def two_models(self) -> TwoModels | None:
        """How to replace the embedding model step by step; None if the store holds only one model."""

    def reader(self) -> "Callable[[Any], Store] | None":
        """Return a picklable function that opens this store for reading, given the database of a process.

        The store it opens needs no model. None if only this process can read the store. Raises
        BackendError where the model that answers cannot load.
        """

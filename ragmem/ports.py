"""The ports: what a backend must offer, as structural protocols.

A backend is a module with `open_models(options) -> Models` and/or `open_store(options, models) -> Store`,
named by an entry point in the group `ragmem.backends`. ragmem's own backends come in by the same door.

The options of models are the keys of [models] or [language_model] in config.toml, those of their table
`options` beside them, and three more: `language_model` is the name of the language model (`model` is that of
the embedding model; of the two, the one that is not wanted is left out), `meter` is a Meter that every
request to a provider is reported to (left out: nobody counts), and `cache` is a folder for what can be made
again (left out: nothing is kept).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from ragmem.domain.model import Entity, Hit, Record, Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Role = Literal["document", "query"]
Mode = Literal["local", "global", "hybrid", "naive", "mix"]
Purpose = Literal["query", "document", "extraction", "answer", "rerank", "test"]
"""What a model is asked for: a question's vector, a text's, entities, an answer to a person, a better order
of what was found, a trial.

"document" and "extraction" are background work, which a daily cap stops.
"""

INVALID = "invalid"
"""The `error` of a Call that reports no further request, but that the answer to one was of no use."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a provider, as it is counted: also one that failed, then `error` says how in a word.

    Tokens are those that the provider reports, else an estimate; `seconds` is the time until it answered.
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
        """Raise BackendError where a daily cap is reached and the purpose is background work."""
        ...

    def record(self, call: Call) -> None:
        """Count a request; never fails, and waits for no other process."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def model_id(self) -> str:
        """Name of the model and its weights; vectors of different ids never mix."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of each vector."""
        ...

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Return an array (len(texts), dimensions) of unit length rows; an empty input gives (0, dimensions).

        A text's vector does not depend on the other texts of the call. Safe to call from several threads.
        """
        ...


class LanguageModel(Protocol):
    """Completes a prompt."""

    @property
    def model_id(self) -> str:
        """Name of the model."""
        ...

    def complete(
        self,
        prompt: str,
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the completion; with a schema, JSON text that should satisfy it: check it nevertheless.

        Both are cut at max_tokens, and returned so. Raise BackendError for an answer that cannot be had, or
        of which nothing came by then. Safe to call from several threads.
        """
        ...


@runtime_checkable
class CompletesMany(Protocol):
    """What a language model may offer besides: many prompts sooner than one after the other."""

    def complete_many(
        self,
        prompts: Sequence[str],
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Return what `complete` would for each prompt, in order; BackendError where one has no answer."""
        ...


@runtime_checkable
class Streams(Protocol):
    """What a language model may offer besides: a completion part by part, while it is being made."""

    def stream(self, prompt: str, *, system: str = "", max_tokens: int = 1024) -> Iterator[str]:
        """Yield the parts of what `complete` would return; to close the iterator is to want no more of it.

        The first part may be long in coming. Raises BackendError as `complete` does, also after some parts:
        what was yielded by then is not all.
        """
        ...


@runtime_checkable
class Sees(Protocol):
    """What a language model may offer besides: to say what a picture shows."""

    def describe(
        self, prompt: str, *, image: bytes, media_type: str, system: str = "", max_tokens: int = 400
    ) -> str:
        """Return the completion of a prompt about a picture, which is PNG or JPEG ("image/png").

        Raises BackendError as `complete` does, and where the model has no eyes. Safe from several threads.
        """
        ...


class Reranker(Protocol):
    """Reads a question together with each text, and says how well it answers."""

    @property
    def model_id(self) -> str:
        """Name of the model."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return a number for each text, higher is better; their scale is the model's own.

        An empty input gives (0,). Raises BackendError. Safe to call from several threads.
        """
        ...


@runtime_checkable
class HasReranker(Protocol):
    """What models may offer besides; opened with the option `reranker`, the name of its model."""

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, or None where none is configured; raises BackendError where it cannot be had."""
        ...


class Models(Protocol):
    """The models of one backend; opening them is cheap, the first use loads them."""

    @property
    def embedder(self) -> Embedder:
        """The embedder; raises BackendError when it cannot load."""
        ...

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model, or None where none is configured."""
        ...

    def check(self) -> list[str]:
        """Return what is wrong with the models' files, one line each; loads nothing."""
        ...

    def close(self) -> None:
        """Free what was loaded; closing twice is fine."""
        ...


TextsOf = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Chunk id -> memory id; returns chunk id -> what is embedded of it, as far as the catalog has it."""


class Store(Protocol):
    """Keeps vectors and graph of the memories, per project (a project's graph never mixes with another's)."""

    def prepare(self, records: Sequence[Record]) -> None:
        """Compute ahead what `put` will need (embeddings), without a lock; optional, and safe in a thread."""
        ...

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index the records, all or nothing; putting twice is putting once.

        A record whose memory is there already replaces it.

        Embeds before it takes the write lock. `finish` runs inside the transaction, just before the commit:
        what it writes to the catalog is durable exactly when the records are.
        """
        ...

    def delete(self, memory_ids: Sequence[str], *, finish: Callable[[], None] | None = None) -> None:
        """Remove everything that only these memories brought in; unknown ids are ignored."""
        ...

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks by vector, best first, of these projects (None: all); score = cosine."""
        ...

    def entities(
        self, prefix: str = "", *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Entity, int]]:
        """Return entities whose name starts with the prefix (any case), with degree, most connected first."""
        ...

    def neighbours(
        self, name: str, *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Relation, Entity]]:
        """Return the relations of an entity with the entity at the other end, heaviest first."""
        ...

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return LightRAG's document {nodes, edges, is_truncated} around a label ("*": most connected)."""
        ...

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
        """Run the engine's own retrieval and return its answer (LightRAG's aquery_data document).

        `keywords` are looked for among entities, `themes` among relations; without themes the keywords are.
        """
        ...

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories that are in the store."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Return counts: vectors, entities, relations, ..."""
        ...

    def sweep(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Remove what belongs to no memory (vectors, nodes, edges) and compact; return the counts."""
        ...

    def check(self, *, deep: bool = False) -> list[str]:
        """Return the violations of the store's own invariants, one line each; empty when it is sound.

        Changes nothing. `deep` also reads every vector.
        """
        ...

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return how many vectors there are by (id of the model that made them, dimensions)."""
        ...

    def repair(self, *, whole: bool = False) -> Mapping[str, int]:
        """Take out the memories of which a part is damaged, and write anew what is derived; return counts.

        `memory_ids` lacks what was taken out, so that it can be put again; `whole` takes everything out.
        Raises BackendError, and changes nothing, where the embedder does not answer.
        """
        ...

    def close(self) -> None:
        """Close the store; closing twice is fine."""
        ...


@runtime_checkable
class ComparesChunks(Protocol):
    """What a store may offer beside `Store`: how near chunks are that another list found."""

    def similarities(
        self, query: str, chunk_ids: Sequence[str], *, projects: Sequence[str] | None = None
    ) -> Mapping[str, float]:
        """Return chunk id -> cosine of these chunks of these projects, as `search` would score them.

        Chunks without a vector of the model that answers are absent. Embeds nothing that `search` embedded
        just before. Raises BackendError where the embedder fails.
        """
        ...


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Vectors of some chunks: row n of `vectors` (n, dimensions), of unit length, is of `chunk_ids[n]`.

    `memory_ids[n]` is the memory of that chunk.
    """

    chunk_ids: Sequence[str]
    memory_ids: Sequence[str]
    vectors: "NDArray[np.float32]"


@runtime_checkable
class ShowsVectors(Protocol):
    """What a store may offer beside `Store`: the vectors themselves, of the model that answers questions."""

    def answering_model(self) -> str:
        """Return the id of the model whose vectors are shown; raises BackendError where it cannot be had."""
        ...

    def vector_blocks(
        self, project: str, *, memory_ids: Sequence[str] | None = None
    ) -> Iterator[VectorBlock]:
        """Yield the vectors of a project's chunks, or of those of some memories, each once, some at a time.

        Chunks without a vector of the model that answers are absent. Others may write meanwhile: what they
        put or delete is there or not. Raises BackendError where the model cannot be had.
        """
        ...

    def nearest_to(self, vectors: "NDArray[np.float32]", *, limit: int, project: str) -> list[list[Hit]]:
        """Return for each vector of unit length the nearest chunks of a project, as `search` would."""
        ...


@runtime_checkable
class ReadElsewhere(Protocol):
    """What a store in the catalog's database may offer besides: to be read by other processes."""

    def reader(self) -> Callable[[Any], Store]:
        """Return what makes a store of the catalog's database as another process opened it.

        It can be pickled; the store it makes is only read from, and shows what this one does without loading
        a model. Raises BackendError where the model that answers cannot be had.
        """
        ...


@runtime_checkable
class TellsMentions(Protocol):
    """What a store may offer beside `Store`: which entities a chunk names, and where else they are named."""

    def mentions(
        self, chunk_ids: Sequence[str], *, project: str, most: int
    ) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Return chunk -> entity -> the chunks of the project that name it, the chunk itself among them.

        Left out are entities that more than `most` chunks name, and chunks that are of another project or
        name nothing. Cheap enough for every question.
        """
        ...


@runtime_checkable
class ShowsGraph(Protocol):
    """What a store may offer beside `Store`: a project's graph whole, and the chunks it comes from."""

    def nodes(self, project: str) -> Iterator[tuple[Entity, int]]:
        """Yield every entity of a project with its degree, in the order of their names.

        Others may put and delete meanwhile: what comes after is as they left it.
        """
        ...

    def edges(self, project: str) -> Iterator[Relation]:
        """Yield every relation of a project, in the order of source and target; else as `nodes`."""
        ...

    def chunks_naming(self, names: Sequence[str], *, project: str, most: int) -> Mapping[str, Sequence[str]]:
        """Return entity -> the chunks that name it, `most` of those stored last; unknown ones are absent."""
        ...

    def chunks_relating(
        self, pairs: Sequence[tuple[str, str]], *, project: str, most: int
    ) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return pair -> the chunks that relate these entities, as `chunks_naming` does; either order."""
        ...


@runtime_checkable
class HoldsTwoModels(Protocol):
    """What a store may offer beside `Store`: vectors of two models, so that one can replace the other.

    Its `put`, `search` and all else go on with the model that `models.embedder` names. A put that embedded
    with one model does not commit after another took its place, and a delete takes the vectors of both.
    """

    def model_of_most(self) -> tuple[str, int] | None:
        """Return the model of most vectors and its number of dimensions; None where there are no vectors."""
        ...

    def has_vectors_of(self, model: str) -> bool:
        """Tell whether any vector is of this model; cheap enough for every question."""
        ...

    def second_model(self, model: str) -> tuple[int, int]:
        """Return how many vectors this model has, and how many it would have if all were made."""
        ...

    def fill(self, embedder: Embedder, texts_of: TextsOf) -> Iterator[int]:
        """Make the vectors that the embedder's model lacks, a batch at a time; yield how many after each.

        What was yielded is durable. Ends when none is missing; to stop earlier is to go on later. Others may
        put and delete meanwhile. Raises BackendError where the embedder fails.
        """
        ...

    def change_over(self, model: str, *, finish: Callable[[], None]) -> bool:
        """Call `finish` in a transaction in which the model lacks nothing; False where it lacks some."""
        ...

    def drop_others(self, model: str) -> Iterator[int]:
        """Remove the vectors of all other models, some in each transaction; yield how many after each."""
        ...

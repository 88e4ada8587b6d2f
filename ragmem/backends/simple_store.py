"""A store that needs only `write` and `entries`; everything else is derived, correct but slow.

A back end starts here and overrides what its engine does faster.
"""

from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import orjson

from ragmem.backends.question_vectors import QuestionCache
from ragmem.domain.model import Entity, Extraction, Hit, Record, Relation
from ragmem.errors import BackendError
from ragmem.ports import Models, NativeModes, Store, TwoModels, VectorBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = TypeVar("Key")


class StoreDefaults:
    """Defaults of a store: capabilities that it lacks, and counts that follow from other counts."""

    name = ""
    """Name of the back end, for messages."""

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return (model id, dimensions) -> number of vectors."""
        raise NotImplementedError

    @property
    def native(self) -> NativeModes | None:
        """None: only LightRAG has its modes."""
        return None

    @property
    def two_models(self) -> TwoModels | None:
        """None: the store holds the vectors of one model."""
        return None

    def reader(self) -> Callable[[Any], Store] | None:
        """Return None: no other process can read the store."""
        return None

    def prepare(self, records: Sequence[Record]) -> None:
        """Do nothing: `put` embeds."""

    def vectors(self, records: Sequence[Record]) -> "Mapping[str, NDArray[np.float32]]":
        """Return nothing: no vector is reused."""
        del records
        return {}

    def model_of_most(self) -> tuple[str, int] | None:
        """Return the model of most vectors and its number of dimensions; None where there are no vectors."""
        counted = self.vector_models()
        return max(counted, key=lambda one: counted[one], default=None)

    def has_vectors_of(self, model: str) -> bool:
        """Return whether any vector is of this model."""
        return any(known == model for known, _ in self.vector_models())

    def second_model(self, model: str) -> tuple[int, int]:
        """Return how many vectors this model has, and how many there are of all models."""
        counted = self.vector_models()
        return sum(count for (one, _), count in counted.items() if one == model), sum(counted.values())

    def sweep(self, *, dry_run: bool = False) -> Mapping[str, int]:
        """Return no counts: nothing is left behind."""
        del dry_run
        return {}

    def close(self) -> None:
        """Do nothing: the database belongs to the caller."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The data of one memory in a simple store; `model` made row n of `vectors` from `chunk_ids[n]`."""

    memory_id: str
    project: str
    model: str
    chunk_ids: tuple[str, ...]
    vectors: "NDArray[np.float32]"
    extractions: tuple[Extraction, ...]

    def to_json(self) -> str:
        """Return the entry as JSON for `entry_from_json`."""
        return orjson.dumps(
            {
                "memory_id": self.memory_id,
                "project": self.project,
                "model": self.model,
                "chunk_ids": self.chunk_ids,
                "vectors": b64encode(self.vectors.astype(np.float32).tobytes()).decode(),
                "extractions": self.extractions,
            }
        ).decode()


@lru_cache(maxsize=4096)
def entry_from_json(text: str) -> Entry:
    """Return the entry from the JSON of `Entry.to_json`."""
    fields = orjson.loads(text)
    rows = np.frombuffer(b64decode(fields.pop("vectors")), np.float32)
    extractions = tuple(
        Extraction(
            one["chunk_id"],
            tuple(Entity(**entity) for entity in one["entities"]),
            tuple(Relation(**relation) for relation in one["relations"]),
        )
        for one in fields.pop("extractions")
    )
    chunks = tuple(fields.pop("chunk_ids"))
    return Entry(
        **fields, chunk_ids=chunks, vectors=rows.reshape(max(1, len(chunks)), -1), extractions=extractions
    )


class SimpleStore(StoreDefaults, ABC):
    """A store that reads all its entries for each answer."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._questions = QuestionCache()

    @abstractmethod
    def write(
        self, entries: Sequence[Entry], *, remove: Sequence[str], finish: Callable[[], None] | None
    ) -> None:
        """Remove the entries of some memories, append others, then call `finish`; all or nothing."""

    @abstractmethod
    def entries(self) -> Iterable[Entry]:
        """Return all entries in the order in which they were written; creates nothing."""

    def _of(self, project: str | None) -> list[Entry]:
        return [entry for entry in self.entries() if project is None or entry.project == project]

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index the records, all or nothing."""
        latest = {record.memory.id: record for record in records}
        embedder = self._models.embedder
        entries = []
        texts = [chunk.searchable for record in latest.values() for chunk in record.chunks]
        vectors, begin = embedder.embed(texts, role="document"), 0
        for key, record in latest.items():
            chunks = tuple(chunk.id for chunk in record.chunks)
            rows, begin = vectors[begin : begin + len(chunks)], begin + len(chunks)
            project = record.memory.scope.project
            entries.append(Entry(key, project, embedder.model_id, chunks, rows, record.extractions))
        self.write(entries, remove=list(latest), finish=finish)

    def delete(self, memory_ids: Sequence[str], *, finish: Callable[[], None] | None = None) -> None:
        """Remove everything that only these memories brought in; ignores unknown ids."""
        self.write([], remove=memory_ids, finish=finish)

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks by vector, best first."""
        if not query.strip() or limit < 1:
            return []
        embedder = self._models.embedder  # before any read: a missing model is an error in any store
        found = [entry for entry in self.entries() if projects is None or entry.project in projects]
        found = [entry for entry in found if entry.chunk_ids]
        if not found:
            return []
        if any(entry.model != embedder.model_id for entry in found):
            raise BackendError(
                f'the vectors were not made by the model "{embedder.model_id}"',
                hint="run `ragmem seed --rebuild`",
            )
        return _nearest(_block(found), self._questions.embed(embedder, query), limit)

    def similarities(
        self, query: str, chunk_ids: Sequence[str], *, projects: Sequence[str] | None = None
    ) -> Mapping[str, float]:
        """Return chunk id -> cosine with the query, of the chunks that have a vector."""
        wanted = set(chunk_ids)
        model = self.answering_model()
        rows = {
            chunk: vector
            for entry in self.entries()
            if entry.model == model and (projects is None or entry.project in projects)
            for chunk, vector in zip(entry.chunk_ids, entry.vectors, strict=False)
            if chunk in wanted
        }
        if not query.strip() or not rows:
            return {}
        question = self._questions.vector(self._models.embedder, query)
        return {chunk: float(vector @ question) for chunk, vector in rows.items()}

    def answering_model(self) -> str:
        """Return the id of the embedder's model."""
        return self._models.embedder.model_id

    def vector_blocks(
        self, project: str, *, memory_ids: Sequence[str] | None = None
    ) -> Iterator[VectorBlock]:
        """Yield the vectors of a project's chunks, or of those of some memories, all at once."""
        model = self.answering_model()
        found = [entry for entry in self._of(project) if entry.chunk_ids and entry.model == model]
        if memory_ids is not None:
            found = [entry for entry in found if entry.memory_id in memory_ids]
        if found:
            yield _block(found)

    def nearest_to(self, vectors: "NDArray[np.float32]", *, limit: int, project: str) -> list[list[Hit]]:
        """Return the nearest chunks of a project for each vector, best first."""
        for block in self.vector_blocks(project):
            return [_nearest(block, vector, limit) for vector in vectors]
        return [[] for _ in vectors]

    def _graph(self, project: str | None) -> tuple[dict[tuple[str, str], Entity], list[tuple[str, Relation]]]:
        """Return the entities by (project, name) and the merged relations with their project."""
        entities: dict[tuple[str, str], Entity] = {}
        merged: dict[tuple[str, str, str], Relation] = {}
        found = [(entry.project, one) for entry in self._of(project) for one in entry.extractions]
        for space, extraction in found:
            for entity in extraction.entities:
                entities.setdefault((space, entity.name), entity)
        for space, extraction in found:
            for one in extraction.relations:
                source, target = ends = _ends(one)
                if source == target:
                    continue
                before = merged.get((space, *ends))
                weight = one.weight + (before.weight if before else 0.0)
                merged[space, source, target] = Relation(*ends, one.keywords, one.description, weight)
                for name in ends:
                    entities.setdefault((space, name), Entity(name, "UNKNOWN", one.description))
        return entities, [(space, relation) for (space, _, _), relation in merged.items()]

    def _degrees(self, project: str | None) -> list[tuple[Entity, int]]:
        entities, relations = self._graph(project)
        ends = [(space, end) for space, one in relations for end in (one.source, one.target)]
        degrees = Counter(ends)
        return [(entity, degrees[key]) for key, entity in entities.items()]

    def entities(
        self, prefix: str = "", *, limit: int = 50, project: str | None = None, described: bool = True
    ) -> list[tuple[Entity, int]]:
        """Return entities whose name starts with the prefix with their degree, most connected first."""
        del described
        found = [one for one in self._degrees(project) if one[0].name.lower().startswith(prefix.lower())]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].name))[:limit]

    def neighbours(
        self, name: str, *, limit: int = 50, project: str | None = None
    ) -> list[tuple[Relation, Entity]]:
        """Return the relations of an entity with the entity at the other end, heaviest first."""
        entities, relations = self._graph(project)
        found = [
            (one, entities[space, one.target if one.source == name else one.source])
            for space, one in relations
            if name in (one.source, one.target)
        ]
        return sorted(found, key=lambda pair: (-pair[0].weight, pair[0].source, pair[0].target))[:limit]

    def nodes(self, project: str, *, described: bool = True) -> Iterator[tuple[Entity, int]]:
        """Yield every entity of a project with its degree, by name."""
        del described
        yield from sorted(self._degrees(project), key=lambda pair: pair[0].name)

    def edges(self, project: str, *, described: bool = True) -> Iterator[Relation]:
        """Yield every relation of a project, by source and target."""
        del described
        yield from sorted((one for _, one in self._graph(project)[1]), key=_ends)

    def mentions(
        self, chunk_ids: Sequence[str], *, project: str, most: int
    ) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Return chunk -> entity -> all chunks of the project that name it, up to `most` of them."""
        names = {
            one.chunk_id: list(dict.fromkeys(entity.name for entity in one.entities))
            for entry in self._of(project)
            for one in entry.extractions
            if one.chunk_id in chunk_ids and one.entities
        }
        every = [name for several in names.values() for name in several]
        naming = self.chunks_naming(every, project=project, most=most + 1)
        return {
            chunk: {name: naming[name] for name in several if len(naming[name]) <= most}
            for chunk, several in names.items()
        }

    def chunks_naming(self, names: Sequence[str], *, project: str, most: int) -> Mapping[str, Sequence[str]]:
        """Return entity -> the chunks that name it, latest first."""
        pairs = (
            (entity.name, one.chunk_id)
            for entry in self._of(project)
            for one in entry.extractions
            for entity in one.entities
        )
        found = _latest(pairs, set(names), most)
        return {name: found[name] for name in names if name in found}

    def chunks_relating(
        self, pairs: Sequence[tuple[str, str]], *, project: str, most: int
    ) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return pair -> the chunks that relate these entities, latest first."""
        relating = (
            (_ends(relation), one.chunk_id)
            for entry in self._of(project)
            for one in entry.extractions
            for relation in one.relations
        )
        ends = {pair: (min(pair), max(pair)) for pair in pairs}
        found = _latest(relating, set(ends.values()), most)
        return {pair: found[key] for pair, key in ends.items() if key in found}

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories in the store."""
        return {entry.memory_id for entry in self.entries()}

    def statistics(self) -> Mapping[str, int]:
        """Return counts."""
        entries = list(self.entries())
        entities, relations = self._graph(None)
        chunks = sum(len(entry.chunk_ids) for entry in entries)
        counts = {"documents": len(entries), "chunks": chunks, "vectors": chunks}
        return {**counts, "entities": len(entities), "relations": len(relations)}

    def vector_models(self) -> Mapping[tuple[str, int], int]:
        """Return how many vectors there are by model and dimensions."""
        found: Counter[tuple[str, int]] = Counter()
        for entry in self.entries():
            if entry.chunk_ids:
                found[entry.model, entry.vectors.shape[1]] += len(entry.chunk_ids)
        return found

    def check(self, *, deep: bool = False) -> list[str]:
        """Return no problems, since a memory is one entry; deep: the vectors of a wrong length."""
        length = self._models.embedder.dimensions if deep else 0
        return [
            f"the vectors of {entry.memory_id} have {entry.vectors.shape[1]} dimensions instead of {length}"
            for entry in (self.entries() if deep else ())
            if entry.chunk_ids and entry.vectors.shape[1] != length
        ]

    def repair(self, *, whole: bool = False) -> Mapping[str, int]:
        """Remove the memories with vectors of another model or length, or all of them."""
        embedder = self._models.embedder
        sound = embedder.model_id, embedder.dimensions
        damaged = [
            entry.memory_id
            for entry in self.entries()
            if whole or (entry.chunk_ids and (entry.model, entry.vectors.shape[1]) != sound)
        ]
        self.delete(damaged)
        return {"memories": len(damaged)}


def _block(entries: Sequence[Entry]) -> VectorBlock:
    return VectorBlock(
        [chunk for entry in entries for chunk in entry.chunk_ids],
        [entry.memory_id for entry in entries for _ in entry.chunk_ids],
        np.concatenate([entry.vectors for entry in entries]),
    )


def _nearest(block: VectorBlock, vector: "NDArray[np.float32]", limit: int) -> list[Hit]:
    cosines = block.vectors @ vector
    best = np.argsort(-cosines, kind="stable")[: max(0, limit)].tolist()
    return [
        Hit(block.chunk_ids[n], block.memory_ids[n], rank, float(cosines[n]))
        for rank, n in enumerate(best, start=1)
    ]


def _ends(relation: Relation) -> tuple[str, str]:
    """Return both ends in order: relations have no direction."""
    return min(relation.source, relation.target), max(relation.source, relation.target)


def _latest(pairs: Iterable[tuple[Key, str]], wanted: set[Key], most: int) -> dict[Key, list[str]]:
    """Return key -> its last chunks, latest first, each once."""
    found: dict[Key, dict[str, None]] = {}
    for key, chunk in reversed(list(pairs)):
        if key in wanted:
            found.setdefault(key, {})[chunk] = None
    return {key: list(chunks)[:most] for key, chunks in found.items()}

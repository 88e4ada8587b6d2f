"""What could answer a question, found in several ways, with what speaks for each memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragmem.domain.model import Hit
from ragmem.domain.retrieval.question import Asked
from ragmem.domain.retrieval.scoring import Evidence
from ragmem.ports import ComparesChunks, Store
from ragmem.storage.fulltext import fulltext
from ragmem.storage.fulltext.terms import LexicalHits
from ragmem.storage.home.catalog import Catalog

CHUNKS_FOR_EACH = 2
"""How many times as many chunks as candidates are asked for: of long memories several are among the best."""

NONE = -2.0
"""Below every cosine."""

ALSO = 2
"""Chunks of a memory that are told of beside its best one."""

NEARLY = 0.75
"""Share of the promise of a memory's best chunk from which on another one is told of."""


@dataclass(slots=True)
class Candidate:
    """A memory that may answer, its best chunk, and what speaks for it.

    `further` are its scores in the lists beside words and vectors, by their names, `also` the chunks that
    promise nearly as much as the best one. `compared` is False where it has no vector yet: then it is taken
    for one like the others. `by_itself` is its relevance by words and vectors, once it is known.
    """

    memory_id: str
    chunk_id: str
    evidence: Evidence
    further: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    compared: bool = True
    by_itself: float | None = None


class Gathering:
    """The candidates of one question: ask the lists, add further ones, then take what speaks for each."""

    def __init__(
        self,
        catalog: Catalog,
        store: Store | None,
        asked: Asked,
        *,
        projects: Sequence[str] | None,
        depth: int,
    ) -> None:
        """Search by words, and by vectors where there is a store, `depth` memories; raises BackendError."""
        self._catalog = catalog
        self._store = store
        self.asked = asked
        self._projects = projects
        self._ranks: dict[str, dict[str, int]] = {}
        self._scores: dict[str, dict[str, float]] = {}
        self._owners: dict[str, str] = {}
        self._openings: dict[str, str] = {}
        self._chunks: dict[str, list[str]] = {}
        self._built: dict[str, Candidate] = {}
        self._changed: set[str] = set()
        self.leading = 0.0
        """Relevance of the best memory that the graph was asked from: what it leads to stays behind it."""
        vectors: Sequence[Hit] = []
        if store is not None:
            wide = store.search(asked.text, limit=CHUNKS_FOR_EACH * depth, projects=projects)
            vectors = _of_so_many(wide, depth)
        self._lexical = self._search({hit.chunk_id: hit.memory_id for hit in vectors}, memories=depth)
        self._cosines: dict[str, float] = {}
        self._unknown = 0.0
        self._take("text", self._lexical.hits)
        self._take("vectors", self._allowed(vectors))
        self._cosines = {hit.chunk_id: hit.score for hit in vectors if hit.chunk_id in self._owners}
        self._compare()

    @property
    def by_words(self) -> bool:
        """Whether any chunk has a word of the question."""
        return bool(self._lexical.hits)

    @property
    def by_vectors(self) -> bool:
        """Whether any chunk was found by its vector."""
        return bool(self._ranks["vectors"])

    def add(self, name: str, hits: Sequence[Hit], *, speaks: bool = True) -> None:
        """Take the hits of a further list as candidates; its scores are kept under its name.

        A list that does not speak for its hits only has them compared with the question.
        """
        hits = self._allowed(hits)
        new = {hit.chunk_id: hit.memory_id for hit in hits if hit.chunk_id not in self._owners}
        self._take(name, hits)
        if speaks:
            self._scores[name] = {hit.chunk_id: hit.score for hit in reversed(hits)}
        if new:
            more = self._search(new, memories=1)
            known = self._lexical
            self._lexical = replace(
                known,
                scores={**more.scores, **known.scores},
                coverage={**more.coverage, **known.coverage},
                memories={**more.memories, **known.memories},
                openings={**more.openings, **known.openings},
            )
            self._compare()

    def candidates(self) -> list[Candidate]:
        """Return the memories with what speaks for them, in no order."""
        for memory_id in self._changed:
            self._built[memory_id] = self._candidate(memory_id, self._chunks[memory_id])
        self._changed.clear()
        return list(self._built.values())

    def ranks(self, memory_id: str) -> dict[str, int]:
        """Return the best rank of a memory in each list that found it, by the list's name."""
        found = {}
        for name, listed in self._ranks.items():
            if mine := [listed[key] for key in self._chunks[memory_id] if key in listed]:
                found[name] = min(mine)
        return found

    def _search(self, also: Mapping[str, str], *, memories: int) -> LexicalHits:
        return fulltext.search(
            self._catalog.database,
            self.asked.text,
            limit=CHUNKS_FOR_EACH * memories,
            memories=memories,
            projects=self._projects,
            also=also,
            phrases=self.asked.required,
            excluded=self.asked.excluded,
        )

    def _allowed(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits that have the question's phrases and none of what it excludes."""
        if not (self.asked.required or self.asked.excluded):
            return hits
        passed = fulltext.allowed(
            self._catalog.database, self.asked.required, self.asked.excluded, [hit.chunk_id for hit in hits]
        )
        return [hit for hit in hits if hit.chunk_id in passed]

    def _take(self, name: str, hits: Sequence[Hit]) -> None:
        ranks = self._ranks.setdefault(name, {})
        for hit in hits:
            if hit.chunk_id not in self._owners:
                self._owners[hit.chunk_id] = hit.memory_id
                self._chunks.setdefault(hit.memory_id, []).append(hit.chunk_id)
            self._changed.add(hit.memory_id)
            ranks.setdefault(hit.chunk_id, hit.rank)

    def _compare(self) -> None:
        """Find the cosines of what only other lists found, and of each memory's opening chunk."""
        if self._store is None or not self._cosines:
            return
        missing = set(self._owners.values()) - self._openings.keys()
        found = {key: chunk for key, chunk in self._lexical.openings.items() if key in missing}
        self._openings |= found | self._catalog.memories.openings(missing - found.keys())
        if isinstance(self._store, ComparesChunks):
            wanted = (self._owners.keys() | set(self._openings.values())) - self._cosines.keys()
            self._cosines |= self._store.similarities(
                self.asked.text, sorted(wanted), projects=self._projects
            )
            # A chunk that has no vector yet is taken for one like the others.
            self._unknown = sum(self._cosines.values()) / len(self._cosines)
        else:
            # Where a store tells of its best chunks only, any other is below the last of them.
            self._unknown = min(self._cosines.values())

    def _candidate(self, memory_id: str, chunks: Sequence[str]) -> Candidate:
        # This runs for each candidate of each question, hence one pass and no small functions.
        possible = self._lexical.best_possible or 1.0
        scores, coverage, cosines = self._lexical.scores, self._lexical.coverage, self._cosines
        text = covered = 0.0
        first = second = NONE
        promises: list[tuple[float, str]] = []
        for key in chunks:
            score, share = scores.get(key, 0.0) / possible, coverage.get(key, 0.0)
            cosine = cosines.get(key, NONE)
            text, covered = max(text, score), max(covered, share)
            if cosine > first:
                first, second = cosine, first
            elif cosine > second:
                second = cosine
            promises.append((score + share + 2 * (self._unknown if cosine == NONE else cosine), key))
        opening = self._openings.get(memory_id, "")
        opened = cosines.get(opening, NONE)
        if opened != NONE and opening not in chunks:
            if opened > first:
                first, second = opened, first
            elif opened > second:
                second = opened
        compared = first != NONE or not isinstance(self._store, ComparesChunks)
        if first == NONE:
            first = self._unknown
        if opened == NONE:
            opened = self._unknown if opening else first
        whole = self._lexical.memories.get(memory_id, (0.0, 0.0))
        evidence = Evidence(
            text,
            covered,
            whole[0] / possible,
            whole[1],
            first,
            (first + (first if second == NONE else second)) / 2,
            opened,
        )
        promises.sort(reverse=True)
        promise, best = promises[0]
        also = tuple(key for value, key in promises[1 : ALSO + 1] if value >= NEARLY * promise)
        return Candidate(memory_id, best, evidence, self._further(chunks), also, compared)

    def _further(self, chunks: Sequence[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, listed in self._scores.items():
            if mine := [listed[key] for key in chunks if key in listed]:
                found[name] = max(mine)
        return found


def _of_so_many(hits: Sequence[Hit], memories: int) -> Sequence[Hit]:
    """Return the beginning of a list that has so many memories."""
    seen: set[str] = set()
    for place, hit in enumerate(hits):
        seen.add(hit.memory_id)
        if len(seen) > memories:
            return hits[:place]
    return hits

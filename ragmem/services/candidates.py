"""What could answer a question, found in several ways, with what speaks for each memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from ragmem.catalog import fulltext
from ragmem.catalog.catalog import Catalog
from ragmem.catalog.terms import LexicalHits
from ragmem.domain.model import Hit
from ragmem.domain.question import Asked
from ragmem.domain.scoring import Evidence
from ragmem.ports import ComparesChunks, Store

ALSO = 2
"""Chunks of a memory that are told of beside its best one."""

NEARLY = 0.75
"""Share of the promise of a memory's best chunk from which on another one is told of."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may answer, its best chunk, and what speaks for it.

    `ranks` are its ranks in the lists that found it, by their names, `further` its scores in those beside
    words and vectors, `also` the chunks that promise nearly as much as the best one. `compared` is False
    where it has no vector yet: then it is taken for one like the others.
    """

    memory_id: str
    chunk_id: str
    evidence: Evidence
    ranks: Mapping[str, int] = field(default_factory=dict)
    further: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    compared: bool = True


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
        """Search by words, `depth` chunks, and by vectors where there is a store; raises BackendError."""
        self._catalog = catalog
        self._store = store
        self.asked = asked
        self._projects = projects
        self._ranks: dict[str, dict[str, int]] = {}
        self._scores: dict[str, dict[str, float]] = {}
        self._owners: dict[str, str] = {}
        self._openings: dict[str, str] = {}
        vectors = store.search(asked.text, limit=depth, projects=projects) if store is not None else []
        self._lexical = self._search([hit.chunk_id for hit in vectors], depth=depth)
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

    def add(self, name: str, hits: Sequence[Hit]) -> None:
        """Take the hits of a further list as candidates; its scores are kept under its name."""
        hits = self._allowed(hits)
        new = [hit.chunk_id for hit in hits if hit.chunk_id not in self._owners]
        self._take(name, hits)
        self._scores[name] = {hit.chunk_id: hit.score for hit in reversed(hits)}
        if new:
            more = self._search(new, depth=1)
            known = self._lexical
            self._lexical = replace(
                known,
                scores={**more.scores, **known.scores},
                coverage={**more.coverage, **known.coverage},
                memories={**more.memories, **known.memories},
            )
            self._compare()

    def candidates(self) -> list[Candidate]:
        """Return the memories with what speaks for them, in no order."""
        chunks: dict[str, list[str]] = {}
        for chunk_id, memory_id in self._owners.items():
            chunks.setdefault(memory_id, []).append(chunk_id)
        return [self._candidate(memory_id, own) for memory_id, own in chunks.items()]

    def _search(self, also: Sequence[str], *, depth: int) -> LexicalHits:
        return fulltext.search(
            self._catalog.database,
            self.asked.text,
            limit=depth,
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
            self._owners[hit.chunk_id] = hit.memory_id
            ranks.setdefault(hit.chunk_id, hit.rank)

    def _compare(self) -> None:
        """Find the cosines of what only other lists found, and of each memory's opening chunk."""
        if self._store is None or not self._cosines:
            return
        missing = set(self._owners.values()) - self._openings.keys()
        self._openings |= self._catalog.memories.openings(missing)
        if isinstance(self._store, ComparesChunks):
            wanted = (self._owners.keys() | set(self._openings.values())) - self._cosines.keys()
            self._cosines |= self._store.similarities(
                self.asked.text, sorted(wanted), projects=self._projects
            )
            # A chunk that has no vector yet is taken for one like the others.
            self._unknown = fmean(self._cosines.values())
        else:
            # Where a store tells of its best chunks only, any other is below the last of them.
            self._unknown = min(self._cosines.values())

    def _candidate(self, memory_id: str, chunks: Sequence[str]) -> Candidate:
        possible = self._lexical.best_possible or 1.0
        scores, coverage, cosines = self._lexical.scores, self._lexical.coverage, self._cosines

        def promise(chunk_id: str) -> tuple[float, str]:
            words = scores.get(chunk_id, 0.0) / possible + coverage.get(chunk_id, 0.0)
            return words + 2 * cosines.get(chunk_id, self._unknown), chunk_id

        opening = self._openings.get(memory_id, "")
        known = sorted((cosines[key] for key in {*chunks, opening} if key in cosines), reverse=True)
        first = known[0] if known else self._unknown
        whole = self._lexical.memories.get(memory_id, (0.0, 0.0))
        evidence = Evidence(
            text=max(scores.get(key, 0.0) for key in chunks) / possible,
            coverage=max(coverage.get(key, 0.0) for key in chunks),
            whole_text=whole[0] / possible,
            whole_coverage=whole[1],
            cosine=first,
            second=(first + (known[1] if len(known) > 1 else first)) / 2,
            opening=cosines.get(opening, self._unknown if opening else first),
        )
        ranks = {
            name: min(mine)
            for name, listed in self._ranks.items()
            if (mine := [listed[key] for key in chunks if key in listed])
        }
        further = {
            name: max(listed[key] for key in chunks if key in listed)
            for name, listed in self._scores.items()
            if not listed.keys().isdisjoint(chunks)
        }
        best, *others = sorted(chunks, key=promise, reverse=True)
        enough = NEARLY * promise(best)[0]
        also = tuple(key for key in others[:ALSO] if promise(key)[0] >= enough)
        compared = bool(known) or not isinstance(self._store, ComparesChunks)
        return Candidate(memory_id, best, evidence, ranks, further, also, compared)

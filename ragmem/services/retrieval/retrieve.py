"""Retrieve the candidates of a question from a list of sources, and compare all of them with it."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from operator import attrgetter

from ragmem.domain.model import Hit, ranked_hits
from ragmem.domain.retrieval.hops import needs_hops
from ragmem.domain.retrieval.scoring import Candidate, CandidateSet, Evidence, Policy, ScoredMemory, score
from ragmem.frozen import dataclass
from ragmem.services.retrieval.calibration import BUNDLED
from ragmem.services.retrieval.graph_list import graph_list, hop_list
from ragmem.services.retrieval.neighbours import neighbours
from ragmem.services.retrieval.sources import Search, Source, dates, edits, files, records, rules
from ragmem.storage.fulltext import fulltext
from ragmem.storage.fulltext.terms import LexicalHits

CHUNKS_FOR_EACH = 2
"""Number of chunks requested for each candidate, because long memories have several among the best."""

SEEDS = 50
"""Number of best candidates by words and vectors whose entities are looked up in the graph."""

GRAPH_LIMIT = 6
"""Maximum number of chunks from the graph; those behind them share a name by chance."""

NONE = -2.0
"""Below every cosine."""

NOTHING = (0.0, 0.0)
"""Score and coverage of a memory without any word of the question."""

FURTHER_CHUNKS = 2
"""Maximum number of further chunks of a memory beside its best one."""

NEARLY = 0.75
"""Share of the best chunk's promise from which another chunk of the memory is shown."""


def vectors(search: Search) -> Sequence[Hit]:
    """Return the chunks nearest to a question, of `depth` memories; raises BackendError."""
    if search.store is None:
        return []
    hits = search.store.search(
        search.query.text, limit=CHUNKS_FOR_EACH * search.depth, projects=search.question.projects
    )
    seen: set[str] = set()
    for place, (_, memory, _, _) in enumerate(hits):
        seen.add(memory)
        if len(seen) > search.depth:
            return hits[:place]
    return hits


def graph(search: Search) -> Sequence[Hit]:
    """Return the chunks that share a name with the best candidates and add to them."""
    return _follow_names(search, graph_list)


def hops(search: Search) -> Sequence[Hit]:
    """Return the chunks that answer the rest of a question of two hops, by a name in the best candidates."""
    return _follow_names(search, hop_list)


def _follow_names(search: Search, find: Callable[..., list[Hit]]) -> Sequence[Hit]:
    if search.store is None:
        return []
    return find(
        search.catalog,
        search.store,
        search.query.text,
        words=search.words,
        limit=GRAPH_LIMIT,
        seeds=search.seeds,
    )


VECTORS = Source("vectors", vectors, speaks=False)
RECORDS = Source("records", records, speaks=False)
EDITS = Source("edits", edits)
FILES = Source("files", files)
DATES = Source("dates", dates)
RULES = Source("rules", rules)
NEIGHBOURS = Source("neighbours", neighbours, follows=True)
GRAPH = Source("graph", graph, follows=True)
HOPS = Source("hops", hops, follows=True)


def sources(search: Search, policy: Policy, more: Iterable[Source] = ()) -> list[Source]:
    """Return the sources of a question with `more`, besides words and vectors."""
    members = (
        *((True, source) for source in more),
        (bool(search.question.types), RECORDS),
        (bool(search.query.paths or search.query.commits), EDITS),
        (bool(search.query.paths), FILES),
        (bool(search.query.times), DATES),
        (bool(policy.rule_weight), RULES),
        (search.store is not None and bool(policy.neighbour_weight), NEIGHBOURS),
        (search.store is not None and bool(policy.graph_weight), HOPS if _asks_twice(search) else GRAPH),
    )
    return [source for is_member, source in members if is_member]


def _asks_twice(search: Search) -> bool:
    """Return whether a question has the form of two hops, and a model that makes further vectors at once."""
    return (
        search.store is not None
        and needs_hops(search.query.text)
        # Another model takes longer, or is paid for each text.
        and search.store.answering_model().startswith(BUNDLED)
    )


def retrieve(
    search: Search, members: Iterable[Source], *, nearest: Sequence[Hit] = (), policy: Policy
) -> CandidateSet:
    """Return the candidates of words, of vectors and of these sources; raises BackendError if a source does.

    `nearest` are the hits of `vectors`.
    """
    members = list(members)
    # Comparing takes longer than most sources: it is done once for these, and once for those that follow.
    first = {source: source.find(search) for source in members if not source.follows}
    found = _extend(_Findings(search), {VECTORS: nearest, **first})
    hops_ms = 0.0
    if following := [source for source in members if source.follows]:
        found = _build_candidates(found)
        scored = score(found.candidates(), policy)
        found = replace(found, scored={item.memory_id: item for item in scored})
        search = replace(search, seeds=_seeds(found, scored), words=found.lexical)
        lists = {}
        for source in following:
            began = time.perf_counter()
            lists[source] = source.find(search)
            if source is HOPS:
                hops_ms = 1000 * (time.perf_counter() - began)
        if any(lists.values()):
            found = replace(_extend(found, lists), leading=search.seeds[0].score)
    return replace(_build_candidates(found).candidates(), hops_ms=hops_ms)


def _seeds(found: "_Findings", scored: Sequence[ScoredMemory]) -> tuple[Hit, ...]:
    if not found.has(VECTORS.name):
        return ()
    ordered = sorted(scored, key=attrgetter("memory_id"))
    best = sorted(ordered, key=attrgetter("relevance"), reverse=True)[:SEEDS]
    return tuple(
        ranked_hits(
            [item.chunk_id for item in best],
            [item.memory_id for item in best],
            [item.relevance for item in best],
        )
    )


@dataclass(frozen=True, slots=True)
class _Findings:
    """The hits of the sources, with their scores by full text and vectors.

    `hits` is list -> chunk -> best hit, `chunks` is memory -> found chunks, `owners` is the reverse.
    `unknown` is the cosine of a chunk without a vector; `changed` memories need new candidates.
    """

    search: Search
    hits: Mapping[str, Mapping[str, Hit]] = field(default_factory=dict)
    speaking: tuple[str, ...] = ()
    chunks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    lexical: LexicalHits = field(default_factory=LexicalHits)
    openings: Mapping[str, str] = field(default_factory=dict)
    cosines: Mapping[str, float] = field(default_factory=dict)
    unknown: float = 0.0
    built: Mapping[str, Candidate] = field(default_factory=dict)
    changed: Mapping[str, None] = field(default_factory=dict)
    leading: float = 0.0
    scored: Mapping[str, ScoredMemory] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether a list has any hit."""
        return bool(self.hits.get(name))

    def candidates(self) -> CandidateSet:
        """Return the candidates of all lists."""
        return CandidateSet(
            self.search.query,
            tuple(self.built.values()),
            self.hits,
            by_words=self.has("text"),
            by_vectors=self.has("vectors"),
            leading=self.leading,
            known=_share_known(self.lexical),
            frequencies=self.lexical.frequencies,
            having=self.lexical.having,
            scored=self.scored,
        )


def _extend(known: _Findings, given: Mapping[Source, Sequence[Hit]]) -> _Findings:
    """Return the findings with the hits of sources; the first one adds those of full text."""
    search = known.search
    lists = {source.name: _filter_hits(search, hits) for source, hits in given.items() if hits}
    lexical = known.lexical
    new = {hit.chunk_id for one in lists.values() for hit in one} - known.owners.keys()
    if not known.hits:
        lexical = _by_words(search, new)
        lists = {"text": lexical.hits, VECTORS.name: (), **lists}
    elif lexical.rate is not None and (unrated := new - lexical.scores.keys()):
        more = lexical.rate(unrated)
        lexical = replace(
            lexical,
            scores={**more.scores, **lexical.scores},
            coverage={**more.coverage, **lexical.coverage},
            having={**more.having, **lexical.having},
            memories={**more.memories, **lexical.memories},
            openings={**more.openings, **lexical.openings},
        )
    hits, chunks, owners = dict(known.hits), dict(known.chunks), dict(known.owners)
    changed = dict(known.changed)
    for name, listed in lists.items():
        best: dict[str, Hit] = {}
        for hit in listed:
            chunk, memory, _, _ = hit
            changed[memory] = None
            # The first hit of a chunk in a list is its best one.
            best.setdefault(chunk, hit)
            if chunk not in owners:
                owners[chunk] = memory
                chunks[memory] = (*chunks.get(memory, ()), chunk)
        hits[name] = best
    found = replace(
        known,
        hits=hits,
        speaking=(*known.speaking, *(one.name for one in given if one.speaks and one.name in lists)),
        chunks=chunks,
        owners=owners,
        lexical=lexical,
        changed=changed,
    )
    if new or not known.hits:
        found = _compare(found, {hit.chunk_id: hit.score for hit in lists.get(VECTORS.name, ())})
    return found


def _share_known(lexical: LexicalHits) -> float:
    shares = lexical.frequencies.values()
    return sum(map(bool, shares)) / len(shares) if shares else 0.0


def _build_candidates(found: _Findings) -> _Findings:
    """Return the findings with the candidates of all memories that changed."""
    built = {memory: _candidate(found, memory) for memory in found.changed}
    return replace(found, built={**found.built, **built}, changed={})


def _by_words(search: Search, also: Iterable[str]) -> LexicalHits:
    return fulltext.search(
        search.catalog.database,
        search.query.text,
        limit=CHUNKS_FOR_EACH * search.depth,
        memories=search.depth,
        projects=search.question.projects,
        also=also,
        phrases=search.query.required_phrases,
        excluded=search.query.excluded,
    )


def _filter_hits(search: Search, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits with the question's required phrases and without the excluded ones."""
    required, excluded = search.query.required_phrases, search.query.excluded
    if not (required or excluded):
        return hits
    passed = fulltext.filter_chunks(
        search.catalog.database, required, excluded, [hit.chunk_id for hit in hits]
    )
    return [hit for hit in hits if hit.chunk_id in passed]


def _compare(found: _Findings, cosines: Mapping[str, float]) -> _Findings:
    """Return the findings with the cosines of all their chunks, and of the opening chunk of each memory."""
    search = found.search
    cosines = {**found.cosines, **cosines}
    if search.store is None or not cosines:
        return found
    missing = found.chunks.keys() - found.openings.keys()
    openings = {key: chunk for key, chunk in found.lexical.openings.items() if key in missing}
    if missing := missing - openings.keys():
        openings |= search.catalog.memories.openings(missing)
    openings = {**found.openings, **openings}
    if more := (found.owners.keys() | set(openings.values())) - cosines.keys():
        cosines |= search.store.similarities(
            search.query.text, sorted(more), projects=search.question.projects
        )
    # A chunk that has no vector yet counts as an average one.
    unknown = sum(cosines.values()) / len(cosines)
    return replace(found, openings=openings, cosines=cosines, unknown=unknown)


def _further_scores(found: _Findings, chunks: Sequence[str]) -> dict[str, float]:
    """Return the best score of some chunks in each list that has them."""
    return {
        name: max(mine)
        for name in found.speaking
        if (mine := [found.hits[name][key].score for key in chunks if key in found.hits[name]])
    }


def _candidate(found: _Findings, memory_id: str) -> Candidate:
    # This runs for each candidate of each question, hence one pass and no small functions.
    chunks, unknown = found.chunks[memory_id], found.unknown
    possible = found.lexical.best_possible or 1.0
    scores, coverage, cosines = found.lexical.scores, found.lexical.coverage, found.cosines
    text = covered = 0.0
    first = second = NONE
    promises: list[tuple[float, str]] = []
    for key in chunks:
        bm25, share, cosine = scores.get(key, 0.0) / possible, coverage.get(key, 0.0), cosines.get(key, NONE)
        text, covered = max(text, bm25), max(covered, share)
        if cosine > first:
            first, second = cosine, first
        elif cosine > second:
            second = cosine
        promises.append((bm25 + share + 2 * (unknown if cosine == NONE else cosine), key))
    opening = found.openings.get(memory_id, "")
    opened = cosines.get(opening, NONE)
    if opened != NONE and opening not in chunks:
        if opened > first:
            first, second = opened, first
        elif opened > second:
            second = opened
    compared = first != NONE or found.search.store is None
    if first == NONE:
        first = unknown
    if opened == NONE:
        opened = unknown if opening else first
    whole, whole_covered = found.lexical.memories.get(memory_id, NOTHING)
    mean = (first + (first if second == NONE else second)) / 2
    evidence = Evidence(text, covered, whole / possible, whole_covered, first, mean, opened)
    promises.sort(reverse=True)
    promise, best = promises[0]
    also: tuple[str, ...] = ()
    if len(promises) > 1:
        also = tuple([key for value, key in promises[1 : FURTHER_CHUNKS + 1] if value >= NEARLY * promise])
    further = _further_scores(found, chunks) if found.speaking else {}
    return Candidate(memory_id, best, chunks, evidence, further, also, compared)

"""Answer a question: full text and vectors fused, decayed, collapsed, cut at a floor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.fulltext import search as search_text
from ragmem.catalog.rows import Outline, chunk_from
from ragmem.catalog.terms import LexicalHits
from ragmem.domain.decay import DecayPolicy, earned_score, final_score, recency
from ragmem.domain.keywords import keywords
from ragmem.domain.model import Hit, Kind, Match, State
from ragmem.domain.ranking import collapse, reciprocal_rank_fusion
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Mode, Store
from ragmem.services.respite import Respite

MAX_QUERY = 20_000
"""Characters of a question; a longer text is a document and not a question."""

_DAY = 86_400.0
_COLLAPSE_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which memories. Empty filters let everything through; projects None means all."""

    text: str
    projects: tuple[str, ...] | None = None
    kinds: tuple[Kind, ...] = ()
    sources: tuple[str, ...] = ()
    spec: str = ""
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    limit: int = 8
    mode: Mode | None = None
    keywords: tuple[str, ...] = ()
    """What a mode looks up in the graph; empty: found in the text by rule."""

    @property
    def filtered(self) -> bool:
        """Tell whether some memories of these projects are left out."""
        return bool(self.kinds or self.sources or self.spec or self.tags or self.since)


@dataclass(frozen=True, slots=True)
class Policy:
    """How candidates are found and ranked; the defaults are those of config.toml."""

    decay: DecayPolicy
    candidates: int = 100
    rrf_k: int = 60
    lexical_weight: float = 1.0
    vector_weight: float = 1.0
    full_similarity: float = 0.7
    min_similarity: float = 0.2
    min_coverage: float = 0.25
    earned_recency: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The matches, best first; `rung` tells how they were found; `notes` what a person should know."""

    question: Question
    matches: tuple[Match, ...]
    rung: str
    notes: tuple[str, ...] = ()
    graph: Mapping[str, Any] = field(default_factory=dict)


def ask(
    catalog: Catalog,
    open_store: Callable[[], Store],
    question: Question,
    *,
    policy: Policy,
    now: datetime,
    respite: Respite | None = None,
) -> Answer:
    """Return the memories that answer a question.

    Vectors that cannot be had (no model, another model's vectors) leave full text, and a note says so; so
    does an engine's mode that cannot be had. A model that let one question wait is left alone for a while,
    as `respite` knows. Raises UsageError on an empty or oversized question.
    """
    text = question.text.strip()
    if not text:
        raise UsageError("the question is empty", hint="ragmem query 'how do we deploy'")
    if len(text) > MAX_QUERY:
        raise UsageError(
            f"the question has {len(text):,} characters, at most {MAX_QUERY:,} are read",
            hint="ask with the part that matters, or store the text with `ragmem ingest -`",
        )
    respite = respite or Respite()
    notes: list[str] = []
    if question.mode is not None:
        try:
            with _asking(respite):
                return _ask_engine(catalog, open_store(), question, policy=policy, now=now)
        except BackendError as error:
            notes.append(f"the mode {question.mode} cannot be had, searched by full text only: {error.told}")
    depth = policy.candidates * (10 if question.filtered else 1)
    lexical = search_text(catalog.database, text, limit=depth, projects=question.projects)
    vectors: list[Hit] = []
    rung = "text"
    if not notes:
        try:
            with _asking(respite):
                vectors = open_store().search(text, limit=depth, projects=question.projects)
            rung = "text and vectors"
        except BackendError as error:
            notes.append(f"searched by full text only: {error.told}")
    matches = _rank(catalog, question, lexical, vectors, policy=policy, now=now)
    return Answer(question, matches, rung, tuple(notes))


@contextmanager
def _asking(respite: Respite) -> Iterator[None]:
    """Ask a model within the block, unless it failed a moment ago; raises BackendError."""
    if (failed := respite.error()) is not None:
        raise BackendError(str(failed), hint=failed.hint)
    since = respite.now()
    try:
        yield
    except BackendError as error:
        respite.failed(error, since=since)
        raise


def _rank(
    catalog: Catalog,
    question: Question,
    lexical: LexicalHits,
    vectors: Sequence[Hit],
    *,
    policy: Policy,
    now: datetime,
) -> tuple[Match, ...]:
    lists = {"text": lexical.hits, "vectors": vectors}
    # A list that could not be had (no embedder, no telling word) must not halve every score.
    weights = {
        name: weight
        for name, weight in (("text", policy.lexical_weight), ("vectors", policy.vector_weight))
        if lists[name]
    }
    total = sum(weights.values())
    if not total:
        return ()
    bm25 = {hit.chunk_id: hit for hit in lexical.hits}
    cosine = {hit.chunk_id: hit for hit in vectors}
    candidates: list[tuple[str, dict[str, float]]] = []
    for item in reciprocal_rank_fusion(lists, weights=weights, k=policy.rrf_k):
        terms: dict[str, float] = {}
        evidence = 0.0
        if hit := bm25.get(item.chunk_id):
            coverage = lexical.coverage.get(item.chunk_id, 0.0)
            terms |= {"text_rank": hit.rank, "bm25": hit.score, "coverage": coverage}
            evidence += weights.get("text", 0.0) * coverage
        if hit := cosine.get(item.chunk_id):
            terms |= {"vector_rank": hit.rank, "cosine": hit.score}
            similarity = min(1.0, max(0.0, hit.score / policy.full_similarity))
            evidence += weights.get("vectors", 0.0) * similarity
        # Rank 1 of a hopeless list is still hopeless, so ranks alone cannot say how good a match is.
        if (
            terms.get("cosine", 0.0) < policy.min_similarity
            and terms.get("coverage", 0.0) < policy.min_coverage
        ):
            continue
        terms["fused"] = item.score * (policy.rrf_k + 1) / total
        terms["evidence"] = evidence / total
        terms["semantic"] = terms["fused"] * terms["evidence"]
        candidates.append((item.chunk_id, terms))
    return _finish(catalog, question, candidates, policy=policy, now=now)


def _finish(
    catalog: Catalog,
    question: Question,
    candidates: Sequence[tuple[str, dict[str, float]]],
    *,
    policy: Policy,
    now: datetime,
) -> tuple[Match, ...]:
    """Join with the catalog, keep each memory's best chunk, decay, drop what is below the floor, collapse."""
    rows = catalog.memories.chunks_by_id(chunk for chunk, _ in candidates)
    outlines = catalog.memories.outlines({memory for memory, _ in rows.values()})
    combine = earned_score if policy.earned_recency else final_score
    best: dict[str, tuple[float, str, dict[str, float]]] = {}
    for chunk_id, terms in candidates:
        if chunk_id not in rows:
            continue
        outline = outlines.get(rows[chunk_id][0])
        if outline is None or not _wanted(outline, question):
            continue
        age = max(0.0, (now - outline.event_time).total_seconds() / _DAY)
        fresh = recency(age, policy.decay.half_lives_days[outline.kind])
        score = combine(terms["semantic"], fresh, policy.decay)
        terms |= {"age_days": age, "recency": fresh, "score": score}
        if score >= policy.decay.min_score and (outline.id not in best or score > best[outline.id][0]):
            best[outline.id] = (score, chunk_id, terms)
    # Texts are read, and compared with each other, only of those that could reach the answer.
    leading = sorted(best, key=lambda key: (-best[key][0], key))[: question.limit * _COLLAPSE_DEPTH]
    memories = catalog.memories.get(leading)
    matches = []
    for key in leading:
        score, chunk_id, terms = best[key]
        if key in memories:
            matches.append(Match(memories[key], chunk_from(memories[key], rows[chunk_id][1]), score, terms))
    return tuple(
        replace(group.match, duplicates=tuple(other.memory.id for other in group.duplicates))
        for group in collapse(matches)[: question.limit]
    )


def _wanted(outline: Outline, question: Question) -> bool:
    return (
        outline.state is not State.TRASHED
        and (question.projects is None or outline.project in question.projects)
        and (not question.kinds or outline.kind in question.kinds)
        and (not question.sources or outline.source in question.sources)
        and (not question.spec or outline.spec == question.spec)
        and (not question.tags or bool(set(question.tags) & set(outline.tags)))
        and (question.since is None or outline.event_time >= question.since)
    )


def _ask_engine(
    catalog: Catalog, store: Store, question: Question, *, policy: Policy, now: datetime
) -> Answer:
    """Ask LightRAG itself in one of its modes; its order is kept, decay applied on top."""
    assert question.mode is not None
    projects = question.projects
    if projects is None:
        projects = tuple(catalog.overview.counts()["project"])
    candidates: list[tuple[str, dict[str, float]]] = []
    graph: dict[str, list[Any]] = {"entities": [], "relationships": []}
    for project in projects:
        data = store.native_query(
            question.text,
            question.mode,
            keywords=question.keywords or keywords(question.text),
            limit=policy.candidates if question.filtered else max(question.limit * 3, 20),
            project=project,
        ).get("data", {})
        graph["entities"] += data.get("entities", [])
        graph["relationships"] += data.get("relationships", [])
        for rank, chunk in enumerate(data.get("chunks", []), start=1):
            # The engine tells no score, so the rank stands for it, on the scale of one fused list.
            semantic = (policy.rrf_k + 1) / (policy.rrf_k + rank)
            candidates.append((chunk["chunk_id"], {"engine_rank": float(rank), "semantic": semantic}))
    candidates.sort(key=lambda item: (item[1]["engine_rank"], item[0]))
    matches = _finish(catalog, question, candidates, policy=policy, now=now)
    return Answer(question, matches, f"LightRAG {question.mode}", (), graph)

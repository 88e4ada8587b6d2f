"""Answer a question: candidates of several lists weighed, decayed, collapsed, cut at a floor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.rows import Outline, chunk_from
from ragmem.domain import question as reading
from ragmem.domain.decay import (
    DecayPolicy,
    age_days,
    bounded_score,
    final_score,
    published_recency,
    recency,
)
from ragmem.domain.keywords import keywords
from ragmem.domain.model import Kind, Match, State
from ragmem.domain.ranking import RRF_K, collapse
from ragmem.domain.scoring import Evidence, code_share, lexical, relevance, semantic
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Mode, Store
from ragmem.services.candidates import Gathering
from ragmem.services.respite import Respite

MAX_QUERY = 20_000
"""Characters of a question; a longer text is a document and not a question."""

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
    lexical_weight: float = 0.7
    vector_weight: float = 1.0
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
    asked = reading.parse(text, now=now)
    gathering: Gathering | None = None
    rung = "text"
    if not notes:
        try:
            with _asking(respite):
                gathering = Gathering(catalog, open_store(), asked, projects=question.projects, depth=depth)
            rung = "text and vectors"
        except BackendError as error:
            notes.append(f"searched by full text only: {error.told}")
    if gathering is None:
        gathering = Gathering(catalog, None, asked, projects=question.projects, depth=depth)
    weighed = _weigh(gathering, policy)
    matches = _finish(catalog, question, weighed, policy=policy, now=now)
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


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A memory that may answer: its best chunk, how well it answers (0..1), and the terms of that.

    `as_code` returns the relevance for a chunk that is so much of a program.
    """

    memory_id: str
    chunk_id: str
    relevance: float
    terms: Mapping[str, float]
    as_code: Callable[[float], float] | None = None


def _weigh(gathering: Gathering, policy: Policy) -> list[_Weighed]:
    """Return the candidates of which anything speaks for them."""
    # A way that was gone by nothing (no embedder, no telling word) must not halve every score.
    words = policy.lexical_weight if gathering.by_words else 0.0
    vectors = policy.vector_weight if gathering.by_vectors else 0.0
    if not words + vectors:
        return []
    found = []
    for candidate in gathering.candidates():
        evidence = candidate.evidence
        # The best of a hopeless list is still hopeless.
        if evidence.cosine < policy.min_similarity and evidence.coverage < policy.min_coverage:
            continue
        terms: dict[str, float] = {f"{name}_rank": float(rank) for name, rank in candidate.ranks.items()}
        terms |= {
            "bm25": evidence.text,
            "coverage": evidence.coverage,
            "whole_bm25": evidence.whole_text,
            "whole_coverage": evidence.whole_coverage,
            "lexical": lexical(evidence),
        }
        if vectors:
            terms |= {
                "cosine": evidence.cosine,
                "second_cosine": evidence.second,
                "opening_cosine": evidence.opening,
                "semantic": semantic(evidence),
            }
        terms |= candidate.further

        def as_code(code: float, evidence: Evidence = evidence) -> float:
            return relevance(replace(evidence, code=code), lexical_weight=words, vector_weight=vectors)

        found.append(_Weighed(candidate.memory_id, candidate.chunk_id, as_code(0.0), terms, as_code))
    return found


def _finish(
    catalog: Catalog,
    question: Question,
    weighed: Sequence[_Weighed],
    *,
    policy: Policy,
    now: datetime,
) -> tuple[Match, ...]:
    """Join with the catalog, decay, drop what is below the floor, collapse."""
    outlines = {
        key: outline
        for key, outline in catalog.memories.outlines({item.memory_id for item in weighed}).items()
        if _wanted(outline, question)
    }

    def scored(relevance: float, outline: Outline) -> tuple[float, dict[str, float]]:
        age = age_days(outline.event_time, now)
        half_life = policy.decay.half_life(outline.kind)
        if policy.earned_recency:
            fresh = recency(age, half_life, policy.decay)
            score = bounded_score(relevance, fresh, policy.decay)
        else:
            fresh = published_recency(age, half_life)
            score = final_score(relevance, fresh, policy.decay)
        return score, {"relevance": relevance, "age_days": age, "recency": fresh, "score": score}

    ranked = sorted(
        (item for item in weighed if item.memory_id in outlines),
        key=lambda item: (-scored(item.relevance, outlines[item.memory_id])[0], item.memory_id),
    )
    # Texts are read, and compared with each other, only of those that could reach the answer.
    leading = ranked[: question.limit * _COLLAPSE_DEPTH]
    memories = catalog.memories.get(item.memory_id for item in leading)
    rows = catalog.memories.chunks_by_id(item.chunk_id for item in leading)
    matches = []
    for item in leading:
        if item.memory_id not in memories or item.chunk_id not in rows:
            continue
        memory = memories[item.memory_id]
        chunk = chunk_from(memory, rows[item.chunk_id][1])
        share = code_share(chunk.text)
        final = item.as_code(share) if item.as_code else item.relevance
        score, terms = scored(final, outlines[item.memory_id])
        if score >= policy.decay.min_score:
            matches.append(Match(memory, chunk, score, {**item.terms, "code": share, **terms}))
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
    ranks: dict[str, int] = {}
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
            ranks[chunk["chunk_id"]] = min(rank, ranks.get(chunk["chunk_id"], rank))
    owners = catalog.memories.chunks_by_id(ranks)
    weighed: dict[str, _Weighed] = {}
    for chunk_id, rank in sorted(ranks.items(), key=lambda item: (item[1], item[0])):
        if chunk_id in owners and (key := owners[chunk_id][0]) not in weighed:
            # The engine tells no score, so the rank stands for it, as in a fusion of ranks.
            score = (RRF_K + 1) / (RRF_K + rank)
            weighed[key] = _Weighed(key, chunk_id, score, {"engine_rank": float(rank), "relevance": score})
    matches = _finish(catalog, question, list(weighed.values()), policy=policy, now=now)
    return Answer(question, matches, f"LightRAG {question.mode}", (), graph)

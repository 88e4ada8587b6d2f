"""Turn the candidates of a question into matches: weighed, aged, collapsed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.rows import Outline, chunk_from
from ragmem.domain.decay import age_days, bounded_score, final_score, published_recency, recency
from ragmem.domain.model import Match, State
from ragmem.domain.question import Asked
from ragmem.domain.ranking import collapse
from ragmem.domain.scoring import code_share, lexical, relevance, semantic
from ragmem.domain.spans import short, time_match
from ragmem.domain.supersession import behind_successors
from ragmem.services.asking import Policy, Question
from ragmem.services.candidates import Candidate, Gathering

COLLAPSE_DEPTH = 3
"""How many times as many memories as are wanted are read, since some of them say the same."""

EDITED, ABOUT_EDITS = 0.1, 0.6
"""What an edit of a file that the question names adds; more where it asks for edits."""

ONLY_TIMES = (0.3, 0.5)
"""What happened in the named time has this relevance, and this much more by how new it is, where the question
names nothing else: how near its words are means nothing then."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A memory that may answer: its best chunk, how well it answers (0..1), and the terms of that.

    `as_code` returns the relevance for a chunk that is so much of a program.
    """

    memory_id: str
    chunk_id: str
    relevance: float
    terms: Mapping[str, float]
    as_code: Callable[[float], float] | None = None
    also: tuple[str, ...] = ()


def weigh(gathering: Gathering, asked: Asked, policy: Policy) -> list[Weighed]:
    """Return the candidates that anything speaks for, in no order."""
    # A way that was gone by nothing (no embedder, no telling word) must not halve every score.
    words = policy.lexical_weight if gathering.by_words else 0.0
    vectors = policy.vector_weight if gathering.by_vectors else 0.0
    found = []
    for candidate in gathering.candidates():
        evidence = candidate.evidence
        # The best of a hopeless list is still hopeless.
        if (
            not candidate.further
            and evidence.cosine < policy.min_similarity
            and evidence.coverage < policy.min_coverage
        ):
            continue

        def as_code(code: float, candidate: Candidate = candidate) -> float:
            base = 0.0
            if words + vectors:
                base = relevance(
                    replace(candidate.evidence, code=code), lexical_weight=words, vector_weight=vectors
                )
            return _with_further(base, candidate.further, asked, policy)

        terms = _terms(candidate, with_vectors=vectors > 0 and candidate.compared)
        found.append(
            Weighed(
                candidate.memory_id, candidate.chunk_id, as_code(0.0), terms, as_code, also=candidate.also
            )
        )
    return found


def _with_further(base: float, further: Mapping[str, float], asked: Asked, policy: Policy) -> float:
    """Return the relevance with what the lists beside words and vectors say."""
    if asked.only_times and "dates" in further:
        return ONLY_TIMES[0] + ONLY_TIMES[1] * further["dates"]
    score = base
    if "expanded" in further:
        score = max(
            score, (1 - policy.expansion_weight) * base + policy.expansion_weight * further["expanded"]
        )
    score += policy.graph_weight * further.get("graph", 0.0)
    if further.get("edits"):
        score += ABOUT_EDITS if asked.about_edits else EDITED
    return score


def _terms(candidate: Candidate, *, with_vectors: bool) -> dict[str, float]:
    evidence = candidate.evidence
    terms = {f"{name}_rank": float(rank) for name, rank in candidate.ranks.items()}
    terms |= {
        "bm25": evidence.text,
        "coverage": evidence.coverage,
        "whole_bm25": evidence.whole_text,
        "whole_coverage": evidence.whole_coverage,
        "lexical": lexical(evidence),
    }
    if with_vectors:
        terms |= {
            "cosine": evidence.cosine,
            "second_cosine": evidence.second,
            "opening_cosine": evidence.opening,
            "semantic": semantic(evidence),
        }
    return terms | dict(candidate.further)


def finish(
    catalog: Catalog,
    question: Question,
    weighed: Sequence[Weighed],
    *,
    asked: Asked,
    policy: Policy,
    now: datetime,
) -> tuple[Match, ...]:
    """Return the matches, best first: joined with the catalog, aged, above the floor, collapsed."""
    outlines = {
        key: outline
        for key, outline in catalog.memories.outlines({item.memory_id for item in weighed}).items()
        if wanted(outline, question)
    }

    def scored(relevance: float, outline: Outline) -> tuple[float, dict[str, float]]:
        terms = {}
        if asked.times:
            terms["time"] = time_match(outline.event_time, short(asked.times))
            relevance += policy.time_weight * terms["time"]
        relevance = min(1.0, relevance)
        age = age_days(outline.event_time, now)
        half_life = policy.decay.half_life(outline.kind)
        if policy.earned_recency:
            # A question that names its time has said how old the answer is.
            fresh = 1.0 if asked.times else recency(age, half_life, policy.decay)
            score = bounded_score(relevance, fresh, policy.decay)
        else:
            fresh = published_recency(age, half_life)
            score = final_score(relevance, fresh, policy.decay)
        return score, {**terms, "relevance": relevance, "age_days": age, "recency": fresh, "score": score}

    ranked = sorted(
        (item for item in weighed if item.memory_id in outlines),
        key=lambda item: (-scored(item.relevance, outlines[item.memory_id])[0], item.memory_id),
    )
    # Texts are read, and compared with each other, only of those that could reach the answer.
    leading = ranked[: question.limit * COLLAPSE_DEPTH]
    memories = catalog.memories.get(item.memory_id for item in leading)
    rows = catalog.memories.chunks_by_id(key for item in leading for key in (item.chunk_id, *item.also))
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
            also = tuple(chunk_from(memory, rows[key][1]) for key in item.also if key in rows)
            matches.append(Match(memory, chunk, score, {**item.terms, "code": share, **terms}, also=also))
    groups = collapse(matches)
    if not asked.wants_history:
        groups = behind_successors(groups)
    return tuple(
        replace(group.match, duplicates=tuple(other.memory.id for other in group.duplicates))
        for group in groups[: question.limit]
    )


def wanted(outline: Outline, question: Question) -> bool:
    """Tell whether a memory is among those that are asked for."""
    return (
        outline.state is not State.TRASHED
        and (question.projects is None or outline.project in question.projects)
        and (not question.kinds or outline.kind in question.kinds)
        and (not question.sources or outline.source in question.sources)
        and (not question.spec or outline.spec == question.spec)
        and (not question.tags or bool(set(question.tags) & set(outline.tags)))
        and (question.since is None or outline.event_time >= question.since)
    )

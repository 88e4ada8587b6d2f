"""Turn the candidates of a question into matches: weighed, aged, collapsed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ragmem.domain.model import Match, Supersession
from ragmem.domain.model.decay import (
    age_days,
    age_factor,
    bounded_score,
    final_score,
    published_recency,
    recency,
    relevant_enough,
)
from ragmem.domain.model.supersession import behind_successors
from ragmem.domain.records.episodes import by_importance
from ragmem.domain.records.records import RECORDS, type_of
from ragmem.domain.retrieval.question import Asked
from ragmem.domain.retrieval.ranking import collapse
from ragmem.domain.retrieval.scoring import code_share, lexical, relevance, semantic
from ragmem.domain.text.spans import SAME_DAY, short, time_match
from ragmem.services.retrieval.asking import Policy, Question
from ragmem.services.retrieval.candidates import Candidate, Gathering
from ragmem.services.retrieval.superseding import with_former
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.rows import Outline, chunk_from

COLLAPSE_DEPTH = 3
"""How many times as many memories as are wanted are read, since some of them say the same."""

EDITED, ABOUT_EDITS = 0.1, 0.6
"""What an edit of a file that the question names adds; more where it asks for edits."""

BEHIND = 0.8
"""Share of the best memory's relevance that another comes to over a name at most: what decay leaves of the
oldest, so that the second hop of a question stands behind its first one. docs/benchmarks.md tells what more
costs, and less."""

ONLY_TIMES = (0.3, 0.5)
"""What happened in the named time has this relevance, and this much more by how new it is, where the question
names nothing else: how near its words are means nothing then."""


@dataclass(slots=True)
class Weighed:
    """A memory that may answer: its best chunk, how well it answers (0..1), and the candidate it was.

    `inherited` is the relevance of a superseded memory whose place it takes.
    """

    memory_id: str
    chunk_id: str
    relevance: float
    candidate: Candidate | None = None
    inherited: float = 0.0


def weigh(gathering: Gathering, policy: Policy) -> list[Weighed]:
    """Return the candidates that anything speaks for, in no order."""
    found = []
    for candidate in gathering.candidates():
        evidence = candidate.evidence
        # The best of a hopeless list is still hopeless.
        if (
            candidate.further
            or evidence.cosine >= policy.min_similarity
            or evidence.coverage >= policy.min_coverage
        ):
            relevant = _relevance(candidate, gathering, policy)
            found.append(Weighed(candidate.memory_id, candidate.chunk_id, relevant, candidate))
    return found


def by_itself(candidate: Candidate, gathering: Gathering, policy: Policy, *, code: float = 0.0) -> float:
    """Return how well a memory answers by words and vectors, whose best chunk is so much of a program."""
    if not code and candidate.by_itself is not None:
        return candidate.by_itself
    # A way that was gone by nothing (no embedder, no telling word) must not halve every score.
    words = policy.lexical_weight if gathering.by_words else 0.0
    vectors = policy.vector_weight if gathering.by_vectors else 0.0
    if not words + vectors:
        return 0.0
    found = relevance(candidate.evidence, lexical_weight=words, vector_weight=vectors, code=code)
    if not code:
        candidate.by_itself = found
    return found


def _relevance(candidate: Candidate, gathering: Gathering, policy: Policy, *, code: float = 0.0) -> float:
    """Return how well a memory answers, by the further lists as well."""
    base = by_itself(candidate, gathering, policy, code=code)
    if not candidate.further:
        return base
    return _with_further(base, candidate.further, gathering.asked, policy, leading=gathering.leading)


def _with_further(
    base: float, further: Mapping[str, float], asked: Asked, policy: Policy, *, leading: float
) -> float:
    """Return the relevance with what the lists beside words and vectors say."""
    if asked.only_times and "dates" in further:
        return ONLY_TIMES[0] + ONLY_TIMES[1] * further["dates"]
    score = base
    if "expanded" in further:
        score = max(
            score, (1 - policy.expansion_weight) * base + policy.expansion_weight * further["expanded"]
        )
    if "graph" in further:
        reached = score + policy.graph_weight * further["graph"]
        score = max(score, min(reached, BEHIND * leading))
    if further.get("edits"):
        score += ABOUT_EDITS if asked.about_edits else EDITED
    return score


def _terms(item: Weighed, gathering: Gathering) -> dict[str, float]:
    """Return what a person is told of a match: its ranks, and what speaks for it."""
    candidate = item.candidate
    if candidate is None:
        return {}
    evidence = candidate.evidence
    terms = {f"{name}_rank": float(rank) for name, rank in gathering.ranks(item.memory_id).items()}
    terms |= {
        "bm25": evidence.text,
        "coverage": evidence.coverage,
        "whole_bm25": evidence.whole_text,
        "whole_coverage": evidence.whole_coverage,
        "lexical": lexical(evidence),
    }
    if gathering.by_vectors and candidate.compared:
        terms |= {
            "cosine": evidence.cosine,
            "second_cosine": evidence.second,
            "opening_cosine": evidence.opening,
            "semantic": semantic(evidence),
        }
    return terms | dict(candidate.further)


@dataclass(frozen=True, slots=True)
class _Scoring:
    """What relevance and the time of an event come to, for one question."""

    asked: Asked
    policy: Policy
    now: datetime

    def scored(self, relevance: float, outline: Outline) -> dict[str, float]:
        """Return the terms from the relevance to the score; the relevance has what a named time adds."""
        decay, spans = self.policy.decay, short(self.asked.times)
        happened = outline.event_time
        time = max(time_match(happened, spans), SAME_DAY * time_match(happened, self.asked.days))
        relevance = min(1.0, relevance + self.policy.time_weight * time)
        age, half_life = age_days(outline.event_time, self.now), decay.half_life(outline.kind)
        terms = {"time": time} if spans else {}
        terms |= {"relevance": relevance, "age_days": age}
        if not self.policy.earned_recency:
            fresh = published_recency(age, half_life)
            return terms | {"recency": fresh, "score": final_score(relevance, fresh, decay)}
        if self.asked.times:
            # A question that names its time has said how old the answer is.
            return terms | {"recency": 1.0, "score": relevance}
        fresh = recency(age, half_life, decay)
        score = bounded_score(relevance, fresh, decay)
        return terms | {"recency": fresh, "age_factor": age_factor(fresh, decay), "score": score}

    def promised(self, relevance: float) -> float:
        """Return the score if it is as new as can be, and from the named time."""
        relevance = min(1.0, relevance + (self.policy.time_weight if short(self.asked.times) else 0.0))
        if not self.policy.earned_recency:
            return final_score(relevance, 1.0, self.policy.decay)
        return relevance if self.asked.times else bounded_score(relevance, 1.0, self.policy.decay)

    def enough(self, best: float) -> float:
        """Return the relevance that a match must have to come before others for being new."""
        if self.policy.earned_recency and not self.asked.times:
            return relevant_enough(best, self.policy.decay)
        return 0.0

    def passes(self, scored: Mapping[str, float]) -> bool:
        """Tell whether a match is above the floor; by being new alone nothing is."""
        least = scored["score"]
        if self.policy.earned_recency:
            least = min(least, scored["relevance"])
        return least >= self.policy.decay.min_score


def finish(
    catalog: Catalog,
    question: Question,
    weighed: Sequence[Weighed],
    *,
    asked: Asked,
    policy: Policy,
    now: datetime,
    gathering: Gathering,
) -> tuple[Match, ...]:
    """Return the matches, best first: joined with the catalog, aged, above the floor, collapsed.

    `gathering` is what the candidates are from.
    """
    history = question.history or asked.wants_history
    links = catalog.supersessions.in_force([item.memory_id for item in weighed])
    if links and not history:
        weighed = _in_place(catalog, weighed, links, alone=bool(asked.required or asked.excluded))
    scoring = _Scoring(asked, policy, now)
    # Where many say the same, the answer has room for others: then more are read.
    wide = question.limit * COLLAPSE_DEPTH
    while True:
        leading, outlines = _leading(catalog, question, weighed, wide=wide, scoring=scoring)
        found = _matches(catalog, leading, outlines, gathering, scoring=scoring)
        # The newer ones stand where the older ones would, so duplicates are looked for afterwards.
        groups = collapse(behind_successors(found, links, history=history), shown=question.limit)
        if len(groups) >= question.limit or len(leading) < wide or len(found) < len(leading):
            break
        wide *= COLLAPSE_DEPTH
    return with_former(
        catalog,
        [
            replace(
                group.match,
                duplicates=tuple(other.memory.id for other in group.duplicates),
                elsewhere=group.elsewhere,
            )
            for group in groups[: question.limit]
        ],
    )


def _matches(
    catalog: Catalog,
    leading: Sequence[Weighed],
    outlines: Mapping[str, Outline],
    gathering: Gathering,
    *,
    scoring: _Scoring,
) -> list[Match]:
    """Return what is above the floor, with its texts and the terms of its score."""
    memories = catalog.memories.get(item.memory_id for item in leading)
    further = {item.memory_id: item.candidate.also if item.candidate else () for item in leading}
    rows = catalog.memories.chunks_by_id(
        key for item in leading for key in (item.chunk_id, *further[item.memory_id])
    )
    matches = []
    for item in leading:
        if item.memory_id not in memories or item.chunk_id not in rows:
            continue
        memory = memories[item.memory_id]
        chunk = chunk_from(memory, rows[item.chunk_id][1])
        code = code_share(chunk.text)
        found = item.relevance
        if code and item.candidate is not None:
            found = max(_relevance(item.candidate, gathering, scoring.policy, code=code), item.inherited)
        weight = by_importance(memory.metadata) if memory.source == RECORDS else 0.0
        scored = scoring.scored(max(0.0, found + weight), outlines[item.memory_id])
        if not scoring.passes(scored):
            continue
        terms = _terms(item, gathering) | {"code": code} | ({"importance": weight} if weight else {}) | scored
        if item.inherited and item.inherited >= scored["relevance"]:
            terms["superseded"] = scored["score"]
        also = tuple(chunk_from(memory, rows[key][1]) for key in further[item.memory_id] if key in rows)
        matches.append(Match(memory, chunk, scored["score"], terms, also=also))
    return matches


def _in_place(
    catalog: Catalog, weighed: Sequence[Weighed], links: Mapping[str, Supersession], *, alone: bool
) -> list[Weighed]:
    """Return what holds of these memories: each superseded one gives its place to the one that holds.

    That one comes in where it was not found itself, but for `alone`: then only what was found is shown, the
    superseded one as well where nothing found is in its place.
    """
    kept = {item.memory_id: item for item in weighed if item.memory_id not in links}
    if alone:
        kept |= {
            item.memory_id: item
            for item in weighed
            if item.memory_id in links and links[item.memory_id].newer not in kept
        }
    inherited: dict[str, float] = {}
    for item in weighed:
        if item.memory_id in links:
            newer = links[item.memory_id].newer
            inherited[newer] = max(inherited.get(newer, 0.0), item.relevance)
    missing = {} if alone else catalog.memories.openings(inherited.keys() - kept.keys())
    kept |= {newer: Weighed(newer, chunk, 0.0) for newer, chunk in missing.items()}
    for newer, found in inherited.items():
        if newer in kept and found > kept[newer].relevance:
            kept[newer] = replace(kept[newer], relevance=found, inherited=found)
    return list(kept.values())


def _leading(
    catalog: Catalog,
    question: Question,
    weighed: Sequence[Weighed],
    *,
    wide: int,
    scoring: _Scoring,
) -> tuple[list[Weighed], dict[str, Outline]]:
    """Return the `wide` that could reach the answer, best first, and their outlines.

    Texts are read, and compared with each other, only of these; outlines only of those that could be among
    them, because there is a score that a relevance can come to at most.
    """
    outlines: dict[str, Outline] = {}
    leading: list[tuple[float, float, str, Weighed]] = []
    best = 0.0
    for batch in batches(sorted(weighed, key=lambda item: -item.relevance), 2 * wide):
        if len(leading) == wide and -leading[-1][0] > scoring.promised(batch[0].relevance):
            break
        read = catalog.memories.outlines([item.memory_id for item in batch])
        outlines |= {key: outline for key, outline in read.items() if wanted(outline, question)}
        for item in (one for one in batch if one.memory_id in outlines):
            best = max(best, item.relevance)
            if item.relevance >= scoring.enough(best):
                score = scoring.scored(item.relevance, outlines[item.memory_id])["score"]
                leading.append((-score, -item.relevance, item.memory_id, item))
        leading = sorted(leading, key=lambda one: one[:3])[:wide]
    return [item for *_, item in leading], outlines


def wanted(outline: Outline, question: Question) -> bool:
    """Tell whether a memory is among those that are asked for."""
    return (
        (question.projects is None or outline.project in question.projects)
        and (not question.kinds or outline.kind in question.kinds)
        and (not question.sources or outline.source in question.sources)
        and (not question.spec or outline.spec == question.spec)
        and (not question.tags or bool(set(question.tags) & set(outline.tags)))
        and (not question.types or type_of(outline.source, outline.tags) in question.types)
        and (not question.categories or outline.category in question.categories)
        and (question.since is None or outline.event_time >= question.since)
        and (question.until is None or outline.event_time < question.until)
    )

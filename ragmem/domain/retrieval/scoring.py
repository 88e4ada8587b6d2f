"""Score the candidates of a question: their evidence becomes a relevance, and relevance and age a score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ragmem.domain.model import Kind
from ragmem.domain.model.decay import Decay, age_days, exponential_recency
from ragmem.domain.retrieval.question import Query
from ragmem.domain.text.spans import SAME_DAY, short, time_match

CODE_MARKS = 0.08
"""Share of brackets and the like from which on a text is a program and no prose."""

CODE_SHIFT = (0.7, 0.3)
"""In a program a question's words are rarely there to be found: of the words' weight this share goes, and the
vectors' weight grows by this one."""

EDITED, ABOUT_EDITS = 0.1, 0.6
"""What an edit of a file that the question names adds; more where it asks for edits."""

BEHIND = 0.8
"""Share of the best memory's relevance that another one reaches over a shared name at most: what decay leaves
of the oldest, so that the second hop of a question stands behind its first one. docs/benchmarks.md shows what
other shares cost."""

ONLY_TIMES = (0.3, 0.5)
"""Relevance of what happened in the named time, and what is added for the newest of it, where the question
names nothing else: how near its words are means nothing then."""

_MARKS = "(){}[]=;_<>"


@dataclass(frozen=True, slots=True)
class Policy:
    """How candidates are found and ranked; the defaults are those of config.toml."""

    decay: Decay
    candidates: int = 60
    lexical_weight: float = 0.7
    vector_weight: float = 1.0
    min_similarity: float = 0.2
    min_coverage: float = 0.25
    earned_recency: bool = True
    graph_weight: float = 0.3
    time_weight: float = 0.15
    expansion_weight: float = 0.3
    abstain: bool = True


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one memory, each of it in 0..1.

    `text` is the BM25 of its best chunk as a share of what is possible, `coverage` the share of the
    question's idf mass in one chunk; `whole_text` and `whole_coverage` are those of the memory as one text.
    `cosine` is that of its best chunk, `second` the mean with the second best, `opening` that of its first.
    """

    text: float = 0.0
    coverage: float = 0.0
    whole_text: float = 0.0
    whole_coverage: float = 0.0
    cosine: float = 0.0
    second: float = 0.0
    opening: float = 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each piece of evidence weighs.

    Fitted by benchmarks/ranking_weights.py on all retrieval sets at once, every set weighing the same: the
    weights of a softmax over the candidates of a question that give its right ones the highest likelihood.
    """

    text: float = 0.5
    coverage: float = 4.0
    whole_text: float = 2.7
    whole_coverage: float = 0.6
    cosine: float = 3.0
    second: float = 4.5
    opening: float = 1.5

    @property
    def lexical(self) -> float:
        """What all evidence by words weighs."""
        return self.text + self.coverage + self.whole_text + self.whole_coverage

    @property
    def semantic(self) -> float:
        """What all evidence by vectors weighs."""
        return self.cosine + self.second + self.opening


FITTED = Weights()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may answer: its chunks that were found, the best of them, and what speaks for it.

    `further` are its scores in the lists beside words and vectors, by their names; `also` are the chunks that
    promise nearly as much as the best one. `compared` is False where the memory has no vector yet: then it
    counts as an average one.
    """

    memory_id: str
    chunk_id: str
    chunks: Sequence[str]
    evidence: Evidence
    further: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    compared: bool = True


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """The candidates of a question; nothing changes them.

    `ranks` has list -> chunk -> rank, `by_words` and `by_vectors` tell whether words and vectors found
    anything, `leading` is the relevance of the best memory that the graph was searched from.
    """

    query: Query
    candidates: tuple[Candidate, ...]
    ranks: Mapping[str, Mapping[str, int]]
    by_words: bool
    by_vectors: bool
    leading: float = 0.0


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory with its relevance (0..1), and `own`: its relevance by words and vectors alone.

    `inherited` is the relevance of a superseded memory whose place it takes; one that was not found itself
    has no candidate.
    """

    memory_id: str
    chunk_id: str
    relevance: float
    own: float = 0.0
    candidate: Candidate | None = None
    inherited: float = 0.0


def score(found: CandidateSet, policy: Policy) -> list[Scored]:
    """Return the relevance of the candidates for which anything speaks, in no order."""
    scores = []
    for candidate in found.candidates:
        evidence = candidate.evidence
        # The best of a hopeless list is still hopeless.
        if (
            candidate.further
            or evidence.cosine >= policy.min_similarity
            or evidence.coverage >= policy.min_coverage
        ):
            own, reached = relevances(candidate, found, policy)
            scores.append(Scored(candidate.memory_id, candidate.chunk_id, reached, own, candidate))
    return scores


def relevances(
    candidate: Candidate, found: CandidateSet, policy: Policy, *, code: float = 0.0
) -> tuple[float, float]:
    """Return the relevance by words and vectors alone, and with the further lists; `code` as `relevance`."""
    # A way that found nothing (no embedder, no telling word) must not halve every score.
    words = policy.lexical_weight if found.by_words else 0.0
    vectors = policy.vector_weight if found.by_vectors else 0.0
    own = 0.0
    if words + vectors:
        own = relevance(candidate.evidence, lexical_weight=words, vector_weight=vectors, code=code)
    further = candidate.further
    if not further:
        return own, own
    if found.query.only_times and "dates" in further:
        return own, ONLY_TIMES[0] + ONLY_TIMES[1] * further["dates"]
    reached = own
    if "expanded" in further:
        share = policy.expansion_weight
        reached = max(reached, (1 - share) * own + share * further["expanded"])
    if "graph" in further:
        reached = max(reached, min(reached + policy.graph_weight * further["graph"], BEHIND * found.leading))
    if further.get("edits"):
        reached += ABOUT_EDITS if found.query.about_edits else EDITED
    return own, reached


def terms(candidate: Candidate, found: CandidateSet) -> dict[str, float]:
    """Return the ranks of a candidate and its evidence, as `--explain` shows them."""
    evidence = candidate.evidence
    named = {
        f"{name}_rank": float(min(ranks))
        for name, listed in found.ranks.items()
        if (ranks := [listed[chunk] for chunk in candidate.chunks if chunk in listed])
    }
    named |= {
        "bm25": evidence.text,
        "coverage": evidence.coverage,
        "whole_bm25": evidence.whole_text,
        "whole_coverage": evidence.whole_coverage,
        "lexical": lexical(evidence),
    }
    if found.by_vectors and candidate.compared:
        named |= {
            "cosine": evidence.cosine,
            "second_cosine": evidence.second,
            "opening_cosine": evidence.opening,
            "semantic": semantic(evidence),
        }
    return named | dict(candidate.further)


@dataclass(frozen=True, slots=True)
class Formula:
    """What relevance and the time of an event make of a score, for one question."""

    query: Query
    policy: Policy
    now: datetime

    def terms(self, relevance: float, event_time: datetime, kind: Kind) -> dict[str, float]:
        """Return the terms from the relevance to the score; a named time adds to the relevance."""
        decay, spans = self.policy.decay, short(self.query.times)
        time = max(time_match(event_time, spans), SAME_DAY * time_match(event_time, self.query.days))
        relevance = min(1.0, relevance + self.policy.time_weight * time)
        age, half_life = age_days(event_time, self.now), decay.half_life(kind)
        found = {"time": time} if spans else {}
        found |= {"relevance": relevance, "age_days": age}
        if not self.policy.earned_recency:
            fresh = exponential_recency(age, half_life)
            return found | {"recency": fresh, "score": decay.published_score(relevance, fresh)}
        if self.query.times:
            # A question that names its time has said how old the answer is.
            return found | {"recency": 1.0, "score": relevance}
        fresh = decay.recency(age, half_life)
        return found | {
            "recency": fresh,
            "age_factor": decay.age_factor(fresh),
            "score": decay.score(relevance, fresh),
        }

    def highest(self, relevance: float) -> float:
        """Return the score of a memory that is as new as can be, and from the named time."""
        decay = self.policy.decay
        relevance = min(1.0, relevance + (self.policy.time_weight if short(self.query.times) else 0.0))
        if not self.policy.earned_recency:
            return decay.published_score(relevance, 1.0)
        return relevance if self.query.times else decay.score(relevance, 1.0)

    def relevance_floor(self, best: float) -> float:
        """Return the relevance below which a match does not come before others for being new."""
        if self.policy.earned_recency and not self.query.times:
            return self.policy.decay.relevance_floor(best)
        return 0.0

    def passes(self, terms: Mapping[str, float]) -> bool:
        """Tell whether a match is above the floor; nothing is by being new alone."""
        least = terms["score"]
        if self.policy.earned_recency:
            least = min(least, terms["relevance"])
        return least >= self.policy.decay.min_score


def lexical(evidence: Evidence, weights: Weights = FITTED) -> float:
    """Return what the words say, 0..1."""
    total = (
        weights.text * evidence.text
        + weights.coverage * evidence.coverage
        + weights.whole_text * evidence.whole_text
        + weights.whole_coverage * evidence.whole_coverage
    )
    return total / weights.lexical


def semantic(evidence: Evidence, weights: Weights = FITTED) -> float:
    """Return what the vectors say, 0..1; less than nothing is nothing."""
    total = (
        weights.cosine * evidence.cosine
        + weights.second * evidence.second
        + weights.opening * evidence.opening
    )
    return max(0.0, total / weights.semantic)


def relevance(
    evidence: Evidence,
    *,
    lexical_weight: float,
    vector_weight: float,
    code: float = 0.0,
    weights: Weights = FITTED,
) -> float:
    """Return how well a memory answers, 0..1: the mean of words and vectors by these weights.

    `code` tells how much of a program its best chunk is (see `code_share`).

    A way that cannot be gone (no model, no telling word) weighs 0, so that the other one keeps its scale.
    Raises ValueError where both weigh nothing.
    """
    words = lexical_weight * weights.lexical
    vectors = vector_weight * weights.semantic
    if words < 0 or vectors < 0 or not words + vectors:
        raise ValueError("the weights of words and vectors must not be negative, and not both 0")
    total = words + vectors
    if words and vectors:
        words *= 1 - CODE_SHIFT[0] * code
        vectors *= 1 + CODE_SHIFT[1] * code
    score = (words * lexical(evidence, weights) + vectors * semantic(evidence, weights)) / total
    return min(1.0, score)


def code_share(text: str) -> float:
    """Return how much of a program a text is: 0 for prose, 1 from 8 % of brackets and the like on."""
    beginning = text[:2000]
    return min(1.0, sum(map(beginning.count, _MARKS)) / max(1, len(beginning)) / CODE_MARKS)

"""Score the candidates of a question: evidence gives the relevance, and relevance and age the score."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from ragmem.domain.model import Hit, Kind
from ragmem.domain.model.decay import Decay, age_days, exponential_recency
from ragmem.domain.retrieval.question import Query
from ragmem.domain.text.spans import SAME_DAY, Span, time_match
from ragmem.frozen import dataclass

CODE_MARKS = 0.08
"""Minimum share of brackets and similar characters of a program."""

CODE_SHIFT = (0.7, 0.3)
"""A program rarely contains the words of a question: the weight of words is reduced by the first share, and
that of vectors raised by the second."""

ABOUT_FILE, BESIDE_FILE = 0.6, 0.1
"""Bonus of what a question with a file asks for: its edits, or what was read from it; and of the other."""

BEHIND = 0.8
"""Maximum relevance by a shared name, as a share of the best memory's: the share that decay leaves of the
oldest, so that the second hop of a question ranks after the first. docs/benchmarks.md compares other
shares."""

NEXT = 0.9
"""The same for a question of two hops, whose second memory answers it no less than the first."""

ONLY_TIMES = (0.3, 0.5)
"""Relevance of a memory from the named time, and the maximum bonus for new ones, if the question names
nothing else, so that its words mean nothing."""

_MARKS = b"(){}[]=;_<>"


@dataclass(frozen=True, slots=True)
class Policy:
    """The parameters of retrieval and ranking; the defaults are those of config.toml.

    `question_age` is the share of the decay's bound for a question that does not ask for the present. Such a
    question asks for knowledge of any age, a statement rather for the work at hand: of seven dated sets,
    questions lose first places by age in four and gain in none, statements gain (docs/benchmarks.md).
    """

    decay: Decay
    candidates: int = 60
    lexical_weight: float = 0.7
    vector_weight: float = 1.0
    min_similarity: float = 0.2
    min_coverage: float = 0.25
    earned_recency: bool = True
    question_age: float = 0.1
    neighbour_weight: float = 0.6
    proximity_weight: float = 0.1
    rule_weight: float = 0.3
    graph_weight: float = 0.3
    time_weight: float = 0.15
    expansion_weight: float = 0.3
    shared_weight: float = 0.95
    abstain: bool = True


GLOSSED_WORDS, GLOSSED_SIMILARITY = 0.4, 0.1
"""Of a question in another language than that of the model: the factor of the weight of words, and the
minimum cosine. A gloss has other words of the same meaning than the text, and lower cosines."""


def glossed_policy(policy: Policy) -> Policy:
    """Return the policy for a question of which the model reads a gloss."""
    return replace(
        policy,
        lexical_weight=GLOSSED_WORDS * policy.lexical_weight,
        min_similarity=min(policy.min_similarity, GLOSSED_SIMILARITY),
    )


def aged_policy(policy: Policy, query: Query) -> Policy:
    """Return the policy for a question, by what it implies about the age of its answer."""
    if not query.is_interrogative or query.wants_newest:
        return policy
    return replace(policy, decay=replace(policy.decay, bound=policy.question_age * policy.decay.bound))


# Tuples, because a question makes a hundred of them: a frozen dataclass takes five times as long.
class Evidence(NamedTuple):
    """The evidence for one memory, each value in 0..1.

    `text` is the BM25 of its best chunk as a share of the maximum, `coverage` the share of the question's idf
    mass in one chunk; `whole_text` and `whole_coverage` are those of the memory as one text. `cosine` is that
    of its best chunk, `second` the mean with the second best, `opening` that of the first chunk.
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
    """The weights of the evidence.

    Fitted by benchmarks/ranking_weights.py on all retrieval sets at once, with equal weight for each set: the
    weights of a softmax over the candidates that maximize the likelihood of the right ones.
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
        """The weight of all evidence by words."""
        return self.text + self.coverage + self.whole_text + self.whole_coverage

    @property
    def semantic(self) -> float:
        """The weight of all evidence by vectors."""
        return self.cosine + self.second + self.opening


FITTED = Weights()
_LEXICAL, _SEMANTIC = FITTED.lexical, FITTED.semantic


class Candidate(NamedTuple):
    """A possible answer: a memory with its matching chunks, the best of them, and its evidence.

    `further` are its scores in the lists besides words and vectors, by name; `also` are the chunks that are
    nearly as good as the best one. `compared` is False if the memory has no vector yet; it then counts as an
    average one.
    """

    memory_id: str
    chunk_id: str
    chunks: Sequence[str]
    evidence: Evidence
    further: Mapping[str, float] = MappingProxyType({})
    also: tuple[str, ...] = ()
    compared: bool = True


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """The candidates of a question.

    `hits` is list -> chunk -> its best hit; `by_words` and `by_vectors`: words and vectors have results;
    `leading` is the relevance of the best start of the graph search, `known` the share of the question's
    words that occur in what is searched. `frequencies` is the share of the searched chunks (0..1) that have a
    word of the question, and bit n of `having` tells whether a chunk has the n-th of them. `hops_ms` are the
    milliseconds that a second hop took; 0 for a question without one. `scored` has the scores of candidates
    under the same policy, by memory; they hold for those that have not changed since.
    """

    query: Query
    candidates: tuple[Candidate, ...]
    hits: Mapping[str, Mapping[str, Hit]]
    by_words: bool
    by_vectors: bool
    leading: float = 0.0
    known: float = 1.0
    frequencies: Mapping[str, float] = field(default_factory=dict)
    having: Mapping[str, int] = field(default_factory=dict)
    hops_ms: float = 0.0
    scored: "Mapping[str, ScoredMemory]" = field(default_factory=dict)


class ScoredMemory(NamedTuple):
    """A memory with its relevance (0..1), and `own`: its relevance by words and vectors alone.

    `inherited` is the relevance of a memory that it supersedes; without a match of its own it has no
    candidate.
    """

    memory_id: str
    chunk_id: str
    relevance: float
    own: float = 0.0
    candidate: Candidate | None = None
    inherited: float = 0.0


def score(found: CandidateSet, policy: Policy) -> list[ScoredMemory]:
    """Return the relevance of the candidates with enough evidence, in any order."""
    scores = []
    least, covering = policy.min_similarity, policy.min_coverage
    for candidate in found.candidates:
        memory_id, chunk_id, _, evidence, further, _, _ = candidate
        if (known := found.scored.get(memory_id)) is not None and known.candidate is candidate:
            scores.append(known)
        # A bad candidate stays bad even if it is the best.
        elif further or evidence.cosine >= least or evidence.coverage >= covering:
            own, reached = relevances(candidate, found, policy)
            scores.append(ScoredMemory(memory_id, chunk_id, reached, own, candidate))
    return scores


def relevances(
    candidate: Candidate, found: CandidateSet, policy: Policy, *, code: float = 0.0
) -> tuple[float, float]:
    """Return the relevance by words and vectors alone, and with the further lists; `code` as `relevance`."""
    # A search without results (no embedder, no informative word) must not halve every score.
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
    if (beside := further.get("neighbours", 0.0)) > own:
        # It comes nearer to its neighbour, and never before it.
        reached = max(reached, own + policy.neighbour_weight * (beside - own))
    for name, behind in (("graph", BEHIND), ("hops", NEXT)):
        if name in further:
            reached = max(reached, min(reached + policy.graph_weight * further[name], behind * found.leading))
    if "rules" in further:
        reached += policy.rule_weight * further["rules"]
    first, second = ("edits", "files") if found.query.about_edits else ("files", "edits")
    return own, reached + ABOUT_FILE * (first in further) + BESIDE_FILE * (second in further)


def known_terms(candidate: Candidate, found: CandidateSet) -> dict[str, float]:
    """Return those of `terms` by which matches are compared: words, further lists, the engine's rank."""
    named = {"lexical": lexical(candidate.evidence), **candidate.further}
    if hits := found.hits.get("engine"):
        ranks = [hits[chunk].rank for chunk in candidate.chunks if chunk in hits]
        named |= {"engine_rank": float(min(ranks))} if ranks else {}
    return named


def terms(candidate: Candidate, found: CandidateSet) -> dict[str, float]:
    """Return the ranks and evidence of a candidate for `--explain`."""
    evidence = candidate.evidence
    named = {
        f"{name}_rank": float(min(ranks))
        for name, listed in found.hits.items()
        if (ranks := [listed[chunk].rank for chunk in candidate.chunks if chunk in listed])
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
    """The score of a memory by its relevance and event time, for one question."""

    query: Query
    policy: Policy
    now: datetime

    def terms(self, relevance: float, event_time: datetime, kind: Kind) -> dict[str, float]:
        """Return the terms of the score; a time in the question raises the relevance."""
        decay, query = self.policy.decay, self.query
        spans: Sequence[Span] = ()
        time = 0.0
        if query.times or query.days:
            spans = query.times
            time = max(time_match(event_time, spans), SAME_DAY * time_match(event_time, query.days))
        relevance = min(1.0, relevance + self.policy.time_weight * time)
        age, half_life = age_days(event_time, self.now), decay.half_life(kind)
        found = {"time": time} if spans else {}
        found |= {"relevance": relevance, "age_days": age}
        if not self.policy.earned_recency:
            fresh = exponential_recency(age, half_life)
            return found | {"recency": fresh, "score": decay.published_score(relevance, fresh)}
        if self.query.times:
            # A time in the question determines the age of the answer.
            return found | {"recency": 1.0, "score": relevance}
        fresh = decay.recency(age, half_life)
        return found | {
            "recency": fresh,
            "age_factor": decay.age_factor(fresh),
            "score": decay.score(relevance, fresh),
        }

    def score(self, relevance: float, event_time: datetime, kind: Kind) -> float:
        """Return the score alone, for the many memories of which few are shown."""
        decay, query = self.policy.decay, self.query
        if query.times or query.days or not self.policy.earned_recency:
            return self.terms(relevance, event_time, kind)["score"]
        fresh = decay.recency(age_days(event_time, self.now), decay.half_life(kind))
        return decay.score(min(1.0, relevance), fresh)

    def highest(self, relevance: float) -> float:
        """Return the maximum score for a relevance: of a new memory from the time in the question."""
        decay = self.policy.decay
        relevance = min(1.0, relevance + (self.policy.time_weight if self.query.times else 0.0))
        if not self.policy.earned_recency:
            return decay.published_score(relevance, 1.0)
        return relevance if self.query.times else decay.score(relevance, 1.0)

    def relevance_floor(self, best: float) -> float:
        """Return the minimum relevance of a match that ranks higher because it is new."""
        if self.policy.earned_recency and not self.query.times:
            return self.policy.decay.relevance_floor(best)
        return 0.0

    def passes(self, terms: Mapping[str, float]) -> bool:
        """Return whether a match is above the floor, without its age alone."""
        least = terms["score"]
        if self.policy.earned_recency:
            least = min(least, terms["relevance"])
        return least >= self.policy.decay.min_score


def lexical(evidence: Evidence) -> float:
    """Return the evidence by words, 0..1."""
    text, coverage, whole_text, whole_coverage, _, _, _ = evidence
    weights = FITTED
    return (
        weights.text * text
        + weights.coverage * coverage
        + weights.whole_text * whole_text
        + weights.whole_coverage * whole_coverage
    ) / _LEXICAL


def semantic(evidence: Evidence) -> float:
    """Return the evidence by vectors, 0..1; negative values count as 0."""
    _, _, _, _, cosine, second, opening = evidence
    weights = FITTED
    total = weights.cosine * cosine + weights.second * second + weights.opening * opening
    return max(0.0, total / _SEMANTIC)


def relevance(evidence: Evidence, *, lexical_weight: float, vector_weight: float, code: float = 0.0) -> float:
    """Return the relevance of a memory, 0..1: the weighted mean of words and vectors.

    `code` is the `code_share` of its best chunk. A search that is impossible (no model, no informative word)
    needs the weight 0, so that the other one keeps its scale. Raises ValueError if both weights are 0.
    """
    words = lexical_weight * _LEXICAL
    vectors = vector_weight * _SEMANTIC
    if words < 0 or vectors < 0 or not words + vectors:
        raise ValueError("the weights of words and vectors must not be negative, and not both 0")
    total = words + vectors
    if words and vectors:
        words *= 1 - CODE_SHIFT[0] * code
        vectors *= 1 + CODE_SHIFT[1] * code
    return min(1.0, (words * lexical(evidence) + vectors * semantic(evidence)) / total)


def code_share(text: str) -> float:
    """Return the degree to which a text is a program: 0 for prose, 1 from 8 % of brackets on."""
    # Lines below titles and rules are no code.
    beginning = text[:2000].replace("====", "").replace("____", "")
    said = beginning.encode("utf-8", "surrogatepass")
    # One pass over the bytes, of which no mark is a part of another letter.
    marks = len(said) - len(said.translate(None, _MARKS))
    return min(1.0, marks / max(1, len(beginning)) / CODE_MARKS)

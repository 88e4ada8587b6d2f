"""How well a memory answers a question: what each way of looking at it says, weighed into one number."""

from dataclasses import dataclass

CODE_MARKS = 0.08
"""Share of brackets and the like from which on a text is a program and no prose."""

CODE_SHIFT = (0.7, 0.3)
"""In a program a question's words are rarely there to be found: of the words' weight this share goes, and the
vectors' weight grows by this one."""

_MARKS = "(){}[]=;_<>"


@dataclass(slots=True)
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

"""Put the best of what was found into a better order, with a model that reads question and text together.

Of the first `candidates` matches, the first score and the reranker's are each brought to 0..1 (the lowest is
0, the highest 1), and the new order is by

    weight * reranker + (1 - weight) * first score

The scores themselves stay: the k-th place gets the k-th highest of them, so that floors mean what they meant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragmem.config.models import RerankerSettings
from ragmem.domain.model import Match
from ragmem.errors import BackendError
from ragmem.ports import Reranker
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
from ragmem.services.retrieval.deadline import within


@dataclass(frozen=True, slots=True)
class Reranked:
    """The matches in their new order, or in the first one with a note that says why."""

    matches: tuple[Match, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """How many matches are read, what the reranker weighs, and for how many seconds a question waits."""

    candidates: int = 30
    weight: float = 0.6
    deadline: float = 3.0


def rerank(
    reranker: Reranker, question: str, matches: Sequence[Match], *, wish: Wish, breaker: CircuitBreaker
) -> Reranked:
    """Return the matches, best first; those behind the candidates keep their places.

    Where the reranker fails the first order stays. One that let a question wait is left alone for a while,
    by the circuit breaker. Each match that was read has the reranker's number as its term "reranker".
    """
    first, rest = tuple(matches[: wish.candidates]), tuple(matches[wish.candidates :])
    if len(first) < 2:
        return Reranked(tuple(matches))
    texts = [match.chunk.searchable for match in first]
    try:
        with breaker.guard():
            scores = within(
                lambda: [float(score) for score in reranker.score(question, texts)],
                wish.deadline,
                what="the reranker",
            )
            if len(scores) != len(first) or any(score != score for score in scores):  # noqa: PLR0124 - NaN
                raise BackendError(
                    f'the reranker "{reranker.model_id}" gave no score for each text',
                    hint="use another model in config.toml, [reranker]",
                )
    except BackendError as error:
        return Reranked(tuple(matches), f"the first order stays: {error.told}")
    return Reranked(_reordered(first, scores, wish.weight) + rest)


def reranking(
    find: Callable[[], Reranker | None], settings: RerankerSettings, breaker: CircuitBreaker
) -> Callable[[str, Sequence[Match]], Reranked]:
    """Return a function that reorders matches by the configured reranker, and opens it for the first ones."""
    wish = Wish(settings.candidates, settings.weight, settings.timeout_s)

    def reordered(question: str, matches: Sequence[Match]) -> Reranked:
        try:
            found = find()
        except BackendError as error:
            return Reranked(tuple(matches), f"the first order stays: {error.told}")
        if found is None:
            return Reranked(tuple(matches))
        return rerank(found, question, matches, wish=wish, breaker=breaker)

    return reordered


def _reordered(matches: Sequence[Match], scores: Sequence[float], weight: float) -> tuple[Match, ...]:
    before, read = _spread([match.score for match in matches]), _spread(scores)
    blended = [weight * new + (1 - weight) * old for new, old in zip(read, before, strict=True)]
    order = sorted(range(len(matches)), key=lambda place: (-blended[place], place))
    highest = sorted((match.score for match in matches), reverse=True)
    return tuple(
        replace(
            matches[place],
            score=score,
            terms={**matches[place].terms, "reranker": scores[place], "blended": blended[place]},
        )
        for place, score in zip(order, highest, strict=True)
    )


def _spread(values: Sequence[float]) -> list[float]:
    """Return the values with the lowest at 0 and the highest at 1; all 0.5 where they are equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]

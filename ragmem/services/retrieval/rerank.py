"""Reorder the best matches with a model that reads question and text together.

Of the first `candidates` matches, the first score and the reranker's are each brought to 0..1 (the lowest is
0, the highest 1), and the new order is by

    weight * reranker + (1 - weight) * first score

The scores themselves stay: the k-th place gets the k-th highest one, so that floors keep their meaning.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ragmem.config.models import RerankerSettings
from ragmem.domain.model import Match
from ragmem.errors import BackendError
from ragmem.frozen import dataclass
from ragmem.ports import Reranker
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker, run_with_timeout


@dataclass(frozen=True, slots=True)
class RerankResult:
    """The matches in their new order, or in the first one with a note about the reason."""

    matches: tuple[Match, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """The number of matches that are read, the reranker's weight, and the timeout in seconds."""

    candidates: int = 30
    weight: float = 0.6
    deadline: float = 3.0


def rerank(
    reranker: Reranker,
    question: str,
    matches: Sequence[Match],
    *,
    options: RerankOptions,
    breaker: CircuitBreaker,
) -> RerankResult:
    """Return the matches, best first; those behind the candidates keep their places.

    So do those whose score is NaN, because the reranker had no time to read them; a note tells how many.

    If the reranker fails, the first order stays, and after a timeout the circuit breaker skips it for a
    while. Each match that was read has the reranker's score as its term "reranker".
    """
    first, rest = tuple(matches[: options.candidates]), tuple(matches[options.candidates :])
    if len(first) < 2:
        return RerankResult(tuple(matches))
    texts = [match.chunk.searchable for match in first]
    try:
        with breaker.guard():
            scores = run_with_timeout(
                lambda: [float(score) for score in reranker.score(question, texts)],
                options.deadline,
                what="the reranker",
            )
            read = [place for place, score in enumerate(scores) if not math.isnan(score)]
            if len(scores) != len(first) or not read:
                raise BackendError(
                    f'the reranker "{reranker.model_id}" did not score every text',
                    hint="use another model in [reranker] of config.toml",
                )
    except BackendError as error:
        return RerankResult(tuple(matches), f"the original order stays: {error.full_message}")
    ordered = iter(_reorder([first[at] for at in read], [scores[at] for at in read], options.weight))
    merged = tuple(next(ordered) if place in read else match for place, match in enumerate(first))
    note = (
        "" if len(read) == len(first) else f"the reranker read {len(read)} of {len(first)} before the timeout"
    )
    return RerankResult(merged + rest, note)


def make_reranker(
    find: Callable[[], Reranker | None], settings: RerankerSettings, breaker: CircuitBreaker
) -> Callable[[str, Sequence[Match]], RerankResult]:
    """Return a function that reorders matches with the configured reranker, which is opened on first use."""
    options = RerankOptions(settings.candidates, settings.weight, settings.timeout_s)

    def reorder(question: str, matches: Sequence[Match]) -> RerankResult:
        try:
            found = find()
        except BackendError as error:
            return RerankResult(tuple(matches), f"the original order stays: {error.full_message}")
        if found is None:
            return RerankResult(tuple(matches))
        return rerank(found, question, matches, options=options, breaker=breaker)

    return reorder


def _reorder(matches: Sequence[Match], scores: Sequence[float], weight: float) -> tuple[Match, ...]:
    before, read = _scale_to_unit([match.score for match in matches]), _scale_to_unit(scores)
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


def _scale_to_unit(values: Sequence[float]) -> list[float]:
    """Return the values scaled to 0..1; all are 0.5 if they are equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]

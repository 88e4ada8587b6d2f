"""What helps a question where it is at hand: the store's calibration, a language model, a reranker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragmem.config.models import RerankerSettings
from ragmem.domain.model import Match
from ragmem.errors import BackendError
from ragmem.ports import Reranker
from ragmem.services.retrieval.calibration import Calibration
from ragmem.services.retrieval.circuit_breaker import Respite
from ragmem.services.retrieval.rerank import Reranked, Wish, rerank


@dataclass(frozen=True, slots=True)
class Assistance:
    """What a question is helped by where it is at hand.

    `calibration` tells what questions without an answer find; None: every question is answered. `expand`
    returns other words for a question and a note, `rerank` the matches in a better order.
    """

    calibration: Calibration | None = None
    expand: Callable[[str], tuple[tuple[str, ...], str]] | None = None
    rerank: Callable[[str, Sequence[Match]], Reranked] | None = None
    read_with: int = 0
    """Matches that the reranker reads; 0 for as many as are wanted."""


def reranking(
    find: Callable[[], Reranker | None], settings: RerankerSettings, respite: Respite
) -> Callable[[str, Sequence[Match]], Reranked] | None:
    """Return what reorders matches by the configured reranker; None where none is configured."""
    if not settings.backend:
        return None
    wish = Wish(settings.candidates, settings.weight, settings.timeout_s)

    def reordered(question: str, matches: Sequence[Match]) -> Reranked:
        try:
            found = find()
        except BackendError as error:
            return Reranked(tuple(matches), f"the first order stays: {error.told}")
        if found is None:
            return Reranked(tuple(matches))
        return rerank(found, question, matches, wish=wish, respite=respite)

    return reordered

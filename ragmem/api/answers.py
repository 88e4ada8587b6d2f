"""Answers in the words of a language model."""

from ragmem.api.home import Home
from ragmem.ports import LanguageModel
from ragmem.services.retrieval.answerer import Answerer
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker


class Answers:
    """The language model that answers questions."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._breaker = CircuitBreaker()

    @property
    def model(self) -> LanguageModel | None:
        """The model of [language_model], whose requests count as answers; None if none is configured.

        Raises BackendError if it cannot be opened.
        """
        return self._home.language_model("answer")

    def answerer(self) -> Answerer | None:
        """Return an answerer that remembers a failure for a while; None if no language model is configured.

        Raises BackendError if the model cannot be opened. See `services.retrieval.answerer`.
        """
        model = self.model
        return None if model is None else Answerer(model, self._breaker)

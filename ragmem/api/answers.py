"""The methods of an open memory for answers in a language model's own words."""

from typing import TYPE_CHECKING

from ragmem.api.home import Opened
from ragmem.backends.composed import ComposedModels
from ragmem.ports import LanguageModel

if TYPE_CHECKING:
    from ragmem.services.retrieval.answering import Answerer

# Services are imported where they are used: a question must not pay for what only an answer needs.


class Answering(Opened):
    """What can be done with a language model that answers."""

    _answering: ComposedModels | None = None
    _answerer: "Answerer | None" = None

    @property
    def answering_model(self) -> LanguageModel | None:
        """The model of [language_model], whose requests count as answers; None where none is configured.

        Raises BackendError where it cannot be had.
        """
        if self._given_models is not None:
            return self._given_models.language_model
        with self._opening:
            if self._answering is None:
                self._answering = ComposedModels(
                    self.settings.models,
                    self.settings.language_model,
                    meter=self._meter,
                    purpose="answer",
                    redactor=self.redactor,
                )
            return self._answering.language_model

    def answerer(self) -> "Answerer | None":
        """Return what answers questions in words; None where no language model is configured.

        Raises BackendError where it cannot be had. See `services.retrieval.answering`.
        """
        from ragmem.services.retrieval.answering import Answerer

        model = self.answering_model
        if model is None:
            return None
        with self._opening:
            self._answerer = self._answerer or Answerer(model)
            return self._answerer

    def close(self) -> None:
        """Close what was opened for answers, and everything else; closing twice is fine."""
        if self._answering is not None:
            self._answering.close()
            self._answering = self._answerer = None
        super().close()

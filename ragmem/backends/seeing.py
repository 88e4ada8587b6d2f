"""The model that describes pictures: a language model with eyes, of its own or of the usual server."""

from dataclasses import replace

from ragmem.backends.composed import ComposedModels
from ragmem.config import LanguageModelSettings, Settings
from ragmem.errors import BackendError, ConfigError
from ragmem.ports import Meter, Sees


class Sight:
    """The model of [documents] vision, opened at the first picture; to be closed."""

    def __init__(self, name: str, models: ComposedModels) -> None:
        self._name = name
        self._models = models

    def open(self) -> Sees:
        """Return the model; raises BackendError where it cannot be had, or has no eyes."""
        model: object = self._models.language_model
        if isinstance(model, Sees):
            return model
        raise BackendError(
            f'"{self._name}" cannot look at pictures', hint="docs/documents-engines.md says which can"
        )

    def close(self) -> None:
        """Close the model; closing twice is fine."""
        self._models.close()


def open_sight(settings: Settings, *, meter: Meter) -> Sight:
    """Return the model that [documents] vision names; nothing is opened or asked yet.

    What is not said there is taken from [language_model], where that has the same backend; its key and
    options only for the same address, since another server is not to be shown them. Raises ConfigError for a
    value that does not name both a backend and a model.
    """
    wanted = settings.documents
    backend, _, model = wanted.vision.partition("/")
    if not backend or not model:
        raise ConfigError(
            f'documents.vision is "{wanted.vision}"',
            hint="it is a backend and its model, such as ollama/qwen2.5vl",
        )
    usual = settings.language_model
    known = usual if usual.backend == backend else LanguageModelSettings()
    if wanted.vision_url.rstrip("/") not in {"", known.url.rstrip("/")}:
        known = replace(known, key_variable="", key_command="", options={})
    chosen = replace(
        known,
        backend=backend,
        model=model,
        url=wanted.vision_url or known.url,
        key_variable=wanted.vision_key_variable or known.key_variable,
        key_command="" if wanted.vision_key_variable else known.key_command,
    )
    return Sight(
        wanted.vision, ComposedModels(settings.models, chosen, meter=meter, redactor=settings.redactor)
    )

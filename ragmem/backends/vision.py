"""The model that describes pictures: a multimodal language model, on its own server or the usual one."""

from dataclasses import replace

from ragmem.backends.composed_models import ComposedModels
from ragmem.config.models import LanguageModelSettings
from ragmem.config.settings import Settings
from ragmem.errors import BackendError, ConfigError
from ragmem.ports import Meter, Sees


class VisionModel:
    """The model of the setting documents.vision, opened at the first picture; to be closed."""

    def __init__(self, name: str, models: ComposedModels) -> None:
        self._name = name
        self._models = models

    def open(self) -> Sees:
        """Return the model; raises BackendError where it cannot load or takes no pictures."""
        model: object = self._models.language_model
        if isinstance(model, Sees):
            return model
        raise BackendError(
            f'"{self._name}" cannot read pictures', hint="docs/documents.md lists models that can"
        )

    def close(self) -> None:
        """Close the model; closing twice is fine."""
        self._models.close()


def open_vision_model(settings: Settings, *, meter: Meter) -> VisionModel:
    """Return the model of the setting documents.vision; nothing is opened yet.

    Other settings come from [language_model] where it has the same backend; key and options only for the same
    address, because another server must not see them. Raises ConfigError for a value that does not name both
    a backend and a model.
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
    return VisionModel(
        wanted.vision, ComposedModels(settings.models, chosen, meter=meter, redactor=settings.redactor)
    )

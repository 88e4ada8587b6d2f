"""The configured models, by id or alias."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ragmem.api.memory import Ragmem
from ragmem.backends.minilm import NAMES as BUNDLED
from ragmem.config.models import LanguageModelSettings, ModelSettings
from ragmem.errors import BackendError
from ragmem.ports import Embedder, LanguageModel
from ragmem.server.inference.api_errors import ApiError
from ragmem.server.inference.models import Model
from ragmem.services.models.local_models import LocalModel, find_local_models
from ragmem.services.models.use import model_label

DEFAULT = "default"
"""An alias of the configured model."""

NONE_CONFIGURED = "no language model is configured: set one in [language_model] of config.toml"


def models_of(memory: Ragmem) -> list[Model]:
    """Return the configured models that are available; the routes of the others report the problem."""
    models: list[Model] = []
    for one in (_embedding, _chat):
        with suppress(BackendError):
            models += one(memory)
    return models


def model_of(memory: Ragmem, name: str) -> Model:
    """Return the model of an id or alias, the embedder first; raises ApiError for an unknown one."""
    for model in models_of(memory):
        if name == model.id or name in model.aliases:
            return model
    raise _unknown_model(memory, name)


def embedder_of(memory: Ragmem, name: str) -> Embedder:
    """Return the configured embedder; raises ApiError for another name, BackendError where it fails."""
    # During a change of the model the store still has vectors of the former one, which will go.
    embedder = memory.models.wanted.embedder
    _check_name(memory, name, embedder.model_id, memory.settings.models)
    return embedder


def language_model_of(memory: Ragmem, name: str) -> LanguageModel:
    """Return the configured language model; errors as in `embedder_of`, ApiError if there is none."""
    model = memory.answers.model
    if model is None:
        # Not a 503: clients would retry for ever.
        raise ApiError(404, NONE_CONFIGURED, param="model", code="model_not_found")
    _check_name(memory, name, model.model_id, memory.settings.language_model)
    return model


def _embedding(memory: Ragmem) -> Iterator[Model]:
    embedder = memory.models.wanted.embedder
    settings = memory.settings.models
    yield Model(
        id=embedder.model_id,
        owned_by=settings.backend,
        kind="embedding",
        dimensions=embedder.dimensions,
        aliases=_aliases(memory, embedder.model_id, settings),
    )


def _chat(memory: Ragmem) -> Iterator[Model]:
    model = memory.answers.model
    settings = memory.settings.language_model
    if model is not None:
        yield Model(
            id=model.model_id,
            owned_by=settings.backend or "given",
            kind="chat",
            aliases=_aliases(memory, model.model_id, settings),
        )


def _aliases(memory: Ragmem, model_id: str, chosen: ModelSettings | LanguageModelSettings) -> list[str]:
    """Return the other names of a model: from the configuration, and from `models list`."""
    names = [DEFAULT, chosen.model, model_label(chosen) if chosen.backend else ""]
    if model_id in BUNDLED:
        names += sorted(BUNDLED)
    elif chosen.model.startswith(("/", "~", ".")):
        folder = Path(chosen.model).expanduser()
        names += [one.name for one in _local_models(memory) if one.folder == folder]
    return [name for name in dict.fromkeys(names) if name and name != model_id]


def _local_models(memory: Ragmem) -> list[LocalModel]:
    return find_local_models(memory.settings.places.data, os.environ, home=memory.home)


def _check_name(
    memory: Ragmem, name: str, model_id: str, chosen: ModelSettings | LanguageModelSettings
) -> None:
    if name not in {model_id, *_aliases(memory, model_id, chosen)}:
        raise _unknown_model(memory, name)


def _unknown_model(memory: Ragmem, name: str) -> ApiError:
    shown = name if len(name) <= 80 else f"{name[:79]}…"
    message = f'there is no model "{shown}"; GET /v1/models lists all'
    if name in BUNDLED or any(one.name == name for one in _local_models(memory)):
        message = f'the model "{shown}" is not configured; GET /v1/models lists the configured ones'
    return ApiError(404, message, param="model", code="model_not_found")

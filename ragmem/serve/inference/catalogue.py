"""Which models there are, and by which names they are asked for."""

from collections.abc import Iterator
from contextlib import suppress

from ragmem.errors import BackendError
from ragmem.memory import Ragmem
from ragmem.ports import Embedder, LanguageModel
from ragmem.serve.inference.failing import ApiError
from ragmem.serve.inference.models import Model

DEFAULT = "default"
"""A name for whichever model is configured."""

NONE_CONFIGURED = "no language model is configured: name one below [language_model] of config.toml"


def models_of(memory: Ragmem) -> list[Model]:
    """Return the models that are configured and can be had; of others their own routes say what is wrong."""
    found: list[Model] = []
    for one in (_embedding, _chat):
        with suppress(BackendError):
            found += one(memory)
    return found


def model_of(memory: Ragmem, name: str) -> Model:
    """Return the model of this id or alias, the embedder first; raises ApiError where there is none."""
    for model in models_of(memory):
        if name == model.id or name in model.aliases:
            return model
    raise _unknown(name)


def embedder_of(memory: Ragmem, name: str) -> Embedder:
    """Return the configured embedder; raises ApiError for another name, BackendError where it fails."""
    # Not the one whose vectors are in the store, where another was configured meanwhile: it will be gone.
    embedder = memory.models.wanted.embedder
    _check(name, embedder.model_id, _aliases(embedder.model_id, memory.settings.models.model))
    return embedder


def language_model_of(memory: Ragmem, name: str) -> LanguageModel:
    """Return the configured language model; errors as of `embedder_of`, ApiError where there is none."""
    model = memory.answering_model
    if model is None:
        # Not a 503: clients would ask again and again.
        raise ApiError(404, NONE_CONFIGURED, param="model", code="model_not_found")
    _check(name, model.model_id, _aliases(model.model_id, memory.settings.language_model.model))
    return model


def _embedding(memory: Ragmem) -> Iterator[Model]:
    embedder = memory.models.wanted.embedder
    settings = memory.settings.models
    yield Model(
        id=embedder.model_id,
        owned_by=settings.backend,
        kind="embedding",
        dimensions=embedder.dimensions,
        aliases=_aliases(embedder.model_id, settings.model),
    )


def _chat(memory: Ragmem) -> Iterator[Model]:
    model = memory.answering_model
    settings = memory.settings.language_model
    if model is not None:
        yield Model(
            id=model.model_id,
            owned_by=settings.backend or "given",
            kind="chat",
            aliases=_aliases(model.model_id, settings.model),
        )


def _aliases(model_id: str, configured: str) -> list[str]:
    return [DEFAULT, *([configured] if configured and configured != model_id else [])]


def _check(name: str, model_id: str, aliases: list[str]) -> None:
    if name != model_id and name not in aliases:
        raise _unknown(name)


def _unknown(name: str) -> ApiError:
    shown = name if len(name) <= 80 else f"{name[:79]}…"
    return ApiError(
        404,
        f'there is no model "{shown}"; GET /v1/models lists those there are',
        param="model",
        code="model_not_found",
    )

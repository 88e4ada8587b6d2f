"""Functions that the commands about a model share: resolve its name, check an address."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.errors import BackendError, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.backends.composed_models import ComposedModels
    from ragmem.ports import LanguageModel
    from ragmem.services.models.use import Choice

LanguageOption = Annotated[
    bool, typer.Option("--language", help="A language model, instead of an embedding model.")
]


def choice_of(
    memory: "Ragmem",
    model: str,
    *,
    language: bool,
    url: str = "",
    dimensions: int = 0,
    key_variable: str = "",
) -> "Choice":
    """Return the configuration for a model name; raises UsageError."""
    from ragmem import backends
    from ragmem.backends.minilm import NAMES
    from ragmem.services.models.local_models import find_local_models
    from ragmem.services.models.use import ModelRequest, choose

    if url:
        check_address(url, example="http://localhost:8000/v1")
    return choose(
        ModelRequest(model, language=language, url=url, dimensions=dimensions, key_variable=key_variable),
        memory.settings,
        backends=backends.names_with_models(),
        bundled=NAMES,
        models=find_local_models(memory.settings.places.data, os.environ, home=memory.home),
        cwd=memory.cwd,
    )


def require_language_model(models: "ComposedModels", backend: str) -> "LanguageModel":
    """Return the language model; raises BackendError if its backend has none."""
    model = models.language_model
    if model is None:
        raise BackendError(
            f'the backend "{backend}" has no such language model', hint=f"name one: {backend}:MODEL"
        )
    return model


def check_address(url: str, *, example: str) -> None:
    """Raise UsageError if a text is not the address of a server, or contains a secret."""
    from ragmem.backends.providers.settings import url_problem

    if problem := url_problem(url):
        raise UsageError(problem, hint=f"such as {example}")

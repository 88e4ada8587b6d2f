"""What the commands that name a model share: the option, the way from a name to a choice, and addresses."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.errors import UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
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
    """Return what is to be configured for a model that was named; raises UsageError."""
    from ragmem import backends
    from ragmem.backends.minilm import NAMES
    from ragmem.services.models.found import find_models
    from ragmem.services.models.use import ModelRequest, choose

    if url:
        check_address(url, example="http://localhost:8000/v1")
    return choose(
        ModelRequest(model, language=language, url=url, dimensions=dimensions, key_variable=key_variable),
        memory.settings,
        backends=backends.names_with_models(),
        bundled=NAMES,
        models=find_models(memory.settings.places.data, os.environ, home=memory.home),
        cwd=memory.cwd,
    )


def check_address(url: str, *, example: str) -> None:
    """Raise UsageError for what is no address of a server, or has a secret in it."""
    from ragmem.backends.providers.settings import url_problem

    if problem := url_problem(url):
        raise UsageError(problem, hint=f"such as {example}")

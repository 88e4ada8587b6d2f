"""What the commands that name a model share: the option, and the way from a name to a choice."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragmem.memory import Ragmem
    from ragmem.services.models_use import Choice

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
    from ragmem.services.models_found import found
    from ragmem.services.models_use import Wish, choose

    return choose(
        Wish(model, language=language, url=url, dimensions=dimensions, key_variable=key_variable),
        memory.settings,
        backends=backends.names(),
        models=found(memory.settings.places.data, os.environ, home=memory.home),
        cwd=memory.cwd,
    )

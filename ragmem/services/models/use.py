"""Choose a model: translate a user's request to configuration keys."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ragmem.config import LanguageModelSettings, ModelSettings, Settings
from ragmem.config.values import nearest
from ragmem.config.variables import variable_name
from ragmem.errors import UsageError
from ragmem.services.models.found import CONFIG, FoundModel

NONE = "none"
"""The value for no language model."""

LOCAL_BACKEND = "mlx"
"""Runs the models that lie on this machine."""

BUNDLED_BACKEND = "minilm"
"""The backend with the bundled model only."""

_PURPOSES = {"embedding": "embedding", "language model": "completing prompts"}

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Settings of the server, and of the model: neither fits the next one.
_OF_THE_SERVER = ("url", "key_variable", "key_command")
_OF_THE_MODEL = ("dimensions", "query_prefix", "document_prefix", "price", "price_in", "price_out")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A requested model: BACKEND, BACKEND:MODEL, a local model or its folder, or none.

    Empty and 0: not said.
    """

    model: str
    language: bool = False
    url: str = ""
    dimensions: int = 0
    key_variable: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A table of config.toml, its keys to set (None: to remove), and the resulting settings."""

    table: str
    values: Mapping[str, str | int | None]
    settings: Settings

    @property
    def chosen(self) -> ModelSettings | LanguageModelSettings:
        """The settings of the model that was chosen."""
        return self.settings.models if self.table == "models" else self.settings.language_model

    @property
    def name(self) -> str:
        """The model as a person writes it."""
        return model_label(self.chosen)


def model_label(chosen: ModelSettings | LanguageModelSettings) -> str:
    """Return BACKEND:MODEL, BACKEND if it has one model only, or none."""
    return f"{chosen.backend}:{chosen.model}" if chosen.model else chosen.backend or NONE


def choose(
    wish: ModelRequest,
    settings: Settings,
    *,
    backends: Collection[str],
    bundled: Collection[str],
    models: Sequence[FoundModel],
    cwd: Path,
) -> Choice:
    """Return the configuration for a request; raises UsageError for an unknown model.

    `bundled` are the names of the model that ragmem brings along.
    """
    table = "language_model" if wish.language else "models"
    present = settings.language_model if wish.language else settings.models
    _check(wish)
    backend, model = _resolve(wish, backends=backends, bundled=bundled, models=models, cwd=cwd)
    values: dict[str, str | int | None] = {"backend": backend or None, "model": model or None}
    known = [field.name for field in fields(present)]
    if backend != present.backend:
        values |= dict.fromkeys(_OF_THE_SERVER)
    if (backend, model) != (present.backend, present.model):
        values |= {key: None for key in _OF_THE_MODEL if key in known}
    if wish.url:
        values["url"] = wish.url
    if wish.dimensions:
        values["dimensions"] = wish.dimensions
    if wish.key_variable:
        values["key_variable"] = wish.key_variable
    ordered = {key: values[key] for key in known if key in values}
    defaults = type(present)()
    changes: Any = {key: getattr(defaults, key) if value is None else value for key, value in ordered.items()}
    then: Any = {table: replace(present, **changes)}
    choice = Choice(table, ordered, replace(settings, **then))
    _refuse_overridden(choice, settings)
    return choice


def _check(wish: ModelRequest) -> None:
    if wish.key_variable and not _VARIABLE.fullmatch(wish.key_variable):
        # The value may be the key itself, so the message must not repeat it.
        raise UsageError(
            "--key-variable takes the name of an environment variable",
            hint="not the key itself: a key is never written to a file",
        )
    if wish.language and wish.dimensions:
        raise UsageError("--dimensions is for embedding models", hint="leave it out")


def _resolve(
    wish: ModelRequest,
    *,
    backends: Collection[str],
    bundled: Collection[str],
    models: Sequence[FoundModel],
    cwd: Path,
) -> tuple[str, str]:
    if wish.model == NONE:
        if not wish.language:
            raise UsageError("there is always an embedding model", hint="ragmem models use minilm")
        return "", ""
    backend, _, model = wish.model.partition(":")
    if backend in backends:
        return backend, model
    folder = cwd / Path(wish.model).expanduser()
    if (folder / CONFIG).is_file():
        return LOCAL_BACKEND, str(folder.resolve())
    if not wish.language and wish.model in bundled and all(found.name != wish.model for found in models):
        return BUNDLED_BACKEND, ""
    matching = {found.name: found.use for found in models if wish.model.lower() in _names(found)}
    if len(matching) == 1:
        ((name, use),) = matching.items()
        if use != "unknown" and wish.language != (use == "language model"):
            other = "" if wish.language else " --language"
            raise UsageError(
                f'"{name}" seems to be for {_PURPOSES[use]}',
                hint=f"ragmem models use{other} {name}, or {LOCAL_BACKEND}:{name} to have it nevertheless",
            )
        return LOCAL_BACKEND, name
    if matching:
        raise UsageError(
            f'several models are called "{wish.model}"', hint=f"one of {', '.join(sorted(matching))}"
        )
    if "/" in backend:
        hint = f"ragmem models pull {wish.model} fetches it, if it is one of the hub"
    else:
        hint = nearest(backend, sorted(backends))
    raise UsageError(f'"{wish.model}" is neither a backend nor a model on this machine', hint=hint)


def _names(found: FoundModel) -> set[str]:
    return {found.name.lower(), found.name.rpartition("/")[2].lower()}


def _refuse_overridden(choice: Choice, settings: Settings) -> None:
    """Raise UsageError if an environment variable would override the new configuration."""
    for item in settings.origins():
        key, value, origin = item
        table, _, name = key.partition(".")
        if table == choice.table and name in choice.values and origin == variable_name(table, name):
            if value == getattr(choice.chosen, name):
                continue
            raise UsageError(
                f"the variable {origin} is set, and wins over what would be written",
                hint=f"unset {origin}, then run the same command again",
            )

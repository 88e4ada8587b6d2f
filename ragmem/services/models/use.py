"""Choose a model: translate a user's request to configuration keys."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ragmem.config.hub import without_file
from ragmem.config.known_models import find_known
from ragmem.config.models import LanguageModelSettings, ModelSettings
from ragmem.config.settings import Settings
from ragmem.config.values import nearest
from ragmem.config.variables import variable_name
from ragmem.errors import UsageError
from ragmem.services.models.local_models import CONFIG, LocalModel, examine_folder

NONE = "none"
"""The value for no language model."""

LOCAL_BACKEND = "mlx"
"""The backend that runs local models with safetensors."""

LOCAL_BACKENDS = (LOCAL_BACKEND, "onnx")
"""The backends that run local models."""

BUNDLED_BACKEND = "minilm"
"""The backend with the bundled model only."""

_PURPOSES = {"embedding": "embedding", "language model": "completing prompts"}

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Settings of the server and of the model, which do not fit the next one.
_OF_THE_SERVER = ("url", "key_variable", "key_command")
_OF_THE_MODEL = ("dimensions", "query_prefix", "document_prefix", "price", "price_in", "price_out")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A requested model: BACKEND, BACKEND:MODEL, a local model or its folder, or none.

    Empty fields and 0 are not set.
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
    def chosen_settings(self) -> ModelSettings | LanguageModelSettings:
        """The settings of the chosen model."""
        return self.settings.models if self.table == "models" else self.settings.language_model

    @property
    def name(self) -> str:
        """The model as a person writes it."""
        return model_label(self.chosen_settings)


def model_label(settings: ModelSettings | LanguageModelSettings) -> str:
    """Return BACKEND:MODEL, BACKEND if it has one model only, or none."""
    return f"{settings.backend}:{settings.model}" if settings.model else settings.backend or NONE


def choose(
    request: ModelRequest,
    settings: Settings,
    *,
    backends: Collection[str],
    bundled: Collection[str],
    models: Sequence[LocalModel],
    cwd: Path,
) -> Choice:
    """Return the configuration for a request; raises UsageError for an unknown model.

    `bundled` are the names of the model that comes with ragmem.
    """
    table = "language_model" if request.language else "models"
    present = settings.language_model if request.language else settings.models
    _check_request(request)
    request = replace(request, model=_with_whole_path(request.model, cwd))
    backend, model = _resolve(request, backends=backends, bundled=bundled, models=models, cwd=cwd)
    values: dict[str, str | int | None] = {"backend": backend or None, "model": model or None}
    known = [field.name for field in fields(present)]
    if backend != present.backend:
        values |= dict.fromkeys(_OF_THE_SERVER)
    if (backend, model) != (present.backend, present.model):
        values |= {key: None for key in _OF_THE_MODEL if key in known}
    if request.url:
        values["url"] = request.url
    if request.dimensions:
        values["dimensions"] = request.dimensions
    if request.key_variable:
        values["key_variable"] = request.key_variable
    ordered = {key: values[key] for key in known if key in values}
    defaults = type(present)()
    changes: Any = {key: getattr(defaults, key) if value is None else value for key, value in ordered.items()}
    then: Any = {table: replace(present, **changes)}
    choice = Choice(table, ordered, replace(settings, **then))
    _refuse_overridden(choice, settings)
    return choice


def _check_request(request: ModelRequest) -> None:
    if request.key_variable and not _VARIABLE.fullmatch(request.key_variable):
        # The value may be the key itself, so the message must not repeat it.
        raise UsageError(
            "--key-variable takes the name of an environment variable",
            hint="not the key itself: a key is never written to a file",
        )
    if request.language and request.dimensions:
        raise UsageError("--dimensions is for embedding models", hint="leave it out")


def _with_whole_path(model: str, cwd: Path) -> str:
    """Return BACKEND:FOLDER as every process finds it: the warm one has another working folder."""
    backend, _, folder = model.partition(":")
    relative = backend in LOCAL_BACKENDS and folder.startswith(".")
    return f"{backend}:{(cwd / folder).resolve()}" if relative else model


def _resolve(
    request: ModelRequest,
    *,
    backends: Collection[str],
    bundled: Collection[str],
    models: Sequence[LocalModel],
    cwd: Path,
) -> tuple[str, str]:
    if request.model == NONE:
        if not request.language:
            raise UsageError("there is always an embedding model", hint="ragmem models use minilm")
        return "", ""
    backend, _, model = request.model.partition(":")
    if backend == "onnx":
        if request.language:
            raise UsageError(
                "onnx: computes embedding models and rerankers, no language models",
                hint="ragmem models use --language mlx:OWNER/NAME, or a provider's",
            )
        return backend, _require_graph(model, models)
    if backend in backends:
        return backend, model
    folder = cwd / Path(request.model).expanduser()
    there = examine_folder(request.model, "cache", folder)
    if there is not None and ((folder / CONFIG).is_file() or there.backends == ("onnx",)):
        return there.backends[0], str(folder.resolve())
    if (
        not request.language
        and request.model in bundled
        and all(found.name != request.model for found in models)
    ):
        return BUNDLED_BACKEND, ""
    match = _match(request, models)
    if match is not None:
        return match.backends[0], match.name
    if find_known(request.model) is not None or "/" in backend:
        hint = f"ragmem models pull {request.model} downloads it, if it is on the hub"
    else:
        hint = nearest(backend, sorted(backends))
    raise UsageError(f'"{request.model}" is neither a backend nor a model on this machine', hint=hint)


def _match(request: ModelRequest, models: Sequence[LocalModel]) -> LocalModel | None:
    """Return the local model of a name, None without one.

    Raises UsageError if there are several, or if it is for the other purpose.
    """
    matching = {found.name: found for found in models if request.model.lower() in _short_names(found)}
    if len(matching) > 1:
        raise UsageError(
            f'several models are called "{request.model}"', hint=f"one of {', '.join(sorted(matching))}"
        )
    for name, match in matching.items():
        if match.use == "named entities":
            raise UsageError(
                f'"{name}" finds named entities',
                hint=f'ner = "onnx:{name}" below [extraction] in config.toml uses it',
            )
        if match.use != "unknown" and request.language != (match.use == "language model"):
            other = "" if request.language else " --language"
            anyway = f"{match.backends[0]}:{name} to have it nevertheless"
            raise UsageError(
                f'"{name}" seems to be for {_PURPOSES[match.use]}',
                hint=f"ragmem models use{other} {name}, or {anyway}",
            )
        return match
    return None


def _require_graph(model: str, models: Sequence[LocalModel]) -> str:
    """Return an ONNX model's name on the hub, also for a known name alone; folders as they are.

    Raises UsageError if it is not on this machine.
    """
    name = without_file(model)
    known = find_known(name)
    if known is not None and "/" not in name:
        model, name = model.replace(name, known.hub, 1), known.hub
    if not name or name.startswith(("/", "~", ".")):
        return model
    if not any(found.name == name and "onnx" in found.backends for found in models):
        raise UsageError(
            f'there is no ONNX file of "{name}" on this machine', hint=f"ragmem models pull onnx:{model}"
        )
    return model


def _short_names(found: LocalModel) -> set[str]:
    known = find_known(found.name)
    return {found.name.lower(), found.name.rpartition("/")[2].lower(), known.name.lower() if known else ""}


def _refuse_overridden(choice: Choice, settings: Settings) -> None:
    """Raise UsageError if an environment variable would override the new configuration."""
    for item in settings.origins():
        key, value, origin = item
        table, _, name = key.partition(".")
        if table == choice.table and name in choice.values and origin == variable_name(table, name):
            if value == getattr(choice.chosen_settings, name):
                continue
            raise UsageError(
                f"the variable {origin} is set and overrides config.toml",
                hint=f"unset {origin}, then run the same command again",
            )

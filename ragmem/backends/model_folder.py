"""The folder of a model, as the hub and sentence-transformers lay it out; loads no weights."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

from ragmem.errors import BackendError, ConfigError

FETCH = "fetch the model again: `ragmem models pull`"

TOKENIZER = ("tokenizer.json", "vocab.txt")
"""Files of a tokenizer, of which a model needs one; the first is taken."""

SAMPLE_BYTES = 65_536
"""Read from each end of a file; two trainings of one model have files of equal length with other numbers."""

INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
"""The prefix of questions for Qwen3-Embedding, as its authors write it (without a space at the end)."""

_MOST = 2**31
"""Above every count in a sound configuration; the libraries keep counts in 32 bits."""

_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
_NEWER_POOLINGS = {"mean": "mean", "cls": "cls", "lasttoken": "last"}


def find_folder(model: str, options: Mapping[str, object], *, prefix: str = "") -> Path:
    """Return the folder of a model, given by path or name on the hub; raise BackendError if it is missing.

    The hint pulls it with the prefix, such as "onnx:".
    """
    home = Path.home()
    if model.startswith(("/", "~", ".")):
        with suppress(RuntimeError):  # "~somebody" who is unknown
            folder = Path(model).expanduser()
            if folder.is_dir():
                return folder
        raise BackendError(f'there is no folder "{model}"', hint="give the folder of a model, or its name")
    from ragmem.config.hub import find_model
    from ragmem.config.places import find_places

    given = options.get("models_folder")
    models = Path(str(given)) if given else find_places(os.environ, home=home, cwd=Path.cwd()).data / "models"
    found = find_model(model, models=models, environ=os.environ, home=home)
    if found is None:
        raise BackendError(
            f'the model "{model}" is not on this machine',
            hint=f"`ragmem models pull {prefix}{model}` fetches it",
        )
    return found


def model_name(model: str, folder: Path) -> str:
    """Return the name on the hub of a model, also where its folder was given."""
    if not model.startswith(("/", "~", ".")):
        return model
    repository = folder.parents[1].name if folder.parent.name == "snapshots" else folder.name
    return repository.removeprefix("models--").replace("--", "/", 1)


def read_modules(folder: Path) -> list[tuple[str, Path]]:
    """Return the modules of sentence-transformers, in order: kind and folder; none without a list.

    Raise BackendError where modules.json is not a list of modules.
    """
    listed = read_json_file(folder / "modules.json")
    found = []
    for module in listed if isinstance(listed, list) else []:
        if not isinstance(module, dict):
            raise BackendError(f'"{folder / "modules.json"}" is not a list of modules', hint=FETCH)
        kind = str(module.get("type", "")).rpartition(".")[2]
        found.append((kind, folder / str(module.get("path", ""))))
    return found


def read_pooling(path: Path) -> str:
    """Return the pooling of a module's config.json: mean, cls or last; raise BackendError for others."""
    config = read_json_file(path)
    config = config if isinstance(config, dict) else {}
    chosen = [pooling for key, pooling in _POOLINGS.items() if config.get(key)]
    newer = config.get("pooling_mode")
    if not chosen and isinstance(newer, str) and newer in _NEWER_POOLINGS:
        chosen = [_NEWER_POOLINGS[newer]]
    others = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    if len(chosen) != 1 or set(others) - set(_POOLINGS):
        raise BackendError(
            f'"{path}" requires a pooling that ragmem does not support',
            hint="set pooling to mean, cls or last in [models.options], or use another model",
        )
    return chosen[0]


def first_position(config: Mapping[str, Any]) -> int:
    """Return the position of an encoder's first token: RoBERTa's first positions are for padding."""
    if config["model_type"] == "bert":
        return 0
    padding = config.get("pad_token_id")
    if padding is None:
        return 2
    if type(padding) is not int or padding < 0:
        raise BackendError(f'the configuration has the pad_token_id "{padding}"', hint=FETCH)
    return padding + 1


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value of a configuration is a sound count."""
    return type(value) is int and 0 < value < _MOST


def read_prompts(folder: Path) -> dict[str, str]:
    """Return the prompts that sentence-transformers puts before texts, by their names."""
    config = read_json_file(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts") if isinstance(config, dict) else None
    if not isinstance(prompts, dict):
        return {}
    return {str(role): text for role, text in prompts.items() if isinstance(text, str)}


def read_prefixes(
    folder: Path, *, model_type: object, query_prefix: str, document_prefix: str
) -> tuple[str, str]:
    """Return the prefixes of questions and of texts: those given, else the model's own."""
    prompts = read_prompts(folder)
    default = INSTRUCTION if model_type == "qwen3" and "query" not in prompts else ""
    return (
        query_prefix or prompts.get("query") or default,
        document_prefix or prompts.get("document") or prompts.get("passage") or "",
    )


def find_tokenizer(folder: Path) -> Path | None:
    """Return the file of a model's tokenizer, None if it has none."""
    return next((folder / file for file in TOKENIZER if (folder / file).is_file()), None)


def choose_dimensions(name: str, wanted: int, *, width: int) -> int:
    """Return the length of the stored vectors: as wanted, else all `width` numbers of the model's.

    Raise ConfigError where more are wanted than there are.
    """
    if wanted > width:
        raise ConfigError(
            f'dimensions is {wanted}, the vectors of "{name}" have {width}',
            hint=f"dimensions is at most {width}, or omitted",
        )
    return wanted or width


def make_model_id(name: str, identity: Sequence[object], *, dimensions: int, width: int) -> str:
    """Return a model's id: its name, a hash of what determines a text's vector, its length if shortened."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
    shortened = f"-{dimensions}d" if dimensions < width else ""
    return f"{name.rpartition('/')[2]}-{digest}{shortened}"


def read_json_file(path: Path) -> Any:
    """Return the JSON of a file, None if it is missing; raise BackendError if it cannot be read."""
    try:
        return read_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        # Treated as missing, the model would get a pooling or prefix that it was not trained with.
        raise BackendError(f'"{path}" cannot be read: {error}', hint=FETCH) from error


def read_json(content: bytes) -> Any:
    """Return the value of a JSON text; raise ValueError if it is invalid or nested too deeply."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def fingerprint(files: Iterable[Path]) -> str:
    """Return a hash of the names, lengths and ends of files; it reads some 130 KB of each."""
    found = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        found.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            found.update(file.read(SAMPLE_BYTES))
            file.seek(max(size - SAMPLE_BYTES, 0))
            found.update(file.read(SAMPLE_BYTES))
    return found.hexdigest()

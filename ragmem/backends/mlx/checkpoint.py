"""A chat model's folder: checks of its files, and loading."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragmem.backends.mlx.device import first_line, import_mlx, keep_file_limit
from ragmem.backends.mlx.weights import weight_problems
from ragmem.backends.model_folder import read_json
from ragmem.errors import BackendError

DEFAULT_WINDOW = 4096
"""Tokens of prompt and answer together, if the model's configuration does not say."""

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded chat model."""

    model: Any
    tokenizer: Any
    window: int
    """Most tokens of a prompt and its answer together."""
    vocabulary: int
    """Tokens of the model according to its configuration; the tokenizer may have others."""


def find_problems(folder: Path) -> list[str]:
    """Return the problems of a chat model, one line each: packages and files; loads nothing."""
    missing = [
        f"{package} is not installed: pip install 'ragmem[mlx]'"
        for package, module in (("mlx-lm", "mlx_lm"), ("llguidance", "llguidance"))
        if find_spec(module) is None
    ]
    return [*missing, *_find_file_problems(folder)]


def load(folder: Path) -> Checkpoint:
    """Load the model, offline; only on the device's thread.

    Raise BackendError when mlx-lm is not installed, does not know the model, or the files are not sound.
    """
    if problems := _find_file_problems(folder):
        raise BackendError(problems[0], hint="fetch the model again: `ragmem models pull`")
    import_mlx()
    with _offline():
        try:
            with keep_file_limit():
                import mlx_lm
        except ImportError as error:
            raise BackendError(f"mlx-lm cannot load: {error}", hint="pip install 'ragmem[mlx]'") from error
        try:
            # Never code from the folder, and no question on the terminal whether it may run.
            model, tokenizer, config = mlx_lm.load(
                str(folder), tokenizer_config={"trust_remote_code": False}, return_config=True
            )
        except Exception as error:
            # Four libraries raise all kinds of exceptions for damaged files.
            raise BackendError(
                f'"{folder}" does not load as a chat model: {first_line(error)}',
                hint="use a model that mlx-lm supports, with all its files",
            ) from error
    if not tokenizer.has_chat_template:
        raise BackendError(
            f'"{folder}" has no chat template, so it is not a chat model',
            hint="use an instruct or chat model",
        )
    # Longer texts are cut here on purpose; transformers would print a warning first.
    tokenizer.model_max_length = sys.maxsize
    return Checkpoint(
        model,
        tokenizer,
        window=_read_count(config, "max_position_embeddings", DEFAULT_WINDOW),
        vocabulary=_read_count(config, "vocab_size", sys.maxsize),
    )


def _find_file_problems(folder: Path) -> list[str]:
    try:
        config = read_json((folder / "config.json").read_bytes())
    except OSError:
        return [f'"{folder}" has no config.json']
    except ValueError:
        return [f'config.json of "{folder}" is not JSON']
    if not isinstance(config, dict) or not config.get("model_type"):
        return [f'config.json of "{folder}" does not say which model_type it is']
    return [*_find_missing_template(folder), *weight_problems(folder)]


def _find_missing_template(folder: Path) -> list[str]:
    if any((folder / name).exists() for name in ("chat_template.jinja", "chat_template.json")):
        return []
    try:
        config = read_json((folder / "tokenizer_config.json").read_bytes())
    except (OSError, ValueError):
        return [f'"{folder}" has no tokenizer_config.json that can be read']
    if not isinstance(config, dict) or not (config.get("chat_template") or config.get("chat_template_type")):
        return [f'"{folder}" has no chat template, so it is not a chat model']
    return []


def _read_count(config: dict[str, Any], name: str, default: int) -> int:
    for part in (config, config.get("text_config")):
        count = part.get(name) if isinstance(part, dict) else None
        if isinstance(count, int) and count > 0:
            return count
    return default


@contextmanager
def _offline() -> Iterator[None]:
    """Set the variables that keep the libraries off the network while they are imported."""
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

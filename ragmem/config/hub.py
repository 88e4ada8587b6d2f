"""Find models of the Hugging Face hub on this machine; nothing is fetched."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

MODELS = "models"
"""The folder below the data folder in which `ragmem models pull` stores models."""

SEPARATOR = "--"
"""Replaces the slash between owner and name in the name of a model's folder."""

_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


def folder_of(data: Path, name: str) -> Path:
    """Return the folder of a hub model in ragmem's own folder of models."""
    return data / MODELS / name.replace("/", SEPARATOR)


def without_file(model: str) -> str:
    """Return the name or folder of a model without its optional ONNX file: NAME@FILE."""
    name, _, _ = model.rpartition("@")
    # Not pathlib: to it an unknown ~user is an error.
    return model if not name or os.path.isdir(os.path.expanduser(model)) else name  # noqa: PTH111, PTH112


def hub_cache(environ: Mapping[str, str], *, home: Path) -> Path:
    """Return the folder in which huggingface_hub keeps models on this machine."""
    if chosen := environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(chosen)
    if chosen := environ.get("HF_HOME"):
        return Path(chosen) / "hub"
    cache = environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else home / ".cache") / "huggingface" / "hub"


def snapshot_of(folder: Path) -> Path | None:
    """Return the snapshot of a model in the hub's cache: that of its branch main, else the latest."""
    try:
        revision = (folder / "refs" / "main").read_text(encoding="ascii").strip()
        main = folder / "snapshots" / revision
        if revision and main.is_dir():  # a write that was interrupted may have left an empty file
            return main
    except (OSError, ValueError):
        pass
    return max(subfolders(folder / "snapshots"), key=lambda path: path.stat().st_mtime, default=None)


def subfolders(parent: Path) -> Iterator[Path]:
    """Yield the subfolders of a folder by name, without hidden ones; none if it cannot be read."""
    try:
        entries = sorted(parent.iterdir())
    except OSError:  # no such folder, or no permission
        return
    yield from (entry for entry in entries if not entry.name.startswith(".") and entry.is_dir())


def find_model(name: str, *, models: Path, environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the folder of a model by its name on the hub; None if there is none or the name is invalid.

    `models`, ragmem's own folder of models, is searched before the hub's cache.
    """
    if not _NAME.fullmatch(name):
        return None
    own = models / name.replace("/", SEPARATOR)
    if own.is_dir():
        return own
    return snapshot_of(hub_cache(environ, home=home) / f"models--{name.replace('/', SEPARATOR)}")

"""Where models of the Hugging Face hub lie on this machine; nothing is fetched."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

MODELS = "models"
"""The folder below the data folder in which `ragmem models pull` keeps what it fetched."""

SEPARATOR = "--"
"""Between the owner and the name of a model, in the name of its folder: a slash cannot stand there."""

_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


def folder_of(data: Path, name: str) -> Path:
    """Return the folder that a model of the hub has in ragmem's own folder."""
    return data / MODELS / name.replace("/", SEPARATOR)


def hub_cache(environ: Mapping[str, str], *, home: Path) -> Path:
    """Return the folder in which huggingface_hub keeps models on this machine."""
    if chosen := environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(chosen)
    if chosen := environ.get("HF_HOME"):
        return Path(chosen) / "hub"
    cache = environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else home / ".cache") / "huggingface" / "hub"


def snapshot_of(folder: Path) -> Path | None:
    """Return the files of a model in the hub's cache: of its branch main, else of what was fetched last."""
    try:
        revision = (folder / "refs" / "main").read_text(encoding="ascii").strip()
        main = folder / "snapshots" / revision
        if revision and main.is_dir():  # a file that was torn while it was written may be empty
            return main
    except (OSError, ValueError):
        pass
    return max(subfolders(folder / "snapshots"), key=lambda path: path.stat().st_mtime, default=None)


def subfolders(parent: Path) -> Iterator[Path]:
    """Yield the folders in a folder by name, without hidden ones; none where it cannot be read."""
    try:
        entries = sorted(parent.iterdir())
    except OSError:  # no such folder, or not ours to read: there is nothing in it for us
        return
    yield from (entry for entry in entries if not entry.name.startswith(".") and entry.is_dir())


def find_model(name: str, *, models: Path, environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the folder of a model, by its name on the hub: ragmem's own comes before the hub's cache.

    `models` is ragmem's own folder of models.

    None where the model is in neither, or the name is none that the hub would have.
    """
    if not _NAME.fullmatch(name):
        return None
    own = models / name.replace("/", SEPARATOR)
    if own.is_dir():
        return own
    return snapshot_of(hub_cache(environ, home=home) / f"models--{name.replace('/', SEPARATOR)}")

"""Cache what is known about a project's texts in a file: arrays of hashes and numbers.

What is lost, damaged or of other rules is found again.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

CACHE = "gc"
"""The folder in the cache folder of a home."""

Arrays = Mapping[str, NDArray[np.generic]]

_RULES = "rules"


def read_arrays(file: Path, rules: bytes) -> Arrays:
    """Return the arrays of a file by name; none where it is missing, damaged or written by other rules."""
    with (
        suppress(OSError, ValueError, TypeError, KeyError, EOFError, BadZipFile),
        file.open("rb") as opened,
        np.load(opened, allow_pickle=False) as stored,
    ):
        if stored[_RULES].tobytes() == rules:
            return {name: stored[name] for name in stored.files}
    return {}


def write_arrays(file: Path, rules: bytes, arrays: Arrays) -> None:
    """Replace a file at once; where it cannot be written, texts are read again the next time."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open(aside, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as written:
                np.savez(written, **{**arrays, _RULES: np.frombuffer(rules, np.uint8)})  # type: ignore[arg-type]
            aside.replace(file)
        finally:
            aside.unlink(missing_ok=True)


def remove_others(folder: Path, names: Iterable[str]) -> None:
    """Remove the files of projects that are gone."""
    with suppress(OSError):
        for file in {*folder.iterdir()} - {folder / name for name in names}:
            file.unlink()

"""The fastest engine on this machine: measured once, and stored in the cache folder.

The file can be made again: if it is missing, damaged, from another machine or not writable, the next large
embedding measures for less than a second.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.errors import BackendError

if TYPE_CHECKING:
    from ragmem.backends.minilm.engines import Engine

FILE = "minilm-engine.json"
LIBRARIES = {"numpy": "numpy", "onnx": "onnxruntime", "mlx": "mlx"}
"""The library of each engine; a new version is measured again."""

WORTH_TOKENS = 8192
"""Tokens of a call from which the engines are measured: about three seconds of work for the slowest."""
TURNS = 2


def machine_key(engines: Sequence[str], *, processor: str) -> dict[str, str]:
    """Return the key of a measurement: the processor and the versions of the engines' libraries."""
    return {"processor": processor} | {LIBRARIES[name]: _version(LIBRARIES[name]) for name in engines}


def recall_engine(cache: Path, key: Mapping[str, str]) -> str | None:
    """Return the fastest engine under this key, or None."""
    try:
        stored = json.loads((cache / FILE).read_text(encoding="utf-8"))
        known = stored["key"] == key and stored["engine"] in stored["tokens_per_second"]
        return str(stored["engine"]) if known else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember_engine(cache: Path, key: Mapping[str, str], speeds: Mapping[str, float]) -> None:
    """Store the fastest engine under this key; nothing happens if the folder is not writable."""
    document = {
        "key": key,
        "engine": max(speeds, key=lambda name: speeds[name]),
        "tokens_per_second": {name: round(speed) for name, speed in speeds.items()},
    }
    unfinished = cache / f"{FILE}.{os.getpid()}"
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
        unfinished.replace(cache / FILE)
    except OSError:  # read-only, or full: the next process measures again
        with suppress(OSError):
            unfinished.unlink()


def measure(
    engines: Sequence["Engine"], sequences: Sequence[Sequence[int]], *, threads: int
) -> dict[str, float]:
    """Return the speed of each engine in tokens per second; each gets a batch of its size.

    An engine that fails is left out; raises BackendError if all fail.
    """
    samples = {engine.id: _sample(sequences, engine.batch_tokens) for engine in engines}
    working = []
    failure = BackendError("there is no engine to measure")
    for engine in engines:
        try:  # the first run of a library makes its own work space
            engine.forward(samples[engine.id][:1])
            working.append(engine)
        except BackendError as error:
            failure = error
    if not working:
        raise failure
    best = {engine.id: 0.0 for engine in working}
    for _ in range(TURNS):
        for engine in working:
            sample = samples[engine.id]
            started = time.perf_counter()
            engine.forward(sample)
            speed = sum(map(len, sample)) / (time.perf_counter() - started)
            # MLX has one device; the other engines run in each thread.
            best[engine.id] = max(best[engine.id], speed * (1 if engine.id == "mlx" else threads))
    return best


def _sample(sequences: Sequence[Sequence[int]], tokens: int) -> list[Sequence[int]]:
    sample: list[Sequence[int]] = []
    for sequence in sequences:
        sample.append(sequence)
        if sum(map(len, sample)) >= tokens:
            break
    return sample


def _version(library: str) -> str:
    """Return the version of an installed library by the name of its metadata, without importing anything."""
    spec = find_spec(library)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place).parent
        with suppress(OSError):
            found = [path.name for path in folder.glob(f"{library}-*.dist-info")]
            if found:
                return min(found).removesuffix(".dist-info").partition("-")[2]
    return "unknown"

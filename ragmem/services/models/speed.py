"""Measure an embedding model on texts of the memory, before it is chosen."""

import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.domain.model import State
from ragmem.ports import Embedder
from ragmem.services.models.trial import PAIRS
from ragmem.storage.home.catalog import Catalog

SAMPLE = 32
"""Maximum number of texts that are embedded."""

MEASURE_S = 3.0
"""Seconds that the measurement should take, once the model is loaded; a slow model embeds fewer texts."""

SLOW_S = 1800.0
"""A change that takes longer deserves a warning."""

_KIBIBYTE = 1024


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of a model here: it embedded `texts`, and a change would make `vectors` in `seconds`.

    `peak_bytes` is the most memory that this process had at a time.
    """

    texts: int
    texts_per_second: float
    peak_bytes: int
    vectors: int
    seconds: float


def sample_texts(catalog: Catalog) -> list[str]:
    """Return texts as they are embedded, spread evenly over the memory; example notes for an empty one."""
    ids = sorted(catalog.memories.ids(states=[State.INDEXED])) if catalog.exists() else []
    chosen = ids[:: max(1, len(ids) // SAMPLE)][:SAMPLE]
    memories = catalog.memories.get(chosen)
    chunks = [catalog.memories.chunks(memories[key]) for key in chosen if key in memories]
    # The middle one of each: first chunks alone would be shorter than the rest.
    return [one[len(one) // 2].searchable for one in chunks if one] or [note for note, _ in PAIRS]


def measure_speed(embedder: Embedder, texts: Sequence[str], *, vectors: int) -> Speed:
    """Embed some texts with a loaded model, and return the speed; raises BackendError if the model fails.

    `vectors` is the number that a change of the model has to make.
    """
    began = time.perf_counter()
    embedder.embed(texts[:1], role="document")
    single = max(time.perf_counter() - began, 1e-6)
    some = texts[: max(2, min(len(texts), int(MEASURE_S / single)))]
    began = time.perf_counter()
    embedder.embed(some, role="document")
    rate = len(some) / max(time.perf_counter() - began, 1e-6)
    return Speed(len(some), rate, peak_memory(), vectors, vectors / rate)


def peak_memory() -> int:
    """Return the most bytes of memory that this process had at a time."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * _KIBIBYTE


def describe_speed(speed: Speed) -> str:
    """Return a line about a speed, for people."""
    told = (
        f"{speed.texts_per_second:,.3g} texts a second, {speed.peak_bytes / 1e9:.1f} GB of memory at the peak"
    )
    if speed.vectors:
        told += f"; this memory's {speed.vectors:,} vectors take {format_seconds(speed.seconds)}"
    return told


def format_seconds(seconds: float) -> str:
    """Return a duration in the unit that suits it: "12 s", "4 min", "3.5 h"."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"

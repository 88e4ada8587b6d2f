"""How good a hit must be in this store: what questions find there that it has no answer to.

A relevance of 0.35 means much in a small store on bread and less in a large one on everything: the best of
many chunks is near by chance. So a list of generic questions is asked once, and the mean of their best
cosines moves the floor, so that about the same share of good questions falls below it in every store.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import orjson

from ragmem.domain.model import State
from ragmem.ports import Store
from ragmem.services.retrieval.calibration_questions import QUESTIONS
from ragmem.storage.fulltext.fulltext import search as search_text
from ragmem.storage.fulltext.terms import LexicalHits
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Database

KEY = "calibration/"
"""Before the id of the model, in the catalog's table `meta`."""

FROM_CHUNKS = 300
"""A smaller store says too little; the default holds there."""

GROWTH = 1.5
"""A store that has grown, or shrunk, by this factor is measured anew."""

OWN = 40
"""Memories of the store whose titles are asked, to see what a question with an answer finds."""

BUNDLED = "all-MiniLM-L6-v2"
"""Beginning of the ids of the model that the default was measured with, whatever its weights' form."""

_DEPTH = 10
_SENTENCE = re.compile(r"[.!?]\s|\n")
_LONGEST_QUESTION = 200


@dataclass(frozen=True, slots=True)
class Spread:
    """What a number was over some questions."""

    mean: float
    deviation: float
    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread; `low` and `high` leave out one in twenty values at each end."""
        import statistics  # noqa: PLC0415 - milliseconds, which only a measurement pays

        ordered = sorted(values)
        last = len(ordered) - 1
        return cls(
            statistics.fmean(ordered),
            statistics.pstdev(ordered),
            ordered[round(0.05 * last)],
            statistics.median(ordered),
            ordered[round(0.95 * last)],
        )


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a store of so many chunks gives for questions without an answer, and for its own titles.

    `cosine` and `coverage` are of the best hit of each question without an answer, `own` is the cosine of a
    memory with its title (0 where it was not among the first hits).
    """

    model: str
    chunks: int
    cosine: Spread
    coverage: Spread
    own: Spread | None = None


DEFAULT = Calibration("", 0, Spread(0.1, 0.06, 0.02, 0.1, 0.2), Spread(0.34, 0.14, 0.15, 0.33, 0.6))
"""Of a store that was not measured, a small one: sets of 30 and 128 memories gave a mean of 0.06 and 0.17."""


def due(known: Calibration | None, chunks: int) -> bool:
    """Tell whether a store of so many chunks is to be measured: for the first time, or anew."""
    if chunks < FROM_CHUNKS:
        return False
    return known is None or not known.chunks / GROWTH < chunks < known.chunks * GROWTH


def calibrate(catalog: Catalog, store: Store, *, model: str) -> Calibration:
    """Ask the generic questions and the titles of some memories, and return what was found; writes nothing.

    About two milliseconds and one search for each. Raises BackendError where the embedder fails.
    """
    cosines, coverages = [], []
    for question in QUESTIONS:
        hits = store.search(question, limit=1)
        cosines.append(hits[0].score if hits else 0.0)
        coverages.append(_coverage(search_text(catalog.database, question, limit=_DEPTH)))
    own = [
        next((hit.score for hit in store.search(title, limit=_DEPTH) if hit.memory_id == key), 0.0)
        for key, title in _titles(catalog)
    ]
    return Calibration(
        model,
        store.statistics()["chunks"],
        Spread.of(cosines),
        Spread.of(coverages),
        Spread.of(own) if own else None,
    )


def _coverage(hits: LexicalHits) -> float:
    of_memories = [coverage for _, coverage in hits.memories.values()]
    return max([*of_memories, *hits.coverage.values()], default=0.0)


def _titles(catalog: Catalog) -> list[tuple[str, str]]:
    """Return some memories, spread evenly over all ids, each with its title or its first sentence."""
    ids = sorted(catalog.memories.ids(states=[State.INDEXED]))
    chosen = ids[:: max(1, len(ids) // OWN)][:OWN]
    found = []
    for key, memory in catalog.memories.get(chosen).items():
        text = memory.title or _SENTENCE.split(memory.text.strip(), maxsplit=1)[0]
        if text.strip():
            found.append((key, text[:_LONGEST_QUESTION]))
    return found


def read(database: Database, model: str) -> Calibration | None:
    """Return what was measured under a model, None where nothing was; creates nothing."""
    text = meta.read(database, KEY + model)
    return None if text is None else _from_json(text)


def known(database: Database, model: str) -> Calibration | None:
    """Return what was measured, else what is usual for the bundled model; None for any other model."""
    return read(database, model) or (DEFAULT if model.startswith(BUNDLED) else None)


def write(database: Database, calibration: Calibration) -> None:
    """Keep what was measured, in the place of what was measured before under this model."""
    with database.write() as connection:
        meta.put(connection, KEY + calibration.model, orjson.dumps(asdict(calibration)).decode())


def _from_json(text: str) -> Calibration | None:
    """Return a calibration; None for what this release cannot read, so that it is measured anew."""
    try:
        content = orjson.loads(text)
        spreads = {
            name: Spread(**{one.name: float(content[name][one.name]) for one in fields(Spread)})
            for name in ("cosine", "coverage", "own")
            if content.get(name) is not None
        }
        return Calibration(str(content["model"]), int(content["chunks"]), **spreads)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def keep_current(catalog: Catalog, store: Store, *, model: str) -> Calibration | None:
    """Measure the store where that is due, and keep it; return what holds now, None for the default.

    Raises BackendError where the embedder fails.
    """
    known = read(catalog.database, model)
    if not due(known, store.statistics()["chunks"]):
        return known
    measured = calibrate(catalog, store, model=model)
    write(catalog.database, measured)
    return measured

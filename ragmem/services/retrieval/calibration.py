"""Calibrate the floor of relevance for a store with questions that it has no answer to.

A relevance of 0.35 means much in a small store about bread and less in a large one about everything: the best
of many chunks is near by chance. So a list of generic questions is asked once, and the mean of their best
cosines moves the floor, so that about the same share of good questions falls below it in every store.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from ragmem.domain.model import State
from ragmem.domain.text.language import is_foreign
from ragmem.frozen import dataclass
from ragmem.patterns import lazy
from ragmem.ports import Embedder, Store
from ragmem.services.vectors.cosine_scale import ELSEWHERE, OWN, CosineScale, scale_between
from ragmem.storage.fulltext.fulltext import search as search_text
from ragmem.storage.fulltext.terms import LexicalHits
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUESTIONS = Path(__file__).with_name("calibration_questions.txt")
"""A question a line that a store usually has no answer to: chance hits show how high a score must be."""

EVERYDAY = 50
"""The first of them are about everyday things, the others about technical ones."""

KEY = "calibration/"
"""Prefix of the model's id in the catalog's table `meta`."""

FROM_CHUNKS = 300
"""Minimum number of chunks for a measurement; a smaller store uses the default."""

GROWTH = 1.5
"""A store that has grown or shrunk by this factor is measured again."""

TITLES = 40
"""Number of memories whose titles are asked as questions with an answer."""

OTHER_NOTES, RIGHT_NOTES = 0.03, 0.477
"""Mean cosines of the bundled model in PAIRS of models/trial.py: a question with other notes, and its own."""

BUNDLED = "all-MiniLM-L6-v2"
"""Prefix of the ids of the model that the default was measured with, in any weight format."""

_DEPTH = 10
_SENTENCE = lazy(r"[.!?]\s|\n")
_LONGEST_QUESTION = 200


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of a number over some questions."""

    mean: float
    deviation: float
    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread; `low` and `high` omit one in twenty values at each end."""
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
    """The results for questions without an answer, and for titles, in a store of so many chunks.

    `cosine` and `coverage` are those of the best hit of each question without an answer; `own` is the cosine
    of a memory with its title (0 if it was not among the first hits).
    """

    model: str
    chunks: int
    cosine: Spread
    coverage: Spread
    own: Spread | None = None


DEFAULT = Calibration("", 0, Spread(0.1, 0.06, 0.02, 0.1, 0.2), Spread(0.34, 0.14, 0.15, 0.33, 0.6))
"""For small stores, which are not measured: sets of 30 and 128 memories gave a mean of 0.06 and 0.17."""


def calibration_of_model(embedder: Embedder) -> Calibration | None:
    """Return a calibration for a store that is too small to be measured, from notes and questions of ours.

    It embeds two dozen short texts. None: the model does not know them apart. Raises BackendError if the
    model fails.
    """
    from ragmem.services.models.trial import LEAST_FOUND, PAIRS  # noqa: PLC0415 - no question needs it

    notes = embedder.embed([note for note, _ in PAIRS], role="document")
    cosines = embedder.embed([question for _, question in PAIRS], role="query") @ notes.T
    if (cosines.argmax(axis=1) == range(len(notes))).sum() < LEAST_FOUND:
        return None
    right = float(cosines.diagonal().mean())
    others = float((cosines.sum() - cosines.diagonal().sum()) / (cosines.size - len(notes)))
    unit = (right - others) / (RIGHT_NOTES - OTHER_NOTES)
    elsewhere, own = (others + unit * (landmark - OTHER_NOTES) for landmark in (ELSEWHERE, OWN))
    spread = unit * DEFAULT.cosine.deviation
    return Calibration(
        embedder.model_id,
        0,
        Spread(elsewhere, spread, elsewhere - 2 * spread, elsewhere, elsewhere + 2 * spread),
        DEFAULT.coverage,
        Spread(own, spread, own - 2 * spread, own, own + 2 * spread),
    )


def on_bundled_scale(known: Calibration | None) -> tuple[Calibration | None, CosineScale | None]:
    """Return the calibration as one of the bundled model, and the line that brings cosines to its scale.

    There is no line for the bundled model itself, or without a measurement. Where the model does not know
    texts apart there is no calibration either: any silence would be chance.
    """
    if known is None or known.own is None or is_bundled(known):
        return known, None
    elsewhere = known.cosine
    scale = scale_between(elsewhere.mean, known.own.median, deviation=elsewhere.deviation)
    if scale is None:
        return None, None
    cosine = replace(elsewhere, mean=scale(elsewhere.mean), deviation=scale.slope * elsewhere.deviation)
    return replace(known, cosine=cosine), scale


def is_bundled(known: Calibration) -> bool:
    """Return whether the bundled model was measured."""
    return not known.model or known.model.startswith(BUNDLED)


def is_glossed(text: str, known: Calibration | None) -> bool:
    """Return whether the measured model reads a gloss of the text, because it knows only English."""
    return known is not None and is_bundled(known) and is_foreign(text)


@cache
def generic_questions() -> tuple[str, ...]:
    """Return the questions that a store usually has no answer to."""
    return tuple(QUESTIONS.read_text(encoding="utf-8").splitlines())


class EverydayQuestions:
    """Questions about everyday things as vectors, which are made for the first text."""

    def __init__(self, open_embedder: Callable[[], Embedder]) -> None:
        self._open_embedder = open_embedder
        self._vectors: NDArray[np.float32] | None = None

    def cosine(self, text: str) -> float:
        """Return the cosine of a text with the nearest of them; raises BackendError if the embedder fails."""
        embedder = self._open_embedder()
        if self._vectors is None:
            self._vectors = embedder.embed(generic_questions()[:EVERYDAY], role="document")
        (vector,) = embedder.embed([text], role="query")
        return float((self._vectors @ vector).max())


def is_due(known: Calibration | None, chunks: int, *, least: int | None = None) -> bool:
    """Return whether a store of so many chunks is to be measured (again); `least` replaces FROM_CHUNKS."""
    if chunks < (FROM_CHUNKS if least is None else least):
        return False
    return known is None or not known.chunks / GROWTH < chunks < known.chunks * GROWTH


def calibrate(catalog: Catalog, store: Store, *, model: str, embedder: Embedder | None = None) -> Calibration:
    """Ask the generic questions and the titles of some memories, and return the results; writes nothing.

    Each takes one search of about two milliseconds. Where the titles are no questions, such as dates, the
    scale of the embedder's cosines comes from notes of ours. Raises BackendError if the embedder fails.
    """
    cosines, coverages = [], []
    for question in generic_questions():
        hits = store.search(question, limit=1)
        cosines.append(hits[0].score if hits else 0.0)
        coverages.append(_coverage(search_text(catalog.database, question, limit=_DEPTH)))
    own = [
        next((hit.score for hit in store.search(title, limit=_DEPTH) if hit.memory_id == key), 0.0)
        for key, title in _titles(catalog)
    ]
    measured = Calibration(
        model,
        store.statistics()["chunks"],
        Spread.of(cosines),
        Spread.of(coverages),
        Spread.of(own) if own else None,
    )
    if embedder is None or is_bundled(measured) or on_bundled_scale(measured)[1] is not None:
        return measured
    ours = calibration_of_model(embedder)
    return measured if ours is None else replace(measured, cosine=ours.cosine, own=ours.own)


def _coverage(hits: LexicalHits) -> float:
    of_memories = [coverage for _, coverage in hits.memories.values()]
    return max([*of_memories, *hits.coverage.values()], default=0.0)


def _titles(catalog: Catalog) -> list[tuple[str, str]]:
    """Return (id, title or first sentence) of some memories, spread evenly over all ids."""
    ids = sorted(catalog.memories.ids(states=[State.INDEXED]))
    chosen = ids[:: max(1, len(ids) // TITLES)][:TITLES]
    found = []
    for key, memory in catalog.memories.get(chosen).items():
        text = memory.title or _SENTENCE.split(memory.text.strip(), maxsplit=1)[0]
        if text.strip():
            found.append((key, text[:_LONGEST_QUESTION]))
    return found


def read(database: Database, model: str) -> Calibration | None:
    """Return the measurement for a model, None if there is none; creates nothing."""
    text = meta.read(database, KEY + model)
    return None if text is None else _from_json(text)


def calibration_for(database: Database, model: str) -> Calibration | None:
    """Return the measurement, else the default of the bundled model; None for other models."""
    return read(database, model) or (DEFAULT if model.startswith(BUNDLED) else None)


def write(database: Database, calibration: Calibration) -> None:
    """Store a measurement; it replaces the previous one of the model."""
    with database.write() as connection:
        meta.put(connection, KEY + calibration.model, orjson.dumps(asdict(calibration)).decode())


def _from_json(text: str) -> Calibration | None:
    """Return a calibration; None if this release cannot read it, so that it is measured again."""
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


def refresh_calibration(
    catalog: Catalog,
    store: Store,
    *,
    model: str,
    embedder: Embedder | None = None,
    least: int | None = None,
) -> Calibration | None:
    """Measure the store if that is due, and store the result; return the current one, None for the default.

    Raises BackendError if the embedder fails.
    """
    known = read(catalog.database, model)
    if not is_due(known, store.statistics()["chunks"], least=least):
        return known
    measured = calibrate(catalog, store, model=model, embedder=embedder)
    write(catalog.database, measured)
    return measured

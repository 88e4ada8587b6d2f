"""Vectors of real texts by the bundled model, with mixtures of them if there are too few."""

from pathlib import Path

import common
import numpy as np
from inputs.retrieval_sets import read_lines
from inputs.vector_cache import VectorCache
from numpy.typing import NDArray

from ragmem.api.memory import Ragmem
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.chunking import chunk

Vectors = NDArray[np.float32]

NOISE = 0.3
"""Length of what is added to a mixture, of which the length is 1."""

NEARER = (0.5, 1.0)
"""Share of the one of two vectors in a mixture."""

_PART = 50_000


def texts(data: Path, count: int | None) -> tuple[list[str], list[str]]:
    """Return distinct chunks of the sets' documents, and their questions; at most `count` chunks."""
    documents: dict[str, None] = {}
    questions: dict[str, None] = {}
    for folder in sorted(path.parent for path in data.glob("*/queries.jsonl")):
        if count is not None and len(documents) >= count:
            break
        if not (folder / "docs.jsonl").is_file():
            continue
        questions |= dict.fromkeys(row["query"] for row in read_lines(folder / "queries.jsonl"))
        for row in read_lines(folder / "docs.jsonl"):
            documents |= dict.fromkeys(
                part.searchable for part in chunk(row["text"], memory_id=row["id"], redactor=DEFAULT)
            )
    if not documents or not questions:
        raise SystemExit(f"there is no set in {data}")
    return list(documents)[:count], list(questions)


def embedded(data: Path, cache: Path, count: int | None) -> tuple[Vectors, Vectors, str]:
    """Return the distinct vectors of the chunks, those of the questions, and the model's id."""
    documents, questions = texts(data, count)
    common.tell(f"{len(documents):,} texts, {len(questions):,} questions")
    with common.temporary_folder("models") as place:
        memory = Ragmem.open(environ=common.environment(place), home=place, cwd=place)
        embedder = memory.models.embedder
        known = VectorCache(cache, embedder)
        found = np.concatenate(
            [
                known.embed(documents[start : start + 500], role="document")
                for start in range(0, len(documents), 500)
            ]
        )
        asked = known.embed(questions, role="query")
        model = embedder.model_id
        known.close()
        memory.close()
    # Texts that differ in spaces only have one vector, and then it is chance which of them is found.
    _, first = np.unique(found.round(5), axis=0, return_index=True)
    return found[np.sort(first)], asked, model


def extend(real: Vectors, count: int, chance: np.random.Generator) -> Vectors:
    """Return `count` unit vectors, the real ones first and then mixtures of two of them with some noise."""
    result = np.empty((count, real.shape[1]), np.float32)
    result[: len(real)] = real[:count]
    for start in range(len(real), count, _PART):
        size = min(_PART, count - start)
        share = chance.uniform(*NEARER, size=(size, 1)).astype(np.float32)
        mixed = share * real[chance.integers(len(real), size=size)]
        mixed += (1 - share) * real[chance.integers(len(real), size=size)]
        noise = chance.standard_normal((size, real.shape[1]), dtype=np.float32)
        result[start : start + size] = _unit(_unit(mixed) + NOISE * _unit(noise))
    return result


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def nearest(vectors: Vectors, queries: Vectors, count: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each query the nearest of some rows by exact float32, best first."""
    best, scores = [], []
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        found = queries @ vectors[part].T
        kept = np.argpartition(-found, min(count, len(part)) - 1, axis=1)[:, :count]
        best.append(part[kept])
        scores.append(np.take_along_axis(found, kept, 1))
    order = np.argsort(-np.concatenate(scores, axis=1), axis=1)[:, :count]
    return np.take_along_axis(np.concatenate(best, axis=1), order, 1)

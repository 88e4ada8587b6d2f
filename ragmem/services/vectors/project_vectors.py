"""The vectors of a project's memories: the mean of those of their chunks.

Most memories have one or two chunks. The mean of a long text represents its topic, whereas the nearest pair
of chunks would match everything that one of its paragraphs touches.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ragmem.ports import VectorIndex
from ragmem.services.vectors.near_vectors import Rows, Space, Vectors


def read_space(
    store: VectorIndex, project: str, specs: Mapping[str, str], *, all_of_project: bool
) -> tuple[list[str], Space]:
    """Return the memories of `specs` (id -> spec) that have vectors, and their vectors in the same order.

    With `all_of_project` the whole project is read, because they are most of its memories.
    """
    places: dict[str, int] = {}
    sums = np.zeros((0, 0), np.float32)
    for block in store.vector_blocks(project, memory_ids=None if all_of_project else list(specs)):
        if not len(sums):
            sums = np.zeros((len(specs), block.vectors.shape[1]), np.float32)
        rows = [n for n, key in enumerate(block.memory_ids) if key in specs]
        found = np.array([places.setdefault(block.memory_ids[n], len(places)) for n in rows], np.intp)
        _add(sums, found, block.vectors[rows])
    matrix = sums[: len(places)]
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), np.float32(1e-12))
    return list(places), Space(matrix, _codes([specs[key] for key in places]))


def _add(sums: Vectors, places: Rows, vectors: Vectors) -> None:
    """Add each vector to the sum at its place."""
    each, firsts = np.unique(places, return_index=True)
    sums[each] += vectors[firsts]
    # Few memories have more than one: these are added one by one, which takes twenty times as long.
    more = np.ones(len(places), np.bool_)
    more[firsts] = False
    np.add.at(sums, places[more], vectors[more])


def _codes(specs: Sequence[str]) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    numbers = {"": 0}
    return np.array([numbers.setdefault(spec, len(numbers)) for spec in specs], np.int32)

"""The vectors of memories, from those of their chunks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragmem.ports import VectorBlock
from ragmem.services.vectors.project_vectors import read_space


class Shown:
    """A store that shows given chunks, three at a time."""

    def __init__(self, chunks):
        self.chunks = chunks

    def vector_blocks(self, project, *, memory_ids=None):
        chunks = [one for one in self.chunks if memory_ids is None or one[0] in memory_ids]
        for start in range(0, len(chunks), 3):
            ids, vectors = zip(*chunks[start : start + 3], strict=True)
            yield VectorBlock(["chunk"] * len(ids), list(ids), np.array(vectors, np.float32))


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.tuples(*[st.integers(-9, 9)] * 2))),
    st.sets(st.sampled_from("abcdef")),
    st.booleans(),
)
def test_a_memory_has_the_middle_of_its_chunks(chunks, wanted, whole):
    specs = dict.fromkeys(sorted(wanted), "")
    ids, space = read_space(Shown(chunks), "atlas", specs, all_of_project=whole)
    assert ids == list(dict.fromkeys(key for key, _ in chunks if key in wanted))
    for key, vector in zip(ids, space.matrix, strict=True):
        middle = np.sum([one for other, one in chunks if other == key], axis=0)
        assert np.allclose(vector, middle / max(np.linalg.norm(middle), 1e-12), atol=1e-6)
    assert space.specs.tolist() == [0] * len(ids)

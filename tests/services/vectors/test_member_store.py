"""The searches of a member, who sees few of the nearest chunks of a store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import pytest

from ragmem.domain.model import Hit
from ragmem.ports import Store
from ragmem.services.vectors import member_store
from ragmem.services.vectors.member_store import FEW, MemberStore
from ragmem.storage.home.catalog import Catalog

CHUNKS = [f"c{number}" for number in range(9_000)]


class Shared:
    """A store of everybody's chunks, the nearest first, which notes how many it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    @property
    def native(self) -> "Shared":
        return self

    def search(self, _query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        del projects
        self.asked.append(limit)
        return [Hit(chunk, "m", rank, 0.5) for rank, chunk in enumerate(CHUNKS[:limit], 1)]

    def native_query(self, _query: str, _mode: str, *, limit: int, **_: Any) -> Mapping[str, Any]:
        self.asked.append(limit)
        return {"status": "success", "data": {"chunks": [{"chunk_id": chunk} for chunk in CHUNKS[:limit]]}}


class Member(MemberStore):
    """A member who sees the chunks at some places, and a half of all by their number."""

    def __init__(self, shared: Shared, visible: Iterable[str]) -> None:
        super().__init__(cast("Store", shared), cast("Catalog", None))
        self.visible = set(visible)

    def share(self, _projects: Sequence[str] | None) -> Any:
        return member_store._Share([], FEW * 4, FEW * 8)

    def seen(self, chunk_ids: Iterable[str]) -> set[str]:
        return self.visible.intersection(chunk_ids)


@pytest.mark.parametrize("first", [0, 20, 700, 3_000])
def test_a_search_goes_on_until_it_has_enough_of_what_the_member_sees(first: int) -> None:
    shared = Shared()
    found = Member(shared, CHUNKS[first:]).search("tide", limit=10)
    assert [hit.chunk_id for hit in found] == CHUNKS[first : first + 10]
    assert shared.asked == sorted(set(shared.asked))


def test_a_search_ends_at_the_most_that_are_asked_for() -> None:
    shared = Shared()
    assert not Member(shared, CHUNKS[-10:]).search("tide", limit=10)
    assert shared.asked[-1] == member_store.MOST_ASKED


def test_modes_of_the_store_are_asked_for_as_many_as_the_share_of_a_member_needs() -> None:
    shared = Shared()
    modes = Member(shared, CHUNKS[1::2]).native
    assert modes is not None
    found = modes.native_query("tide", "hybrid", keywords=[], limit=10, project="")
    assert [one["chunk_id"] for one in found["data"]["chunks"]] == CHUNKS[1:20:2]
    assert shared.asked == [30]

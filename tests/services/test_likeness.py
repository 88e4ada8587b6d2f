"""Which memories of a project may become one, by their vectors and words."""

from datetime import UTC, datetime

import pytest

from ragmem.domain.connections import Scale
from ragmem.domain.model import Draft, Scope
from ragmem.services.likeness import alike

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BARN = (
    "The barn owl nests above the hay loft each spring.",
    "Close the hay loft in spring, for the barn owl nests there.",
    "A barn owl was seen in the hay loft again.",
)
OTHERS = (
    "Trains to the coast leave at noon.",
    "My printer needs cyan ink.",
    "Soup wants salt and a bay leaf.",
    "The violin lesson was moved to Friday.",
)


@pytest.fixture
def farm(memory):
    def keep(*texts, project="farm"):
        memory.prepare()
        first = len(memory.catalog.memories.ids())
        return [
            one.id
            for one in memory.ingest(
                [
                    Draft("ingest", f"/n/{first + n}", text, event_time=NOW, scope=Scope(project))
                    for n, text in enumerate(texts)
                ],
                rule="off",
            )
        ]

    memory.keep = keep
    return memory


def likes(memory):
    memory.catalog.connections.keep_scale("fake-hash", Scale(0.1, 0.6, 30, 100), now=NOW, anew=False)
    return alike(memory.catalog, memory.store, memory.catalog.lives.entries(policy=memory.lifecycle()))


def test_what_is_about_one_thing_is_most_alike(farm):
    barn = farm.keep(*BARN)
    farm.keep(*OTHERS)
    found = sorted(likes(farm), key=lambda one: -one.strength)
    assert {key for one in found[:3] for key in (one.first, one.second)} == set(barn)
    assert all(one.first < one.second for one in found)


def test_nothing_is_alike_beyond_its_project(farm):
    for number, text in enumerate(BARN):
        farm.keep(text, project=f"farm {number}")
    assert likes(farm) == []


def test_nothing_is_alike_before_it_is_known_what_a_cosine_is_worth(farm):
    farm.keep(*BARN)
    entries = farm.catalog.lives.entries(policy=farm.lifecycle())
    assert alike(farm.catalog, farm.store, entries) == []


def test_memories_that_came_one_by_one_are_as_alike_as_if_they_had_come_at_once(farm):
    farm.keep(*BARN, *OTHERS, project="at once")
    for text in (*OTHERS, *BARN):
        farm.keep(text, project="one by one")
    texts = {one.id: one.text for one in farm.catalog.memories.each()}
    told = {}
    for one in likes(farm):
        project = farm.catalog.memories.outlines([one.first])[one.first].project
        pair = frozenset((texts[one.first], texts[one.second]))
        told.setdefault(project, {})[pair] = one.strength
    assert told["at once"]
    assert told["at once"] == pytest.approx(told["one by one"], abs=1e-3)

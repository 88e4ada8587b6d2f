"""A discarded text is kept cold, and leaves only by a purge after its time."""

from ragmem.domain.model import Draft, State

CHATTER = "Perfect! Now I'll update the todo list and move on to the next task."
DAY = 86_400_000_000


def discard(memory, number: int) -> str:
    (one,) = memory.ingest([Draft("transcripts", f"/{number}", f"{CHATTER} Task {number}.", "chatter")])
    assert one.memory.state is State.BUFFERED
    return str(one.id)


def make_old(memory) -> None:
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET updated_at = updated_at - ?", (31 * DAY,))


def test_a_discarded_text_leaves_only_by_a_purge_after_its_time(memory):
    first, pinned, recalled = (discard(memory, number) for number in range(3))
    memory.lifecycle.pin(pinned)
    memory.lifecycle.rate(recalled, "good")
    assert memory.gc.plan_purge().discarded == 0
    make_old(memory)
    late = discard(memory, 3)
    memory.gc.apply(memory.gc.plan())
    assert memory.catalog.memories.ids() == {first, pinned, recalled, late}
    assert memory.catalog.memories.ids(states=[State.INDEXED]) == {pinned, recalled}
    planned = memory.gc.plan_purge()
    assert (planned.memories, planned.texts, planned.discarded) == (0, 1, 1)
    assert memory.gc.purge().discarded == 1
    assert memory.catalog.memories.ids() == {pinned, recalled, late}

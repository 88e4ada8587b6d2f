"""What a write costs does not grow with what is stored, and a vector's number is used once."""

from ragmem.backends.lightrag.rows import keys
from ragmem.domain.model import USER
from ragmem.testing import make_record


def record_of(number, text="speaks of the Hub"):
    own = f"Own {number}"
    return make_record(
        f"memory-{number}", f"memory {number} {text}", entities=["Hub", own], relations=[("Hub", own)]
    )


def numbers_of(database):
    with database.read() as connection:
        rows = connection.execute("SELECT namespace, subject || object, seq FROM store_vectors").fetchall()
    return {(namespace, subject): seq for namespace, subject, seq in rows}


def newest_of(numbers, namespace):
    """Return the highest number of the table that a namespace is in: chunks have one of their own."""
    return max(seq for (one, _), seq in numbers.items() if (one == "chunks") == (namespace == "chunks"))


def make_names(store):
    """Ask one of LightRAG's modes, for which the names get vectors."""
    store.native.native_query("the hub of all", "hybrid", keywords=["Hub"], limit=5, project=USER)


def test_a_replaced_memory_takes_numbers_that_no_vector_ever_had(store, database):
    records = [record_of(number) for number in range(5)]
    store.put(records)
    make_names(store)
    before = numbers_of(database)
    # The newest one, whose numbers are free once it is gone.
    changed = record_of(4, text="speaks of something else")
    assert changed.memory.id == records[4].memory.id
    store.put([changed])
    make_names(store)
    after = numbers_of(database)
    moved = {key: seq for key, seq in after.items() if before.get(key) != seq}
    assert ("chunks", changed.memory.id) in moved
    assert all(seq > newest_of(before, namespace) for (namespace, _), seq in moved.items())
    # What others speak of stays where it is.
    assert after["entities", "Hub"] == before["entities", "Hub"]

    store.delete([changed.memory.id])
    store.put([record_of(9)])
    newest = numbers_of(database)
    assert newest["chunks", record_of(9).memory.id] > newest_of(before | after, "chunks")


def work(database, action):
    """The steps of SQLite's machine that an action takes, in tens."""
    steps = 0

    def count():
        nonlocal steps
        steps += 1

    connection = database.connection()
    connection.set_progress_handler(count, 10)
    try:
        action()
    finally:
        connection.set_progress_handler(None, 0)
    return steps


def grow_hub(database, count):
    """Give the hub this many mentions and relations that are older than all others."""
    with database.write() as connection:
        ((hub, space, project),) = connection.execute(
            "SELECT o.n, s.n, s.name FROM store_nodes o JOIN store_spaces s ON s.n = o.space"
            " WHERE o.id = 'Hub'"
        ).fetchall()
        (least,) = connection.execute("SELECT min(n) FROM store_chunks").fetchone()
        numbers = [least - place for place in range(1, count + 1)]
        connection.executemany(
            "INSERT INTO store_chunks (n, space, position, id) VALUES (?, ?, 0, ?)",
            [(number, space, f"chunk-{number}") for number in numbers],
        )
        connection.executemany(
            "INSERT INTO store_mentions (chunk, node) VALUES (?, ?)", [(number, hub) for number in numbers]
        )
        nodes = keys.make_nodes(connection, project, [f"Old {number}" for number in numbers])
        keys.make_edges(connection, [(hub, node) for node in nodes.values()])


def test_a_hub_of_ten_thousand_sources_makes_no_write_dearer(store, database):
    store.put([record_of(number) for number in range(60)])
    costs = []
    for size, number in ((200, 50), (10_000, 40)):
        grow_hub(database, size)
        costs.append(
            (
                work(database, lambda number=number: store.put([record_of(100 + number)])),
                work(database, lambda number=number: store.put([record_of(number, text="is another")])),
                work(database, lambda number=number: store.delete([record_of(number).memory.id])),
            )
        )
    for few, many in zip(*costs, strict=True):
        assert many <= 1.2 * few
    with database.read() as connection:
        (mentions,) = connection.execute(
            "SELECT count(*) FROM store_mentions m JOIN store_nodes o ON o.n = m.node WHERE o.id = 'Hub'"
        ).fetchone()
    assert mentions == 60 + 10_200 + 2 - 2


def test_a_write_costs_the_same_in_a_store_of_ten_times_as_many_memories(store, database):
    costs = []
    for start, count in ((0, 30), (30, 270)):
        store.put([record_of(number) for number in range(start, start + count)])
        costs.append(
            (
                work(database, lambda start=start: store.put([record_of(10_000 + start)])),
                work(database, lambda start=start: store.delete([record_of(start + 5).memory.id])),
            )
        )
    for few, many in zip(*costs, strict=True):
        assert many <= 1.5 * few


def test_mending_costs_in_proportion_to_what_is_stored(store, database):
    """Not with its square: a store of a million rows is the one that will need it."""
    costs = []
    for start, count in ((0, 60), (60, 540)):
        store.put([record_of(number) for number in range(start, start + count)])
        costs.append(work(database, store.repair))
    few, many = costs
    assert many <= 15 * few

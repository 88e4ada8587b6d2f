"""What a write costs does not grow with what is stored, and a vector's number is used once."""

from ragmem.testing import make_record


def record_of(number, text="speaks of the Hub"):
    own = f"Own {number}"
    return make_record(
        f"memory-{number}", f"memory {number} {text}", entities=["Hub", own], relations=[("Hub", own)]
    )


def numbers_of(database):
    with database.read() as connection:
        rows = connection.execute("SELECT namespace, subject, seq FROM store_vectors").fetchall()
    return {(namespace, subject): seq for namespace, subject, seq in rows}


def test_a_replaced_memory_takes_numbers_that_no_vector_ever_had(store, database):
    records = [record_of(number) for number in range(5)]
    store.put(records)
    before = numbers_of(database)
    # The newest one, whose numbers are free once it is gone.
    changed = record_of(4, text="speaks of something else")
    assert changed.memory.id == records[4].memory.id
    store.put([changed])
    after = numbers_of(database)
    moved = {key: seq for key, seq in after.items() if before.get(key) != seq}
    assert ("chunks", changed.memory.id) in moved
    assert min(moved.values()) > max(before.values())
    # What others speak of stays where it is.
    assert after["entities", "Hub"] == before["entities", "Hub"]

    store.delete([changed.memory.id])
    store.put([record_of(9)])
    newest = numbers_of(database)
    assert newest["chunks", record_of(9).memory.id] > max([*before.values(), *after.values()])


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
    """Give the hub this many sources and relations that are older than all others."""
    with database.write() as connection:
        (workspace,) = connection.execute("SELECT DISTINCT workspace FROM store_nodes").fetchone()
        (least,) = connection.execute("SELECT min(seq) FROM store_sources").fetchone()
        connection.executemany(
            "INSERT INTO store_sources (seq, workspace, namespace, key, chunk_id)"
            " VALUES (?, ?, 'entity_chunks', 'Hub', ?)",
            [(least - place, workspace, f"chunk-{least - place}") for place in range(1, count + 1)],
        )
        connection.executemany(
            "INSERT INTO store_edges (workspace, source, target, data) VALUES (?, 'Hub', ?, '{}')",
            [(workspace, f"Old {least - place}") for place in range(1, count + 1)],
        )


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
        (sources,) = connection.execute("SELECT count(*) FROM store_sources WHERE key = 'Hub'").fetchone()
    assert sources == 60 + 10_200 + 2 - 2


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

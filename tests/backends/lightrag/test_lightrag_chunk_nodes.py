"""A chunk's list of entities holds any numbers, and grows with what is mentioned."""

from hypothesis import given
from hypothesis import strategies as st

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag.rows import chunk_nodes
from ragmem.testing.stores import StoreContract


@given(numbers=st.sets(st.integers(1, 2**40)))
def test_numbers_come_back_sorted(numbers):
    assert chunk_nodes.unpack(chunk_nodes.pack(numbers)) == sorted(numbers)


def test_a_list_of_neighbours_takes_a_byte_each():
    assert len(chunk_nodes.pack(range(40, 140))) == 100
    assert chunk_nodes.pack(()) is None


def test_lists_can_be_made_anew_from_the_mentions(database):
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store.put([StoreContract.REDIS, StoreContract.KAFKA])
    with database.write() as connection:
        chunks = [number for (number,) in connection.execute("SELECT n FROM store_chunks")]
        lists = chunk_nodes.read(connection, chunks)
        assert any(lists.values())
        assert chunk_nodes.unlisted(connection) == []
        connection.execute("UPDATE store_chunks SET nodes = NULL")
        assert set(chunk_nodes.unlisted(connection)) == {chunk for chunk in chunks if lists[chunk]}
        chunk_nodes.list_nodes(connection)
        assert chunk_nodes.read(connection, chunks) == lists
    store.close()


def test_what_is_on_a_list_only_is_not_mentioned(database):
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store.put([StoreContract.REDIS, StoreContract.KAFKA])
    chunk = StoreContract.REDIS.chunks[0].id
    before = store.mentions([chunk], project=StoreContract.REDIS.memory.scope.project, most=9)
    with database.write() as connection:
        nodes = [number for (number,) in connection.execute("SELECT n FROM store_nodes")]
        connection.execute("UPDATE store_chunks SET nodes = ?", (chunk_nodes.pack([*nodes, 999]),))
    assert before
    assert store.mentions([chunk], project=StoreContract.REDIS.memory.scope.project, most=9) == before
    store.close()

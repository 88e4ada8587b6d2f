"""Full text in PostgreSQL: the same hits, scores and coverage as in SQLite."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.fulltext import search
from ragmem.catalog.postgres import PostgresDatabase

REPOSITORY = Path(__file__).resolve().parents[2]

QUERIES = """
how do we deploy the service
why sqlite and not postgres for the store
RAGMEM_HOME environment variable
memory.db write.lock busy_timeout
ragmem/catalog/fulltext.py
decay half_life of errors
connections connected connecting connection
lightrag vector storage
which decisions were made about the embedding model
foo_bar
__init__
the of and
quagga
""".strip().splitlines()


@pytest.fixture
def pair(tmp_path, postgres):
    """Two catalogs that hold the same."""
    catalogs = (
        Catalog.at(tmp_path / "sqlite"),
        Catalog(PostgresDatabase(postgres, tmp_path / "postgres")),
    )
    for catalog in catalogs:
        catalog.prepare()
    yield catalogs
    for catalog in catalogs:
        catalog.close()


def fill(pair, items):
    for catalog in pair:
        catalog.memories.accept(items)


def assert_same(pair, query, **more):
    ours, theirs = (search(catalog.database, query, limit=50, **more) for catalog in reversed(pair))
    assert [hit.chunk_id for hit in ours.hits] == [hit.chunk_id for hit in theirs.hits], query
    assert [hit.score for hit in ours.hits] == pytest.approx([hit.score for hit in theirs.hits]), query
    assert ours.coverage == pytest.approx(theirs.coverage), query
    return len(ours.hits)


def test_real_documents_are_ranked_as_in_sqlite(pair, make):
    documents = sorted([*REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("examples/**/*.md")])
    fill(
        pair,
        [
            make(str(path), path.read_text(encoding="utf-8"), title=path.stem, tags=(path.parent.name,))
            for path in documents
        ],
    )
    found = [assert_same(pair, query) for query in QUERIES]
    assert sum(count > 5 for count in found) > len(QUERIES) / 2
    assert assert_same(pair, QUERIES[0], projects=["user", "none"]) == found[0]
    assert assert_same(pair, QUERIES[0], projects=["none"]) == 0


WORDS = st.sampled_from(
    "lock locks locked lock_file foo_bar foo bar café naïve v1 x 7 deploy/it a.b.c".split()
)
TEXTS = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8),
    query=st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
)
def test_whatever_is_found_in_sqlite_is_found_in_postgres_and_as_good(pair, make, texts, query):
    for catalog in pair:
        catalog.memories.remove(catalog.memories.ids())
    fill(
        pair,
        [make(str(number), text, title=title) for number, (title, text) in enumerate(texts)],
    )
    assert_same(pair, query)


def test_the_words_of_an_identifier_are_sought_together_and_in_order(pair, make):
    fill(
        pair,
        [
            make("together", "call foo_bar now", title="-"),
            make("apart", "call foo now bar", title="-"),
            make("turned", "call bar_foo now", title="-"),
            make("fields", "bar", title="foo"),
        ],
    )
    assert assert_same(pair, "foo_bar") == 1
    assert assert_same(pair, "foo bar") == 4


@pytest.mark.parametrize(
    "text",
    [
        "begin " + " ".join(f"word{number}" for number in range(200_000)),
        "begin " + "x" * 50_000,
        "begin again " * 30_000,
    ],
    ids=["many words", "one long word", "one word often"],
)
def test_a_chunk_beyond_the_limits_of_a_tsvector_is_stored_and_found(pair, make, text):
    _, catalog = pair
    memory, (chunk, *_) = make("long", title="-")
    catalog.memories.accept([(memory, (replace(chunk, text=text),))])
    assert [hit.memory_id for hit in search(catalog.database, "begin", limit=9).hits] == [memory.id]

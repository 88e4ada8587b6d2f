"""Full text: no text of a query is syntax, common words do not count, coverage is a share."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.catalog.fulltext import search
from ragmem.catalog.terms import MAX_TERMS, STOP_WORDS, terms_of

TEXTS = {
    "wal": "We use the WAL mode of SQLite, because readers must not wait.",
    "pool": "The connection pool was exhausted by a leak.",
    "accents": "Der Wärmetauscher im Café läuft über.",
}


@pytest.fixture
def filled(catalog, make):
    catalog.memories.accept([make(uri, text) for uri, text in TEXTS.items()])
    return catalog


def found(catalog, query: str, **more) -> list[str]:
    hits = search(catalog.database, query, limit=10, **more).hits
    uris = catalog.memories.uris({hit.memory_id for hit in hits})
    return [uris[hit.memory_id] for hit in hits]


@pytest.mark.parametrize(
    "query",
    [
        '"wal',
        "wal*",
        "wal AND",
        "NOT wal",
        "NEAR(wal mode, 2)",
        "title: wal",
        "-wal",
        "^wal",
        "{wal}: +",
        "(wal",
        "wal'); DROP TABLE memories; --",
        "wal\0mode",
    ],
)
def test_no_text_is_query_syntax(filled, query):
    assert "wal" in found(filled, query)
    assert len(filled.memories.ids()) == 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(query=st.text(max_size=80) | st.text("\"'*()^:+-{}[]!@#$%&|~`\\;, waloxNEARANDOT\0", max_size=60))
def test_coverage_is_a_share_and_any_text_is_a_query(filled, query):
    result = search(filled.database, query, limit=10)
    assert set(result.coverage) == {hit.chunk_id for hit in result.hits}
    assert all(-1e-9 <= share <= 1 + 1e-9 for share in result.coverage.values())
    assert [hit.rank for hit in result.hits] == list(range(1, len(result.hits) + 1))
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_stop_words_do_not_find_unless_they_are_all_there_is(filled):
    assert list(terms_of("why was the pool of what")) == ["pool"]
    assert found(filled, "why was the pool") == ["pool"]
    assert list(terms_of("to be or not to be")) == ["to", "be", "or", "not"]
    assert all(word == word.lower() for word in STOP_WORDS)


def test_a_query_of_which_all_words_occur_is_covered_whole(filled):
    result = search(filled.database, "connection pool leak", limit=10)
    assert max(result.coverage.values()) == pytest.approx(1)


def test_an_unknown_word_leaves_a_query_uncovered(filled):
    result = search(filled.database, "pool quagga zebra okapi", limit=10)
    assert max(result.coverage.values()) < 0.5


def test_the_ends_of_words_and_accents_make_no_difference(filled):
    assert found(filled, "exhausting connections") == ["pool"]
    assert found(filled, "warmetauscher cafe") == ["accents"]


def test_a_question_keeps_to_its_projects(catalog, make):
    catalog.memories.accept([make("mine", "kiln"), make("theirs", "kiln", project="other-1")])
    assert found(catalog, "kiln", projects=["other-1"]) == ["theirs"]
    assert found(catalog, "kiln", projects=[]) == []
    assert sorted(found(catalog, "kiln")) == ["mine", "theirs"]


def test_nothing_is_found_in_an_empty_catalog_or_for_no_word(catalog, filled):
    assert search(filled.database, "?!", limit=10).hits == []
    filled.memories.remove(filled.memories.ids())
    assert search(filled.database, "wal", limit=10).hits == []


def test_of_a_very_long_query_the_rarest_words_count(filled):
    words = " ".join(f"filler{n}" for n in range(10 * MAX_TERMS))
    assert len(search(filled.database, f"{words} exhausted", limit=10).hits) <= 3


def test_a_word_in_a_title_counts_more_than_one_in_a_text(catalog, make):
    catalog.memories.accept([make("a", "harbour", title="other"), make("b", "other", title="harbour")])
    assert found(catalog, "harbour")[0] == "b"

"""The index of full text: whatever happened to the memories, it answers as one that was made at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.errors import StoreDamagedError
from ragmem.storage.fulltext import corpus, lexicon
from ragmem.storage.fulltext.fulltext import search
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.maintenance.invariants import violations
from ragmem.storage.maintenance.repair import rebuild_full_text

REPOSITORY = Path(__file__).resolve().parents[3]

QUERIES = """
how do we deploy the service
RAGMEM_HOME environment variable
memory.db write.lock busy_timeout
ragmem/storage/fulltext/fulltext.py
decay half_life of errors
connections connected connecting connection
which decisions were made about the embedding model
__init__
the of and
quagga
""".strip().splitlines()


def sizes_of(catalog):
    with catalog.database.read() as connection:
        return connection.execute("SELECT chunks, dead_chunks FROM lexicon_segments ORDER BY last").fetchall()


def test_real_documents_are_ranked_the_same_in_both_databases(tmp_path, postgres, make):
    # The largest pages hold nearly three quarters of the text, which takes as much of the time.
    documents = [
        path
        for path in sorted([*REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("examples/**/*.md")])
        if path.stat().st_size < 12_000
    ]
    items = [
        make(str(path), path.read_text(encoding="utf-8"), title=path.stem, tags=(path.parent.name,))
        for path in documents
    ]
    catalogs = (
        Catalog.at(tmp_path / "sqlite"),
        Catalog(PostgresDatabase(postgres, tmp_path / "postgres")),
    )
    for catalog in catalogs:
        catalog.prepare()
        catalog.memories.accept(items)
    found = []
    for query in QUERIES:
        ours, theirs = (search(catalog.database, query, limit=50) for catalog in catalogs)
        assert ours == theirs, query
        found.append(len(ours.hits))
    assert sum(count > 5 for count in found) > len(QUERIES) / 2
    for catalog in catalogs:
        catalog.close()


WORDS = st.sampled_from("lock locks lock_file lockFile café cafe v1 x 7 deploy/it.py a.b.c : --".split())
TEXTS = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
CHANGES = st.lists(
    st.one_of(
        st.lists(st.tuples(st.integers(0, 9), TEXTS), min_size=1, max_size=4),
        st.sets(st.integers(0, 9), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES, query=TEXTS)
def test_after_any_changes_it_answers_as_one_that_was_made_at_once(
    tmp_path_factory, make, monkeypatch, changes, query
):
    monkeypatch.setattr(lexicon, "LEVELS", (2, 4, 8))
    monkeypatch.setattr(lexicon, "LARGEST", 16)
    catalog = Catalog.at(tmp_path_factory.mktemp("home"))
    catalog.prepare()
    for change in changes:
        if isinstance(change, set):
            catalog.memories.remove([make(str(place))[0].id for place in change])
        else:
            catalog.memories.accept([make(str(place), text) for place, text in change])
    assert violations(catalog, deep=True) == []
    changed = search(catalog.database, query, limit=7)
    rebuild_full_text(catalog)
    assert search(catalog.database, query, limit=7) == changed
    catalog.close()


def test_a_number_that_is_used_again_finds_no_former_text(catalog, make):
    catalog.memories.accept([make("a", "quagga")])
    catalog.memories.remove([make("a")[0].id])
    catalog.memories.accept([make("b", "okapi")])
    assert search(catalog.database, "quagga", limit=5).hits == []
    assert len(search(catalog.database, "okapi", limit=5).hits) == 1


def test_texts_without_any_word_are_kept_and_found_by_nothing(catalog, make):
    wordless = [make(place, place, title="") for place in (":", "---")]
    for item in wordless:
        catalog.memories.accept([item])
    assert search(catalog.database, "quagga", limit=5).hits == []
    catalog.memories.accept([make("a", "quagga")])
    assert len(search(catalog.database, "quagga", limit=5).hits) == 1
    catalog.memories.remove([wordless[0][0].id])
    assert violations(catalog, deep=True) == []
    rebuild_full_text(catalog)
    assert violations(catalog, deep=True) == []


def test_many_small_writes_leave_few_segments(catalog, make):
    for number in range(80):
        catalog.memories.accept([make(str(number), f"word{number} shared")])
    assert len(sizes_of(catalog)) <= lexicon.LEVELS[0] + 7
    assert len(search(catalog.database, "shared", limit=100).hits) == 80


def test_what_is_gone_is_left_out_when_segments_are_merged(catalog, make):
    items = [make(str(number), f"word{number}") for number in range(30)]
    catalog.memories.accept(items)
    catalog.memories.remove([memory.id for memory, _ in items[:10]])
    assert sizes_of(catalog) == [(30, 10)]
    catalog.memories.remove([memory.id for memory, _ in items[10:20]])
    assert sizes_of(catalog) == [(10, 0)]
    catalog.memories.remove([memory.id for memory, _ in items])
    assert sizes_of(catalog) == []


@given(sizes=st.lists(st.integers(1, 3 * lexicon.LARGEST), max_size=40), changed=st.integers(1, 1000))
def test_segments_that_are_merged_fit_into_one_of_the_largest(sizes, changed):
    chosen = lexicon.to_merge([(size, 0) for size in sizes], changed)
    if chosen is not None:
        assert sum(sizes[chosen]) <= lexicon.LARGEST
        assert len(sizes[chosen]) >= 2
        assert chosen.stop == len(sizes)


@given(sizes=st.lists(st.tuples(st.integers(1, lexicon.LARGEST), st.booleans()), max_size=40))
def test_a_write_of_one_chunk_merges_a_bounded_number(sizes):
    chosen = lexicon.to_merge([(size, size if dead else 0) for size, dead in sizes], 1)
    if chosen is not None:
        assert sum(size for size, _ in sizes[chosen]) <= lexicon.FREE


@settings(max_examples=20, deadline=None)
@given(writes=st.lists(st.integers(1, 700) | st.just(1), min_size=200, max_size=400), few=st.booleans())
def test_a_chunk_is_merged_a_few_times_only_and_segments_stay_few(writes, few):
    sizes: list[int] = []
    merged = 0
    for size in (min(size, 40) for size in writes * 20) if few else writes:
        sizes.append(size)
        chosen = lexicon.to_merge([(size, 0) for size in sizes], size)
        if chosen is not None:
            merged += sum(sizes[chosen])
            sizes[chosen] = [sum(sizes[chosen])]
    largest = lexicon.FREE / 2 if few else lexicon.LEVELS[-1]
    assert merged <= (len(lexicon.LEVELS) + 1) * sum(sizes)
    assert len(sizes) <= sum(sizes) / largest + lexicon.LEVELS[0] + 7 * (len(lexicon.LEVELS) - 1)


def test_another_process_sees_what_was_written_since(tmp_path, make):
    here, there = (Catalog.at(tmp_path / "data") for _ in range(2))
    here.prepare()
    here.memories.accept([make("a", "quagga one")])
    assert len(search(there.database, "quagga", limit=5).hits) == 1
    here.memories.accept([make("b", "quagga two")])
    assert len(search(there.database, "quagga", limit=5).hits) == 2
    here.memories.remove([make("a")[0].id])
    assert len(search(there.database, "quagga", limit=5).hits) == 1
    here.close()
    there.close()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM lexicon_blocks",
        "UPDATE lexicon_blocks SET data = ''",
        "UPDATE lexicon_segments SET token = token + 1",
        "UPDATE lexicon_segments SET chunks = chunks + 1",
        "UPDATE lexicon_segments SET block = block + 1",
        "UPDATE lexicon_segments SET dead = data FROM (SELECT data FROM lexicon_blocks) AS b",
        "DELETE FROM chunks",
        "DELETE FROM memories",
    ],
)
def test_a_damaged_index_is_told_and_not_answered_from(catalog, make, damage):
    catalog.memories.accept([make("a", "quagga")])
    with catalog.database.write() as connection:
        connection.execute(damage)
    for phrases in ((), ("quagga",)):
        with pytest.raises(StoreDamagedError, match="full text is damaged") as caught:
            search(catalog.database, "quagga", limit=5, phrases=phrases)
        assert "doctor --repair" in caught.value.hint
    if not damage.startswith(("DELETE FROM chunks", "DELETE FROM memories")):
        rebuild_full_text(catalog)
        assert len(search(catalog.database, "quagga", limit=5).hits) == 1


@pytest.mark.parametrize(
    "text",
    [
        "begin " + " ".join(f"word{number}" for number in range(100_000)),
        "begin " + "x" * 50_000,
        "begin again " * 30_000,
        "begin \ud800 \0 \x1a",
    ],
    ids=["many words", "one long word", "one word often", "no letters"],
)
def test_any_chunk_is_stored_and_found(catalog, make, text):
    memory, (chunk, *_) = make("long", title="-")
    catalog.memories.accept([(memory, (replace(chunk, text=text),))])
    assert [hit.memory_id for hit in search(catalog.database, "begin", limit=9).hits] == [memory.id]


def test_postings_that_make_room_for_others_are_read_again(catalog, make, monkeypatch):
    monkeypatch.setattr(corpus, "MOST_KEPT", 5)
    catalog.memories.accept([make(str(number), f"word{number} shared common") for number in range(20)])
    for _ in range(2):
        assert len(search(catalog.database, "shared", limit=50).hits) == 20
        assert len(search(catalog.database, "common", limit=50).hits) == 20
        assert len(search(catalog.database, "word7 word8", limit=50).hits) == 2


def test_threads_that_ask_while_another_writes_see_whole_memories(catalog, make, monkeypatch):
    monkeypatch.setattr(corpus, "MOST_KEPT", 50)
    catalog.memories.accept([make("first", "shared alpha")])

    def ask(word: str) -> None:
        for _ in range(30):
            result = search(catalog.database, f"shared {word}", limit=100)
            assert len(result.hits) >= 1
            assert all(hit.score > 0 for hit in result.hits)

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, word) for word in ("alpha", "beta", "gamma")]
        for number in range(25):
            catalog.memories.accept([make(str(number), f"shared beta{number} gamma")])
        for one in asked:
            one.result()
    assert len(search(catalog.database, "shared", limit=100).hits) == 26


def test_all_segments_become_as_few_as_there_may_be(catalog, make, monkeypatch):
    monkeypatch.setattr(lexicon, "LARGEST", 60)
    items = [make(str(number), f"word{number} shared") for number in range(100)]
    for item in items:
        catalog.memories.accept([item])
    catalog.memories.remove([items[3][0].id])
    before = search(catalog.database, "shared", limit=200)
    with catalog.database.write() as connection:
        lexicon.merge_all(connection)
    sizes = sizes_of(catalog)
    assert sum(chunks for chunks, _ in sizes) == 99
    assert len(sizes) <= 3
    assert all(dead == 0 and chunks <= 60 for chunks, dead in sizes)
    assert search(catalog.database, "shared", limit=200) == before
    assert violations(catalog, deep=True) == []

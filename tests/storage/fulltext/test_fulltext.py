"""Full text: no text of a query is syntax, common words do not count, coverage is a share."""

import gc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.storage.fulltext.fulltext import filter_chunks, respell, search
from ragmem.storage.fulltext.terms import MAX_TERMS, STOP_WORDS, terms_of

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


UNSPACED = {
    "zh": "我们用数据库锁来保护写入。读者不需要等待。",
    "zh-other": "部署之前要备份配置文件。",
    "ja": "メモリは再起動のあとも残ります。",
    "ko": "데이터베이스는 잠금으로 보호됩니다.",
    "th": "ฐานข้อมูลถูกล็อกเมื่อเขียน",
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("数据库的锁是什么", "zh"),
        ("锁", "zh"),
        ("怎么备份配置", "zh-other"),
        ("再起動したら", "ja"),
        ("데이터베이스 잠금", "ko"),
        ("ฐานข้อมูล", "th"),
    ],
)
def test_a_question_in_a_script_without_spaces_finds_its_note(catalog, make, query, first):
    catalog.memories.accept([make(uri, text, title="-") for uri, text in UNSPACED.items()])
    assert found(catalog, query)[0] == first


def test_seams_between_words_do_not_leave_a_question_uncovered(catalog, make):
    catalog.memories.accept([make(uri, text, title="-") for uri, text in UNSPACED.items()])
    result = search(catalog.database, "数据库的锁是什么", limit=10)
    assert max(result.coverage.values()) == pytest.approx(1)
    result = search(catalog.database, "数据库的猫是什么", limit=10)
    assert max(result.coverage.values()) < 0.9
    long = search(catalog.database, "数据库的锁是什么" + "猫狗鸟鱼马牛羊猪鸡鸭" * 9, limit=10)
    assert "锁" in long.frequencies


def test_a_phrase_in_a_script_without_spaces_must_occur(catalog, make):
    catalog.memories.accept([make(uri, text, title="-") for uri, text in UNSPACED.items()])
    assert found(catalog, "锁", phrases=["数据库锁"]) == ["zh"]
    assert found(catalog, "数据库", phrases=["据数库"]) == []
    # The note in Korean is found by its English words.
    assert found(catalog, "数据库 备份", excluded=["数据库"]) == ["zh-other", "ko"]


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


IDENTIFIERS = {
    "path": "See src/auth/session_store.py for it.",
    "flag": "Start it with --no-llm at night.",
    "code": "It fails with ERR_CONN_42 again.",
    "camel": "Then getUserName is called.",
    "snake": "Then get_user_name is called.",
    "words": "The user name is asked for.",
    "other": "Nothing of that sort.",
}


@pytest.fixture
def named(catalog, make):
    catalog.memories.accept([make(f"/n/{uri}", text, title="-") for uri, text in IDENTIFIERS.items()])
    return catalog


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("src/auth/session_store.py", {"path"}),
        ("session_store.py", {"path"}),
        ("sessionStore", {"path"}),
        ("the auth session store", {"path"}),
        ("--no-llm", {"flag"}),
        ("no_llm", {"flag"}),
        ("ERR_CONN_42", {"code"}),
        ("err conn", {"code"}),
        ("getUserName", {"camel", "snake"}),
        ("get_user_name", {"camel", "snake"}),
        ("user name", {"camel", "snake", "words"}),
    ],
)
def test_an_identifier_is_found_by_its_parts_and_as_a_whole(named, query, first):
    best = found(named, query)
    assert {uri.removeprefix("/n/") for uri in best[: len(first)]} == first
    assert "/n/other" not in best


def test_a_file_is_found_by_its_name(catalog, make):
    catalog.memories.accept(
        [make("/home/ann/notes/deploy-checklist.md", "text", title="-"), make("/b", "text")]
    )
    assert found(catalog, "deploy checklist") == ["/home/ann/notes/deploy-checklist.md"]
    assert found(catalog, "home") == []


def test_chunks_that_were_asked_for_are_scored_beside_the_hits(filled):
    [hit] = search(filled.database, "wal", limit=1).hits
    [other] = search(filled.database, "leak", limit=1).hits
    also = [other.chunk_id, hit.chunk_id, "unknown"]
    result = search(filled.database, "wal", limit=1, also=also)
    assert [one.chunk_id for one in result.hits] == [hit.chunk_id]
    assert result.scores == {hit.chunk_id: hit.score, other.chunk_id: 0.0}
    assert result.coverage == {hit.chunk_id: pytest.approx(1), other.chunk_id: 0.0}
    assert result.having == {hit.chunk_id: 1, other.chunk_id: 0}
    assert set(result.memories) == {hit.memory_id, other.memory_id}
    assert result.memories[other.memory_id] == (0.0, 0.0)
    assert list(result.frequencies) == ["wal"]
    assert 0 < result.frequencies["wal"] < 1
    assert 0 < hit.score < result.best_possible


def test_the_words_of_further_chunks_are_told_without_a_search(filled):
    chunks = [search(filled.database, word, limit=1).hits[0].chunk_id for word in ("leak", "cafe", "wal")]
    result = search(filled.database, "wal pool leak", limit=1)
    assert result.find_words is not None
    assert result.find_words([*chunks, "unknown"]) == {chunks[0]: 0b110, chunks[1]: 0, chunks[2]: 0b001}
    assert result.find_words([]) == {}


def test_a_memory_that_has_all_words_somewhere_is_covered_as_one_text(catalog, make):
    filler = "nothing of it here. " * 5
    catalog.memories.accept(
        [make("long", f"quagga. {filler}\n\nokapi. {filler}\n\nzebra. {filler}", title="-"), make("b", "x")]
    )
    result = search(catalog.database, "quagga okapi zebra", limit=10)
    assert len(result.hits) == 3
    assert max(result.coverage.values()) < 0.5
    [(score, coverage)] = result.memories.values()
    assert coverage == pytest.approx(1)
    assert score > 0


def test_hits_end_before_a_memory_too_many_and_the_first_chunks_are_told(catalog, make):
    filler = "nothing of it here. " * 5
    long = f"{filler}\n\nokapi okapi. {filler}\n\nokapi. {filler}"
    catalog.memories.accept([make("long", long, title="-"), make("short", "okapi", title="-")])
    every = search(catalog.database, "okapi", limit=10)
    owners = [hit.memory_id for hit in every.hits]
    assert len(owners) == 3
    assert len(set(owners)) == 2
    first = search(catalog.database, "okapi", limit=10, memories=1)
    assert first.hits == every.hits[: len(first.hits)]
    assert owners[len(first.hits)] != owners[0]
    assert {hit.memory_id for hit in first.hits} == {owners[0]}
    assert search(catalog.database, "okapi", limit=10, memories=2).hits == every.hits
    # The first chunk of the long one has no word of the query, and is told nevertheless.
    assert every.openings == catalog.memories.openings(set(owners))


def test_further_chunks_are_rated_as_if_they_had_been_asked_for_at_once(catalog, make):
    filler = "nothing of it here. " * 5
    long = f"zebra. {filler}\n\nokapi zebra. {filler}\n\nquagga. {filler}"
    catalog.memories.accept([make("long", long, title="-"), make("short", "okapi", title="-")])
    every = list(search(catalog.database, "okapi zebra quagga", limit=10).scores)
    for chosen in (every[:1], every[1:], every, [*every, "unknown"]):
        at_once = search(catalog.database, "okapi zebra quagga", limit=0, also=chosen)
        later = search(catalog.database, "okapi zebra quagga", limit=0).rate(chosen)
        assert later == at_once
        assert set(later.scores) == set(chosen) - {"unknown"}


def test_chunks_that_were_found_before_are_told_under_their_present_ids(catalog, make):
    long = "okapi at the gate. " * 40
    for _ in range(2):
        catalog.memories.accept([make("a", long), make("b", "okapi")])
        result = search(catalog.database, "okapi", limit=100)
        assert {hit.memory_id for hit in result.hits} == catalog.memories.ids()
        long = "okapi"
    assert len(result.hits) == 2
    catalog.memories.remove([result.hits[0].memory_id])
    rest = search(catalog.database, "okapi", limit=100, also=[hit.chunk_id for hit in result.hits])
    assert [hit.chunk_id for hit in rest.hits] == list(rest.scores) == [result.hits[1].chunk_id]


def test_a_phrase_must_occur_word_for_word(catalog, make):
    catalog.memories.accept(
        [
            make("together", "call the Connection Pool now"),
            make("apart", "a pool of every connection"),
            make("forms", "the connection pools"),
            make("heading", "# connection pool\n\nother things, pool"),
        ]
    )
    assert set(found(catalog, "connection pool", phrases=["connection pool"])) == {"together", "heading"}
    assert found(catalog, "pool", phrases=["no such words"]) == []
    assert set(found(catalog, "pool", phrases=["?!"])) == {"together", "apart", "forms", "heading"}


def test_the_words_of_a_phrase_stand_in_one_chunk(catalog, make):
    filler = "filler words of it. " * 6
    catalog.memories.accept(
        [
            make("apart", f"pool connection. {filler}\n\nconnection, other pool. {filler}", title="-"),
            make("second", f"pool connection. {filler}\n\nthe connection pool. {filler}", title="-"),
        ]
    )
    assert set(found(catalog, "pool", phrases=["connection pool"])) == {"second"}
    assert set(found(catalog, "pool", excluded=["connection pool"])) == {"apart"}


def test_a_memory_with_an_excluded_word_or_phrase_in_any_chunk_is_out(catalog, make):
    catalog.memories.accept(
        [
            make("locks", f"pool. {'filler words of it. ' * 6}\n\nand the locks"),
            make("phrase", "pool and the dead letter queue"),
            make("letters", "pool and a letter that is dead"),
            make("plain", "pool"),
        ]
    )
    assert set(found(catalog, "pool", excluded=["lock"])) == {"phrase", "letters", "plain"}
    assert set(found(catalog, "pool", excluded=["dead letter", "lock"])) == {"letters", "plain"}


def test_chunks_of_another_list_are_held_against_phrases_and_exclusions(filled):
    chunks = {
        uri: search(filled.database, word, limit=1).hits[0].chunk_id
        for uri, word in (("wal", "wal"), ("pool", "pool"), ("accents", "cafe"))
    }
    every = [*chunks.values(), "unknown"]
    assert filter_chunks(filled.database, ["cafe lauft"], [], every) == {chunks["accents"]}
    assert filter_chunks(filled.database, [], ["leak", "wait"], every) == {chunks["accents"]}
    assert filter_chunks(filled.database, [], [], every) == set(chunks.values())


def test_a_question_of_20_000_characters_asks_for_few_words(filled):
    text = " ".join(f"word{number}" for number in range(2_500)) + " exhausted pool"
    result = search(filled.database, text, limit=10)
    assert len(result.frequencies) <= MAX_TERMS
    assert max(result.coverage.values(), default=0) < 0.5


def test_the_postings_of_a_query_are_freed_with_its_hits(filled):
    """They are arrays of all chunks: in a cycle, each query would leave them to the garbage collector."""
    search(filled.database, "the connection pool", limit=10)
    gc.collect()
    gc.disable()
    try:
        result = search(filled.database, "the connection pool", limit=10)
        assert result.rate is not None
        del result
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("word", "spelling"),
    [
        ("conection", ["connection"]),
        ("exhuasted", ["exhausted"]),
        ("raeders", ["readers"]),
        ("sqlitte", ["sqlite"]),
        ("modes", []),  # the text has it, as "mode"
        ("exhauste", []),  # "exhaust" has the same stem as a word of the text, and is in none
        ("pol", []),
        ("kubernetes", []),
    ],
)
def test_a_misspelt_word_is_spelt_as_a_text_spells_it(filled, word, spelling):
    unknown = [one for one, share in search(filled.database, word, limit=1).frequencies.items() if not share]
    assert respell(filled.database, unknown) == spelling


def test_a_spelling_is_of_the_searched_projects(catalog, make):
    catalog.memories.accept([make("wal", TEXTS["wal"], project="quay"), make("pool", TEXTS["pool"])])
    assert respell(catalog.database, ["raeders"], projects=["quay"]) == ["readers"]
    assert respell(catalog.database, ["conection"], projects=["quay"]) == []

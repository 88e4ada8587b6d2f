import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.entities.extraction import ENTITY_TYPES, MAX_DESCRIPTION_CHARS, extract
from ragmem.domain.model import Chunk
from ragmem.domain.text.keywords import MAX_KEYWORDS, keywords, levels

PIECES = st.sampled_from(
    [
        *(
            "`load_rows`",
            "`Store.open()`",
            "src/app/main.py",
            "~/.config/app.toml",
            "DATABASE_URL",
            "--dry-run",
        ),
        *(
            "https://example.org/docs",
            "v1.2.3",
            "Redis",
            "redis",
            "TypeError",
            "Ada Lovelace",
            "[guide](guide.md)",
        ),
        *(
            "uses",
            "depends on",
            "is replaced by",
            "not",
            "calls",
            ":",
            ".",
            ",",
            "and",
            "|",
            "- ",
            "# ",
            "\n",
            "```",
        ),
        *(
            "**Bold Name**",
            "A/B",
            "I/O",
            "e.g.",
            "#12",
            "ABC-12",
            "\x00",
            "漢字",
            "😀",
            "(",
            ")",
            "''",
            "__init__.py",
        ),
    ]
)
TEXTS = st.text(max_size=200) | st.lists(PIECES, max_size=40).map(" ".join)


def of(text, heading="", **limits):
    return extract(Chunk("c1", "m1", 0, text, heading, 0, len(text)), **limits)


def names(text, kind=None):
    return {entity.name for entity in of(text).entities if kind in {None, entity.type}}


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("Call `load_rows` first.", "symbol", "load_rows"),
        ("Then Store.open_all() returns.", "symbol", "Store.open_all"),
        ("It lives in src/app/main.py:42 today.", "file", "src/app/main.py:42"),
        ("Edit ~/.config/app.toml by hand.", "file", "~/.config/app.toml"),
        ("Set $DATABASE_URL before.", "config", "DATABASE_URL"),
        ("Pass --dry-run to look first.", "config", "--dry-run"),
        ("Served at http://localhost:8080/v1 now.", "host", "http://localhost:8080/v1"),
        ("It listens on 127.0.0.1:9000 only.", "host", "127.0.0.1:9000"),
        ("Released as v2.4.1 yesterday.", "version", "v2.4.1"),
        ("It raised a KeyError again.", "error", "KeyError"),
        ("Rows go to postgres at night.", "tool", "Postgres"),
        ("See ticket ABC-123 for more.", "event", "ABC-123"),
        ("Run `git push --force` never.", "command", "git push --force"),
        ("It was written by Ada Lovelace in spring.", "person", "Ada Lovelace"),
        ("It pulls llama3.2:3b at start.", "model", "llama3.2:3b"),
    ],
)
def test_what_a_text_names_is_an_entity(text, kind, name):
    assert (name.removesuffix(":42"), kind) in {(entity.name, entity.type) for entity in of(text).entities}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The weather was fine and we walked.",
        "Note that this is only a test, and/or nothing.",
        "IMPORTANT: read it. WARNING: it is 42 % and 3.5 GB.",
        "However, I think so. Yes. Maybe on Monday, e.g. in May.",
    ],
)
def test_plain_words_name_nothing(text):
    assert of(text).entities == ()
    assert of(text).relations == ()


def test_one_thing_has_one_name():
    entities = of("Redis holds it. We restarted redis. `Redis` came back, and Redis's log is clean.").entities
    assert [entity.name for entity in entities] == ["Redis"]


def test_a_capital_that_begins_a_sentence_is_no_name():
    assert names("Suddenly it rained. Umbrellas were sold.") == set()
    assert names("It was sold by Umbrella yesterday.") == {"Umbrella"}


@pytest.mark.parametrize(
    ("text", "source", "keywords", "target"),
    [
        ("`loader` uses `parser_core` here.", "loader", "uses", "parser_core"),
        ("`parser_core` is used by `loader` here.", "loader", "uses", "parser_core"),
        ("`worker` depends on `queue_table`.", "worker", "depends on", "queue_table"),
        ("`old_cache` was replaced by `new_cache`.", "old_cache", "replaced by", "new_cache"),
        ("`worker` never calls `shutdown_all`.", "worker", "not calls", "shutdown_all"),
        ("- `queue_table`: rows that `worker` takes", "queue_table", "defined as", "worker"),
        ("| `alpha_one` | `beta_two` |", "alpha_one", "listed with", "beta_two"),
    ],
)
def test_a_verb_a_definition_or_a_row_relates_two_things(text, source, keywords, target):
    relations = of(text).relations
    assert (source, keywords, target) in {(one.source, one.keywords, one.target) for one in relations}


def test_a_list_of_objects_belongs_to_one_verb():
    relations = of("`worker` reads `first_table`, `second_table` and `third_table`.").relations
    assert {(one.source, one.target) for one in relations if one.keywords != "co-mentioned"} == {
        ("worker", "first_table"),
        ("worker", "second_table"),
        ("worker", "third_table"),
    }


def test_a_mere_co_mention_weighs_less_than_a_verb():
    said, seen = of("`one_a` calls `two_b`.").relations, of("`one_a`; `two_b`.").relations
    assert seen[0].keywords == "co-mentioned"
    assert seen[0].weight < said[0].weight


def test_the_heading_above_is_what_a_chunk_is_about():
    found = of("- keeps rows in `row_table`", heading="Store > `row_store`")
    assert ("row_store", "about", "row_table") in {
        (one.source, one.keywords, one.target) for one in found.relations
    }


def test_the_description_is_the_sentence_that_names_the_thing():
    found = of("Nothing here. The `row_store` keeps rows. Bye.")
    assert found.entities[0].description == "The `row_store` keeps rows."


def test_the_limits_keep_the_most_salient():
    text = "`main_store` is here. " * 3 + " ".join(f"`thing_{letter}`" for letter in "abcdefghijklmnop")
    found = of(text, max_entities=3, max_relations=2)
    assert found.entities[0].name == "main_store"
    assert len(found.entities) == 3
    assert len(found.relations) <= 2
    assert of(text, max_entities=0).relations == ()


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_relations_join_two_different_entities_of_the_extraction(text, heading):
    found = of(text, heading.replace("\n", " "))
    known = [entity.name for entity in found.entities]
    assert len(set(known)) == len(known)
    for entity in found.entities:
        assert 2 <= len(entity.name) <= 80
        assert entity.type in ENTITY_TYPES
        assert entity.name == entity.name.strip()
        assert 0 < len(entity.description) <= MAX_DESCRIPTION_CHARS
    for relation in found.relations:
        assert relation.source in known
        assert relation.target in known
        assert relation.source != relation.target
        assert relation.weight > 0
        assert relation.keywords
        assert 0 < len(relation.description) <= MAX_DESCRIPTION_CHARS
    pairs = [frozenset((one.source, one.target)) for one in found.relations]
    assert len(set(pairs)) == len(pairs)


@settings(deadline=None)
@given(TEXTS)
def test_extracting_twice_gives_the_same(text):
    assert of(text) == of(text)
    assert of(text).chunk_id == "c1"


@pytest.mark.parametrize(
    "text",
    [
        *(
            unit * (40_000 // len(unit))
            for unit in ("x", "`", "Aa", "a_", "a.", "a/", "f(", "[a](", "**", "- ", "| ")
        ),
        *(
            unit * (40_000 // len(unit))
            for unit in ("`a_b` uses ", "A. ", "\t", "\n", "a:", "x Aaa ", "{a}/", "http://a.b ")
        ),
        # Base64, which has many capitals and a sign at its end
        *("tide " + "aBcD" * 18 + sign for sign in ("=", "+x", "/")),
        "".join(random.Random(1).choices('aA_ ./`*|#(:[]-\n0"', k=40_000)),
    ],
    ids=lambda text: repr(text[:5]),
)
def test_no_text_takes_long_to_extract(text):
    start = time.thread_time()
    of(text)
    keywords(text)
    assert time.thread_time() - start < 10  # linear takes about one; quadratic takes minutes


def test_the_keywords_of_a_question_are_its_names_then_its_words():
    assert keywords("Why does load_rows time out when the Postgres pool is full?") == (
        "load_rows",
        "Postgres",
        "time",
        "pool",
        "full",
    )
    assert keywords('what is "write ahead log"') == ("write ahead log",)


def test_a_question_of_small_words_keeps_them():
    assert keywords("what is it") == ("what", "is", "it")
    assert keywords("?!") == ()


@settings(deadline=None)
@given(st.text(max_size=200))
def test_a_query_with_a_word_character_has_keywords(query):
    found = keywords(query)
    assert bool(found) == any(letter.isalnum() or letter == "_" for letter in query)
    assert len(found) == len(set(found)) <= MAX_KEYWORDS
    assert all(word.strip() for word in found)


@pytest.mark.parametrize(
    ("question", "low", "high"),
    [
        ("why did the deploy of Tideline answer 502", "Tideline", "cause reason"),
        ("how does `parse_config` read nested tables", "parse_config", "read nested tables"),
        ("which database does Tideline run on", "database", "choice"),
    ],
)
def test_names_are_low_level_keywords_and_phrases_and_intents_high_level_ones(question, low, high):
    found = levels(question)
    assert low in found.low
    assert any(high in theme for theme in found.high)
    assert set(found.low) != set(found.high)


@given(st.text(max_size=80))
def test_no_level_of_keywords_is_empty_where_there_is_any_word(text):
    found = levels(text)
    assert bool(found.low) == bool(found.high) == bool(keywords(text))

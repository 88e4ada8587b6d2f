from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification.signal import (
    MARKERS,
    MAX_SENTENCE_CHARS,
    classify_by_markers,
    is_greeting,
    summarize,
)
from ragmem.domain.model import Tier

PADDING = "the quick brown dog walks along the quiet river in the morning "
TEXTS = st.text(max_size=400) | st.lists(
    st.sampled_from([*MARKERS, "# Head", "\n", ". ", "word", "- item", "`code`", "```", "|a|b|"]), max_size=60
).map(" ".join)


def test_three_distinct_markers_are_ingested():
    signal = classify_by_markers(PADDING + "We chose WAL because the migration was slow.")
    assert signal.tier is Tier.INGEST
    assert signal.markers == ("chose", "because", "migration")
    assert signal.reason == "three or more markers: chose, because, migration"


def test_one_or_two_distinct_markers_are_summarized():
    assert classify_by_markers(PADDING + "An error.").tier is Tier.SUMMARIZE
    assert classify_by_markers(PADDING + "An error, and a fix.").tier is Tier.SUMMARIZE


def test_a_repeated_marker_counts_once():
    assert classify_by_markers(PADDING + "error error ERROR Error errors").markers == ("error",)


def test_a_text_without_marker_is_discarded():
    assert classify_by_markers(PADDING * 3).tier is Tier.DISCARD
    assert classify_by_markers(PADDING * 3).reason == "no marker"


def test_a_marker_counts_in_any_case_and_inside_a_word():
    assert classify_by_markers(PADDING + "ROOT CAUSE, prefixed, Configuration").markers == (
        "fix",
        "config",
        "root cause",
    )


def test_under_fifty_characters_is_discarded_whatever_it_says():
    text = "chose because error fix config pattern deploy a"
    assert len(text) < 50
    assert classify_by_markers(" " * 30 + text + "\n" * 30).tier is Tier.DISCARD
    assert classify_by_markers(text.ljust(50, "x")).tier is Tier.INGEST


def test_a_greeting_is_not_a_statement_that_begins_politely():
    assert is_greeting("Hi there! Thanks so much for all your help today, see you tomorrow.")
    assert is_greeting("ok")
    assert not is_greeting("Hi, the deploy failed because the token had expired.")
    assert not is_greeting("the work was good")
    assert not is_greeting("")
    assert not is_greeting("thanks " * 100)


def test_every_published_marker_counts():
    for marker in MARKERS:
        assert marker in classify_by_markers(PADDING + marker.upper()).markers


@given(TEXTS)
def test_classifying_twice_gives_the_same(text):
    assert classify_by_markers(text) == classify_by_markers(text)
    assert set(classify_by_markers(text).markers) <= set(MARKERS)


def test_a_summary_keeps_the_sentences_with_signal_under_their_heading():
    text = (
        "# Cache notes\n\nSome words to begin with. Nothing of note happens here.\n\n"
        "## Eviction\n\nIt was a sunny day. We chose LRU because reads repeat.\n\n"
        "## Colours\n\nGreen is nice.\n\n## Disk\n\n- The error came from a full disk.\n- Nobody saw it.\n"
    )
    assert summarize(text) == (
        "# Cache notes\n## Eviction\nWe chose LRU because reads repeat.\n## Disk\n"
        "- The error came from a full disk."
    )


def test_a_summary_prefers_the_sentences_with_most_markers_and_keeps_their_order():
    text = "A fix came. We chose it because of an error. The config helped. Root cause: a migration error."
    assert summarize(text, max_sentences=2) == (
        "We chose it because of an error.\nRoot cause: a migration error."
    )


def test_the_number_of_a_list_item_is_no_sentence_of_a_summary():
    text = "Rules:\n\n1. Ask first, because the quay is narrow.\n2. Moor at berth 12.\n3. Rest.\n"
    assert summarize(text).splitlines() == [
        "1. Ask first, because the quay is narrow.",
        "2. Moor at berth 12.",
    ]


def test_a_text_without_signal_is_summarized_by_its_beginning():
    assert summarize("One thing. Another thing. A third.", max_sentences=2) == "One thing.\nAnother thing."


def test_a_summary_of_an_exchange_begins_with_what_was_asked():
    answer = "\n".join(f"Step {number} went as planned." for number in range(20))
    text = f"User: why is it late?\n\nAssistant:\n\n{answer}\nThe root cause was the moon.\n"
    summary = summarize(text, max_sentences=1)
    assert summary == "User: why is it late?\n\nAssistant:\nThe root cause was the moon."


def test_a_title_alone_is_its_own_summary():
    assert summarize("# Only a title") == "# Only a title"


def test_code_and_tables_are_summarized_by_line():
    text = "```\nx = 1\nraise error\n```\n\n| a | b |\n|---|---|\n| fix | it |\n| no | thing |\n"
    assert summarize(text) == "x = 1\nraise error\n| fix | it |"


@given(TEXTS, st.integers(min_value=1, max_value=10))
def test_a_summary_is_empty_only_for_a_blank_text_and_verbatim(text, count):
    summary = summarize(text, max_sentences=count)
    assert bool(summary) == bool(text.strip())
    assert summarize(text, max_sentences=count) == summary
    assert len(summary) <= (2 * count + 1) * (MAX_SENTENCE_CHARS + 1)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification.signal import classify, classify_by_markers
from ragmem.domain.classification.summary import MARKERS
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


def test_every_published_marker_counts():
    for marker in MARKERS:
        assert marker in classify_by_markers(PADDING + marker.upper()).markers


@given(TEXTS)
def test_classifying_twice_gives_the_same(text):
    assert classify_by_markers(text) == classify_by_markers(text)
    assert set(classify_by_markers(text).markers) <= set(MARKERS)


@pytest.mark.parametrize("rule", ["judge", "classic"])
def test_a_protected_text_is_never_discarded(rule):
    text = "ok, thanks"
    assert classify(text, rule=rule).tier is Tier.DISCARD
    kept = classify(text, rule=rule, protected=True)
    assert kept.tier is not Tier.DISCARD
    assert "protected" in kept.reason

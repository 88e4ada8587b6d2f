from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification.summary import MARKERS, MAX_SENTENCE_CHARS, summarize, summary_spans

TEXTS = st.text(max_size=400) | st.lists(
    st.sampled_from([*MARKERS, "# Head", "\n", ". ", "word", "- item", "`code`", "```", "|a|b|"]), max_size=60
).map(" ".join)


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


@given(TEXTS)
def test_the_spans_of_a_summary_are_in_order_and_within_the_text(text):
    spans = summary_spans(text)
    assert all(start < end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))

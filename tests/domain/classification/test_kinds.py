import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification.kinds import detect_category, detect_kind, is_protected
from ragmem.domain.model import Category, Kind

PREFERENCE = (
    "## Code style\n\n- Prefer small functions.\n- Never commit generated files.\n- Use tabs in Makefiles.\n"
)
ERROR = (
    "## Root cause\n\nThe import failed because the file handle was closed twice. "
    "Fixed by opening it once; the crash is gone.\n"
)
ARCHITECTURE = (
    "## Architecture\n\nThe service has three layers. The storage module wraps the database and exposes one "
    "interface; settings are configured by environment variables.\n"
)
RESEARCH = (
    "## Related work\n\n- Doe et al. (2021). Windows of attention. arXiv.\n"
    "- A survey of benchmarks compared to ours.\n"
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (PREFERENCE, Kind.PREFERENCE),
        (ERROR, Kind.ERROR),
        (ARCHITECTURE, Kind.ARCHITECTURE),
        (RESEARCH, Kind.RESEARCH),
        ("Lunch was good and the train was late.", Kind.GENERAL),
        ("", Kind.GENERAL),
        ("- [ ] write the page\n- [x] call the bank\n- [ ] buy paper\n", Kind.GENERAL),
    ],
)
def test_the_kind_follows_from_the_cues(text, kind):
    assert detect_kind(text) is kind


def test_the_title_counts_as_a_heading():
    text = "The queue sits between both and its workers read from it."
    assert detect_kind(text, title="Architecture of the queue") is Kind.ARCHITECTURE


def test_the_source_tips_the_balance_but_does_not_decide():
    weak = "Ensure that the list is sorted, and avoid loops."
    assert detect_kind(weak, source="claudemds") is Kind.PREFERENCE
    assert detect_kind(ERROR, source="claudemds") is Kind.ERROR


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (ERROR, Category.ERROR_SOLUTION),
        (
            "Beware: the cache silently drops writes when the disk is full, and it does not tell.",
            Category.GOTCHA,
        ),
        ("We build readers by one pattern: each reuses the same template.", Category.PATTERN),
        (PREFERENCE, Category.BEST_PRACTICE),
        ("The meeting is on Monday.", Category.NONE),
    ],
)
def test_the_category_is_the_first_that_fits(text, category):
    assert detect_category(text) is category


@pytest.mark.parametrize(
    "text",
    [
        "# ADR 7: One file\n\n- Status: Accepted\n\nWe keep one file.",
        "## Decision\n\nStore rows in one table.",
        "We decided to keep the old parser.",
        "The check differs on purpose; leave it.",
        "## User preferences\n\n- short answers",
        "User prefers short answers.",
        "From now on, run the tests before each commit.",
        "- Never push to the release branch.",
        "User: the harbour list belongs right before the tide tables.",
        "Before every release run the tide check; the pier refuses it otherwise.",
        "The quay keeps its own clock. Never set it by hand.",
        "## Naming guidelines\n\nBoats are named by their berth.",
        "Boats have one berth.\n\n**How to apply:** ask the harbour office.",
        "- Keep the log short.\n- A new berth must have a light.\n",
        "Tow the barge with the small tug (not with the ferry).",
    ],
)
def test_decisions_and_standing_instructions_are_protected(text):
    assert is_protected(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "commit this please",
        "The parser failed on an empty line.",
        "The module has two classes and a queue.",
        "You are a harbour master. Never leave the quay.",
        "Write the name of the boat here: [name of boat]. Always ask first.",
        "<system-reminder>\nYou MUST NOT moor here.\n</system-reminder>",
        "User: hello\nAssistant: hello, how can I help?",
        "A new berth must have a light.",
        "---\nname: tide-report\nallowed-tools: Bash\n---\nPrints the tides of a pier.",
        "Offers a chart when user wants one, and a table if user asked for figures.",
    ],
)
def test_orders_of_the_moment_and_descriptions_are_not_protected(text):
    assert not is_protected(text)


def test_metadata_protects_and_an_explicit_no_wins():
    assert is_protected("anything", metadata={"type": "feedback"})
    assert is_protected("anything", metadata={"Status": "Accepted"})
    assert is_protected("anything", metadata={"protected": "true"})
    assert not is_protected("We decided to stay.", metadata={"protected": "false"})
    assert not is_protected("anything", metadata={"type": "project", "status": "draft"})


@given(st.text(max_size=300), st.text(max_size=30))
def test_judging_twice_gives_the_same(text, title):
    assert detect_kind(text, title=title) is detect_kind(text, title=title)
    assert detect_category(text, title=title) is detect_category(text, title=title)
    assert is_protected(text, title=title) is is_protected(text, title=title)


@pytest.mark.parametrize(
    "unit",
    [
        "\t",
        " ",
        "- **",
        "a ",
        "# ",
        "not ",
        "adr-1 ",
        "replaced with ",
        "`a/",
        "\n",
        "[a ",
        "user: ",
        "- a (not",
    ],
)
def test_no_text_takes_long_to_judge(unit):
    text = unit * (40_000 // len(unit))
    start = time.thread_time()
    detect_kind(text)
    detect_category(text)
    is_protected(text)
    assert time.thread_time() - start < 10  # linear takes about one; quadratic takes minutes

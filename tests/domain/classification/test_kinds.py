import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification.kinds import kind_scores
from ragmem.domain.classification.protection import is_protected


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
        "ADR 12: boats are counted at the quay.",
        "We went with the northern pier.",
        "rule: no nets on the quay",
        "please don't ring the bell at night",
        "Wir haben uns f\u00fcr die Nordmole entschieden, weil sie tiefer ist.",
        "Ne jamais amarrer deux bateaux au m\u00eame poteau.",
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
    assert kind_scores(text) == kind_scores(text)
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
    kind_scores(text)
    is_protected(text)
    assert time.thread_time() - start < 10  # linear takes about one; quadratic takes minutes

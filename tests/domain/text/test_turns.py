import time
from itertools import pairwise

import pytest

from ragmem.domain.text.turns import turns

RECORD = """user: How do I rotate the log?
assistant: Use logrotate:

```conf
user: root
```

It runs daily.
user: Thanks. And by size?
assistant: Set `size 10M`.
"""


def said(text):
    return [(turn.speaker, text[turn.body : turn.end].strip()) for turn in turns(text)]


def test_the_turns_of_a_record_follow_its_roles():
    speakers = [turn.speaker for turn in turns(RECORD)]
    assert speakers == ["user", "assistant", "user", "assistant"]
    assert [turn.asks for turn in turns(RECORD)] == [True, False, True, False]


def test_a_label_inside_a_code_fence_begins_no_turn():
    assert "user: root" in said(RECORD)[1][1]


def test_a_fence_that_was_never_closed_does_not_swallow_the_rest():
    text = "user: see\n```py\nx = 1\nassistant: a\nuser: b\n```sh\nls\n```\nassistant: c\n"
    assert [speaker for speaker, _ in said(text)] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize(
    "text",
    [
        "### User\n\nWhy?\n\n### Assistant\n\nBecause.\n",
        "**User:** Why?\n\n**Assistant:** Because.\n",
        "[10:02] Human: Why?\n[10:03] Assistant: Because.\n",
        "**User (10:02)**\n\nWhy?\n\n**Assistant (10:03)**\n\nBecause.\n",
        "# A record\n\nDate: 2026-01-02\n\nHuman: Why?\n\nAI: Because.\n",
    ],
)
def test_records_are_known_in_the_forms_that_exports_write(text):
    assert [words for speaker, words in said(text) if speaker][-2:] == ["Why?", "Because."]


def test_people_who_talk_are_known_by_speaking_again():
    text = "[8 May]\nMarion: Hi!\nOla: Hello. How are you?\nMarion: Fine.\nOla: Good.\n"
    assert [speaker for speaker, _ in said(text)] == ["", "marion", "ola", "marion", "ola"]
    assert not any(turn.asks for turn in turns(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "One line.",
        "Status: done\nOwner: Kim\nDue: Friday\n",
        "# Notes\n\nProblem: the disk was full.\n\n"
        + "It went on for a long while.\n" * 9
        + "Problem: again.\n",
        "user: only a question\n",
        "prose " * 200 + "\nuser: quoted\nassistant: quoted too\n" + "prose " * 200,
        "# Notes\n\nUser: postgres\nSystem: Debian 12\n\n# Backup\n\nDumps run nightly.",
        "user: deploy\nmodel: gpt-4\nagent: codex\n",
    ],
)
def test_other_texts_have_no_turns(text):
    assert turns(text) == []


def test_turns_hold_all_of_the_text():
    text = "Title\n\n" + RECORD
    found = turns(text)
    assert found[0].start == 0
    assert found[-1].end == len(text)
    assert all(one.end == other.start for one, other in pairwise(found))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "user: x\n" * 40_000,
        "[" * 300_000,
        "```\nuser:\n" * 30_000,
        "**" * 200_000,
        "a b " * 99_999,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_the_time_is_linear(text):
    start = time.thread_time()
    turns(text)
    assert time.thread_time() - start < 5  # linear takes half a second

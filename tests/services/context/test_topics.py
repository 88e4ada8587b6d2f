"""Topics of a session's prompts: when one is left, and when nobody can tell."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.services.context.topics import (
    Topic,
    from_document,
    names_in,
    prompt_text,
    reason_to_skip,
    to_document,
    watch,
)

NEW = "Rewrite the invoice importer so that broken rows land in a quarantine table"
EAST, NORTH, NEAR = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.8, 0.6, 0.0)


def test_the_first_prompt_that_says_something_begins_a_topic():
    verdict = watch(None, NEW, EAST, model="m")
    assert (verdict.switched, verdict.topic) == (True, Topic("m", EAST))


def test_a_far_prompt_switches_and_a_near_one_goes_on():
    topic = Topic("m", EAST)
    assert watch(topic, NEW, NORTH, model="m").switched
    near = watch(topic, NEW, NEAR, model="m")
    assert not near.switched
    assert near.distance == pytest.approx(0.2)
    assert near.topic is not None
    assert near.topic.prompts == 2


@pytest.mark.parametrize(
    "prompt",
    [
        "yes",
        "go on",
        "continue please",
        "ok, looks good, commit it",
        "",
        "Can you do the same again for those two modules in the billing package?",
        "also rename the remaining helpers of the invoice importer",
        "```python\nimport os\nprint(os.environ, sys.path, json.dumps(everything), collections)\n```",
        'Traceback (most recent call last):\n  File "a.py", line 3, in run\n    load_all_from_disk(now)',
    ],
)
def test_what_says_too_little_never_switches_and_needs_no_vector(prompt):
    topic = Topic("m", EAST)
    verdict = watch(topic, prompt, (), model="m")
    assert not verdict.switched
    assert verdict.topic == topic
    assert reason_to_skip(prompt) == verdict.reason != ""


def test_small_talk_before_the_first_prompt_does_not_take_its_place():
    greeted = watch(None, "hello", (), model="m")
    assert (greeted.switched, greeted.topic) == (False, None)
    assert watch(greeted.topic, NEW, EAST, model="m").switched


def test_the_words_around_a_paste_count():
    assert prompt_text(f"{NEW}\n```\nfoo()\n```") == NEW
    assert reason_to_skip(f"{NEW}\n```\nfoo()\n```") == ""


def test_a_topic_drifts_with_its_prompts_but_not_at_once():
    topic = Topic("m", EAST)
    far = (0.3, 0.954, 0.0)
    for _ in range(6):
        verdict = watch(topic, NEW, far, model="m")
        assert not verdict.switched
        topic = verdict.topic
    assert verdict.distance is not None
    assert verdict.distance < 0.1


def test_vectors_of_another_model_begin_anew_without_a_switch():
    verdict = watch(Topic("old", EAST), NEW, (0.0, 1.0), model="new")
    assert (verdict.switched, verdict.topic) == (False, Topic("new", (0.0, 1.0)))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=8).filter(any), st.integers(1, 99))
def test_a_topic_survives_its_file(total, prompts):
    topic = Topic("m", tuple(total), prompts)
    assert from_document(json.loads(json.dumps(to_document(topic)))) == topic


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"schema": 2},
        {"schema": 1, "model": "m", "prompts": 1, "topic": "###"},
        {"schema": 1, "topic": ""},
    ],
)
def test_a_file_that_is_none_is_no_topic(document):
    assert from_document(document) is None


def test_a_vector_without_direction_is_refused():
    with pytest.raises(ValueError, match="length zero"):
        watch(None, NEW, (0.0, 0.0), model="m")


def test_what_is_tagged_or_fenced_is_not_said():
    text = "Look <log>one </log> and\n```html\n<p>two</p>\n```\nthree <br> four"
    assert prompt_text(text).split() == ["Look", "and", "three", "<br>", "four"]


@pytest.mark.parametrize("text", ["<a> x\n" * 50_000, "```" * 50_001, "</a>" * 50_000])
def test_the_time_for_a_long_paste_is_linear(text):
    started = time.thread_time()
    prompt_text(text)
    assert time.thread_time() - started < 1.0


TIDES = "潮汐表の取得が夜間に失敗する原因を調査してください"
TABLE = "导入程序夜间超时\uff0c把损坏的行写入隔离表"


@pytest.mark.parametrize("prompt", [TIDES, TABLE])
def test_a_prompt_without_spaces_begins_a_topic(prompt):
    assert reason_to_skip(prompt) == ""


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("继续", "too few content words"),
        ("お願いします。", "too few content words"),
        ("重启后端服务", "too few content words"),
        (f"これは{TIDES}", "refers to earlier prompts"),
        (f"还是{TABLE}", "refers to earlier prompts"),
        ('@agent Continue: "Continue to iterate over each of the files?"', "too few content words"),
    ],
)
def test_a_prompt_without_spaces_can_say_too_little_or_point_back(prompt, reason):
    assert reason_to_skip(prompt) == reason


@pytest.mark.parametrize(
    "prompt",
    [
        "how are crises escalated on call",
        "Which port does staging listen on today?",
        "¿Dónde están las copias?",
    ],
)
def test_the_first_prompt_may_be_a_short_question(prompt):
    assert reason_to_skip(prompt, first=True) == ""
    assert reason_to_skip(prompt) == "too few content words"


@pytest.mark.parametrize(
    "prompt", ["how are we doing?", "write a commit message", "Could you fix the failing tests?", "is CI red"]
)
def test_the_first_prompt_may_say_too_little_or_be_an_order(prompt):
    assert reason_to_skip(prompt, first=True) == "too few content words"


TYPED = """
## User Input

```text
{}
```

You **MUST** consider the user input before proceeding (if not empty).

## Outline

Goal: Reduce the ambiguity of the feature specification.

1. Run the script and parse what it prints.
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_of_a_template_only_what_was_typed_into_it_is_said(end):
    assert prompt_text(TYPED.format(NEW).replace("\n", end)) == NEW
    assert reason_to_skip(TYPED.format("").replace("\n", end)) == "a paste"


def test_the_lines_of_a_console_are_a_paste_and_a_single_one_may_be_said():
    logged = "client:618 [vite] connected.\nboard.tsx:382 Uncaught ReferenceError: tide is not defined"
    prompt = (
        f"The board of departures shows no tides on Mondays\n{logged}\nPS C:\\Users\\ana\\tide> npm run dev"
    )
    assert prompt_text(prompt) == prompt.partition("\n")[0]
    assert prompt_text("board.tsx:382 reads the tide before it is there") != ""


def test_a_language_is_no_name_of_the_project():
    assert names_in("Please write the summary of the TideBoard in Japanese") == ["TideBoard"]


def test_a_label_with_a_number_is_no_name():
    assert names_in("Implement Phase2 and step3 of the TideBoard2 plan") == ["TideBoard2"]

"""Which route a question takes."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.domain.retrieval.routing import is_pasted_error, mask_names, route, symbols
from ragmem.domain.retrieval.routing_cues import CUES, Cue, Route, compiled

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 '-_.,?SYMBOLHT"
QUESTIONS = Path(__file__).parents[2] / "data" / "routing.jsonl"


def _questions() -> list[dict[str, str]]:
    return [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


def test_at_least_95_of_100_questions_take_their_route() -> None:
    rows = _questions()
    right = sum(route(row["query"]).route == row["route"] for row in rows)
    assert right / len(rows) >= 0.95


def test_questions_with_a_misleading_word_are_routed_as_well_as_the_others() -> None:
    rows = _questions()
    hard = [route(row["query"]).route == row["route"] for row in rows if row["misleading"]]
    easy = [route(row["query"]).route == row["route"] for row in rows if not row["misleading"]]
    assert sum(hard) / len(hard) >= sum(easy) / len(easy) - 0.03


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How do I stop a running job?", Route.KNOWLEDGE),
        ("Is the job still running?", Route.OPERATIONAL),
        ("What's still in the queue?", Route.OPERATIONAL),
        ("When did the job stop?", Route.EPISODE),
        ("Which functions call stop_job?", Route.CODE),
        ("Can an attacker stop the job?", Route.RECON),
    ],
)
def test_the_form_of_a_question_decides_and_not_its_subject(question: str, wanted: Route) -> None:
    assert route(question).route is wanted


def test_a_pasted_error_wants_knowledge_whatever_its_words_say() -> None:
    error = (
        'Traceback (most recent call last):\n  File "scan.py", line 3, in audit\nRuntimeError: job running'
    )
    assert is_pasted_error(error)
    assert route(error).route is Route.KNOWLEDGE


def test_a_question_about_an_error_is_no_pasted_error() -> None:
    assert not is_pasted_error("What does 'fatal: bad object' mean?")


def test_a_text_without_any_cue_wants_knowledge_by_a_small_margin() -> None:
    routed = route("lorem ipsum")
    assert (routed.route, routed.reasons) == (Route.KNOWLEDGE, ())
    assert 0 < routed.margin < 2


def test_a_word_inside_a_name_of_code_is_no_cue() -> None:
    assert mask_names("does `queue_status()` return ENT-12?") == "does SYMBOL return TICKET ?"


def test_reasons_are_sorted_by_weight_and_carry_the_margin() -> None:
    routed = route("Which classes inherit from BaseReader?")
    weights = [reason.weight for reason in routed.reasons]
    assert weights == sorted(weights, reverse=True)
    sums = {item: sum(reason.weight for reason in routed.reasons if reason.route is item) for item in Route}
    sums[Route.KNOWLEDGE] += 1.5
    assert routed.margin == pytest.approx(sums[routed.route] - sums[routed.second])


def test_the_words_that_a_cue_needs_never_hide_it() -> None:
    texts = [mask_names(row["query"]) for row in _questions()]
    for cue in CUES:
        unguarded = replace(cue, needs="")
        assert [text for text in texts if cue.matches(text)] == [
            text for text in texts if unguarded.matches(text)
        ]


def test_every_cue_is_found_in_more_than_one_question() -> None:
    texts = [mask_names(row["query"]) for row in _questions()]
    assert not [cue.name for cue in CUES if sum(cue.matches(text) for text in texts) < 2]


def test_names_of_code_are_found_as_they_are_written() -> None:
    asked = "does `pool` or Store.put() in src/store.py call parse_dates on GitHub?"
    assert symbols(asked) == ("pool", "Store.put", "src/store.py", "parse_dates")


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=3000))
def test_any_text_has_a_route_and_always_the_same(text: str) -> None:
    assert route(text) == route(text)
    assert route(text).margin >= 0


@pytest.mark.parametrize(
    "text", ["a " * 10_000, "when " * 4_000, "x." * 10_000, "does " * 4_000, "(" * 20_000]
)
def test_the_longest_question_is_routed_in_no_time(text: str) -> None:
    started = time.thread_time()
    route(text)
    assert time.thread_time() - started < 0.1


@pytest.mark.parametrize("cue", CUES, ids=lambda cue: cue.name)
@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_what_matches_a_cue_has_what_the_cue_needs(cue: Cue, data: st.DataObject) -> None:
    made = [data.draw(st.from_regex(compiled(pattern), alphabet=LETTERS)) for pattern in cue.patterns]
    text = " ".join(made)
    assert cue.may_match(text) or not all(compiled(pattern).search(text) for pattern in cue.patterns)

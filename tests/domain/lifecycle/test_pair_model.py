"""What the pair model makes of two statements."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.lifecycle.pair_model import RELATIONS, WEIGHTS, align, inputs, load_weights, relate

HARBOUR = "The ferry timetable is read from tides.csv in the harbour folder."


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (HARBOUR, "The ferry timetable is read from tides.db in the harbour folder."),
        (
            "The tide import gives up on a station after 3 attempts.",
            "The tide import gives up on a station after 5 attempts.",
        ),
        (
            "Run the tide import with `make tides-v1` before each build of the charts.",
            "Run the tide import with `make tides-v2` before each build of the charts.",
        ),
        # two values of one label, and nothing else
        (
            "`make tides` starts the tide server at port 5100 and the chart server at port 5200.",
            "`make tides` starts the tide server at port 5101 and the chart server at port 5201.",
        ),
    ],
)
def test_another_value_of_the_same_thing_hides_the_older_one(older, newer):
    verdict = relate(older, newer)
    assert verdict.hides
    assert verdict.marks
    assert max(verdict.probabilities, key=verdict.probabilities.__getitem__) == "supersedes"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        # four services that differ in their names
        ("auth-service listens on port 8080", "billing-service listens on port 8081"),
        ("The auth service listens on port 8080.", "The billing service listens on port 8081."),
        (
            "Our service for payments listens on port 8080 behind the gateway.",
            "Our service for invoices listens on port 8081 behind the gateway.",
        ),
        # three proxies
        ("the upload limit of proxy A is 10 MB", "the upload limit of proxy B is 20 MB"),
        ("Nginx proxy 1 allows uploads of 10 MB", "Nginx proxy 2 allows uploads of 10 MB"),
        ("The upload limit of the north proxy is 10 MB.", "The upload limit of the south proxy is 10 MB."),
        # a measurement at another size, and another occasion
        ("Planning a route takes 9 ms with 200 buoys.", "Planning a route takes 31 ms with 900 buoys."),
        ("The ferry fares brought $6.7M on 89 trips.", "The ferry fares brought $4.2M on 156 trips."),
        ("The map is drawn from the tide tables of 2024.", "The map is drawn from the tide tables of 2025."),
        ("Route planning: 9 ms with 200 buoys.", "Route planning: 31 ms with 900 buoys."),
        (
            "Upload: the limit of the north proxy is 10 MB and 3 retries",
            "Upload: the limit of the south proxy is 20 MB and 5 retries",
        ),
        ("Meeting 2026-03-01: 12 people came.", "Meeting 2026-04-01: 14 people came."),
        # items of a list
        ("- [ ] Step 2: run the tests", "- [ ] Step 5: run the tests"),
        ("| `pause_job` | pauses a job | admin |", "| `cancel_job` | cancels a job | admin |"),
        # the older one stays true
        ("The harbour master now checks moorings.", "The harbour master now checks moorings at dusk."),
        ("The ferry has 12 life rafts.", "The ferry has a new captain since May."),
    ],
)
def test_what_may_be_another_thing_hides_nothing(older, newer):
    assert not relate(older, newer).hides


CORRECTIONS = [
    (
        "The staging database is MySQL 8.",
        "Correction: the staging database is not MySQL 8 but PostgreSQL 16.",
    ),
    ("We use yarn for the frontend.", "Correction: we don't use yarn but pnpm for the frontend."),
    ("The cache lives in Redis.", "Correction (May): The cache is not in Redis."),
    (
        "The key is read from config.toml.",
        "Corrected: the key is read from the environment, not from config.toml.",
    ),
]


@pytest.mark.parametrize(("older", "newer"), CORRECTIONS)
def test_a_correction_marks_what_it_denies_and_hides_nothing_more(older, newer):
    assert relate(older, newer).marks
    assert not relate(older, newer.partition(": ")[2]).marks


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "The staging database is MySQL 8.",
            "Correction: the production database is not SQLite but PostgreSQL 16.",
        ),
        ("The staging database is MySQL 8.", "Correction: the staging database is backed up at night."),
    ],
)
def test_a_correction_of_something_else_marks_nothing(older, newer):
    assert not relate(older, newer).marks


def test_an_addition_refines():
    older = "The harbour master checks the moorings of the fishing boats."
    probabilities = relate(older, f"{older} He writes the result into the log of the quay.").probabilities
    assert max(probabilities, key=probabilities.__getitem__) == "refines"


def test_what_is_no_longer_open_and_a_number_that_rises_are_inputs():
    done = inputs(align("The mooring plan is pending.", "The mooring plan is signed."))
    more = inputs(align("The ferry has 12 life rafts.", "The ferry has 14 life rafts."))
    fewer = inputs(align("The ferry has 14 life rafts.", "The ferry has 12 life rafts."))
    assert (done["open status gone"], more["open status gone"]) == (1, 0)
    assert (more["number rises"], fewer["number rises"], done["number rises"]) == (1, 0, 0)


def test_the_same_text_changes_nothing():
    verdict = relate(HARBOUR, HARBOUR.upper())
    assert (verdict.hides, verdict.marks) == (False, False)


def test_the_shipped_weights_know_every_input_and_hold_no_text():
    names = set(inputs(align("one thing", "another thing")))
    assert set(load_weights().values) == names
    assert set(json.loads(WEIGHTS.read_bytes())["weights"]) == names
    assert all(len(row) == len(RELATIONS) for row in load_weights().values.values())


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_have_probabilities(older, newer):
    verdict = relate(older, newer)
    assert sum(verdict.probabilities.values()) == pytest.approx(1)
    assert all(-2 <= value <= 10 for value in inputs(align(older, newer)).values())
    assert verdict.marks or not verdict.hides

"""Memories that were written from one template: nothing but marks of a run differs between them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.folds import mask_values, repeated_reports
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.model.document_place import place_metadata
from ragmem.domain.model.lifecycle import Entry, LifecyclePolicy, LifecycleState
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.lifecycle.lifecycle import decide_all

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SAME_BUT_FOR_THE_RUN = (
    (
        "Nightly backup run 4711 of the orders finished at 02:15 after 12 s, 36 rows copied, no warnings",
        "Nightly backup run 9 of the orders finished at 23:59:07 after 3 min, 1,204 rows copied, no warnings",
    ),
    (
        "2026-03-01T02:15:03Z heartbeat of the tide board: all gauges answer, the queue is empty",
        "2025-12-31 23:59:59 heartbeat of the tide board: all gauges answer, the queue is empty",
    ),
    (
        "Build 881 of the harbour app passed in 3.2s on runner north with cache v7 and 412 tests passed",
        "Build 1024 of the harbour app passed in 1 min 4 s on runner north with cache v7 and 7 tests passed",
    ),
    (
        "Checkpoint for session 4ded0de6 written to shadow branch at 10:22: 31 files touched, no summary",
        "Checkpoint for session 03a1382e written to shadow branch at 9:05: 2 files touched, no summary",
    ),
)
REPORTS = tuple(one for one, _ in SAME_BUT_FOR_THE_RUN)
FACTS = (
    "The billing service connects to its database at host postgres-billing on port 5432 with TLS required.",
    "The nginx proxy timeout is 30s for api requests, and the client body limit is 8 MB there.",
    "Ana pays the harbour office 40 EUR a month for berth 9, as agreed on 2026-03-01.",
    "The importer runs 3 replicas of v2.4 from /srv/tides/import with the flag --depth=9 every night.",
    'The board shows "departs 10:15" in de-DE for ferry F12, and Bernd signs each release.',
    "The certificate of gate-7.example.org is valid until 2026-09-30, and its renewal finished on Monday.",
    "Customer 4711 moved to plan gold at 10:30 on 2026-03-01; the invoice number is RE-2026-118.",
)


def entry(number: int, text: str, project: str = "shop", **more: Any) -> Entry:
    at = NOW + timedelta(hours=number)
    name = f"m{number}"
    memory = Memory(name, "note", name, text, "", at, at, at, content_hash(text), Scope(project))
    return Entry(replace(memory, **more), number)


def backup(number: int) -> str:
    digest = format(number * 7919 + 0xABC000, "07x")
    return (
        f"Nightly backup {digest} of the orders, run {number}, finished at 02:1{number} after {number}.5 s,"
        f" {number * 3 + 1} rows copied, no warnings"
    )


def found(entries: list[Entry]) -> list[tuple[str, list[str]]]:
    return [(one.keeper.id, [other.id for other in one.others]) for one in repeated_reports(entries)]


def ended(texts: list[str]) -> list[str]:
    """Return what gc takes out of memories with these texts, where all of them are compared and alone."""
    fate = decide_all(
        [entry(number, text) for number, text in enumerate(texts)],
        [],
        policy=LifecyclePolicy(),
        compared=True,
        redactor=DEFAULT,
    )
    return [key for key, one in fate.items() if one.action in {"archive", "remove"}]


def test_memories_that_differ_in_marks_of_a_run_are_a_family_of_which_the_newest_is_kept() -> None:
    assert found([entry(number, backup(number)) for number in range(4)]) == [("m3", ["m2", "m1", "m0"])]


@pytest.mark.parametrize(("report", "another"), SAME_BUT_FOR_THE_RUN)
def test_the_reports_of_two_runs_are_the_same_without_their_marks(report: str, another: str) -> None:
    assert mask_values(report) == mask_values(another) != report


def test_two_alike_may_be_two_facts() -> None:
    assert not found([entry(number, backup(number)) for number in range(2)])


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_has_no_marks(fact: str) -> None:
    assert mask_values(fact) == fact


@pytest.mark.parametrize(
    "texts",
    [
        [f"The {name} service is on port {port}, passed review and ran in 3 s." for name, port in
         (("billing", 5432), ("search", 5433), ("mail", 5434))],
        [f"Deploy to host db-{n} finished at 10:15 and the smoke tests passed in 3 s" for n in range(4)],
        [f"Build 881 finished in 3 s with {n} tests failed on the north runner" for n in range(4)],
        [f"The migration of the {n} GB order table finished at 10:15, no warnings" for n in range(4)],
        [f"Release v2.{n} passed all checks and finished its rollout at 10:15" for n in range(4)],
        [f"Issue #{n} was done by Ana: the ferry board passed its tests" for n in range(4)],
        [f"The lease of berth {n} ended on 2026-03-01 and the inspection passed" for n in range(4)],
        [f"The night shift must have finished by 0{n}:15 in every harbour" for n in range(4)],
        [f"Run {n} workers for the tide import, since the last one passed" for n in range(4)],
        [f"The job passed because the retry budget is {n} s in run 12" for n in range(4)],
        [f"Sensor 10.0.0.{n} passed its test in run 12 of the nightly job" for n in range(4)],
        [f"The deploy of the board finished with status {n} after run 12" for n in range(4)],
    ],
)  # fmt: skip
def test_what_differs_in_a_name_a_number_or_an_amount_is_no_template(texts: list[str]) -> None:
    assert not found([entry(number, text) for number, text in enumerate(texts)])
    assert not ended(texts)


def test_short_reports_are_no_template() -> None:
    assert not found([entry(number, f"#{number} passed in 3.2s") for number in range(9)])


def test_memories_with_other_titles_are_no_family() -> None:
    entries = [entry(n, REPORTS[0], title=f"Backup of {name}") for n, name in enumerate("xyz")]
    assert not found(entries)


def test_the_pages_of_a_document_are_of_no_family() -> None:
    pages = [
        entry(n, backup(n), metadata=place_metadata("report.pdf", f"page={n}", f"page {n}")) for n in range(4)
    ]
    assert not found(pages)


@pytest.mark.parametrize("why", ["protected", "pinned", "curated", "proven"])
def test_what_must_stay_is_of_no_family(why: str) -> None:
    last = entry(3, backup(3), protected=why == "protected")
    kept = Entry(
        last.memory,
        3,
        life=LifecycleState.PROVEN if why == "proven" else LifecycleState.BUFFER,
        pinned=why == "pinned",
        curated=why == "curated",
    )
    rest = [entry(number, backup(number)) for number in range(3)]
    assert found([*rest, kept]) == [("m2", ["m1", "m0"])]


def test_a_family_does_not_reach_beyond_its_project() -> None:
    entries = [entry(number, backup(number), ("shop", "pub")[number % 2]) for number in range(6)]
    assert found(entries) == [("m4", ["m2", "m0"]), ("m5", ["m3", "m1"])]


@settings(max_examples=50)
@given(st.permutations(range(8)))
def test_the_order_of_the_memories_does_not_matter(order: list[int]) -> None:
    entries = [entry(number, backup(number) if number % 3 else f"unlike {number}") for number in range(8)]
    assert found([entries[number] for number in order]) == found(entries)


WORD = st.text("abcdefghijklmnopqrstuvwxyzäöüABCDE", min_size=1, max_size=9)
FACT = st.one_of(WORD, st.integers(0, 99_999).map(str), WORD.map("/srv/{}".format), WORD.map('"{}"'.format))


@settings(max_examples=300)
@given(st.sampled_from(REPORTS + FACTS), st.data())
def test_texts_of_which_one_word_differs_all_outlive_gc(text: str, data: st.DataObject) -> None:
    words = text.split()
    marks = mask_values(text).split()
    assume(len(words) == len(marks) or text in FACTS)
    places = [at for at in range(len(words)) if text in FACTS or "\0" not in marks[at]]
    at = data.draw(st.sampled_from(places))
    others = data.draw(st.lists(FACT, min_size=3, max_size=3, unique=True))
    assume(words[at] not in others)
    # What is put there may be no mark of a run itself: "run 12" says which one.
    texts = [" ".join([*words[:at], other, *words[at + 1 :]]) for other in others]
    assume(all("\0" not in one for one in _at(texts, at)))
    assert not ended([text, *texts])


def _at(texts: list[str], at: int) -> list[str]:
    """Return what stands at a place of the masked texts."""
    return [words[at] if len(words := mask_values(text).split()) > at else "" for text in texts]

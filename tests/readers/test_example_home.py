"""The example home fills every source, and each of its files is read without a complaint."""

from pathlib import Path

import pytest
from source_files import read_all

from ragmem.config.loader import load
from ragmem.domain.classification.signal import classify
from ragmem.domain.model import USER, Kind, Tier
from ragmem.readers.read_result import ReadResult
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.source import find_files

HOME = Path(__file__).parents[2] / "examples" / "home"


@pytest.fixture(scope="module")
def readings() -> dict[str, list[ReadResult]]:
    found = load(environ={}, home=HOME)
    finder = ProjectFinder(HOME)
    return {
        spec.name: list(read_all(spec, home=HOME, settings=found, projects=finder))
        for spec in found.enabled_sources()
    }


def test_the_files_are_of_eight_sources_and_none_has_a_problem(readings: dict[str, list[ReadResult]]) -> None:
    counts = {name: sum(len(reading.drafts) for reading in found) for name, found in readings.items()}
    assert {name: count for name, count in counts.items() if count} == {
        "memory": 5,
        "prds": 3,
        "reflections": 6,
        "sessions": 7,
        "paidocs": 2,
        "skills": 3,
        "commands": 2,
        "claudemds": 2,
    }
    assert not [one for found in readings.values() for one in found if one.error or one.warnings]
    found = load(environ={}, home=HOME)
    for spec in found.enabled_sources():
        assert not find_files(spec, home=HOME, settings=found).skipped


def test_no_time_depends_on_when_the_files_were_checked_out(readings: dict[str, list[ReadResult]]) -> None:
    times = [draft.event_time for found in readings.values() for one in found for draft in one.drafts]
    assert all(time is not None and (2026, 1) <= (time.year, time.month) <= (2026, 4) for time in times)


def test_memories_and_instructions_of_a_project_share_its_scope(
    readings: dict[str, list[ReadResult]],
) -> None:
    def scopes(source: str) -> set[str]:
        return {draft.scope.project for one in readings[source] for draft in one.drafts}

    assert scopes("memory") == scopes("claudemds")
    assert {scope.rpartition("-")[0] for scope in scopes("memory")} == {"tideline", "gullwing"}
    assert scopes("sessions") == {USER}


def test_one_note_is_discarded(
    readings: dict[str, list[ReadResult]],
) -> None:
    tiers = {
        draft.uri.rpartition("/")[2]: classify(draft.text).tier
        for found in readings.values()
        for one in found
        for draft in one.drafts
    }
    assert [name for name, tier in tiers.items() if tier is Tier.DISCARD] == ["2026-04-02_morning.md"]


def test_preferences_are_known_by_their_type(readings: dict[str, list[ReadResult]]) -> None:
    titles = {
        draft.title for one in readings["memory"] for draft in one.drafts if draft.kind is Kind.PREFERENCE
    }
    assert titles == {"How Sam likes Python to be written", "Words on the departure board"}

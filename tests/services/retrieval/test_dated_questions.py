"""Questions that name a time of day find the memory of that minute, in the zone of the person who asks."""

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ragmem.domain.model import Draft

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


@pytest.fixture
def at_home(monkeypatch):
    """Let the machine stand in a zone."""

    def put(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()
        return ZoneInfo(name)

    yield put
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "UTC"])
def test_the_memory_of_a_minute_stands_before_the_others_of_its_day(memory, at_home, zone):
    minute = datetime(2025, 5, 3, 14, 5, 20, tzinfo=at_home(zone))
    memory.ingest(
        [
            Draft(
                "notes",
                f"n{hours}",
                f"We decided on kiln number {hours + 90} because of the heat.",
                f"{hours}",
                event_time=minute + timedelta(hours=hours),
            )
            for hours in range(-9, 9)
        ]
    )
    for question in ("what did I note on 3 May at 14:05", "was habe ich am 3. Mai um 14:05 notiert"):
        found = memory.query(question, at=NOW).matches
        # With the clock of UTC at most one other memory may be meant.
        assert "0" in [match.memory.title for match in found[:2]], question


def test_what_is_from_a_named_year_stands_before_what_is_not(memory):
    words = {
        2023: "We decided on the kiln: we decide to take the old kiln.",
        2024: "The kiln has number four.",
        2025: "We decided on the glaze of the kiln.",
    }
    for year, said in words.items():
        time = datetime(year, 5, 3, tzinfo=UTC)
        memory.ingest([Draft("notes", f"n{year}", said, f"{year}", event_time=time)])
    for question, first in (
        ("what did we decide about the kiln in 2024", ["2024"]),
        ("what did we decide about the kiln in 2023", ["2023"]),
        ("what did we decide about the kiln since 2024", ["2024", "2025"]),
    ):
        assert memory.query(question, at=NOW).matches[0].memory.title in first, question

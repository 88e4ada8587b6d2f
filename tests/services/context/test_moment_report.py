"""How often a moment spoke, was of use, and was silent: counted by what sessions did afterwards."""

from datetime import UTC, datetime, timedelta

import pytest
from claude_sessions import Session

from ragmem.domain.model import Draft, Scope
from ragmem.services.transcripts.transcripts import capture
from ragmem.storage.activity.moment_counts import KEEP, MOST_BYTES, MomentCounts

NOW = datetime(2026, 5, 1, tzinfo=UTC)
PROJECT = "p-quay"
TRAP = "Never call `allocate_every_berth` in `berth_plan.py` twice, because it empties the table."


@pytest.fixture
def place(tmp_path, open_memory):
    """Return a memory that knows a trap of a file, and the folder of its project."""
    memory = open_memory()
    memory.catalog.prepare()
    memory.settings.places.state.mkdir(parents=True, exist_ok=True)
    folder = tmp_path / "quay"
    folder.mkdir()
    memory.catalog.projects.remember(PROJECT, name="quay", root=str(folder))
    memory.ingest([Draft("memory", "/n/trap", TRAP, "trap", NOW - timedelta(days=9), Scope(PROJECT))])
    return memory, folder


def told(place, session, name):
    memory, folder = place
    return memory.injections.anticipate(session, str(folder / name), event="file", cwd=folder, at=NOW).context


def heard(place, tmp_path, session, answer):
    """Read the transcript of a session in which this was said."""
    memory, folder = place
    path = tmp_path / f"{session}.jsonl"
    Session(path, name=session, cwd=folder).turn("Go on with the berths.", answer)
    capture(memory.catalog, memory.settings, path, home=tmp_path, now=NOW + timedelta(days=1), ended=True)


def figures(memory, moment="file"):
    since = NOW - timedelta(days=30)
    return next(one for one in memory.injections.moments(since=since) if one.moment == moment)


def test_a_text_was_of_use_if_the_session_went_on_with_what_it_names(place, tmp_path):
    memory, _ = place
    for session in ("used", "unused", "unread"):
        assert told(place, session, "berth_plan.py").memories
    heard(
        place,
        tmp_path,
        "used",
        "I moved the call of `allocate_every_berth` out of the loop, because it empties it.",
    )
    heard(
        place,
        tmp_path,
        "unused",
        "I moved the crane to the other quay, because the first one was closed for works.",
    )
    found = figures(memory)
    assert (found.told, found.memories, found.judged, found.useful) == (3, 3, 2, 1)
    assert figures(memory, "failure").told == 0


def test_a_text_that_somebody_called_good_was_of_use(place):
    memory, _ = place
    [trap] = told(place, "s", "berth_plan.py").memories
    memory.lifecycle.rate(trap.id, "good", session="s")
    found = figures(memory)
    assert (found.judged, found.useful) == (1, 1)


def test_silence_is_counted_by_its_reason(place):
    memory, _ = place
    told(place, "s", "berth_plan.py")
    for name in ("berth_plan.py", "crane_plan.py", "tide_plan.py"):
        assert not told(place, "s", name).text
    assert figures(memory).reasons == {
        "no memory about it is worth injecting": 2,
        "everything known about it was already injected into this session": 1,
    }
    assert figures(memory).silent == 3


def test_the_counts_of_a_day_are_added_up_and_old_ones_go(tmp_path):
    counts = MomentCounts(tmp_path)
    counts.add("file", "long ago", now=NOW - KEEP - timedelta(days=2))
    reason = "no memory about it is worth injecting"
    lines = MOST_BYTES // len(f"2026-05-01\t1\tfile\t{reason}\n") + 2
    for _ in range(lines):
        counts.add("file", reason, now=NOW)
    assert counts.since(datetime(2026, 1, 1, tzinfo=UTC)) == {"file": {reason: lines}}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2_000

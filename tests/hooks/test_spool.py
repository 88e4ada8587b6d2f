"""The spool of events: each is durable, kept once while it waits, and taken up whoever is killed."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ragmem import json_text
from ragmem.hooks import spool
from ragmem.inbox import set_aside


def event(**fields):
    return {
        "assistant": "claude-code",
        "event": "stop",
        "session": "s1",
        "at": 1_700_000_000_000_000_000,
        **fields,
    }


def test_an_event_is_one_file_that_only_its_owner_reads(tmp_path):
    spool.put(tmp_path, event(cwd='/with "quotes"\nand lines', transcript="/t/é.jsonl"))

    (path,) = spool.list_events(tmp_path)
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    assert spool.read(path) == event(cwd='/with "quotes"\nand lines', transcript="/t/é.jsonl")


def test_the_same_that_happens_again_while_it_waits_is_kept_once(tmp_path):
    for at in (1, 2, 3):
        spool.put(tmp_path, event(at=at))
    spool.put(tmp_path, event(at=4, session="another"))

    assert [spool.read(path)["session"] for path in spool.list_events(tmp_path)] == ["s1", "another"]


def test_what_happens_while_an_event_is_taken_up_is_kept_beside_it(tmp_path):
    spool.put(tmp_path, event(at=1))
    begun = spool.claim(spool.list_events(tmp_path)[0])
    spool.put(tmp_path, event(at=2))

    assert [spool.read(path)["at"] for path in spool.list_events(tmp_path)] == [1, 2]
    Path(begun).unlink()
    assert [spool.read(path)["at"] for path in spool.list_events(tmp_path)] == [2]


def test_an_event_that_a_killed_process_began_waits_again(tmp_path):
    spool.put(tmp_path, event())
    spool.claim(spool.list_events(tmp_path)[0])

    (path,) = spool.list_events(tmp_path)
    assert spool.claim(path) == path
    assert spool.read(path) == event()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"event":"party","at":1}',
        b'{"event":"stop"}',
        b'{"event":"stop","at":"now"}',
        b'{"event":"stop","at":1e999}',
        b'{"event":"stop","at":1}' + b" " * spool.MOST_BYTES,
    ],
)
def test_what_is_no_event_says_so_and_can_be_set_aside(content, tmp_path):
    path = Path(spool.folder(tmp_path)) / "damaged.event"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    with pytest.raises(ValueError, match=r"."):
        spool.read(str(path))
    set_aside(str(path))

    assert spool.list_events(tmp_path) == []
    assert spool.is_empty(tmp_path)
    assert len(spool.list_aside(tmp_path)) == 1


def test_no_event_grows_past_all_bounds(tmp_path):
    with pytest.raises(ValueError, match="longer than"):
        spool.put(tmp_path, event(cwd="x" * 1_000_000))

    assert spool.is_empty(tmp_path)


def test_a_folder_of_events_is_no_write_of_the_inbox(tmp_path):
    from ragmem.inbox import inbox_folder, reader

    spool.put(tmp_path, event())

    assert reader.is_empty(inbox_folder(tmp_path))


VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(),
    lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_what_the_json_module_reads(value):
    assert json.loads(json_text.write(value)) == value


@given(VALUES)
def test_what_the_json_module_writes_is_read_as_it_is_said(value):
    assert json_text.read(json.dumps(value)) == json.loads(json.dumps(value))


@given(some.text())
def test_what_is_no_json_is_a_value_error_and_nothing_else(text):
    try:
        json.loads(text, strict=False)
    except ValueError:
        with pytest.raises(ValueError, match=r".|^$"):
            json_text.read(text)
    else:
        json_text.read(text)

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.sharing.record import (
    MAX_RECORD,
    InvalidRecordError,
    OpaqueRecord,
    SharedMemory,
    Supersession,
    Withdrawal,
    encode,
    parse,
    record_id,
    without_controls,
)

AT = datetime(2026, 3, 1, 9, 30, 0, 5, tzinfo=UTC)
MEMORY = SharedMemory("ann-1", AT, AT, "Queue bound", "We bound the queue at 700.\n\tTwice.", tags=("b", "a"))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(without_controls)
lines = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).map(
    lambda text: without_controls(text, one_line=True) or "x"
)
members = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)
ids = st.binary(max_size=4).map(record_id)
times = st.integers(0, 7 * 10**9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
times |= st.just(datetime(1000, 1, 2, tzinfo=UTC)) | st.just(AT)
few = st.lists(lines, max_size=4, unique=True).map(lambda found: tuple(sorted(found)))
values = st.recursive(
    texts | st.booleans() | st.integers(-(2**52), 2**52) | st.floats(-1e9, 1e9, allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(lines, inner, max_size=3),
    max_leaves=6,
)
memories = st.builds(
    SharedMemory,
    members,
    times,
    times,
    lines | st.just(""),
    texts.map(lambda text: f"{text}x"),
    kind=lines | st.just(""),
    category=lines | st.just(""),
    tags=few,
    branch=lines | st.just(""),
    links=few,
    supersedes=st.lists(ids, max_size=3, unique=True).map(lambda found: tuple(sorted(found))),
    record_type=lines | st.just(""),
    fields=st.dictionaries(lines, values, max_size=3),
)
records = (
    memories
    | st.builds(Withdrawal, members, times, ids, lines | st.just(""))
    | st.builds(Supersession, members, times, st.just(record_id(b"old")), ids)
)


def too_deep(value, depth=0):
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (depth > 4 or any(too_deep(item, depth + 1) for item in value))


@given(records)
def test_a_record_comes_back_as_it_was(record):
    try:
        encoded = encode(record)
    except InvalidRecordError:
        assert too_deep(dict(record.fields))
        return

    assert parse(encoded) == record
    assert encode(parse(encoded)) == encoded
    assert b"\n" not in encoded


@given(memories, st.randoms())
def test_the_id_depends_on_neither_the_order_of_lists_nor_the_zone(memory, random):
    shuffled = list(memory.tags) * 2
    random.shuffle(shuffled)
    zone = timezone(timedelta(hours=random.randint(-12, 12)))
    other = replace(memory, tags=tuple(shuffled), at=memory.at.astimezone(zone), fields={})

    assert encode(other) == encode(replace(memory, fields={}))


def forms(data):
    """Return the same value in JSON as others would write it."""
    text = encode(MEMORY).decode()
    return {
        "blanks": json.dumps(data, ensure_ascii=False, sort_keys=True),
        "another order": json.dumps(dict(reversed(data.items())), separators=(",", ":"), ensure_ascii=False),
        "a name twice": text.replace('"v":1', '"v":1,"v":1'),
        "an escape": text.replace("Queue", "\\u0051ueue"),
        "a line feed": f"{text}\n",
        "a byte order mark": f"\ufeff{text}",
        "an empty field": text.replace('"v":1', '"v":1,"zone":""'),
        "an empty list": text.replace('"tags":["a","b"]', '"links":[],"tags":["a","b"]'),
        "a list in another order": text.replace('["a","b"]', '["b","a"]'),
        "an item twice": text.replace('["a","b"]', '["a","a"]'),
        "a time of another form": text.replace("09:30:00.000005Z", "09:30:00Z"),
        "a time in a zone": text.replace("000005Z", "000005+00:00"),
        "a time that is none": text.replace("2026-03-01", "2026-02-30"),
        "a year without zones": text.replace("2026-03-01", "9999-12-31"),
        "an unknown field": text.replace('"v":1', '"v":1,"w":1'),
        "another type": text.replace('"text":"We', '"text":["We').replace('Twice."', 'Twice."]'),
        "a version that is no number": text.replace('"v":1', '"v":true'),
        "no version": text.replace(',"v":1', ""),
        "a control character": text.replace("Queue", "Queue\x7f"),
        "an escape for a terminal": text.replace("Queue", "Queue\\u001b[2J"),
        "a lone surrogate": text.replace("Queue", "\\ud800"),
        "an author with a path": text.replace('"ann-1"', '"../ann"'),
        "two values": text + text,
        "a list": f"[{text}]",
        "a number without end": text.replace('"v":1', '"v":1' + "0" * 5000),
        "no number": text.replace('"v":1', '"v":NaN'),
        "depth": '{"a":' + "[" * 30000 + "]" * 30000 + "}",
        "nothing": "",
    }


@pytest.mark.parametrize("name", list(forms({})))
def test_other_forms_of_a_record_are_rejected(name):
    data = json.loads(encode(MEMORY))

    with pytest.raises(InvalidRecordError) as refused:
        parse(forms(data)[name].encode("utf-8", "surrogatepass"))
    assert refused.value.reason


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_other_bytes_are_rejected_and_raise_nothing_else(encoded):
    with pytest.raises(InvalidRecordError):
        parse(encoded)


@given(memories, st.data())
def test_a_change_of_one_byte_gives_another_record_or_none(memory, data):
    encoded = bytearray(encode(replace(memory, fields={})))
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place] ^= data.draw(st.integers(1, 255))
    try:
        changed = parse(bytes(encoded))
    except InvalidRecordError:
        return
    assert encode(changed) == bytes(encoded)
    assert record_id(bytes(encoded)) != record_id(encode(replace(memory, fields={})))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": "x" * MAX_RECORD}, "too large"),
        ({"text": " \n"}, "no text"),
        ({"text": "bell\x07"}, "not a valid text"),
        ({"text": "\ud800"}, "not UTF-8"),
        ({"title": "two\nlines"}, "not a valid title"),
        ({"title": "x" * 1001}, "not a valid title"),
        ({"author": "Ann"}, "not the id of a member"),
        ({"at": AT.replace(tzinfo=None)}, "a time without a zone"),
        ({"tags": tuple(map(str, range(101)))}, "not a valid tags"),
        ({"supersedes": ("../x",)}, "not a valid supersedes"),
        ({"fields": {"a": float("nan")}}, "not a valid fields"),
        ({"fields": {"a": None}}, "not a valid fields"),
        ({"fields": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}}, "not a valid fields"),
        ({"fields": {"a": object()}}, "not a valid fields"),
    ],
)
def test_a_record_that_would_be_rejected_is_not_written(change, reason):
    with pytest.raises(InvalidRecordError) as refused:
        encode(replace(MEMORY, **change))
    assert refused.value.reason == reason


def test_a_record_does_not_supersede_itself():
    with pytest.raises(InvalidRecordError):
        encode(Supersession("ann", AT, record_id(b"x"), record_id(b"x")))


@pytest.mark.parametrize("change", [{"type": "poll"}, {"v": 2, "new": [None, {"deep": [[[[[[1]]]]]]}]}])
def test_a_record_of_a_later_version_is_kept_as_it_is(change):
    data = {"at": "2026-03-01T09:30:00.000000Z", "author": "ann-1", "type": "memory", "v": 1, **change}
    encoded = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()

    record = parse(encoded)

    assert isinstance(record, OpaqueRecord)
    assert (record.author, record.type) == ("ann-1", data["type"])
    assert encode(record) == encoded


@given(st.text(st.characters(), max_size=40))
def test_any_text_can_be_made_fit_for_a_record(text):
    memory = replace(MEMORY, text=f"{without_controls(text)}x", title=without_controls(text, one_line=True))

    assert parse(encode(memory)).text == memory.text

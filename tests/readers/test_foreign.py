"""A foreign document is cut into its records with bounded memory, however it is cut into blocks."""

import io
import json
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.errors import SourceError
from ragmem.readers.foreign import TOOLS, find_tool, json_items
from ragmem.readers.foreign.entries import name_of, text_of, time_of
from ragmem.readers.foreign.json_items import items_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), max_size=5)


@given(RECORDS, st.integers(1, 9), st.booleans(), st.sampled_from([None, 2]))
def test_a_document_gives_its_records_whatever_the_blocks(records, block, ascii_only, indent):
    raw = json.dumps(records, ensure_ascii=ascii_only, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "BLOCK", block)
        assert [json.loads(item or b"") for item in items_of(io.BytesIO(raw), "x")] == records


@given(RECORDS, VALUES, st.integers(1, 9))
def test_the_records_of_a_key_are_found_among_others(records, other, block):
    document = {"a": other, "results": records, "b": {"results": [{"not": "this"}]}}
    raw = json.dumps(document).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "BLOCK", block)
        found = [json.loads(item or b"") for item in items_of(io.BytesIO(raw), "x", keys=("results",))]
    assert found == records


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw):
    with suppress(SourceError):
        for item in items_of(io.BytesIO(raw), "x"):
            assert item is not None
            assert item.startswith(b"{")


def test_no_more_than_the_beginning_of_json_lines_is_read(tmp_path):
    lines = tmp_path / "memory.jsonl"
    lines.write_text('{"type": "header", "counts": {"memory": 1}}\n' + '{"type": "memory"}\n' * 100_000)
    with lines.open("rb") as file:
        with pytest.raises(SourceError):
            list(items_of(file, "x", keys=("memories",)))
        assert file.tell() <= json_items.BLOCK


class Endless(io.RawIOBase):
    """An array with many records, and one that is far too long among them, made as it is read."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._begun = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._begun:
            self._begun = True
            return b'[{"a": 1}, {"long": "'
        if self._left > 0:
            self._left -= size
            return b"x" * size
        self._left -= 1
        return b'"}, {"b": 2}]' if self._left == -1 else b""


def test_a_record_that_is_too_long_is_never_held(monkeypatch):
    monkeypatch.setattr(json_items, "MAX_ITEM", 1 << 20)
    source: Any = Endless(64 << 20)
    tracemalloc.start()
    try:
        found = list(items_of(source, "x"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [b'{"a": 1}', None, b'{"b": 2}']
    assert peak < 8 << 20


@given(VALUES | st.floats())
def test_any_value_has_a_name_a_text_and_perhaps_a_time(value):
    assert "\n" not in name_of(value)
    assert "\0" not in text_of(value)
    at = time_of(value)
    assert at is None or at.utcoffset() is not None


def test_each_tool_has_a_module_of_its_name():
    assert [find_tool(name).name for name in TOOLS] == list(TOOLS)

"""Shared records: immutable statements of a member, named by the hash of their bytes.

The bytes are JSON in one form: names in order, no blanks, UTF-8, no member that is empty, times in UTC with
microseconds. So the same statement has the same id on every machine, and other forms are rejected.
A pack holds many records in one blob, as lines sorted by their ids.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from ragmem.domain.sharing.member import is_member
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_RECORD = 64 * 1024
"""Bytes of a record."""

VERSION = 1
"""A record of a later version is kept, but not understood."""

MAX_LINE = 1000
"""Characters of a title, a reason, a branch, a link, a tag, a kind or the name of a field."""

MAX_ITEMS = 100
"""Items of a list, and fields of a record."""

_MAX_NUMBER = 2**53
_MAX_DEPTH = 4
_ID = lazy(r"[0-9a-f]{64}")
_KIND = lazy(r"[a-z][a-z0-9_.-]{0,31}")
_CONTROL = lazy(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LINE_CONTROL = lazy(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TIME = lazy(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_YEARS = range(1000, 9000)
"""Far enough from the limits of `datetime` for any zone."""

MAX_PACK = 8 * 1024 * 1024
"""Bytes of a pack."""

MAX_PACK_RECORDS = 10_000


class InvalidRecordError(ValueError):
    """A record is not one: the reason is a short phrase, which reports count by."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A memory that a member shares.

    `at` is when the member last changed it, `event_at` when it happened; both are timezone-aware. `text` is
    verbatim. `supersedes` holds ids of records. The order of tags, links and ids has no meaning.
    """

    author: str
    at: datetime
    event_at: datetime
    title: str
    text: str
    kind: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    branch: str = ""
    links: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    record_type: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A member takes a record of their own back."""

    author: str
    at: datetime
    record: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Supersession:
    """A member says that one shared memory replaces another, whoever wrote them."""

    author: str
    at: datetime
    older: str
    newer: str


@dataclass(frozen=True, slots=True)
class OpaqueRecord:
    """A record of a kind or version that this ragmem does not know: it is kept, and means nothing here."""

    author: str
    at: datetime
    type: str
    data: Mapping[str, Any]


Record = SharedMemory | Withdrawal | Supersession | OpaqueRecord

_TYPES: Mapping[str, type] = MappingProxyType(
    {"memory": SharedMemory, "withdrawal": Withdrawal, "supersession": Supersession}
)
_NAMES = {kind: name for name, kind in _TYPES.items()}
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
_FIELDS = {name: tuple(item.name for item in fields(kind)) for name, kind in _TYPES.items()}
_TIMES = frozenset({"at", "event_at"})
_LISTS = frozenset({"tags", "links", "supersedes"})
_IDS = frozenset({"record", "older", "newer"})
_REQUIRED = _TIMES | _IDS | {"author"}


def is_record_id(text: str) -> bool:
    """Return whether a text is the id of a record: 64 lower-case hexadecimal digits."""
    return _ID.fullmatch(text) is not None


def record_id(encoded: bytes) -> str:
    """Return the id of a record by its bytes: their SHA-256 in lower-case hexadecimal digits."""
    return hashlib.sha256(encoded).hexdigest()


def encode(record: Record) -> bytes:
    """Return the bytes of a record; raises InvalidRecordError for values that `parse` would reject."""
    if isinstance(record, OpaqueRecord):
        return _canonical(dict(record.data))
    kind = _NAMES[type(record)]
    data: dict[str, Any] = {"type": kind, "v": VERSION}
    for name in _FIELDS[kind]:
        value = getattr(record, name)
        if name in _TIMES:
            data[name] = _time_text(value)
        elif name in _LISTS:
            data[name] = sorted(set(value))
        else:
            data[name] = dict(value) if name == "fields" else value
    data = {name: value for name, value in data.items() if value not in ("", [], {})}
    _check(data)
    return _canonical(data)


def parse(encoded: bytes) -> Record:
    """Return the record of these bytes; raises InvalidRecordError for any that `encode` does not write."""
    if len(encoded) > MAX_RECORD:
        raise InvalidRecordError("too large")
    try:
        data = json.loads(encoded.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidRecordError("not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRecordError("not JSON") from error
    if not isinstance(data, dict):
        raise InvalidRecordError("not a JSON object")
    if _canonical(data) != encoded:
        raise InvalidRecordError("not in canonical form")
    known = _check(data)
    author, at = data["author"], _time(data["at"])
    if not known:
        return OpaqueRecord(author, at, data["type"], data)
    values = {name: value for name, value in data.items() if name not in ("type", "v")}
    for name in _TIMES & values.keys():
        values[name] = _time(values[name])
    for name in _LISTS & values.keys():
        values[name] = tuple(values[name])
    if known == "memory":
        values = {"title": "", **values}
    record: Record = _TYPES[known](**values)
    return record


def without_controls(text: str, *, one_line: bool = False) -> str:
    """Return a text as a record may hold it: without control characters but line feeds and tabs.

    Lone surrogates become question marks. With `one_line` each run of blanks and controls becomes one blank.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    return " ".join(_LINE_CONTROL.sub(" ", text).split()) if one_line else _CONTROL.sub("", text)


def _canonical(data: Mapping[str, Any]) -> bytes:
    try:
        encoded = _ENCODER.encode(data).encode()
    except UnicodeEncodeError as error:
        raise InvalidRecordError("not UTF-8") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecordError("a value has no JSON form") from error
    if len(encoded) > MAX_RECORD:
        raise InvalidRecordError("too large")
    return encoded


def _check(data: Mapping[str, Any]) -> str:
    """Return the type of a record, "" for one to keep only; raises InvalidRecordError if it is not valid."""
    kind, version = data.get("type"), data.get("v")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise InvalidRecordError("no type")
    if type(version) is not int or version < 1:
        raise InvalidRecordError("no version")
    author = data.get("author")
    if not isinstance(author, str) or not is_member(author):
        raise InvalidRecordError("not the id of a member")
    _time(data.get("at"))
    if version != VERSION or kind not in _TYPES:
        return ""
    _check_known(kind, data)
    return kind


def _check_known(kind: str, data: Mapping[str, Any]) -> None:
    names = _FIELDS[kind]
    if not data.keys() <= {"type", "v", *names}:
        raise InvalidRecordError("an unknown field")
    for name in names:
        if name in data:
            _check_field(name, data[name])
        elif name in _REQUIRED:
            raise InvalidRecordError(f"no {name}")
    if kind == "memory" and not data.get("text", "").strip():
        raise InvalidRecordError("no text")
    if kind == "supersession" and data["older"] == data["newer"]:
        raise InvalidRecordError("it supersedes itself")


def _check_field(name: str, value: Any) -> None:
    if name in _TIMES:
        _time(value)
        return
    if name in _LISTS:
        valid = _is_list(value) and (name != "supersedes" or all(map(is_record_id, value)))
    elif name == "fields":
        valid = isinstance(value, dict) and _is_plain(value)
    elif name == "text":
        valid = isinstance(value, str) and not _CONTROL.search(value)
    else:
        valid = _is_line(value) and (name not in _IDS or is_record_id(value))
    if not valid or not value:
        raise InvalidRecordError(f"not a valid {name}")


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_LINE and not _LINE_CONTROL.search(value)


def _is_list(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MAX_ITEMS
        and all(_is_line(item) and item for item in value)
        and sorted(set(value)) == value
    )


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether a value is neither deep nor long, and has no control characters."""
    if isinstance(value, dict):
        if not all(map(_is_line, value)):
            return False
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return (
            depth <= _MAX_DEPTH
            and len(value) <= MAX_ITEMS
            and all(_is_plain(item, depth + 1) for item in value)
        )
    if isinstance(value, str):
        return not _CONTROL.search(value)
    return isinstance(value, (int, float)) and abs(value) < _MAX_NUMBER


def _time_text(time: datetime) -> str:
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise InvalidRecordError("a time without a zone")
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _time(text: Any) -> datetime:
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise InvalidRecordError("not a valid time")
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidRecordError("not a valid time") from error
    if time.year not in _YEARS:
        raise InvalidRecordError("not a valid time")
    return time


def write_packs(records: Iterable[bytes]) -> Iterator[bytes]:
    """Yield packs with each of these encoded records once; the same records give the same packs."""
    lines: list[bytes] = []
    size = 0
    for _, encoded in sorted({record_id(encoded): encoded for encoded in records}.items()):
        if lines and (size + len(encoded) + 1 > MAX_PACK or len(lines) == MAX_PACK_RECORDS):
            yield b"\n".join(lines) + b"\n"
            lines, size = [], 0
        lines.append(encoded)
        size += len(encoded) + 1
    if lines:
        yield b"\n".join(lines) + b"\n"


def read_pack(packed: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the ids and bytes of a pack's records, which are not checked.

    Raises InvalidRecordError for other bytes than `write_packs` writes. JSON escapes line feeds, so that no
    record in canonical form has one.
    """
    if len(packed) > MAX_PACK:
        raise InvalidRecordError("the pack is too large")
    if not packed.endswith(b"\n") or packed.count(b"\n") > MAX_PACK_RECORDS:
        raise InvalidRecordError("not a pack")
    previous = ""
    for encoded in packed[:-1].split(b"\n"):
        key = record_id(encoded)
        if key <= previous or len(encoded) > MAX_RECORD:
            raise InvalidRecordError("not a pack")
        previous = key
        yield key, encoded

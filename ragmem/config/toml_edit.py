"""Change values in config.toml and keep every other line as it is."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragmem.config.documents import Key, read_document
from ragmem.config.folders import replace_file
from ragmem.errors import ConfigError, StorageError, os_errors_as

Values = Mapping[str, Mapping[str, str | int | float | bool | None]]
"""Table -> key -> new value; None removes the key."""

_BYTE_ORDER_MARK = "\ufeff"
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Change:
    """The present and the new content of a file."""

    path: Path
    before: str
    after: str

    def diff(self) -> list[str]:
        """Return the lines of the unified diff; empty if nothing changes."""
        lines = difflib.unified_diff(
            self.before.splitlines(),
            self.after.splitlines(),
            str(self.path),
            str(self.path),
            lineterm="",
            n=1,
        )
        return list(lines)


def plan(path: Path, values: Values) -> Change:
    """Return the change that sets these values; a missing file counts as empty.

    Comments, order, other keys and other tables stay. Raises ConfigError for a file that is not valid TOML,
    and, with the lines to write, for a file whose form cannot be changed line by line.
    """
    read_document(path)  # raises ConfigError with the line
    before = path.read_bytes().decode() if path.exists() else ""
    mark, text = (_BYTE_ORDER_MARK, before[1:]) if before.startswith(_BYTE_ORDER_MARK) else ("", before)
    wanted = tomllib.loads(text)
    try:
        after = text
        for table, keys in values.items():
            for key, value in keys.items():
                after = _without(after, table, key) if value is None else _with(after, table, key, value)
                _apply(wanted, table, key, value)
        right = tomllib.loads(after) == wanted
    except (tomllib.TOMLDecodeError, AttributeError, TypeError):  # a value in place of a table has no keys
        right = False
    if not right:
        raise ConfigError(
            f'"{path}" cannot be edited line by line',
            hint="edit it yourself: " + "; ".join(_lines(values)),
        )
    return Change(path, before, mark + after)


def write(change: Change) -> None:
    """Replace the file atomically by its new content, readable only by its owner.

    A symbolic link stays, and its target is replaced. Raises ConfigError if somebody else has changed the
    file since it was read, StorageError if it cannot be written.
    """
    place = change.path.resolve()

    def is_unchanged() -> bool:
        return (place.read_bytes().decode() if place.exists() else "") == change.before

    with os_errors_as(StorageError, f'write "{change.path}"', hint="check free space and permissions"):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replaced = replace_file(place, change.after.encode(), may_replace=is_unchanged)
    if not replaced:
        raise ConfigError(f'"{change.path}" was changed in the meantime', hint="run the same command again")


def _lines(values: Values) -> Iterator[str]:
    for table, keys in values.items():
        yield f"[{table}]"
        for key, value in keys.items():
            yield f"no {key}" if value is None else f"{key} = {_literal(value)}"


def _apply(document: dict[str, Any], table: str, key: str, value: Any) -> None:
    if value is not None:
        document.setdefault(table, {})[key] = value
    elif table in document:
        document[table].pop(key, None)


@dataclass(frozen=True, slots=True)
class _Statement:
    """Lines that belong together: a header, an assignment, or a line without either (no key)."""

    start: int
    end: int
    table: Key
    key: Key
    header: bool


def _statements(lines: list[str]) -> Iterator[_Statement]:
    table: Key = ()
    start = 0
    while start < len(lines):
        # A value may span several lines: lines are added until they parse.
        for end in range(start + 1, len(lines) + 1):
            try:
                parsed = tomllib.loads("".join(lines[start:end]))
            except tomllib.TOMLDecodeError:
                continue
            break
        else:
            return
        whole = "".join(lines[start:end])
        header = whole.lstrip().startswith("[")
        if header:
            table = _path(parsed)
        yield _Statement(
            start, end, table, () if header or not parsed else _split_assignment(whole)[1], header
        )
        start = end


def _split_assignment(assignment: str) -> tuple[str, Key]:
    """Return the text before the = of an assignment, and its key."""
    for found in re.finditer("=", assignment):
        name = assignment[: found.start()]
        with suppress(tomllib.TOMLDecodeError):
            return name, _path(tomllib.loads(f"{name}= 0"))
    return "", ()


def _path(parsed: Mapping[str, Any]) -> Key:
    path: list[str] = []
    value: Any = parsed
    while isinstance(value, dict) and value:
        ((name, value),) = value.items()
        path.append(name)
    return tuple(path)


def _find(lines: list[str], table: str, key: str) -> _Statement | None:
    return next(
        (item for item in _statements(lines) if item.key and (*item.table, *item.key) == (table, key)), None
    )


def _without(text: str, table: str, key: str) -> str:
    lines = _LINES.findall(text)
    found = _find(lines, table, key)
    return text if found is None else "".join(lines[: found.start] + lines[found.end :])


def _with(text: str, table: str, key: str, value: Any) -> str:
    lines = _LINES.findall(text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    found = _find(lines, table, key)
    if found is not None:
        name, comment = _name_and_comment(lines[found.start : found.end])
        lines[found.start : found.end] = [f"{name}= {_literal(value)}{comment}{end}"]
        return "".join(lines)
    inside = [item for item in _statements(lines) if item.table == (table,) and (item.header or item.key)]
    dotted = [item for item in _statements(lines) if item.table == () and item.key[:1] == (table,)]
    if inside:
        lines.insert(inside[-1].end, f"{key} = {_literal(value)}{end}")
    elif dotted:
        lines.insert(dotted[-1].end, f"{table}.{key} = {_literal(value)}{end}")
    else:
        lines += [*([end] if lines and lines[-1].strip() else []), f"[{table}]{end}"]
        lines.append(f"{key} = {_literal(value)}{end}")
    return "".join(lines)


def _name_and_comment(lines: list[str]) -> tuple[str, str]:
    """Return the text before the = of an assignment, and the comment after its value."""
    whole = "".join(lines)
    name = _split_assignment(whole)[0]
    last = lines[-1].rstrip("\r\n")
    before = "".join(lines[:-1])
    parsed = tomllib.loads(whole)
    for found in re.finditer(r"[ \t]*#", last):
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(before + last[: found.start()]) == parsed:
                return name, last[found.start() :]
    return name, ""


def _literal(value: str | float | bool) -> str:  # noqa: FBT001 - the value, not a switch
    if isinstance(value, str):
        # JSON and TOML share their escapes, except for DEL, which JSON does not escape.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    # Python and TOML write numbers alike, even infinity.
    return str(value).lower() if isinstance(value, bool) else repr(value)

"""TOML and JSON files with the line of each key, for error messages."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from ragmem.config.values import nearest
from ragmem.errors import ConfigError
from ragmem.frozen import dataclass

Key = tuple[str, ...]

MAX_BYTES = 1_000_000
"""Maximum size of a configuration file; a larger one is a mistake."""

_LINE_IN_MESSAGE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_TABLE = re.compile(r"\s*\[\[?(?P<key>[^\[\]#]+)\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(
    r"""\s*(?P<key>(?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*)\s*="""
)
_KEY_PART = re.compile(r"""[\w-]+|"[^"\n]*"|'[^'\n]*'""")
_FENCE = re.compile(r'"""|' + "'''")
_JSON_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|\n')


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed configuration file: its values, and the line of each key."""

    path: Path
    values: Mapping[str, Any]
    lines: Mapping[Key, int] = field(default_factory=dict)
    shipped: bool = False

    def line(self, *key: str) -> int:
        """Return the line of a key, of its nearest parent that has one, or 1."""
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key[:-1]
        return 1

    def origin(self, *key: str) -> str:
        """Return where a value comes from, as `inspect config` shows it."""
        return "default" if self.shipped else f"{self.path.name}:{self.line(*key)}"

    def require_known(self, known: Iterable[str], *key: str, table: str = "") -> None:
        """Raise ConfigError with a suggestion if the last part of a key is not among the known names."""
        names = list(known)
        if key[-1] not in names:
            where = f" in [{table}]" if table else ""
            raise self.error(f'unknown key "{key[-1]}"{where}', *key, hint=nearest(key[-1], names))

    def error(self, problem: str, *key: str, hint: str = "") -> ConfigError:
        """Return the error for a problem with a key of this file."""
        return ConfigError(f"{self.path}:{self.line(*key)}: {problem}", hint=hint)


def read_document(path: Path, *, shipped: bool = False, max_bytes: int = MAX_BYTES) -> Document | None:
    """Return the parsed file (`.json`, else TOML), or None if there is no such file.

    Raises ConfigError for a file that cannot be read, is too large, is not text, or breaks its format (with
    the line).
    """
    text = _read(path, max_bytes)
    if text is None:
        return None
    values, lines = _parse_json(path, text) if path.suffix == ".json" else parse_toml(path, text)
    return Document(path, values, lines, shipped)


def _read(path: Path, max_bytes: int) -> str | None:
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise ConfigError(f'cannot read "{path}": not a file', hint="give a file")
        if path.stat().st_size > max_bytes:
            raise ConfigError(f'cannot read "{path}": it is larger than {max_bytes:,} bytes')
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f'cannot read "{path}": byte {error.start} is not UTF-8', hint="save the file as UTF-8"
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f'cannot read "{path}": {reason.lower()}', hint="check its permissions") from error


def parse_toml(path: Path, text: str) -> tuple[dict[str, Any], dict[Key, int]]:
    """Return the values of a TOML text and the line of each key; raises ConfigError for invalid TOML."""
    try:
        return tomllib.loads(text), dict(reversed(list(toml_lines(text))))
    except (ValueError, RecursionError) as error:
        message = str(error) or "nested too deeply"
        found = _LINE_IN_MESSAGE.search(message)
        line = int(found[1]) if found and found[1] else len(text.splitlines()) or 1
        message = _LINE_IN_MESSAGE.sub("", message)
        raise ConfigError(
            f"{path}:{line}: not valid TOML: {message[:1].lower()}{message[1:]}",
            hint="strings need quotes, lists need commas, and table names need brackets",
        ) from error


def toml_lines(text: str) -> Iterator[tuple[Key, int]]:
    """Yield each table and key of a TOML text with its line, in order.

    Not a parser, but good enough for messages: keys in inline tables and in multi-line values are missed.
    """
    table: Key = ()
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if fence:
            if fence in line:
                fence = ""
            continue
        if found := _TABLE.match(line):
            table = _key(found["key"])
            yield table, number
        elif found := _ASSIGNMENT.match(line):
            yield (*table, *_key(found["key"])), number
        fences = _FENCE.findall(line)
        if len(fences) % 2:
            fence = fences[-1]


def _key(text: str) -> Key:
    return tuple(part.strip("\"'") for part in _KEY_PART.findall(text))


def _parse_json(path: Path, text: str) -> tuple[dict[str, Any], dict[Key, int]]:
    try:
        values = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path}:{error.lineno}: not valid JSON: {error.msg.lower()}",
            hint="JSON allows no comments and no trailing commas",
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}:1: not valid JSON: {str(error) or 'nested too deeply'}") from error
    if not isinstance(values, dict):
        raise ConfigError(
            f"{path}:1: must be a JSON object", hint="the file must start with { and end with }"
        )
    return values, dict(reversed(list(json_lines(text))))


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key "{twin}" occurs twice')
    return values


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a valid JSON number")


def json_lines(text: str) -> Iterator[tuple[Key, int]]:
    """Yield each key of a valid JSON text with its line, in order; lists have no index."""
    line = 1
    path: list[str] = []
    name = ""
    last = ""
    for piece in _JSON_PIECE.findall(text):
        if piece == "\n":
            line += 1
        elif piece == ":":
            name = json.loads(last)
            # The first name is that of the outermost object, which has none.
            yield (*path[1:], name), line
        elif piece in "{[":
            path.append(name)
        elif piece in "}]":
            path.pop()
        if piece != "\n":
            last = piece

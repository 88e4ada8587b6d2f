"""The catalog's statements and values in psycopg's form, and back."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.adapt import Loader
from psycopg.types.string import StrDumperUnknown

# What a statement is made of, as far as it matters: literals, names, comments, parameters, per cent signs.
_PIECES = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\?\d*|%""")

_ESCAPE = "\x1a"
_UNSTORABLE = re.compile("[\0\x1a\ud800-\udfff]")
_ESCAPED = re.compile(_ESCAPE + "([0-9a-f]{4})")


@lru_cache(maxsize=1024)
def translate_placeholders(sql: str) -> str:
    """Return a statement with `%s` for each `?`, or `%(p1)s` for each `?1`."""

    def replace(piece: re.Match[str]) -> str:
        text = piece[0]
        if text.startswith("?"):
            return f"%(p{text[1:]})s" if text[1:] else "%s"
        return text.replace("%", "%%")

    return _PIECES.sub(replace, sql)


@lru_cache(maxsize=1024)
def _number_placeholders(sql: str) -> bool:
    return any(len(piece) > 1 for piece in _PIECES.findall(sql) if piece.startswith("?"))


def arguments(sql: str, parameters: Sequence[Any]) -> Sequence[Any] | Mapping[str, Any]:
    """Return a statement's parameters as `translate_placeholders` names them."""
    if _number_placeholders(sql):
        return {f"p{number}": value for number, value in enumerate(parameters, start=1)}
    return parameters


def escape(text: str) -> str:
    """Return a text that PostgreSQL can store: it has no NUL, and UTF-8 no lone surrogate."""
    return _UNSTORABLE.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """Return the text that `escape` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _ESCAPE in text else text


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> bytes:
        try:
            dumped = obj.encode()
        except UnicodeEncodeError:
            return escape(obj).encode()
        return escape(obj).encode() if b"\0" in dumped or b"\x1a" in dumped else dumped


class _TextLoader(Loader):
    def load(self, data: Any) -> str:
        return unescape(bytes(data).decode())


class _NumberLoader(Loader):
    """A sum of large integers is a numeric; SQLite's is an integer."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def register(connection: psycopg.Connection[Any]) -> None:
    """Let a connection give and take values as SQLite does."""
    connection.adapters.register_dumper(str, _TextDumper)
    for name in ("text", "varchar"):
        connection.adapters.register_loader(name, _TextLoader)
    connection.adapters.register_loader("numeric", _NumberLoader)

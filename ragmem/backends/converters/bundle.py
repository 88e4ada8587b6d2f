"""The zip archive of a server's answer: members by name, in memory, within the limits of a document."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import orjson

from ragmem.errors import BackendError
from ragmem.readers.documents.model import Limits

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)
_BLOCK = 1 << 20


class Bundle:
    """The archive of an answer; nothing is written to disk, and all reads together stay within the limit."""

    def __init__(self, content: bytes, limits: Limits) -> None:
        """Open the archive; raises BackendError for an invalid one."""
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except _BROKEN as error:
            raise BackendError("its response is not an archive") from error
        self._left = limits.unpacked_bytes

    def names(self, suffix: str) -> list[str]:
        """Return the members whose names end with the suffix, those nearest to the top first."""
        found = [name for name in self._archive.namelist() if name.endswith(suffix)]
        return sorted(found, key=lambda name: (len(PurePosixPath(name).parts), name))

    def json(self, name: str) -> Any:
        """Return a member as JSON."""
        try:
            return orjson.loads(self.read(name))
        except orjson.JSONDecodeError as error:
            raise BackendError(f'"{name}" in its response is not JSON') from error

    def read(self, name: str) -> bytes:
        """Return a member's bytes; raises BackendError if it is damaged or exceeds the limits."""
        parts = []
        try:
            with self._archive.open(name) as stream:
                while block := stream.read(_BLOCK):
                    self._left -= len(block)
                    if self._left < 0:
                        raise BackendError("its response unpacks to more than the limits allow")
                    parts.append(block)
        except KeyError as error:
            raise BackendError(f'its response has no "{name}"') from error
        except _BROKEN as error:
            raise BackendError("its response is damaged") from error
        return b"".join(parts)

    def picture(self, reference: str, *, beside: str) -> bytes:
        """Return the bytes of an image that a member refers to; empty if it is missing."""
        wanted = str(PurePosixPath(beside).parent / reference)
        return self.read(wanted) if wanted in self._archive.namelist() else b""


def texts(values: object) -> list[str]:
    """Return the texts of a list that are not blank."""
    if isinstance(values, str):
        values = [values]
    if not isinstance(values, list):
        return []
    return [" ".join(one.split()) for one in values if isinstance(one, str) and one.strip()]


def flag(environ: Mapping[str, str], name: str, *, default: bool) -> str:
    """Return a boolean variable as text for a form."""
    raw = environ.get(name, "").strip().lower()
    if raw in {"1", "true", "yes", "on"}:
        return "true"
    if raw in {"0", "false", "no", "off"}:
        return "false"
    return str(default).lower()


def number(environ: Mapping[str, str], name: str, *, default: float) -> float:
    """Return a variable that is a positive number, else the default."""
    try:
        value = float(environ.get(name, ""))
    except ValueError:
        return default
    return value if 0 < value < 1e6 else default

"""The format of a bundle: a reproducible tar that begins with a manifest of sizes and hashes.

Equal content gives equal bytes: files are sorted by name and have no dates and owners.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

import orjson

from ragmem.errors import RagmemError, UsageError, os_reason
from ragmem.services.transfer.backup_file import Part

FORMAT = "ragmem bundle"
SCHEMA = 1

FOLDER = "ragmem-bundle"
"""The top folder in the archive."""

MANIFEST = "manifest.json"
CHECKSUMS = "SHA256SUMS"
"""The hashes in the format of sha256sum, for a machine without ragmem."""

INSTALLER = "install.sh"

MAX_MANIFEST = 16 * 1024 * 1024

SUFFIXES = {".tar": False, ".tar.gz": True, ".tgz": True}
"""The suffixes of a bundle's name, and whether each means compression."""

LEVEL = 1
"""gzip level: wheels are compressed already, and weights are incompressible."""

MOMENT = 315_532_800
"""The date of every file: 1980, the earliest of a zip archive."""

_PARTS = {"config": "configuration", "wheels": "wheels"}
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a bundle; `python` and `platform` are those of the wheels, "" without wheels."""

    ragmem: str
    python: str
    platform: str
    extras: tuple[str, ...]
    models: tuple[str, ...]
    files: tuple[Part, ...]

    def document(self) -> bytes:
        """Return the manifest as JSON."""
        value = {"format": FORMAT, "schema": SCHEMA, **asdict(self)}
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def checksums(self) -> bytes:
        """Return the hashes in the format of sha256sum."""
        return "".join(f"{part.sha256}  {part.name}\n" for part in self.files).encode()


def sizes_by_part(sizes: Iterable[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    """Return (files, bytes) of each part of a bundle: each model by name, the wheels, the rest."""
    result: dict[str, tuple[int, int]] = {}
    for name, size in sizes:
        top, _, below = name.partition("/")
        part = below.partition("/")[0] if top == "models" else _PARTS.get(top, "installer")
        files, total = result.get(part, (0, 0))
        result[part] = (files + 1, total + size)
    return result


def is_compressed(path: Path) -> bool:
    """Return whether a bundle of this name is compressed; raises UsageError for an invalid name."""
    for suffix, packed in SUFFIXES.items():
        if path.name.endswith(suffix) and path.name != suffix:
            return packed
    raise UsageError(
        f'"{path}" is not a valid name for a bundle', hint="use the suffix .tar, or .tar.gz for compression"
    )


def part_of(name: str, source: Path | bytes) -> Part:
    """Return the entry of a file, or of bytes."""
    if isinstance(source, bytes):
        return Part(name, len(source), hashlib.sha256(source).hexdigest())
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Part(name, file.tell(), digest.hexdigest())


def write(target: IO[bytes], manifest: Manifest, files: Mapping[str, Path | bytes], *, packed: bool) -> None:
    """Write an archive of the files by their names in the manifest; raises RagmemError if one has changed."""
    with ExitStack() as stack:
        out = (
            stack.enter_context(gzip.GzipFile("", "wb", LEVEL, fileobj=target, mtime=0)) if packed else target
        )
        tar = stack.enter_context(tarfile.open(mode="w|", fileobj=out, format=tarfile.PAX_FORMAT))
        for name, content in ((MANIFEST, manifest.document()), (CHECKSUMS, manifest.checksums())):
            tar.addfile(_entry(name, len(content)), io.BytesIO(content))
        for part in manifest.files:
            source = files[part.name]
            if isinstance(source, bytes):
                tar.addfile(_entry(part.name, part.bytes), io.BytesIO(source))
                continue
            with source.open("rb") as file:
                watched = _HashedFile(file)
                tar.addfile(_entry(part.name, part.bytes), watched)
            if watched.hash.hexdigest() != part.sha256:
                raise RagmemError(f'"{source}" was changed meanwhile', hint="run the command again")


class _HashedFile(io.RawIOBase):
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.hash = hashlib.sha256()
        self._file = file

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self.hash.update(piece)
        return piece


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(f"{FOLDER}/{name}")
    entry.size, entry.mtime = size, MOMENT
    entry.mode = 0o755 if name == INSTALLER else 0o644
    return entry


def verify(path: Path) -> Manifest:
    """Verify a bundle and return its manifest; nothing is written.

    Raises RagmemError for a file that is not a bundle, or differs in any way from what was written.
    """
    is_compressed(path)
    with _members(path) as members:
        manifest = _manifest(path, members)
        missing = {part.name: part for part in manifest.files}
        sums = manifest.checksums()
        missing[CHECKSUMS] = Part(CHECKSUMS, len(sums), hashlib.sha256(sums).hexdigest())
        for entry, content in members:
            name = entry.name.removeprefix(f"{FOLDER}/")
            part = missing.pop(name, None) if entry.name != name and entry.isreg() else None
            if part is None or entry.size != part.bytes:
                raise _damaged_error(path, f'it holds "{entry.name[:80]}", which does not match its manifest')
            if _hash(content) != part.sha256:
                raise _damaged_error(path, f'the file "{part.name}" in it differs from what was written')
        if missing:
            raise _damaged_error(path, f'the file "{next(iter(missing))}" is missing')
    return manifest


def _hash(content: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := content.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


@contextmanager
def _members(path: Path) -> "Iterator[Iterator[tuple[tarfile.TarInfo, IO[bytes]]]]":
    try:
        with ExitStack() as stack:
            file = stack.enter_context(path.open("rb"))
            raw = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_compressed(path) else file
            with tarfile.open(mode="r|", fileobj=raw) as tar:
                yield ((entry, tar.extractfile(entry) or io.BytesIO()) for entry in tar)
            # gzip's checksum follows after the last file.
            while raw.read(_PIECE):
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged_error(path, str(error).lower() or "it is truncated") from error
    except OSError as error:
        raise UsageError(f'cannot read "{path}": {os_reason(error)}', hint="name a bundle's file") from error


def _manifest(path: Path, members: "Iterator[tuple[tarfile.TarInfo, IO[bytes]]]") -> Manifest:
    entry, content = next(members, (None, None))
    if entry is None or content is None or entry.name != f"{FOLDER}/{MANIFEST}" or entry.size > MAX_MANIFEST:
        raise _damaged_error(path, "it does not start with a manifest")
    try:
        value = orjson.loads(content.read())
        if value["format"] != FORMAT or value["schema"] != SCHEMA:
            raise ValueError("it has another format")
        return Manifest(
            ragmem=str(value["ragmem"]),
            python=str(value["python"]),
            platform=str(value["platform"]),
            extras=_strings(value["extras"]),
            models=_strings(value["models"]),
            files=tuple(_part(one) for one in value["files"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged_error(path, f"its manifest cannot be read ({error})") from error


def _strings(value: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in value)


def _part(value: Mapping[str, Any]) -> Part:
    name = str(value["name"])
    if name.startswith("/") or ".." in name.split("/"):
        raise ValueError(f'it names "{name[:80]}"')
    return Part(name, int(value["bytes"]), str(value["sha256"]))


def _damaged_error(path: Path, what: str) -> RagmemError:
    return RagmemError(f'"{path}" is not a valid bundle: {what}', hint="copy it again, or build it again")

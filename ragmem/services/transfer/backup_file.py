"""The format of a backup: a tar.gz that begins with a manifest of every file's size and hash.

Only the names in NAMES are written or extracted, and only as plain files: an archive cannot write anywhere
else.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import orjson

from ragmem.config.loader import CONFIG_FILE, DECAY_FILE
from ragmem.config.places import SOURCES_FILE
from ragmem.errors import StoreDamagedError
from ragmem.storage.sql.sqlite import DATABASE_NAME

FORMAT = "ragmem backup"
SCHEMA = 1

MANIFEST = "manifest.json"
DATABASE = f"data/{DATABASE_NAME}"
EXPORT = "data/memory.jsonl"
"""The export that replaces a database other than SQLite."""

CONFIG_FILES = (CONFIG_FILE, SOURCES_FILE, DECAY_FILE)
NAMES = (DATABASE, EXPORT, *(f"config/{name}" for name in CONFIG_FILES))

MAX_MANIFEST = 1024 * 1024
MAX_CONFIG = 16 * 1024 * 1024

LEVEL = 1
"""Of gzip: level 6 takes two to three times as long and saves a tenth to a fifth."""

_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """A file of an archive, by its name in it."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds; `schemas` has the version of each component's tables."""

    ragmem: str
    created_at: datetime
    profile: str
    schemas: Mapping[str, int]
    counts: Mapping[str, int]
    files: tuple[Part, ...]

    @property
    def has_database(self) -> bool:
        """Return whether it holds a SQLite file and not an export."""
        return any(part.name == DATABASE for part in self.files)

    def document(self) -> bytes:
        """Return the manifest as the first file of the archive."""
        return orjson.dumps(
            {"format": FORMAT, "schema": SCHEMA, **asdict(self)},
            option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
        )


def part_of(name: str, path: Path) -> Part:
    """Return the manifest entry of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return Part(name, path.stat().st_size, digest.hexdigest())


def write_archive(target: IO[bytes], manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write an archive of the files, by their names in the manifest."""
    moment = int(manifest.created_at.timestamp())
    with (
        gzip.GzipFile("", "wb", LEVEL, fileobj=target, mtime=0) as packed,
        tarfile.open(mode="w|", fileobj=packed, format=tarfile.PAX_FORMAT) as tar,
    ):
        document = manifest.document()
        tar.addfile(_entry(MANIFEST, len(document), moment), io.BytesIO(document))
        for part in manifest.files:
            with files[part.name].open("rb") as file:
                tar.addfile(_entry(part.name, part.bytes, moment), file)


def _entry(name: str, size: int, moment: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size, moment, 0o600
    return entry


def read_manifest(path: Path) -> Manifest:
    """Return an archive's manifest without reading the rest; raises StoreDamagedError."""
    with _members(path) as members:
        return _manifest(path, members)


def read_archive(path: Path, folder: Path | None = None) -> Manifest:
    """Read all of an archive and return its manifest; with a folder, write its files there by their names.

    Raises StoreDamagedError for a file that is not a backup, or differs from what was written.
    """
    with _members(path) as members:
        manifest = _manifest(path, members)
        missing = {part.name: part for part in manifest.files}
        for entry, content in members:
            part = missing.pop(entry.name, None)
            if part is None or not entry.isreg() or entry.size != part.bytes:
                raise _damage_error(path, f'it holds "{entry.name[:80]}", which differs from its manifest')
            if _take_out(content, folder / part.name if folder else None) != part.sha256:
                raise _damage_error(path, f'the file "{part.name}" in it differs from what was written')
        if missing:
            raise _damage_error(path, f'the file "{next(iter(missing))}" is missing')
    return manifest


def _take_out(content: IO[bytes], target: Path | None) -> str:
    digest = hashlib.sha256()
    if target is not None:
        target.parent.mkdir(mode=0o700, exist_ok=True)
    with target.open("xb") if target is not None else io.BytesIO() as file:
        if target is not None:
            target.chmod(0o600)
        while piece := content.read(_PIECE):
            digest.update(piece)
            if target is not None:
                file.write(piece)
    return digest.hexdigest()


@contextmanager
def _members(path: Path) -> "Iterator[Iterator[tuple[tarfile.TarInfo, IO[bytes]]]]":
    try:
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as packed:
            with tarfile.open(mode="r|", fileobj=packed) as tar:
                yield ((entry, tar.extractfile(entry) or io.BytesIO()) for entry in tar)
            # The checksum follows the last file.
            while packed.read(_PIECE):
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damage_error(path, str(error).lower() or "it is truncated") from error


def _manifest(path: Path, members: "Iterator[tuple[tarfile.TarInfo, IO[bytes]]]") -> Manifest:
    entry, content = next(members, (None, None))
    if entry is None or content is None or entry.name != MANIFEST or entry.size > MAX_MANIFEST:
        raise _damage_error(path, "it does not begin with a manifest")
    try:
        value = orjson.loads(content.read())
        if value["format"] != FORMAT or not isinstance(value["schema"], int):
            raise ValueError("its manifest is not that of a backup")
        if value["schema"] > SCHEMA:
            raise StoreDamagedError(
                f'a newer ragmem wrote the backup "{path}": its schema is {value["schema"]},'
                f" this one knows {SCHEMA}",
                hint="update ragmem: pip install --upgrade ragmem",
            )
        return Manifest(
            ragmem=str(value["ragmem"]),
            created_at=datetime.fromisoformat(value["created_at"]).astimezone(UTC),
            profile=str(value["profile"]),
            schemas=_numbers(value["schemas"]),
            counts=_numbers(value["counts"]),
            files=tuple(_part(one) for one in value["files"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damage_error(path, f"its manifest cannot be read ({error})") from error


def _part(value: Any) -> Part:
    part = Part(str(value["name"]), int(value["bytes"]), str(value["sha256"]))
    if part.name not in NAMES:
        raise ValueError(f'it names "{part.name[:80]}"')
    if part.name.startswith("config/") and part.bytes > MAX_CONFIG:
        raise ValueError(f'"{part.name}" is too large')
    return part


def _numbers(value: Any) -> dict[str, int]:
    return {str(name): int(number) for name, number in value.items()}


def _damage_error(path: Path, what: str) -> StoreDamagedError:
    return StoreDamagedError(
        f'"{path}" is a damaged backup: {what}',
        hint="nothing was changed; `ragmem backup --list` names the others, `ragmem import` takes an export",
    )

"""The record of what `connect` has inserted, so that `disconnect` removes exactly that."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ragmem.errors import ConfigError, StorageError, os_reason
from ragmem.services.processes.atomic_write import new_file
from ragmem.services.wiring.hook_insertion import Insertion, InsertionRecord

FILE, FOLDER = "connections.json", "connections"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A changed file: what was inserted, whether it was created, and the folders created for it."""

    path: Path
    form: str
    wiring: InsertionRecord
    created: bool
    folders: tuple[Path, ...]
    digest: str
    """Hash of the file after our change."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An assistant that is connected, for the person or in a project (`root`)."""

    assistant: str
    scope: str
    root: str
    at: str
    version: str
    files: tuple[FileRecord, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """The unique key of a connection."""
        return self.assistant, self.scope, self.root


@dataclass(slots=True)
class Record:
    """All connections of one home; stored in the state folder, because they belong to this machine."""

    folder: Path
    connections: list[Connection] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> "Record":
        """Read the record in a state folder; raises ConfigError for a file that was not written by ragmem."""
        path = folder / FILE
        try:
            document = json.loads(path.read_bytes())
            return cls(folder, [_connection_from_json(one) for one in document["connections"]])
        except FileNotFoundError:
            return cls(folder)
        except OSError as error:
            raise ConfigError(f'cannot read "{path}": {os_reason(error)}') from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f'"{path}" is not a valid record of connections',
                hint="move it aside: connections are then detected by their commands",
            ) from error

    def find(self, assistant: str, scope: str, root: str) -> Connection | None:
        """Return the connection of this assistant in this scope."""
        return next((one for one in self.connections if one.key == (assistant, scope, root)), None)

    def put(self, connection: Connection) -> None:
        """Add or replace a connection."""
        self.drop(connection.key)
        self.connections.append(connection)

    def drop(self, key: tuple[str, str, str]) -> None:
        """Remove a connection."""
        self.connections = [one for one in self.connections if one.key != key]

    def write(self) -> None:
        """Write the record durably; raises StorageError where it cannot be written."""
        if not self.connections:
            (self.folder / FILE).unlink(missing_ok=True)
            return
        document = {"schema": SCHEMA, "connections": [_connection_to_json(one) for one in self.connections]}
        with new_file(self.folder / FILE, force=True) as file:
            file.write(json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")

    def back_up(self, path: Path, text: str) -> Path:
        """Back up a file before its first change; return the path of the backup."""
        place = self._backup_path(path)
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageError(f'cannot write in "{self.folder}": {str(error.strerror).lower()}') from error
        with new_file(place, force=True) as file:
            file.write(text.encode())
        return place

    def find_backup(self, path: Path) -> Path | None:
        """Return the path of the backup of a file, None without one."""
        place = self._backup_path(path)
        return place if place.is_file() else None

    def forget(self, paths: Sequence[Path]) -> None:
        """Remove the backups of these files."""
        for path in paths:
            self._backup_path(path).unlink(missing_ok=True)
        with suppress(OSError):  # there are other backups, or there never was one
            (self.folder / FOLDER).rmdir()

    def _backup_path(self, path: Path) -> Path:
        return self.folder / FOLDER / f"{digest(str(path))[:12]}-{path.name}"


def digest(text: str) -> str:
    """Return the hash of a text."""
    return sha256(text.encode()).hexdigest()


def _connection_to_json(connection: Connection) -> dict[str, Any]:
    return asdict(connection) | {
        "files": [
            {
                "path": str(one.path),
                "form": one.form,
                "created": one.created,
                "folders": [str(folder) for folder in one.folders],
                "digest": one.digest,
                "made": sorted(one.wiring.made),
                "insertions": [[put.left, put.text] for put in one.wiring.insertions],
            }
            for one in connection.files
        ]
    }


def _connection_from_json(value: dict[str, Any]) -> Connection:
    files = tuple(
        FileRecord(
            Path(one["path"]),
            one["form"],
            InsertionRecord(tuple(Insertion(*put) for put in one["insertions"]), frozenset(one["made"])),
            bool(one["created"]),
            tuple(Path(folder) for folder in one["folders"]),
            one["digest"],
        )
        for one in value["files"]
    )
    return Connection(value["assistant"], value["scope"], value["root"], value["at"], value["version"], files)

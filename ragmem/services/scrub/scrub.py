"""Remove secrets, or what matches a pattern, from everything below a home, and verify that it is gone."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from ragmem import client
from ragmem.config.places import Places
from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Memory
from ragmem.errors import StoreDamagedError
from ragmem.ports import Store
from ragmem.services.processes.progress import Progress
from ragmem.services.scrub.backups import (
    BackupFindings,
    BackupScan,
    OpenHome,
    is_backup_file,
    remove_backup,
    scan_backups,
)
from ragmem.services.scrub.catalog import CleanResult, Findings, clean, find_in_tables
from ragmem.services.scrub.files import TOKENS, cover_file, home_files, is_database_file, scan_file
from ragmem.services.scrub.forms import Needles
from ragmem.services.scrub.target import ScrubTarget
from ragmem.services.transfer.backup import SUFFIX
from ragmem.services.transfer.restore import DERIVED
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance import stored_texts
from ragmem.storage.maintenance.stored_texts import Text
from ragmem.storage.operational.file import OperationalFile
from ragmem.storage.sql.database import Connection

Backups = Literal["rewrite", "delete", "keep"]
"""What is done with backups that have a match."""

STOP_SECONDS = 2.0
"""Seconds that the warm process has to end; the next hook starts another one."""

MAX_SOURCE = 50 * 1024 * 1024
"""Bytes of the largest source file that is searched."""

POSTGRES_NOTE = "PostgreSQL keeps deleted rows in its files until VACUUM FULL, and in its own log and backups"


@dataclass(frozen=True, slots=True)
class TouchedMemory:
    """A memory with matches: its id, its redacted title, and the number of matches by kind."""

    id: str
    title: str
    kinds: Counter[str]
    archived: bool = False


@dataclass(slots=True)
class Plan:
    """All matches: memories, places in the tables, files, backups; `sources` are files that still match."""

    total: int = 0
    memories: list[TouchedMemory] = field(default_factory=list)
    places: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    files: dict[Path, Counter[str]] = field(default_factory=dict)
    backups: list[BackupFindings] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)
    config: list[Path] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Return whether nothing has to be done."""
        return not (self.places or self.files or any(one.kinds for one in self.backups))


@dataclass(slots=True)
class ScrubResult:
    """What was done and what a search found afterwards: `left` names the places that still match, and why."""

    cleaned: CleanResult = field(default_factory=CleanResult)
    files: int = 0
    backups: int = 0
    removed_backups: list[Path] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    searched: int = 0
    bytes: int = 0
    note: str = ""


@dataclass(slots=True)
class ScrubContext:
    """The dependencies of a run."""

    catalog: Catalog
    open_store: Callable[[], Store]
    open_home: OpenHome
    places: Places
    sizes: ChunkingSettings
    now: datetime
    progress: Progress


def plan(tools: ScrubContext, target: ScrubTarget) -> Plan:
    """Return all matches; changes nothing, except that their values are added to `target`."""
    tools.progress.begin("look", 3)
    seen = find_in_tables(tools.catalog, target)
    tools.progress.advance()
    backups = list(scan_backups(BackupScan(tools.places, tools.open_home, target, tools.sizes)))
    tools.progress.advance()
    files = _scan_files(tools.places, target)
    # A backup or a log may have revealed more values.
    seen = find_in_tables(tools.catalog, target)
    tools.progress.advance()
    needles = target.needles()
    found = Plan(
        total=len(tools.catalog.memories.ids()),
        places=seen.places,
        kinds=seen.kinds,
        files=files,
        backups=[one for one in backups if one.kinds or _may_match(one.path, needles)],
        config=[path for path in _config_files(tools.places) if scan_file(path, target, needles)],
    )
    _add_memories(tools.catalog, seen, target, found)
    return found


def _add_memories(catalog: Catalog, seen: Findings, target: ScrubTarget, found: Plan) -> None:
    memories = catalog.memories.get(seen.memories)
    for key, memory in sorted(memories.items()):
        found.memories.append(TouchedMemory(key, target.cover(memory.title), seen.memories[key]))
    archived: list[Memory] = []
    for run in sorted({run for run, _ in seen.archived}):
        for memory in catalog.archive.memories(run):
            if (run, memory.id) in seen.archived:
                archived.append(memory)
                kinds = seen.archived[run, memory.id]
                found.memories.append(
                    TouchedMemory(memory.id, target.cover(memory.title), kinds, archived=True)
                )
    found.sources = _sources([*memories.values(), *archived], target)


def _sources(memories: Iterable[Memory], target: ScrubTarget) -> list[Path]:
    """Return the files on disk from which memories came, and which still match."""
    needles = target.needles()
    found = []
    for path in source_paths(memory.uri for memory in memories):
        with suppress(OSError):
            if path.is_file() and path.stat().st_size <= MAX_SOURCE and scan_file(path, target, needles):
                found.append(path)
    return found


def source_paths(uris: Iterable[str]) -> list[Path]:
    """Return the files that URIs may name, in order; what follows the last # is a position in the file."""
    local = [uri for uri in uris if uri.startswith("/")]
    return sorted({Path(part) for uri in local for part in (uri, uri.rpartition("#")[0]) if part})


def _scan_files(places: Places, target: ScrubTarget) -> dict[Path, Counter[str]]:
    found: dict[Path, Counter[str]] = {}
    known = -1
    while known != len(target.values):
        known = len(target.values)
        needles = target.needles()
        found = {}
        for path in _other_files(places):
            with suppress(FileNotFoundError):
                if kinds := scan_file(path, target, needles):
                    found[path] = kinds
        found |= _scan_agents(places.data, target)
    return found


def _other_files(places: Places) -> Iterable[Path]:
    """Yield the files that belong neither to the database nor to a backup, and are not a key of ragmem."""
    for path in home_files(places):
        own = is_database_file(path, places) or path.name in TOKENS
        if not own and not is_backup_file(path, places):
            yield path


def _config_files(places: Places) -> list[Path]:
    return sorted(path for path in places.config.rglob("*") if path.is_file() and not path.is_symlink())


def _may_match(path: Path, needles: Needles) -> bool:
    """Return whether a backup that could not be opened may have a match, judging by its bytes."""
    if path.is_dir():
        return any(_may_match(one, needles) for one in path.iterdir())
    with suppress(OSError):
        # The bytes of a compressed file say nothing.
        return path.name.endswith(SUFFIX) or bool(needles.find_in_file(path)[0])
    return True


def scrub(
    tools: ScrubContext, target: ScrubTarget, planned: Plan, *, backups: Backups, index: Callable[[], str]
) -> ScrubResult:
    """Remove what `plan` found, then search for it everywhere; `index` makes vectors of what was changed.

    The database comes last, so that a run after a kill still finds the values there. Its file is rewritten
    even without a match, so that nothing remains of what was deleted earlier. Raises StoreBusyError,
    StorageError; what was done until then stays done.
    """
    done = ScrubResult()
    tools.progress.begin("scrub", 5)
    # It may hold the secret in its memory, and write it into a log.
    client.stop(str(tools.places.data), deadline=time.monotonic() + STOP_SECONDS)
    _scrub_backups(tools, target, planned, done, backups)
    tools.progress.advance()
    _scrub_files(tools, target, planned, done)
    tools.progress.advance()
    done.cleaned = clean(tools.catalog, tools.open_store(), target, sizes=tools.sizes, now=tools.now)
    tools.progress.advance()
    done.note = index()
    database = tools.catalog.database
    if database.path:
        for name in DERIVED:
            shutil.rmtree(tools.places.data / name, ignore_errors=True)
        if not database.vacuum():
            done.left.append(f"{database.path}-wal: another process is still reading the old data")
    else:
        done.note = done.note or POSTGRES_NOTE
    tools.progress.advance()
    verify(tools, target, done)
    tools.progress.advance()
    return done


def _scrub_backups(
    tools: ScrubContext, target: ScrubTarget, planned: Plan, done: ScrubResult, backups: Backups
) -> None:
    if planned.backups and backups == "rewrite":
        job = BackupScan(tools.places, tools.open_home, target, tools.sizes, tools.now)
        left = {one.path: one for one in scan_backups(job)}
        done.backups = sum(one.path not in left for one in planned.backups)
        done.left += [_describe_backup(left[one.path]) for one in planned.backups if one.path in left]
    elif backups == "delete":
        for one in planned.backups:
            remove_backup(one.path)
            done.removed_backups.append(one.path)
    else:
        done.left += [_describe_backup(one) for one in planned.backups]


def _describe_backup(one: BackupFindings) -> str:
    return f"{one.path}: {one.problem or _list_kinds(one.kinds)}"


def _list_kinds(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items()))


def _scrub_files(tools: ScrubContext, target: ScrubTarget, planned: Plan, done: ScrubResult) -> None:
    needles = target.needles()
    for path in planned.files:
        with suppress(FileNotFoundError):
            if not is_database_file(path, tools.places):
                done.files += cover_file(path, tools.places, target, needles)
    if obstacle := _clean_agents(tools.places.data, target):
        done.left.append(obstacle)


def verify(tools: ScrubContext, target: ScrubTarget, done: ScrubResult) -> None:
    """Search every text of the tables and every byte of the files; add the remaining matches to `done`."""
    fresh = target.unscanned_copy()
    # Only for the values known before: new ones are for another run.
    known = find_in_tables(tools.catalog, fresh)
    done.left += [
        f"{tools.catalog.database.place}: {place}: {count}" for place, count in known.places.items()
    ]
    for path, kinds in _scan_agents(tools.places.data, fresh).items():
        done.left.append(f"{path}: {_list_kinds(kinds)}")
    needles = target.needles()
    for path in home_files(tools.places):
        try:
            found, size = needles.find_in_file(path)
            done.searched += 1
            done.bytes += size
            whole = is_database_file(path, tools.places) or is_backup_file(path, tools.places)
            kinds = Counter() if whole or path.name in TOKENS else scan_file(path, fresh, needles)
        except FileNotFoundError:
            continue
        if found or kinds:
            what = _list_kinds(kinds) if kinds else f"{len(found)} x bytes"
            if not any(line.startswith(f"{path}:") for line in done.left):
                done.left.append(f"{path}: {what}")


def is_large(planned: Plan) -> bool:
    """Return whether more than half of all memories would be touched."""
    return sum(not one.archived for one in planned.memories) > max(1, planned.total // 2)


_UNREADABLE = "unreadable file"
"""The kind reported for a file that cannot be read, and so cannot be called clean."""


def _scan_agents(data: Path, target: ScrubTarget) -> dict[Path, Counter[str]]:
    """Return the file with its matches by kind; an empty mapping where there are none."""
    file = OperationalFile(data)
    if not file.exists():
        return {}
    kinds = Counter[str]()
    with closing(file):
        try:
            with file.read() as connection:
                for _, found in _agent_matches(file, connection, target):
                    kinds += found
        except StoreDamagedError:
            kinds[_UNREADABLE] += 1
    return {file.database.path: kinds} if kinds else {}


def _clean_agents(data: Path, target: ScrubTarget) -> str:
    """Remove the secrets and what was deleted earlier; return the obstacle, or an empty text.

    An agent whose id matches is forgotten with all its messages. Raises StoreBusyError, StorageError.
    """
    file = OperationalFile(data)
    if not file.exists():
        return ""
    with closing(file):
        try:
            with file.write() as connection:
                found = [text for text, _ in _agent_matches(file, connection, target)]
                stored_texts.change(file.database, connection, found, target.cover_value)
            emptied = file.database.vacuum()
        except StoreDamagedError as error:
            return str(error)
    return "" if emptied else f"{file.database.path}-wal: another process is still reading the old data"


def _agent_matches(
    file: OperationalFile, connection: Connection, target: ScrubTarget
) -> list[tuple[Text, Counter[str]]]:
    return [
        (text, kinds)
        for table in stored_texts.tables(file.database, connection)
        for text in stored_texts.texts(connection, table)
        if (kinds := target.count_kinds(text.text))
    ]

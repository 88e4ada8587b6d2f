"""Remove secrets, or what matches a pattern, from everything below a home, and prove that it is gone."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from ragmem import client
from ragmem.config import ChunkingSettings
from ragmem.config.places import Places
from ragmem.domain.model import Memory
from ragmem.ports import Store
from ragmem.services.processes.progress import Progress
from ragmem.services.scrub import agents
from ragmem.services.scrub.backups import (
    FoundBackup,
    OpenHome,
    Treatment,
    clean_backups,
    is_of_copies,
    look_into,
    remove,
)
from ragmem.services.scrub.catalog import CleanResult, Findings, clean, find_in_tables
from ragmem.services.scrub.files import TOKENS, cover, files_of, is_of_database, look_at
from ragmem.services.scrub.forms import Needles
from ragmem.services.scrub.wanted import ScrubTarget
from ragmem.services.transfer.backup import SUFFIX
from ragmem.services.transfer.restore import DERIVED
from ragmem.storage.home.catalog import Catalog

Backups = Literal["rewrite", "delete", "keep"]
"""What becomes of backups that have any of it."""

STOPPING = 2.0
"""Seconds that the warm process has to end; the next hook starts another one."""

MOST_SOURCE = 50 * 1024 * 1024
"""Bytes of a source file that is looked into to tell whether it still has it."""


@dataclass(frozen=True, slots=True)
class TouchedMemory:
    """A memory that has any of it: its id, its title with that covered, and how often, by sort."""

    id: str
    title: str
    kinds: Counter[str]
    archived: bool = False


@dataclass(slots=True)
class Plan:
    """Where it stands: memories, other places in the tables, files and backups; `sources` still have it."""

    total: int = 0
    memories: list[TouchedMemory] = field(default_factory=list)
    places: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    files: dict[Path, Counter[str]] = field(default_factory=dict)
    backups: list[FoundBackup] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)
    config: list[Path] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Tell whether nothing has to be done."""
        return not (self.places or self.files or any(one.kinds for one in self.backups))


@dataclass(slots=True)
class ScrubResult:
    """What was done, and what a search after it found: `left` names each place and why it is still there."""

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
    """What a run works with."""

    catalog: Catalog
    open_store: Callable[[], Store]
    open_home: OpenHome
    places: Places
    sizes: ChunkingSettings
    now: datetime
    progress: Progress


def plan(tools: ScrubContext, wanted: ScrubTarget) -> Plan:
    """Return where it stands; changes nothing, but what is found becomes known to `wanted`."""
    tools.progress.begin("look", 3)
    seen = find_in_tables(tools.catalog, wanted)
    tools.progress.advance()
    backups = look_into(Treatment(tools.places, tools.open_home, wanted, tools.sizes))
    tools.progress.advance()
    files = _look_at_files(tools.places, wanted)
    # A backup or a log may have told of more.
    seen = find_in_tables(tools.catalog, wanted)
    tools.progress.advance()
    needles = wanted.needles()
    found = Plan(
        total=len(tools.catalog.memories.ids()),
        places=seen.places,
        kinds=seen.kinds,
        files=files,
        backups=[one for one in backups if one.kinds or _may_have(one.path, needles)],
        config=[path for path in _config_files(tools.places) if look_at(path, wanted, needles)],
    )
    _tell_memories(tools.catalog, seen, wanted, found)
    return found


def _tell_memories(catalog: Catalog, seen: Findings, wanted: ScrubTarget, found: Plan) -> None:
    memories = catalog.memories.get(seen.memories)
    for key, memory in sorted(memories.items()):
        found.memories.append(TouchedMemory(key, wanted.covered(memory.title), seen.memories[key]))
    archived: list[Memory] = []
    for run in sorted({run for run, _ in seen.archived}):
        for memory in catalog.archive.memories(run):
            if (run, memory.id) in seen.archived:
                archived.append(memory)
                kinds = seen.archived[run, memory.id]
                found.memories.append(
                    TouchedMemory(memory.id, wanted.covered(memory.title), kinds, archived=True)
                )
    found.sources = _sources([*memories.values(), *archived], wanted)


def _sources(memories: Iterable[Memory], wanted: ScrubTarget) -> list[Path]:
    """Return the files on disk from which memories came, and which still have it."""
    needles = wanted.needles()
    uris = {memory.uri for memory in memories if memory.uri.startswith("/")}
    # Behind the last # stands where in the file it was.
    paths = {Path(part) for uri in uris for part in (uri, uri.rpartition("#")[0]) if part}
    found = []
    for path in sorted(paths):
        with suppress(OSError):
            if path.is_file() and path.stat().st_size <= MOST_SOURCE and look_at(path, wanted, needles):
                found.append(path)
    return found


def _look_at_files(places: Places, wanted: ScrubTarget) -> dict[Path, Counter[str]]:
    found: dict[Path, Counter[str]] = {}
    known = -1
    while known != len(wanted.values):
        known = len(wanted.values)
        needles = wanted.needles()
        found = {}
        for path in _others(places):
            with suppress(FileNotFoundError):
                if kinds := look_at(path, wanted, needles):
                    found[path] = kinds
        found |= agents.look(places.data, wanted)
    return found


def _others(places: Places) -> Iterable[Path]:
    """Yield the files that are neither of the database nor a backup, nor a key of ragmem's own."""
    for path in files_of(places):
        own = is_of_database(path, places) or path.name in TOKENS
        if not own and not is_of_copies(path, places):
            yield path


def _config_files(places: Places) -> list[Path]:
    return sorted(path for path in places.config.rglob("*") if path.is_file() and not path.is_symlink())


def _may_have(path: Path, needles: Needles) -> bool:
    """Tell whether a backup that could not be opened has it, as far as its bytes tell."""
    if path.is_dir():
        return any(_may_have(one, needles) for one in path.iterdir())
    with suppress(OSError):
        # What is packed and cannot be opened tells nothing by its bytes.
        return path.name.endswith(SUFFIX) or bool(needles.within_file(path)[0])
    return True


def scrub(
    tools: ScrubContext, wanted: ScrubTarget, planned: Plan, *, backups: Backups, index: Callable[[], str]
) -> ScrubResult:
    """Take out what `plan` found, then search for it everywhere; `index` makes vectors of what was changed.

    The database comes last, for it tells whoever runs this again after a kill what there was to find. Its
    file is written anew even where nothing was found, so that nothing is left of what was deleted earlier.
    Raises StoreBusyError, StorageError; what was done until then is done.
    """
    done = ScrubResult()
    tools.progress.begin("scrub", 5)
    # It may hold in its memory what is about to go, and write it into a log.
    client.stop(str(tools.places.data), deadline=time.monotonic() + STOPPING)
    _scrub_backups(tools, wanted, planned, done, backups)
    tools.progress.advance()
    _scrub_files(tools, wanted, planned, done)
    tools.progress.advance()
    done.cleaned = clean(tools.catalog, tools.open_store(), wanted, sizes=tools.sizes, now=tools.now)
    tools.progress.advance()
    done.note = index()
    database = tools.catalog.database
    if database.path:
        for name in DERIVED:
            shutil.rmtree(tools.places.data / name, ignore_errors=True)
        if not database.vacuum():
            done.left.append(f"{database.path}-wal: a process still reads what was there before")
    else:
        done.note = done.note or (
            "PostgreSQL keeps deleted rows in its files until VACUUM FULL, and in its own log and backups"
        )
    tools.progress.advance()
    prove(tools, wanted, done)
    tools.progress.advance()
    return done


def _scrub_backups(
    tools: ScrubContext, wanted: ScrubTarget, planned: Plan, done: ScrubResult, backups: Backups
) -> None:
    if not planned.backups:
        return
    if backups == "rewrite":
        how = Treatment(tools.places, tools.open_home, wanted, tools.sizes, tools.now)
        left = {one.path: one for one in clean_backups(how)}
        done.backups = sum(one.path not in left for one in planned.backups)
        done.left += [_describe_backup(left[one.path]) for one in planned.backups if one.path in left]
    elif backups == "delete":
        for one in planned.backups:
            remove(one)
            done.removed_backups.append(one.path)
    else:
        done.left += [_describe_backup(one) for one in planned.backups]


def _describe_backup(one: FoundBackup) -> str:
    return f"{one.path}: {one.problem or _list_kinds(one.kinds)}"


def _list_kinds(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items()))


def _scrub_files(tools: ScrubContext, wanted: ScrubTarget, planned: Plan, done: ScrubResult) -> None:
    needles = wanted.needles()
    for path in planned.files:
        with suppress(FileNotFoundError):
            if not is_of_database(path, tools.places):
                done.files += cover(path, tools.places, wanted, needles)
    if hindered := agents.clean(tools.places.data, wanted):
        done.left.append(hindered)


def prove(tools: ScrubContext, wanted: ScrubTarget, done: ScrubResult) -> None:
    """Search for it in every text of the tables and every byte of the files; add what is left to `done`."""
    fresh = wanted.again()
    # Searched for as it was known: what is only now called a secret is for another run.
    known = find_in_tables(tools.catalog, fresh)
    done.left += [
        f"{tools.catalog.database.place}: {place}: {count}" for place, count in known.places.items()
    ]
    for path, kinds in agents.look(tools.places.data, fresh).items():
        done.left.append(f"{path}: {_list_kinds(kinds)}")
    needles = wanted.needles()
    for path in files_of(tools.places):
        try:
            found, size = needles.within_file(path)
            done.searched += 1
            done.bytes += size
            whole = is_of_database(path, tools.places) or is_of_copies(path, tools.places)
            kinds = Counter() if whole or path.name in TOKENS else look_at(path, fresh, needles)
        except FileNotFoundError:
            continue
        if found or kinds:
            what = _list_kinds(kinds) if kinds else f"{len(found)} x bytes"
            if not any(line.startswith(f"{path}:") for line in done.left):
                done.left.append(f"{path}: {what}")


def large(planned: Plan) -> bool:
    """Tell whether more than half of all memories would be touched."""
    living: Sequence[TouchedMemory] = [one for one in planned.memories if not one.archived]
    return len(living) > max(1, planned.total // 2) and planned.total > 1

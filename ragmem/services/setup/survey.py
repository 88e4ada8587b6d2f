"""Survey this machine: assistants and their sessions, repositories, and the files of each source."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragmem.assistants import load_assistants
from ragmem.assistants.assistant import Assistant
from ragmem.assistants.places import Places
from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.readers.files import show
from ragmem.readers.roots import GIT
from ragmem.services.ingestion.scope import project_finder
from ragmem.services.ingestion.source import RepositoryFinder, find_files
from ragmem.services.seeding.checkpoints import CheckpointSearch, FoundCheckpoints, find_checkpoints
from ragmem.services.seeding.files import UNREADABLE
from ragmem.services.seeding.report import Problem
from ragmem.services.seeding.trust import Trust
from ragmem.services.seeding.unread import FAILED, NEW, Unread, find_unread, largest, quoted
from ragmem.services.transcripts.own_sessions import CHECKPOINTS, OwnSessions
from ragmem.services.transcripts.transcripts import is_current, rules_of, size_and_time
from ragmem.services.wiring.connect import ConnectContext, connection_states, is_installed
from ragmem.services.wiring.installed_plugins import find_plugin
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile

FileState = Literal["read", "new", "failed"]
"""What the seeds made of a file as it is now."""

FoundFile = tuple[Path, int, FileState]
"""A file, its bytes, and its state."""

Connected = Literal["connected", "out of date", "no", "unreadable", "plug-in"]


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Files, their bytes, how much of both no seed has read yet, and how many files no seed could read."""

    files: int = 0
    bytes: int = 0
    new: int = 0
    new_bytes: int = 0
    failed: int = 0

    def __add__(self, other: "FileTotals") -> "FileTotals":
        """Return the sum of both."""
        return FileTotals(
            self.files + other.files,
            self.bytes + other.bytes,
            self.new + other.new,
            self.new_bytes + other.new_bytes,
            self.failed + other.failed,
        )


@dataclass(frozen=True, slots=True)
class FoundAssistant:
    """An assistant with its sessions; `found` without a program or settings means that only sessions are."""

    assistant: Assistant
    found: bool
    version: str
    sessions: FileTotals
    connected: Connected


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source with files that every seed reads."""

    name: str
    description: str
    amount: FileTotals


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of this machine, before anything is read."""

    sources: tuple[FoundSource, ...]
    repositories: tuple[Path, ...]
    cut: str
    """Why there may be more repositories; empty if all were found."""
    unread: tuple[Unread, ...]
    """What is here besides, each with the command that reads it."""
    left_out: tuple[Problem, ...]
    """Repositories whose sessions are not read, because nothing shows that the person works there."""
    left: Mapping[str, Sequence[FoundFile]]
    """Source -> its files that are not read."""


@dataclass(frozen=True, slots=True)
class Survey(FoundFiles):
    """What is on this machine, before anything is read."""

    assistants: tuple[FoundAssistant, ...]
    other_sessions: FileTotals
    """Sessions below the globs of the transcripts that are of no known assistant."""

    @property
    def sessions(self) -> FileTotals:
        """The sessions of all assistants."""
        return sum((one.sessions for one in self.assistants), self.other_sessions)

    @property
    def files(self) -> FileTotals:
        """The files of all enabled sources."""
        return sum((one.amount for one in self.sources), FileTotals())


def survey(settings: Settings, catalog: Catalog, desk: ConnectContext, *, home: Path) -> Survey:
    """Look at what is on this machine; reads names, sizes and times of files, and writes nothing.

    But a catalog that exists is brought up to date; one that was never made has read no file. Programs of
    assistants are asked for their version.
    """
    assistants = load_assistants()
    exists = catalog.exists()
    if exists:
        # A killed setup may have left a database without tables.
        catalog.prepare()
    transcripts = settings.sources.get(SOURCE)
    found_sessions = (
        _sessions(transcripts, settings, catalog if exists else None, desk.places)
        if transcripts is not None
        else {}
    )
    sessions = {name: _amount(files) for name, files in found_sessions.items()}
    other = sessions.pop("", FileTotals())
    here = {one.name for one in assistants if is_installed(one, desk.places)}
    versions = _find_versions([one for one in assistants if one.name in here], desk.places.environ)
    found = tuple(
        FoundAssistant(
            one,
            one.name in here,
            versions.get(one.name, ""),
            sessions.get(one.name, FileTotals()),
            _state(desk, one),
        )
        for one in assistants
        if one.name in here or one.name in sessions
    )
    files = survey_files(settings, catalog, home=home, cwd=desk.places.cwd)
    return Survey(
        files.sources,
        files.repositories,
        files.cut,
        tuple(one for one in files.unread if one.what != SOURCE),
        files.left_out,
        files.left,
        found,
        other,
    )


def survey_files(settings: Settings, catalog: Catalog, *, home: Path, cwd: Path) -> FoundFiles:
    """Look for the files of the sources, and for what no source reads; sessions are not among them."""
    finder = RepositoryFinder(home, settings)
    discovered = {
        spec.name: find_files(spec, home=home, settings=settings, repositories=finder)
        for spec in settings.enabled_sources()
        if spec.name != SOURCE
    }
    known = catalog if catalog.exists() else None
    trust = Trust(settings, home=home)
    left_out: list[Problem] = []
    looked = {}
    for name, one in discovered.items():
        spec = settings.sources[name]
        if spec.reader == CHECKPOINTS:
            beside = _sessions_beside_commits(spec, settings, catalog, finder, home=home, trust=trust)
            looked[name] = [file for found in beside for file in _checkpoint_files(found)]
            left_out += [
                trust.problem(name, found.checkpoints.root, found.left_out)
                for found in beside
                if found.left_out
            ]
        elif spec.reader == SOURCE:
            found = _look(one.files, {}, _is_read_transcript(settings, known))
            new = [path for path, _, state in found if state != "read"]
            untrusted = trust.untrusted_files(spec, new)
            left_out += [trust.problem(name, root, len(paths)) for root, paths in untrusted.items()]
            hidden = {path for paths in untrusted.values() for path in paths}
            looked[name] = [file for file in found if file[0] not in hidden]
        else:
            looked[name] = _files(name, one.files, known)
    unread = find_unread(
        catalog, settings, home=home, cwd=cwd, repositories=finder, seeded=discovered.values()
    )
    return FoundFiles(
        tuple(
            FoundSource(name, settings.sources[name].description, _amount(files))
            for name, files in looked.items()
            if files
        ),
        finder.search.repositories,
        finder.search.cut,
        tuple(unread),
        tuple(left_out),
        {name: [one for one in files if one[2] != "read"] for name, files in looked.items()},
    )


def all_unread(settings: Settings, catalog: Catalog, places: Places) -> tuple[list[Unread], str]:
    """Return all files that the memory does not hold, with why, and why there may be more repositories.

    New files of enabled sources come first, then those that could not be read, then what no source reads.
    """
    found = survey_files(settings, catalog, home=places.home, cwd=places.cwd)
    left = dict(found.left)
    transcripts = settings.sources.get(SOURCE)
    if transcripts is not None and transcripts.enabled:
        sessions = _sessions(transcripts, settings, catalog if catalog.exists() else None, places)
        left[SOURCE] = [one for files in sessions.values() for one in files]
    rows = []
    for state, why in (("new", NEW), ("failed", FAILED)):
        for name, files in left.items():
            sizes = {path: size for path, size, its in files if its == state}
            if sizes:
                shown = tuple(quoted(one, places.home) for one in largest(sizes, found.repositories))
                command = f"ragmem seed --source {name}"
                rows.append(Unread(name, len(sizes), sum(sizes.values()), False, command, why, shown))
    return [*rows, *found.unread], found.cut


def _state(desk: ConnectContext, assistant: Assistant) -> Connected:
    state: Connected = connection_states(desk, assistant)[0].state  # type: ignore[assignment]
    return "plug-in" if state == "no" and find_plugin(assistant, desk.places) else state


def _files(source: str, files: Iterable[Path], catalog: Catalog | None) -> list[FoundFile]:
    seen = catalog.files.seen_files(source) if catalog else {}
    known = {path: (one.size, one.modified_ns) for path, one in seen.items() if one.rules != UNREADABLE}
    return _look(files, seen, lambda path, size, modified_ns: known.get(str(path)) == (size, modified_ns))


def _sessions(
    spec: SourceSpec, settings: Settings, catalog: Catalog | None, places: Places
) -> dict[str, list[FoundFile]]:
    """Return assistant -> its sessions; "" -> those of no assistant."""
    files: dict[str, list[Path]] = {}
    for path in find_files(spec, home=places.home, settings=settings).files:
        files.setdefault(_assistant_of(path, places), []).append(path)
    is_read = _is_read_transcript(settings, catalog)
    seen = catalog.files.seen_files(SOURCE) if catalog else {}
    return {name: _look(paths, seen, is_read) for name, paths in files.items()}


def _is_read_transcript(settings: Settings, catalog: Catalog | None) -> Callable[[Path, int, int], bool]:
    read = {one.path: one for one in catalog.transcripts.all()} if catalog else {}
    rules = rules_of(settings)

    def is_read(path: Path, size: int, modified_ns: int) -> bool:
        # Whether its last exchange has ended meanwhile does not matter here.
        return is_current(read.get(show(path)), size=size, modified_ns=modified_ns, rules=rules, ended=False)

    return is_read


def _sessions_beside_commits(
    spec: SourceSpec,
    settings: Settings,
    catalog: Catalog,
    finder: RepositoryFinder,
    *,
    home: Path,
    trust: Trust,
) -> list[FoundCheckpoints]:
    projects = project_finder(catalog, home=home)
    own = OwnSessions(catalog, settings, home=home)
    search = CheckpointSearch(catalog, settings, home, projects, finder, own, trust)
    return list(find_checkpoints(spec, search))


def _checkpoint_files(found: FoundCheckpoints) -> list[FoundFile]:
    """Return the sessions in checkpoints as files below the `.git` of their repository."""
    return [
        (found.checkpoints.root / GIT / session.name, session.size, "read" if session.is_read else "new")
        for session in found.sessions
    ]


def _assistant_of(path: Path, places: Places) -> str:
    """Return the name of the assistant that keeps its sessions at a path; "" for an unknown one."""
    assistants = load_assistants()
    for one in assistants:
        if path.is_relative_to(one.user_folder(places)):
            return one.name
    for folder in reversed(path.parent.parts):
        for one in assistants:
            if folder == one.folder.rpartition("/")[2] or folder in one.session_folders:
                return one.name
    return ""


def _look(
    paths: Iterable[Path], seen: Mapping[str, SeenFile], is_read: Callable[[Path, int, int], bool]
) -> list[FoundFile]:
    looked: list[FoundFile] = []
    for path in paths:
        try:
            size, modified_ns = size_and_time(path, path.stat())
        except OSError:  # it has gone since
            continue
        tried = seen.get(str(path))
        record = (tried.size, tried.modified_ns, tried.rules) if tried else None
        state: FileState = "new"
        # Nothing is in an empty file, and a name that is no UTF-8 has no place in the catalog.
        if is_read(path, size, modified_ns) or not size:
            state = "read"
        elif show(path) != str(path) or record == (size, modified_ns, UNREADABLE):
            state = "failed"
        looked.append((path, size, state))
    return looked


def _amount(files: Iterable[FoundFile]) -> FileTotals:
    sizes: dict[FileState, list[int]] = {"read": [], "new": [], "failed": []}
    for _, size, state in files:
        sizes[state].append(size)
    new = sizes["new"]
    count = sum(map(len, sizes.values()))
    return FileTotals(count, sum(map(sum, sizes.values())), len(new), sum(new), len(sizes["failed"]))


_PATIENCE_S = 2.0
"""Seconds for a program to say its version; an assistant that takes longer has none in the table."""

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*(?:-[0-9A-Za-z.]+)?")
_MOST_FOLDERS = 4
"""Folders above a program in which its package may be described."""


def _find_versions(assistants: Sequence[Assistant], environ: Mapping[str, str]) -> dict[str, str]:
    """Return assistant -> version of its program; "" where it has none on the PATH, or does not tell."""
    search = environ.get("PATH")
    programs = {
        one.name: next(filter(None, (shutil.which(name, path=search) for name in one.programs)), "")
        for one in assistants
    }
    with ThreadPoolExecutor(max_workers=len(programs) or 1) as pool:
        versions = pool.map(lambda program: _version(Path(program)) if program else "", programs.values())
        return dict(zip(programs, versions, strict=True))


def _version(program: Path) -> str:
    return _installed_version(program.resolve()) or _told_version(program)


def _installed_version(program: Path) -> str:
    """Return the version in the path of a program, or in the package.json above it; "" without one."""
    for part in reversed(program.parts):
        if _VERSION.fullmatch(part):
            return part
    for folder in list(program.parents)[:_MOST_FOLDERS]:
        try:
            package = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):  # it is no package of JavaScript
            continue
        # Above a package there may be another one, of which this is only a part.
        return str(package.get("version", "")) if isinstance(package, dict) and "bin" in package else ""
    return ""


def _told_version(program: Path) -> str:
    try:
        said = subprocess.run(  # noqa: S603 - the assistant that the person has installed
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # then the version is unknown
        return ""
    found = _VERSION.search(said.stdout[:1000].decode("utf-8", "replace"))
    return found[0] if found else ""

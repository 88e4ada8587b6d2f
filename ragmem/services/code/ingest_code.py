"""Update the code graph of a project from its files."""

import gc
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ragmem import __version__
from ragmem.config.settings import Settings
from ragmem.domain.code.code import Edge
from ragmem.errors import NotFoundError, UsageError
from ragmem.readers.code import language_of
from ragmem.readers.code_files import CodeFiles, find_code, root_of
from ragmem.readers.failures import failure
from ragmem.readers.files import show
from ragmem.readers.git_history import head_of, renames_since
from ragmem.readers.scope import ProjectFinder, ProjectIdentity
from ragmem.services.code.on_disk import CodeOnDisk, read_disk
from ragmem.services.code.relink import LinkedEdges, link_files, relink
from ragmem.services.code.report import CodeReport
from ragmem.services.ingestion.scope import project_finder, remember_projects
from ragmem.services.processes.progress import Progress
from ragmem.storage.code.code import Rename
from ragmem.storage.code.code_writer import (
    CodeWriter,
    FileRows,
    FileState,
    OvertakenError,
    RootState,
    links_of,
)
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.fair_lock import turn

LOCK_NAME = "code.lock"
"""The lock of code ingestion: a second process waits, and then finds nothing left to do."""

RULES = f"{__version__}/8"
"""The version of the parsers; another release may find more in the same file."""

_TRIES = 5
"""Number of retries after a concurrent run on another machine."""


@dataclass(frozen=True, slots=True)
class _Target:
    """The target of a run: a project, the root of its relative paths, and the folder within it."""

    identity: ProjectIdentity
    root: Path
    within: Path
    rebuild: bool

    def covers(self, path: str) -> bool:
        """Return whether a path of the project belongs to this run."""
        return self.within == self.root or (self.root / path).is_relative_to(self.within)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The files on disk compared with the known ones; the properties are the files missing there."""

    place: _Target
    listed: CodeFiles
    disk: CodeOnDisk
    known: Mapping[str, FileState]

    @property
    def outside_files(self) -> dict[str, FileState]:
        """The files outside of this run."""
        return {path: seen for path, seen in self.known.items() if not self.place.covers(path)}

    @property
    def deleted_paths(self) -> list[str]:
        """The files that were deleted or are ignored now."""
        return sorted(path for path in self.known if path not in self.disk.seen and self.place.covers(path))


@dataclass(frozen=True, slots=True)
class _Plan:
    """The changes to write; empty if `due` is False."""

    standing: RootState
    report: CodeReport
    head: str
    gone: Sequence[str] = ()
    rows: Sequence[FileRows] = ()
    renames: Sequence[Rename] = ()
    due: bool = False


def ingest_code(
    catalog: Catalog,
    settings: Settings,
    path: Path,
    *,
    home: Path,
    cwd: Path,
    rebuild: bool = False,
    dry_run: bool = False,
    progress: Progress,
) -> CodeReport:
    """Store the code of a repository or folder as a graph; unchanged files cost nothing.

    If `path` is a part of a project, everything outside of it stays; `rebuild` parses and links the whole
    project again. A killed run leaves whole files, and the next run completes it. Raises NotFoundError for a
    path that does not exist, UsageError for one that is not a project, StoreBusyError while another process
    ingests code.
    """
    started = time.perf_counter()
    projects = project_finder(catalog, home=home)
    place = _target(path, projects, cwd=cwd, rebuild=rebuild)
    if dry_run:
        with _without_collection():
            report = _plan(catalog, settings, place, home=home, dry_run=True, progress=progress).report
        report.dry_run = True
    else:
        catalog.prepare()
        remember_projects(catalog, projects)
        lock = turn(catalog.database.home / LOCK_NAME, timeout=settings.write.busy_timeout_s)
        with lock, _without_collection():
            report = _update(catalog, settings, place, home=home, progress=progress)
    if not report.languages:
        counts = catalog.code.counts(report.project)
        report.symbols, report.edges = counts.symbols, counts.edges
        report.languages.update(file.language for file in catalog.code.files(report.project))
    report.seconds = time.perf_counter() - started
    return report


@contextmanager
def _without_collection() -> Iterator[None]:
    """Let Python search for no garbage cycles: what is read lives until the end, and has none."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _target(path: Path, projects: ProjectFinder, *, cwd: Path, rebuild: bool) -> _Target:
    resolved = Path(cwd, path.expanduser()).resolve()
    if not resolved.exists():
        raise NotFoundError(f'there is no folder "{path}"', hint="give a git repository or a folder")
    identity = projects.project_of(resolved)
    if identity is None or identity.root is None:
        raise UsageError(f'"{path}" is not a project', hint="give the folder of one project")
    return _Target(identity, root_of(resolved, identity.root), resolved, rebuild)


def _update(
    catalog: Catalog, settings: Settings, place: _Target, *, home: Path, progress: Progress
) -> CodeReport:
    for tries in range(1, _TRIES + 1):
        plan = _plan(catalog, settings, place, home=home, dry_run=False, progress=progress)
        if not plan.due:
            break
        try:
            CodeWriter(catalog.database, place.identity.id).write(
                plan.standing,
                root=show(place.root),
                head=plan.head,
                rules=RULES,
                files=plan.rows,
                gone=plan.gone,
                renames=plan.renames,
            )
        except OvertakenError:
            if tries == _TRIES:
                raise
        else:
            plan.report.written = True
            break
    return plan.report


def _plan(
    catalog: Catalog, settings: Settings, place: _Target, *, home: Path, dry_run: bool, progress: Progress
) -> _Plan:
    writing = CodeWriter(catalog.database, place.identity.id)
    there = catalog.exists()
    standing = writing.state() if there else RootState()
    known = writing.seen(standing) if there else {}
    anew = place.rebuild or standing.rules != RULES
    if anew and known:
        # After an upgrade everything is parsed again, otherwise some files would stay on the old version.
        place = replace(place, within=place.root)
    exclude = (*settings.exclude, *(settings.project.exclude if settings.project else ()))
    listed = find_code(place.root, place.within, home=home, exclude=exclude)
    disk = read_disk(place.root, listed.files, known, anew=anew, progress=progress, redactor=catalog.redactor)
    compared = _Comparison(place, listed, disk, known)
    gone = compared.deleted_paths
    head = head_of(place.root)
    renames = _committed_renames(place.root, since=standing.head, head=head)
    explained = {one.old for one in renames}
    renames += _detect_renames(known, disk, [path for path in gone if path not in explained])
    report = _report(compared, renames)
    if not (disk.parsed or gone or not standing.complete):
        return _Plan(standing, report, head, renames=renames, due=bool(renames))
    whole = anew or dry_run or not standing.complete
    relinked = _relink(writing, standing, known, disk, gone, whole=whole)
    report = _report(compared, renames)
    rows = list(_rows(relinked.edges, {**compared.outside_files, **disk.seen}, disk))
    report.relinked = [row.path for row in rows if row.edges is not None and row.parsed is None]
    if dry_run:
        # Otherwise it is counted after the write.
        report.languages.update(file.language for file in relinked.files)
        report.symbols = sum(len(file.symbols) for file in relinked.files)
        report.edges = sum(map(len, relinked.edges.values()))
    return _Plan(standing, report, head, gone, rows, renames, due=True)


def _relink(
    writing: CodeWriter,
    standing: RootState,
    known: Mapping[str, FileState],
    disk: CodeOnDisk,
    gone: Sequence[str],
    *,
    whole: bool,
) -> LinkedEdges:
    """Link the changes; a file that cannot be linked, even alone, stays unchanged."""
    try:
        return relink(writing, standing, known, disk, gone, whole=whole)
    except Exception as error:
        failure(error)
        before = len(disk.failed)
        for path, file in list(disk.parsed.items()):
            try:
                link_files([file])
            except Exception as own:  # noqa: BLE001 - one file never stops the others
                disk.fail(path, own, known.get(path))
        if len(disk.failed) == before:
            raise
    return relink(writing, standing, known, disk, gone, whole=whole)


def _rows(
    edges: Mapping[str, list[Edge]], seen: Mapping[str, FileState], disk: CodeOnDisk
) -> Iterable[FileRows]:
    for path in sorted({*edges, *disk.touched}):
        was = seen[path]
        links = links_of(edges[path]) if path in edges else was.links
        now = replace(was, links=links)
        if path in disk.parsed:
            yield FileRows(path, now, edges[path], disk.parsed[path])
        elif links != was.links:
            yield FileRows(path, now, edges[path])
        elif path in disk.touched:
            yield FileRows(path, now)


def _report(compared: _Comparison, renames: Sequence[Rename]) -> CodeReport:
    place, disk, known = compared.place, compared.disk, compared.known
    report = CodeReport(place.identity.id, show(place.root))
    ends = _final_paths(renames)
    for old in compared.deleted_paths:
        new = ends.get(old, "")
        if new in disk.parsed and new not in known:
            report.renamed.append((old, new))
        else:
            report.gone.append(old)
    renamed = {new for _, new in report.renamed}
    for path in disk.seen:
        if path not in disk.parsed:
            report.unchanged += 1
        elif path in known:
            report.changed.append(path)
        elif path not in renamed:
            report.new.append(path)
    report.unchanged += len(compared.outside_files)
    report.skipped = [*((show(one.path), one.reason) for one in compared.listed.skipped), *disk.skipped]
    report.failed = list(disk.failed)
    report.problems = {path: file.problem for path, file in disk.parsed.items() if file.problem}
    return report


_MICROSECOND = 1_000


def _committed_renames(root: Path, *, since: str, head: str) -> list[Rename]:
    """Return the renames in the commits after `since` (empty: from the first) up to `head`."""
    if not head or head == since:
        return []
    return [
        Rename(one.old, one.new, one.commit, one.renamed_at)
        for one in renames_since(root, since) or ()
        if language_of(one.new) or language_of(one.old)
    ]


def _detect_renames(known: Mapping[str, FileState], disk: CodeOnDisk, gone: Sequence[str]) -> list[Rename]:
    """Return the files that disappeared and reappeared with the same content under another path.

    Of several candidates the one with the same name, else the first. Files without definitions are ignored.
    """
    appeared: dict[str, list[str]] = {}
    for path, file in disk.parsed.items():
        if path not in known and len(file.symbols) > 1:
            appeared.setdefault(disk.seen[path].content_hash, []).append(path)
    moment = time.time_ns() // _MICROSECOND
    found = []
    for old in gone:
        if candidates := appeared.get(known[old].content_hash):
            name = old.rpartition("/")[2]
            new = next((path for path in candidates if path.rpartition("/")[2] == name), candidates[0])
            candidates.remove(new)
            found.append(Rename(old, new, "", moment))
    return found


def _final_paths(renames: Sequence[Rename]) -> dict[str, str]:
    """Return former path -> the current path at the end of a chain of renames."""
    following = {one.old: one.new for one in sorted(renames, key=lambda one: one.renamed_at)}
    ends = {}
    for old in following:
        new, seen = old, set[str]()
        while new in following and new not in seen:
            seen.add(new)
            new = following[new]
        ends[old] = new
    return ends

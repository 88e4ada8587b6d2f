"""Seed from transcripts, of assistants or in repositories: newest first, streamed, on several cores."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder
from ragmem.readers.transcripts.specstory import session_of
from ragmem.services.ingestion.source import NANOSECONDS, RepositoryFinder, find_files
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.worker_pool import WorkerPool, cpu_count
from ragmem.services.seeding.files import UNREADABLE
from ragmem.services.seeding.report import SeedReport, StreamReport, Tally
from ragmem.services.seeding.stream_counts import CountObserver, add_result
from ragmem.services.seeding.trust import Trust
from ragmem.services.transcripts.own_sessions import CHECKPOINTS, OwnSessions
from ragmem.services.transcripts.transcripts import (
    capture,
    is_current,
    keep_as_read,
    rules_of,
    size_and_time,
)
from ragmem.services.transcripts.writer import CaptureResult
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile

RECENT_BYTES = 40_000_000
RECENT_S = 20.0
"""Bytes of the latest transcripts, or seconds, after which `on_recent` is called; a guess at patience."""

QUIET = timedelta(minutes=30)
"""A transcript without changes for this long has ended, and its last exchange is complete."""

MIN_PARALLEL = 16_000_000
"""Bytes from which starting more processes pays off."""

MAX_WORKERS = 4
"""Processes that classify; the one that reads cannot keep more of them busy."""


def pool_for(size: int) -> WorkerPool:
    """Return the processes that classify the exchanges of so many bytes."""
    return WorkerPool(min(cpu_count(), MAX_WORKERS) if size > MIN_PARALLEL else 1)


@dataclass(frozen=True, slots=True)
class _File:
    """A transcript with its time and the bytes of it that are to be read."""

    path: Path
    modified_ns: int
    left: int
    known: int
    """Exchanges that were read of it before."""
    ended: bool


@dataclass(slots=True)
class TranscriptSeeder:
    """Seeds the sources that are read as streams and not file by file."""

    catalog: Catalog
    settings: Settings
    _: KW_ONLY
    home: Path
    projects: ProjectFinder
    repositories: RepositoryFinder
    now: datetime
    progress: Progress
    on_recent: Callable[[], None] | None = None
    """Called once when the latest transcripts are stored, and others are left."""
    _read: int = field(default=0, init=False)
    _total: int = field(default=0, init=False)
    _began: float = field(default=0.0, init=False)
    _own: OwnSessions = field(init=False)
    _trust: Trust = field(init=False)

    def __post_init__(self) -> None:
        self._own = OwnSessions(self.catalog, self.settings, home=self.home)
        self._trust = Trust(self.settings, home=self.home)

    def seed(
        self, specs: Sequence[SourceSpec], report: SeedReport, *, explain: bool, anew: bool
    ) -> list[SourceSpec]:
        """Accept what was added to transcripts; return the other sources, which are not streams.

        The latest files come first; vectors are made later. A run may be interrupted at any time; the next
        one continues it. A dry run with `explain` reads everything new and writes nothing; without, it only
        compares sizes and times. With `anew` everything is read again.
        """
        others = []
        streamed = StreamReport()
        for spec in specs:
            if spec.reader == SOURCE:
                self._seed(spec, report, streamed, explain=explain, anew=anew)
            elif spec.reader == CHECKPOINTS:
                self._seed_checkpoints(spec, report, streamed, explain=explain, anew=anew)
            else:
                others.append(spec)
                continue
            # Most homes have none of the sessions that lie in repositories.
            if spec.name == SOURCE or report.tallies[-1].files:
                report.streamed = streamed
        return others

    def _seed(
        self, spec: SourceSpec, report: SeedReport, streamed: StreamReport, *, explain: bool, anew: bool
    ) -> None:
        tally = Tally(spec.name)
        report.tallies.append(tally)
        discovery = find_files(spec, home=self.home, settings=self.settings, repositories=self.repositories)
        report.skip(tally, discovery.skipped)
        tally.files = len(discovery.files)
        files = self._newest_first(discovery.files, anew=anew)
        if anew and not report.dry_run and self.catalog.exists():
            self.catalog.transcripts.forget(show(file.path) for file in files)
        for file in files:
            if not file.left:
                tally.found += file.known
                tally.unchanged += file.known
        untrusted = self._trust.untrusted_files(spec, (file.path for file in files if file.left))
        for root, paths in untrusted.items():
            report.problems.append(self._trust.problem(spec.name, root, len(paths)))
        left_out = {path for paths in untrusted.values() for path in paths}
        tally.files -= len(left_out)
        wanted = [
            file
            for file in files
            if file.left and file.path not in left_out and not self._is_own(file, report)
        ]
        total = sum(file.left for file in wanted)
        self._read, self._total = 0, total
        if report.dry_run and not explain:
            streamed.files += len(wanted)
            streamed.bytes += total
            return
        self._began = time.perf_counter()
        self.progress.begin("newest first", total, unit="bytes")
        with pool_for(total) as pool:
            for file in wanted:
                try:
                    self._capture(file, pool, tally, report, streamed, explain=explain)
                except BrokenProcessPool:
                    # A worker was killed, perhaps for lack of memory: this process does the rest alone.
                    pool.workers = 1
                    self._capture(file, pool, tally, report, streamed, explain=explain)
        streamed.seconds += time.perf_counter() - self._began

    def _is_own(self, file: _File, report: SeedReport) -> bool:
        """Return whether a file is an export of a session that is read from its own transcript."""
        session = session_of(file.path)
        if not session or not self._own.reads(session):
            return False
        if not report.dry_run:
            keep_as_read(self.catalog, self.settings, file.path, session=session, now=self.now)
        return True

    def _seed_checkpoints(
        self, spec: SourceSpec, report: SeedReport, streamed: StreamReport, *, explain: bool, anew: bool
    ) -> None:
        # Few repositories have any.
        from ragmem.services.seeding.checkpoints import CheckpointSearch, CheckpointSeeder  # noqa: PLC0415

        search = CheckpointSearch(
            self.catalog,
            self.settings,
            self.home,
            self.projects,
            self.repositories,
            self._own,
            self._trust,
        )
        seeder = CheckpointSeeder(search, pool_for=pool_for, now=self.now, progress=self.progress)
        seeder.seed(spec, report, streamed, explain=explain, anew=anew)

    def _capture(
        self,
        file: _File,
        pool: WorkerPool,
        tally: Tally,
        report: SeedReport,
        streamed: StreamReport,
        *,
        explain: bool,
    ) -> None:
        observer = _ProgressObserver(
            tally,
            report,
            explain=explain,
            progress=self.progress,
            before=streamed.exchanges,
            on_bytes=self._count,
        )
        done = capture(
            self.catalog,
            self.settings,
            file.path,
            home=self.home,
            now=self.now,
            ended=file.ended,
            projects=self.projects,
            pool=pool,
            observer=observer,
            dry_run=report.dry_run,
        )
        self.progress.advance(
            max(0, file.left - observer.advanced), told=f"{observer.before + observer.exchanges:,} exchanges"
        )
        add_result(done, tally, report, streamed)
        if done.failed and not report.dry_run:
            self._remember_failure(file.path, tally.source)

    def _count(self, size: int) -> None:
        """Count bytes that are stored, and call `on_recent` once, when enough of them are."""
        self._read += size
        is_enough = self._read >= RECENT_BYTES or time.perf_counter() - self._began >= RECENT_S
        if self.on_recent is not None and is_enough and self._read < self._total:
            called, self.on_recent = self.on_recent, None
            called()

    def _remember_failure(self, path: Path, source: str) -> None:
        """Keep that a file could not be read as it is now, so that nobody waits for it."""
        try:
            size, modified_ns = size_and_time(path, path.stat())
        except OSError:  # it has gone since
            return
        self.catalog.files.remember([SeenFile(source, str(path), size, modified_ns, UNREADABLE, {})])

    def _newest_first(self, paths: Sequence[Path], *, anew: bool) -> list[_File]:
        known = {}
        if self.catalog.exists() and not anew:
            self.catalog.prepare()
            known = {one.path: one for one in self.catalog.transcripts.all()}
        rules = rules_of(self.settings)
        quiet_ns = int((self.now - QUIET).timestamp()) * NANOSECONDS
        files = [_file(path, known.get(show(path)), rules=rules, quiet_ns=quiet_ns) for path in paths]
        return sorted(files, key=lambda file: (-file.modified_ns, str(file.path)))


def _file(path: Path, before: Transcript | None, *, rules: str, quiet_ns: int) -> _File:
    try:
        status = path.stat()
    except OSError:  # it is gone; opening it reports that
        return _File(path, 0, 1, 0, ended=True)
    size, modified = size_and_time(path, status)
    ended = modified < quiet_ns
    current = is_current(before, size=size, modified_ns=modified, rules=rules, ended=ended)
    position = before.position if before and before.position <= size else 0
    left = 0 if current else max(1, size - position)
    return _File(path, modified, left, before.exchanges if before else 0, ended)


@dataclass(slots=True)
class _ProgressObserver(CountObserver):
    """Counts the exchanges of one transcript, and shows the progress."""

    progress: Progress
    before: int
    """Exchanges of the transcripts before it."""
    on_bytes: Callable[[int], None]
    advanced: int = field(default=0, init=False)

    def on_batch(self, done: CaptureResult) -> None:
        """Advance the progress bar."""
        self.exchanges = done.exchanges
        more, self.advanced = done.bytes - self.advanced, done.bytes
        self.progress.advance(more, told=f"{self.before + self.exchanges:,} exchanges")
        self.on_bytes(more)

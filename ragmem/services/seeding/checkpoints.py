"""Seed from the sessions that Entire keeps beside commits: those of colleagues, each once, newest first."""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.model import Scope, Tier, digest
from ragmem.domain.sessions.transcript import ENTIRE, SOURCE, Exchange
from ragmem.readers.checkpoints.links import Links, links_of
from ragmem.readers.checkpoints.sessions import (
    Checkpoints,
    SessionCopy,
    begins_with,
    read_checkpoints,
    transcript_of,
)
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.source import RepositoryFinder, find_checkouts
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.services.seeding.report import Problem, SeedReport, StreamReport, Tally
from ragmem.services.seeding.stream_counts import UNKNOWN_FORMAT, CountObserver, add_result
from ragmem.services.seeding.trust import Trust, is_gated
from ragmem.services.transcripts.own_sessions import CHECKPOINTS, Origin, OwnSessions
from ragmem.services.transcripts.transcripts import capture, rules_of
from ragmem.services.transcripts.writer import CaptureResult
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT_HASH = 12
_GEMINI = "gemini"

UNANSWERED = "git did not return it; the next seed tries again"


@dataclass(frozen=True, slots=True)
class CheckpointSession:
    """A session in a repository's checkpoints: its copies, the latest last, and whether all were read."""

    name: str
    copies: tuple[SessionCopy, ...]
    rules: str
    seen: SeenFile | None

    @property
    def size(self) -> int:
        """The bytes of its latest copy."""
        return self.copies[-1].size

    @property
    def is_read(self) -> bool:
        """Whether it was read as it is now, by the same rules."""
        return self.seen is not None and self.seen.rules == self.rules


@dataclass(frozen=True, slots=True)
class FoundCheckpoints:
    """The sessions of a repository that were held elsewhere, the latest first.

    `left_out` counts those that are not read, because the repository is not trusted.
    """

    checkpoints: Checkpoints
    project: str
    sessions: tuple[CheckpointSession, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointSearch:
    """What a search for checkpoints needs of a home, and which sessions are left to their own transcripts."""

    catalog: Catalog
    settings: Settings
    home: Path
    projects: ProjectFinder
    repositories: RepositoryFinder
    own: OwnSessions
    trust: Trust


def find_checkpoints(spec: SourceSpec, search: CheckpointSearch) -> Iterator[FoundCheckpoints]:
    """Yield the repositories with checkpoints; one that several folders share comes once."""
    catalog, settings = search.catalog, search.settings
    seen = catalog.files.seen_files(spec.name) if catalog.exists() else {}
    rules = rules_of(settings)
    for root in find_checkouts(spec, home=search.home, settings=settings, repositories=search.repositories):
        found = read_checkpoints(root)
        project = search.projects.project_of(root) if found else None
        if found is None or project is None:
            continue
        by_session: dict[str, list[SessionCopy]] = {}
        for copy in found.copies:
            if not search.own.has(copy.session):
                by_session.setdefault(copy.session, []).append(copy)
        sessions = []
        for session, copies in by_session.items():
            copies.sort(key=lambda copy: (copy.created or _EARLIEST, copy.place, copy.size))
            name = f"{ENTIRE}{project.id}/{session}"
            hashes = (f"{copy.place} {copy.chunks}" for copy in copies)
            read_by = digest(CHECKPOINTS, rules, *hashes, length=_SHORT_HASH)
            sessions.append(CheckpointSession(name, tuple(copies), read_by, seen.get(name)))
        sessions.sort(key=lambda one: one.copies[-1].created or _EARLIEST, reverse=True)
        known = [one for one in sessions if one.is_read]
        if len(known) == len(sessions) or not is_gated(spec) or search.trust.covers(root):
            known = sessions
        yield FoundCheckpoints(found, project.id, tuple(known), len(sessions) - len(known))


@dataclass(slots=True)
class CheckpointSeeder:
    """Seeds a source of checkpoints."""

    search: CheckpointSearch
    _: KW_ONLY
    pool_for: Callable[[int], WorkerPool]
    now: datetime
    progress: Progress

    def seed(
        self, spec: SourceSpec, report: SeedReport, streamed: StreamReport, *, explain: bool, anew: bool
    ) -> None:
        """Accept the sessions of checkpoints that were not read yet, as `TranscriptSeeder.seed` does."""
        tally = Tally(spec.name)
        report.tallies.append(tally)
        began = time.perf_counter()
        for found in find_checkpoints(spec, self.search):
            if found.left_out:
                trust = self.search.trust
                report.problems.append(trust.problem(spec.name, found.checkpoints.root, found.left_out))
            tally.files += len(found.sessions)
            wanted = []
            for session in found.sessions:
                if session.is_read and session.seen is not None and not anew:
                    for tier, count in session.seen.tally.items():
                        tally.add("found", "unchanged", tier, count=count)
                else:
                    wanted.append(session)
            if report.dry_run and not explain:
                streamed.files += len(wanted)
                streamed.bytes += sum(session.size for session in wanted)
            elif wanted:
                self._read(
                    spec,
                    found,
                    wanted,
                    tally=tally,
                    report=report,
                    streamed=streamed,
                    explain=explain,
                    anew=anew,
                )
        streamed.seconds += time.perf_counter() - began

    def _read(
        self,
        spec: SourceSpec,
        found: FoundCheckpoints,
        wanted: Sequence[CheckpointSession],
        *,
        tally: Tally,
        report: SeedReport,
        streamed: StreamReport,
        explain: bool,
        anew: bool,
    ) -> None:
        root = found.checkpoints.root
        for problem, count in sorted(found.checkpoints.problems.items()):
            report.problems.append(Problem(spec.name, show(root), f"{problem}: {count:,}", "warning"))
        links = links_of(found.checkpoints)
        self.progress.begin("sessions in checkpoints", sum(one.size for one in wanted), unit="bytes")
        unknown: dict[str, int] = {}
        with self.pool_for(sum(one.size for one in wanted)) as pool:
            for session in wanted:
                own = Tally(spec.name)
                reader = _SessionReader(self, found, session, links, own, report)
                for done in reader.read(pool, explain=explain, anew=anew):
                    if done.failed.startswith(UNKNOWN_FORMAT):
                        by = session.copies[-1].assistant or "an unknown assistant"
                        unknown[by] = unknown.get(by, 0) + 1
                    else:
                        add_result(done, own, report, streamed)
                for name in ("found", "new", "changed", "unchanged", "archived", "failed", *Tier):
                    tally.add(name, count=getattr(own, name))
                if not report.dry_run and not own.failed:
                    self._remember(spec, session, reader.names)
                self.progress.advance(session.size)
        for by, count in sorted(unknown.items()):
            told = f"unreadable sessions of {by}: {count:,}"
            report.problems.append(Problem(spec.name, show(root), told, "warning"))

    def _remember(self, spec: SourceSpec, session: CheckpointSession, names: Iterable[str]) -> None:
        """Record that a session was read, with what it has given, also in earlier seeds."""
        tiers = Counter(memory.tier.value for memory in self.search.catalog.memories.beneath(SOURCE, names))
        latest = session.copies[-1]
        seen = SeenFile(spec.name, session.name, latest.size, _ns(latest), session.rules, tiers)
        self.search.catalog.files.remember([seen])


def _ns(copy: SessionCopy) -> int:
    return int((copy.created or _EARLIEST).timestamp() * 1000) * 10**6


@dataclass(slots=True)
class _SessionReader:
    """Reads the copies of one session: each that no later one contains."""

    seeder: CheckpointSeeder
    found: FoundCheckpoints
    session: CheckpointSession
    links: Links
    tally: Tally
    report: SeedReport
    names: set[str] = field(default_factory=set, init=False)
    """Names of the transcripts that were read."""
    _keys: set[str] = field(default_factory=set, init=False)
    """Keys of the exchanges in later copies."""

    def read(self, pool: WorkerPool, *, explain: bool, anew: bool) -> Iterator[CaptureResult]:
        """Yield the result of each copy that is read."""
        rest = list(self.session.copies)
        while rest:
            copy = rest.pop()
            transcript = transcript_of(self.found.checkpoints.root, copy)
            if not transcript and copy.size:
                yield CaptureResult(f"{ENTIRE}{self.found.project}/{copy.place}", failed=UNANSWERED)
                continue
            within = [one for one in rest if begins_with(transcript, one)]
            rest = [one for one in rest if one not in within]
            # Named after the first of them, so that the next one is read on from here.
            name = f"{ENTIRE}{self.found.project}/{(within[0] if within else copy).place}"
            if name in self.names:
                # A remote has another version of the same checkpoint.
                name = f"{name}.{copy.chunks[0][0][:_SHORT_HASH]}"
            self.names.add(name)
            catalog = self.seeder.search.catalog
            if anew and not self.report.dry_run and catalog.exists():
                catalog.transcripts.forget([name])
            yield self._capture(name, copy, transcript, pool=pool, explain=explain)

    def _capture(
        self, name: str, copy: SessionCopy, transcript: bytes, *, pool: WorkerPool, explain: bool
    ) -> CaptureResult:
        seeder, search = self.seeder, self.seeder.search
        keys: set[str] = set()

        def describe(exchange: Exchange) -> Mapping[str, str] | None:
            if exchange.key in self._keys:
                return None
            keys.update(filter(None, [exchange.key]))
            return self._metadata(exchange, copy)

        with tempfile.TemporaryDirectory(prefix="ragmem-") as folder:
            # The readers take the format of some files from their suffix.
            suffix = ".json" if _GEMINI in copy.assistant.lower() else ".jsonl"
            path = Path(folder) / f"{copy.session}{suffix}"
            path.write_bytes(transcript)
            written = _ns(copy) if copy.created else int(seeder.now.timestamp()) * 10**9
            os.utime(path, ns=(written, written))
            read = partial(
                capture,
                search.catalog,
                search.settings,
                path,
                home=search.home,
                now=seeder.now,
                ended=True,
                projects=search.projects,
                pool=pool,
                observer=CountObserver(self.tally, self.report, explain=explain),
                dry_run=self.report.dry_run,
                origin=Origin(name, Scope(self.found.project), describe),
            )
            try:
                done = read()
            except BrokenProcessPool:
                # A worker was killed, perhaps for lack of memory: this process does the rest alone.
                pool.workers = 1
                done = read()
        done.failed = done.failed.replace(str(path), name)
        self._keys |= keys
        return done

    def _metadata(self, exchange: Exchange, copy: SessionCopy) -> Mapping[str, str]:
        """Return the checkpoint that holds the work of an exchange, its commits and who made it.

        It is each that was made during the exchange, else the next one. A mere answer is in no commit.
        """
        began = exchange.began or exchange.ended or copy.created or _EARLIEST
        later = [one for one in self.session.copies if (one.created or _EARLIEST) >= began]
        during = [one for one in later if exchange.ended and one.created and one.created <= exchange.ended]
        holding = during or later[:1] or [copy]
        committed = holding if during or exchange.files else []
        linked = (name for one in committed for name in self.links.commits.get(one.checkpoint, ()))
        # The transcript may name the same commits, by shorter hashes.
        more = (name[:_SHORT_HASH] for name in linked if not name.startswith(exchange.commits or ("-",)))
        told = {
            "checkpoint": ", ".join(dict.fromkeys(one.checkpoint for one in holding)),
            "commits": ", ".join(dict.fromkeys((*exchange.commits, *more))),
            "author": self.links.authors.get(holding[0].checkpoint, ""),
            "branch": exchange.branch or holding[0].branch,
            "cwd": show(self.found.checkpoints.root),
            # What a colleague said to an assistant is no rule for this person.
            "protected": "false",
        }
        return {name: value for name, value in told.items() if value}

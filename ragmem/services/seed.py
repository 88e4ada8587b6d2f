"""Bring the memory up to date with the sources on disk, resumably: read, judge, compare, index."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Self

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.files import SeenFile
from ragmem.config import ChunkingSettings, Settings, SourceSpec
from ragmem.domain.model import Record, State, Tier, digest
from ragmem.errors import NotFoundError
from ragmem.ports import Store
from ragmem.readers.reading import Reading
from ragmem.readers.scope import ProjectFinder
from ragmem.readers.source import find_files, read_file
from ragmem.services.index import index, index_pending, record_of
from ragmem.services.ingest import Change, compare
from ragmem.services.judge import RULES_VERSION, Judged, judge
from ragmem.services.progress import Progress
from ragmem.services.scope import finder, remember_projects

BATCH_CHARACTERS = 200_000
"""Characters in one transaction, so that a batch of long documents does not hold the lock for seconds."""


@dataclass(slots=True)
class Tally:
    """The counts of one source; found = new + changed + unchanged, over all tiers."""

    source: str
    files: int = 0
    found: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    ingest: int = 0
    summarize: int = 0
    discard: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or an entry in it, that could not be read, or was read with a reservation."""

    source: str
    place: str
    reason: str
    level: Literal["failed", "warning"] = "failed"


@dataclass(frozen=True, slots=True)
class Decision:
    """What seed decided about one draft, for explaining it."""

    source: str
    uri: str
    title: str
    id: str
    change: Change
    tier: Tier
    reason: str
    kind: str


@dataclass(slots=True)
class SeedReport:
    """What a seeding did, or would do."""

    tallies: list[Tally] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    resumed: int = 0
    characters: int = 0
    chunks: int = 0
    seconds: float = 0.0
    dry_run: bool = False

    @property
    def failed(self) -> int:
        """Return how many files or entries could not be read."""
        return sum(tally.failed for tally in self.tallies)

    @property
    def would_change(self) -> bool:
        """Tell whether the memory is not up to date with the sources."""
        return bool(self.resumed) or any(tally.new or tally.changed for tally in self.tallies)


@dataclass(slots=True)
class _Batch:
    """What goes into one transaction."""

    judged: list[Judged] = field(default_factory=list)
    files: list[SeenFile] = field(default_factory=list)
    redated: dict[str, datetime] = field(default_factory=dict)
    faded: list[str] = field(default_factory=list)
    characters: int = 0

    def full(self, memories: int) -> bool:
        return len(self.judged) >= memories or self.characters >= BATCH_CHARACTERS or len(self.files) >= 500


def seed(
    catalog: Catalog,
    open_store: Callable[[], Store],
    settings: Settings,
    *,
    home: Path,
    sources: Sequence[str],
    dry_run: bool,
    explain: bool,
    rebuild: bool,
    now: datetime,
    progress: Progress,
) -> SeedReport:
    """Read every file of the sources that is new or changed, and index what its signal is worth.

    Each batch is one transaction, so that a run which is killed goes on where it was; a file counts as seen
    only together with its memories. A file that cannot be read is named in the report and never ends the run.
    With `dry_run` nothing is written and the report tells what would be; with `explain` every file is read,
    so that the report tells of unchanged ones too; with `rebuild` they are read and all vectors and the graph
    are made anew. Raises NotFoundError for an unknown source name.
    """
    specs = chosen_sources(settings, sources)
    report = SeedReport(dry_run=dry_run)
    projects = finder(catalog, home=home)
    exists = catalog.exists()
    if exists and not dry_run:
        report.resumed = _resume(catalog, open_store, rebuild=rebuild, progress=progress)
    elif exists:
        report.resumed = len(catalog.memories.ids(states=[State.PENDING]))
    with _Writer(catalog, open_store, size=settings.seed.batch, dry_run=dry_run) as writer:
        for spec in specs:
            tally = Tally(spec.name)
            report.tallies.append(tally)
            _seed_source(
                catalog,
                spec,
                writer,
                tally,
                report,
                settings=settings,
                home=home,
                projects=projects,
                fresh=rebuild or explain,
                exists=exists,
                now=now,
                progress=progress,
            )
        writer.flush()
    if not dry_run:
        remember_projects(catalog, projects)
    if not dry_run and (report.would_change or report.failed):
        detail = {
            "new": sum(tally.new for tally in report.tallies),
            "changed": sum(tally.changed for tally in report.tallies),
            "failed": report.failed,
        }
        catalog.log.write("seed", detail, now=now)
    return report


def chosen_sources(settings: Settings, names: Sequence[str]) -> list[SourceSpec]:
    """Return the enabled sources, or those named; raises NotFoundError with the known names."""
    for name in names:
        if name not in settings.sources:
            known = ", ".join(settings.sources)
            raise NotFoundError(f'there is no source "{name}"', hint=f"sources: {known}")
    if names:
        return [settings.sources[name] for name in dict.fromkeys(names)]
    return list(settings.enabled_sources())


def gone(catalog: Catalog, settings: Settings, *, home: Path) -> set[str]:
    """Return the ids of seeded memories that their source no longer has.

    A memory whose source is not configured (any more) is left alone: it did not come from a file we watch.
    A file that is there but cannot be read now counts as there.
    """
    projects = finder(catalog, home=home)
    missing: set[str] = set()
    by_source: dict[str, list[tuple[str, str]]] = {}
    for identifier, source, uri in catalog.memories.places(sources=list(settings.sources)):
        by_source.setdefault(source, []).append((identifier, uri))
    for name, held in by_source.items():
        spec = settings.sources[name]
        files = {str(path) for path in find_files(spec, home=home, settings=settings).files}
        entries: dict[str, set[str] | None] = {}
        for identifier, uri in held:
            if uri in files:
                continue
            # An entry of a file: path#key. A path may hold a "#" of its own, a key never does.
            path, separator, _ = uri.rpartition("#")
            if path not in files:
                missing.add(identifier)
            elif separator:
                if path not in entries:
                    reading = read_file(Path(path), spec, settings=settings, projects=projects)
                    entries[path] = None if reading.error else {draft.uri for draft in reading.drafts}
                present = entries[path]
                if present is not None and uri not in present:
                    missing.add(identifier)
    return missing


def _resume(catalog: Catalog, open_store: Callable[[], Store], *, rebuild: bool, progress: Progress) -> int:
    if rebuild:
        catalog.memories.mark(catalog.memories.ids(states=[State.INDEXED]), State.PENDING)
    pending = len(catalog.memories.ids(states=[State.PENDING]))
    if pending:
        progress.begin("rebuild" if rebuild else "finish what was left", pending)
        index_pending(catalog, open_store(), advance=progress.advance)
    return 0 if rebuild else pending


def _seed_source(
    catalog: Catalog,
    spec: SourceSpec,
    writer: "_Writer",
    tally: Tally,
    report: SeedReport,
    *,
    settings: Settings,
    home: Path,
    projects: ProjectFinder,
    fresh: bool,
    exists: bool,
    now: datetime,
    progress: Progress,
) -> None:
    discovery = find_files(spec, home=home, settings=settings)
    tally.files = len(discovery.files)
    for skipped in discovery.skipped:
        tally.failed += 1
        report.problems.append(Problem(spec.name, str(skipped.path), skipped.reason))
    seen = {} if fresh or not exists else catalog.files.seen(spec.name)
    rules = rules_of(spec, settings.chunking)

    def unchanged(path: Path, size: int, modified_ns: int) -> bool:
        before = seen.get(str(path))
        return before is not None and (before.size, before.modified_ns, before.rules) == (
            size,
            modified_ns,
            rules,
        )

    progress.begin(spec.name, len(discovery.files))
    for path in discovery.files:
        progress.advance()
        reading = read_file(path, spec, settings=settings, projects=projects, unchanged=unchanged)
        if reading.unchanged:
            _count_unchanged(tally, seen[str(path)])
            continue
        judged = _note(reading, spec, tally, report, sizes=settings.chunking, now=now)
        if reading.error is not None:
            continue
        changes: list[Change] = ["new"] * len(judged)
        if exists:
            changes, redated = compare(catalog, judged)
            writer.batch.redated |= redated
        counts = _count(judged, changes, tally, report)
        for item, change in zip(judged, changes, strict=True):
            writer.add(item, change)
        writer.batch.files.append(
            SeenFile(spec.name, str(path), reading.size, reading.modified_ns, rules, counts)
        )
        writer.flush_if_full()


def rules_of(spec: SourceSpec, sizes: ChunkingSettings) -> str:
    """Return a hash of all that decides how a file of this source is read and judged."""
    parts = (spec.reader, spec.kind, spec.scope, spec.signal, sizes.max_chars, sizes.min_chars)
    return digest("rules", RULES_VERSION, *(str(part) for part in parts), length=12)


def _note(
    reading: Reading,
    spec: SourceSpec,
    tally: Tally,
    report: SeedReport,
    *,
    sizes: ChunkingSettings,
    now: datetime,
) -> list[Judged]:
    if reading.error is not None:
        tally.failed += 1
        report.problems.append(Problem(spec.name, str(reading.path), str(reading.error)))
        return []
    for warning in reading.warnings:
        report.problems.append(Problem(spec.name, str(reading.path), warning, "warning"))
    return [judge(draft, now=now, sizes=sizes, rule=spec.signal) for draft in reading.drafts]


def _count_unchanged(tally: Tally, before: SeenFile) -> None:
    for tier, count in before.tally.items():
        setattr(tally, tier, getattr(tally, tier) + count)
        tally.found += count
        tally.unchanged += count


def _count(
    judged: Sequence[Judged], changes: Sequence[Change], tally: Tally, report: SeedReport
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item, compared in zip(judged, changes, strict=True):
        memory = item.memory
        # A discarded draft is reported and not stored: it is as it was once its file has been seen.
        change = "unchanged" if memory.tier is Tier.DISCARD and compared == "new" else compared
        tally.found += 1
        setattr(tally, change, getattr(tally, change) + 1)
        setattr(tally, memory.tier.value, getattr(tally, memory.tier.value) + 1)
        counts[memory.tier.value] = counts.get(memory.tier.value, 0) + 1
        if change != "unchanged" and memory.tier is not Tier.DISCARD:
            report.characters += len(memory.text)
            report.chunks += len(item.chunks)
        report.decisions.append(
            Decision(
                memory.source,
                memory.uri,
                memory.title,
                memory.id,
                change,
                memory.tier,
                item.signal.reason,
                memory.kind.value,
            )
        )
    return counts


class _Writer:
    """Writes batches while the next one is being embedded in a second thread; order is kept."""

    def __init__(
        self, catalog: Catalog, open_store: Callable[[], Store], *, size: int, dry_run: bool
    ) -> None:
        self.catalog = catalog
        self.open_store = open_store
        self.size = size
        self.dry_run = dry_run
        self.batch = _Batch()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed")
        self._waiting: tuple[_Batch, list[Record], Future[None]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, item: Judged, change: Change) -> None:
        """Take a judged draft into the batch, if anything is to be done for it."""
        if change == "unchanged":
            return
        if item.memory.tier is Tier.DISCARD:
            if change == "changed":
                self.batch.faded.append(item.memory.id)
            return
        self.batch.judged.append(item)
        self.batch.characters += len(item.memory.indexed_text)

    def flush_if_full(self) -> None:
        """Hand the batch on when it is large enough."""
        if self.batch.full(self.size):
            self._hand_on()

    def flush(self) -> None:
        """Write everything that was added."""
        self._hand_on()
        self._finish_waiting()

    def _hand_on(self) -> None:
        batch, self.batch = self.batch, _Batch()
        if self.dry_run:
            return
        if not batch.judged:
            self._finish_waiting()
            self._settle(batch, [])
            return
        # The acknowledgement: durable and found by full text from here on.
        self.catalog.memories.accept([(item.memory, item.chunks) for item in batch.judged])
        records = [record_of(item.memory, item.chunks) for item in batch.judged]
        prepared = self._pool.submit(self.open_store().prepare, records)
        self._finish_waiting()
        self._waiting = (batch, records, prepared)

    def _finish_waiting(self) -> None:
        if self._waiting is None:
            return
        batch, records, prepared = self._waiting
        self._waiting = None
        prepared.result()
        self._settle(batch, records)

    def _settle(self, batch: _Batch, records: list[Record]) -> None:
        def finish() -> None:
            self.catalog.files.remember(batch.files)
            if batch.redated:
                self.catalog.memories.redate(batch.redated)
            self.catalog.memories.remove(batch.faded)

        if batch.faded:
            self.open_store().delete(batch.faded)
        if records:
            index(self.catalog, self.open_store(), records, finish=finish)
        elif batch.files or batch.redated or batch.faded:
            with self.catalog.database.write():
                finish()

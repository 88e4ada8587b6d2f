"""Bring the memory up to date with the sources on disk, resumably: read, classify, compare; then index."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.model import Memory, State
from ragmem.errors import BackendError, NotFoundError, StorageError, StoreBusyError
from ragmem.ports import Store
from ragmem.readers.commit_dates import CommitDates
from ragmem.readers.discover import Discovery
from ragmem.readers.documents.document_reader import DocumentReader
from ragmem.readers.failures import failure
from ragmem.readers.read_result import ReadResult
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft
from ragmem.services.ingestion.documents import (
    UnreadPictures,
    archive_missing_parts,
    missing_parts,
    missing_parts_message,
    parts_by_document,
)
from ragmem.services.ingestion.entity_names import learn_all
from ragmem.services.ingestion.index import index_pending, is_larger_part, pack
from ragmem.services.ingestion.ingest import Change, compare
from ragmem.services.ingestion.scope import assign_ids, project_finder, remember_projects
from ragmem.services.ingestion.source import RepositoryFinder, find_files, read_file
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.refusals import Refusal
from ragmem.services.projects.placement import named_projects, place_drafts
from ragmem.services.seeding.files import SeenFiles
from ragmem.services.seeding.report import Problem, SeedReport, Tally
from ragmem.services.seeding.transcripts import TranscriptSeeder
from ragmem.services.seeding.unread import find_unread
from ragmem.services.seeding.writer import Writer
from ragmem.storage.activity.storing_runs import storing_run
from ragmem.storage.fulltext.lexicon import merge_all
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile
from ragmem.storage.memories.memories import DEFERRED_SOURCES
from ragmem.storage.sql.batches import batches

BATCH = 200
"""Documents that are checked together: a check reads the places of all memories of their sources."""


@dataclass(slots=True)
class RemovedPages:
    """The documents of a run, whose removed pages are archived once their new content is stored."""

    catalog: Catalog
    open_store: Callable[[], Store]
    writer: Writer
    report: SeedReport
    _: KW_ONLY
    now: datetime
    _part_keys: dict[tuple[str, str], set[str]] = field(default_factory=dict, init=False)
    _files: list[SeenFile] = field(default_factory=list, init=False)

    def add(self, reading: ReadResult, file: SeenFile, *, is_known: bool) -> None:
        """Mark a file as read; a document that `is_known` only once its removed pages are archived."""
        held = parts_by_document(reading.drafts, reading.unread)
        self._part_keys |= held
        waiting = self._files if held and is_known else self.writer.batch.files
        waiting.append(file)
        if len(self._files) >= BATCH:
            self.archive()

    def archive(self) -> None:
        """Write what is left to write, and archive the removed pages of the documents since the last call."""
        self.writer.flush()
        if self.report.dry_run:
            messages = {
                key: missing_parts_message(len(ids))
                for key, ids in missing_parts(self.catalog, self._part_keys).items()
            }
        else:
            messages = archive_missing_parts(self.catalog, self.open_store, self._part_keys, now=self.now)
            if self._files:
                self.catalog.files.remember(self.writer.complete_files(self._files))
        self.report.shrunk += len(messages)
        for (source, path), line in messages.items():
            self.report.problems.append(Problem(source, path, line, "warning"))
        self._part_keys, self._files = {}, []


def seed(
    catalog: Catalog,
    open_store: Callable[[], Store],
    settings: Settings,
    *,
    home: Path,
    cwd: Path,
    sources: Sequence[str],
    dry_run: bool,
    explain: bool,
    rebuild: bool,
    now: datetime,
    progress: Progress,
    wait: bool = True,
    documents: DocumentReader | None = None,
    on_searchable: Callable[[SeedReport], None] | None = None,
    on_recent: Callable[[], None] | None = None,
) -> SeedReport:
    """Read every new or changed file of the sources, then index what waits, as far as its signal allows.

    All texts are read first, and full text finds each batch from its transaction on; `on_searchable` gets the
    report once all are, and `on_recent` is called as soon as the latest of many transcripts are. Then vectors
    and graph are made of what waits, also from earlier runs, the most valuable first; without `wait` a later
    run or the warm process makes them. Each batch is one transaction, so that the next run continues a killed
    one; a file counts as seen only together with its memories. A file that cannot be read is named in the
    report and never ends the run. With `dry_run` nothing is written and the report says what would be; with
    `explain` every file is read, so that the report covers unchanged ones too; with `rebuild` all vectors and
    the graph are made anew by the configured model, after all old vectors are removed. Raises NotFoundError
    for an unknown source name.
    """
    began = time.perf_counter()
    chosen = select_sources(settings, sources)
    report = SeedReport(dry_run=dry_run, quotes=catalog.redactor if explain else None)
    projects = project_finder(catalog, home=home)
    repositories = RepositoryFinder(home, settings)
    streams = TranscriptSeeder(
        catalog,
        settings,
        home=home,
        projects=projects,
        repositories=repositories,
        now=now,
        progress=progress,
        on_recent=on_recent,
    )
    specs = streams.seed(chosen, report, explain=explain, anew=rebuild)
    exists = catalog.exists()
    left: set[str] = set()
    if not dry_run:
        learn_all(catalog)
    if exists and not dry_run:
        left = _take_up(catalog, open_store, rebuild=rebuild, progress=progress)
    elif exists:
        report.resumed = len(catalog.memories.ids(states=[State.PENDING]))
    found = [
        (spec, find_files(spec, home=home, settings=settings, repositories=repositories)) for spec in specs
    ]
    tallies = {spec.name: Tally(spec.name) for spec, _ in found}
    report.tallies += tallies.values()
    # Sources that name projects come after those that define them.
    found.sort(key=lambda one: one[0].scope == "named")
    progress.begin("seed", sum(len(discovery.files) for _, discovery in found))
    writer = Writer(
        catalog,
        open_store,
        size=settings.seed.batch,
        dry_run=dry_run,
        progress=progress,
        refuse=report.refuse,
        recount=report.recount,
        approval=settings.approval.enabled,
    )
    with documents or DocumentReader(settings) as opened:
        removed = RemovedPages(catalog, open_store, writer, report, now=now)
        seeder = _FileSeeder(
            catalog,
            settings,
            writer=writer,
            report=report,
            projects=projects,
            documents=opened,
            removed=removed,
            commits=CommitDates(),
            exists=exists,
            orphans=catalog.archive.orphans() if exists else (),
            fresh=explain,
            rebuild=rebuild,
            now=now,
        )
        for spec, discovery in found:
            seeder.seed(spec, discovery, tallies[spec.name])
        removed.archive()
    report.note = writer.down
    if not dry_run:
        remember_projects(catalog, projects)
        if wait:
            catalog.names.mark_pending()
        waiting = catalog.memories.pending_ids()
        report.pending = len(waiting)
        report.searchable_seconds = time.perf_counter() - began
        if on_searchable is not None:
            on_searchable(report)
        _merge_words(catalog, report.pending)
        if wait and report.pending and not report.note:
            _index(catalog, open_store, size=settings.seed.batch, progress=progress, report=report)
        still = catalog.memories.pending_ids()
        report.resumed = len(left.difference(still))
        report.indexed = len(set(waiting).difference(still))
        pack(catalog, report.indexed)
        report.pending = len(still) if report.note or not wait else 0
        _log(catalog, report, now=now)
        report.run = storing_run(now) if report.would_change else ""
    _finish(
        catalog,
        settings,
        report,
        found=found,
        home=home,
        cwd=cwd,
        repositories=repositories,
        whole=not sources,
    )
    return report


def _finish(
    catalog: Catalog,
    settings: Settings,
    report: SeedReport,
    *,
    found: Sequence[tuple[SourceSpec, Discovery]],
    home: Path,
    cwd: Path,
    repositories: RepositoryFinder,
    whole: bool,
) -> None:
    """Add what waits, and what a seed of the whole home has not read."""
    if whole:
        seeded = [discovery for _, discovery in found]
        report.unread = find_unread(
            catalog, settings, home=home, cwd=cwd, repositories=repositories, seeded=seeded
        )
        report.cut = repositories.search.cut if repositories.has_searched else ""
    if report.streamed and catalog.exists():
        report.streamed.waiting = len(catalog.memories.pending_ids())


def _log(catalog: Catalog, report: SeedReport, *, now: datetime) -> None:
    if report.would_change or report.failed:
        detail = {
            "new": sum(tally.new for tally in report.tallies),
            "changed": sum(tally.changed for tally in report.tallies),
            "failed": report.failed,
        }
        catalog.log.write("seed", detail, now=now)


def select_sources(settings: Settings, names: Sequence[str]) -> list[SourceSpec]:
    """Return the enabled sources, or those named; raises NotFoundError with the known names."""
    for name in names:
        if name not in settings.sources:
            known = ", ".join(settings.sources)
            raise NotFoundError(f'there is no source "{name}"', hint=f"sources: {known}")
    if names:
        return [settings.sources[name] for name in dict.fromkeys(names)]
    return list(settings.enabled_sources())


def _take_up(
    catalog: Catalog, open_store: Callable[[], Store], *, rebuild: bool, progress: Progress
) -> set[str]:
    """Return what an earlier run left pending; with `rebuild`, take everything out of the store.

    All memories that were indexed are pending then.
    """
    if not rebuild:
        return set(catalog.memories.pending_ids(without=DEFERRED_SOURCES))
    left = set(catalog.memories.pending_ids())
    indexed = sorted(catalog.memories.ids(states=[State.INDEXED]))
    # All of them first: the next run after a kill puts them back, and none keeps vectors of a former model.
    catalog.memories.mark(indexed, State.PENDING)
    # Also those that a killed rebuild left in the store.
    present = sorted(open_store().memory_ids().union(indexed))
    progress.begin("take out", len(present))
    for batch in batches(present):
        open_store().delete(batch)
        progress.advance(len(batch))
    open_store().sweep()
    return left


def _index(
    catalog: Catalog, open_store: Callable[[], Store], *, size: int, progress: Progress, report: SeedReport
) -> None:
    """Index what is pending; where no vectors can be made, the report says why."""
    progress.begin("vectors", report.pending)
    rejected: list[Refusal] = []
    try:
        index_pending(catalog, open_store(), size=size, advance=progress.advance, refusals=rejected)
    except BackendError as error:
        report.note = error.full_message
    report.reject(rejected)


def _merge_words(catalog: Catalog, added: int) -> None:
    """Merge the segments of words that many writes have left, if this run added the larger part of a home.

    Before the vectors, whose models take the memory that this needs.
    """
    if is_larger_part(catalog, added):
        with suppress(StorageError, StoreBusyError), catalog.database.write() as connection:
            merge_all(connection)


@dataclass(slots=True)
class _FileSeeder:
    """Seeds the sources that are read file by file."""

    catalog: Catalog
    settings: Settings
    _: KW_ONLY
    writer: Writer
    report: SeedReport
    projects: ProjectFinder
    documents: DocumentReader
    removed: RemovedPages
    commits: CommitDates
    exists: bool
    orphans: Sequence[Memory]
    fresh: bool
    rebuild: bool
    now: datetime

    def seed(self, spec: SourceSpec, discovery: Discovery, tally: Tally) -> None:
        """Read the files of a source that are new or changed, and hand their memories to the writer."""
        catalog, report, writer = self.catalog, self.report, self.writer
        tally.files = len(discovery.files)
        report.skip(tally, discovery.skipped)
        named = named_projects(catalog, self.projects) if spec.scope == "named" else None
        fingerprint = named.fingerprint if named else ""
        pictures = UnreadPictures()
        seen = SeenFiles(
            catalog,
            spec,
            self.settings,
            anew=self.fresh or not self.exists,
            named=fingerprint,
            orphans=self.orphans,
        )
        report.lost += seen.mark_missing(discovery, dry_run=report.dry_run)

        for path in discovery.files:
            writer.batch.steps += 1
            reading = read_file(
                path,
                spec,
                settings=self.settings,
                projects=self.projects,
                unchanged=seen.is_unchanged,
                documents=self.documents,
                commits=self.commits,
            )
            if reading.unchanged:
                seen.count(path, tally, report)
                continue
            mover = None if report.dry_run else writer.flushed_store
            moving = place_drafts(catalog, reading.drafts, spec, named, open_store=mover, now=self.now)
            writer.down = writer.down or moving.note
            reading = replace(reading, drafts=tuple(assign_ids(catalog, moving.drafts)))
            try:
                judged = self._classify(reading, spec, tally, pictures)
            except Exception as error:  # noqa: BLE001 - one file never stops the others
                tally.failed += 1
                report.problems.append(Problem(spec.name, str(path), failure(error)))
                writer.batch.files.append(seen.failure_record(reading))
                continue
            if reading.error is not None:
                if reading.modified_ns:
                    writer.batch.files.append(seen.failure_record(reading))
                continue
            changes: list[Change] = ["new"] * len(judged)
            if self.exists:
                changes, redated = compare(
                    catalog,
                    judged,
                    leave_archived=True,
                    leave_pending=not self.rebuild,
                    moved=moving.moved,
                )
                writer.batch.redated |= redated
            counts = _count(judged, changes, tally, report)
            for item, change in zip(judged, changes, strict=True):
                writer.add(item, change, str(reading.path))
            # A file whose memories could not be moved is read again.
            if not moving.note:
                known = self.exists and seen.is_known(path)
                self.removed.add(reading, seen.record(reading, counts), is_known=known)
            writer.flush_if_full()
        report.problems += [Problem(spec.name, path, line, "warning") for path, line in pictures.lines()]

    def _classify(
        self, reading: ReadResult, spec: SourceSpec, tally: Tally, pictures: UnreadPictures
    ) -> list[ClassifiedMemory]:
        if pictures.add(reading):
            return []
        problems = self.report.problems
        if reading.error is not None:
            tally.failed += 1
            problems.append(Problem(spec.name, str(reading.path), reading.error.full_message))
            return []
        problems += [Problem(spec.name, str(reading.path), told, "warning") for told in reading.warnings]
        sizes, redactor = self.settings.chunking, self.catalog.redactor
        return [
            classify_draft(draft, now=self.now, sizes=sizes, rule=spec.signal, redactor=redactor)
            for draft in reading.drafts
        ]


def _count(
    judged: Sequence[ClassifiedMemory], changes: Sequence[Change], tally: Tally, report: SeedReport
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item, compared in zip(judged, changes, strict=True):
        memory = item.memory
        # A draft that is left out is reported and not stored: it is unchanged once its file has been seen.
        change: Change = "unchanged" if item.is_left_out and compared == "new" else compared
        report.count(tally, item, change)
        counts[memory.tier.value] = counts.get(memory.tier.value, 0) + 1
        report.decide(item, change)
    return counts

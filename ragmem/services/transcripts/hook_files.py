"""Store the files that hooks report: finished documents, reflections, summaries of sessions."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.model import EPISODES, State, Tier
from ragmem.domain.model.lifecycle import proposes
from ragmem.hooks.capture import FRESH_S
from ragmem.readers.commit_dates import SECONDS_IN_PASSING, CommitDates
from ragmem.readers.read_result import ReadResult
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft
from ragmem.services.ingestion.drafts import scope_of, source_of_file
from ragmem.services.ingestion.ingest import compare
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.scope import assign_ids, remember_projects
from ragmem.services.ingestion.source import find_files, read_file
from ragmem.services.projects.placement import named_projects, scope_drafts
from ragmem.storage.home.catalog import Catalog

DOCUMENT = "prd.md"
"""The name, in lower case, of a document that is stored wherever it is."""

SUMMARY_FRESH_S = 900
"""Seconds before and after the end of a session in which its summary may have been written."""

_DOCUMENTS, _SUMMARIES = "prds", "sessions"


def source_of_written_file(path: Path, *, settings: Settings, home: Path) -> list[tuple[Path, SourceSpec]]:
    """Return a written file with its source; nothing where no source wants it."""
    wanted = [
        spec
        for spec in settings.enabled_sources()
        if spec.reader == "reflections" or spec.name in (_DOCUMENTS, _SUMMARIES)
    ]
    for spec in wanted:
        for file in find_files(spec, home=home, settings=settings).files:
            if _is_same_file(file, path):
                return [(file, spec)]
    if path.name.lower() == DOCUMENT and os.path.isfile(path):  # noqa: PTH113 - never raises
        return [(path, source_of_file(path))]
    return []


def recent_files(at: float, *, ended: bool, settings: Settings, home: Path) -> list[tuple[Path, SourceSpec]]:
    """Return the reflections since a moment (seconds since 1970), and the summary of a session that ended."""
    found: list[tuple[Path, SourceSpec]] = []
    for spec in settings.enabled_sources():
        if spec.reader == "reflections":
            files = find_files(spec, home=home, settings=settings).files
            found += [(file, spec) for file in files if _mtime(file) >= at - FRESH_S]
        elif ended and spec.name == _SUMMARIES:
            dated = [(_mtime(file), file) for file in find_files(spec, home=home, settings=settings).files]
            near = [(moment, file) for moment, file in dated if abs(moment - at) <= SUMMARY_FRESH_S]
            found += [(file, spec) for _, file in sorted(near)[-1:]]
    return found


def store_files(
    catalog: Catalog,
    files: Sequence[tuple[Path, SourceSpec]],
    *,
    settings: Settings,
    projects: ProjectFinder,
    now: datetime,
) -> tuple[list[str], list[str]]:
    """Store what is new in files in one transaction; return the ids, and the errors of unreadable files.

    A memory gets the same id as from a seed, so that it is never stored twice. Vectors and graph follow.
    Raises StoreBusyError and StorageError.
    """
    problems: list[str] = []
    judged: list[ClassifiedMemory] = []
    commits = CommitDates(SECONDS_IN_PASSING)
    for path, spec in files:
        reading = read_file(path, spec, settings=settings, projects=projects, commits=commits)
        if reading.error is not None:
            problems.append(str(reading.error))
        judged += _classify(catalog, reading, spec, settings=settings, projects=projects, now=now)
    changes, redated = compare(catalog, judged, leave_archived=True, leave_pending=True)
    fresh = [
        item
        for item, change in zip(judged, changes, strict=True)
        if change in {"new", "changed"} and not item.is_left_out
    ]
    known = catalog.memories.states(item.memory.id for item in fresh)
    items = []
    for item in fresh:
        before = known.get(item.memory.id)
        memory = item.memory
        if memory.state is State.BUFFERED and before is not None and before.state is not State.BUFFERED:
            # The store has the former text until it is indexed again.
            memory = replace(memory, state=State.PENDING, tier=Tier.INGEST)
        items.append((memory, item.chunks))
    if items or redated:
        with catalog.database.write():
            remember_projects(catalog, projects)
            catalog.memories.redate(redated)
            if settings.approval.enabled:
                told = (memory for memory, _ in items if memory.source in EPISODES and proposes(memory))
                catalog.approvals.propose(told)
            catalog.memories.accept(items)
            catalog.log.write("hook", {"memories": len(items)}, now=now)
    return [memory.id for memory, _ in items], problems


def _classify(
    catalog: Catalog,
    reading: ReadResult,
    spec: SourceSpec,
    *,
    settings: Settings,
    projects: ProjectFinder,
    now: datetime,
) -> Iterator[ClassifiedMemory]:
    own = spec.name in settings.sources
    drafts = list(reading.drafts)
    if not own:
        scope = scope_of(reading.path, DraftOptions(), catalog=catalog, projects=projects)
        drafts = [replace(draft, scope=scope) for draft in drafts]
    if spec.scope == "named":
        drafts = scope_drafts(catalog, drafts, spec, named_projects(catalog, projects))
    for draft in assign_ids(catalog, drafts):
        yield classify_draft(
            draft,
            now=now,
            sizes=settings.chunking,
            rule=spec.signal,
            redactor=catalog.redactor,
        )


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one == other or one.samefile(other)
    except OSError:  # it is gone
        return False


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it is gone
        return 0.0

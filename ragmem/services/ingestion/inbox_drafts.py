"""Turn a write of the inbox into drafts: read it as a file or as a text, and find its scope."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ragmem.config.settings import Settings
from ragmem.domain.model import USER, Draft, Kind, Scope
from ragmem.domain.model.lifecycle import EntryType
from ragmem.errors import SourceError, UsageError
from ragmem.inbox.reader import Write
from ragmem.readers.commit_dates import CommitDates
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.drafts import SOURCE, find_or_create_project, plain_draft, source_of_file
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.sanitize import sanitize_text
from ragmem.services.ingestion.source import NANOSECONDS, datetime_of, read_drafts
from ragmem.storage.home.catalog import Catalog


def drafts_of(
    write: Write, *, catalog: Catalog, projects: ProjectFinder, settings: Settings, commits: CommitDates
) -> list[Draft]:
    """Return the drafts of a write, usually one; raises SourceError for invalid fields."""
    at, event_time, kind = draft_of_write(write)
    scope = _scope_of(write, catalog=catalog, projects=projects)
    fields = write.fields
    metadata = {**write.metadata}
    metadata |= {name: fields[name] for name in ("type", "session") if name in fields}
    options = DraftOptions(kind=kind, tags=tuple(write.tags), at=event_time)
    return [
        options.apply(
            replace(
                draft,
                event_time=draft.event_time or at,
                title=fields.get("title") or draft.title,
                metadata={**draft.metadata, **metadata},
            )
        )
        for draft in _read(write, scope, settings, commits)
    ]


def draft_of_write(write: Write) -> tuple[datetime, datetime | None, Kind | None]:
    """Return the time of a write, its event time and its kind (or None); raises SourceError if invalid."""
    fields = write.fields
    try:
        at = datetime.fromtimestamp(int(fields["at"]) // NANOSECONDS, UTC)
        event = _in_utc(datetime.fromisoformat(fields["event"])) if "event" in fields else None
        kind = Kind(fields["kind"]) if "kind" in fields else None
        int(fields.get("modified", 0))
        EntryType(fields.get("type", EntryType.NOTE))
    except (KeyError, ValueError, OverflowError, OSError) as error:
        raise SourceError(f"its header has an invalid field: {error}") from error
    return at, event, kind


def _in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC, which is the default zone; raises OverflowError before year 1."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _read(write: Write, scope: Scope, settings: Settings, commits: CommitDates) -> list[Draft]:
    """Return the text as drafts; if the reader of the file finds none, the plain text is kept."""
    text = write.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    file = write.fields.get("file", "")
    plain = plain_draft(text, scope=scope)
    if not file:
        source, uri = write.fields.get("source"), write.fields.get("uri")
        return [replace(plain, source=source or plain.source, uri=uri or plain.uri)]
    path = Path(show(Path(file)))
    drafts, _ = read_drafts(
        path,
        text,
        source_of_file(path),
        settings=settings,
        changed=lambda: _changed_file(path, int(write.fields.get("modified", 0)), commits),
        scope=scope,
    )
    if drafts and all(draft.text.strip() for draft in drafts):
        return [replace(draft, scope=scope) for draft in drafts]
    return [replace(plain, source=SOURCE, uri=str(path), title=path.name)]


def _changed_file(path: Path, modified_ns: int, commits: CommitDates) -> datetime:
    """Return when the file of a write was last changed; git is asked if it is unchanged since."""
    modified = datetime_of(modified_ns)
    try:
        is_same = path.stat().st_mtime_ns == modified_ns
    except (OSError, ValueError):  # it is gone
        is_same = False
    return commits.last_change(path, modified=modified) if is_same else modified


def _scope_of(write: Write, *, catalog: Catalog, projects: ProjectFinder) -> Scope:
    """Return the scope of a write: the project it names, else the one of the folder it was written in."""
    spec, name = (
        sanitize_text(write.fields.get(one, ""), redactor=catalog.redactor) for one in ("spec", "project")
    )
    root = write.fields.get("root", "")
    if name:
        try:
            return Scope(find_or_create_project(catalog, name), spec)
        except UsageError:
            # The name is ambiguous, and nobody can be asked: a separate project of this name leaks nothing
            # between them, and `--project` finds it.
            return Scope(name, spec)
    if root and not Path(root).is_dir():
        known = catalog.projects.at([show(Path(root))])
        return Scope(known or projects.project_with_root(Path(root)).id, spec)
    folder = write.fields.get("folder", "") or root
    identity = projects.find_known_project(Path(folder)) if folder else None
    return Scope(identity.id if identity else USER, spec)

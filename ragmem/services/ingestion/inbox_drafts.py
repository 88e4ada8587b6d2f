"""A write of the inbox becomes drafts: read as the file that it was, or as a text, and given its scope."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ragmem.config import Settings
from ragmem.domain.model import USER, Draft, Kind, Scope
from ragmem.domain.model.lifecycle import EntryType
from ragmem.errors import SourceError, UsageError
from ragmem.inbox.reading import Write
from ragmem.readers.commit_dates import CommitDates
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.drafts import SOURCE, plain_draft, project_named, source_of_file
from ragmem.services.ingestion.sanitize import sanitize_text
from ragmem.services.ingestion.source import NANOSECONDS, drafts_in, moment_of
from ragmem.storage.home.catalog import Catalog


def drafts_of(
    write: Write, *, catalog: Catalog, projects: ProjectFinder, settings: Settings, commits: CommitDates
) -> list[Draft]:
    """Return the drafts of a write, one as a rule; raises SourceError where it says what cannot be."""
    at, event_time, kind = draft_of_write(write)
    scope = _scope_of(write, catalog=catalog, projects=projects)
    fields = write.fields
    metadata = {**write.metadata}
    metadata |= {name: fields[name] for name in ("type", "session") if name in fields}
    return [
        replace(
            draft,
            kind=kind or draft.kind,
            tags=tuple(dict.fromkeys((*draft.tags, *write.tags))),
            event_time=event_time or draft.event_time or at,
            title=fields.get("title") or draft.title,
            metadata={**draft.metadata, **metadata},
        )
        for draft in _read(write, scope, settings, commits)
    ]


def draft_of_write(write: Write) -> tuple[datetime, datetime | None, Kind | None]:
    """Return when it was written, and what it says of event and kind; raises SourceError for nonsense."""
    fields = write.fields
    try:
        at = datetime.fromtimestamp(int(fields["at"]) // NANOSECONDS, UTC)
        event = _in_utc(datetime.fromisoformat(fields["event"])) if "event" in fields else None
        kind = Kind(fields["kind"]) if "kind" in fields else None
        int(fields.get("modified", 0))
        EntryType(fields.get("type", EntryType.NOTE))
    except (KeyError, ValueError, OverflowError, OSError) as error:
        raise SourceError(f"its head says what cannot be: {error}") from error
    return at, event, kind


def _in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC, as which one without a zone is taken; raises OverflowError before year 1."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _read(write: Write, scope: Scope, settings: Settings, commits: CommitDates) -> list[Draft]:
    """Return the text as drafts; whatever a reader cannot make of a file, its text is kept."""
    text = write.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    file = write.fields.get("file", "")
    plain = plain_draft(text, scope=scope)
    if not file:
        source, uri = write.fields.get("source"), write.fields.get("uri")
        return [replace(plain, source=source or plain.source, uri=uri or plain.uri)]
    path = Path(show(Path(file)))
    drafts, _ = drafts_in(
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
    """Return when the file of a write was last changed; its commits tell where it is as it was then."""
    modified = moment_of(modified_ns)
    try:
        is_same = path.stat().st_mtime_ns == modified_ns
    except (OSError, ValueError):  # it is gone
        is_same = False
    return commits.changed_at(path, modified=modified) if is_same else modified


def _scope_of(write: Write, *, catalog: Catalog, projects: ProjectFinder) -> Scope:
    """Return to whom a write belongs: whom it names, else the project in whose folder it was written."""
    spec, name = (
        sanitize_text(write.fields.get(one, ""), redactor=catalog.redactor) for one in ("spec", "project")
    )
    root = write.fields.get("root", "")
    if name:
        try:
            return Scope(project_named(catalog, name), spec)
        except UsageError:
            # Several are called so, and nobody is here to ask: a project of this name alone holds no secret
            # of one before the other, and `--project` finds it.
            return Scope(name, spec)
    if root and not Path(root).is_dir():
        known = catalog.projects.at([show(Path(root))])
        return Scope(known or projects.project_with_root(Path(root)).id, spec)
    folder = write.fields.get("folder", "") or root
    identity = projects.known_project_of(Path(folder)) if folder else None
    return Scope(identity.id if identity else USER, spec)

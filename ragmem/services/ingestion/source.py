"""Read a source file by file; an error in one file does not affect the others."""

import importlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragmem.config.settings import REPOSITORY, Settings, SourceSpec
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import SourceError
from ragmem.readers.commit_dates import CommitDates
from ragmem.readers.dates import Changed
from ragmem.readers.discover import FOLDER, Discovery, discover, is_any_named
from ragmem.readers.exclusions import Exclusions
from ragmem.readers.failures import failure
from ragmem.readers.fields import as_tags
from ragmem.readers.files import ReadError, Reason, read_text, show
from ragmem.readers.read_result import ReadResult
from ragmem.readers.roots import GIT
from ragmem.readers.scope import ProjectFinder

if TYPE_CHECKING:
    from ragmem.readers.documents.document_reader import DocumentReader
    from ragmem.readers.repositories import RepositorySearch

NANOSECONDS = 10**9

OWNER_FILES = "~$*"
"""Lock files of Office beside open documents: they have the document's suffix, and no text."""

Unchanged = Callable[[Path, int, int], bool]
"""Tells from path, size and modification time in nanoseconds whether a file is unchanged."""


class Reader(Protocol):
    """Turns the text of a file into drafts and warnings; never raises for any text.

    The reader NAME is the function `read` of the module `ragmem.readers.NAME`.
    """

    def __call__(
        self,
        path: Path,
        text: str,
        spec: SourceSpec,
        *,
        changed: Changed,
        scope: Scope,
        redactor: Redactor,
    ) -> tuple[list[Draft], list[str]]:
        """Read the text of a file."""


class RepositoryFinder:
    """Finds the repositories of a home once, when a source first names them."""

    def __init__(self, home: Path, settings: Settings) -> None:
        self._home = home
        self._settings = settings

    @cached_property
    def search(self) -> "RepositorySearch":
        """The repositories; see `find_repositories`."""
        from ragmem.readers.repositories import find_repositories  # noqa: PLC0415 - a question finds none

        streams = [spec for spec in self._settings.sources.values() if spec.reader == "transcripts"]
        globs = [glob for spec in streams for glob in spec.globs]
        return find_repositories(self._home, session_files=globs or None)

    @property
    def has_searched(self) -> bool:
        """Return whether a source has named repositories."""
        return "search" in self.__dict__

    def of(self, spec: SourceSpec) -> tuple[Path, ...]:
        """Return the repositories for a source that names them; none for any other source."""
        named = any(glob.startswith(REPOSITORY) for glob in spec.globs)
        return self.search.repositories if named else ()


def find_files(
    spec: SourceSpec,
    *,
    home: Path,
    settings: Settings,
    repositories: RepositoryFinder | None = None,
    most: int | None = None,
) -> Discovery:
    """Return the files of a source under the exclusions of the settings and of the project.

    Links outside of any project may lead to files in the home. Files that instruction files import are files
    of their source, unless another enabled source names them. Pass `repositories` to search for them once.
    `most` ends the search after this many entries of folders.
    """
    finder = repositories or RepositoryFinder(home, settings)
    discovery = _discover(
        spec, home=home, settings=settings, beyond=home, most=most, repositories=finder.of(spec)
    )
    if spec.reader != "instructions":
        return discovery
    from ragmem.readers.instructions import add_imports  # noqa: PLC0415 - nor has it files

    others = [one for one in settings.enabled_sources() if one.name != spec.name]

    def is_left_out(path: Path) -> bool:
        if any(is_any_named([path], one, home=home, repositories=finder.of(one)) for one in others):
            return True
        roots = [root for root in finder.of(spec) if path.is_relative_to(root)] or [path.parent]
        lists = [(root, (*settings.exclude, *spec.exclude)) for root in roots]
        return Exclusions([*lists, *_project_list(settings)], home=home).covers(path)

    return add_imports(
        discovery, spec, home=home, max_bytes=settings.seed.max_file_bytes, is_left_out=is_left_out
    )


def find_checkouts(
    spec: SourceSpec, *, home: Path, settings: Settings, repositories: RepositoryFinder
) -> list[Path]:
    """Return the repositories of a source whose globs end in `/.git`, sorted."""
    # The shipped list excludes `.git`, for the files in it.
    exclude = tuple(one for one in settings.exclude if one.rstrip("/") != GIT)
    found = discover(
        spec,
        home=home,
        exclude=exclude,
        rooted=dict(_project_list(settings)),
        beyond=home,
        repositories=repositories.of(spec),
    )
    folders = (one.path for one in found.skipped if one.reason == FOLDER)
    return sorted({path.parent for path in (*found.files, *folders) if path.name == GIT})


def files_of_folder(
    folder: Path, spec: SourceSpec, *, home: Path, settings: Settings, most: int | None = None
) -> Discovery:
    """Return all files of a folder, at any depth, under the same exclusions; no link leads out of it.

    `most` ends the search after this many entries.
    """
    # Glob characters in the folder's own name are literal.
    inside = replace(spec, base=folder, globs=("**/*",))
    return _discover(inside, home=home, settings=settings, most=most)


def _discover(
    spec: SourceSpec,
    *,
    home: Path,
    settings: Settings,
    beyond: Path | None = None,
    most: int | None = None,
    repositories: Sequence[Path] = (),
) -> Discovery:
    return discover(
        spec,
        home=home,
        exclude=(*settings.exclude, OWNER_FILES),
        rooted=dict(_project_list(settings)),
        beyond=beyond,
        most=most,
        repositories=repositories,
    )


def _project_list(settings: Settings) -> list[tuple[Path, tuple[str, ...]]]:
    return [(settings.project.root, settings.project.exclude)] if settings.project else []


def read_file(
    path: Path,
    spec: SourceSpec,
    *,
    settings: Settings,
    projects: ProjectFinder,
    unchanged: Unchanged | None = None,
    documents: "DocumentReader | None" = None,
    commits: CommitDates | None = None,
) -> ReadResult:
    """Read one file, which need not match the source's globs; errors are in the Reading.

    Pass `documents` to read several documents in one process. Without `commits` a file without a date gets
    its modification time, even if it is tracked.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        gone = isinstance(error, FileNotFoundError)
        problem = "there is no such file" if gone else (getattr(error, "strerror", "") or str(error)).lower()
        reason = Reason.VANISHED if gone else Reason.UNREADABLE
        return ReadResult(path, error=ReadError(path, reason, problem))
    if show(path) != str(path):
        return ReadResult(path, error=ReadError(path, Reason.NAME, "its name is not UTF-8"))
    size, modified_ns = status.st_size, status.st_mtime_ns
    if unchanged and unchanged(path, size, modified_ns):
        return ReadResult(path, size=size, modified_ns=modified_ns, unchanged=True)
    unread: list[str] = []

    @cache
    def changed() -> datetime:
        modified = datetime_of(modified_ns)
        return commits.last_change(path, modified=modified) if commits else modified

    try:
        scope = projects.scope_of(path, spec)
        if spec.reader == "documents":
            drafts, warnings, unread = _read_document(
                path, spec, settings=settings, changed=changed, scope=scope, documents=documents
            )
        else:
            text = read_text(path, max_bytes=settings.seed.max_file_bytes)
            drafts, warnings = read_drafts(path, text, spec, settings=settings, changed=changed, scope=scope)
    except SourceError as error:
        return ReadResult(path, error=error, size=size, modified_ns=modified_ns)
    except Exception as error:  # noqa: BLE001 - one file never stops the others
        failed = ReadError(path, Reason.FORMAT, failure(error))
        return ReadResult(path, error=failed, size=size, modified_ns=modified_ns)
    problem_of_all = None
    # An instruction file may do nothing but import others, which are read themselves.
    if not drafts and (warnings or spec.reader != "instructions"):
        problem_of_all = ReadError(path, Reason.FORMAT, warnings[0] if warnings else "it contains no text")
    return ReadResult(
        path,
        drafts=tuple(drafts),
        error=problem_of_all,
        warnings=tuple(warnings),
        unread=tuple(unread),
        size=size,
        modified_ns=modified_ns,
    )


def _read_document(
    path: Path,
    spec: SourceSpec,
    *,
    settings: Settings,
    changed: Changed,
    scope: Scope,
    documents: "DocumentReader | None",
) -> tuple[list[Draft], list[str], list[str]]:
    from ragmem.readers.documents.document_reader import DocumentReader  # noqa: PLC0415 - a question has no documents

    with DocumentReader(settings) if documents is None else nullcontext(documents) as reader:
        drafts, warnings, unread = reader.read(path, spec, changed=changed, scope=scope)
    return [_add_tags(draft, path, settings) for draft in drafts], warnings, unread


def read_drafts(
    path: Path, text: str, spec: SourceSpec, *, settings: Settings, changed: Changed, scope: Scope
) -> tuple[list[Draft], list[str]]:
    """Return the drafts in the text of a file, and warnings; never raises for any text."""
    # A document that arrives as text in the inbox, such as a CSV file, is read as text.
    name = "markdown" if spec.reader in {"documents", "transcripts", "checkpoints"} else spec.reader
    read: Reader = importlib.import_module(f"ragmem.readers.{name}").read
    drafts, warnings = read(path, text, spec, changed=changed, scope=scope, redactor=settings.redactor)
    return [_add_tags(draft, path, settings) for draft in drafts], warnings


def datetime_of(nanoseconds: int) -> datetime:
    """Return the datetime of a file system's time; 1970 for an invalid one."""
    try:
        return datetime.fromtimestamp(nanoseconds // NANOSECONDS, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)


def _add_tags(draft: Draft, path: Path, settings: Settings) -> Draft:
    """Return the draft with the tags that the project sets for files below its root."""
    project = settings.project
    if project and project.tags and path.is_relative_to(project.root):
        return replace(draft, tags=tuple(dict.fromkeys((*draft.tags, *as_tags(project.tags)))))
    return draft

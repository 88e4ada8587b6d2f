"""Turn a user's input (paths, or text on standard input) into drafts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.model import USER, Draft, Scope, content_hash, memory_id
from ragmem.domain.secrets.redaction import refuse_secret
from ragmem.errors import NotFoundError, SourceError, UsageError
from ragmem.frozen import dataclass
from ragmem.inbox import check_project_name
from ragmem.readers.commit_dates import CommitDates
from ragmem.readers.discover import BROKEN, FOLDER, FOREIGN_NAME, READ_ALREADY, Discovery, SkippedPath
from ragmem.readers.documents.suffixes import IN_FOLDERS, SAVE_AS, SUFFIX, is_document, is_mail
from ragmem.readers.failures import failure
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.documents import UnreadPictures
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.sanitize import sanitize_text
from ragmem.services.ingestion.scope import assign_ids, project_finder, resolve_project
from ragmem.services.ingestion.source import files_of_folder, read_file
from ragmem.services.processes.progress import Progress, Silent
from ragmem.storage.home.catalog import Catalog

if TYPE_CHECKING:
    from ragmem.readers.documents.document_reader import DocumentReader

SOURCE = "ingest"
"""The source of memories that were handed in rather than found by seed."""

TEXT_SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".mdc", ".adoc", ".org", ".mediawiki", ".wiki")
"""Files that are read from a folder; a file that is named explicitly is read whatever its suffix."""

READABLE_SUFFIXES = (*TEXT_SUFFIXES, *IN_FOLDERS)

_TYPES_TOLD = 5
_BEGINNING = 1024
_NAMES = frozenset(
    {"readme", "news", "changes", "changelog", "history", "notes", "todo", "install", "hacking"}
)
"""Names of notes without a suffix, beside those that have several words: programs have one."""

TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class DraftResult:
    """The drafts, and the projects found.

    `problems` has a line for each unreadable file, `warnings` one for each omission in readable files and
    for each skipped path of a folder; `unread` are the uris of unreadable parts of documents.
    """

    drafts: list[Draft]
    problems: list[str]
    warnings: list[str]
    projects: ProjectFinder
    unread: tuple[str, ...] = ()


def text_draft(
    raw: bytes,
    title: str,
    options: DraftOptions,
    *,
    catalog: Catalog,
    settings: Settings,
    projects: ProjectFinder,
    cwd: Path,
) -> Draft:
    """Return the draft of a text without a file; its identity is its content.

    Raises UsageError for a text that is empty, too long, or not UTF-8.
    """
    limit = settings.seed.max_file_bytes
    if len(raw) > limit:
        raise UsageError(
            f"standard input is longer than {limit:,} bytes",
            hint="raise max_file_mb in [seed] of config.toml",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8: byte {error.start} is invalid", hint="convert it: iconv -t utf-8"
        ) from error
    if "\0" in text:
        raise UsageError("standard input is not text: it has NUL bytes", hint="pass text")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise UsageError("standard input is empty", hint="git log -5 | ragmem ingest -")
    if not sanitize_text(text, redactor=catalog.redactor).strip():
        raise UsageError(
            "the text is empty without its private parts", hint="keep some text outside of the private tags"
        )
    scope = scope_of(cwd, options, catalog=catalog, projects=projects)
    draft = plain_draft(text, scope=scope)
    return options.apply(replace(draft, title=title or draft.title))


def plain_draft(text: str, *, scope: Scope) -> Draft:
    """Return the draft of a text without a file: its first line is the title, its content the identity."""
    first = next(line.strip("# \t") for line in text.splitlines() if line.strip())
    return Draft(
        source=SOURCE,
        uri=f"stdin:{content_hash(text)[:16]}",
        text=text,
        title=first[:TITLE_LENGTH],
        scope=scope,
    )


def drafts_of_paths(
    paths: Sequence[Path],
    options: DraftOptions,
    *,
    catalog: Catalog,
    settings: Settings,
    home: Path,
    cwd: Path,
    documents: "DocumentReader | None" = None,
    progress: Progress | None = None,
) -> DraftResult:
    """Return the drafts of files and folders, and one line for each unreadable file.

    A folder gives its text files and documents, at any depth, under the configured exclusions; pictures are
    read only if they are named. Raises NotFoundError for a path that does not exist.
    """
    from ragmem.readers.documents.document_reader import DocumentReader  # noqa: PLC0415 - the inbox has no documents

    progress = progress or Silent()
    projects = project_finder(catalog, home=home)
    drafts: list[Draft] = []
    problems: list[str] = []
    last_error: SourceError | None = None
    pictures = UnreadPictures()
    warnings: list[str] = []
    unread: list[str] = []
    commits = CommitDates()
    with documents or DocumentReader(settings) as opened:
        for given in paths:
            path = Path(cwd, given.expanduser())
            if not path.exists() and not path.is_symlink():
                raise NotFoundError(
                    f'there is no file "{given}"', hint="give a path, or - for standard input"
                )
            files, skipped = _files(path, settings=settings, home=home)
            warnings += skipped
            if len(files) > 1:
                progress.begin("read", len(files))
            for file, spec in files:
                progress.advance()
                reading = read_file(
                    file, spec, settings=settings, projects=projects, documents=opened, commits=commits
                )
                if reading.error is not None:
                    last_error = reading.error
                    if not pictures.add(reading):
                        problems.append(reading.error.full_message)
                    continue
                scope = scope_of(file, options, catalog=catalog, projects=projects)
                found = [options.apply(replace(draft, scope=scope)) for draft in reading.drafts]
                try:
                    empty = _new_and_empty(found, catalog)
                except Exception as error:  # noqa: BLE001 - one file never stops the others
                    problems.append(f'cannot read "{file}": {failure(error)}')
                    continue
                drafts += [draft for draft in found if draft.uri not in empty]
                warnings += [f"{file}: {warning}" for warning in reading.warnings]
                unread += reading.unread
                if empty:
                    warnings.append(f"{file}: the text is empty without its private parts")
    problems += [line for _, line in pictures.lines()]
    if len(paths) == 1 and not drafts and len(problems) == 1 and last_error is not None:
        raise last_error
    return DraftResult(drafts, problems, warnings, projects, tuple(unread))


def _new_and_empty(drafts: Sequence[Draft], catalog: Catalog) -> set[str]:
    """Return the uris of drafts that are empty without their private parts and replace no stored memory."""
    ids = {
        draft.id or memory_id(draft.source, draft.scope, draft.uri): draft.uri
        for draft in assign_ids(catalog, drafts)
        if not sanitize_text(draft.text, redactor=catalog.redactor).strip()
    }
    known = catalog.memories.states(ids) if ids and catalog.exists() else {}
    return {uri for key, uri in ids.items() if key not in known}


def _files(path: Path, *, settings: Settings, home: Path) -> tuple[list[tuple[Path, SourceSpec]], list[str]]:
    """Return the files of a path with how they are read, and a line for each that is skipped."""
    if not path.is_dir():
        return [(path, source_of_file(path))], []
    discovery = find_in_folder(path, settings=settings, home=home)
    files = readable_files(discovery)
    skipped = [f"skipped {show(one.path)}: {one.reason}" for one in discovery.skipped if _would_be_read(one)]
    if not files:
        known = f"supported files: {', '.join(READABLE_SUFFIXES)}"
        raise NotFoundError(
            f'the folder "{path}" contains no text files and no documents',
            hint="; ".join((*skipped[:1], known)),
        )
    skipped += _left_out(path, discovery, files)
    return [(file, replace(source_of_file(file), base=path)) for file in files], skipped


def _left_out(folder: Path, discovery: Discovery, files: Sequence[Path]) -> Iterator[str]:
    """Yield one line on the files of a folder that are of other types, the most frequent types first."""
    read = set(files)
    types = Counter(file.suffix.lower() or file.name for file in discovery.files if file not in read)
    if types:
        told = [f"{count:,} {name}" for name, count in types.most_common(_TYPES_TOLD)]
        told += ["..."] if len(types) > _TYPES_TOLD else []
        saved = [f"{name} as {SAVE_AS[name]}" for name in sorted(types) if name in SAVE_AS]
        save = f", or save {', '.join(saved)}" if saved else ""
        one = types.total() == 1
        were = "file of an unsupported type was" if one else "files of unsupported types were"
        yield (
            f"{show(folder)}: {types.total():,} {were} skipped ({', '.join(told)}); "
            f"name a file to read it{save}"
        )


def find_in_folder(path: Path, *, settings: Settings, home: Path, most: int | None = None) -> Discovery:
    """Return the contents of a given folder; `most` as in `files_of_folder`."""
    spec = SourceSpec(SOURCE, globs=(), base=path, scope="project")
    return files_of_folder(path, spec, home=home, settings=settings, most=most)


def readable_files(discovery: Discovery) -> list[Path]:
    """Return the texts and documents among the discovered files."""
    return [
        file
        for file in discovery.files
        if file.suffix.lower() in READABLE_SUFFIXES or is_mail(file) or _is_note(file)
    ]


def _is_note(path: Path) -> bool:
    """Return whether a file without a suffix is named like a note and begins like a text."""
    if SUFFIX.search(path.name) or not (" " in path.name.strip() or path.name.lower() in _NAMES):
        return False
    try:
        with path.open("rb") as file:
            return b"\0" not in file.read(_BEGINNING)
    except OSError:
        return True  # The reader says why it cannot be read.


def _would_be_read(one: SkippedPath) -> bool:
    """Return whether a skipped path could be read if it were an ordinary file or folder."""
    if one.reason in {FOLDER, READ_ALREADY}:
        return False
    if one.path.suffix.lower() in READABLE_SUFFIXES:
        return True
    return one.path.is_dir() if one.leads_out else one.reason not in {BROKEN, FOREIGN_NAME}


def source_of_file(path: Path) -> SourceSpec:
    """Return the source settings of a file, which say how it is read."""
    # `scope_of` decides about the project: reading a note must not make a project of its folder.
    spec = SourceSpec(SOURCE, globs=(), base=path, scope="user")
    if is_document(path) or is_mail(path):
        return replace(spec, reader="documents", signal="off")
    return replace(spec, reader="reflections") if path.suffix == ".jsonl" else spec


def scope_of(path: Path, options: DraftOptions, *, catalog: Catalog, projects: ProjectFinder) -> Scope:
    """Return the scope: the project in the options, else the project of a path, else the user.

    Raises UsageError for an ambiguous or invalid project name.
    """
    refuse_secret(options.spec, "name of the spec", redactor=catalog.redactor)
    if options.project:
        return Scope(find_or_create_project(catalog, options.project), options.spec)
    # A note outside of any project belongs to the person and should be found everywhere.
    identity = projects.find_known_project(path)
    return Scope(identity.id if identity else USER, options.spec)


def find_or_create_project(catalog: Catalog, name: str) -> str:
    """Return the id of a known project, or of a new one with this name.

    Raises UsageError for an ambiguous or invalid name.
    """
    if catalog.exists():
        catalog.prepare()
        try:
            return resolve_project(catalog, name)
        except NotFoundError as error:
            if "several" in str(error):
                raise
    check_project_name(name)
    refuse_secret(name, "name of the project", redactor=catalog.redactor)
    return name

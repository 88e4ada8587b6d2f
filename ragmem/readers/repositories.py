"""Find a person's repositories: where assistants have worked, and by `.git` in the home."""

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import orjson

from ragmem.assistants import load_assistants
from ragmem.assistants import session_files as all_session_files
from ragmem.config.settings import SourceSpec
from ragmem.domain.secrets.redaction import Redactor
from ragmem.frozen import dataclass
from ragmem.readers.discover import base_of, discover
from ragmem.readers.files import show
from ragmem.readers.git_folder import checkout_at
from ragmem.readers.roots import GIT, OTHER_MARKERS, candidates, marked_root
from ragmem.readers.slugs import resolve_slug, slug_of
from ragmem.readers.transcripts.detection import assistant_of, find_session_format
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.format import SQLITE
from ragmem.readers.transcripts.reader import HEAD_BYTES

MAX_DEPTH = 5
"""Folders below the home at which a `.git` is found: `~/go/src/github.com/sam/tideline` is that deep."""

MAX_FOLDERS = 20_000
"""Folders of the home to look into; a second's work on a local disk."""

MAX_SECONDS = 10.0
"""Seconds after which the search ends, on a slow disk."""

MAX_SESSIONS = 500
"""Transcripts whose beginning is read, the latest first."""

_PER_FOLDER = 3
"""Transcripts to read of a folder that an assistant keeps for one project."""

_HEAD_BYTES = 32 << 10
_PROJECTS = "projects"
_ENTER = os.R_OK | os.X_OK

_NO_REPOSITORIES = frozenset(
    ("node_modules", "bower_components", "site-packages", "__pycache__", "venv", "vendor", "cache", "caches")
)
_OF_THE_SYSTEM = frozenset(
    ("Library", "AppData", "Applications", "Music", "Movies", "Pictures", "Videos", "snap")
)
"""Folders at the top of a home in which nobody keeps repositories."""

_NOTES = frozenset(("notes", "zettelkasten", "journal", "vault", "basic-memory"))
"""Names of folders at the top of a home that hold notes."""

_OF_NOTES = frozenset((".obsidian", "logseq"))
"""Folders that programs for notes keep in a folder of notes."""

_OTHERS_FILES = frozenset(("CACHEDIR.TAG", "pyvenv.cfg"))
"""Files that mark a folder as a cache or as an environment of a program."""

_CWD = re.compile(
    rb'"(?:cwd|workdir|directory)"\s*:\s*("(?:[^"\\]|\\.)+")'
    rb'|\\n# Current Work(?:ing|space) Directory \(((?:[^"\\]|\\\\){1,1000})\) Files\\n'
)


@dataclass(frozen=True, slots=True)
class RepositorySearch:
    """The roots of repositories and the folders of notes, sorted.

    `cut` tells why there may be more of both; it is empty if all were found.
    """

    repositories: tuple[Path, ...] = ()
    notes: tuple[Path, ...] = ()
    cut: str = ""


def find_repositories(
    home: Path,
    *,
    session_files: Sequence[str] | None = None,
    max_folders: int = MAX_FOLDERS,
    max_seconds: float = MAX_SECONDS,
) -> RepositorySearch:
    """Return the roots of the repositories that transcripts name, and of those in the home.

    A transcript names the folder that its session was held in; the root is that of its project, or the folder
    itself where it has no marker and lies in the home. `session_files` are the globs of the transcripts; by
    default those of all assistants. In the home a folder with a `.git` is a root, up to `MAX_DEPTH` folders
    deep, and none is searched in there. Hidden folders, those of packages, caches and systems, and links are
    passed over, but for links at the top of the home. Folders of notes are those of Obsidian and Logseq, and
    those at the top of the home that are called so. All worktrees of a repository are its main folder, and
    the home is never a root. Never raises for any file.
    """
    deadline = time.monotonic() + max_seconds
    walk = _HomeWalk(home, max_folders, deadline)
    found = dict.fromkeys(walk.roots())
    for folder in working_folders(home, session_files=session_files, deadline=deadline):
        if (root := _root_of(folder, home)) is not None:
            found[root] = None
    return RepositorySearch(tuple(sorted(_unique(found, home))), tuple(sorted(walk.notes)), walk.cut)


def working_folders(
    home: Path, *, session_files: Sequence[str] | None = None, deadline: float | None = None
) -> list[Path]:
    """Return the absolute folders that transcripts and their folders name, sorted; they may be missing.

    `deadline` ends the search, as a value of `time.monotonic`.
    """
    if session_files is None:
        session_files = all_session_files()
    spec = SourceSpec(name="transcripts", globs=tuple(session_files), base=home)
    found: set[str] = set()
    bases = {base for glob in spec.globs if (base := base_of(glob, spec, home=home))}
    for path in _latest(discover(spec, home=home, beyond=home).files, bases):
        try:
            found.update(_named_folders(path))
        except (OSError, ValueError):
            continue  # Seed reports what it cannot read.
    known = {slug_of(folder).strip("-") for folder in found}
    for slug in _project_slugs(bases):
        if deadline is not None and time.monotonic() > deadline:
            break
        if slug not in known and (folder := resolve_slug(f"-{slug}", home)):
            found.add(str(folder))
    return sorted(Path(os.path.normpath(one)) for one in found if one.startswith("/") and "\0" not in one)


def _project_slugs(bases: Iterable[Path]) -> list[str]:
    """Return the names of the folders that Claude Code and Cursor keep for projects, without outer dashes."""
    names: set[str] = set()
    for base in bases:
        if base.name == _PROJECTS:
            with suppress(OSError), os.scandir(base) as entries:
                names.update(entry.name.strip("-") for entry in entries if entry.is_dir())
    return sorted(names - {""})


def _latest(paths: Iterable[Path], bases: set[Path]) -> list[Path]:
    """Return the transcripts to look into, the latest first; a project's own folder needs only a few."""
    of_projects = {base for base in bases if base.name in {_PROJECTS, "tmp"}}
    timed = sorted(((_modified_ns(path), path) for path in paths), reverse=True)
    chosen: list[Path] = []
    taken: dict[Path, int] = {}
    for _, path in timed:
        # Claude Code and Cursor keep a folder for each project, Gemini as well.
        own = next((one for one in path.parents if one.parent in of_projects), None)
        if own is not None:
            taken[own] = taken.get(own, 0) + 1
            if taken[own] > _PER_FOLDER:
                continue
        chosen.append(path)
    return chosen[:MAX_SESSIONS]


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _named_folders(path: Path) -> Iterator[str]:
    """Yield the working folders of a transcript, by its beginning or its path. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if b"\n" not in head:
            # Codex writes its instructions into the first record.
            head += file.read(HEAD_BYTES - _HEAD_BYTES)
    name = assistant_of(path, head) or ""
    if not name:
        return
    known = find_session_format(name)
    make = partial(ExchangeBuilder, name, redactor=Redactor())
    if head.startswith(SQLITE):
        for session in known.read_sessions(path, "", make, sidechains=True):
            yield session.builder.cwd
        return
    builder = make()
    known.reader(builder, path, sidechains=True)
    if builder.cwd:
        yield builder.cwd
    elif told := _CWD.search(head):
        yield str(orjson.loads(told[1] or b'"%s"' % told[2]))


def _root_of(folder: Path, home: Path) -> Path | None:
    """Return the root of the project that a session was held in; None for none.

    The folders of assistants are none, because their files are those of other sources.
    """
    root = _main_folder(Path(marked_root(str(folder), str(home)) or folder), home)
    inner = root.relative_to(home).parts if root.is_relative_to(home) else root.parts
    if home.is_relative_to(root) or _NO_REPOSITORIES.intersection(inner) or not os.access(root, _ENTER):
        return None
    if any(root.is_relative_to(home / one.folder) for one in load_assistants()) or not root.is_dir():
        return None
    if _has(root, GIT):
        return root
    is_hidden = any(part.startswith(".") for part in inner)
    is_marked = any(_has(root, marker) for marker in OTHER_MARKERS)
    in_home = bool(candidates(str(root), str(home))) and root.is_relative_to(home)
    return root if not is_hidden and (is_marked or in_home) else None


def _unique(roots: Iterable[Path], home: Path) -> Iterator[Path]:
    """Yield each repository once, by its main folder; one in the home has its name there."""
    by_place: dict[str, Path] = {}
    for root in sorted(roots, key=lambda one: (not one.is_relative_to(home), one.name != "main", one)):
        checkout = checkout_at(root) if (root / GIT).is_file() else None
        key = os.path.realpath(checkout.common if checkout else root / GIT)
        main = _main_folder(root, home)
        if main != home:
            by_place.setdefault(key, main)
    yield from by_place.values()


def _main_folder(root: Path, home: Path) -> Path:
    """Return the main folder of a worktree in the home; any other folder as it is."""
    checkout = checkout_at(root) if (root / GIT).is_file() else None
    # A `.git` file may name any folder; others may have written it.
    is_ours = checkout is not None and checkout.root.is_relative_to(home) and checkout.root.is_dir()
    return checkout.root if checkout is not None and is_ours else root


class _HomeWalk:
    """Looks for `.git` in the folders of a home, the nearest ones first."""

    def __init__(self, home: Path, folders: int, deadline: float) -> None:
        self._home = home
        self._folders = folders
        self._deadline = deadline
        self.cut = ""
        self.notes: list[Path] = []

    def roots(self) -> Iterator[Path]:
        level = [self._home]
        for depth in range(MAX_DEPTH + 1):
            following: list[Path] = []
            for folder in level:
                if self._is_spent():
                    return
                names, inside = self._look_into(folder, depth)
                if depth and (
                    _OF_NOTES.intersection(names) or (depth == 1 and folder.name.lower() in _NOTES)
                ):
                    self.notes.append(folder)
                if GIT in names and depth:
                    yield folder
                elif not _OTHERS_FILES.intersection(names):
                    following += inside
            level = following

    def _is_spent(self) -> bool:
        if self._folders <= 0:
            self.cut = "the home has more folders than are searched"
        elif time.monotonic() > self._deadline:
            self.cut = "the home's disk is too slow to search all folders"
        self._folders -= 1
        return bool(self.cut)

    def _look_into(self, folder: Path, depth: int) -> tuple[set[str], list[Path]]:
        """Return the names in a folder, and the folders to look into, sorted."""
        names: set[str] = set()
        inside = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if self._is_searched(entry, depth):
                        inside.append(entry.path)
        except OSError:
            pass  # What cannot be opened has no repositories for this person.
        return names, [Path(path) for path in sorted(inside)]

    def _is_searched(self, entry: os.DirEntry[str], depth: int) -> bool:
        name = entry.name
        if name.startswith(".") or name.lower() in _NO_REPOSITORIES or show(Path(name)) != name:
            return False
        if depth == 0 and name in _OF_THE_SYSTEM:
            return False
        try:
            if not entry.is_symlink():
                return entry.is_dir(follow_symlinks=False)
            # A link at the top of the home, such as ~/repos, is the person's own.
            return depth == 0 and entry.is_dir() and self._leads_away(entry.path)
        except OSError:
            return False

    def _leads_away(self, link: str) -> bool:
        target, home = os.path.realpath(link), os.path.realpath(self._home)
        return os.path.commonpath((target, home)) not in {target, home}


def _has(folder: Path, name: str) -> bool:
    return os.path.lexists(folder / name)

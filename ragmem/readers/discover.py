"""Globs become files: sorted, each once, safe from links that go in circles."""

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path

from ragmem.config import SourceSpec, expand_home
from ragmem.readers.exclusions import Exclusions
from ragmem.readers.files import show

_MAGIC = re.compile(r"[*?[]")
_ANY_FOLDERS = "**"

_SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that a glob named and that was not taken."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a source's globs found: absolute paths, sorted; both empty where nothing matched."""

    files: tuple[Path, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def discover(
    spec: SourceSpec,
    *,
    home: Path,
    exclude: Sequence[str] = (),
    rooted: Mapping[Path, Sequence[str]] | None = None,
) -> Discovery:
    """Return the files of a source.

    `exclude` is added to the source's own list; both count from the folder where a glob's wildcards begin.
    `rooted` are further lists, each for its own folder. What is excluded is not reported.

    `*` and `?` stay within a name, `**` is any number of folders, and no wildcard matches a leading dot, as
    in a shell. A link to a folder is followed once; a file with two names is taken once. Broken links, links
    in a circle, unreadable folders, folders and special files that match, and names that are no UTF-8 are
    skipped with a reason. Raises ConfigError for an exclusion that is no pattern.
    """
    found: dict[Path, None] = {}
    skipped: dict[Path, str] = {}
    for glob in spec.globs:
        base, parts = _split(glob, spec.base, home)
        lists = [(base, (*exclude, *spec.exclude)), *(rooted or {}).items()]
        walk = _Walk(Exclusions(lists, home=home), skipped)
        found.update(dict.fromkeys(walk.matches(base, parts)))
    files = _once(found, skipped)
    return Discovery(tuple(sorted(files)), tuple(Skipped(path, skipped[path]) for path in sorted(skipped)))


def _split(glob: str, base: Path, home: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the folder before the first wildcard, and the rest of the glob in parts."""
    path = base / expand_home(glob, home)
    parts = path.parts
    first = next((n for n, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    # `..` is taken out of the fixed part only, where it cannot depend on what a wildcard found.
    return Path(os.path.normpath(Path(*parts[:first]))), parts[first:]


def _once(found: Mapping[Path, None], skipped: dict[Path, str]) -> list[Path]:
    seen: set[tuple[int, int]] = set()
    files = []
    # Real names first, so that a file is known by its own name and not by a link to it.
    for path in sorted(found, key=lambda path: (path.is_symlink(), path)):
        reason = ""
        try:
            status = path.stat()
        except OSError as error:
            reason = _link_reason(error) if path.is_symlink() else (error.strerror or "unreadable").lower()
        else:
            reason = _file_reason(path, status.st_mode)
            if not reason:
                if (status.st_dev, status.st_ino) not in seen:
                    files.append(path)
                seen.add((status.st_dev, status.st_ino))
        if reason:
            skipped[path] = reason
    return files


def _file_reason(path: Path, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if not stat.S_ISREG(mode):
        return next((name for test, name in _SPECIAL if test(mode)), "not a regular file")
    if show(path) != str(path):
        return "its name is not UTF-8"
    return ""


def _link_reason(error: OSError) -> str:
    return "a link that leads in a circle" if error.errno == errno.ELOOP else "a broken link"


class _Walk:
    """One glob's way through the folders."""

    def __init__(self, exclusions: Exclusions, skipped: dict[Path, str]) -> None:
        self._exclusions = exclusions
        self._skipped = skipped
        self._seen: set[tuple[int, int, int]] = set()

    def matches(self, base: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        """Yield the paths that match; links to folders come after all real folders, each target once."""
        waiting = [(base, 0)]
        links: list[tuple[Path, int]] = []
        while waiting or links:
            linked = not waiting
            folder, position = links.pop(0) if linked else waiting.pop()
            if not self._enter(folder, position, linked=linked):
                continue
            for path, following, is_link in self._step(folder, parts, position):
                if following == len(parts):
                    yield path
                elif is_link:
                    links.append((path, following))
                else:
                    waiting.append((path, following))
            links.sort()

    def _enter(self, folder: Path, position: int, *, linked: bool) -> bool:
        try:
            status = folder.stat()
        except OSError as error:
            if folder.is_symlink():
                self._skipped[folder] = _link_reason(error)
            elif error.errno not in {errno.ENOENT, errno.ENOTDIR}:
                self._skipped[folder] = (error.strerror or "unreadable").lower()
            return False
        if not stat.S_ISDIR(status.st_mode):
            return False
        mark = (status.st_dev, status.st_ino, position)
        if mark in self._seen:
            if linked:
                circle = folder.parent.resolve().is_relative_to(folder.resolve())
                self._skipped[folder] = (
                    "a link that leads in a circle" if circle else "a link to a folder that was read already"
                )
            return False
        self._seen.add(mark)
        return True

    def _step(self, folder: Path, parts: tuple[str, ...], position: int) -> Iterator[tuple[Path, int, bool]]:
        """Yield (path, next position, is a link) of what one part of the glob matches in a folder."""
        part = parts[position]
        last = position + 1 == len(parts)
        if part == _ANY_FOLDERS:
            yield from self._step(folder, parts, position + 1)
            for entry in self._entries(folder):
                if not entry.name.startswith(".") and _is_folder(entry):
                    yield from self._pass(Path(entry.path), position, link=entry.is_symlink(), folder=True)
            return
        if not _MAGIC.search(part):
            path = folder / part
            if os.path.lexists(path):
                yield from self._pass(path, position + 1, link=False, folder=not last)
            return
        accepts = re.compile(translate(part)).match
        for entry in self._entries(folder):
            hidden = entry.name.startswith(".") and not part.startswith(".")
            if accepts(entry.name) and not hidden and (last or _is_folder(entry)):
                yield from self._pass(
                    Path(entry.path), position + 1, link=entry.is_symlink(), folder=not last
                )

    def _pass(
        self, path: Path, position: int, *, link: bool, folder: bool
    ) -> Iterator[tuple[Path, int, bool]]:
        if not self._exclusions.covers(path, folder=folder):
            yield path, position, link

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._skipped[folder] = (error.strerror or "unreadable").lower()
            return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Tell whether to go in; a link is judged by where it leads, or on arrival."""
    try:
        return entry.is_dir() or (entry.is_symlink() and not entry.is_file())
    except OSError:
        return True

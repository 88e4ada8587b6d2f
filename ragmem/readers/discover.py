"""Expand globs to files: sorted, each once, safe from links that lead in circles or out of their folder."""

import errno
import os
import re
import stat
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fnmatch import translate
from itertools import islice, takewhile
from pathlib import Path

from ragmem.config.places import expand_home
from ragmem.config.settings import REPOSITORY, SourceSpec
from ragmem.patterns import lazy
from ragmem.readers.exclusions import Exclusions
from ragmem.readers.files import show
from ragmem.readers.links import Links
from ragmem.readers.roots import GIT

_MAGIC = lazy(r"[*?[]")
_ANY_FOLDERS = "**"
_OF_REPOSITORY = f"{REPOSITORY}/"

FOLDER = "a folder; a glob that ends in /**/*.md finds the files in it"
READ_ALREADY = "a link to a folder that was read already"
BROKEN = "a broken link"
FOREIGN_NAME = "its name is not UTF-8"

_SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A path that matched a glob and was skipped; `leads_out` for a link to another place."""

    path: Path
    reason: str
    leads_out: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files of a source's globs as absolute paths, sorted; both are empty where nothing matched.

    `cut` means that the search reached its limit, so that there may be more files.
    """

    files: tuple[Path, ...] = ()
    skipped: tuple[SkippedPath, ...] = ()
    cut: bool = False


def discover(
    spec: SourceSpec,
    *,
    home: Path,
    exclude: Sequence[str] = (),
    rooted: Mapping[Path, Sequence[str]] | None = None,
    beyond: Path | None = None,
    most: int | None = None,
    repositories: Sequence[Path] = (),
) -> Discovery:
    """Return the files of a source; a glob that begins with `{repository}/` is searched in each of them.

    `exclude` is added to the source's own list; both are relative to the folder where a glob's wildcards
    begin. `rooted` are further lists, each for its own folder. Excluded files are not reported.

    `*` and `?` stay within a name, `**` is any number of folders, and no wildcard matches a leading dot, as
    in a shell. A link to a folder is followed once; a file with two names is taken once. Broken links, links
    in a circle, unreadable folders, folders and special files that match, and names that are not UTF-8 are
    skipped with a reason. So is a link that leads out of its folder, which is where the glob's wildcards
    begin, or the project in there. Outside of projects, a link may lead into `beyond`. A glob without
    wildcards names its file whatever it is. No link leads out of a repository. See `links`.

    `most` limits the search to so many entries of folders. Raises ConfigError for an invalid exclusion.
    """
    found: dict[Path, None] = {}
    skipped: dict[Path, str] = {}
    outward: set[Path] = set()
    budget = _Budget(most)

    def search(base: Path, parts: tuple[str, ...], links: Links | None, *, repository: bool) -> None:
        lists = [(base, (*exclude, *spec.exclude)), *(rooted or {}).items()]
        walk = _Walk(Exclusions(lists, home=home), skipped, links=links, outward=outward, budget=budget)
        walk.in_repository = repository
        found.update(dict.fromkeys(walk.matches(base, parts)))

    inside = [Path(inner).parts for glob in spec.globs if (inner := _in_repository(glob))]
    for glob in spec.globs:
        if not _in_repository(glob):
            base, parts = _split(glob, spec.base, home)
            links = Links(base, home=home, beyond=beyond) if _MAGIC.search(parts[0]) else None
            search(base, parts, links, repository=False)
    for root in repositories if inside else ():
        likely = [parts for parts in inside if _may_match(str(root), parts)]
        bound = Links(root, home=home) if likely else None
        for parts in likely:
            search(root, parts, bound, repository=True)
    files = _unique_files(found, skipped)
    folders = [path for path, reason in skipped.items() if reason == FOLDER]
    names = sorted(map(str, files)) if folders else []
    for folder in folders:
        # Some rules are a file in one repository and a folder in the next, so that two globs name them.
        beginning = f"{folder}{os.sep}"
        at = bisect_left(names, beginning)
        if at < len(names) and names[at].startswith(beginning):
            del skipped[folder]
    left = tuple(SkippedPath(path, skipped[path], path in outward) for path in sorted(skipped))
    return Discovery(tuple(sorted(files)), left, budget.spent)


def base_of(glob: str, spec: SourceSpec, *, home: Path) -> Path | None:
    """Return the folder where the wildcards of a source's glob begin; None for one of all repositories."""
    return None if _in_repository(glob) else _split(glob, spec.base, home)[0]


def is_any_named(
    paths: Iterable[Path], spec: SourceSpec, *, home: Path, repositories: Sequence[Path] = ()
) -> bool:
    """Return whether a source's globs match one of some paths, without a search; exclusions are ignored.

    A folder above a path with a `.git` counts as a repository, besides those that are given.
    """
    by_folder = defaultdict[Path, list[str]](list)
    for path in paths:
        by_folder[path.parent].append(path.name)
    above = set(by_folder).union(*(folder.parents for folder in by_folder))
    roots = [one for one in above if one in repositories or os.path.lexists(one / GIT)]
    for glob in spec.globs:
        if inner := _in_repository(glob):
            parts, bases = Path(inner).parts, roots
        else:
            base, parts = _split(glob, spec.base, home)
            bases = [base] if base in above else []
        for base in bases:
            for folder, names in by_folder.items():
                if folder.is_relative_to(base):
                    inside = folder.relative_to(base).parts
                    if any(_accepts(parts, (*inside, name)) for name in names):
                        return True
    return False


def _in_repository(glob: str) -> str:
    """Return the rest of a glob that begins with the placeholder; empty for another glob."""
    return glob.removeprefix(_OF_REPOSITORY) if glob.startswith(_OF_REPOSITORY) else ""


def _may_match(folder: str, parts: Sequence[str]) -> bool:
    """Return cheaply whether a glob may match anything below a folder; most repositories have nothing."""
    fixed = [*takewhile(lambda part: not _MAGIC.search(part), parts)]
    folder = "/".join((folder, *fixed))
    rest = parts[len(fixed) :]
    if not rest or rest[0] == _ANY_FOLDERS or not os.path.lexists(folder):
        return os.path.lexists(folder)
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names, thousands of times
    except NotADirectoryError:
        return False
    except OSError:
        return True  # The walk says why it cannot be read.
    accepts = re.compile(translate(rest[0])).match
    return any(accepts(name) and (not rest[1:] or _may_match(f"{folder}/{name}", rest[1:])) for name in names)


def _accepts(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not parts or not names:
        return not parts and not names
    part, name = parts[0], names[0]
    if part == _ANY_FOLDERS:
        inside = len(names) > 1 and not name.startswith(".") and _accepts(parts, names[1:])
        return _accepts(parts[1:], names) or inside
    hidden = name.startswith(".") and not part.startswith(".")
    is_same = not hidden and bool(re.match(translate(part), name)) if _MAGIC.search(part) else part == name
    return is_same and _accepts(parts[1:], names[1:])


def _split(glob: str, base: Path, home: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the folder before the first wildcard, and the rest of the glob in parts."""
    path = base / expand_home(glob, home)
    parts = path.parts
    first = next((n for n, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    # `..` is resolved in the fixed part only, where it cannot depend on a wildcard.
    return Path(os.path.normpath(Path(*parts[:first]))), parts[first:]


def _unique_files(found: Mapping[Path, None], skipped: dict[Path, str]) -> list[Path]:
    seen: set[tuple[int, int]] = set()
    files = []
    # Real names first, so that a file has its own name and not that of a link.
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
            # A folder that could not be read keeps that reason.
            skipped.setdefault(path, reason)
    return files


def _file_reason(path: Path, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return FOLDER
    if not stat.S_ISREG(mode):
        return next((name for test, name in _SPECIAL if test(mode)), "not a regular file")
    if show(path) != str(path):
        return FOREIGN_NAME
    return ""


def _link_reason(error: OSError) -> str:
    return "a link that leads in a circle" if error.errno == errno.ELOOP else BROKEN


class _Budget:
    """The number of folder entries that may still be read; None is no limit."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self.spent = False

    def take(self, entries: Iterator[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
        if self._left is None:
            return list(entries)
        taken = list(islice(entries, self._left))
        self._left -= len(taken)
        self.spent = self.spent or next(entries, None) is not None
        return taken


@dataclass(slots=True)
class _Walk:
    """The walk of one glob through the folders."""

    exclusions: Exclusions
    skipped: dict[Path, str]
    _: KW_ONLY
    links: Links | None
    outward: set[Path]
    budget: _Budget
    in_repository: bool = False
    """Whether folders that are links out are passed over in silence: repositories have many."""
    _seen: set[tuple[int, int, int]] = field(default_factory=set, init=False)

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
                self.skipped[folder] = _link_reason(error)
            elif error.errno not in {errno.ENOENT, errno.ENOTDIR}:
                self.skipped[folder] = (error.strerror or "unreadable").lower()
            return False
        if not stat.S_ISDIR(status.st_mode):
            return False
        mark = (status.st_dev, status.st_ino, position)
        if mark in self._seen:
            if linked:
                circle = folder.parent.resolve().is_relative_to(folder.resolve())
                self.skipped[folder] = "a link that leads in a circle" if circle else READ_ALREADY
            return False
        self._seen.add(mark)
        return True

    def _step(self, folder: Path, parts: tuple[str, ...], position: int) -> Iterator[tuple[Path, int, bool]]:
        """Yield (path, next position, is a link) for the matches of one part of the glob in a folder."""
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
                yield from self._pass(path, position + 1, link=path.is_symlink(), folder=not last)
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
        if self.exclusions.covers(path, folder=folder):
            return
        if link and self.links is not None and (where := self.links.leads_out(path)):
            if not (folder and self.in_repository):
                self.skipped[path] = where
                self.outward.add(path)
            return
        yield path, position, link

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(self.budget.take(entries), key=lambda entry: entry.name)
        except OSError as error:
            self.skipped[folder] = (error.strerror or "unreadable").lower()
            return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether to enter an entry; a link is judged by its target, or on arrival."""
    try:
        return entry.is_dir() or (entry.is_symlink() and not entry.is_file())
    except OSError:
        return True

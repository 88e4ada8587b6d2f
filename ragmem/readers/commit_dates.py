"""Dates of the last commits of files: a clone or a copy gives all files the time of the copying."""

import hashlib
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ragmem.domain.retrieval.whole_dates import FIRST_YEAR, TOMORROW
from ragmem.patterns import lazy
from ragmem.readers.git import output_of
from ragmem.readers.git_folder import checkout_at

SECONDS = 5.0
"""Seconds that git may take for all files of one repository; files that are left then have no date."""

SECONDS_IN_PASSING = 0.5
"""The same for files that come one by one, where a question may wait for them."""

FEW = 8
"""Files of a repository that are looked up one by one; for more, one walk through the history is cheaper."""

MOST_COMMITS = 50_000
"""Maximum number of commits in a walk, the newest ones."""

MOST_BYTES = 32_000_000
"""A larger file is not compared with its commit, and keeps its modification time."""

_FIRST_LISTED = 1_000
_FIRST_BATCH, _LARGEST_BATCH = 250, 2_000
_FILE_MODES = frozenset({b"100644", b"100755"})
_COMMIT = lazy(rb"([0-9a-f]{40,64}) (-?\d{1,18})")


class CommitDates:
    """The dates of last commits; each repository is walked once, newest commits first."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._roots: dict[Path, Path | None] = {}
        self._histories: dict[Path, _History] = {}

    def last_change(self, path: Path, *, modified: datetime) -> datetime:
        """Return the author's date of the last commit that touched a file, else `modified`. Never raises.

        The date is for a file as it was committed, apart from line ends. A file that has changed since or was
        never committed has the time `modified`, as has one for which git does not answer in time or which a
        filter of .gitattributes rewrites. Where the last commit is unknown, because the history is cut or too
        long, the oldest known commit gives the minimum age of the file.
        """
        try:
            real = Path(os.path.realpath(path))
            root = self._root(real.parent)
            if root is None:
                return modified
            if root not in self._histories:
                self._histories[root] = _History(root, self._seconds)
            found, is_known = self._histories[root].last_change(real.relative_to(root).as_posix(), real)
            moment = datetime.fromtimestamp(found, tz=UTC)
        except (LookupError, OSError, ValueError, OverflowError):
            return modified
        # A clock may be wrong: no note is older than home computers, and none is from the future.
        if moment.year < FIRST_YEAR or moment > datetime.now(UTC) + TOMORROW:
            return modified
        return moment if is_known else min(moment, modified)

    def _root(self, folder: Path) -> Path | None:
        if folder not in self._roots:
            above = folder.parent
            is_root = os.path.lexists(folder / ".git")
            self._roots[folder] = folder if is_root else None if above == folder else self._root(above)
        return self._roots[folder]


class _History:
    """The commits of one repository that were read so far."""

    def __init__(self, root: Path, seconds: float) -> None:
        self._root = root
        self._seconds = self._left = seconds
        self._asked = 0
        self._blobs: dict[str, bytes] | None = None
        self._dates: dict[str, tuple[int, bool]] = {}
        self._walk: Iterator[None] | None = None
        self._oldest: int | None = None
        self._is_whole = False
        """Whether the walk has come to the first commit."""
        checkout = checkout_at(root)
        shallow = checkout.common / "shallow" if checkout and checkout.is_shallow else None
        self._cuts = frozenset(shallow.read_bytes().split() if shallow else ())
        """The commits where a shallow clone was cut: they seem to add every file."""

    def last_change(self, path: str, file: Path) -> tuple[int, bool]:
        """Return the time of the last commit that touched a file, and whether it is certain.

        Raises LookupError where no commit is known, and OSError.
        """
        self._asked += 1
        blob = self._blob(path)
        if not _has_content(file, blob):
            raise LookupError(f"{path} has changed since the last commit")
        if self._asked <= FEW and self._left > self._seconds / 2:
            found = self._last_commit(path)
            if found is not None:
                return found
        return self._find_by_walk(path)

    def _blob(self, path: str) -> bytes:
        if self._asked <= FEW and self._blobs is None:
            return dict(_entries(self._ask("ls-tree", "-z", "HEAD", "--", f":(literal){path}")))[path]
        return self._all_blobs()[path]

    def _all_blobs(self) -> dict[str, bytes]:
        if self._blobs is None:
            self._blobs = {}
            self._blobs = dict(_entries(self._ask("ls-tree", "-r", "-z", "HEAD")))
        return self._blobs

    def _last_commit(self, path: str) -> tuple[int, bool] | None:
        """Return the last commit of one file; None where git does not find it in half of the time."""
        try:
            output = self._ask(
                "rev-list", "-1", "--format=%H %at", "HEAD", "--", f":(literal){path}", share=0.5
            )
        except LookupError:
            return None
        found = next((match for line in output.splitlines() if (match := _COMMIT.fullmatch(line))), None)
        return (int(found[2]), found[1] not in self._cuts) if found else None

    def _find_by_walk(self, path: str) -> tuple[int, bool]:
        if self._walk is None:
            self._all_blobs()
            self._walk = self._walk_history()
        while path not in self._dates:
            try:
                next(self._walk)
            except StopIteration:
                break
        if path not in self._dates and self._is_whole and (found := self._last_commit(path)):
            # The walk passes over merges, and a merge alone may have brought the file, as of a subtree.
            self._dates[path] = found
        if path in self._dates:
            return self._dates[path]
        if self._oldest is None:
            raise LookupError(f"no commit is known that has {path}")
        return self._oldest, False

    def _walk_history(self) -> Iterator[None]:
        """Record the dates of one batch of commits after another."""
        wanted = ("-r", "-z", "--root", "--no-renames", "--name-only", "--format=%H %at")
        done, size = 0, _FIRST_BATCH
        try:
            # The newest commits are listed first; all of a long history may take too long.
            for most in (min(_FIRST_LISTED, MOST_COMMITS), MOST_COMMITS):
                listed = self._ask("rev-list", "--no-merges", f"--max-count={most}", "HEAD", "--").split()
                while done < len(listed):
                    batch = listed[done : done + size]
                    self._note(self._ask("diff-tree", "--stdin", *wanted, given=b"\n".join(batch) + b"\n"))
                    done, size = done + len(batch), min(2 * size, _LARGEST_BATCH)
                    yield
                if len(listed) < most:
                    self._is_whole = True
                    return
        except LookupError:
            return

    def _note(self, told: bytes) -> None:
        seconds, is_known = 0, False
        for raw in told.split(b"\0"):
            field = raw.removeprefix(b"\n")
            if commit := _COMMIT.fullmatch(field):
                seconds, is_known = int(commit[2]), commit[1] not in self._cuts
                self._oldest = seconds
            elif (path := os.fsdecode(field)) in (self._blobs or ()):
                self._dates.setdefault(path, (seconds, is_known))

    def _ask(self, *arguments: str, given: bytes | None = None, share: float = 1.0) -> bytes:
        """Return the output of git within a share of the time left; raises LookupError where it fails."""
        if self._left <= 0:
            raise LookupError("the time is up")
        began = time.monotonic()
        output = output_of(self._root, *arguments, timeout=share * self._left, given=given)
        self._left -= time.monotonic() - began
        if output is None:
            raise LookupError("git does not answer")
        return output


def _entries(told: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield path and blob of the files in a listing of `git ls-tree -z`."""
    for line in told.split(b"\0"):
        head, tab, name = line.partition(b"\t")
        if tab and (fields := head.split())[0] in _FILE_MODES:
            yield os.fsdecode(name), fields[2]


def _has_content(file: Path, blob: bytes) -> bool:
    """Return whether a file has the content of a blob, as git hashes it."""
    if file.stat().st_size > MOST_BYTES:
        return False
    content = file.read_bytes()
    if _hash_file(content, blob) == blob:
        return True
    return b"\r\n" in content and _hash_file(content.replace(b"\r\n", b"\n"), blob) == blob


def _hash_file(content: bytes, blob: bytes) -> bytes:
    made = hashlib.sha1(usedforsecurity=False) if len(blob) == 40 else hashlib.sha256()
    made.update(b"blob %d\0" % len(content) + content)
    return made.hexdigest().encode()

"""When a tracked file was last changed: a clone or a copy gives all its files the time of the copying."""

import hashlib
import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ragmem.domain.retrieval.whole_dates import FIRST_YEAR, TOMORROW
from ragmem.readers.git import output_of
from ragmem.readers.git_folder import checkout_at

SECONDS = 5.0
"""Seconds that git may take for all files of one repository; what is not known by then has no date."""

SECONDS_IN_PASSING = 0.5
"""The same where files come one by one, and a question may wait until they are taken in."""

FEW = 8
"""Files of a repository that are asked for one by one; with more, one walk through the history is cheaper."""

MOST_COMMITS = 50_000
"""Commits of a walk, the newest."""

MOST_BYTES = 32_000_000
"""A larger file is not compared with what was committed, and keeps its time of modification."""

_FIRST_LISTED = 1_000
_FIRST_BATCH, _LARGEST_BATCH = 250, 2_000
_FILE_MODES = frozenset({b"100644", b"100755"})
_COMMIT = re.compile(rb"([0-9a-f]{40,64}) (-?\d{1,18})")


class CommitDates:
    """Tells when files were last changed; each repository is walked once, newest commits first."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._roots: dict[Path, Path | None] = {}
        self._histories: dict[Path, _History] = {}

    def changed_at(self, path: Path, *, modified: datetime) -> datetime:
        """Return the author's date of the last commit that touched a file, else `modified`. Never raises.

        That is for a file that is as it was committed, be it with other line ends. One that has changed
        since, or that no commit has, was changed when it was `modified`; and so was one of which git does not
        answer in time, or that a filter of .gitattributes writes in another way. Where the last commit is not
        known, because the history was cut or is too long, the oldest one that is known tells how old the file
        is at least.
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
        # Nobody wrote a note before there were computers at home, and a clock may be wrong.
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
    """The commits of one repository, as far as they were looked at."""

    def __init__(self, root: Path, seconds: float) -> None:
        self._root = root
        self._seconds = self._left = seconds
        self._asked = 0
        self._blobs: dict[str, bytes] | None = None
        self._dates: dict[str, tuple[int, bool]] = {}
        self._walk: Iterator[None] | None = None
        self._oldest: int | None = None
        checkout = checkout_at(root)
        shallow = checkout.common / "shallow" if checkout and checkout.is_shallow else None
        self._cuts = frozenset(shallow.read_bytes().split() if shallow else ())
        """The commits where a shallow clone was cut: they seem to have made every file."""

    def last_change(self, path: str, file: Path) -> tuple[int, bool]:
        """Return the seconds of the last commit that touched a file, and whether it is known to be that one.

        Raises LookupError where there is none to tell of, and OSError.
        """
        self._asked += 1
        blob = self._blob(path)
        if not _has(file, blob):
            raise LookupError(f"{path} has changed since the last commit")
        if self._asked <= FEW and self._left > self._seconds / 2:
            told = self._last_commit(path)
            if told is not None:
                return told
        return self._of_many(path)

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
        """Return the last change of one file; None where git takes half of the time and does not find it."""
        try:
            told = self._ask(
                "rev-list", "-1", "--format=%H %at", "HEAD", "--", f":(literal){path}", share=0.5
            )
        except LookupError:
            return None
        found = next((match for line in told.splitlines() if (match := _COMMIT.fullmatch(line))), None)
        return (int(found[2]), found[1] not in self._cuts) if found else None

    def _of_many(self, path: str) -> tuple[int, bool]:
        if self._walk is None:
            self._all_blobs()
            self._walk = self._walk_history()
        while path not in self._dates:
            try:
                next(self._walk)
            except StopIteration:
                break
        if path in self._dates:
            return self._dates[path]
        if self._oldest is None:
            raise LookupError(f"no commit is known that has {path}")
        return self._oldest, False

    def _walk_history(self) -> Iterator[None]:
        """Note the dates of one batch of commits after another."""
        wanted = ("-r", "-z", "--root", "--no-renames", "--name-only", "--format=%H %at")
        done, size = 0, _FIRST_BATCH
        try:
            # The newest are listed at once, all of a long history perhaps not in time.
            for most in (min(_FIRST_LISTED, MOST_COMMITS), MOST_COMMITS):
                listed = self._ask("rev-list", "--no-merges", f"--max-count={most}", "HEAD", "--").split()
                while done < len(listed):
                    batch = listed[done : done + size]
                    self._note(self._ask("diff-tree", "--stdin", *wanted, given=b"\n".join(batch) + b"\n"))
                    done, size = done + len(batch), min(2 * size, _LARGEST_BATCH)
                    yield
                if len(listed) < most:
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
        """Return what git prints in a share of the time left; raises LookupError where it fails."""
        if self._left <= 0:
            raise LookupError("the time is up")
        began = time.monotonic()
        told = output_of(self._root, *arguments, timeout=share * self._left, given=given)
        self._left -= time.monotonic() - began
        if told is None:
            raise LookupError("git does not answer")
        return told


def _entries(told: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield path and blob of the files in a listing of `git ls-tree -z`."""
    for line in told.split(b"\0"):
        head, tab, name = line.partition(b"\t")
        if tab and (fields := head.split())[0] in _FILE_MODES:
            yield os.fsdecode(name), fields[2]


def _has(file: Path, blob: bytes) -> bool:
    """Tell whether a file has the content of a blob, as git hashes it."""
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

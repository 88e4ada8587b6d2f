"""What is checked out in a working folder, what is not merged into it, and when its files changed.

The head is read from files. What needs git is asked in the background, once for each head, and kept: who asks
waits for some milliseconds, and else goes on without it.
"""

import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.frozen import dataclass
from ragmem.patterns import lazy
from ragmem.readers.git import output_of
from ragmem.readers.git_folder import checkout_at, own_folder

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

TIMEOUT_S = 1.0
"""Seconds that git has in the background."""

KEPT_S = 60.0
"""Seconds for which an answer is kept: branches get commits without a change of the head."""

MOST_KEPT = 512

MOST_COMMITS = 5_000
"""Maximum commits outside of the head that are listed; with more, nothing is known of them."""

MOST_CHANGES = 200
"""Maximum commits of one file that are counted."""

MOST_FILES = 200
"""Maximum files whose time is read: some milliseconds."""

_HASH = lazy(r"[0-9a-f]{7,64}")
_SMALL = 4_096
_LARGE = 4 << 20


@dataclass(frozen=True, slots=True)
class Head:
    """A working folder, the folder of its repository, its branch ("" if detached) and its commit (or "")."""

    root: Path
    common: Path
    branch: str
    commit: str


def head_at(folder: Path) -> Head | None:
    """Return what is checked out in a folder or above it; None outside of a repository. Never raises."""
    try:
        root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
        checkout = checkout_at(root) if root else None
        own = own_folder(root) if root else None
        if root is None or checkout is None or own is None:
            return None
        told = _text(own / "HEAD", _SMALL)
    except (OSError, ValueError):
        return None
    if not told.startswith("ref:"):
        return Head(root, checkout.common, "", told if _HASH.fullmatch(told) else "")
    name = told.removeprefix("ref:").strip()
    return Head(root, checkout.common, name.removeprefix("refs/heads/"), _commit_of(checkout.common, name))


def default_branch(head: Head) -> str:
    """Return the branch that a clone of the remote `origin` checks out; "" if that is not known."""
    try:
        told = _text(head.common / "refs" / "remotes" / "origin" / "HEAD", _SMALL)
    except OSError:  # there is no remote, or it was not cloned
        return ""
    return told.removeprefix("ref: refs/remotes/origin/") if told.startswith("ref:") else ""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The local branches that are not merged into a head, and the commits that only they have."""

    branches: frozenset[str]
    commits: tuple[str, ...]

    def has(self, branch: str, commits: tuple[str, ...] = ()) -> bool:
        """Return whether the last of these commits is outside; without one, whether the branch is.

        A branch that no longer exists is not, nor is a commit that is unknown.
        """
        if branch not in self.branches:
            return False
        return not commits or any(known.startswith(commits[-1]) for known in self.commits)


def outside(head: Head, *, within_s: float = 0.0) -> Divergence | None:
    """Return what is not merged into a head; None if that is not known within so many seconds.

    The first call starts git in the background, so that a later one gets the answer.
    """
    found: Divergence | None = _kept(("outside", head.common, head.commit), lambda: _outside(head), within_s)
    return found


def change_times(head: Head, path: str, *, within_s: float) -> tuple[int, ...] | None:
    """Return the times of a file's last commits, in seconds since 1970, latest first; None as `outside`.

    `path` is relative to the working folder.
    """
    found: tuple[int, ...] | None = _kept(
        ("file", head.root, head.commit, path), lambda: _times(head, path), within_s
    )
    return found


def uncommitted(head: Head, paths: Mapping[str, str]) -> frozenset[str]:
    """Return those files that were written after the last commit or checkout; none if these are most.

    `paths` has the folder that each is relative to, which counts if it is in the working folder. The times of
    the files tell it: `git status` reads the whole working folder, and runs filters that the repository
    configures. After a clone all files are later than that. Never raises.
    """
    try:
        own = own_folder(head.root)
        since = (own / "logs" / "HEAD").stat().st_mtime_ns if own else None
    except (OSError, ValueError):  # a repository without a log
        return frozenset()
    if since is None:
        return frozenset()
    bases = {
        folder: folder if folder and Path(folder).is_relative_to(head.root) else str(head.root)
        for folder in set(paths.values())
    }
    times: dict[str, int] = {}
    for path, folder in islice(paths.items(), MOST_FILES):
        with suppress(OSError, ValueError):  # deleted since, or no path at all
            times[path] = os.lstat(os.path.join(bases[folder], path)).st_mtime_ns  # noqa: PTH118
    later = frozenset(path for path, time_ns in times.items() if time_ns > since)
    return later if 2 * len(later) <= len(times) else frozenset()


def _outside(head: Head) -> Divergence | None:
    listing = ("for-each-ref", "--no-merged=HEAD", "--format=%(refname)", "refs/heads")
    branches = output_of(head.root, *listing, timeout=TIMEOUT_S)
    if branches is None:
        return None
    names = frozenset(
        line.removeprefix("refs/heads/") for line in branches.decode("utf-8", "replace").splitlines()
    )
    if not names:
        return Divergence(names, ())
    commits = output_of(
        head.root,
        *("rev-list", f"--max-count={MOST_COMMITS}", "--branches", "--not", "HEAD", "--"),
        timeout=TIMEOUT_S,
    )
    known = commits.decode("ascii").split() if commits else []
    return Divergence(names, tuple(known)) if 0 < len(known) < MOST_COMMITS else None


def _times(head: Head, path: str) -> tuple[int, ...] | None:
    listing = ("log", f"--max-count={MOST_CHANGES}", "--format=%ct", "HEAD", "--", f":(literal){path}")
    told = output_of(head.root, *listing, timeout=TIMEOUT_S)
    return None if told is None else tuple(int(word) for word in told.split() if word.isdigit())


def _commit_of(common: Path, name: str) -> str:
    """Return the commit of a reference; "" for one that does not exist, or is kept in another form."""
    if ".." in name or name.startswith("/") or "\0" in name:
        return ""
    try:
        told = _text(common / name, _SMALL)
    except OSError:  # it is packed, or not there
        told = ""
    if _HASH.fullmatch(told):
        return told
    try:
        packed = _text(common / "packed-refs", _LARGE)
    except OSError:
        return ""
    found = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(name)}$", packed, re.MULTILINE)
    return found[1] if found else ""


def _text(path: Path, most: int) -> str:
    with path.open("rb") as file:
        return file.read(most).decode("utf-8", "replace").strip()


_answers: "OrderedDict[Hashable, tuple[float, Future[Any]]]" = OrderedDict()
_guard = threading.Lock()
_threads: "list[ThreadPoolExecutor]" = []


def _kept(key: Hashable, find: Callable[[], Any], within_s: float) -> Any:
    """Return a kept answer, or have it found and wait so long for it; None without one in time."""
    with _guard:
        asked, answer = _answers.get(key, (0.0, None))
        if answer is None or (answer.done() and time.monotonic() - asked > KEPT_S):
            if not _threads:
                # A question outside of a repository needs none, and none of what it imports.
                from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

                _threads.append(ThreadPoolExecutor(2, "git"))
            answer = _threads[0].submit(find)
            _answers[key] = time.monotonic(), answer
            while len(_answers) > MOST_KEPT:
                _answers.popitem(last=False)
    try:
        return answer.result(within_s)
    except TimeoutError:
        return None

"""Read the files of a repository directly, so that a known one needs no run of git."""

import os
from pathlib import Path

from ragmem.frozen import dataclass
from ragmem.readers.git import output_of

TIMEOUT_S = 1.0
"""Seconds that git has to look up a commit; a question waits for the answer."""

_SMALL = 4096
"""Maximum bytes of a file that holds one path."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working folder of a repository, as its files show it.

    `root` is the main working folder, the same for all worktrees, and `common` the folder of the repository.
    `mark` identifies a repository even after a move on its disk; it may be empty. `stamp` begins with the
    mark, and changes when the remote, the first commit or the repository may have changed.
    """

    root: Path
    common: Path
    mark: str
    stamp: str
    is_shallow: bool


def checkout_at(folder: Path) -> Checkout | None:
    """Return the checkout of a working folder; None where it cannot be read. Never raises."""
    try:
        common = _common(folder)
        if common is None or not (common / "HEAD").is_file():
            return None
        status = common.stat()
        configured = _times(common / "config")
        # Written once, when the repository is created; a template may lack it, and then there is no mark.
        made, size = _times(common / "description")
    except (OSError, ValueError):
        return None
    shallow = (common / "shallow").exists()
    mark = f"{status.st_ino}.{made}.{size}" if made else ""
    stamp = f"{mark}|{configured[0]}.{configured[1]}|{int(_has_commits(common))}{int(shallow)}"
    # The parent of a main checkout's .git is its working folder; bare repositories and submodules differ.
    root = common.parent if common.name == ".git" else folder
    return Checkout(root, common, mark, stamp, shallow)


def has_commit(folder: Path, commit: str) -> bool | None:
    """Return whether a repository has a commit; None where git does not answer in time."""
    answer = output_of(folder, "cat-file", "--batch-check", timeout=TIMEOUT_S, given=f"{commit}\n".encode())
    return answer.split()[1:2] == [b"commit"] if answer else None


def _common(folder: Path) -> Path | None:
    """Return the folder of the repository; for a worktree, that of the main repository."""
    own = own_folder(folder)
    if own is None:
        return None
    named = _line(own / "commondir") if (own / "commondir").is_file() else ""
    return Path(os.path.normpath(own / named)) if named else own


def own_folder(folder: Path) -> Path | None:
    """Return the folder of the checkout itself, which a worktree has of its own. Raises OSError."""
    own = folder / ".git"
    if own.is_dir():
        return own
    link = _line(own)
    if not link.startswith("gitdir:"):
        return None
    return Path(os.path.normpath(folder / link.removeprefix("gitdir:").strip()))


def _line(path: Path) -> str:
    with path.open("rb") as file:
        return os.fsdecode(file.read(_SMALL)).strip()


def _times(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _has_commits(common: Path) -> bool:
    """Return whether any branch has a commit, by a cheap check."""
    if (common / "packed-refs").exists():
        return True
    try:
        with os.scandir(common / "refs" / "heads") as entries:
            return next(entries, None) is not None
    except OSError:
        # The refs are stored in another form.
        return True

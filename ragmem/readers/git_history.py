"""Which files a repository's history has renamed, as far as git tells."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragmem.readers.git import output_of

MOST_COMMITS = 5_000
"""Commits that are looked at, the newest: comparing the files of 5,000 takes git some seconds."""

TIMEOUT = 60.0
"""Seconds for that; renames are then not known until a later run has the time."""

_COMMIT = re.compile(rb"[0-9a-f]{40,64} \d+")
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class GitRename:
    """A commit that renamed a file; paths are relative to the repository, the moment in microseconds."""

    old: str
    new: str
    commit: str
    renamed_at: int


def head_of(root: Path) -> str:
    """Return the commit that is checked out; empty without one, or where git does not answer."""
    return (output_of(root, "rev-parse", "--verify", "--quiet", "HEAD") or b"").decode("ascii").strip()


def renames_since(root: Path, commit: str) -> list[GitRename] | None:
    """Return the renames of all commits after one (empty: of all), None where git does not tell.

    A commit that is not known any more, as after a rewrite of the history, counts as none. Where contents
    are missing or comparing them takes too long, only renames without a change are known.
    """
    asked = ("rev-list", "--no-merges", f"--max-count={MOST_COMMITS}")
    commits = output_of(root, *asked, f"{commit}..HEAD", "--", timeout=TIMEOUT) if commit else None
    if commits is None:
        commits = output_of(root, *asked, "HEAD", "--", timeout=TIMEOUT)
    if not commits:
        return None if commits is None else []
    wanted = ("-r", "-z", "--root", "--diff-filter=R", "--name-status", "--format=%H %ct")
    # A partial clone has not got all the contents to compare; equal contents have equal names, which it has.
    for renames in ("-M", "-M100%"):
        told = output_of(root, "diff-tree", "--stdin", renames, *wanted, timeout=TIMEOUT, given=commits)
        if told is not None:
            return list(_read(told))
    return None


def _read(told: bytes) -> Iterator[GitRename]:
    commit, moment = "", 0
    fields = iter(told.split(b"\0"))
    for raw in fields:
        field = raw.removeprefix(b"\n")
        if _COMMIT.fullmatch(field):
            name, seconds = field.decode("ascii").split(" ")
            commit, moment = name, int(seconds) * _SECOND
        elif field.startswith(b"R") and field[1:].isdigit():
            try:
                old, new = (next(fields, b"").decode("utf-8") for _ in range(2))
            except UnicodeDecodeError:
                continue  # such a file is not read either
            yield GitRename(old, new, commit, moment)

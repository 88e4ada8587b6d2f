"""Find the renames of files in a repository's history."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragmem.readers.git import output_of

MOST_COMMITS = 5_000
"""Maximum number of commits to compare, the newest ones: git takes some seconds for 5,000."""

TIMEOUT = 60.0
"""Seconds for the comparison; renames that take longer are left for a later run."""

_COMMIT = re.compile(rb"[0-9a-f]{40,64} \d+")
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class GitRename:
    """The rename of a file by a commit; paths are relative to the repository, the time is in microseconds."""

    old: str
    new: str
    commit: str
    renamed_at: int


def head_of(root: Path) -> str:
    """Return the commit that is checked out; empty without one or an answer of git."""
    return (output_of(root, "rev-parse", "--verify", "--quiet", "HEAD") or b"").decode("ascii").strip()


def renames_since(root: Path, commit: str) -> list[GitRename] | None:
    """Return the renames of all commits after one (empty: of all); None where git does not answer.

    A commit that no longer exists, as after a rewrite of the history, counts as empty. Where contents are
    missing or comparing them takes too long, only renames without changes are found.
    """
    listing = ("rev-list", "--no-merges", f"--max-count={MOST_COMMITS}")
    commits = output_of(root, *listing, f"{commit}..HEAD", "--", timeout=TIMEOUT) if commit else None
    if commits is None:
        commits = output_of(root, *listing, "HEAD", "--", timeout=TIMEOUT)
    if not commits:
        return None if commits is None else []
    wanted = ("-r", "-z", "--root", "--diff-filter=R", "--name-status", "--format=%H %ct")
    # A partial clone lacks contents to compare, but equal contents have equal hashes, which it has.
    for renames in ("-M", "-M100%"):
        output = output_of(root, "diff-tree", "--stdin", renames, *wanted, timeout=TIMEOUT, given=commits)
        if output is not None:
            return list(_read(output))
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

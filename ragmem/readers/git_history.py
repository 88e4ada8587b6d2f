"""Find renames in a repository's history, and names that are gone."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragmem.readers.git import output_of

MOST_COMMITS = 5_000
"""Maximum number of commits to compare, the newest ones: git takes some seconds for 5,000."""

TIMEOUT = 60.0
"""Seconds for the comparison; renames that take longer are left for a later run."""

MOST_SYMBOLS = 40
"""Maximum symbols that are searched for in the history."""

SEARCH_TIMEOUT = 5.0

_CODE = (".", *(f":(exclude,icase)*.{suffix}" for suffix in ("md", "mdx", "rst", "adoc", "txt")))
"""What git searches for symbols: a document names them long after the code has lost them."""
"""Seconds for the search of one symbol in the history; one that takes longer is not gone."""

_VERSION = re.compile(r"\d+(?:\.\d+){2,3}")

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


def gone_names(root: Path, names: Collection[str]) -> frozenset[str]:
    """Return the files, symbols and versions of these names that the history has and the head has not.

    A file is named by its path or the end of it, and counts as there if it lies in the folder. A symbol is
    a name without a suffix; it or a version such as 4.0.7 is there if it stands outside of documents. Names
    that the history never had are not gone, nor is any where git does not answer.
    """
    files = {name for name in names if "." in name.rsplit("/", 1)[-1] and not _VERSION.fullmatch(name)}
    symbols = sorted(set(names) - files)[:MOST_SYMBOLS]
    return frozenset((*_gone_files(root, files), *_gone_symbols(root, symbols)))


def _gone_files(root: Path, names: Collection[str]) -> Iterator[str]:
    if not names:
        return
    listing = ("log", "--diff-filter=D", "--no-renames", "--name-only", "--format=", "-z")
    deleted = output_of(root, *listing, f"--max-count={MOST_COMMITS}", "HEAD", "--", timeout=TIMEOUT)
    present = output_of(root, "ls-tree", "-r", "--name-only", "-z", "HEAD", timeout=TIMEOUT)
    if not deleted or present is None:
        return
    former, there = (
        {f"/{path}" for path in told.decode("utf-8", "replace").split("\0") if path}
        for told in (deleted.replace(b"\n", b""), present)
    )
    for name in names:
        end = f"/{name.removeprefix('./').lstrip('/')}"
        if any(path.endswith(end) for path in former) and not (
            any(path.endswith(end) for path in there) or (root / name).exists()
        ):
            yield name


def _gone_symbols(root: Path, names: Sequence[str]) -> Iterator[str]:
    if not names:
        return
    wanted = [word for name in names for word in ("-e", name)]
    found = output_of(root, "grep", "--no-textconv", "-hoFwI", *wanted, "HEAD", "--", *_CODE, timeout=TIMEOUT)
    # It fails without any match, and then all are missing if the head can be read at all.
    if found is None and not head_of(root):
        return
    present = set((found or b"").decode("utf-8", "replace").split())
    for name in names:
        if name not in present:
            search = (
                "log",
                "--no-textconv",
                "--no-ext-diff",
                "-1",
                "--format=%H",
                f"-S{name}",
                "HEAD",
                "--",
                *_CODE,
            )
            if output_of(root, *search, timeout=SEARCH_TIMEOUT):
                yield name

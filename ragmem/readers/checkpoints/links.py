"""Find the commits that name the checkpoints of Entire, and who made these."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ragmem.readers.checkpoints.git_objects import contents_of
from ragmem.readers.checkpoints.sessions import Checkpoints, plain
from ragmem.readers.git import output_of

TIMEOUT = 20.0
"""Seconds to find the commits; without an answer, none are named."""

MOST_COMMITS = 100_000
MAX_COMMIT = 64 << 10
"""Commits that are looked at, the latest ones, and bytes of one."""

_BEFORE = 7 * 86_400
"""Seconds before the first checkpoint at which the search ends: clocks differ, and commits are moved."""

_NAMED = re.compile(r"^\s{0,8}(?:\* )?Entire-Checkpoint:[ \t]*(\w{12,26})[ \t\r]*$", re.MULTILINE)
_MADE = re.compile(r"Checkpoint: (\w{12,26})\s*(?:\n|\Z)")
_AUTHOR = re.compile(r"^author (.{1,200}?) <", re.MULTILINE)
_MAX_AUTHOR = 80


@dataclass(slots=True)
class Links:
    """Checkpoint -> the commits that name it, the oldest first, and checkpoint -> who made it."""

    commits: dict[str, list[str]] = field(default_factory=dict)
    authors: dict[str, str] = field(default_factory=dict)


def links_of(found: Checkpoints) -> Links:
    """Return the commits and authors of checkpoints; never raises.

    A commit names checkpoints by `Entire-Checkpoint:` lines; a squashed one has several, anywhere in its
    message. The author is that of the checkpoint, else that of the commit.
    """
    links = Links()
    wanted = {copy.checkpoint for copy in found.copies}
    coders: dict[str, str] = {}
    times = [copy.created.timestamp() for copy in found.copies if copy.created]
    since = [f"--since={min(times) - _BEFORE:.0f}"] if times else []
    named = _commits(found, "--grep=Entire-Checkpoint: ", *since, "HEAD", "--branches", "--remotes")
    for commit, head, message in _read(found, named):
        for checkpoint in wanted.intersection(_NAMED.findall(message)):
            links.commits.setdefault(checkpoint, []).append(commit)
            coders.setdefault(checkpoint, _author_in(head))
    own = {commit: checkpoint for checkpoint, commit in found.refs.items()}
    made = _commits(found, *found.tips) if found.tips else []
    for commit, head, message in _read(found, (*made, *own)):
        subject = _MADE.match(message)
        checkpoint = own.get(commit) or (subject[1] if subject else "")
        if checkpoint in wanted:
            links.authors.setdefault(checkpoint, _author_in(head))
    links.authors = {**coders, **links.authors}
    return links


def _commits(found: Checkpoints, *which: str) -> list[str]:
    listing = ("rev-list", f"--max-count={MOST_COMMITS}", "--reverse")
    told = output_of(found.root, *listing, *which, "--", timeout=TIMEOUT)
    return (told or b"").decode("ascii").split()


def _read(found: Checkpoints, commits: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield commits with their headers and messages, in the order given."""
    asked = list(dict.fromkeys(commits))
    read = dict(contents_of(found.root, asked, b"commit", MAX_COMMIT))
    for commit in asked:
        head, _, message = read.get(commit, b"").decode("utf-8", "replace").partition("\n\n")
        yield commit, head, message


def _author_in(head: str) -> str:
    found = _AUTHOR.search(head)
    return plain(found[1], _MAX_AUTHOR) if found else ""

"""Mark memories from branches that are not merged into the current one, and rank them last."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ragmem.domain.model import Match, Memory
from ragmem.readers.git_head import Head, head_at, outside

WITHIN_S = 0.005
"""Seconds that an answer waits for git, which began when the question did."""


def begin(folder: str) -> Head | None:
    """Return what is checked out where a question was asked, and have git look what is not merged.

    None without a folder, and outside of a repository.
    """
    head = head_at(Path(folder)) if folder else None
    if head is not None:
        outside(head)
    return head


def mark_unmerged(
    matches: Sequence[Match], head: Head | None, project_of: Callable[[Path], str | None]
) -> tuple[Match, ...]:
    """Return the matches, those from unmerged branches last and marked; the order is else the same.

    Only memories of the project of the head's folder are marked, which `project_of` finds. What git does not
    tell in time, or does not know, counts as merged.
    """
    if head is None or not any(_elsewhere(match.memory, head) for match in matches):
        return tuple(matches)
    known = outside(head, within_s=WITHIN_S)
    if known is None or not known.branches:
        return tuple(matches)
    project = project_of(head.root)
    marked = [
        replace(match, unmerged=branch) if (branch := _branch_outside(match.memory, head, project)) else match
        for match in matches
    ]
    return tuple(sorted(marked, key=lambda match: bool(match.unmerged)))


def unmerged_branch(memory: Memory, head: Head | None) -> str:
    """Return the unmerged branch of a memory of the head's project; "" for any other memory."""
    return _branch_outside(memory, head, memory.scope.project) if head is not None else ""


def unmerged_line(branch: str) -> str:
    """Return the mark of a memory that was made on an unmerged branch."""
    return f"made on branch {branch}, not merged"


def _elsewhere(memory: Memory, head: Head) -> bool:
    return memory.metadata.get("branch", head.branch) != head.branch


def _branch_outside(memory: Memory, head: Head, project: str | None) -> str:
    if not _elsewhere(memory, head) or memory.scope.project != project:
        return ""
    known = outside(head, within_s=WITHIN_S)
    branch = memory.metadata["branch"]
    commits = tuple(filter(None, memory.metadata.get("commits", "").split(", ")))
    return branch if known is not None and known.has(branch, commits) else ""

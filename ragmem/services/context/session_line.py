"""Describe the session of a memory in one line."""

from ragmem.domain.model import SHORT_ID_LENGTH, Memory
from ragmem.domain.secrets.redaction import Redactor

MOST_COMMITS = 3
MOST_ASKED = 80
"""Maximum characters of the question."""


def session_line(memory: Memory, redactor: Redactor) -> str:
    """Return assistant, session, author, branch, commits and question of an exchange; "" for others.

    The question is included unless it is the title.
    """
    told = memory.metadata
    if not told.get("assistant") or not told.get("session"):
        return ""
    author = f" of {told['author']}" if told.get("author") else ""
    parts = [f"{told['assistant']} session {told['session'][:SHORT_ID_LENGTH]}{author}"]
    if branch := told.get("branch"):
        parts.append(f"branch {branch}")
    if commits := [one for one in told.get("commits", "").split(", ") if one]:
        more = f" and {len(commits) - MOST_COMMITS} more" if len(commits) > MOST_COMMITS else ""
        parts.append(f"commit {', '.join(commits[:MOST_COMMITS])}{more}")
    if told.get("interrupted"):
        parts.append("interrupted")
    asked = told.get("asked", "")
    if asked and not memory.title.startswith(asked[:MOST_ASKED]):
        parts.append(
            f"asked: {asked if len(asked) <= MOST_ASKED else asked[: MOST_ASKED - 1].rstrip() + '…'}"
        )
    return redactor.redact(", ".join(parts))[0]

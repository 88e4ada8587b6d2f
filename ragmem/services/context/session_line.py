"""Describe the session of a memory in one line."""

from ragmem.domain.model import SHORT_ID_LENGTH, Memory
from ragmem.domain.secrets.redaction import Redactor

MOST_COMMITS = 3


def session_line(memory: Memory, redactor: Redactor) -> str:
    """Return assistant, session, branch and commits of an exchange; "" for any other memory."""
    told = memory.metadata
    if not told.get("assistant") or not told.get("session"):
        return ""
    parts = [f"{told['assistant']} session {told['session'][:SHORT_ID_LENGTH]}"]
    if branch := told.get("branch"):
        parts.append(f"branch {branch}")
    if commits := [one for one in told.get("commits", "").split(", ") if one]:
        more = f" and {len(commits) - MOST_COMMITS} more" if len(commits) > MOST_COMMITS else ""
        parts.append(f"commit {', '.join(commits[:MOST_COMMITS])}{more}")
    return redactor.redact(", ".join(parts))[0]

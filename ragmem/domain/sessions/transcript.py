"""What the transcripts of all assistants have in common: a person asks, an assistant speaks and acts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ragmem.domain.model import Memory

SOURCE = "transcripts"
"""The source of all that is read of transcripts."""


class Deed(StrEnum):
    """What sort of thing was said or done within an exchange."""

    SAID = "said"
    ADDED = "added"
    """The person said something while the assistant was at work, or answered a question of its."""
    PLANNED = "planned"
    READ = "read"
    SEARCHED = "searched"
    DELEGATED = "delegated"
    CHANGED = "changed"
    CREATED = "created"
    RAN = "ran"
    TESTED = "tested"
    COMMITTED = "committed"
    FAILED = "failed"
    """Lines of what a command printed that name an error."""
    REPORTED = "reported"
    """Lines of what a command printed that sum up: of tests, of a pull request."""


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that was said or done: a text for words, a path for files, a line for commands."""

    deed: Deed
    text: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a person asked, and all that the assistant said and did until the next question.

    `number` counts the questions of a session from 1. An exchange that is too long for one memory comes in
    parts, numbered from 1, each with the question's beginning. `key` is the assistant's own name for the
    question, the same in a copy of the session; `agent` is empty but for a subagent, `entry` is how the
    assistant was started where it tells. `before` is the
    question that came before, in short. `finished` tells that the next question, or the end, was seen.
    Times are None where the transcript has none.
    """

    session: str
    number: int
    assistant: str
    asked: str
    acts: tuple[Act, ...] = ()
    part: int = 1
    key: str = ""
    agent: str = ""
    model: str = ""
    cwd: str = ""
    branch: str = ""
    entry: str = ""
    before: str = ""
    files: Mapping[str, int] = field(default_factory=dict)
    commits: tuple[str, ...] = ()
    pull_requests: tuple[str, ...] = ()
    began: datetime | None = None
    ended: datetime | None = None
    finished: bool = True
    interrupted: bool = False

    @property
    def answered(self) -> str:
        """All that the assistant said, without what it did."""
        return "\n\n".join(act.text for act in self.acts if act.deed is Deed.SAID)


def counted_as(memory: Memory) -> str:
    """Return as what a memory counts among others: an exchange as its session, anything else as itself."""
    session = memory.metadata.get("session", "") if memory.source == SOURCE else ""
    return f"session {session}" if session else memory.id

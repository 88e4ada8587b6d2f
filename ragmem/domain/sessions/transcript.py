"""The common model of all transcripts: the user asks, the assistant speaks and acts."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from ragmem.domain.model import Memory
from ragmem.frozen import dataclass

SOURCE = "transcripts"
"""The source of all transcripts."""

ENTIRE = "entire:"
"""The beginning of the name of a transcript that Entire has kept in a repository, which is no path."""

QUESTION_LABEL = "User:"
ANSWER_LABEL = "Assistant:"
ADDED_LABEL = "The user added:"
REPORT_LABEL = "Report of a subagent"
RESULT_HEADING = "# Result"
STOPPED = "(The user stopped it here.)"
"""The labels, and the last heading and line, in the text of an exchange."""


class ActType(StrEnum):
    """The type of an act within an exchange."""

    SAID = "said"
    ADDED = "added"
    """The user interrupted the assistant, or answered its question."""
    PLANNED = "planned"
    READ = "read"
    SEARCHED = "searched"
    DELEGATED = "delegated"
    RETURNED = "returned"
    """The final report of a subagent."""
    CHANGED = "changed"
    CREATED = "created"
    RAN = "ran"
    TESTED = "tested"
    COMMITTED = "committed"
    FAILED = "failed"
    """Error lines in the output of a command."""
    REPORTED = "reported"
    """Summary lines in the output of a command: of tests, of a pull request."""


@dataclass(frozen=True, slots=True)
class Act:
    """One act: a text for words, a path for files, a line for commands."""

    deed: ActType
    text: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, and everything that the assistant said and did until the next question.

    `number` counts the questions of a session from 1. An exchange that is too long for one memory is split
    into parts, numbered from 1, each with the beginning of the question. `key` is the assistant's own id of
    the question, the same in a copy of the session. `agent` is set for a subagent only; `entry` is how the
    assistant was started, if known. `before` is the previous question, shortened. `summaries` are those of
    the session that the assistant's model wrote when its context was compacted. `finished`: the next
    question, or the end, was read. Times are None if the transcript has none.
    """

    session: str
    number: int
    assistant: str
    question: str
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
    summaries: tuple[str, ...] = ()
    began: datetime | None = None
    ended: datetime | None = None
    finished: bool = True
    interrupted: bool = False

    @property
    def answer_text(self) -> str:
        """The text of the assistant, without its actions."""
        return "\n\n".join(act.text for act in self.acts if act.deed is ActType.SAID)


def counting_key(memory: Memory) -> str:
    """Return the key by which a memory is counted: an exchange counts as its session."""
    session = memory.metadata.get("session", "") if memory.source == SOURCE else ""
    return f"session {session}" if session else memory.id

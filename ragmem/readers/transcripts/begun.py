"""An exchange that has begun and is not closed yet."""

from collections import Counter
from dataclasses import dataclass, field

from ragmem.domain.sessions.transcript import Act
from ragmem.readers.transcripts.tools import Call


@dataclass
class OpenExchange:
    """What an exchange holds so far; an act and an edit each with the message that it came in."""

    asked: str
    key: str = ""
    others: set[str] = field(default_factory=set)
    part: int = 1
    began: object = None
    ended: object = None
    position: int = 0
    carried: str = ""
    acts: list[tuple[str, Act]] = field(default_factory=list)
    calls: dict[str, tuple[Call, str]] = field(default_factory=dict)
    edits: Counter[tuple[str, str]] = field(default_factory=Counter)
    commits: dict[str, None] = field(default_factory=dict)
    pull_requests: dict[str, None] = field(default_factory=dict)
    messages: set[str] = field(default_factory=set)
    size: int = 0
    interrupted: bool = False

    def files(self) -> dict[str, int]:
        """Return how often each file was edited, whichever messages did it."""
        files: dict[str, int] = {}
        for (_, path), times in self.edits.items():
            files[path] = files.get(path, 0) + times
        return files

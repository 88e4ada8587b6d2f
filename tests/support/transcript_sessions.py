"""Sessions of Claude Code, written line by line."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TOPICS = ("harbour", "lantern", "quarry", "meadow", "turbine", "glacier", "orchard", "viaduct", "sundial")


def line(kind: str, said: str, number: int, *, session: str, cwd: str, moment: datetime) -> str:
    """A record of Claude Code."""
    content = said if kind == "user" else [{"type": "text", "text": said}]
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{session}_{number}", "model": "m-1", "type": "message"}
    record = {
        "type": kind,
        "uuid": f"{kind}-{session}-{number}",
        "sessionId": session,
        "timestamp": moment.isoformat().replace("+00:00", "Z"),
        "cwd": cwd,
        "gitBranch": "main",
        "message": message,
    }
    return json.dumps(record) + "\n"


@dataclass
class Session:
    """A session of Claude Code, line by line; each exchange tells of something else."""

    name: str = "5e55-0001"
    cwd: str = "/nowhere/at/all"
    lines: list[str] = field(default_factory=list)
    exchanges: int = 0

    def ask(self, asked: str = "", *answers: str) -> "Session":
        self.exchanges += 1
        number = self.exchanges
        topic = TOPICS[number % len(TOPICS)]
        asked = asked or f"Why does the {topic} service {number} fail when the queue is full?"
        self._add("user", asked)
        told = (
            f"We decided to give the {topic} service {number} a bounded queue of {number * 7}, because the "
            f"unbounded one exhausted the memory. Root cause: no limit in {topic}_{number}.py."
        )
        for answer in answers or (told,):
            self.answer(answer)
        return self

    def answer(self, said: str) -> "Session":
        self._add("assistant", said)
        return self

    def _add(self, kind: str, said: str) -> None:
        number = len(self.lines)
        moment = NOW - timedelta(days=2) + timedelta(minutes=number)
        self.lines.append(line(kind, said, number, session=self.name, cwd=self.cwd, moment=moment))

    @property
    def text(self) -> bytes:
        return "".join(self.lines).encode()

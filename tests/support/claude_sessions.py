"""Sessions of Claude Code, written as it writes them, a turn at a time."""

import json
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)


class Session:
    """A transcript that grows by turns."""

    def __init__(self, path, *, name, cwd):
        self.path = path
        self.name = name
        self.cwd = str(cwd)
        self.turns = 0
        path.parent.mkdir(parents=True, exist_ok=True)

    def turn(self, asked, answered):
        """Write what a person asked and what was answered."""
        self.turns += 1
        self._write("user", asked)
        self._write("assistant", [{"type": "text", "text": answered}])
        return self

    def _write(self, kind, content):
        message = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": f"msg_{self.name}_{self.turns}", "model": "m-1", "type": "message"}
        moment = BEGIN + timedelta(minutes=self.turns)
        record = {
            "type": kind,
            "uuid": f"{kind}-{self.name}-{self.turns}",
            "sessionId": self.name,
            "timestamp": moment.isoformat().replace("+00:00", "Z"),
            "cwd": self.cwd,
            "message": message,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

"""Measure the cost of a hook event by a command, by the MCP server, and by `ragmem serve`.

One server holds the memory for all three, so that they differ in how the event reaches it. Wall time is from
the event to the reply; processor time is that of every process that works for it: the command, the MCP
server, and the server with the memory.
"""

import http.client
import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import common
import startup

from ragmem.assistants import load_assistant
from ragmem.assistants.assistant import HOOK_PATH, HOOK_TOOL
from ragmem.client import runtime

if TYPE_CHECKING:
    from hooks import Home

HANDLERS = ("command", "mcp", "http")
READY_S = 60.0

Took = tuple[float, float, bool]
"""Wall and processor seconds of an event, and whether something was told."""


class Mcp:
    """A `ragmem mcp` as Claude Code starts it."""

    def __init__(self, home: "Home") -> None:
        self.process = subprocess.Popen(
            startup.line_of("ragmem", ["mcp"]),
            env=home.environ,
            cwd=home.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench"}}
        self.request("initialize", client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]


@dataclass(frozen=True)
class Servers:
    """What stays while events come: the server with the memory, and the MCP server."""

    mcp: Mcp
    connection: http.client.HTTPConnection
    token: str
    processes: tuple[int, int]

    def processor_s(self) -> float:
        """Return the processor seconds of both, of all their threads; 0 where the system does not tell."""
        try:
            tasks = [task for one in self.processes for task in Path(f"/proc/{one}/task").iterdir()]
            times = [(task / "schedstat").read_text(encoding="ascii") for task in tasks]
        except OSError:  # another system, or a thread that has just ended
            return 0.0
        return sum(int(line.split()[0]) for line in times) / 1e9


@contextmanager
def serving(home: "Home") -> Iterator[Servers]:
    """Let `ragmem serve` hold the memory, beside an MCP server."""
    words = startup.line_of("ragmem", ["serve", "--port", "0"])
    process = subprocess.Popen(
        words, env=home.environ, cwd=home.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            _, found, rest = line.partition("listening on http://127.0.0.1:")
            if found:
                break
        else:
            raise SystemExit("ragmem serve has ended")
        port, _, path = rest.partition(", token in ")
        place, until = runtime.runtime_folder(str(home.data)), time.monotonic() + READY_S
        while runtime.read_record(place)[-1:] != [runtime.SERVES]:
            if time.monotonic() > until:
                raise SystemExit("ragmem serve does not answer for the home")
            time.sleep(0.05)
        token = Path(path.strip()).read_text(encoding="ascii").strip()
        with Mcp(home) as mcp:
            connection = http.client.HTTPConnection("127.0.0.1", int(port))
            yield Servers(mcp, connection, token, (process.pid, mcp.process.pid))
            connection.close()
    finally:
        process.terminate()
        process.communicate()


def measure(home: "Home", asked: Sequence[str], rounds: int) -> dict[str, dict[str, Any]]:
    """Return the figures of each event by each handler, as "EVENT, by HANDLER"."""
    chance = random.Random(rounds)
    edited = {"tool_name": "Edit", "tool_input": {"file_path": str(home.folder / "a.py")}}
    read = {"tool_name": "Read", "tool_input": {"file_path": str(home.folder / "store.py")}}

    def failure(question: str) -> dict[str, Any]:
        return {"tool_name": "Bash", "error": f"Exit code 1\nValueError: {question}"}

    events: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
        "a prompt": ("UserPromptSubmit", lambda question: {"prompt": question}),
        "a short prompt": ("UserPromptSubmit", lambda _: {"prompt": "ok"}),
        "research": (
            "PreToolUse",
            lambda question: {"tool_name": "WebSearch", "tool_input": {"query": question}},
        ),
        "an edit": ("PreToolUse", lambda _: edited),
        "a read": ("PostToolUse", lambda _: read),
        "a failed command": ("PostToolUseFailure", failure),
    }
    found: dict[str, list[Took]] = {f"{name}, by {by}": [] for name in events for by in HANDLERS}
    home.stop()
    with serving(home) as servers:
        for number in range(rounds + 1):
            order = [(name, by) for name in events for by in chance.sample(HANDLERS, len(HANDLERS))]
            question = chance.choice(asked)
            for name, by in order:
                event, more = events[name]
                fields = home.fields(event, **more(question))
                took = _timed(home, by, fields, servers)
                if number:
                    found[f"{name}, by {by}"].append(took)
            home.empty_spool()
            common.tell(f"handlers, round {number} of {rounds}")
    return {
        name: {
            "wall": common.spread([wall for wall, _, _ in took]),
            "cpu": common.spread([cpu for _, cpu, _ in took]),
            "told": sum(told for _, _, told in took),
        }
        for name, took in found.items()
    }


def _timed(home: "Home", by: str, fields: Mapping[str, Any], servers: Servers) -> Took:
    event = str(fields["hook_event_name"])
    before = servers.processor_s()
    began = time.perf_counter()
    own = 0.0
    if by == "command":
        wall, own, code, said = home.call(fields)
        if code:
            raise SystemExit(f"{event} exits {code}")
        told = bool(said)
    elif by == "mcp":
        result = servers.mcp.request(
            "tools/call", {"name": HOOK_TOOL, "arguments": _filled_in(event, fields)}
        )
        wall = time.perf_counter() - began
        told = bool(result["content"])
    else:
        headers = {"Authorization": f"Bearer {servers.token}", "Content-Type": "application/json"}
        path = f"{HOOK_PATH}/claude-code/{event}"
        servers.connection.request("POST", path, json.dumps(fields), headers)
        answer = servers.connection.getresponse()
        told = bool(answer.read())
        wall = time.perf_counter() - began
    return wall, own + servers.processor_s() - before, told


def _filled_in(event: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the tool, as Claude Code fills them in."""
    entry: Any = load_assistant("claude-code").handler_entry("mcp", event, f"ragmem hook {event}", 5)
    given = dict(entry["hooks"][0]["input"])
    for name in given.keys() - {"call"}:
        value = fields.get(name, "")
        given[name] = value if isinstance(value, str) else json.dumps(value)
    return given

"""Measure MCP on stdio with whole processes: the handshake beside Python itself, and calls of a tool.

The processes take turns in one run, so that what else the machine does falls on all of them alike. Beside
ours stands a server of the official SDK with the same tools, which does nothing but answer the handshake.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common

from ragmem import client

QUESTION = "why did the deploy answer 502"
EXAMPLE = common.REPOSITORY / "examples" / "home"

BASELINE, OURS, SDK = "python -c pass", "ragmem mcp", "the SDK's stdio server"
FIRST, WARM = "first call, no warm process", "call, warm"

SDK_SERVER = """
import anyio, sys
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from ragmem.mcp.definitions import INSTRUCTIONS, tools_of
async def listed(context, params):
    return {"tools": [tool.to_json() for tool in tools_of("default")]}
server = Server("ragmem", instructions=INSTRUCTIONS, on_list_tools=listed)
async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
anyio.run(main)
"""

BEGIN = (
    {
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"method": "tools/list"},
)


class Process:
    """One server, spoken to line by line."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = json.dumps({"jsonrpc": "2.0", "id": 1, **request})
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise SystemExit(f"{request['method']}: {answer['error']}")
        return answer

    def search(self) -> float:
        """Return the seconds of a search."""
        begun = time.perf_counter()
        self.ask(
            method="tools/call", params={"name": "search", "arguments": {"query": QUESTION, "project": "*"}}
        )
        return time.perf_counter() - begun

    def end(self) -> float:
        """Let it end; return the processor seconds that it took."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime


def handshake(words: Sequence[str], environ: Mapping[str, str]) -> tuple[float, float]:
    """Return the seconds from the start of a process to the answer of tools/list, and its processor time."""
    process = Process(words, environ)
    for request in BEGIN:
        process.ask(**request)
    wall = time.perf_counter() - process.began
    return wall, process.end()


def alone(environ: Mapping[str, str]) -> tuple[float, float]:
    """Return the same of a Python that does nothing."""
    process = Process([sys.executable, "-c", "pass"], environ)
    _, _, usage = os.wait4(process.process.pid, 0)
    process.process.returncode = 0
    return time.perf_counter() - process.began, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="examples/home")
    parser.add_argument("--rounds", type=int, default=30, metavar="N", help="how often each process starts")
    options = parser.parse_args()
    rounds = 5 if options.quick else options.rounds
    figures: dict[str, dict[str, list[float]]] = {
        name: {"wall": [], "cpu": []} for name in (BASELINE, OURS, SDK, FIRST, WARM)
    }
    with common.temporary_folder("mcp") as folder:
        data = options.data if (options.data / ".claude").is_dir() else EXAMPLE
        environ = common.environment(folder / "ragmem") | {"HOME": str(data)}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        ragmem = str(Path(sys.executable).with_name("ragmem"))
        subprocess.run([ragmem, "seed", "--quiet"], env=environ, cwd=data, check=True)
        home = str(folder / "ragmem" / "data")
        for number in range(rounds + 1):
            common.tell(f"round {number} of {rounds}")
            timed = {
                BASELINE: alone(environ),
                OURS: handshake([ragmem, "mcp"], environ),
                SDK: handshake([sys.executable, "-c", SDK_SERVER], environ),
            }
            # The first round fills the caches of Python and of the system, and is not counted.
            for name, (wall, cpu) in timed.items() if number else ():
                figures[name]["wall"].append(wall)
                figures[name]["cpu"].append(cpu)
        for _ in range(max(3, rounds // 5)):
            client.stop(home, deadline=time.monotonic() + 10)
            figures[FIRST]["wall"].append(calls(ragmem, environ, 1)[0])
        figures[WARM]["wall"] = calls(ragmem, environ, rounds + 1)[1:]
        client.stop(home, deadline=time.monotonic() + 10)
    report(figures, rounds, options)


def calls(ragmem: str, environ: Mapping[str, str], count: int) -> list[float]:
    """Return the seconds of searches, one after the other, by one process."""
    process = Process([ragmem, "mcp"], environ)
    for request in BEGIN:
        process.ask(**request)
    seconds = [process.search() for _ in range(count)]
    process.end()
    return seconds


def report(
    figures: Mapping[str, Mapping[str, list[float]]], rounds: int, options: argparse.Namespace
) -> None:
    document: dict[str, Any] = {"machine": common.machine(), "rounds": rounds, "processes": {}}
    rows = []
    for name, found in figures.items():
        told: dict[str, Any] = {kind: common.spread(values) for kind, values in found.items() if values}
        document["processes"][name] = told
        told["ratio"] = told["wall"]["median"] / common.spread(figures[BASELINE]["wall"])["median"]
        cpu = common.milliseconds(told["cpu"]["median"]) if "cpu" in told else ""
        times = [common.milliseconds(told["wall"][figure]) for figure in ("min", "median", "p95")]
        rows.append([name, *times, cpu, f"{told['ratio']:.1f}"])
    headers = [
        "whole process, to the answer of tools/list",
        "min ms",
        "p50 ms",
        "p95 ms",
        "CPU p50 ms",
        "times Python",
    ]
    notes = [
        f"{rounds} interleaved rounds; calls are searches in the home of examples/home, without the handshake"
    ]
    common.report("mcp", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    sys.exit(main())

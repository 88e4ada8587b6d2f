"""Measure start-up: instant answers, help and a cold query, compared with Python itself.

The commands take turns in one run, so that what else the machine does falls on all of them alike; the
minimum is the figure to compare, the median the one that is felt.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common

EXAMPLE = common.REPOSITORY / "examples" / "home"
QUESTION = "why did the deploy answer 502"

BASELINE = "python -c pass"
COMMANDS: dict[str, list[str]] = {
    BASELINE: [],
    "ragmem --version": ["--version"],
    "ragmem __complete source x": ["__complete", "source", "x"],
    "ragmem hook SessionStart": ["hook", "SessionStart"],
    "ragmem --help": ["--help"],
    "ragmem query --help": ["query", "--help"],
    "ragmem inspect graph --help": ["inspect", "graph", "--help"],
    "ragmem query, cold": ["query", QUESTION],
}
QUERY = "ragmem query, cold"

RUN = "import sys; from ragmem.__main__ import run; run(sys.argv[1:])"
COUNT = "; import sys; sys.stderr.write(chr(10) + str(len(sys.modules)))"


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="examples/home")
    parser.add_argument("--rounds", type=int, default=25, metavar="N", help="how often each command starts")
    options = parser.parse_args()
    rounds = 5 if options.quick else options.rounds
    data = options.data if (options.data / ".claude").is_dir() else EXAMPLE
    document: dict[str, Any] = {"machine": common.machine(), "rounds": rounds, "commands": {}}
    notes = []
    with common.temporary_folder("startup") as folder:
        environ = environment(folder, data)
        commands = dict(COMMANDS)
        problem = seed(data, environ)
        if problem:
            del commands[QUERY]
            notes.append(f"no cold query: {problem}")
        figures = {name: {"wall": [], "cpu": []} for name in commands}
        # The first round fills the caches of Python and of the system, and is not counted.
        for number in range(rounds + 1):
            for name, words in commands.items():
                wall, cpu = start(name, words, environ, data)
                if number:
                    figures[name]["wall"].append(wall)
                    figures[name]["cpu"].append(cpu)
            common.tell(f"round {number} of {rounds}")
        for name, words in commands.items():
            document["commands"][name] = {
                "wall": common.spread(figures[name]["wall"]),
                "cpu": common.spread(figures[name]["cpu"]),
                "modules": modules(words, environ, data),
            }
    report(document, options, notes)


def environment(folder: Path, data: Path) -> dict[str, str]:
    """Return the environment of all processes: the example's home, and bytecode that is kept."""
    environ = common.environment(folder / "ragmem") | {
        "HOME": str(data),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    # Unset where tests and containers set it: a person's Python keeps its bytecode.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return environ


def line_of(name: str, words: Sequence[str]) -> list[str]:
    if name == BASELINE:
        return [sys.executable, "-c", "pass"]
    script = Path(sys.executable).with_name("ragmem")
    return [sys.executable, *([str(script)] if script.is_file() else ["-m", "ragmem"]), *words]


def seed(data: Path, environ: Mapping[str, str]) -> str:
    """Fill the home of the cold query; return what went wrong, or an empty text."""
    if not data.is_dir():
        return f"{data} is missing"
    common.tell(f"seeding {data}")
    for words in (["seed", "--quiet"], ["query", QUESTION]):
        done = subprocess.run(
            line_of("ragmem", words), env=environ, cwd=data, capture_output=True, text=True, check=False
        )
        if done.returncode:
            reason = (done.stderr.splitlines() or ["nothing found"])[0]
            return f"ragmem {words[0]} exits {done.returncode}: {reason}"
    return ""


def start(name: str, words: Sequence[str], environ: Mapping[str, str], data: Path) -> tuple[float, float]:
    """Run a command to its end; return wall seconds and the processor seconds of user and system."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        line_of(name, words),
        env=environ,
        cwd=data if data.is_dir() else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{name} exits {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def modules(words: Sequence[str], environ: Mapping[str, str], data: Path) -> int:
    """Return how many modules a command has loaded at its end."""
    code = (RUN if words else "pass") + COUNT
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=environ,
        cwd=data if data.is_dir() else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stderr.split()[-1])


def report(document: dict[str, Any], options: Any, notes: Sequence[str]) -> None:
    baseline = document["commands"][BASELINE]
    rows = []
    for name, found in document["commands"].items():
        found["ratio"] = found["cpu"]["min"] / baseline["cpu"]["min"]
        found["modules_above"] = found["modules"] - baseline["modules"]
        wall, cpu = found["wall"], found["cpu"]
        figures = (wall["min"], wall["median"], cpu["min"], cpu["median"])
        rows.append(
            [
                name,
                *(common.milliseconds(figure) for figure in figures),
                f"{found['ratio']:.1f}",
                f"{found['modules_above']:+d}",
            ]
        )
    headers = [
        "command",
        "wall min ms",
        "wall median ms",
        "CPU min ms",
        "CPU median ms",
        "CPU ratio",
        "modules",
    ]
    common.report(
        "startup",
        document,
        headers,
        rows,
        options=options,
        notes=[
            *notes,
            f"{document['rounds']} interleaved rounds; CPU: user plus system; ratio, modules: to {BASELINE}",
        ],
    )


if __name__ == "__main__":
    main()

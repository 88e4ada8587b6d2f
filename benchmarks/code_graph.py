"""Measure the ingestion of a project's code: the first one, without changes, and after one changed file.

    python benchmarks/code_graph.py [--data REPOSITORY] [--files N] [--json FILE] [--markdown FILE]

One project is generated (1,000 files of Python that import, inherit, call and test each other), the other is
a copy of a real repository, this one unless another is named. The script is not called `code.py`, which would
hide Python's own module of that name.
"""

import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import common

from ragmem.api.memory import Ragmem
from ragmem.services.code.report import CodeReport

FILES = 1_000
QUICK = 100
REPEATS = 3
"""Runs of each sort, of which the median counts."""

SETTLED_S = 100
"""The files are made to seem so old, in seconds, that their times can be trusted."""

LOOKUPS = 200

HEADERS = ["project", "run", "files read", "files written", "seconds", "CPU s", "written"]

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "*.gz", "*.db")


def main() -> None:
    """Measure both projects and print a table."""
    parser = common.arguments(__doc__ or "", data=".")
    parser.add_argument("--files", type=int, default=FILES, help="files of the generated project")
    options = parser.parse_args()
    document: dict[str, Any] = {"benchmark": "code", "machine": common.machine(), "projects": {}}
    rows, notes = [], []
    with common.temporary_folder("code") as folder:
        generated = folder / "generated"
        generate(generated, QUICK if options.quick else options.files)
        ours = options.data.resolve() == common.REPOSITORY
        real = folder / ("this repository" if ours else options.data.resolve().name)
        shutil.copytree(options.data, real, ignore=LEFT_OUT)
        for root in (generated, real):
            common.tell(f"reading {root.name}")
            figures = measure(root, folder / "home" / root.name)
            document["projects"][root.name] = figures
            rows += [row(root.name, run) for run in figures["runs"]]
            notes.append(note(root.name, figures))
    common.report("code", document, HEADERS, rows, options=options, notes=notes)


def measure(root: Path, home: Path) -> dict[str, Any]:
    """Return the figures of one project."""
    age(root)
    with Ragmem.open(environ=common.environment(home), home=root.parent, cwd=root) as memory:
        runs = [timed("first", lambda: memory.code.ingest(root), once=True)]
        runs.append(timed("nothing changed", lambda: memory.code.ingest(root)))
        changed = largest(root)
        runs.append(timed("a comment added to one file", lambda: edited(memory, root, changed, "\n# more\n")))
        defined = "\n\ndef newly_defined():\n    return 1\n"
        runs.append(timed("a function added to one file", lambda: edited(memory, root, changed, defined)))
        report = memory.code.ingest(root)
        return {
            "runs": runs,
            "files": report.files,
            "bytes": sum(path.stat().st_size for path in root.rglob("*.py")),
            "symbols": report.symbols,
            "edges": report.edges,
            "database_bytes": Path(memory.catalog.database.place).stat().st_size,
            "lookups": lookups(memory, report.project),
        }


def timed(name: str, run: Callable[[], CodeReport], *, once: bool = False) -> dict[str, Any]:
    """Return what a run took, the median of several unless it can be done but once."""
    took = []
    for _ in range(1 if once else REPEATS):
        written, cpu, started = common.written_bytes(), time.process_time(), time.perf_counter()
        report = run()
        took.append((time.perf_counter() - started, time.process_time() - cpu))
        now = common.written_bytes()
    read = len(report.new) + len(report.changed)
    return {
        "run": name,
        "read": read,
        "written": read + len(report.relinked),
        "seconds": statistics.median(wall for wall, _ in took),
        "cpu": statistics.median(used for _, used in took),
        "bytes": None if now is None or written is None else now - written,
    }


def edited(memory: Ragmem, root: Path, path: Path, more: str) -> CodeReport:
    """Add lines to a file and bring the graph up to date."""
    with path.open("a") as file:
        file.write(more)
    return memory.code.ingest(root)


def lookups(memory: Ragmem, project: str) -> dict[str, float]:
    """Return the median seconds of each way to look a symbol up."""
    code = memory.catalog.code
    paths = [file.path for file in code.files(project)]
    chosen = random.Random(1).sample(paths, min(len(paths), LOOKUPS))
    symbols = [located[-1].symbol for path in chosen if (located := code.symbols(project, [path]))]
    ways: dict[str, Callable[[Any], object]] = {
        "by qualified name": lambda symbol: code.find(project, symbol.qualified),
        "by name": lambda symbol: code.find(project, symbol.name),
        "edges from": lambda symbol: code.edges_from(project, [symbol.qualified]),
        "edges to": lambda symbol: code.edges_to(project, [symbol.qualified]),
    }
    found = {}
    for name, look in ways.items():
        took = []
        for symbol in symbols:
            started = time.perf_counter()
            look(symbol)
            took.append(time.perf_counter() - started)
        found[name] = statistics.median(took)
    return found


def row(name: str, run: dict[str, Any]) -> list[str]:
    """Return one line of the table."""
    written = "-" if run["bytes"] is None else f"{run['bytes'] / 1e3:,.0f} kB" if run["bytes"] else "nothing"
    counts = [f"{run['read']:,}", f"{run['written']:,}"]
    return [name, run["run"], *counts, f"{run['seconds']:.2f}", f"{run['cpu']:.2f}", written]


def note(name: str, figures: dict[str, Any]) -> str:
    """Return what a project holds, in one line."""
    looked = ", ".join(f"{way} {common.milliseconds(took)} ms" for way, took in figures["lookups"].items())
    return (
        f"{name}: {figures['files']:,} files, {figures['bytes'] / 1e6:.1f} MB of Python,"
        f" {figures['symbols']:,} symbols, {figures['edges']:,} edges,"
        f" {figures['database_bytes'] / 1e6:.0f} MB in the database; a lookup {looked}"
    )


def largest(root: Path) -> Path:
    """Return the largest file of Python."""
    return max(root.rglob("*.py"), key=lambda path: path.stat().st_size)


def age(root: Path) -> None:
    """Let all files be older than what could have changed unseen."""
    then = time.time() - SETTLED_S
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (then, then))


def generate(root: Path, files: int) -> None:
    """Write a project of packages with modules, classes and tests, always the same for the same number."""
    for number in range(files):
        package = root / f"package_{number % 25}"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        test = number % 5 == 4
        path = package / (f"test_module_{number}.py" if test else f"module_{number}.py")
        path.write_text("\n".join(module(number, files, test=test)) + "\n")


def module(number: int, files: int, *, test: bool) -> Iterator[str]:
    """Yield the lines of one module, which uses four of those before it."""
    dice = random.Random(number)
    used = sorted({other for other in dice.sample(range(files), 6) if other < number and other % 5 != 4})[:4]
    yield f'"""Module {number}: what the benchmark reads."""'
    yield ""
    for other in used:
        yield f"from package_{other % 25}.module_{other} import Worker{other}, step_{other}_0"
    base = f"(Worker{used[0]})" if used else ""
    yield ""
    yield ""
    if test:
        yield f"def test_{number}():"
        yield f"    worker = Worker{used[0]}(1)" if used else "    worker = None"
        yield from (f"    assert step_{other}_0(2) is not None" for other in used)
        yield "    assert worker is not worker.run" if used else "    assert worker is None"
        return
    yield f"class Worker{number}{base}:"
    yield f'    """Does the work of module {number}."""'
    yield ""
    yield "    def __init__(self, size):"
    yield "        self.size = size"
    for method in range(4):
        yield ""
        yield f"    def {'run' if method == 0 else f'part_{method}'}(self, value):"
        yield f'        """Do part {method}."""'
        yield f"        return self.part_{min(method + 1, 3)}(value) if value else self.size"
    for function in range(6):
        yield ""
        yield ""
        yield f"def step_{number}_{function}(value):"
        yield f'    """Take step {function}."""'
        yield f"    worker = Worker{number}(value)"
        yield from (f"    value = step_{other}_0(value)" for other in used[:2])
        yield "    return worker.run(value)"


if __name__ == "__main__":
    sys.exit(main())

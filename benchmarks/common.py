"""What the benchmarks share: arguments, the machine they ran on, figures, tables, sections of the docs."""

import argparse
import importlib.metadata
import json
import math
import os
import platform
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fingerprint import fingerprint

REPOSITORY = Path(__file__).resolve().parent.parent

PACKAGES = ("ragmem", "lightrag-hku", "numpy", "onnxruntime", "mlx")

BUSY = 0.5
"""Load per core before a run, from which its figures are marked as taken on a busy machine."""


def arguments(description: str, *, data: str | None = None) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark; without `data` there is no --data."""
    parser = argparse.ArgumentParser(description=description)
    if data is not None:
        parser.add_argument(
            "--data", type=Path, default=REPOSITORY / data, metavar="DIR", help="what to read"
        )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="update the section of FILE in place")
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    return parser


def machine() -> dict[str, Any]:
    """Return processor, cores, memory, versions, commit and the load before the run."""
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    load = os.getloadavg()[0]
    cores = available_cores()
    return {
        "date": f"{datetime.now(tz=UTC):%Y-%m-%d}",
        "processor": _processor(),
        "cores": cores,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions,
        "commit": _commit(),
        "load_before": round(load, 2),
        "busy": load > BUSY * cores,
    }


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if platform.system() == "Darwin":
        asked = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False
        )
        if asked.stdout.strip():
            return asked.stdout.strip()
    return platform.processor() or platform.machine()


def _commit() -> str:
    """Return the short commit, with a plus where the package differs from it."""

    def git(*words: str) -> str:
        asked = subprocess.run(
            ["git", "-C", str(REPOSITORY), *words], capture_output=True, text=True, check=False
        )
        return asked.stdout.strip()

    changed = git("status", "--porcelain", "--", "ragmem", "sources.toml", "decay.json")
    return f"{git('rev-parse', '--short', 'HEAD') or 'unknown'}{'+' if changed else ''}"


def describe(about: Mapping[str, Any]) -> str:
    """Return the machine, the versions and the commit in one line."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    busy = ", busy with other work" if about["busy"] else ""
    return (
        f"{about['date']}, {about['processor']}, {about['cores']} cores, {about['memory_gb']} GB{busy}; "
        f"{about['system']}; {versions}; commit {about['commit']}"
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed; NaN for none."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return minimum, median, 95th percentile, maximum and count."""
    if not values:
        return {"min": math.nan, "median": math.nan, "p95": math.nan, "max": math.nan, "n": 0}
    return {
        "min": min(values),
        "median": statistics.median(values),
        "p95": percentile(values, 0.95),
        "max": max(values),
        "n": len(values),
    }


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns, the first to the left and the others to the right."""
    widths = [max(len(str(row[place])) for row in [headers, *rows]) for place in range(len(headers))]

    def line(cells: Sequence[str]) -> str:
        aligned = [str(cells[0]).ljust(widths[0])]
        aligned += [str(cell).rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join(aligned).rstrip()

    return "\n".join([line(headers), line(["-" * width for width in widths]), *map(line, rows)])


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as a table of Markdown."""
    lines = [list(headers), ["---", *["---:"] * (len(headers) - 1)], *[list(row) for row in rows]]
    return "\n".join(f"| {' | '.join(str(cell) for cell in cells)} |" for cells in lines)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document; NaN becomes null, which every reader of JSON understands."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_plain(document), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def write_section(path: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of a section; a file without them gets them at its end."""
    begin, end = f"<!-- BEGIN {name} -->", f"<!-- END {name} -->"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin not in before or end not in before:
        before = f"{before.rstrip()}\n\n{begin}\n{end}\n".lstrip()
    head, _, rest = before.partition(begin)
    _, _, tail = rest.partition(end)
    path.write_text(f"{head}{begin}\n{text.strip()}\n{end}{tail}", encoding="utf-8")


def report(
    name: str,
    document: Mapping[str, Any],
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    options: argparse.Namespace,
    notes: Sequence[str] = (),
) -> None:
    """Write the files that were asked for, then print the notes, the machine and the table."""
    about = describe(document["machine"])
    if options.json:
        write_json(options.json, document)
    if options.markdown:
        lines = "".join(f"\n- {note}" for note in notes)
        script = Path(sys.argv[0]).stem
        record = f"<!-- measured by benchmarks/{script}.py of code {fingerprint(script) or 'unknown'} -->"
        write_section(
            options.markdown,
            name,
            f"{markdown_table(headers, rows)}\n{lines}\n\n_Measured {about}._\n{record}",
        )
    print()
    for note in notes:
        print(f"note: {note}")
    print(about)
    print()
    print(table(headers, rows))


def tell(text: str) -> None:
    """Say how far it is, on standard error."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def environment(home: Path) -> dict[str, str]:
    """Return this environment with another home for ragmem; its other variables stay as they are set."""
    return {**os.environ, "RAGMEM_HOME": str(home), "NO_COLOR": "1"}


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Give a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"ragmem-{prefix}-") as name:
        yield Path(name).resolve()


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """End another process with the block, also where this one is told to end in the middle of it."""

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        for number, handler in before.items():
            signal.signal(number, handler)


def written_bytes() -> int | None:
    """Return the bytes that this process has handed to write(); None where the system does not tell."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def peak_memory_mb(who: int = resource.RUSAGE_SELF) -> float:
    """Return the largest resident size so far; RUSAGE_CHILDREN tells that of the largest finished child."""
    return resident_mb(resource.getrusage(who))


def children_cpu_seconds() -> float:
    """Return the processor seconds, user and system, of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def resident_mb(usage: resource.struct_rusage) -> float:
    """Return the largest resident size that the system tells of."""
    return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def milliseconds(seconds: float) -> str:
    """Return seconds as milliseconds with three digits that matter."""
    value = seconds * 1000
    return "-" if math.isnan(value) else f"{value:.1f}" if value < 100 else f"{value:,.0f}"

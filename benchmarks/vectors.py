"""Measure the vector index at sizes up to a million: building, opening, searching, adding, recall, memory.

Ours reads its rows from a real database. Beside it, in the same run and over the same vectors: an exact scan
of float32, one of int8, and what LightRAG's default storage does. Each step is a process of its own.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common

NAMES = {
    "ours": "ragmem",
    "float32": "exact float32 scan",
    "int8": "exact int8 scan",
    "default": "NanoVectorDB",
}
SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (2_000, 5_000)
QUICK_TEXTS = 300
SEED = 7
DEPTH = 10
QUERIES, MANY, FEW_QUERIES, FEWEST_QUERIES = 300, 500_000, 100, 20
"""Questions that are asked of each system. From MANY rows on, ours gets FEW_QUERIES and the scans get fewer;
NanoVectorDB, which would write a file of 2 GB for each vector that is added, is left out."""

STARTS, FEW_STARTS = 5, 3
ADDS = 5
SHARES = {"project-1": 0.01, "project-10": 0.10}
"""Projects that are asked for, and their share of the rows; the others belong to one more."""

OWNERS = (*SHARES, "others")

ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
"""Of all systems: one thread, as ragmem sets it."""


def work(options: argparse.Namespace) -> dict[str, Any]:
    """Do one step for one system in this process, and return the figures."""
    # Imported here, so that the start of a search can be told from that of Python.
    import numpy as np
    from stores.vector_systems import SYSTEMS, Ours

    folder = options.folder
    system = SYSTEMS[options.system](folder / options.system)
    if options.step in {"store", "build"}:
        vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        projects = json.loads((folder / "projects.json").read_text())
        started = time.perf_counter()
        if options.step == "store":
            assert isinstance(system, Ours)
            system.store(vectors, projects)
        else:
            system.build(vectors, projects)
        system.close()
        return {"seconds": time.perf_counter() - started}
    queries = np.load(folder / "queries.npy")
    started = time.perf_counter()
    assert len(system.search(queries[0], DEPTH, None)) == DEPTH
    figures: dict[str, Any] = {"open": time.perf_counter() - started, "first_memory": memory_mb()}
    if options.step == "warm":
        if options.system != "ours" and len(np.load(folder / "vectors.npy", mmap_mode="r")) >= MANY:
            queries = queries[:FEWEST_QUERIES]
        figures["all"], figures["found"] = asked(system, queries, None)
        for project in OWNERS:
            figures[project], figures[f"found {project}"] = asked(system, queries, project)
        figures["memory"] = memory_mb()
    if options.step == "find":
        # Another process tells the number of a vector that it has added.
        fresh = np.load(folder / "fresh.npy")
        print("ready", flush=True)
        for line in sys.stdin:
            turn = int(line)
            print(json.dumps(system.search(fresh[turn], 1, None)), flush=True)
    if options.step == "add":
        figures["add"] = add(options, system)
    system.close()
    return figures


def asked(system: Any, queries: Any, project: str | None) -> tuple[list[float], list[list[int]]]:
    """Return the seconds of each question and the rows that it found."""
    seconds, found = [], []
    for query in queries:
        started = time.perf_counter()
        found.append(system.search(query, DEPTH, project))
        seconds.append(time.perf_counter() - started)
    return seconds, found


def add(options: argparse.Namespace, system: Any) -> list[float]:
    """Return the seconds from each addition until another process, which is warm, has found the vector."""
    import numpy as np

    fresh = np.load(options.folder / "fresh.npy")
    size = len(np.load(options.folder / "vectors.npy", mmap_mode="r"))
    with subprocess.Popen(
        words(options.system, "find", options.folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        seconds = []
        for turn, vector in enumerate(fresh):
            started = time.perf_counter()
            system.add(vector, size + turn)
            other.stdin.write(f"{turn}\n")
            other.stdin.flush()
            found = json.loads(other.stdout.readline())
            seconds.append(time.perf_counter() - started)
            assert found == [size + turn], (found, size + turn)
        other.stdin.close()
    return seconds


def memory_mb() -> dict[str, float]:
    """Return the peak of resident memory, and what of it belongs to no file now, where the system tells."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return {"peak": common.peak_memory_mb()}
    fields = {"peak": "VmHWM", "anonymous": "RssAnon", "files": "RssFile"}
    return {name: int(re.findall(rf"{field}:\s+(\d+)", status)[0]) / 1024 for name, field in fields.items()}


def words(system: str, step: str, folder: Path) -> list[str]:
    """Return the command line of a step."""
    return [sys.executable, __file__, "--step", step, "--system", system, "--folder", str(folder)]


def start(system: str, step: str, folder: Path) -> Any:
    """Run a step and return its figures."""
    ended = subprocess.run(
        words(system, step, folder), stdout=subprocess.PIPE, text=True, check=True, env=ENVIRONMENT
    )
    return json.loads(ended.stdout.splitlines()[-1])


def prepare(folder: Path, size: int, real: Any, questions: Any) -> dict[str, Any]:
    """Write vectors, projects and questions of a size, and return what an exact search finds."""
    import numpy as np
    from inputs.real_vectors import extend, nearest

    chance = np.random.default_rng(SEED)
    vectors = extend(chance.permutation(real), size, chance)
    queries = chance.permutation(questions)[: QUERIES if size < MANY else FEW_QUERIES]
    names = np.full(size, OWNERS[-1], "U16")
    order, taken = chance.permutation(size), 0
    for project, share in SHARES.items():
        count = int(share * size)
        names[order[taken : taken + count]] = project
        taken += count
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "queries.npy", queries)
    np.save(folder / "fresh.npy", extend(real, len(real) + ADDS, chance)[len(real) :])
    (folder / "projects.json").write_text(json.dumps(names.tolist()))
    truth = {"found": nearest(vectors, queries, DEPTH, np.arange(size)).tolist()}
    for project in OWNERS:
        rows = np.flatnonzero(names == project)
        truth[f"found {project}"] = nearest(vectors, queries, DEPTH, rows).tolist()
    return {"real": min(len(real), size), "queries": len(queries), "truth": truth}


def recall(found: list[list[int]], truth: list[list[int]], below: float) -> float:
    """Return the share of the true rows with a number below this one that were found."""
    pairs = [
        (set(got), {row for row in exact if row < below}) for got, exact in zip(found, truth, strict=False)
    ]
    return sum(len(got & exact) for got, exact in pairs) / max(1, sum(len(exact) for _, exact in pairs))


def measure(size: int, systems: list[str], real: Any, questions: Any) -> dict[str, Any]:
    """Return the figures of every system at a size."""
    results: dict[str, Any] = {}
    with common.temporary_folder("vectors") as folder:
        about = prepare(folder, size, real, questions)
        truth = about.pop("truth")
        common.tell(f"{size:,} vectors, {about['real']:,} of them real: prepared")
        for system in systems:
            (folder / system).mkdir()
            row: dict[str, Any] = dict(about)
            if system == "ours":
                row["rows_seconds"] = start(system, "store", folder)["seconds"]
                row["rows_bytes"] = common.folder_bytes(folder / system)
            row["build_seconds"] = start(system, "build", folder)["seconds"]
            row["bytes"] = common.folder_bytes(folder / system) - row.get("rows_bytes", 0)
            results[system] = row
            common.tell(f"{NAMES[system]}: built in {row['build_seconds']:.1f} s")
        # In turns, so that a load that comes and goes falls on all of them.
        opened: dict[str, list[Any]] = {system: [] for system in systems}
        processes: dict[str, list[float]] = {system: [] for system in systems}
        for _ in range(STARTS if size < MANY else FEW_STARTS):
            for system in systems:
                started = time.perf_counter()
                opened[system].append(start(system, "open", folder))
                processes[system].append(time.perf_counter() - started)
        for system in systems:
            row = results[system]
            row["open"] = common.spread([one["open"] for one in opened[system]])
            row["process"] = common.spread(processes[system])
            row["first_memory"] = opened[system][0]["first_memory"]
            warm = start(system, "warm", folder)
            for name, exact in truth.items():
                row[f"recall {name}"] = recall(warm[name], exact, size)
            row["recall_real"] = recall(warm["found"], truth["found"], about["real"])
            row |= {name: common.spread(warm[name]) for name in warm if name == "all" or name in OWNERS}
            row["memory"] = warm["memory"]
            row["add"] = common.spread(start(system, "add", folder)["add"])
            common.tell(
                f"{NAMES[system]}: {common.milliseconds(row['all']['median'])} ms, "
                f"recall {row['recall found']:.4f}"
            )
    return results


def table(results: dict[int, Any]) -> tuple[list[str], list[list[str]]]:
    headers = ["vectors, system", "build s", "open + first ms", "p50 ms", "p95 ms"]
    headers += ["1 % filter p50 ms", "10 % p50 ms", "89 % p50 ms", "add to found ms"]
    headers += ["recall@10", "real only", "10 % recall@10", "disk MB", "peak MB", "of which anonymous"]
    rows = []
    for size, by_system in results.items():
        for system, row in by_system.items():
            cells = [f"{size:,} {NAMES[system]}", f"{row['build_seconds']:.1f}"]
            cells += [
                common.milliseconds(row[name][figure])
                for name, figure in (
                    ("open", "median"),
                    ("all", "median"),
                    ("all", "p95"),
                    *((project, "median") for project in OWNERS),
                    ("add", "median"),
                )
            ]
            cells += [
                f"{row[name]:.4f}" for name in ("recall found", "recall_real", "recall found project-10")
            ]
            memory = row["memory"]
            cells += [f"{row['bytes'] / 2**20:,.0f}", f"{memory['peak']:,.0f}"]
            cells.append(f"{memory['anonymous']:,.0f}" if "anonymous" in memory else "-")
            rows.append(cells)
    return headers, rows


def remarks(results: dict[int, Any], model: str) -> list[str]:
    """Return what the table does not say."""
    lines = [
        f"model {model}; the {DEPTH} nearest; recall compared with exact float32",
        "real only: recall among the nearest vectors that come from a real text, not from a mixture",
        "open + first: in a new process, after the imports; peak: of the process that asked all questions",
    ]
    for size, by_system in results.items():
        row = by_system.get("ours")
        if row is None:
            continue
        rows = f"{row['rows_seconds']:.1f} s, {row['rows_bytes'] / 2**20:,.0f} MB"
        process = common.milliseconds(row["process"]["median"])
        lines.append(
            f"{size:,}: {row['real']:,} vectors of real texts, {row['queries']} real questions; rows in the "
            f"database: {rows}; a whole process that searches once: {process} ms, "
            f"{row['first_memory']['peak']:,.0f} MB at its peak"
        )
    return lines


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument("--sizes", help="numbers of vectors, separated by commas")
    parser.add_argument("--systems", default=",".join(NAMES), help=f"of {', '.join(NAMES)}")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "ragmem-vectors",
        metavar="DIR",
        help="where vectors of texts are kept between runs",
    )
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--system", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        figures = work(options)
        if options.step != "find":
            print(json.dumps(figures))
        return
    from inputs.real_vectors import embedded

    about = common.machine()
    started = time.perf_counter()
    sizes = [int(size) for size in options.sizes.split(",")] if options.sizes else None
    sizes = sizes or list(QUICK_SIZES if options.quick else SIZES)
    real, questions, model = embedded(options.data, options.cache, QUICK_TEXTS if options.quick else None)
    results = {}
    for size in sizes:
        systems = [name for name in options.systems.split(",") if name != "default" or size < MANY]
        results[size] = measure(size, systems, real, questions)
    document = {
        "benchmark": "vectors",
        "machine": about,
        "model": model,
        "seconds": time.perf_counter() - started,
        "sizes": results,
    }
    headers, rows = table(results)
    common.report("vectors", document, headers, rows, options=options, notes=remarks(results, model))


if __name__ == "__main__":
    main()

"""Measure how storing scales: ragmem on SQLite and on PostgreSQL, and LightRAG's default files.

All get the same documents (one chunk, six entities of which two are shared hubs, five relations) and the same
embedder, which costs next to nothing. Each build and each round of questions or inserts is a process.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import common

NAMES = {"ours": "ragmem", "postgres": "ragmem on PostgreSQL", "default": "LightRAG default"}
SIZES = (150, 1_500, 15_000)
LARGE = 100_000
"""What ragmem on SQLite is measured with besides: about a million vectors of the graph."""

QUERIES = 30
ROUNDS = 3
SLOW_SIZE = 10_000
"""From this size on, an insert into the default storages takes so long that a few must do."""

MODES = ("naive", "mix")

# What is promised; seconds, megabytes and ratios.
FLATNESS = 1.5
SPIKE = 5
ADVANTAGE = 500
OPEN = 0.050
SEARCH_P95 = 0.015
NAIVE_P95 = 0.050
PEAK_MB = 500
JUDGED = 15_000
"""The size at which searches are held against their promises."""


def work(options: argparse.Namespace) -> dict[str, Any]:
    """Build, ask or fill one store in this process, and return the figures."""
    # Imported here: the parent process needs none of it.
    from stores.default_store import Default
    from stores.store_systems import Ours, Postgres, fingerprint

    from ragmem.backends.lightrag.storages.registration import import_lightrag

    import_lightrag(options.folder)
    make: Any = {"ours": Ours, "postgres": Postgres, "default": Default}[options.system]
    if options.worker == "build":
        started, processor = time.perf_counter(), time.process_time()
        system = make(options.folder)
        system.build(options.size)
        system.close()
        figures = {
            "seconds": time.perf_counter() - started,
            "processor_seconds": time.process_time() - processor,
            "peak_mb": common.peak_memory_mb(),
        }
        return figures | {"documents": fingerprint(options.size), "machine": common.machine()}
    if options.worker == "ask":
        return ask(make, options)
    return insert(make, options)


def ask(make: Callable[[Path], Any], options: argparse.Namespace) -> dict[str, Any]:
    """Open a store and ask it; nothing is written, so that the peak is that of a process that asks."""
    from stores.store_systems import Ours, questions

    (first, *asked) = questions(QUERIES + 1, options.size)
    started = time.perf_counter()
    system = make(options.folder)
    assert system.search(first[0])
    figures: dict[str, Any] = {"open": time.perf_counter() - started}
    figures["search"] = [timed(lambda text=text: system.search(text)) for text, _ in asked]
    figures["search_peak_mb"] = common.peak_memory_mb()
    for mode in MODES:
        system.native(mode, *first)
        figures[mode] = [
            timed(lambda text=text, words=words, mode=mode: system.native(mode, text, words))
            for text, words in asked
        ]
    if isinstance(system, Ours):
        system.query(first[0])
        figures["query"] = [timed(lambda text=text: system.query(text)) for text, _ in asked]
    figures["disk"], figures["counts"] = system.disk(), system.counts()
    system.close()
    return figures | {"peak_mb": common.peak_memory_mb()}


def insert(make: Callable[[Path], Any], options: argparse.Namespace) -> dict[str, Any]:
    """Add documents one by one, in a process that has the store open."""
    from stores.store_systems import Ours, document

    system = make(options.folder)
    fresh = [document(number) for number in range(options.first, options.first + 2 * options.inserts + 2)]
    system.insert(fresh.pop())  # the first one opens files and prepares statements
    before, processor = system.written(), time.process_time()
    figures: dict[str, Any] = {
        "insert": [timed(lambda one=one: system.insert(one)) for one in fresh[: options.inserts]]
    }
    figures["insert_cpu"] = (time.process_time() - processor) / options.inserts
    after = system.written()
    figures["written"] = None if before is None or after is None else (after - before) / options.inserts
    if isinstance(system, Ours):
        system.ingest(fresh.pop())
        figures["ingest"] = [
            timed(lambda one=one: system.ingest(one)) for one in fresh[options.inserts : 2 * options.inserts]
        ]
        figures["named"], figures["named_cpu"] = [], []
        for number in range(options.first, options.first + options.inserts):
            processor = time.process_time()
            figures["named"].append(timed(lambda number=number: system.ingest_named(number)))
            figures["named_cpu"].append(time.process_time() - processor)
    system.close()
    return figures


def timed(action: Callable[[], Any]) -> float:
    """Return the seconds that an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


class Run:
    """One run over all sizes and systems, on homes that may have been built before."""

    def __init__(self, root: Path, url: str, inserts: int) -> None:
        self.root = root
        self.url = url
        self.inserts = inserts

    def start(self, worker: str, system: str, size: int, **more: int) -> Any:
        """Run a worker process and return its figures."""
        words = [sys.executable, __file__, "--worker", worker, "--system", system, "--size", str(size)]
        words += ["--folder", str(self.folder(system, size))]
        for name, value in more.items():
            words += [f"--{name}", str(value)]
        environ = dict(os.environ)
        if system == "postgres":
            environ["RAGMEM_STORE_URL"] = self.url.replace("/postgres?", f"/bench_{size}?")
        ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=environ)
        return json.loads(ended.stdout.splitlines()[-1])

    def folder(self, system: str, size: int) -> Path:
        """Return where a store lies."""
        return self.root / f"{system}-{size}"

    def build(self, system: str, size: int) -> dict[str, Any]:
        """Return the figures of a build, of this run or of the one that left the home."""
        folder = self.folder(system, size)
        kept = folder.with_suffix(".json")
        if kept.is_file():
            figures: dict[str, Any] = json.loads(kept.read_text())
            return figures
        folder.mkdir()
        figures = self.start("build", system, size) | {"next": size}
        kept.write_text(json.dumps(figures))
        common.tell(f"{NAMES[system]}, {size:,} documents: built in {figures['seconds']:.1f} s")
        return figures

    def fill(self, system: str, size: int) -> dict[str, Any]:
        """Insert into a store, never the same document twice."""
        kept = self.folder(system, size).with_suffix(".json")
        built = json.loads(kept.read_text())
        inserts = 2 if system == "default" and size >= SLOW_SIZE else self.inserts
        kept.write_text(json.dumps(built | {"next": built["next"] + 2 * inserts + 2}))
        return dict(self.start("insert", system, size, inserts=inserts, first=built["next"]))


def measure(pairs: list[tuple[int, str]], run: Run) -> dict[str, dict[str, Any]]:
    """Return the figures by system and size; in each round every store has its turn, under the same load."""
    results: dict[str, dict[str, Any]] = {}
    for size, system in pairs:
        results[f"{system} {size}"] = {"build": run.build(system, size), "asked": [], "filled": []}
    for turn, (size, system) in itertools.product(range(ROUNDS), pairs):
        figures = results[f"{system} {size}"]
        figures["asked"].append(run.start("ask", system, size))
        figures["filled"].append(run.fill(system, size))
        one = common.milliseconds(statistics.median(figures["filled"][-1]["insert"]))
        common.tell(f"{NAMES[system]}, {size:,} documents, round {turn + 1}: one insert {one} ms")
    for figures in results.values():
        figures["summary"] = summary(figures)
    return results


def summary(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of all rounds together."""
    asked, filled = figures["asked"], figures["filled"]

    def all_of(rounds: list[dict[str, Any]], name: str) -> dict[str, float]:
        return common.spread([value for one in rounds for value in one.get(name, [])])

    written = [one["written"] for one in filled if one["written"] is not None]
    return {
        "build_seconds": figures["build"]["seconds"],
        "build_cpu": figures["build"]["processor_seconds"],
        "build_peak_mb": figures["build"]["peak_mb"],
        "insert": all_of(filled, "insert"),
        "insert_cpu": statistics.median(one["insert_cpu"] for one in filled),
        "ingest": all_of(filled, "ingest"),
        "named": all_of(filled, "named"),
        "named_cpu": all_of(filled, "named_cpu"),
        "written_per_insert": statistics.median(written) if written else None,
        "open": common.spread([one["open"] for one in asked]),
        "search": all_of(asked, "search"),
        **{mode: all_of(asked, mode) for mode in MODES},
        "query": all_of(asked, "query"),
        "disk": asked[0]["disk"],
        "search_peak_mb": max(one["search_peak_mb"] for one in asked),
        "peak_mb": max(one["peak_mb"] for one in asked),
        "counts": asked[0]["counts"],
    }


def table(
    pairs: list[tuple[int, str]], results: dict[str, dict[str, Any]]
) -> tuple[list[str], list[list[str]]]:
    headers = [
        "documents, store",
        "build s",
        "cpu s",
        "insert ms p50",
        "p95",
        "cpu ms",
        "API ingest ms p50",
        "p95",
        "with names ms p50",
        "p95",
        "cpu ms p50",
        "max",
    ]
    headers += ["written/insert KB", "open ms", "search ms p50", "p95", "naive ms p50", "p95"]
    headers += ["mix ms p50", "p95", "query ms p50", "p95", "disk MB", "query peak MB", "build peak MB"]
    rows = []
    for size, system in pairs:
        row = results[f"{system} {size}"]["summary"]
        written = row["written_per_insert"]
        cells = [f"{size:,} {NAMES[system]}", f"{row['build_seconds']:,.1f}", f"{row['build_cpu']:,.1f}"]
        cells += [*two(row["insert"]), common.milliseconds(row["insert_cpu"]), *two(row["ingest"])]
        cells += [*two(row["named"]), *two(row["named_cpu"], "max")]
        cells += ["n/a" if written is None else f"{written / 1000:,.0f}"]
        cells += [common.milliseconds(row["open"]["median"])]
        for name in ("search", *MODES, "query"):
            cells += two(row[name])
        cells += [f"{row['disk'] / 1e6:,.1f}", f"{row['peak_mb']:,.0f}", f"{row['build_peak_mb']:,.0f}"]
        rows.append(cells)
    return headers, rows


def two(spread: dict[str, float], most: str = "p95") -> list[str]:
    """Return the median and the 95th percentile, or the maximum, in milliseconds."""
    return [common.milliseconds(spread["median"]), common.milliseconds(spread[most])]


def verdicts(results: dict[str, dict[str, Any]]) -> Iterator[tuple[str, float, str]]:
    """Yield each promise with its figure and whether it is met, for the sizes that were measured."""

    def judged(figure: float, limit: float, *, at_least: bool = False) -> str:
        return "met" if (figure >= limit if at_least else figure <= limit) else "MISSED"

    ours = {int(name.split()[1]): row["summary"] for name, row in results.items() if name.startswith("ours ")}
    default = {
        int(name.split()[1]): row["summary"] for name, row in results.items() if name.startswith("default ")
    }
    if not ours:
        return
    smallest, largest = min(ours), max(ours)
    for name, about in (
        ("ingest", "API ingest"),
        ("insert", "insert alone"),
        ("named_cpu", "a memory with names, processor time"),
        ("query", "query"),
    ):
        middle = [row[name]["median"] for row in ours.values()]
        figure = max(middle) / min(middle)
        yield (
            f"{about}, {smallest:,} to {largest:,} documents, slowest / fastest (at most {FLATNESS})",
            figure,
            judged(figure, FLATNESS),
        )
    figure = max(row["named_cpu"]["max"] / row["named_cpu"]["median"] for row in ours.values())
    yield f"the slowest memory with names / their median (at most {SPIKE})", figure, judged(figure, SPIKE)
    processor = [row["insert_cpu"] for row in ours.values()]
    yield "insert alone, processor time", max(processor) / min(processor), ""
    figure = max(row["open"]["median"] for row in ours.values()) * 1000
    yield f"open, slowest size, ms (under {OPEN * 1000:.0f})", figure, judged(figure, OPEN * 1000)
    if JUDGED in ours:
        for name, limit in (("search", SEARCH_P95), ("naive", NAIVE_P95)):
            figure = ours[JUDGED][name]["p95"] * 1000
            yield (
                f"{name} p95 at {JUDGED:,}, ms (under {limit * 1000:.0f})",
                figure,
                judged(figure, limit * 1000),
            )
    if largest >= LARGE:
        figure = ours[largest]["peak_mb"]
        yield (
            f"peak of a querying process at {largest:,}, MB (under {PEAK_MB})",
            figure,
            judged(figure, PEAK_MB),
        )
    for size in sorted(ours.keys() & default.keys())[-1:]:
        figure = ours[size]["mix"]["median"] / default[size]["mix"]["median"]
        yield f"mix at {size:,}, ragmem / LightRAG (at most 1)", figure, judged(figure, 1.0)
        figure = default[size]["insert"]["median"] / ours[size]["insert"]["median"]
        kept = judged(figure, ADVANTAGE, at_least=True) if size >= SLOW_SIZE else "counts from 15,000"
        yield f"one insert at {size:,}, LightRAG / ragmem (at least {ADVANTAGE})", figure, kept


@contextmanager
def postgres_server(root: Path, sizes: list[int]) -> Iterator[str]:
    """Give the address of a PostgreSQL server with a database for each size, whose data lies below root."""
    import pgserver

    # The path of a socket is limited to some hundred bytes, so the server gets one of its own.
    server = pgserver.get_server(root / "postgres-data")
    have = server.psql("SELECT datname FROM pg_database")
    for size in sizes:
        if f"bench_{size}" not in have:
            server.psql(f"CREATE DATABASE bench_{size}")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="", help="documents, separated by commas (150,1500,15000)")
    parser.add_argument("--large", type=int, default=LARGE, help="one more size for ragmem alone; 0: none")
    parser.add_argument("--inserts", type=int, default=20, help="single inserts of a round")
    parser.add_argument("--systems", default="ours,postgres,default", help="some of ours, postgres, default")
    parser.add_argument("--homes", type=Path, metavar="DIR", help="keep the stores there, and use them again")
    parser.add_argument("--build", action="store_true", help="only build the stores of --homes")
    for hidden in ("--worker", "--system", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS, type=Path if hidden == "--folder" else str)
    for hidden in ("--size", "--first"):
        parser.add_argument(hidden, help=argparse.SUPPRESS, type=int)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options)))
        return
    sizes = [int(size) for size in options.sizes.split(",") if size] or list(
        SIZES[:2] if options.quick else SIZES
    )
    systems = options.systems.split(",")
    pairs = [(size, system) for size in sizes for system in systems]
    if "ours" in systems and options.large and not options.quick:
        pairs.append((options.large, "ours"))
    about = common.machine()
    if options.homes:
        options.homes.mkdir(parents=True, exist_ok=True)
    with (
        nullcontext(options.homes.resolve()) if options.homes else common.temporary_folder("store") as root,
        postgres_server(root, sizes) if "postgres" in systems else nullcontext("") as url,
    ):
        run = Run(root, url, options.inserts)
        if options.build:
            for size, system in pairs:
                run.build(system, size)
            return
        results = measure(pairs, run)
    notes = [
        (
            "insert: classify, accept and index one document in a warm process; API ingest: the same through "
            "`Ragmem.ingest`, which also extracts entities; with names: a note of sixty words that "
            "names people, tools, files and symbols, likewise"
        ),
        "LightRAG: ainsert_custom_kg, its cheapest method; fewer inserts where they are slow",
        (
            "open: in a new process, from an imported LightRAG to the first result of a vector search; "
            "all figures include the embedding of the question"
        ),
        (
            "the keywords of mix are a hub and a rare entity; with PostgreSQL, memory is that of the "
            "client, and written bytes are those of its write-ahead log"
        ),
    ]
    promises = [
        {"promise": text, "figure": figure, "verdict": verdict} for text, figure, verdict in verdicts(results)
    ]
    notes += [
        f"{item['promise']}: {item['figure']:.2f}{': ' if item['verdict'] else ''}{item['verdict']}"
        for item in promises
    ]
    headers, rows = table(pairs, results)
    document = {"benchmark": "store", "machine": about, "stores": results, "promises": promises}
    common.report("store", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()

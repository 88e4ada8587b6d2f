"""Measure what storing costs as a memory grows: ragmem beside LightRAG on its default storages.

Both get the same documents (one chunk, six entities of which two are shared hubs, five relations) and the
same embedder, which costs next to nothing. Each build and each round of use is a process of its own.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import common

NAMES = {"ours": "ragmem", "default": "LightRAG default"}
QUERIES = 30
ROUNDS = 3
SLOW_SIZE = 10_000
"""From this size on, an insert into the default storages takes so long that a few must do."""

FLATNESS = 1.5
ADVANTAGE = 500


def work(options: argparse.Namespace) -> dict[str, Any]:
    """Build or use one store in this process, and return the figures."""
    # Imported here: the parent process needs none of it.
    from store_systems import SYSTEMS, Ours, document, fingerprint, questions

    from ragmem.backends.lightrag.registration import import_lightrag

    import_lightrag(options.folder)
    make = SYSTEMS[options.system]
    if options.worker == "build":
        documents = [document(number) for number in range(options.size)]
        started = time.perf_counter()
        system = make(options.folder)
        system.build(documents)
        system.close()
        return {
            "seconds": time.perf_counter() - started,
            "documents": fingerprint(documents),
            "disk": common.folder_bytes(options.folder),
            "peak_mb": common.peak_memory_mb(),
        }
    started = time.perf_counter()
    system = make(options.folder)
    asked = questions(QUERIES + 1, options.size)
    assert system.naive(asked[0])
    figures: dict[str, Any] = {"open": time.perf_counter() - started, "counts": system.counts()}
    figures["naive"] = [timed(lambda text=text: system.naive(text)) for text in asked[1:]]
    fresh = [document(number) for number in range(options.first, options.first + 2 * options.inserts + 2)]
    system.insert(fresh.pop())  # the first one opens files and prepares statements
    before, processor = common.written_bytes(), time.process_time()
    figures["insert"] = [timed(lambda one=one: system.insert(one)) for one in fresh[: options.inserts]]
    figures["insert_cpu"] = (time.process_time() - processor) / options.inserts
    after = common.written_bytes()
    figures["written"] = None if before is None or after is None else (after - before) / options.inserts
    if isinstance(system, Ours):
        figures["query"] = [timed(lambda text=text: system.query(text)) for text in asked[1:]]
        system.ingest(fresh.pop())
        figures["ingest"] = [
            timed(lambda one=one: system.ingest(one)) for one in fresh[options.inserts : 2 * options.inserts]
        ]
    system.close()
    return figures | {"peak_mb": common.peak_memory_mb()}


def timed(action: Any) -> float:
    """Return the seconds that an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def start(system: str, worker: str, size: int, folder: Path, *, inserts: int = 0, first: int = 0) -> Any:
    """Run a worker process and return its figures."""
    words = [sys.executable, __file__, "--worker", worker, "--system", system, "--size", str(size)]
    words += ["--folder", str(folder), "--inserts", str(inserts), "--first", str(first)]
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


def measure(sizes: list[int], systems: list[str], inserts: int) -> dict[int, dict[str, Any]]:
    """Return the figures by size and system; in each round every store has its turn, under the same load."""
    results: dict[int, dict[str, Any]] = {size: {} for size in sizes}
    with common.temporary_folder("store") as root:
        for size, system in itertools.product(sizes, systems):
            folder = root / f"{system}-{size}"
            folder.mkdir()
            results[size][system] = {"build": start(system, "build", size, folder), "rounds": []}
            seconds = results[size][system]["build"]["seconds"]
            common.tell(f"{NAMES[system]}, {size:,} documents: built in {seconds:.1f} s")
        for turn, size, system in itertools.product(range(ROUNDS), sizes, systems):
            few = system == "default" and size >= SLOW_SIZE
            each = 2 if few else inserts
            first = size + turn * (2 * inserts + 2)
            folder = root / f"{system}-{size}"
            figures = start(system, "use", size, folder, inserts=each, first=first)
            results[size][system]["rounds"].append(figures)
            common.tell(
                f"{NAMES[system]}, {size:,} documents, round {turn + 1}: one insert "
                f"{common.milliseconds(statistics.median(figures['insert']))} ms"
            )
    for figures in (row for by_system in results.values() for row in by_system.values()):
        figures["summary"] = summary(figures)
    return results


def summary(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of all rounds together."""
    rounds = figures["rounds"]

    def all_of(name: str) -> list[float]:
        return [value for one in rounds for value in one.get(name, [])]

    written = [one["written"] for one in rounds if one["written"] is not None]
    return {
        "build_seconds": figures["build"]["seconds"],
        "insert": common.spread(all_of("insert")),
        "insert_cpu": statistics.median(one["insert_cpu"] for one in rounds),
        "ingest": common.spread(all_of("ingest")),
        "written_per_insert": statistics.median(written) if written else None,
        "open": common.spread([one["open"] for one in rounds]),
        "naive": common.spread(all_of("naive")),
        "query": common.spread(all_of("query")),
        "disk": figures["build"]["disk"],
        "peak_mb": max(figures["build"]["peak_mb"], *(one["peak_mb"] for one in rounds)),
        "counts": rounds[0]["counts"],
    }


def table(sizes: list[int], results: dict[int, Any], systems: list[str]) -> tuple[list[str], list[list[str]]]:
    headers = ["documents, store", "build s", "insert ms p50", "p95", "cpu ms", "API ingest ms p50", "p95"]
    headers += ["written/insert KB", "open ms", "naive ms", "query ms", "disk MB", "peak MB"]
    rows = []
    for size in sizes:
        for system in systems:
            row = results[size][system]["summary"]
            written = row["written_per_insert"]
            rows.append(
                [
                    f"{size:,} {NAMES[system]}",
                    f"{row['build_seconds']:.1f}",
                    common.milliseconds(row["insert"]["median"]),
                    common.milliseconds(row["insert"]["p95"]),
                    common.milliseconds(row["insert_cpu"]),
                    common.milliseconds(row["ingest"]["median"]),
                    common.milliseconds(row["ingest"]["p95"]),
                    "n/a" if written is None else f"{written / 1000:,.0f}",
                    common.milliseconds(row["open"]["median"]),
                    common.milliseconds(row["naive"]["median"]),
                    common.milliseconds(row["query"]["median"]),
                    f"{row['disk'] / 1e6:,.1f}",
                    f"{row['peak_mb']:,.0f}",
                ]
            )
    return headers, rows


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="", help="documents, separated by commas (150,1500,15000)")
    parser.add_argument("--inserts", type=int, default=20, help="single inserts of a round")
    parser.add_argument("--systems", default="ours,default", help="ours, default, or both")
    for hidden in ("--worker", "--system", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS, type=Path if hidden == "--folder" else str)
    for hidden in ("--size", "--first"):
        parser.add_argument(hidden, help=argparse.SUPPRESS, type=int)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options)))
        return
    sizes = [
        int(size)
        for size in (options.sizes or ("150,1500" if options.quick else "150,1500,15000")).split(",")
    ]
    systems = options.systems.split(",")
    about = common.machine()
    results = measure(sizes, systems, options.inserts)
    notes = [
        (
            "insert: judge, accept and index one document in a warm process; API ingest: the same through "
            "`Ragmem.ingest`, which also finds the entities itself"
        ),
        "LightRAG's inserts are those of ainsert_custom_kg, the cheapest it has, and few where they are slow",
        "open: from an imported LightRAG to the first answer; naive and query: medians, embedding included",
    ]
    document: dict[str, Any] = {"benchmark": "store", "machine": about, "sizes": results}
    if "ours" in systems:
        ours = {size: results[size]["ours"]["summary"] for size in sizes}
        middle = {size: row["insert"]["median"] for size, row in ours.items()}
        whole = [row["ingest"]["median"] for row in ours.values()]
        document["flatness"] = max(whole) / min(whole)
        document["flatness_insert"] = max(middle.values()) / min(middle.values())
        processor = [row["insert_cpu"] for row in ours.values()]
        document["flatness_cpu"] = max(processor) / min(processor)
        verdict = "met" if document["flatness"] <= FLATNESS else "MISSED"
        notes.append(
            f"flatness of ragmem's ingest, slowest by fastest size: {document['flatness']:.2f}"
            f" (at most {FLATNESS}: {verdict}); of the insert alone {document['flatness_insert']:.2f},"
            f" in processor time {document['flatness_cpu']:.2f}"
        )
        if "default" in systems:
            last = sizes[-1]
            other = results[last]["default"]["summary"]["insert"]["median"]
            document["advantage"] = other / middle[last]
            verdict = "met" if document["advantage"] >= ADVANTAGE else "MISSED"
            if last < SLOW_SIZE:
                verdict = "counts from 15,000 documents"
            notes.append(
                f"one insert at {last:,} documents: the default takes {document['advantage']:,.0f} times as"
                f" long (at least {ADVANTAGE}: {verdict})"
            )
    headers, rows = table(sizes, results, systems)
    common.report("store", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()

"""Measure the processor time of new questions, in a warm process and in new processes.

The stores are those of `ragmem seed` with the bundled model, with all that it finds in the files. Each
question is asked once, and its embedding counts.
"""

import json
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import common
import numpy as np
from inputs.retrieval_sets import read_lines
from measures.command_runs import ragmem, write_source
from measures.stages import watched
from peer_tools.corpus import FOLDERS
from stores import filled_store

from ragmem.api.memory import Ragmem
from ragmem.daemon.process import settle
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.chunking import chunk
from ragmem.services.retrieval.query import Question

SIZES = (7_000, 15_000)
QUICK_SIZES = (400,)
QUESTIONS = 200
WARM_UP = 5
"""Questions that load the model and the index; they count nowhere."""

PROMISED = (0.012, 0.020)
"""Processor seconds of a warm question at most: median and 95 of 100."""

COLD_RUNS = 7
LIMIT = 20
POOL = 50
SEED = 5

STAGES = {
    "ragmem.backends.minilm": "embedding",
    "ragmem.backends.lightrag": "rows",
    "ragmem.backends.lightrag.vectors": "scan",
    "ragmem.storage": "rows",
    "ragmem.storage.fulltext": "full text",
    "ragmem.domain.retrieval": "ranking",
    "ragmem.services.retrieval.select": "ranking",
}
"""Whose code a stage is; `rest` is what belongs to none."""

NAMES = ("embedding", "scan", "full text", "rows", "ranking", "rest")

_IDENTIFIER = re.compile(r"[A-Za-z][\w./-]*[a-z0-9][_./-][\w./-]*[a-z0-9]|[a-z]{3,}[A-Z]\w{2,}")


def documents(corpus: Path, sets: Path) -> Iterator[str]:
    """Yield the notes, the documents of the sets, and then without end texts of their sentences."""
    paths = (path for folder in FOLDERS for path in sorted((corpus / folder).glob("*.md")))
    pool = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    for path in sorted(sets.glob("*/docs.jsonl")):
        pool += [row["text"] for row in read_lines(path)]
    return filled_store.texts(pool)


def write_files(found: Iterator[str], folder: Path, size: int) -> list[str]:
    """Write texts as files until they have so many chunks; return the chunks as they are searched."""
    folder.mkdir(parents=True)
    chunks: list[str] = []
    for number, text in enumerate(found):
        (folder / f"note-{number:05}.md").write_text(text, encoding="utf-8")
        chunks += [one.searchable for one in chunk(text, memory_id=str(number), redactor=DEFAULT)]
        if len(chunks) >= size:
            break
    return chunks


def questions(sets: Path, chunks: Sequence[str]) -> list[str]:
    """Return different questions of people, and one in five of an identifier that a chunk has."""
    chance = random.Random(SEED)
    rows = [row for path in sorted(sets.glob("*/queries.jsonl")) for row in read_lines(path)]
    people = sorted({row["query"] for row in [*read_lines(sets / "questions" / "dev.jsonl"), *rows]})
    named = sorted({name for text in chunks for name in _IDENTIFIER.findall(text)})
    count = QUESTIONS + WARM_UP
    asked = chance.sample(people, min(len(people), count * 4 // 5))
    asked += [f"where is {name}" for name in chance.sample(named, min(len(named), count - len(asked)))]
    chance.shuffle(asked)
    return asked


def seeded(home: Path, found: Callable[[], Iterator[str]], size: int) -> dict[str, Any]:
    """Seed a home with files of so many chunks, or take the one that an earlier run has left."""
    kept = home.with_suffix(".json")
    if kept.is_file():
        return json.loads(kept.read_text(encoding="utf-8"))
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    notes = home.with_name(f"{home.name}-notes")
    shutil.rmtree(notes, ignore_errors=True)
    chunks = write_files(found(), notes, size)
    sources = write_source(home.with_suffix(".toml"), notes)
    run = ragmem(home, "seed", "--sources", str(sources), person=home)
    common.tell(f"{len(chunks):,} chunks seeded in {run.cpu_seconds:,.0f} processor seconds")
    figures = {"texts": chunks, "seed_cpu_seconds": run.cpu_seconds, "seed_peak_mb": run.peak_mb}
    common.write_json(kept, figures)
    return figures


def warm(memory: Ragmem, asked: Sequence[str]) -> dict[str, list[float]]:
    """Return the processor seconds of each question: of every other one as a whole, of the rest by stage."""
    figures: dict[str, list[float]] = {name: [] for name in ("whole", "wall", *NAMES)}
    for text in asked[:WARM_UP]:
        memory.query(text, question=Question(text, limit=LIMIT))
    settle()
    for number, text in enumerate(asked[WARM_UP:]):
        # The stages are timed by wrappers, which cost something themselves.
        by_stage = number % 2 == 1
        with watched(STAGES) if by_stage else nullcontext() as clock:
            started, began = time.process_time(), time.perf_counter()
            memory.query(text, question=Question(text, limit=LIMIT))
            whole, wall = time.process_time() - started, time.perf_counter() - began
        if clock is None:
            figures["whole"].append(whole)
            figures["wall"].append(wall)
            continue
        for name in NAMES[:-1]:
            figures[name].append(clock.spent[name])
        figures["rest"].append(whole - sum(clock.spent.values()))
    return figures


def floors(memory: Ragmem, chunks: Sequence[str], asked: Sequence[str]) -> dict[str, list[float]]:
    """Return the processor seconds of what each stage cannot do without, done by nothing else.

    The model alone; one product with all vectors in float32; FTS5 with the question's words; eight rows.
    """
    embedder = memory.models.embedder
    chance = np.random.default_rng(SEED)
    vectors = chance.standard_normal((len(chunks), embedder.dimensions), dtype=np.float32)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")
    database.execute("CREATE TABLE chunks (id INTEGER PRIMARY KEY, text TEXT)")
    database.executemany("INSERT INTO words (text) VALUES (?)", [(text,) for text in chunks])
    database.executemany("INSERT INTO chunks (text) VALUES (?)", [(text,) for text in chunks])
    words = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    rows = f"SELECT text FROM chunks WHERE id IN ({', '.join('?' * 8)})"
    found: dict[str, list[float]] = {name: [] for name in NAMES[:4]}

    def timed(name: str, action: Callable[[], Any]) -> Any:
        started = time.process_time()
        result = action()
        found[name].append(time.process_time() - started)
        return result

    for text in asked[WARM_UP:]:
        said = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text)) or '"a"'
        # As a document: vectors of questions are kept, and these have been asked.
        (vector,) = timed("embedding", lambda text=text: embedder.embed([text], role="document"))
        timed("scan", lambda vector=vector: np.argpartition(-(vectors @ vector), min(POOL, len(vectors) - 1)))
        best = timed("full text", lambda said=said: database.execute(words, (said, POOL)).fetchall())
        ids = [*(row for (row,) in best), *range(1, 9)][:8]
        timed("rows", lambda ids=ids: database.execute(rows, ids).fetchall())
    database.close()
    return found


def cold(folder: Path, asked: Sequence[str]) -> list[float]:
    """Return the processor seconds of questions in processes of their own, embedding and start included."""
    found = []
    for text in asked[:COLD_RUNS]:
        before = common.children_cpu_seconds()
        subprocess.run(
            [sys.executable, "-m", "ragmem", "query", text, "--all", "--ids"],
            env=common.environment(folder),
            cwd=folder,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        found.append(common.children_cpu_seconds() - before)
    return found


def measure(home: Path, found: Callable[[], Iterator[str]], sets: Path, size: int) -> dict[str, Any]:
    """Return the figures of one size."""
    figures = seeded(home, found, size)
    chunks = figures.pop("texts")
    asked = questions(sets, chunks)
    with Ragmem.open(environ=common.environment(home), home=home, cwd=home) as memory:
        figures["warm"] = warm(memory, asked)
        figures["floors"] = floors(memory, chunks, asked)
        figures["engine"] = memory.models.embedder.engine
        figures |= {key: memory.store.statistics()[key] for key in ("chunks", "entities", "relations")}
    figures["cold"] = cold(home, asked)
    return figures


def rows_of(sizes: Mapping[int, Mapping[str, Any]]) -> list[list[str]]:
    """Return the lines of the table: p50, p95 and floor at each size."""
    lines = [
        ("warm question, CPU", "warm", "whole"),
        *((f"- {name}", "warm", name) for name in NAMES),
        ("warm question, wall time", "warm", "wall"),
        ("cold question, whole process, CPU", "cold", ""),
    ]

    def cells(one: Mapping[str, Any], part: str, name: str) -> list[str]:
        values = one[part][name] if name else one[part]
        floor = statistics.median(one["floors"][name]) if name in one["floors"] else None
        return [
            common.milliseconds(statistics.median(values)),
            common.milliseconds(common.percentile(values, 0.95)),
            "" if floor is None else common.milliseconds(floor),
        ]

    return [
        [label, *(cell for one in sizes.values() for cell in cells(one, part, name))]
        for label, part, name in lines
    ]


NOTES = (
    "each question is new, asked once, and includes its embedding; CPU is user plus system of all threads",
    "the garbage collector has the settings of the warm process",
    "every other question is timed as a whole, the others by stage (the package of the code)",
    "floor: the model alone; one product with all vectors; FTS5 with the same words; eight rows",
    "texts: the notes, then the sets' documents, then these documents with reordered sentences",
)


def promises(sizes: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was promised of a warm question, with its figures."""
    for one in sizes.values():
        values = one["warm"]["whole"]
        measured = (statistics.median(values), common.percentile(values, 0.95))
        kept = all(figure <= most for figure, most in zip(measured, PROMISED, strict=True))
        said = [
            f"{figure * 1000:.1f} of {most * 1000:.0f}"
            for figure, most in zip(measured, PROMISED, strict=True)
        ]
        yield f"{one['chunks']:,} chunks, p50 and p95 in ms: {', '.join(said)}: {'met' if kept else 'MISSED'}"


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument("--corpus", type=Path, default=common.REPOSITORY / "../shared/corpus", metavar="DIR")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="CHUNKS")
    parser.add_argument("--homes", type=Path, metavar="DIR", help="keep the seeded homes, and use them again")
    options = parser.parse_args()
    about = common.machine()
    results = {}
    with (
        nullcontext(options.homes.resolve()) if options.homes else common.temporary_folder("latency") as root
    ):
        for size in options.sizes or (QUICK_SIZES if options.quick else SIZES):
            common.tell(f"{size:,} chunks")
            results[size] = measure(
                root / f"home-{size}", lambda: documents(options.corpus, options.data), options.data, size
            )
    headers = [
        "ms",
        *(f"{one['chunks']:,} {what}" for one in results.values() for what in ("p50", "p95", "floor")),
    ]
    stores = [
        f"{one['chunks']:,} chunks name {one['entities']:,} entities with {one['relations']:,} relations; "
        f"seeded in {one['seed_cpu_seconds']:,.0f} s of processor time, with {one['seed_peak_mb']:,.0f} MB"
        for one in results.values()
    ]
    stores.append(f"the model runs on {', '.join(sorted({one['engine'] for one in results.values()}))}")
    document = {"benchmark": "latency", "machine": about, "promised_seconds": PROMISED, "sizes": results}
    notes = [*NOTES, *stores, *promises(results)]
    common.report("latency", document, headers, rows_of(results), options=options, notes=notes)


if __name__ == "__main__":
    main()

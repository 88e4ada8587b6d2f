"""Measure the connection of memories: of a whole store, of a few new ones, and what is missed.

The memories are chunks of real texts with their vectors, and beyond these mixtures: sentences of two texts,
with a vector between theirs. Their rows are written directly, for writing them is not what is measured.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import common
import numpy as np
from inputs import real_vectors
from inputs.vector_cache import VectorCache
from numpy.typing import NDArray

from ragmem import backends
from ragmem.backends.lightrag.rows import vectors
from ragmem.backends.lightrag.rows.keys import make_space
from ragmem.backends.lightrag.vectors.segments import quantise
from ragmem.domain.lifecycle.connections import CONNECTED
from ragmem.domain.model import Memory, Scope, State, content_hash
from ragmem.domain.text.identifiers import identifiers
from ragmem.services.connections.comparison import Comparison
from ragmem.services.connections.connect import connect
from ragmem.services.connections.pair_comparison import AT_ONCE, CANDIDATES, LOWEST, PairComparison
from ragmem.services.vectors.neighbour_search import search
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.rows import MEMORY_COLUMNS, memory_values

SIZES = (1_500, 15_000, 100_000)
QUICK_SIZES = (1_500,)
NEW = (1, 100)
"""New memories that are connected with those that were there."""

PROMISE_SECONDS, PROMISE_MB = 60.0, 1000.0
"""What a whole gc of 100,000 memories may take when vectors exist, and of memory."""

PROJECT = "bench"
CHECKED = 500
"""Memories whose connections are held against those by exact comparison."""

PLAIN = 1_000
"""Memories that the plain search compares with all; its time for all is in proportion."""

LONGEST = 700
"""Characters of a text: memories are short."""

NAMES = 8
"""Names that a memory mentions at most."""

SEED = 7
START = datetime(2026, 1, 1, tzinfo=UTC)

_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")


class OneModel:
    """Models of which only the id is asked: all vectors are there."""

    language_model = None

    def __init__(self, model: str, dimensions: int) -> None:
        self.model_id, self.dimensions = model, dimensions

    @property
    def embedder(self) -> "OneModel":
        """Itself."""
        return self

    def embed(self, texts: Sequence[str], *, role: str) -> NDArray[np.float32]:
        """Embed nothing."""
        raise AssertionError(f"{len(texts)} texts were embedded as {role}")

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Hold nothing that must be freed."""


def vectors_of(texts: Sequence[str], cache: Path) -> tuple[NDArray[np.float32], str]:
    """Return the vectors of the texts, in their order, and the model's id."""
    models = backends.open_models("minilm", {})
    known = VectorCache(cache, models.embedder)
    found = np.concatenate(
        [known.embed(texts[start : start + 500], role="document") for start in range(0, len(texts), 500)]
    )
    model = models.embedder.model_id
    known.close()
    models.close()
    return found, model


def memories(
    texts: Sequence[str], vectors: NDArray[np.float32], count: int
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield texts with their vectors: real ones first, in any order, then mixtures of two of them."""
    chance = random.Random(SEED)
    noise = np.random.default_rng(SEED)
    order = chance.sample(range(len(texts)), min(count, len(texts)))
    for place in order:
        yield texts[place][:LONGEST], vectors[place]
    for _ in range(count - len(order)):
        one, other = chance.sample(range(len(texts)), 2)
        share = chance.uniform(*real_vectors.NEARER)
        parts = [_SENTENCE.split(texts[place][:LONGEST]) for place in (one, other)]
        said = [
            sentence
            for part, wanted in zip(parts, (share, 1 - share), strict=True)
            for sentence in chance.sample(part, max(1, round(wanted * len(part))))
        ]
        added = noise.standard_normal(vectors.shape[1]).astype(np.float32)
        mixed = share * vectors[one] + (1 - share) * vectors[other]
        mixed = mixed / np.linalg.norm(mixed) + real_vectors.NOISE * added / np.linalg.norm(added)
        yield " ".join(said), (mixed / np.linalg.norm(mixed)).astype(np.float32)


def build(catalog: Catalog, model: str, found: Sequence[tuple[str, NDArray[np.float32]]], first: int) -> None:
    """Write memories with one chunk each, their vectors and what they name."""
    marks = ", ".join("?" * len(MEMORY_COLUMNS))
    for batch in batches(enumerate(found, first), 5_000):
        rows, kept, named = [], [], {}
        for number, (text, vector) in batch:
            moment = START + timedelta(minutes=number)
            key = content_hash(f"{number}")[:26]
            memory = Memory(
                id=key,
                source="bench",
                uri=f"/notes/{number}",
                text=text,
                title="",
                event_time=moment,
                created_at=moment,
                updated_at=moment,
                content_hash=content_hash(text),
                scope=Scope(PROJECT),
                state=State.INDEXED,
            )
            rows.append(memory_values(memory))
            kept.append((PROJECT, "chunks", f"c{key}", key, "", model, *quantise(vector), 0))
            named[key] = identifiers(text)[:NAMES]
        with catalog.database.write() as connection:
            connection.executemany(
                f"INSERT INTO memories ({', '.join(MEMORY_COLUMNS)}) VALUES ({marks})", rows
            )
            space = make_space(connection, PROJECT)
            connection.executemany(
                "INSERT INTO store_documents (space, id, fingerprint, texts, created, event_at)"
                " VALUES (?, ?, '', '', 0, 0)",
                [(space, key) for key in named],
            )
            connection.executemany(
                "INSERT INTO store_chunks (space, document, position, id)"
                " SELECT space, n, 0, 'c' || id FROM store_documents WHERE id = ?",
                [(key,) for key in named],
            )
            vectors.insert(connection, kept)
            names = sorted({name for every in named.values() for name in every})
            connection.executemany(
                "INSERT INTO entity_names (project, name, types, form, rule, made_at)"
                " SELECT ?1, ?2, '', '', '', 0"
                " WHERE NOT EXISTS (SELECT 1 FROM entity_names WHERE project = ?1 AND name = ?2)",
                [(PROJECT, name) for name in names],
            )
            connection.executemany(
                "INSERT INTO entity_mentions SELECT e.n, m.n FROM entity_names e, memories m"
                " WHERE e.project = ? AND e.name = ? AND m.id = ? ON CONFLICT DO NOTHING",
                [(PROJECT, name, key) for key, every in named.items() for name in every],
            )


def opened(folder: Path, model: str, dimensions: int) -> tuple[Catalog, Any]:
    """Return the catalog and the store of a home."""
    catalog = Catalog.at(folder)
    catalog.prepare()
    return catalog, backends.open_store(
        "lightrag", {}, OneModel(model, dimensions), database=catalog.database
    )


def work(folder: Path, model: str, dimensions: int) -> dict[str, Any]:
    """Connect what waits in a home; return the figures of this process."""
    catalog, store = opened(folder, model, dimensions)
    started, spent = time.perf_counter(), time.process_time()
    done = connect(catalog, store, now=START)
    figures = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - spent,
        "peak_mb": common.peak_memory_mb(),
        "new": done.new,
        "connections": done.connections,
        "waiting": done.waiting,
        "scale": done.scale.scale.explanation() if done.scale else done.note,
    }
    store.close()
    catalog.close()
    return figures


def in_process(folder: Path, model: str, dimensions: int) -> dict[str, Any]:
    """Return what `work` does in a process of its own, so that its memory is its own as well."""
    command = [sys.executable, __file__, "--work", str(folder), model, str(dimensions)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout))


def plain(vectors: NDArray[np.float32]) -> float:
    """Return the seconds of the plainest search: blocks of products, and the best of each row."""
    chance = np.random.default_rng(SEED)
    rows = chance.choice(len(vectors), min(PLAIN, len(vectors)), replace=False)
    started = time.perf_counter()
    for start in range(0, len(vectors), 8_192):
        part = vectors[start : start + 8_192]
        products = vectors[rows] @ part.T
        wanted = min(CANDIDATES, len(part) - 1)
        np.argpartition(-products, wanted, axis=1)[:, :wanted]
    return (time.perf_counter() - started) * len(vectors) / len(rows)


def exact_connections(catalog: Catalog, store: Any, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return with what each of these memories is connected, found by comparing each with all."""
    model = store.answering_model()
    kept = catalog.connections.scale(model)
    if kept is None:
        raise SystemExit(f"there is no scale of {model}: the memories were not connected")
    every = catalog.connections.members(PROJECT, model)
    comparison = Comparison(catalog, store, PROJECT, kept.scale, every, all_of_project=True)
    keys, known = list(comparison.places), comparison.job().known
    asked = np.array(sorted(comparison.places[key] for key in ids if key in comparison.places), np.intp)
    pairs = PairComparison(known, catalog.connections.texts)
    found: dict[str, list[str]] = {keys[place]: [] for place in asked.tolist()}
    bar = kept.scale.cosine(LOWEST)
    for near in search(known.space, asked, count=CANDIDATES, bar=bar, at_once=AT_ONCE, exact=True):
        batch = pairs.among(near)
        for one, other in zip(batch.ones[batch.own].tolist(), batch.others[batch.own].tolist(), strict=True):
            found[keys[one]].append(keys[other])
    return found


def recall(catalog: Catalog, store: Any) -> tuple[float, int]:
    """Return the share of the connections by exact comparison that are kept, and how many these are."""
    exact = exact_connections(catalog, store, catalog.connections.sample(PROJECT, CHECKED))
    kept = {
        key: {other for one in catalog.connections.neighbours(key) for other in (one.first, one.second)}
        for key in exact
    }
    wanted = [(key, other) for key, others in exact.items() for other in others]
    found = sum(other in kept[key] for key, other in wanted)
    return found / max(1, len(wanted)), len(wanted)


def measure(
    size: int, texts: Sequence[str], vectors: NDArray[np.float32], model: str, folder: Path
) -> dict[str, Any]:
    """Build a store of so many memories, connect them, and then some new ones."""
    common.tell(f"{size:,} memories")
    made = list(memories(texts, vectors, size + sum(NEW)))
    dimensions = vectors.shape[1]
    catalog, store = opened(folder, model, dimensions)
    store.delete([])  # creates its tables
    build(catalog, model, made[:size], 0)
    store.close()
    catalog.close()
    common.tell("built")
    figures: dict[str, Any] = {"all": in_process(folder, model, dimensions)}
    common.tell(f"connected: {figures['all']}")
    catalog, store = opened(folder, model, dimensions)
    share, judged = recall(catalog, store)
    figures |= {"recall": share, "judged": judged}
    common.tell(f"recall {share:.4f} of {judged:,}")
    first = size
    for count in NEW:
        build(catalog, model, made[first : first + count], first)
        first += count
        figures[f"new_{count}"] = in_process(folder, model, dimensions)
    store.close()
    catalog.close()
    figures["plain_seconds"] = plain(np.stack([vector for _, vector in made[:size]]))
    return figures


def rows_of(sizes: Mapping[int, Mapping[str, Any]]) -> list[list[str]]:
    """Return the lines of the table."""
    lines = [
        ("all at once, s", lambda one: f"{one['all']['seconds']:.1f}"),
        ("- memories a second", lambda one: f"{one['all']['new'] / one['all']['seconds']:,.0f}"),
        ("- connections", lambda one: f"{one['all']['connections']:,}"),
        ("- peak memory, MB", lambda one: f"{one['all']['peak_mb']:,.0f}"),
        (
            "- of the time of the plain search",
            lambda one: f"{one['all']['seconds'] / one['plain_seconds']:.2f}",
        ),
        ("connections found, of those by exact comparison", lambda one: f"{one['recall']:.4f}"),
        *(
            (f"{count} new, ms", lambda one, count=count: common.milliseconds(one[f"new_{count}"]["seconds"]))
            for count in NEW
        ),
    ]
    return [[name, *(of(one) for one in sizes.values())] for name, of in lines]


NOTES = (
    "all in one project; each run in a new process, without starting it: vectors, words and names are read",
    (
        f"plain search: float32, the products of all pairs in blocks and the {CANDIDATES} nearest of each;"
        f" nothing is judged or written; measured for {PLAIN:,} memories, in proportion for more"
    ),
    f"connections found: of {CHECKED} memories, those of a strength of at least {CONNECTED}",
)


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__ or "", data="../shared/eval")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/ragmem-vectors"), metavar="DIR")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="MEMORIES")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        folder, model, dimensions = options.work
        print(json.dumps(work(Path(folder), model, int(dimensions))))
        return
    about = common.machine()
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    count = max(sizes)
    texts, _ = real_vectors.texts(options.data, count)
    vectors, model = vectors_of(texts, options.cache)
    results = {}
    for size in sizes:
        with common.temporary_folder("connecting") as folder:
            results[size] = measure(size, texts, vectors, model, folder)
    document = {
        "machine": about,
        "promise": {"seconds": PROMISE_SECONDS, "mb": PROMISE_MB},
        "real_texts": len(texts),
        "sizes": results,
    }
    headers = ["memories", *(f"{size:,}" for size in sizes)]
    common.report("connecting", document, headers, rows_of(results), options=options, notes=NOTES)


if __name__ == "__main__":
    main()

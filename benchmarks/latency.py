"""How long a question takes in a warm process and in a new one, and which stage takes how much of it."""

import argparse
import itertools
import random
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import common
import numpy as np
import real_texts
import real_vectors
from numpy.typing import NDArray
from retrieval import put_texts

from ragmem import backends
from ragmem.api.memory import Ragmem
from ragmem.domain.model import USER, Draft, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import BATCH, index_pending
from ragmem.services.retrieval import retrieve
from ragmem.services.retrieval.query import Question, ask
from ragmem.storage.fulltext import fulltext
from ragmem.storage.memories.memories import Memories
from ragmem.storage.sql.batches import batches

SIZES = (15_000, 100_000)
QUICK_SIZES = (1_000,)
QUESTIONS = 200
ROUNDS = 3
"""Each question is asked as often; the quickest counts, for what else the machine does is none of ours."""

REAL_VECTORS = 3_000
"""Chunks that are embedded; the vectors of the others are mixtures of two of these."""

PROMISE = 0.025
"""Seconds of a warm question at 100,000 chunks, 95 of 100, without its embedding."""

COLD_RUNS = 7
CHARACTERS = 800
"""Of a text at least; texts are made of whole sentences."""

SEED = 5
START = datetime(2025, 1, 1, tzinfo=UTC)

STAGES = ("lexical", "vectors", "names", "ranking", "catalog", "texts")

_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")
_IDENTIFIER = re.compile(r"[A-Za-z][\w./-]*[a-z0-9][_./-][\w./-]*[a-z0-9]|[a-z]{3,}[A-Z]\w{2,}")


class GivenVectors:
    """Models whose embedder gives each new document the next of some vectors, and knows the questions'."""

    language_model = None

    def __init__(
        self, model: str, documents: NDArray[np.float32], asked: Mapping[str, NDArray[np.float32]]
    ) -> None:
        self.model_id = model
        self.dimensions = documents.shape[1]
        self._documents = documents
        self._asked = asked
        self._places: dict[str, int] = defaultdict(itertools.count().__next__)

    @property
    def embedder(self) -> "GivenVectors":
        """Itself."""
        return self

    def embed(self, texts: Sequence[str], *, role: str) -> NDArray[np.float32]:
        """Return the vectors of the texts."""
        if role == "query":
            # A phrase is asked without its quotes.
            first = next(iter(self._asked.values()))
            return np.stack([self._asked.get(text, first) for text in texts])
        places = np.array([self._places[text] for text in texts], np.intp)
        count = len(self._documents)
        found = self._documents[places % count]
        # Entities and relations are more than there are vectors: what comes later is a mixture.
        later = places >= count
        found[later] += self._documents[(places[later] * 7 + places[later] // count) % count]
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Hold nothing that must be freed."""


def texts(pool: Sequence[str]) -> Iterator[str]:
    """Yield the texts as they are, then without end texts of their sentences, which nobody wrote so."""
    chance = random.Random(SEED)
    yield from pool
    while True:
        made: list[str] = []
        while sum(map(len, made)) < CHARACTERS:
            sentences = _SENTENCE.split(chance.choice(pool))
            made += chance.sample(sentences, min(3, len(sentences)))
        yield " ".join(made)


def questions(asked: Sequence[str], pool: Sequence[str]) -> list[str]:
    """Return questions of people, and one in five of an identifier that a text has."""
    chance = random.Random(SEED)
    named = [
        name for text in chance.sample(pool, min(len(pool), 4_000)) for name in _IDENTIFIER.findall(text)
    ]
    people = chance.sample(asked, min(len(asked), QUESTIONS * 4 // 5))
    identifiers = [f"where is {name}" for name in chance.sample(named, min(len(named), QUESTIONS // 5))]
    return [*people, *identifiers]


def build(memory: Ragmem, models: GivenVectors, pool: Sequence[str], size: int, *, names: bool) -> Any:
    """Store texts until there are so many chunks, perhaps with what they name; return the store."""
    memory.prepare()
    settings, catalog = memory.settings, memory.catalog
    store = backends.open_store(
        settings.store.backend, settings.store.options, models, database=catalog.database
    )
    chunks = 0
    for batch in batches(enumerate(texts(pool)), BATCH):
        judged = [
            classify_draft(
                Draft(
                    "bench",
                    f"/notes/area-{number % 50}/note-{number}.md",
                    text,
                    event_time=START + timedelta(minutes=number),
                    scope=Scope(USER),
                ),
                now=START,
                sizes=settings.chunking,
                rule="off",
                redactor=DEFAULT,
            )
            for number, text in batch
        ]
        catalog.memories.accept([(item.memory, item.chunks) for item in judged])
        if names:
            # As `ragmem seed` does: entities and relations that rules find, names merged.
            index_pending(catalog, store)
        else:
            put_texts(catalog, store, judged)
        chunks += sum(len(item.chunks) for item in judged)
        if chunks >= size:
            return store
    return store


@contextmanager
def watched(store: Any) -> Iterator[dict[str, float]]:
    """Sum up the seconds in the public functions of each stage while the block runs."""
    spent: dict[str, float] = dict.fromkeys(STAGES, 0.0)
    places = [
        ("lexical", fulltext, "search"),
        ("lexical", fulltext, "filter_chunks"),
        ("vectors", store, "search"),
        ("vectors", store, "similarities"),
        ("names", retrieve, "graph_list"),
        ("catalog", Memories, "outlines"),
        ("catalog", Memories, "chunks_by_id"),
        ("catalog", Memories, "openings"),
        ("texts", Memories, "get"),
    ]

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent[stage] += time.perf_counter() - started

        return call

    with ExitStack() as stack:
        for stage, owner, name in places:
            # Fails where a function has another name by now: its seconds would be missing unseen.
            stack.enter_context(mock.patch.object(owner, name, timed(stage, getattr(owner, name))))
        yield spent


def warm(memory: Ragmem, store: Any, asked: Sequence[str]) -> dict[str, list[float]]:
    """Return the seconds of each question as a whole and in its stages."""
    policy = memory.retrieval.policy()
    figures: dict[str, list[float]] = {stage: [] for stage in ("whole", *STAGES)}
    for text in [asked[0], *asked]:
        best: dict[str, float] | None = None
        for _ in range(ROUNDS):
            with watched(store) as spent:
                started = time.perf_counter()
                question = Question(text, projects=(USER,))
                ask(memory.catalog, lambda: store, question, policy=policy, now=START)
                whole = time.perf_counter() - started
            spent |= {"whole": whole, "ranking": whole - sum(spent.values())}
            if best is None or whole < best["whole"]:
                best = spent
        for name, seconds in (best or {}).items():
            figures[name].append(seconds)
    # The first one opened files.
    return {name: seconds[1:] for name, seconds in figures.items()}


def cold(folder: Path, asked: Sequence[str]) -> list[float]:
    """Return the seconds of questions in processes of their own, embedding and start included."""
    found = []
    for text in asked[:COLD_RUNS]:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "ragmem", "query", text, "--ids"],
            env=common.environment(folder),
            cwd=folder,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        found.append(time.perf_counter() - started)
    return found


def embedding(memory: Ragmem, asked: Sequence[str]) -> list[float]:
    """Return the seconds that each question's embedding takes."""
    embedder = memory.models.embedder
    embedder.embed([asked[0]], role="query")
    found = []
    for text in asked:
        started = time.perf_counter()
        embedder.embed([text], role="query")
        found.append(time.perf_counter() - started)
    return found


def measure(
    size: int,
    pool: Sequence[str],
    asked: Mapping[str, NDArray[np.float32]],
    models: Callable[[], GivenVectors],
) -> dict[str, Any]:
    """Build a memory of so many chunks and ask it; build it once more without what the texts name."""
    figures = _asked(size, pool, asked, models(), names=True)
    return figures | {"without_names": _asked(size, pool, asked, models(), names=False)}


def _asked(
    size: int,
    pool: Sequence[str],
    asked: Mapping[str, NDArray[np.float32]],
    models: GivenVectors,
    *,
    names: bool,
) -> dict[str, Any]:
    common.tell(f"{size:,} chunks, {'with' if names else 'without'} names")
    with common.temporary_folder("latency") as folder:
        memory = Ragmem.open(environ=common.environment(folder), home=folder, cwd=folder)
        started = time.perf_counter()
        store = build(memory, models, pool, size, names=names)
        figures: dict[str, Any] = {"build_seconds": time.perf_counter() - started}
        common.tell(f"built in {figures['build_seconds']:,.0f} s")
        figures["warm"] = warm(memory, store, list(asked))
        figures |= {key: store.statistics()[key] for key in ("chunks", "entities", "relations")}
        if names:
            figures["embedding"] = embedding(memory, list(asked))
        with memory.catalog.database.read() as connection:
            figures["segments"], figures["index_bytes"] = connection.execute(
                "SELECT (SELECT count(*) FROM lexicon_segments), sum(length(data)) FROM lexicon_blocks"
            ).fetchone()
        store.close()
        memory.close()
        if names:
            figures["cold"] = cold(folder, list(asked))
        figures["disk"] = common.folder_bytes(folder)
    return figures


def rows_of(sizes: Mapping[int, Mapping[str, Any]]) -> list[list[str]]:
    """Return the lines of the table: each stage's p50 and p95 at each size."""
    lines = [
        ("warm question", lambda one: one["warm"]["whole"]),
        ("the same, store without entities", lambda one: one["without_names"]["warm"]["whole"]),
        *((f"- {stage}", lambda one, stage=stage: one["warm"][stage]) for stage in STAGES),
        ("its embedding", lambda one: one["embedding"]),
        ("cold question, new process", lambda one: one["cold"]),
    ]
    return [
        [
            name,
            *(
                common.milliseconds(figure)
                for one in sizes.values()
                for figure in (statistics.median(of(one)), common.percentile(of(one), 0.95))
            ),
        ]
        for name, of in lines
    ]


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__ or "", data="../shared/eval")
    parser.add_argument("--corpus", type=Path, default=common.REPOSITORY / "../shared/corpus", metavar="DIR")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/ragmem-vectors"), metavar="DIR")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="CHUNKS")
    options = parser.parse_args()
    name, document, headers, rows = _results(options)
    stores = [
        f"{one['chunks']:,} chunks name {one['entities']:,} entities with {one['relations']:,} relations; "
        f"stored in {one['build_seconds']:,.0f} s; "
        f"without these in {one['without_names']['build_seconds']:,.0f} s"
        for one in document["sizes"].values()
    ]
    common.report(name, document, headers, rows, options=options, notes=[*NOTES, *stores])


NOTES = (
    "lexical: BM25 of chunks and memories; vectors: search and comparison; texts: those of the answer",
    "names: chunks that share a name with the best ones; ranking: the rest",
    "catalog: rows without their texts",
    "all lines but the second: with the entities that rules find in the texts, as `ragmem seed` stores them",
    f"a warm question's time is the quickest of {ROUNDS}; of embeddings and cold questions each run counts",
    "texts: those of the notes and the sets, then again with their sentences in another order",
    f"vectors: {REAL_VECTORS:,} are those of texts, the others mixtures of two of these",
)


def _results(options: argparse.Namespace) -> tuple[str, dict[str, Any], list[str], list[list[str]]]:
    about = common.machine()
    real, vectors, model = real_vectors.embedded(
        options.data, options.cache, 300 if options.quick else REAL_VECTORS
    )
    documents, all_asked = real_vectors.texts(options.data, 500 if options.quick else 40_000)
    known = dict(
        zip(real_vectors.texts(options.data, 300 if options.quick else REAL_VECTORS)[1], vectors, strict=True)
    )
    pool = [*documents, *(text for text in real_texts.paragraphs(options.corpus) if len(text) > 200)]
    random.Random(SEED).shuffle(pool)
    del all_asked
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    chance = np.random.default_rng(SEED)
    every = real_vectors.extend(real, max(*sizes, len(real)), chance)
    asked: dict[str, NDArray[np.float32]] = {}
    for text in questions(list(known), pool):
        asked[text] = known[text] if text in known else vectors[chance.integers(len(vectors))]
    if options.quick:
        asked = dict(itertools.islice(asked.items(), 20))
    results = {size: measure(size, pool, asked, lambda: GivenVectors(model, every, asked)) for size in sizes}
    headers = ["ms", *(f"{one['chunks']:,} {what}" for one in results.values() for what in ("p50", "p95"))]
    document = {"machine": about, "promise_seconds": PROMISE, "sizes": results}
    return "latency", document, headers, rows_of(results)


if __name__ == "__main__":
    main()

"""Measure gc on a large store with vectors: the time of each stage, and its memory."""

import random
import resource
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import common
import numpy as np
from numpy.typing import NDArray
from retrieval import put_texts

from ragmem.api.memory import Ragmem, now
from ragmem.backends.minilm.blas import import_numpy
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.connections.connect import connect
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.processes.worker_pool import cpu_count
from ragmem.storage.sql.batches import batches

# One BLAS thread, as with the bundled model: also in the processes that are started, which read this file.
import_numpy()

SIZE, QUICK_SIZE = 100_000, 3_000

PROJECTS = 10

DIMENSIONS = 384

PROMISE = 60.0
"""Seconds for plan and apply at 100,000 memories, without the making of vectors."""

PROMISE_MB = 1000.0

SEED = 7
START = datetime(2025, 1, 1, tzinfo=UTC)

SHARES = {"cluster": 0.15, "template": 0.25, "noise": 0.15, "fact": 0.45}
"""What the store consists of: groups of four about one thing, prints of templates, chatter, and what is of
interest but alone."""

AT_ONCE = 400
"""Memories that are stored in one transaction."""

CLUSTER = 4
"""Memories about one thing."""

PRINTS = 40
"""Prints of one template."""

NEAR = 0.75
"""Cosine of two memories about one thing; that of two others is near 0."""

_CHATTER = (
    "Perfect! Now let me check the output:",
    "Great! Let me look at the result now:",
    "Done! All tests pass now. Let me know if you need anything else.",
    "Perfect, all done. Let me check the tests now:",
)
"""Worthless to the judge, whatever words follow."""


class GivenVectors:
    """Models whose embedder knows the vectors of all texts; a text it does not know gets one of its own."""

    language_model = None
    model_id = "given"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.known: dict[str, NDArray[np.float32]] = {}
        self._chance = np.random.default_rng(SEED)

    @property
    def embedder(self) -> "GivenVectors":
        """Itself."""
        return self

    def embed(self, texts: list[str], *, role: str) -> NDArray[np.float32]:
        """Return the vectors of the texts."""
        del role
        rows = [self.known.pop(text, None) for text in texts]
        return np.stack([self.new() if row is None else row for row in rows])

    def new(self) -> NDArray[np.float32]:
        """Return a vector that is near none."""
        vector = self._chance.standard_normal(DIMENSIONS, dtype=np.float32)
        return vector / np.linalg.norm(vector)

    def near(self, centre: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return one that has the cosine NEAR with others near this centre."""
        vector = np.sqrt(NEAR) * centre + np.sqrt(1 - NEAR) * self.new()
        return vector / np.linalg.norm(vector)

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Hold nothing that must be freed."""


class Writer:
    """Makes texts of words that nobody wrote."""

    def __init__(self, models: GivenVectors) -> None:
        self._chance = random.Random(SEED)
        self._models = models
        letters = "bdfgklmnprstvz", "aeiou"
        self._words = [
            "".join(self._chance.choice(letters[place % 2]) for place in range(self._chance.randint(4, 9)))
            for _ in range(30_000)
        ]

    def _some(self, count: int) -> list[str]:
        return self._chance.sample(self._words, count)

    def texts(self, count: int) -> list[tuple[str, NDArray[np.float32]]]:
        """Return so many texts with their vectors, in a random order."""
        made: list[tuple[str, NDArray[np.float32]]] = []
        for _ in range(int(SHARES["cluster"] * count / CLUSTER)):
            made += self._cluster()
        for _ in range(int(SHARES["template"] * count / PRINTS)):
            made += self._template()
        for _ in range(int(SHARES["noise"] * count)):
            made.append((f"{self._chance.choice(_CHATTER)} {' '.join(self._some(3))}", self._models.new()))
        while len(made) < count:
            one, two, three, *rest = self._some(20)
            rows = self._chance.randint(2, 900)
            text = f"The {one} of {two} fails because {three}.py keeps {rows} rows open: "
            made.append((text + " ".join(rest) + ".", self._models.new()))
        self._chance.shuffle(made)
        return made

    def _cluster(self) -> list[tuple[str, NDArray[np.float32]]]:
        centre = self._models.new()
        one, two, three, *shared = self._some(12)
        told = f"is lost; {one}_{two} needs {three} before"
        return [
            (f"{shared[n]} {told} {' '.join(shared)}: {' '.join(self._some(6))}.", self._models.near(centre))
            for n in range(CLUSTER)
        ]

    def _template(self) -> list[tuple[str, NDArray[np.float32]]]:
        centre = self._models.new()
        words = " ".join(self._some(12))
        return [
            (
                f"Job {self._chance.randint(1, 99999)} finished at {n}:15, {n * 7 + 1} files copied: {words}",
                self._models.near(centre),
            )
            for n in range(PRINTS)
        ]


def build(memory: Ragmem, models: GivenVectors, size: int) -> None:
    """Store so many memories of ten projects."""
    memory.prepare()
    catalog, sizes = memory.catalog, memory.settings.chunking
    writer = Writer(models)
    number = 0
    for project in range(PROJECTS):
        for batch in batches(writer.texts(size // PROJECTS), AT_ONCE):
            judged = []
            for text, vector in batch:
                number += 1
                draft = Draft(
                    "notes",
                    f"/notes/{number}",
                    text,
                    event_time=START + timedelta(minutes=number),
                    scope=Scope(f"project{project}"),
                )
                item = classify_draft(draft, now=START, sizes=sizes, rule="off", redactor=DEFAULT)
                for part in item.chunks:
                    models.known[part.searchable] = vector
                judged.append(item)
            catalog.memories.accept([(item.memory, item.chunks) for item in judged])
            put_texts(catalog, memory.store, judged)
        common.tell(f"{number:,} memories")


def measure(memory: Ragmem) -> dict[str, Any]:
    """Return seconds of each stage, what was decided, and the peak of memory."""
    stages: dict[str, float] = {}
    began = time.perf_counter()
    connected = connect(memory.catalog, memory.store, now=now(), workers=cpu_count())
    stages["connect"] = time.perf_counter() - began
    began = time.perf_counter()
    plan = memory.gc.plan(workers=cpu_count())
    stages["plan"] = time.perf_counter() - began
    counts = Counter(item.name for item in plan.items)
    began = time.perf_counter()
    done = memory.gc.apply(plan, allow_large=True)
    stages["apply"] = time.perf_counter() - began
    del plan
    began = time.perf_counter()
    again = memory.gc.plan(workers=cpu_count())
    stages["second plan"] = time.perf_counter() - began
    began = time.perf_counter()
    undone = memory.gc.undo(workers=cpu_count())
    stages["undo"] = time.perf_counter() - began
    return {
        "stages": stages,
        "total": stages["connect"] + stages["plan"] + stages["apply"],
        "connections": connected.connections,
        "decided": dict(sorted(counts.items())),
        "archived": done.archived,
        "acting again": len(again.active_items()),
        "restored": undone.restored,
        "peak_mb": common.peak_memory_mb(),
        "peak_helper_mb": common.peak_memory_mb(resource.RUSAGE_CHILDREN),
        "helpers": cpu_count(),
    }


def rows(size: int, found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what is told for people."""
    stages = [(name, f"{seconds:.1f} s") for name, seconds in found["stages"].items()]
    return [
        ("memories", f"{size:,}"),
        *stages,
        ("connect, plan and apply", f"{found['total']:.1f} s (goal: {PROMISE:.0f} s at {SIZE:,})"),
        ("peak memory", f"{found['peak_mb']:.0f} MB (goal: {PROMISE_MB:.0f} MB)"),
        (
            "largest worker process",
            f"{found['peak_helper_mb']:.0f} MB, {found['helpers']} workers",
        ),
        ("connections", f"{found['connections']:,}"),
        *((name, f"{count:,}") for name, count in found["decided"].items()),
    ]


def main() -> None:
    """Build a store, run gc over it, print the figures."""
    parser = common.arguments(__doc__ or "")
    parser.add_argument("--size", type=int, help="memories of the store")
    options = parser.parse_args()
    size = options.size or (QUICK_SIZE if options.quick else SIZE)
    with common.temporary_folder("gc") as folder:
        environ = common.environment(folder) | {"RAGMEM_STORE_BACKEND": "lightrag"}
        with Ragmem.open(environ=environ, home=folder, cwd=folder) as memory:
            settings = memory.settings
        models = GivenVectors()
        with Ragmem(settings, home=folder, cwd=folder, models=models) as memory:
            build(memory, models, size)
        with Ragmem(settings, home=folder, cwd=folder, models=models) as memory:
            found = measure(memory)
    document = {"machine": common.machine(), "size": size, **found}
    common.report("gc", document, ("gc", "value"), rows(size, found), options=options)


if __name__ == "__main__":
    # Processes that help would load this file first, and with it numpy for as many threads as there are
    # cores; those of `ragmem gc` load it when they know that each is to have one.
    del __file__
    main()

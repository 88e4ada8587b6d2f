"""Measure injections into sessions: the right memory if there is one, else nothing.

Each question is the first prompt of a session of its own, and then once more what a session is about to
research. Unrelated prompts are questions that the sets of other origins answer.
"""

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
from inputs.retrieval_sets import Query, RetrievalSet, folders_of_sets
from inputs.vector_cache import CachedModels, VectorCache
from retrieval import foreign_questions, put_texts

from ragmem.api.memory import Ragmem
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.context.topics import reason_to_skip
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import BATCH
from ragmem.storage.sql.batches import batches

SETS = ("questions", "codesess_commit")
EVENTS = ("prompt", "research", "subagent")
QUICK = 10


@dataclass(slots=True)
class Told:
    """What prompts of one sort were told: how many got something, and how many the right memory."""

    prompts: int = 0
    too_short: int = 0
    given: int = 0
    right: int = 0
    memories: list[int] = field(default_factory=list)
    of_gold: int = 0
    characters: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return the figures as data."""
        given = max(1, self.given)
        return {
            "prompts": self.prompts,
            "too_short": self.too_short,
            "given": self.given,
            "right": self.right,
            "memories": sum(self.memories) / given,
            "of_gold": self.of_gold / max(1, sum(self.memories)),
            "characters": statistics.median(self.characters) if self.characters else 0,
            "seconds": common.spread(self.seconds),
        }


def build(memory: Ragmem, chosen: RetrievalSet) -> dict[str, str]:
    """Store the documents of a set; return memory id -> document id."""
    memory.prepare()
    documents: dict[str, str] = {}
    for batch in batches(chosen.drafts, BATCH):
        judged = [
            classify_draft(
                draft, now=chosen.latest, sizes=memory.settings.chunking, rule="off", redactor=DEFAULT
            )
            for draft in batch
        ]
        documents |= {item.memory.id: item.memory.uri for item in judged}
        memory.catalog.memories.accept([(item.memory, item.chunks) for item in judged])
        put_texts(memory.catalog, memory.store, judged)
    memory.retrieval.calibrate()
    return documents


def ask(
    memory: Ragmem, asked: Sequence[Query], documents: dict[str, str], *, event: str, scope: str = ""
) -> Told:
    """Let each question begin a session, or be researched in one."""
    told = Told()
    for query in asked:
        told.prompts += 1
        told.too_short += bool(reason_to_skip(query.text, first=True))
        started = time.perf_counter()
        given = memory.injections.anticipate(
            f"{event} {scope} {query.id}",
            query.text,
            event=event,
            projects=[scope or query.scope],
            at=query.at,
        )
        told.seconds.append(time.perf_counter() - started)
        found = {documents[one.id] for one in given.context.memories}
        if found:
            told.given += 1
            told.right += bool(found & query.gold)
            told.memories.append(len(given.context.memories))
            told.of_gold += len(found & query.gold)
            told.characters.append(len(given.context.text))
    return told


def rows_of(name: str, event: str, answered: Told, unanswered: Told) -> list[str]:
    """Return the line of a set and an event."""
    shown = answered.document()
    return [
        f"{name}, {event}",
        str(answered.prompts),
        f"{answered.right / max(1, answered.prompts):.2f}",
        f"{(answered.given - answered.right) / max(1, answered.prompts):.2f}",
        f"{shown['memories']:.1f}",
        f"{shown['characters']:,.0f}",
        str(unanswered.prompts),
        f"{1 - unanswered.given / max(1, unanswered.prompts):.2f}",
        common.milliseconds(statistics.median(answered.seconds)) if answered.seconds else "-",
    ]


HEADERS = [
    "set, event",
    "prompts with an answer",
    "got the right memory",
    "got only others",
    "memories",
    "characters",
    "unrelated prompts",
    "got nothing",
    "p50 ms",
]


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument("--sets", default=",".join(SETS), help="these, separated by commas")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "ragmem-vectors", metavar="DIR"
    )
    options = parser.parse_args()
    about = common.machine()
    rows, notes = [], []
    document: dict[str, Any] = {"benchmark": "injections", "machine": about, "sets": {}}
    every = [RetrievalSet.read(folder) for folder in folders_of_sets(options.data)]
    for name in options.sets.split(",")[: 1 if options.quick else None]:
        chosen = next(one for one in every if one.name == name)
        with common.temporary_folder("injections") as home:
            plain = Ragmem.open(environ=common.environment(home), home=home, cwd=home)
            cache = VectorCache(options.cache, plain.models.embedder)
            models = CachedModels(plain.models, cache)
            with Ragmem(plain.settings, home=home, cwd=home, models=models) as memory:
                documents = build(memory, chosen)
                common.tell(f"{name}: {len(documents)} memories")
                answered = [query for query in chosen.queries if query.gold]
                without = [query for query in chosen.queries if not query.gold]
                foreign = foreign_questions(name, every)
                if options.quick:
                    answered, foreign = answered[:QUICK], foreign[:QUICK]
                scope = chosen.queries[0].scope
                for event in EVENTS:
                    good = ask(memory, answered, documents, event=event)
                    bad = ask(memory, foreign, documents, event=event, scope=scope)
                    document["sets"][f"{name} {event}"] = {
                        "answered": good.document(),
                        "unrelated": bad.document(),
                    }
                    rows.append(rows_of(name, event, good, bad))
                    if event == "prompt":
                        short = f"{good.too_short} of {good.prompts} prompts with an answer are too short"
                        notes.append(f"{name}: {short} to begin a topic, and get nothing")
                    if without:
                        own = ask(memory, without, documents, event=event)
                        silent = f"{own.prompts - own.given} of {own.prompts}"
                        notes.append(
                            f"{name}, {event}: own questions without an answer that got nothing: {silent}"
                        )
            cache.close()
            plain.close()
    common.report("injections", document, HEADERS, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()

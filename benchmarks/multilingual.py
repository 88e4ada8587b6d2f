"""Measure questions in other languages than English: recall and silence.

Each language has a home of its own with its notes; a second pool holds the notes of all languages. The data
is notes.jsonl (id, lang, date, title, text) and questions.jsonl (id, lang, qlang, text, note or null).
"""

import argparse
import json
import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import common
from inputs.retrieval_sets import RetrievalSet, moment
from retrieval import build, calibrated

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.services.retrieval.query import Question, ask

POOL = "all"
MODEL_VARIABLES = ("RAGMEM_MODELS_BACKEND", "RAGMEM_MODELS_MODEL")
DEPTH = 5


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def drafts(notes: Sequence[dict[str, Any]]) -> tuple[Draft, ...]:
    """Return the notes as drafts, with their ids as uris."""
    return tuple(
        Draft(
            text=note["text"],
            title=note["title"],
            source="notes",
            uri=note["id"],
            event_time=moment(note["date"]),
            scope=Scope(project="notes"),
        )
        for note in notes
    )


def answers(notes: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return per question the ids of the notes that a new home answers with, best first."""
    chosen = RetrievalSet(
        "multilingual", drafts(notes), (), max(filter(None, (moment(n["date"]) for n in notes))), 0
    )
    with (
        common.temporary_folder("multilingual") as home,
        Ragmem.open(environ=common.environment(home), home=home, cwd=home) as memory,
    ):
        catalog, store, documents, chunks = build(home, chosen, memory, memory.models, graph=True)
        assistance, store = calibrated(catalog, store, memory.models.embedder, chunks)
        policy = memory.retrieval.policy()
        return {
            row["id"]: [
                documents[match.memory.id]
                for match in ask(
                    catalog,
                    lambda: store,
                    Question(row["text"], projects=None, limit=DEPTH),
                    policy=policy,
                    now=chosen.latest,
                    assistance=assistance,
                ).matches
            ]
            for row in questions
        }


@contextmanager
def english_alone() -> Iterator[None]:
    """Let ragmem know no language but English."""
    with ExitStack() as patched:
        patched.enter_context(patch("ragmem.backends.minilm.embedder.in_english", lambda text: text))
        patched.enter_context(patch("ragmem.storage.fulltext.terms.foreign_language", return_value=None))
        for module in ("query", "select"):
            patched.enter_context(patch(f"ragmem.services.retrieval.{module}.is_glossed", return_value=False))
        yield


def figures(questions: Sequence[dict[str, Any]], found: dict[str, list[str]]) -> dict[str, float]:
    """Return recall at 1 and 5 and how many of both sorts of questions are met with silence."""
    asked = [row for row in questions if row["note"]]
    native = [row for row in asked if row["qlang"] == row["lang"]]
    foreign = [row for row in asked if row["qlang"] != row["lang"]]
    empty = [row for row in questions if not row["note"]]

    def share(rows: Sequence[dict[str, Any]], depth: int) -> float:
        return statistics.fmean(row["note"] in found[row["id"]][:depth] for row in rows) if rows else 0.0

    def silent(rows: Sequence[dict[str, Any]]) -> float:
        return statistics.fmean(not found[row["id"]] for row in rows) if rows else 0.0

    return {
        "recall@1": share(native, 1),
        "recall@5": share(native, 5),
        "english@1": share(foreign, 1),
        "english@5": share(foreign, 5),
        "silent": silent(empty),
        "lost": silent(native),
        "english_lost": silent(foreign),
    }


def mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each figure."""
    return {key: statistics.fmean(row[key] for row in rows) for key in rows[0]}


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/multilingual")
    parser.add_argument("--details", action="store_true", help="print each question that fails")
    parser.add_argument("--model", default="", metavar="BACKEND:MODEL", help="instead of the bundled model")
    options: argparse.Namespace = parser.parse_args()
    os.environ |= (
        dict(zip(MODEL_VARIABLES, options.model.partition(":")[::2], strict=True)) if options.model else {}
    )
    about = common.machine()
    notes, questions = read(options.data / "notes.jsonl"), read(options.data / "questions.jsonl")
    languages = sorted({note["lang"] for note in notes})
    own = {language: [note for note in notes if note["lang"] == language] for language in languages}
    asked = {language: [row for row in questions if row["lang"] == language] for language in languages}
    found = {language: answers(own[language], asked[language]) for language in languages}
    pooled = answers(notes, questions)
    rows = {language: figures(asked[language], found[language]) for language in languages}
    rows["mean"] = mean(list(rows.values()))
    if not options.model:
        with english_alone():
            plain = [figures(asked[one], answers(own[one], asked[one])) for one in languages]
        rows["mean, English only"] = mean(plain)
    rows["mean in the pool"] = mean([figures(asked[language], pooled) for language in languages])
    if options.details:
        for row in questions:
            got = found[row["lang"]][row["id"]]
            if (got[:1] if row["note"] else got) != ([row["note"]] if row["note"] else []):
                print(row["id"], row["qlang"], row["text"], "|", row["note"], "|", *got)
    headers = [
        "notes",
        "recall@1",
        "@5",
        "English questions @1",
        "@5",
        "no answer: silent",
        "wrongly silent",
        "English: silent",
    ]
    table = [[name, *(f"{value:.2f}" for value in row.values())] for name, row in rows.items()]
    name = "multilingual-model" if options.model else "multilingual"
    document = {"benchmark": name, "machine": about, "model": options.model, "rows": rows}
    notes_below = [f"the model is {options.model}"] if options.model else []
    common.report(name, document, headers, table, options=options, notes=notes_below)


if __name__ == "__main__":
    main()

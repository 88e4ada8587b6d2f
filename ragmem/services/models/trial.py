"""Test a model: its speed, and whether its answers are plausible."""

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ragmem.errors import EXIT_BACKEND, EXIT_NO, EXIT_OK, RagmemError
from ragmem.ports import Call, Embedder, LanguageModel, Meter, Purpose

Status = Literal["ok", "failed", "no answer"]
ModelUse = Literal["embedder", "language model", "named entities"]

# A note, and a question about it in other words.
PAIRS = (
    (
        "The database refuses new connections because the pool is exhausted.",
        "why can nobody connect to postgres",
    ),
    ("We pinned the compiler to version 12; the newer one breaks the build.", "which gcc do we have to use"),
    ("Nightly backups are copied to a second data centre.", "where do the safety copies go"),
    ("Passwords are hashed with argon2 before they are stored.", "how do we keep user credentials safe"),
    ("The front page loads slowly since the images are not compressed.", "what makes the website so slow"),
    ("Holiday requests must reach the office two weeks ahead.", "how early do I ask for vacation"),
    ("The mobile app crashes when the phone is turned sideways.", "bug on rotating the screen"),
    ("Invoices are sent on the first working day of each month.", "when do customers get their bills"),
    ("Rain is expected in the mountains for the whole weekend.", "will the weather be wet up in the hills"),
    ("Simmer the lentils with onions and cumin for half an hour.", "a recipe for a legume stew"),
    ("The train to Vienna leaves from platform nine.", "where do I board the railway to Austria"),
    ("Write the tests before the code that they check.", "should unit tests come first"),
)

LEAST_FOUND = 9
"""Minimum questions of the twelve that find their note; the bundled model finds all, chance one."""

LEAST_MARGIN = 0.05
"""Minimum average margin of the cosine between a question and its note over the other notes."""

LENGTH_TOLERANCE = 0.01
LEAST_SAMENESS = 0.99
"""Minimum cosine between the vectors of a text alone and in a batch."""

_QUESTIONS = ("what did we decide about the cache", "how is the service deployed", "who owns the parser")
_CHARACTERS_PER_TOKEN = 4
_ANSWER_TOKENS = 64

_FACT = "The harbour bridge was opened in the year 1932."
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"thing": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["thing", "year"],
    "additionalProperties": False,
}
_YEAR = 1932


@dataclass(frozen=True, slots=True)
class Trial:
    """The result for a model: `figures` are seconds, rates and counts by name; `problem` is "" for none."""

    use: ModelUse
    backend: str
    model: str
    status: Status
    figures: Mapping[str, float]
    problem: str = ""
    advice: str = ""


class TrialMeter:
    """Counts requests as trials, which no cap stops, and remembers them; implements ports.Meter."""

    def __init__(self, meter: Meter | None) -> None:
        self._meter = meter
        self.calls: list[Call] = []

    def admit(self, purpose: Purpose) -> None:
        """Admit everything: a person asked."""

    def record(self, call: Call) -> None:
        """Count a request of any purpose as a trial."""
        self.calls.append(call)
        if self._meter is not None:
            self._meter.record(replace(call, purpose="test"))


def exit_code(trials: list[Trial]) -> int:
    """Return 4 if a model does not answer, 1 if an answer is implausible, else 0."""
    found = {trial.status for trial in trials}
    return EXIT_BACKEND if "no answer" in found else EXIT_NO if "failed" in found else EXIT_OK


def unanswered_trial(use: ModelUse, backend: str, model: str, error: RagmemError) -> Trial:
    """Return the trial of a model that does not answer."""
    return Trial(use, backend, model, "no answer", {}, str(error), error.hint)


def probe(embedder: Embedder) -> str:
    """Embed one text and return the problem of its vector, or ""; raises BackendError."""
    return _vector_problem(embedder.embed([PAIRS[0][0]], role="document"), 1, embedder.dimensions)


def try_embedder(backend: str, embedder: Embedder) -> Trial:
    """Test an embedder with six calls. Raises BackendError if it does not answer."""
    notes, questions = [note for note, _ in PAIRS], [question for _, question in PAIRS]
    began = time.perf_counter()
    # The first call may load the model, which may take longer than a question would wait.
    alone = embedder.embed([notes[-1]], role="document")
    first = time.perf_counter() - began
    seconds = []
    for text in _QUESTIONS:
        began = time.perf_counter()
        embedder.embed([text], role="query")
        seconds.append(time.perf_counter() - began)
    began = time.perf_counter()
    documents = embedder.embed(notes, role="document")
    batch = time.perf_counter() - began
    asked = embedder.embed(questions, role="query")
    figures = {
        "dimensions": float(embedder.dimensions),
        "first_seconds": first,
        "query_seconds": statistics.median(seconds),
        "texts_per_second": len(notes) / batch if batch else 0.0,
    }
    problem = (
        _vector_problem(alone, 1, embedder.dimensions)
        or _vector_problem(documents, len(PAIRS), embedder.dimensions)
        or _vector_problem(asked, len(PAIRS), embedder.dimensions)
    )
    if not problem:
        sameness = float(documents[-1] @ alone[0])
        sense, problem = _measure_relatedness(asked, documents)
        figures |= sense
        if sameness < LEAST_SAMENESS:
            problem = f"a text's vector depends on the other texts in its batch: cosine {sameness:.3f}"
    advice = "choose another model: ragmem models use minilm" if problem else ""
    return Trial(
        "embedder", backend, embedder.model_id, "failed" if problem else "ok", figures, problem, advice
    )


def _vector_problem(vectors: Any, count: int, dimensions: int) -> str:
    if vectors.shape != (count, dimensions):
        return f"it returned an array {vectors.shape} where {(count, dimensions)} was expected"
    if not np.isfinite(vectors).all():
        return "its vectors contain values that are not numbers"
    lengths = np.linalg.norm(vectors, axis=1)
    if abs(lengths - 1).max() > LENGTH_TOLERANCE:
        return f"its vectors are {lengths.min():.3f} to {lengths.max():.3f} long, not 1"
    return ""


def _measure_relatedness(asked: Any, documents: Any) -> tuple[dict[str, float], str]:
    """Return the margin, the number of questions that find their note, and any problem."""
    likeness = asked @ documents.T
    own = np.diagonal(likeness)
    others = (likeness.sum() - own.sum()) / (likeness.size - len(own))
    margin = float(own.mean() - others)
    right = int((likeness.argmax(axis=1) == np.arange(len(own))).sum())
    figures = {
        "related": float(own.mean()),
        "unrelated": float(others),
        "margin": margin,
        "found": float(right),
    }
    if right < LEAST_FOUND or margin < LEAST_MARGIN:
        problem = f"{right} of {len(own)} questions find their note, and the margin is {margin:.2f}"
        return figures, f"its vectors do not distinguish texts: {problem}"
    return figures, ""


def try_language_model(backend: str, model: LanguageModel, meter: TrialMeter) -> Trial:
    """Test a language model with two calls. Raises BackendError if it does not answer."""
    began = time.perf_counter()
    text = model.complete("Say in one short sentence what a database is.", max_tokens=_ANSWER_TOKENS)
    seconds = time.perf_counter() - began
    told = sum(call.tokens_out for call in meter.calls)
    tokens = told or len(text) / _CHARACTERS_PER_TOKEN
    began = time.perf_counter()
    answer = model.complete(
        f"{_FACT}\nWhich thing was opened, and in which year? Answer in JSON with the keys thing and year.",
        max_tokens=_ANSWER_TOKENS,
        json_schema=_SCHEMA,
    )
    figures = {
        "answer_seconds": seconds,
        "json_seconds": time.perf_counter() - began,
        "tokens_per_second": tokens / seconds if seconds else 0.0,
    }
    problem = "" if text.strip() else "its answer is empty"
    problem = problem or _json_problem(answer)
    advice = 'choose a larger model, or leave extraction to the rules: by = "rules" below [extraction]'
    return Trial(
        "language model",
        backend,
        model.model_id,
        "failed" if problem else "ok",
        figures,
        problem,
        advice if problem else "",
    )


def _json_problem(answer: str) -> str:
    """Return the problem of a JSON answer, or ""."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return "its answer is not JSON"
    if not isinstance(value, dict) or not isinstance(value.get("thing"), str):
        return "its JSON does not match the schema"
    if value.get("year") != _YEAR:
        return f'its JSON is valid, but it has another year than {_YEAR} in "{_FACT}"'
    return ""

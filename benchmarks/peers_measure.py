"""Measure the tools on one corpus: ingestion one after the other, all else in turns."""

import json
import random
import shutil
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
from peers_corpus import MORE, Corpus, Question
from peers_process import Failed, Worker, run
from peers_tools import LIMIT, Peer, Place
from retrieval_sets import metrics_of

WARM_UP = "what was decided about the database"


@dataclass(slots=True)
class Standing:
    """A tool on a corpus, and its figures so far; `failed` says why it has no more."""

    peer: Peer
    python: Path
    place: Place
    figures: dict[str, Any] = field(default_factory=dict)
    failed: str = ""

    def worker(self) -> Worker:
        """Open the tool's store in a new process."""
        command = self.peer.work(self.python, self.place)
        return Worker(command, environ=self.peer.environment(self.place), folder=self.place.folder)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: questions in new processes, memories more of each sort, seconds of a step."""

    cold: int
    more: int
    ingest_timeout: float
    timeout: float


@contextmanager
def vectors(engine: str) -> Iterator[str]:
    """Serve the bundled model's vectors; give the address."""
    script = str(Path(__file__).parent / "peers_embeddings.py")
    process = subprocess.Popen(
        [sys.executable, script, "--engine", engine],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=common.REPOSITORY,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}/v1"
    finally:
        process.stdin.close()
        process.wait()


def spent(embeddings: str) -> dict[str, float]:
    """Return the texts and seconds that the vectors have taken so far, and the memory of the model."""
    with urllib.request.urlopen(embeddings, timeout=60) as answer:
        return json.load(answer)


def measure(standings: Sequence[Standing], corpus: Corpus, extent: Extent) -> None:
    """Fill the figures of all tools; one that fails is left out of what comes after."""
    for standing in _well(standings):
        with _surviving(standing):
            _ingest(standing, corpus, extent)
    common.tell(f"{corpus.name}: questions")
    _ask_warm(_well(standings), corpus, extent)
    common.tell(f"{corpus.name}: questions in new processes")
    _ask_cold(_well(standings), corpus, extent)


def _well(standings: Sequence[Standing]) -> list[Standing]:
    return [standing for standing in standings if not standing.failed]


@contextmanager
def _surviving(standing: Standing) -> Iterator[None]:
    """Note down why a tool failed, and let the others go on."""
    try:
        yield
    except (Failed, OSError) as error:
        standing.failed = str(error)
        # What it did until then stays; what was not finished goes.
        standing.figures = {name: standing.figures[name] for name in ("ingest",) if name in standing.figures}
        common.tell(f"{standing.peer.name}: {error}")


def _ingest(standing: Standing, corpus: Corpus, extent: Extent) -> None:
    peer, place = standing.peer, standing.place
    place.home.mkdir(parents=True)
    # A copy for each: one of them writes into the files.
    shutil.copytree(corpus.folder, place.notes)
    command, request = peer.ingest_command(standing.python, place)
    before = spent(place.embeddings)
    done = run(
        command,
        environ=peer.environment(place),
        folder=place.folder,
        timeout=extent.ingest_timeout,
        request=request,
    )
    after = spent(place.embeddings)
    embedded = after["texts"] - before["texts"]
    standing.figures["ingest"] = {
        "seconds": done.seconds,
        "cpu_seconds": done.cpu_seconds,
        # A tool that computes its vectors has the model in its own peak.
        "peak_mb": done.peak_mb + (after["model_mb"] if embedded else 0.0),
        "own_peak_mb": done.peak_mb,
        "embedding_seconds": after["seconds"] - before["seconds"],
        "embedded": embedded,
        "disk_mb": common.folder_bytes(place.home) / 1e6,
    }
    common.tell(
        f"{peer.name}: {corpus.files:,} files in {done.seconds:.1f} s, {done.peak_mb:,.0f} MB of its own"
    )


def _ask_warm(standings: Sequence[Standing], corpus: Corpus, extent: Extent) -> None:
    """Ask all questions, then store more memories, kill the workers and look for what they stored."""
    workers: dict[str, Worker] = {}
    try:
        for standing in standings:
            with _surviving(standing):
                _open(standing, workers, extent)
        for number, question in enumerate(corpus.questions):
            for standing in _turn(_well(standings), number):
                with _surviving(standing):
                    _ask_one(standing, workers[standing.peer.name], question, extent)
        for number, (sort, name, text) in enumerate(_more(extent)):
            for standing in _turn(_well(standings), number):
                with _surviving(standing):
                    worker = workers[standing.peer.name]
                    _, seconds = worker.ask(extent.timeout, do="insert", name=f"{name}.md", text=text)
                    standing.figures[sort].append(seconds)
    finally:
        for worker in workers.values():
            worker.kill()
    for standing in _well(standings):
        with _surviving(standing):
            standing.figures["quality"] = _quality(standing.figures.pop("found"))
            standing.figures["asked"] = common.spread(standing.figures["asked"])
            for sort in MORE:
                standing.figures[sort] = common.spread(standing.figures[sort])
            standing.figures["kept"] = _kept(standing, extent)


def _open(standing: Standing, workers: dict[str, Worker], extent: Extent) -> None:
    workers[standing.peer.name] = worker = standing.worker()
    _, opened = worker.ask(extent.timeout, do="ask", text=WARM_UP, limit=LIMIT)
    standing.figures |= {"opened": opened, "asked": [], "found": [], **{sort: [] for sort in MORE}}


def _turn(standings: Sequence[Standing], number: int) -> list[Standing]:
    """Return the tools with another one first each time."""
    first = number % max(1, len(standings))
    return [*standings[first:], *standings[:first]]


def _ask_one(standing: Standing, worker: Worker, question: Question, extent: Extent) -> None:
    found, seconds = worker.ask(extent.timeout, do="ask", text=question.text, limit=LIMIT)
    names = list(dict.fromkeys(Path(name).name for name in found))
    standing.figures["asked"].append(seconds)
    standing.figures["found"].append((question, names))


def _more(extent: Extent) -> list[tuple[str, str, str]]:
    """Return the further memories, one of each sort in turn: sort, name, text."""
    rows = zip(*(some[: extent.more] for some in MORE.values()), strict=True)
    return [(sort, *one) for row in rows for sort, one in zip(MORE, row, strict=True)]


def _quality(found: Sequence[tuple[Question, list[str]]]) -> dict[str, float]:
    """Return recall@5, hit@1 and hit@5, and the share of questions without gold that got no answer."""
    answerable = [(question, names) for question, names in found if question.gold]
    unanswerable = [names for question, names in found if not question.gold]
    rows = [metrics_of(names, question.gold) for question, names in answerable]
    return {
        "questions": len(answerable),
        "recall@5": statistics.fmean(row["recall@5"] for row in rows),
        "hit@1": statistics.fmean(
            bool(names) and names[0] in question.gold for question, names in answerable
        ),
        "hit@5": statistics.fmean(row["recall_any@5"] for row in rows),
        "without_answer": len(unanswerable),
        "silent": statistics.fmean(not names for names in unanswerable) if unanswerable else float("nan"),
    }


def _kept(standing: Standing, extent: Extent) -> int:
    """Return how many of the added memories a new process finds after the one that stored them was killed."""
    worker = standing.worker()
    kept = 0
    try:
        for _, name, text in _more(extent):
            found, _ = worker.ask(extent.timeout, do="ask", text=text, limit=LIMIT)
            # One of them appends a suffix of its own.
            kept += any(Path(one).name.startswith(f"{name}.") for one in found)
        worker.close()
    finally:
        worker.kill()
    return kept


def _ask_cold(standings: Sequence[Standing], corpus: Corpus, extent: Extent) -> None:
    """Ask some questions in new processes each."""
    chosen = random.Random(1).sample(corpus.questions, min(extent.cold, len(corpus.questions)))
    times: Mapping[str, list[float]] = {standing.peer.name: [] for standing in standings}
    for number, question in enumerate(chosen):
        for standing in _turn(_well(standings), number):
            with _surviving(standing):
                command, request = standing.peer.cold_command(standing.python, standing.place, question.text)
                done = run(
                    command,
                    environ=standing.peer.environment(standing.place),
                    folder=standing.place.folder,
                    timeout=extent.timeout,
                    request=request,
                    good=standing.peer.good,
                )
                times[standing.peer.name].append(done.seconds)
    for standing in _well(standings):
        standing.figures["cold"] = common.spread(times[standing.peer.name])

"""Measure the tools on one corpus in interleaved rounds, each with another tool first."""

import random
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
from inputs.retrieval_sets import metrics_of
from peer_tools.corpus import MORE, WHOLE, Corpus, Question
from peer_tools.process import Answer, Failed, Finished, Worker, run
from peer_tools.tools import LIMIT, Peer, Place, Request

WARM_UP = "what was decided about the database"

KEPT = ("rounds", "ingest")
"""Figures of a tool that failed later."""


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
    """How much is measured: rounds of ingestion, new processes, memories more, and the seconds of a step."""

    rounds: int
    cold: int
    more: int
    ingest_timeout: float
    timeout: float


def measure(standings: Sequence[Standing], corpus: Corpus, extent: Extent) -> None:
    """Fill the figures of all tools; one that fails is left out of what comes after."""
    for number in range(extent.rounds):
        for standing in _turn(_well(standings), number):
            with _surviving(standing):
                _ingest(standing, corpus, extent)
    for standing in _well(standings):
        rounds = standing.figures["rounds"]
        standing.figures["ingest"] = {
            name: statistics.median(one[name] for one in rounds) for name in rounds[0]
        }
    common.tell(f"{corpus.name}: questions")
    _ask_warm(_well(standings), corpus, extent)
    common.tell(f"{corpus.name}: questions and memories in new processes")
    chosen = random.Random(1).sample(corpus.questions, min(extent.cold, len(corpus.questions)))
    _in_new_processes(_well(standings), "cold", [one.text for one in chosen], extent)
    _in_new_processes(_well(standings), "whole", [text for _, text in WHOLE[: extent.cold]], extent)


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
        standing.figures = {name: standing.figures[name] for name in KEPT if name in standing.figures}
        common.tell(f"{standing.peer.name}: {error}")


def _ingest(standing: Standing, corpus: Corpus, extent: Extent) -> None:
    """Store all files in an empty home; where a tool can answer before, measure that in another one."""
    peer, place = standing.peer, standing.place
    first = None
    if peer.first is not None:
        early = Place(place.folder.with_name(f"{place.folder.name}-first"))
        first = _run(standing, early, corpus, peer.first_command, extent)
        if "by_words" not in standing.figures:
            standing.figures["by_words"] = _asked_once(standing, early, corpus, extent)
    done = _run(standing, place, corpus, peer.ingest_command, extent)
    disk = common.folder_bytes(place.home)
    standing.figures.setdefault("rounds", []).append(
        {
            "seconds": done.seconds,
            "cpu_seconds": done.cpu_seconds,
            "first_seconds": (first or done).seconds,
            "first_cpu_seconds": (first or done).cpu_seconds,
            "peak_mb": done.peak_mb,
            "disk_mb": disk / 1e6,
            "disk_by_text": disk / corpus.size,
        }
    )
    common.tell(
        f"{peer.name}: {corpus.files:,} files, {done.cpu_seconds:.1f} processor seconds, "
        f"{done.peak_mb:,.0f} MB, {disk / corpus.size:.1f} bytes a byte of text"
    )


def _run(
    standing: Standing,
    place: Place,
    corpus: Corpus,
    command: Callable[[Path, Place], tuple[list[str], Request | None]],
    extent: Extent,
) -> Finished:
    shutil.rmtree(place.folder, ignore_errors=True)
    place.home.mkdir(parents=True)
    # A copy for each: one of them writes into the files.
    shutil.copytree(corpus.folder, place.notes)
    words, request = command(standing.python, place)
    environ = standing.peer.environment(place)
    return run(words, environ=environ, folder=place.folder, timeout=extent.ingest_timeout, request=request)


def _asked_once(standing: Standing, place: Place, corpus: Corpus, extent: Extent) -> dict[str, float]:
    """Return the quality of what a tool answers before it is done."""
    worker = Standing(standing.peer, standing.python, place).worker()
    try:
        return _quality([(one, _names(worker, one, extent)[0]) for one in corpus.questions])
    finally:
        worker.kill()


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
        for standing in _well(standings):
            standing.figures["asking_mb"] = workers[standing.peer.name].memory_mb()
        for number, (sort, name, text) in enumerate(_more(extent)):
            for standing in _turn(_well(standings), number):
                with _surviving(standing):
                    worker = workers[standing.peer.name]
                    answer = worker.ask(extent.timeout, do="insert", name=f"{name}.md", text=text)
                    standing.figures[sort].append(answer.cpu_seconds)
    finally:
        for worker in workers.values():
            worker.kill()
    for standing in _well(standings):
        with _surviving(standing):
            standing.figures["quality"] = _quality(standing.figures.pop("found"))
            for sort in ("asked", "asked_seconds", *MORE):
                standing.figures[sort] = common.spread(standing.figures[sort])
            standing.figures["kept"] = _kept(standing, extent)


def _open(standing: Standing, workers: dict[str, Worker], extent: Extent) -> None:
    workers[standing.peer.name] = worker = standing.worker()
    opened = worker.ask(extent.timeout, do="ask", text=WARM_UP, limit=LIMIT)
    standing.figures["opened"] = opened.cpu_seconds
    standing.figures |= {name: [] for name in ("asked", "asked_seconds", "found", *MORE)}


def _turn(standings: Sequence[Standing], number: int) -> list[Standing]:
    """Return the tools with another one first each time."""
    first = number % max(1, len(standings))
    return [*standings[first:], *standings[:first]]


def _ask_one(standing: Standing, worker: Worker, question: Question, extent: Extent) -> None:
    names, answer = _names(worker, question, extent)
    standing.figures["asked"].append(answer.cpu_seconds)
    standing.figures["asked_seconds"].append(answer.seconds)
    standing.figures["found"].append((question, names))


def _names(worker: Worker, question: Question, extent: Extent) -> tuple[list[str], Answer]:
    """Return the names of the files that answer, each once, and the answer itself."""
    answer = worker.ask(extent.timeout, do="ask", text=question.text, limit=LIMIT)
    return list(dict.fromkeys(Path(name).name for name in answer.value)), answer


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
            answer = worker.ask(extent.timeout, do="ask", text=text, limit=LIMIT)
            # One of them appends a suffix of its own.
            kept += any(Path(one).name.startswith(f"{name}.") for one in answer.value)
        worker.close()
    finally:
        worker.kill()
    return kept


def _in_new_processes(standings: Sequence[Standing], sort: str, texts: Sequence[str], extent: Extent) -> None:
    """Ask, or store, each text by a process of its own."""
    spent: dict[str, list[Finished]] = {standing.peer.name: [] for standing in standings}
    for number, text in enumerate(texts):
        for standing in _turn(_well(standings), number):
            peer, place = standing.peer, standing.place
            with _surviving(standing):
                if sort == "cold":
                    command, request = peer.cold_command(standing.python, place, text)
                else:
                    command, request = peer.more_command(standing.python, place, f"whole-{number}.md", text)
                spent[peer.name].append(
                    run(
                        command,
                        environ=peer.environment(place),
                        folder=place.folder,
                        timeout=extent.timeout,
                        request=request,
                        good=peer.good if sort == "cold" else (0,),
                    )
                )
    for standing in _well(standings):
        runs = spent[standing.peer.name]
        standing.figures[sort] = common.spread([one.cpu_seconds for one in runs])
        standing.figures[f"{sort}_seconds"] = common.spread([one.seconds for one in runs])

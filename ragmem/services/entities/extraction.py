"""Extract entities and relations with a language model, resumably, and each text only once.

Memories are indexed by rule at once and never wait for a model. This pass asks about the texts that the
configured model has not seen with this prompt, stores each answer as it arrives, and indexes the memories
again.
"""

import queue
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, Protocol

from ragmem.config.settings import Settings
from ragmem.domain.entities.extraction_answer import Answer, no_answer, read_answer
from ragmem.domain.entities.extraction_prompt import SCHEMA, SYSTEM, model_key, prompt, prompt_again, text_key
from ragmem.domain.model import Chunk
from ragmem.errors import BackendError
from ragmem.ports import INVALID, Call, CompletesMany, LanguageModel, Meter, Models, Store
from ragmem.services.entities.extraction_texts import Texts, find_newly_indexed, find_texts, indexed_memories
from ragmem.services.ingestion.index import deferred_ids, index_by_id, index_pending
from ragmem.services.processes.progress import Progress
from ragmem.storage.activity.extractions import By, Choice
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches

BATCH_SIZE = 8
"""Prompts per batch: the maximum loss if the process is killed."""

STOP_AFTER = 4
"""Consecutive texts without an answer after which the model counts as down."""

TEXTS_AT_ONCE = 2000
"""Texts per round: finding them takes a second, asking about them half an hour."""

PUT_AT_ONCE = 16
"""Memories that are stored again together, once all their texts have answers."""


@dataclass(slots=True)
class ExtractionReport:
    """The result of a pass, in texts; `note` says why some still wait.

    `known` texts had an answer before. Of the `asked` ones, `invalid` counts those without a usable answer
    after two tries. `invented` counts entities that no text names, `waiting` the texts without an answer.
    """

    by: By
    model: str = ""
    known: int = 0
    asked: int = 0
    invalid: int = 0
    invented: int = 0
    waiting: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExtractionPorts:
    """The dependencies of a pass; the models and the store are opened on demand."""

    catalog: Catalog
    open_store: Callable[[], Store]
    open_models: Callable[[], Models]
    settings: Settings
    meter: Meter
    now: Callable[[], datetime]
    progress: Progress


def extract_by_model(ports: ExtractionPorts, *, dry_run: bool = False) -> ExtractionReport | None:
    """Send all new texts to the configured language model; None if only rules are configured.

    With `dry_run` nothing is asked or written, and `waiting` counts what would be. After an interrupted or
    killed pass the next one continues: answers are kept, and unfinished memories are indexed by the next
    writer. If the model is down or a daily cap is reached, the pass ends with a note.
    """
    catalog, wanted = ports.catalog, ports.settings.extraction.by
    before = catalog.extractions.choice()
    if wanted == "rules":
        if not dry_run and before.by != "rules":
            choose_extractor(ports, replace(before, by="rules", model=""))
        return None
    report = ExtractionReport("llm" if wanted == "llm" else "both")
    try:
        model = ports.open_models().language_model
        if model is None:
            report.note = f'extraction.by is "{wanted}", and no model is set in [language_model]'
            return report
        report.model = model.model_id
        choice = replace(before, by=report.by, model=model_key(model.model_id))
        if dry_run:
            texts = find_texts(catalog, choice.model)
            report.known, report.waiting = texts.known, texts.waiting
            return report
        if before != choice:
            choose_extractor(ports, choice)
        _ask_all(ports, model, choice.model, report)
    except BackendError as error:
        report.note = error.full_message
    return report


def choose_extractor(ports: ExtractionPorts, choice: Choice) -> None:
    """Change the extraction method from now on, and index affected memories again."""
    extractions = ports.catalog.extractions
    useful = {
        key
        for one in (extractions.choice(), choice)
        for model in filter(None, (one.model, one.ner))
        for key, valid in extractions.answered_texts(model).items()
        if valid
    }
    again = [
        memory.id
        for memory, chunks in (indexed_memories(ports.catalog) if useful else ())
        if any(text_key(chunk) in useful for chunk in chunks)
    ]
    leaving = deferred_ids(ports.catalog)
    extractions.choose(choice, again=again)
    if again:
        ports.progress.begin("put again", len(again))
        index_pending(ports.catalog, ports.open_store(), advance=ports.progress.advance, leaving=leaving)


class _ExtractionBatch:
    """Asks about some texts, and indexes each memory again when its last text has an answer."""

    def __init__(
        self, ports: ExtractionPorts, model: LanguageModel, key: str, texts: Texts, report: ExtractionReport
    ) -> None:
        self._ports = ports
        self._model = model
        self._key = key
        self._texts = texts
        self._report = report
        self._open_texts = Counter(chain.from_iterable(texts.memories.values()))
        """Memory id -> number of texts without an answer."""
        self._answered: dict[str, None] = {}
        """The memories with new answers."""
        self._invalid: dict[str, Answer] = {}
        """Unusable first answers, until the second ones arrive."""

    def run(self) -> None:
        """Ask about the texts, store the answers, and index their memories again."""
        texts, report, catalog = self._texts, self._report, self._ports.catalog
        unanswered = self._ask(texts.chunks, singly=False)
        self._ask_again()
        if unanswered and not report.note and report.asked:
            # A text that fails twice while others succeed is refused for its content, and would be paid for
            # with every seed.
            again = self._ask({key: texts.chunks[key] for key in unanswered}, singly=True)
            self._ask_again()
            answered = next((chunk for key, chunk in texts.chunks.items() if key not in unanswered), None)
            if len(again) == len(unanswered) and not report.note and not self._still_answers(answered):
                report.note = next(iter(again.values())).full_message
            if not report.note:
                self._store({key: no_answer(str(error)) for key, error in again.items()})
        elif unanswered and not report.note:
            report.note = next(iter(unanswered.values())).full_message
        self._index(list(self._answered))
        late = find_newly_indexed(catalog, texts)
        if late:
            catalog.extractions.mark_pending(late)
            index_by_id(catalog, self._ports.open_store(), late)

    def _ask(self, chunks: Mapping[str, Chunk], *, singly: bool) -> dict[str, BackendError]:
        """Store the answers as they arrive; return the failed texts, with a note if the pass must end."""
        ports, report = self._ports, self._report
        request = Request(SYSTEM, ports.settings.extraction.max_tokens, SCHEMA)
        again = dict(self._invalid)
        prompts = {
            key: prompt_again(chunk, again[key].problem) if key in again else prompt(chunk)
            for key, chunk in chunks.items()
        }
        unanswered: dict[str, BackendError] = {}
        in_a_row = 0
        stop = threading.Event()
        concurrency = ports.settings.language_model.concurrency
        with closing(
            complete_all(self._model, prompts, request, concurrency=concurrency, singly=singly, stop=stop)
        ) as outcomes:
            for found in outcomes:
                answers = {key: answer for key, answer in found.items() if isinstance(answer, str)}
                failed = {key: error for key, error in found.items() if isinstance(error, BackendError)}
                self._read_answers(answers, last=bool(again))
                unanswered |= failed
                if not again:
                    ports.progress.advance(len(found))
                in_a_row = in_a_row + len(failed) if not answers else 0
                if failed and not stop.is_set() and (cap := self._cap_message()):
                    # Pending requests are paid for and end soon.
                    report.note = cap
                    stop.set()
                if in_a_row >= STOP_AFTER and not stop.is_set():
                    report.note = next(reversed(failed.values())).full_message
                    break
        return unanswered

    def _ask_again(self) -> None:
        """Repeat the requests with unusable answers, with the reason."""
        if self._invalid and not self._report.note:
            self._ask({key: self._texts.chunks[key] for key in self._invalid}, singly=True)
        # Without a second answer the first one counts, because it was paid for.
        self._store(self._invalid)
        self._invalid = {}

    def _still_answers(self, chunk: Chunk | None) -> bool:
        """Return whether the model still answers about a text that it answered before."""
        if chunk is None:
            return False
        most = self._ports.settings.extraction.max_tokens
        try:
            self._model.complete(prompt(chunk), system=SYSTEM, max_tokens=most, json_schema=SCHEMA)
        except BackendError:
            return False
        return True

    def _cap_message(self) -> str:
        try:
            self._ports.meter.admit("extraction")
        except BackendError as error:
            return error.full_message
        return ""

    def _read_answers(self, outcomes: Mapping[str, str], *, last: bool) -> None:
        """Parse answers and store them; unusable ones only if they are the `last` ones."""
        chunks = self._texts.chunks
        answers = {key: read_answer(text, chunks[key].searchable) for key, text in outcomes.items()}
        for key, answer in answers.items():
            if last:
                self._count_invalid()
                del self._invalid[key]
            elif not answer.is_valid:
                self._invalid[key] = answer
        self._store({key: answer for key, answer in answers.items() if last or answer.is_valid})

    def _count_invalid(self) -> None:
        backend = self._ports.settings.language_model.backend
        self._ports.meter.record(Call(backend, self._report.model, "extraction", error=INVALID))

    def _store(self, answers: Mapping[str, Answer]) -> None:
        """Store answers, count them, and index complete memories again, in small batches."""
        if not answers:
            return
        memories, report = self._texts.memories, self._report
        useful = {
            memory_id for key, answer in answers.items() if answer.entities for memory_id in memories[key]
        }
        self._ports.catalog.extractions.keep(self._key, answers, again=useful, now=self._ports.now())
        for key, answer in answers.items():
            report.asked += 1
            report.invalid += not answer.is_valid
            report.invented += answer.invented
            report.waiting -= 1
            if not answer.is_valid:
                self._count_invalid()
            self._open_texts.subtract(memories[key])
        self._answered.update(dict.fromkeys(useful))
        complete = [memory_id for memory_id in self._answered if not self._open_texts[memory_id]]
        if len(complete) >= PUT_AT_ONCE:
            self._index(complete)

    def _index(self, memory_ids: Sequence[str]) -> None:
        for batch in batches(memory_ids, PUT_AT_ONCE):
            index_by_id(self._ports.catalog, self._ports.open_store(), batch)
            for memory_id in batch:
                del self._answered[memory_id]


class PassReport(Protocol):
    """What a pass over texts counts: those read before, those that wait, and why it ended early."""

    known: int
    waiting: int
    note: str


def unread_texts(ports: ExtractionPorts, key: str, report: PassReport, *, stage: str) -> Iterator[Texts]:
    """Yield the texts that a model has not seen, some at a time, until none is left or there is a note."""
    extractions = ports.catalog.extractions
    fingerprint = extractions.fingerprint(key)
    if extractions.is_finished(fingerprint):
        report.known = len(extractions.answered_texts(key))
        return
    texts = find_texts(ports.catalog, key, most=TEXTS_AT_ONCE)
    report.known, report.waiting = texts.known, texts.waiting
    if texts.chunks:
        ports.progress.begin(stage, texts.waiting)
    while texts.chunks and not report.note:
        yield texts
        texts = find_texts(ports.catalog, key, most=TEXTS_AT_ONCE)
    if not texts.waiting:
        extractions.finish(fingerprint)


def _ask_all(ports: ExtractionPorts, model: LanguageModel, key: str, report: ExtractionReport) -> None:
    for texts in unread_texts(ports, key, report, stage="ask"):
        _ExtractionBatch(ports, model, key, texts, report).run()
    if report.asked:
        detail = {"asked": report.asked, "invalid": report.invalid}
        ports.catalog.log.write("extract", detail, now=ports.now())


@dataclass(frozen=True, slots=True)
class Request:
    """The settings that all prompts share."""

    system: str
    max_tokens: int
    json_schema: Mapping[str, Any]


Outcome = str | BackendError
"""An answer, or the error."""


def complete_all(
    model: LanguageModel,
    prompts: Mapping[str, str],
    request: Request,
    *,
    concurrency: int,
    singly: bool = False,
    stop: threading.Event,
) -> Generator[dict[str, Outcome]]:
    """Yield the outcomes by the keys of their prompts, sent in order.

    After `stop` is set, no more prompts are sent, but the answers to pending ones are still yielded. A caller
    that does not want to wait for them closes the generator.

    A model that accepts batches gets several prompts at once, unless `singly`; other models are called from
    `concurrency` threads. The threads are daemons, so that an interrupted process does not wait for a server.
    At most one answer per thread is unprocessed, so a killed process loses no more than that.
    """
    if isinstance(model, CompletesMany) and not singly:
        yield from _complete_batch(model, prompts, request, stop)
    else:
        yield from _complete_parallel(model, prompts, request, concurrency, stop)


def _complete_batch(
    model: CompletesMany, prompts: Mapping[str, str], request: Request, stop: threading.Event
) -> Generator[dict[str, Outcome]]:
    for keys in batches(prompts, BATCH_SIZE):
        if stop.is_set():
            return
        try:
            answers: Sequence[Outcome] = model.complete_many(
                [prompts[key] for key in keys],
                system=request.system,
                max_tokens=request.max_tokens,
                json_schema=request.json_schema,
            )
        except BackendError as error:
            answers = [error] * len(keys)
        yield dict(zip(keys, answers, strict=True))


def _complete_parallel(
    model: LanguageModel,
    prompts: Mapping[str, str],
    request: Request,
    concurrency: int,
    stop: threading.Event,
) -> Generator[dict[str, Outcome]]:
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, Outcome | Exception] | None] = queue.SimpleQueue()
    free = threading.Semaphore(concurrency)
    for key in prompts:
        waiting.put(key)

    def work() -> None:
        while free.acquire() and not stop.is_set():
            try:
                key = waiting.get_nowait()
            except queue.Empty:
                break
            try:
                answer: Outcome | Exception = model.complete(
                    prompts[key],
                    system=request.system,
                    max_tokens=request.max_tokens,
                    json_schema=request.json_schema,
                )
            except Exception as error:  # noqa: BLE001 - raised again where the outcomes are taken
                answer = error
            done.put((key, answer))
        done.put(None)
        free.release()

    working = min(concurrency, len(prompts))
    for _ in range(working):
        threading.Thread(target=work, name="ragmem-extraction", daemon=True).start()
    try:
        while working:
            results = [done.get()]
            while not done.empty():
                results.append(done.get())
            outcomes = [one for one in results if one is not None]
            working -= len(results) - len(outcomes)
            if outcomes:
                yield dict(_check_answer(key, answer) for key, answer in outcomes)
            free.release(len(outcomes) or 1)
    finally:
        stop.set()
        free.release(concurrency)


def _check_answer(key: str, answer: Outcome | Exception) -> tuple[str, Outcome]:
    if isinstance(answer, str | BackendError):
        return key, answer
    raise answer

"""Extract entities and relations with a language model, resumably, and each text only once.

Memories are indexed by rule at once and never wait for a model. This pass asks about the texts that the
configured model has not seen with this prompt, keeps each answer as it comes, and puts the memories again.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from ragmem.config import Settings
from ragmem.domain.entities.extraction_answer import Answer, no_answer, read_answer
from ragmem.domain.entities.extraction_prompt import SCHEMA, SYSTEM, model_key, prompt, prompt_again, text_key
from ragmem.domain.model import Chunk
from ragmem.errors import BackendError
from ragmem.ports import INVALID, Call, LanguageModel, Meter, Models, Store
from ragmem.services.entities.completions import Request, complete_all
from ragmem.services.entities.extraction_texts import Texts, find_texts, indexed_memories, newly_indexed
from ragmem.services.ingestion.index import index_pending, put_again, waiting_on
from ragmem.services.processes.progress import Progress
from ragmem.storage.activity.extractions import RULES, By, Choice
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches

STOP_AFTER = 4
"""Consecutive texts without an answer after which the model counts as down."""

TEXTS_AT_ONCE = 2000
"""Texts per round: finding them takes a second, asking about them half an hour."""

PUT_AT_ONCE = 16
"""Memories that are stored again together, once all their texts have answers."""


@dataclass(slots=True)
class ExtractionReport:
    """The result of a pass, in texts. `note` gives the reason why some still wait.

    `known` had an answer before. Of those that were `asked`, `invalid` had no answer that can be used, nor a
    second one; `invented` counts entities that no text names. `waiting` is how many have none in the end.
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


def extract_by_model(tools: ExtractionPorts, *, dry_run: bool = False) -> ExtractionReport | None:
    """Send all new texts to the configured language model; None if only rules are configured.

    With `dry_run` nothing is asked or written, and `waiting` tells what would be. A pass that is interrupted
    or killed goes on with the next one; what was answered is kept, and what is half done is put in by
    whoever indexes next. Where the model is down, or a daily cap is reached, the pass ends with a note.
    """
    catalog, wanted = tools.catalog, tools.settings.extraction.by
    if wanted == "rules":
        if not dry_run and catalog.extractions.choice() != RULES:
            _choose(tools, RULES)
        return None
    done = ExtractionReport(_by(wanted))
    try:
        model = tools.open_models().language_model
        if model is None:
            done.note = f'extraction.by is "{wanted}", and no model stands below [language_model]'
            return done
        done.model = model.model_id
        choice = Choice(done.by, model_key(model.model_id))
        if dry_run:
            texts = find_texts(catalog, choice.model)
            done.known, done.waiting = texts.known, texts.waiting
            return done
        if catalog.extractions.choice() != choice:
            _choose(tools, choice)
        _ask(tools, model, choice.model, done)
    except BackendError as error:
        done.note = error.told
    return done


def _by(wanted: str) -> By:
    return "llm" if wanted == "llm" else "both"


def _choose(tools: ExtractionPorts, choice: Choice) -> None:
    """Change the way of extraction from now on, and store affected memories again."""
    extractions = tools.catalog.extractions
    useful = {
        key
        for one in (extractions.choice(), choice)
        if one.by != "rules"
        for key, valid in extractions.asked(one.model).items()
        if valid
    }
    again = [
        memory.id
        for memory, chunks in (indexed_memories(tools.catalog) if useful else ())
        if any(text_key(chunk) in useful for chunk in chunks)
    ]
    leaving = waiting_on(tools.catalog)
    extractions.choose(choice, again=again)
    if again:
        tools.progress.begin("put again", len(again))
        index_pending(tools.catalog, tools.open_store(), advance=tools.progress.advance, leaving=leaving)


class _Pass:
    """One pass: stores the answers, and each memory again when its last text has an answer."""

    def __init__(self, tools: ExtractionPorts, model: str, texts: Texts, done: ExtractionReport) -> None:
        self._tools = tools
        self._model = model
        self._texts = texts
        self._done = done
        self._left: dict[str, int] = {}
        for memory_ids in texts.memories.values():
            for memory_id in memory_ids:
                self._left[memory_id] = self._left.get(memory_id, 0) + 1
        self._touched: dict[str, None] = {}
        self.invalid: dict[str, Answer] = {}
        """Unusable first answers, until the second ones arrive."""

    def keep(self, outcomes: Mapping[str, str], *, last: bool) -> None:
        """Parse answers and store them; unusable ones only if they are the `last` ones."""
        chunks = self._texts.chunks
        answers = {key: read_answer(text, chunks[key].searchable) for key, text in outcomes.items()}
        for key, answer in answers.items():
            if last:
                self._count_invalid()
                del self.invalid[key]
            elif not answer.valid:
                self.invalid[key] = answer
        self.keep_read({key: answer for key, answer in answers.items() if last or answer.valid})

    def _count_invalid(self) -> None:
        backend = self._tools.settings.language_model.backend
        self._tools.meter.record(Call(backend, self._done.model, "extraction", error=INVALID))

    def keep_read(self, answers: Mapping[str, Answer]) -> None:
        """Store answers, count them, and store complete memories again, in small batches."""
        if not answers:
            return
        touched = [memory_id for key in answers for memory_id in self._texts.memories[key]]
        useful = {
            memory_id
            for key, answer in answers.items()
            if answer.entities
            for memory_id in self._texts.memories[key]
        }
        self._tools.catalog.extractions.keep(self._model, answers, again=useful, now=self._tools.now())
        for answer in answers.values():
            self._done.asked += 1
            self._done.invalid += not answer.valid
            self._done.invented += answer.invented
            self._done.waiting -= 1
            if not answer.valid:
                self._count_invalid()
        for memory_id in touched:
            self._left[memory_id] -= 1
        self._touched.update(dict.fromkeys(useful))
        complete = [memory_id for memory_id in self._touched if not self._left[memory_id]]
        if len(complete) >= PUT_AT_ONCE:
            self.put(complete)

    def put(self, memory_ids: Sequence[str] | None = None) -> None:
        """Store memories again: the given ones, or all with new answers."""
        ids = list(self._touched) if memory_ids is None else list(memory_ids)
        for batch in batches(ids, PUT_AT_ONCE):
            put_again(self._tools.catalog, self._tools.open_store(), batch)
            for memory_id in batch:
                del self._touched[memory_id]


def _ask(tools: ExtractionPorts, model: LanguageModel, key: str, done: ExtractionReport) -> None:
    extractions = tools.catalog.extractions
    standing = extractions.standing(key)
    if extractions.finished() == standing:
        done.known = len(extractions.asked(key))
        return
    texts = find_texts(tools.catalog, key, most=TEXTS_AT_ONCE)
    done.known, done.waiting = texts.known, texts.waiting
    if texts.chunks:
        tools.progress.begin("ask", texts.waiting)
    while texts.chunks and not done.note:
        _ask_round(tools, model, _Pass(tools, key, texts, done), texts, done)
        texts = find_texts(tools.catalog, key, most=TEXTS_AT_ONCE)
    if done.asked:
        tools.catalog.log.write("extract", {"asked": done.asked, "invalid": done.invalid}, now=tools.now())
    if not texts.waiting:
        extractions.finish(standing)


def _ask_round(
    tools: ExtractionPorts, model: LanguageModel, work: _Pass, texts: Texts, done: ExtractionReport
) -> None:
    """Ask about some texts, and store their memories again."""
    unanswered = _ask_about(tools, model, work, texts.chunks, done, singly=False)
    _ask_again(tools, model, work, texts, done)
    if unanswered and not done.note and done.asked:
        # A text without an answer twice, while others have one, is refused for its content, and would be
        # paid for with every seed.
        again = _ask_about(tools, model, work, {k: texts.chunks[k] for k in unanswered}, done, singly=True)
        _ask_again(tools, model, work, texts, done)
        answered = next((chunk for key, chunk in texts.chunks.items() if key not in unanswered), None)
        if len(again) == len(unanswered) and not done.note and not _answers_still(tools, model, answered):
            done.note = next(iter(again.values())).told
        if not done.note:
            work.keep_read({key: no_answer(str(error)) for key, error in again.items()})
    elif unanswered and not done.note:
        done.note = next(iter(unanswered.values())).told
    work.put()
    late = newly_indexed(tools.catalog, texts)
    if late:
        tools.catalog.extractions.let_wait(late)
        put_again(tools.catalog, tools.open_store(), late)


def _ask_again(
    tools: ExtractionPorts, model: LanguageModel, work: _Pass, texts: Texts, done: ExtractionReport
) -> None:
    """Repeat the requests with unusable answers, with the reason."""
    if work.invalid and not done.note:
        _ask_about(tools, model, work, {key: texts.chunks[key] for key in work.invalid}, done, singly=True)
    # Without a second answer the first one counts, because it was paid for.
    work.keep_read(work.invalid)
    work.invalid = {}


def _answers_still(tools: ExtractionPorts, model: LanguageModel, chunk: Chunk | None) -> bool:
    """Tell whether the model still answers about a text that it answered before."""
    if chunk is None:
        return False
    most = tools.settings.extraction.max_tokens
    try:
        model.complete(prompt(chunk), system=SYSTEM, max_tokens=most, json_schema=SCHEMA)
    except BackendError:
        return False
    return True


def _ask_about(
    tools: ExtractionPorts,
    model: LanguageModel,
    work: _Pass,
    chunks: Mapping[str, Chunk],
    done: ExtractionReport,
    *,
    singly: bool,
) -> dict[str, BackendError]:
    """Store the answers as they arrive; return the texts without one, with a note if the pass must end."""
    request = Request(SYSTEM, tools.settings.extraction.max_tokens, SCHEMA)
    again = dict(work.invalid)
    prompts = {
        key: prompt_again(chunk, again[key].problem) if key in again else prompt(chunk)
        for key, chunk in chunks.items()
    }
    unanswered: dict[str, BackendError] = {}
    in_a_row = 0
    stop = threading.Event()
    concurrency = tools.settings.language_model.concurrency
    with closing(
        complete_all(model, prompts, request, concurrency=concurrency, singly=singly, stop=stop)
    ) as outcomes:
        for found in outcomes:
            answers = {key: answer for key, answer in found.items() if isinstance(answer, str)}
            failed = {key: error for key, error in found.items() if isinstance(error, BackendError)}
            work.keep(answers, last=bool(again))
            unanswered |= failed
            if not again:
                tools.progress.advance(len(found))
            in_a_row = in_a_row + len(failed) if not answers else 0
            if failed and not stop.is_set() and (cap := _cap(tools)):
                # What is on its way is paid for, and comes soon.
                done.note = cap
                stop.set()
            if in_a_row >= STOP_AFTER and not stop.is_set():
                done.note = next(reversed(failed.values())).told
                break
    return unanswered


def _cap(tools: ExtractionPorts) -> str:
    try:
        tools.meter.admit("extraction")
    except BackendError as reached:
        return reached.told
    return ""

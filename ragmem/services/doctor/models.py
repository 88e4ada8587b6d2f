"""Check that the models answer, and that a memory can be written, found and deleted."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Draft, Scope, State
from ragmem.domain.text.language import foreign_language
from ragmem.errors import BackendError, RagmemError
from ragmem.ports import HasEntityRecognizer
from ragmem.services.doctor.report import REPAIR, Check, DoctorContext
from ragmem.services.entities.extraction_texts import find_texts
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import forget, index, record_of
from ragmem.services.models.hardware import configured_models, detect_machine, hardware_problems
from ragmem.services.models.usage import format_amount, format_sums, limit_hint, limit_message
from ragmem.services.models.use import BUNDLED_BACKEND, LOCAL_BACKEND, LOCAL_BACKENDS, model_label
from ragmem.storage.fulltext.fulltext import search as search_text

CANARY_PROJECT = "ragmem-doctor"
"""A project id that no repository can have, because those are hashes."""

READ_FOR_LANGUAGE = 200
"""Memories whose language is looked at, spread over all."""

FEW_FOREIGN, FOREIGN_SHARE = 5, 0.2
"""Fewest memories in other languages, and their share of those looked at, that deserve another model."""

_CANARY = (
    "We decided to keep a canary in the mine because it tells of bad air before anyone falls asleep. "
    "The rule is that it is taken out again when the work is done."
)
_PROBE = "does the embedder answer"
_PROBE_TOKENS = 8


def check_embedder(patient: DoctorContext) -> Iterator[Check]:
    """Check the models' files and keys, and embed a text within the time limit of a question."""
    opened = patient.open_models()
    for problem in opened.check():
        yield Check("model files", "failed", problem, _fix_of_files(patient))
    try:
        embedder = opened.embedder
        vector = embedder.embed([_PROBE], role="query")
    except BackendError as error:
        yield Check("embedder", "failed", f"{error}; {_what_still_works(patient)}", error.hint)
        return
    length = float(np.linalg.norm(vector))
    if vector.shape != (1, embedder.dimensions) or abs(length - 1) > 0.01:
        detail = f'"{embedder.model_id}" returned an array {vector.shape} of length {length:.3f}'
        yield Check("embedder", "failed", detail, "ragmem models use minilm, or another model")
        return
    engine = getattr(embedder, "engine", "")
    by = f" by {engine}" if engine else ""
    yield Check("embedder", "ok", f"{embedder.model_id}{by}, {embedder.dimensions} dimensions")


def _fix_of_files(patient: DoctorContext) -> str:
    chosen = patient.settings.models
    if chosen.model.startswith(("/", "~", ".")):
        return f"restore the folder, or: ragmem models use {BUNDLED_BACKEND}"
    if chosen.backend in LOCAL_BACKENDS and "/" in chosen.model:
        return f"ragmem models pull {chosen.backend}:{chosen.model}"
    if chosen.backend in {LOCAL_BACKEND, "minilm"}:
        return "pip install --force-reinstall ragmem"
    return "add the missing settings, then: ragmem models test"


def _what_still_works(patient: DoctorContext) -> str:
    """Return the effects of a missing embedder on questions and new memories."""
    text = "queries use only full text"
    try:
        pending = len(patient.catalog.memories.ids(states=[State.PENDING])) if patient.catalog.exists() else 0
    except RagmemError:  # the checks of the database report it
        return text
    return (
        f"{text}, {pending:,} memories wait to be indexed"
        if pending
        else f"{text}, new memories are not indexed"
    )


def check_model_change(patient: DoctorContext) -> Iterator[Check]:
    """Report the progress of a change of the embedding model, without asking a model."""
    try:
        standing = patient.model_standing()
    except RagmemError:  # the checks of the database report it
        return
    if not standing.changing:
        return
    coming = standing.wanted or "the configured model"
    told = (
        f"{standing.done:,} of {standing.total:,} vectors of {coming} are made; queries use "
        f"{standing.active} until then"
    )
    if patient.open_store().two_models is None:
        told = f"the vectors are from {standing.active}, and this store holds vectors of only one model"
        yield Check("model change", "warning", told, "ragmem seed --rebuild")
    elif standing.problem:
        # If only the former model is lost, only new vectors help.
        fix = "ragmem models resume" if standing.wanted else "ragmem models test"
        yield Check("model change", "warning", f"{told}; {standing.problem}", fix)
    elif standing.running:
        yield Check("model change", "ok", told)
    else:
        yield Check("model change", "warning", told, "ragmem models resume")


def check_languages(patient: DoctorContext) -> Iterator[Check]:
    """Recommend a multilingual model if many memories are not in English."""
    if patient.settings.models.backend != BUNDLED_BACKEND:
        return
    memories = patient.catalog.memories
    ids = sorted(memories.ids(states=[State.INDEXED]))
    chosen = ids[:: max(1, len(ids) // READ_FOR_LANGUAGE)][:READ_FOR_LANGUAGE]
    found = Counter(
        language
        for memory in memories.get(chosen).values()
        if (language := foreign_language(memory.text)) is not None
    )
    if found.total() >= max(FEW_FOREIGN, FOREIGN_SHARE * len(chosen)):
        named = ", ".join(language for language, _ in found.most_common(3))
        told = (
            f"{found.total():,} of {len(chosen):,} memories are not in English ({named}); a multilingual "
            "model finds more of them"
        )
        yield Check("languages", "warning", told, "docs/models.md: multilingual-e5-small")


def check_language_model(patient: DoctorContext) -> Iterator[Check]:
    """Check the language model's files and key; a deep examination also asks it."""
    chosen = patient.settings.language_model
    if not chosen.backend:
        if patient.settings.extraction.by != "rules":
            detail = (
                f'extraction.by is "{patient.settings.extraction.by}", but no language model is configured'
            )
            yield Check("language model", "warning", detail, "ragmem models use --language BACKEND:MODEL")
        return
    problems = patient.check_language_model()
    for problem in problems:
        yield Check(
            "language model",
            "failed",
            problem,
            "add the missing settings, then: ragmem models test --language",
        )
    if problems:
        return
    detail = model_label(chosen)
    if patient.deep:
        model = patient.open_models().language_model
        if model is None:
            yield Check("language model", "failed", f"{detail}: unknown language model")
            return
        model.complete("Answer with one word: are you there?", max_tokens=_PROBE_TOKENS)
        detail = f"{model.model_id} answers"
    yield Check("language model", "ok", detail)


def check_recognizer(patient: DoctorContext) -> Iterator[Check]:
    """Check the files of the model of extraction.ner; a deep examination also has it read a sentence."""
    models = patient.open_models()
    if not patient.settings.extraction.ner or not isinstance(models, HasEntityRecognizer):
        return
    recognizer = models.recognizer  # its error is the result of this check
    if recognizer is not None:
        if patient.deep:
            recognizer.recognize([_CANARY], ["person"], threshold=1)
        yield Check("named entities", "ok", recognizer.model_id)


def check_hardware(patient: DoctorContext) -> Iterator[Check]:
    """Report models that are too large for this machine."""
    machine = detect_machine()
    for table, model in configured_models(patient.settings, os.environ, home=Path.home()):
        for line in hardware_problems(table, model, machine):
            yield Check("hardware", "warning", line, "ragmem models use minilm, or a server that has a GPU")


class _FailedError(Exception):
    """A failure of the canary, which ends its transaction."""


def check_canary(patient: DoctorContext) -> Iterator[Check]:
    """Write, find and delete a memory in one transaction, so that no other process sees it."""
    catalog, store = patient.catalog, patient.open_store()
    draft = Draft(CANARY_PROJECT, "/canary", _CANARY, title="Canary", scope=Scope(CANARY_PROJECT))
    judged = classify_draft(
        draft, now=patient.now, sizes=ChunkingSettings(), rule="off", redactor=patient.catalog.redactor
    )
    memory, record = judged.memory, record_of(judged.memory, judged.chunks, redactor=patient.catalog.redactor)
    store.prepare([record])
    projects = [CANARY_PROJECT]
    try:
        with catalog.database.write():
            catalog.memories.accept([(memory, judged.chunks)])
            index(catalog, store, [record])
            if not search_text(catalog.database, "canary mine", limit=1, projects=projects).hits:
                raise _FailedError("full text does not find a memory that was just written")
            if not store.search(judged.chunks[0].searchable, limit=1, projects=projects):
                raise _FailedError("vector search does not find a memory that was just written")
            forget(catalog, store, [memory.id])
            if search_text(catalog.database, "canary mine", limit=1, projects=projects).hits:
                raise _FailedError("full text finds a deleted memory")
            if store.search(judged.chunks[0].searchable, limit=1, projects=projects):
                raise _FailedError("vector search finds a deleted memory")
    except (_FailedError, BackendError) as error:
        yield Check("canary", "failed", str(error), REPAIR, "store")
        return
    left = memory.id in store.memory_ids() or memory.id in catalog.memories.states([memory.id])
    if left:
        yield Check("canary", "failed", "a deleted memory is still there", REPAIR, "store")
    else:
        yield Check("canary", "ok", "a test memory was written, found by full text and vectors, and deleted")


def check_spend(patient: DoctorContext) -> Iterator[Check]:
    """Report today's spending, and reached caps."""
    ledger = patient.ledger
    limits = ledger.limits()
    for limit in limits:
        if limit.is_reached:
            yield Check("spend", "warning", limit_message(limit, now=patient.now), limit_hint(limit))
        else:
            used, cap = format_amount(limit, limit.used), format_amount(limit, limit.cap)
            yield Check("spend", "ok", f"{used} today, of {cap} at most")
    if not limits:
        yield Check("spend", "ok", f"{format_sums(ledger.today())} from providers today, no cap")
    left = ledger.count_interrupted()
    if left:
        detail = f"request counts left by a killed process: {left}"
        yield Check("spend", "warning", detail, REPAIR, "usage")


_EXTRACTION = "extraction"


def check_extraction(patient: DoctorContext) -> Iterator[Check]:
    """Report the number of processed and waiting texts; there is no check if only rules extract."""
    wanted, choice = patient.settings.extraction, patient.catalog.extractions.choice()
    if wanted.by != choice.by:
        detail = (
            f'the graph is from "{choice.by}", but [extraction] says "{wanted.by}"; the next seed rebuilds it'
        )
        yield Check(_EXTRACTION, "warning", detail, "ragmem seed")
    if bool(wanted.ner) != bool(choice.ner):
        detail = f'extraction.ner is "{wanted.ner}"; the next seed changes the graph'
        yield Check(_EXTRACTION, "warning", detail, "ragmem seed")
    for model in filter(None, (choice.model, choice.ner)):
        asked = patient.catalog.extractions.answered_texts(model)
        texts = find_texts(patient.catalog, model)
        invalid = sum(not valid for valid in asked.values())
        detail = f"{len(asked):,} texts by {model}, {invalid:,} invalid, {texts.waiting:,} wait"
        yield Check(
            _EXTRACTION, "warning" if texts.waiting else "ok", detail, "ragmem seed" if texts.waiting else ""
        )

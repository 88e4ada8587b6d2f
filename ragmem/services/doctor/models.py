"""Whether the models answer, and whether a memory can be written, found and deleted."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ragmem.config import ChunkingSettings
from ragmem.domain.model import Draft, Scope, State
from ragmem.errors import BackendError, RagmemError
from ragmem.services.doctor.report import REPAIR, Check, DoctorContext, Examination
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import forget, index, record_of
from ragmem.services.models.hardware import advice, models_of, this_machine
from ragmem.services.models.use import LOCAL_BACKEND, model_label
from ragmem.storage.fulltext.fulltext import search as search_text

CANARY_PROJECT = "ragmem-doctor"
"""A project that no repository can have: its ids are hashes."""

_CANARY = (
    "We decided to keep a canary in the mine because it tells of bad air before anyone falls asleep. "
    "The rule is that it is taken out again when the work is done."
)
_PROBE = "does the embedder answer"
_PROBE_TOKENS = 8


def models(patient: DoctorContext) -> Iterator[Check]:
    """Look at the models' files and keys, and embed a text, for as long as a question may take."""
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
        detail = f'"{embedder.model_id}" gave an array {vector.shape} of length {length:.3f}'
        yield Check("embedder", "failed", detail, "ragmem models use minilm, or another model")
        return
    engine = getattr(embedder, "engine", "")
    by = f" by {engine}" if engine else ""
    yield Check("embedder", "ok", f"{embedder.model_id}{by}, {embedder.dimensions} dimensions")


def _fix_of_files(patient: DoctorContext) -> str:
    chosen = patient.settings.models
    if chosen.backend == LOCAL_BACKEND and "/" in chosen.model.strip("/.~"):
        return f"ragmem models pull {chosen.model}"
    if chosen.backend in {LOCAL_BACKEND, "minilm"}:
        return "pip install --force-reinstall ragmem"
    return "set what is missing, then: ragmem models test"


def _what_still_works(patient: DoctorContext) -> str:
    """Return what becomes of questions and new memories while there is no embedder."""
    text = "questions are answered by full text"
    try:
        pending = len(patient.catalog.memories.ids(states=[State.PENDING])) if patient.catalog.exists() else 0
    except RagmemError:  # the checks of the database tell
        return text
    return f"{text}, {pending:,} memories wait to be indexed" if pending else f"{text}, new memories wait"


def change(patient: DoctorContext) -> Iterator[Check]:
    """Tell how far a change of the embedding model is; asks no model."""
    try:
        standing = patient.model_standing()
    except RagmemError:  # the checks of the database tell
        return
    if not standing.changing:
        return
    coming = standing.wanted or "the configured model"
    told = (
        f"{standing.done:,} of {standing.total:,} vectors of {coming} are made;"
        f" {standing.active} answers until then"
    )
    if patient.open_store().two_models is None:
        told = f"the vectors are of {standing.active}, and this store takes those of one model only"
        yield Check("model change", "warning", told, "ragmem seed --rebuild")
    elif standing.problem:
        # Where only the former model is lost, making the vectors is all that helps.
        fix = "ragmem models resume" if standing.wanted else "ragmem models test"
        yield Check("model change", "warning", f"{told}; {standing.problem}", fix)
    elif standing.running:
        yield Check("model change", "ok", told)
    else:
        yield Check("model change", "warning", told, "ragmem models resume")


def language_model(patient: DoctorContext) -> Iterator[Check]:
    """Look at the language model's files and key; a deep examination also has it answer."""
    chosen = patient.settings.language_model
    if not chosen.backend:
        if patient.settings.extraction.by != "rules":
            detail = f'extraction.by is "{patient.settings.extraction.by}", and there is no language model'
            yield Check("language model", "warning", detail, "ragmem models use --language BACKEND:MODEL")
        return
    problems = patient.check_language_model()
    for problem in problems:
        yield Check(
            "language model", "failed", problem, "set what is missing, then: ragmem models test --language"
        )
    if problems:
        return
    detail = model_label(chosen)
    if patient.deep:
        model = patient.open_models().language_model
        if model is None:
            yield Check("language model", "failed", f"{detail}: there is no such language model")
            return
        model.complete("Answer with one word: are you there?", max_tokens=_PROBE_TOKENS)
        detail = f"{model.model_id} answers"
    yield Check("language model", "ok", detail)


def hardware(patient: DoctorContext) -> Iterator[Check]:
    """Tell of models that are too large for this machine."""
    machine = this_machine()
    for table, model in models_of(patient.settings, os.environ, home=Path.home()):
        for line in advice(table, model, machine):
            yield Check("hardware", "warning", line, "ragmem models use minilm, or a server that has a GPU")


class _FailedError(Exception):
    """What was wrong with the canary; ends its transaction."""


def canary(patient: DoctorContext) -> Iterator[Check]:
    """Write a memory, find it, delete it, in one transaction: nobody else ever sees it."""
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
                raise _FailedError("full text does not find what was just written")
            if not store.search(judged.chunks[0].searchable, limit=1, projects=projects):
                raise _FailedError("a vector search does not find what was just written")
            forget(catalog, store, [memory.id])
            if search_text(catalog.database, "canary mine", limit=1, projects=projects).hits:
                raise _FailedError("full text finds what was deleted")
            if store.search(judged.chunks[0].searchable, limit=1, projects=projects):
                raise _FailedError("a vector search finds what was deleted")
    except (_FailedError, BackendError) as error:
        yield Check("canary", "failed", str(error), REPAIR, "store")
        return
    left = memory.id in store.memory_ids() or memory.id in catalog.memories.known([memory.id])
    if left:
        yield Check("canary", "failed", "a memory that was deleted is still there", REPAIR, "store")
    else:
        yield Check("canary", "ok", "a memory was written, found by text and by vector, and deleted")


MODEL_CHECKS: tuple[tuple[str, Examination], ...] = (
    ("embedder", models),
    ("language model", language_model),
    ("hardware", hardware),
)
CHANGE: tuple[tuple[str, Examination], ...] = (("model change", change),)
CANARY: tuple[tuple[str, Examination], ...] = (("canary", canary),)

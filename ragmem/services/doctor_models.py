"""Whether the models answer, and whether a memory can be written, found and deleted."""

from collections.abc import Iterator

import numpy as np

from ragmem.catalog.fulltext import search as search_text
from ragmem.config import ChunkingSettings
from ragmem.domain.model import Draft, Scope
from ragmem.errors import BackendError
from ragmem.services.doctor_report import REPAIR, Check, Examination, Patient
from ragmem.services.index import forget, index, record_of
from ragmem.services.judge import judge

CANARY_PROJECT = "ragmem-doctor"
"""A project that no repository can have: its ids are hashes."""

_CANARY = (
    "We decided to keep a canary in the mine because it tells of bad air before anyone falls asleep. "
    "The rule is that it is taken out again when the work is done."
)
_PROBE = "does the embedder answer"


def models(patient: Patient) -> Iterator[Check]:
    """Look at the models' files, and embed a text."""
    opened = patient.open_models()
    for problem in opened.check():
        yield Check("model files", "failed", problem, "pip install --force-reinstall ragmem")
    embedder = opened.embedder
    vector = embedder.embed([_PROBE], role="query")  # a cap never stops a question
    length = float(np.linalg.norm(vector))
    if vector.shape != (1, embedder.dimensions) or abs(length - 1) > 0.01:
        detail = f'"{embedder.model_id}" gave an array {vector.shape} of length {length:.3f}'
        yield Check("embedder", "failed", detail, "choose another model in config.toml, [models]")
        return
    engine = getattr(embedder, "engine", "")
    by = f" by {engine}" if engine else ""
    yield Check("embedder", "ok", f"{embedder.model_id}{by}, {embedder.dimensions} dimensions")


class _FailedError(Exception):
    """What was wrong with the canary; ends its transaction."""


def canary(patient: Patient) -> Iterator[Check]:
    """Write a memory, find it, delete it, in one transaction: nobody else ever sees it."""
    catalog, store = patient.catalog, patient.open_store()
    draft = Draft(CANARY_PROJECT, "/canary", _CANARY, title="Canary", scope=Scope(CANARY_PROJECT))
    judged = judge(draft, now=patient.now, sizes=ChunkingSettings(), rule="off")
    memory, record = judged.memory, record_of(judged.memory, judged.chunks)
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


MODEL_CHECKS: tuple[tuple[str, Examination], ...] = (("embedder", models),)
CANARY: tuple[tuple[str, Examination], ...] = (("canary", canary),)

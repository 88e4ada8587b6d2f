"""Change the embedding model: make its vectors beside the old ones, then switch at once."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ragmem.errors import BackendError, StoreBusyError, UsageError
from ragmem.ports import Embedder, Store, TwoModels
from ragmem.services.models.active_models import ActiveModels
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.refusals import Refusal
from ragmem.storage.activity.model_record import ACTIVE, NEXT, ModelRecord
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.fair_lock import is_held, lock_within
from ragmem.storage.sql.rows import chunk_from

LOCK_NAME = "reembed.lock"
"""The lock file in the home of the process that makes vectors; it contains its number."""

FEW = 10
"""Rejected texts that are the fault of the texts; more than the vectors made are the fault of the model."""

_LOCK_TIMEOUT_S = 0.05
"""Seconds; a process that only checks the lock holds it for less."""


@dataclass(slots=True)
class ReembedReport:
    """The result: the numbers of vectors made, and of vectors of other models removed after the change.

    `finished` means that the wanted model is active now; if not, `note` gives the reason and `hint` the next
    step. The vectors made so far stay, and the next run continues. `problems` names the texts that the
    wanted model rejects; they are pending, and only full text finds them.
    """

    model: str
    made: int = 0
    removed: int = 0
    seconds: float = 0.0
    finished: bool = False
    note: str = ""
    hint: str = ""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModelChangeStatus:
    """The progress of a change of the embedding model.

    `active` is the model of the current vectors ("" without any), `wanted` the configured one ("" if it is
    unavailable); dimensions are 0 if unknown. The wanted model has `done` of `total` vectors. `changing`: the
    two differ; `running`: a process makes vectors right now. `problem` says in one line which of them is
    unavailable, and why.
    """

    active: str
    active_dimensions: int
    wanted: str
    wanted_dimensions: int
    done: int
    total: int
    changing: bool
    running: bool
    problem: str


def model_change_status(
    models: ActiveModels, store: Store, *, home: Path, wanted_dimensions: int
) -> ModelChangeStatus:
    """Return the progress of a change; contacts nothing and only counts the vectors."""
    problems = []
    active = models.active()
    try:
        wanted = models.wanted.embedder.model_id
    except BackendError as error:
        wanted = ""
        problems.append(f"the configured model is unavailable: {error}")
    if active is not None and active.model != wanted:
        try:
            _ = models.embedder
        except BackendError as error:
            problems.append(f"the model of the vectors is unavailable: {error}")
    if active is None:
        done = total = 0
    else:
        done, total = store.second_model(wanted)
    if active is not None and active.model == wanted:
        wanted_dimensions = active.dimensions
    return ModelChangeStatus(
        active=active.model if active is not None else "",
        active_dimensions=active.dimensions if active is not None else 0,
        wanted=wanted,
        wanted_dimensions=wanted_dimensions or _dimensions_of_next(models, wanted),
        done=done,
        total=total,
        changing=active is not None and active.model != wanted,
        running=bool(reembedding_pid(home)),
        problem="; ".join(problems),
    )


def _dimensions_of_next(models: ActiveModels, wanted: str) -> int:
    coming = models.records.read(NEXT)
    return coming.dimensions if coming is not None and coming.model == wanted else 0


def reembed(
    catalog: Catalog,
    store: Store,
    models: ActiveModels,
    *,
    home: Path,
    now: datetime,
    progress: Progress,
) -> ReembedReport:
    """Make the missing vectors of the wanted model, then activate it and remove the others.

    Meanwhile everything else uses the active model. It may be killed at any time, and run again. Raises
    BackendError if the wanted model is unavailable, StoreBusyError if another process does the same,
    UsageError if the store cannot hold two models and has vectors of another one.
    """
    started = time.perf_counter()
    wanted = models.wanted.embedder
    done = ReembedReport(wanted.model_id)
    active = models.active()
    if active is None:
        done.finished = True
        done.note = "there are no vectors yet"
        return done
    two_models = store.two_models
    if two_models is None:
        if active.model != wanted.model_id:
            raise UsageError(
                f'this store holds the vectors of one model, and they are of "{active.model}"',
                hint="run `ragmem seed --rebuild`; queries use only full text meanwhile",
            )
        done.finished = True
        return done
    with _lock(home):
        try:
            _change(catalog, store, two_models, models, done, embedder=wanted, now=now, progress=progress)
        except BackendError as error:
            done.note, done.hint = str(error), error.hint
    done.seconds = time.perf_counter() - started
    return done


def _change(
    catalog: Catalog,
    store: Store,
    two_models: TwoModels,
    models: ActiveModels,
    done: ReembedReport,
    *,
    embedder: Embedder,
    now: datetime,
    progress: Progress,
) -> None:
    records, model = models.records, embedder.model_id
    models.remember()
    active = models.active()
    coming: ModelRecord | None = None
    if active is not None and active.model != model:
        coming = models.record_of_wanted()
        records.write(NEXT, coming)

    def switch() -> None:
        records.write(NEXT, None)
        if active is not None and coming is not None:
            records.write(ACTIVE, coming)
            detail = {"from": active.model, "to": model, "vectors": store.second_model(model)[0]}
            catalog.log.write("model", detail, now=now)

    def refuse(reasons: Mapping[str, str]) -> None:
        if len(done.problems) + len(reasons) > max(FEW, store.second_model(model)[0]):
            raise BackendError(
                f'"{model}" rejects most texts: {next(iter(reasons.values()))}',
                hint="test it with `ragmem models test`",
            )
        store.delete(list(reasons), finish=lambda: catalog.extractions.mark_pending(reasons))
        done.problems += [
            Refusal.of(memory, reasons[key], is_stored=True).message
            for key, memory in catalog.memories.get(reasons).items()
        ]

    have, total = store.second_model(model)
    progress.begin("embed", total - have)
    switched = False
    while not switched:
        for made in two_models.fill(embedder, lambda chunks: _texts(catalog, chunks), refuse):
            done.made += made
            progress.advance(made)
        switched = two_models.change_over(model, finish=switch)
    done.finished = True
    done.removed = sum(two_models.drop_others(model))


def _texts(catalog: Catalog, chunks: Mapping[str, str]) -> dict[str, str]:
    rows = catalog.memories.chunks_by_id(chunks)
    memories = catalog.memories.get({memory for memory, _ in rows.values()})
    return {
        key: chunk_from(memories[memory], row).searchable
        for key, (memory, row) in rows.items()
        if memory in memories
    }


def reembedding_pid(home: Path) -> int:
    """Return the number of the process that makes vectors in a home, 0 if there is none."""
    path = home / LOCK_NAME
    return _pid_in(path) if is_held(path) else 0


def _pid_in(path: Path) -> int:
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):  # just being written
        return -1


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """Hold the home's lock for making vectors; the end of the process releases it in any case."""
    path = home / LOCK_NAME
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not lock_within(descriptor, _LOCK_TIMEOUT_S):
            raise StoreBusyError(
                f"the process {_pid_in(path)} makes these vectors already",
                hint="`ragmem models list` shows how far it is",
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)

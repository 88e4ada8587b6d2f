"""The process that is killed: it carries out steps on a home and logs each that the API has acknowledged."""

import json
import os
import shutil
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from crashes.world import Place, Step, sha

from ragmem.api.memory import Ragmem, now
from ragmem.services.doctor.repair import plan as plan_repair
from ragmem.services.lifecycle.items import UPKEEP
from ragmem.services.lifecycle.undo import undoable_runs
from ragmem.services.processes.progress import Silent
from ragmem.services.transfer.backup import back_up
from ragmem.services.transfer.export_reader import ExportReader
from ragmem.services.transfer.exporter import export_file
from ragmem.services.transfer.importer import import_export
from ragmem.services.transfer.restore import restore

LIFE_AFTER = 3
"""Newer memories after which one is looked at: the worlds are small."""


@dataclass(frozen=True, slots=True)
class Aim:
    """When the writer ends itself with SIGKILL: at the n-th SQL statement or commit from a step on.

    `what`: "statement", "before commit", "after commit"; anything else leaves the kill to the driver.
    """

    what: str
    step: int
    count: int


class Log:
    """Lines outside of the home, each on the disk before the next thing is done."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, event: str, number: int, **detail: Any) -> None:
        """Add a line and wait until it is durable."""
        line = json.dumps({"event": event, "step": number, "at": time.monotonic(), **detail})
        os.write(self._descriptor, f"{line}\n".encode())
        os.fsync(self._descriptor)


class _Trigger:
    """Counts SQL statements of all connections of this process, and kills it at the right one."""

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._armed = False
        self._left = aim.count
        self._due = False
        original = sqlite3.connect

        def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection = original(*arguments, **options)
            connection.set_trace_callback(self._saw)
            return connection

        sqlite3.connect = connect  # type: ignore[assignment]

    def reached(self, step: int) -> None:
        """Begin to count once the step is reached."""
        self._armed = self._armed or step >= self._aim.step

    def _saw(self, statement: str) -> None:
        if not self._armed:
            return
        if self._due:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._aim.what == "statement" or statement == "COMMIT":
            self._left -= 1
            if self._left <= 0:
                if self._aim.what == "after commit":
                    self._due = True
                else:
                    os.kill(os.getpid(), signal.SIGKILL)


def environment(place: Place, models: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables under which a world's home is opened."""
    sizes = {"RAGMEM_CHUNKING_MAX_CHARS": place.chunk, "RAGMEM_CHUNKING_MIN_CHARS": 0} if place.chunk else {}
    options = {**sizes, **options}
    return {
        "PATH": os.environ["PATH"],
        "RAGMEM_HOME": str(place.home),
        "RAGMEM_MODELS_BACKEND": models,
        "RAGMEM_STORE_BACKEND": "lightrag",
        **{str(name): str(value) for name, value in options.items()},
    }


def open_world(place: Place, models: str, *, sources: Path | None = None, **options: Any) -> Ragmem:
    """Return the memory of a world; `models` "fake-2" is another model of the fake backend."""
    environ = environment(place, models.removesuffix("-2"), options)
    if models == "fake-2":
        environ["RAGMEM_MODELS_MODEL"] = "2"
    return Ragmem.open(
        environ=environ,
        home=place.user,
        cwd=place.user,
        sources_file=sources or place.sources,
    )


def write(place: Place, models: str, steps: Sequence[Step], log_path: Path, aim: Aim) -> None:
    """Carry out the steps; ends the process."""
    code = 1
    try:
        trigger = _Trigger(aim) if aim.what in {"statement", "before commit", "after commit"} else None
        log = Log(log_path)
        memory: Ragmem | None = None
        for number, step in enumerate(steps):
            _place_files(place, step)
            if trigger is not None:
                trigger.reached(number)
            log.write("begin", number)
            if memory is None or "models" in step.options:
                if memory is not None:
                    memory.close()
                memory = open_world(
                    place,
                    step.options.get("models", models),
                    RAGMEM_ARCHIVE_KEEP_DAYS=step.options.get("keep_days", 30),
                    RAGMEM_LIFECYCLE_AGE_AFTER=LIFE_AFTER,
                )
            log.write("done", number, **ACTIONS[step.kind](memory, step, partial(log.write, "note", number)))
        if memory is not None:
            memory.close()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it was, the driver must hear of it
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)


def _place_files(place: Place, step: Step) -> None:
    if step.options.get("without_files"):
        shutil.rmtree(place.data / "vectors", ignore_errors=True)
    for name, text in step.files.items():
        path = place.notes / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)


def _ingest(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    results = memory.ingest(step.drafts)
    return {"ids": [result.id for result in results]}


def _forget(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    return {"run": memory.forget(step.ids)}


def _undo(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del step, note
    done = memory.gc.undo()
    return {"undone": done.run, "count": done.restored}


def _gc(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    plan = memory.gc.plan(missing=bool(step.options.get("missing")), rules=UPKEEP)
    note(remove=plan.ids("remove"))
    outcome = memory.gc.apply(plan, allow_large=True)
    return {"run": outcome.run, "removed": outcome.removed}


def _lifecycle(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del step
    plan = memory.gc.plan()
    note(leaving=plan.ids("remove", "archive"))
    outcome = memory.gc.apply(plan, allow_large=True)
    return {"run": outcome.run, "archived": outcome.archived}


def _unlive(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del step
    catalog = memory.catalog
    runs = undoable_runs(catalog)
    if not runs:
        return {}
    run = runs[0].run
    note(returning={item.memory.id: sha(item.memory.text) for item in catalog.archive.of(run)})
    return {"undone": memory.gc.undo().run}


def _bring(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    for identifier in step.ids:
        memory.gc.restore(identifier)
    return {}


def _purge(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del step, note
    return {"purged": memory.gc.purge().memories}


def _seed(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    report = memory.seed(rebuild=step.kind in {"rebuild", "remodel"})
    return {"resumed": report.resumed}


def _open(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del step, note
    memory.require()
    return {"stored": len(memory.store.memory_ids())}


def _search(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    return {"hits": len(memory.store.search(step.options["text"], limit=20))}


def _sweep(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del step, note
    return {"swept": dict(memory.store.sweep())}


def _export(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    done = export_file(memory.catalog, Path(step.options["file"]), now=now(), progress=Silent())
    return {"lines": done.lines}


def _import(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    with ExportReader(Path(step.options["file"])) as source:
        done = import_export(memory.catalog, lambda: memory.store, source, now=now(), progress=Silent())
    return {"new": done.new}


def _backup(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    name = step.options.get("file")
    made = back_up(
        memory.catalog,
        memory.settings.places,
        profile=memory.settings.store.profile,
        target=Path(name) if name else None,
        now=now(),
        progress=Silent(),
    )
    return {"file": str(made.path)}


def _any(what: object) -> None:
    """Agree with what a restore has found."""
    del what


def _restore(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    memory.close()
    done = restore(
        Path(step.options["file"]),
        memory.catalog,
        memory.settings.places,
        open_store=lambda: memory.store,
        usable=_any,
        agree=_any,
        busy_timeout=memory.settings.write.busy_timeout_s,
        now=now(),
        progress=Silent(),
    )
    return {"memories": done.counts["memories"]}


def _repair(memory: Ragmem, step: Step, note: Callable[..., None]) -> dict[str, Any]:
    del note
    with memory.catalog.database.write() as connection:
        connection.execute(step.options["damage"])
    return {"repaired": mend(memory)}


def mend(memory: Ragmem) -> list[str]:
    """Do what `ragmem doctor --deep --repair` does; return the names of the repairs."""
    steps = plan_repair(memory.doctor.examine(deep=True))
    return [step.name for step in memory.doctor.repair(steps)]


ACTIONS: dict[str, Callable[[Ragmem, Step, Callable[..., None]], dict[str, Any]]] = {
    "ingest": _ingest,
    "forget": _forget,
    "undo": _undo,
    "gc": _gc,
    "lifecycle": _lifecycle,
    "unlive": _unlive,
    "bring": _bring,
    "purge": _purge,
    "seed": _seed,
    "rebuild": _seed,
    "remodel": _seed,
    "open": _open,
    "search": _search,
    "sweep": _sweep,
    "export": _export,
    "import": _import,
    "backup": _backup,
    "restore": _restore,
    "repair": _repair,
}

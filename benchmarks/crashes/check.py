"""The checks after each kill, in a new process: all invariants, then recovery."""

import os
import random
import sqlite3
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
from crashes.world import Place, sha
from crashes.writer import mend, open_world

from ragmem.api.memory import Ragmem
from ragmem.config.places import Places
from ragmem.domain.model import State
from ragmem.errors import RagmemError
from ragmem.services.doctor.invariants import violations
from ragmem.services.lifecycle.items import UPKEEP
from ragmem.services.transfer.backup import SUFFIX, backups
from ragmem.services.transfer.backup_file import read_archive
from ragmem.services.transfer.export_reader import ExportReader

PATIENCE = 5.0
"""Seconds after which a lock that a killed process left behind counts as one that blocks."""

SAMPLE = 4
"""Memories that are looked for by a question."""


def check(
    place: Place,
    models: tuple[str, str],
    answer: Path,
    *,
    seed: int,
    asked: dict[str, str],
    whole: bool,
    damaged: bool,
) -> None:
    """Write {found, violations, pending, ...} to `answer` as JSON; ends the process.

    `models` are the ones that a writer used last and before; `asked` gives for the hashes of texts a word
    that finds them; `whole` looks for every chunk by its text; `damaged` lets the home be unsound until it
    was repaired.
    """
    code = 1
    try:
        told = _check(
            place, _model_in_use(place, *models), random.Random(seed), asked, whole=whole, damaged=damaged
        )
        answer.write_bytes(orjson.dumps(told))
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it was, the driver must hear of it
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)


def _check(
    place: Place, models: str, chance: random.Random, asked: dict[str, str], *, whole: bool, damaged: bool
) -> dict[str, Any]:
    wrong: list[str] = []
    with open_world(place, models, RAGMEM_WRITE_BUSY_TIMEOUT_S=PATIENCE) as memory:
        memory.prepare()
        found = _dump(memory)
        pending = len(memory.catalog.memories.ids(states=[State.PENDING]))
        if not damaged:
            wrong += [f"after the kill: {line}" for line in _unsound(memory, whole=whole)]
    with open_world(place, models, sources=place.no_sources) as memory:
        if damaged:
            mend(memory)
        _heal(memory, chance)
    # Opened anew: what healed it may have hidden in this process what another one sees.
    with open_world(place, models) as memory:
        if left := memory.catalog.memories.ids(states=[State.PENDING]):
            wrong.append(f"after healing: {len(left)} memories are still pending")
        wrong += [f"after healing: {line}" for line in _unsound(memory, whole=whole)]
        if _dump(memory) != found:
            wrong.append("after healing: memories or archive are not what they were")
        wrong += _copies(place, memory.settings.places)
        wrong += _unanswered(
            memory, chance, {key: asked[text] for key, text in found[0].items() if text in asked}
        )
    return {
        "models": models,
        "memories": found[0],
        "archive": found[1],
        "pending": pending,
        "violations": wrong,
    }


def _model_in_use(place: Place, latest: str, former: str) -> str:
    """Return the latest model, or the former one where the kill came before anything was changed to it."""
    with open_world(place, former or latest) as memory:
        memory.prepare()
        made_by = [model for model, _ in memory.store.vector_models()]
        untouched = not memory.catalog.memories.ids(states=[State.PENDING])
        return former if former and untouched and made_by == [memory.models.embedder.model_id] else latest


def _dump(memory: Ragmem) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    catalog = memory.catalog
    held = {item.id: sha(item.text) for item in catalog.memories.each()}
    archive = {
        run.run: {item.id: sha(item.text) for item in catalog.archive.memories(run.run)}
        for run in reversed(catalog.archive.runs())
    }
    return held, archive


def _unsound(memory: Ragmem, *, whole: bool) -> list[str]:
    swept = {name: count for name, count in memory.store.sweep(dry_run=True).items() if count}
    # Rows of the vectors' files that were deleted since are no orphans, and wait for a compaction.
    swept.pop("sidecar_rows", None)
    lines = violations(memory.catalog, memory.store, deep=whole)
    if not whole:
        lines += memory.store.check(deep=True)
    if swept:
        lines.append(f"a sweep would remove {swept}")
    return lines


def _heal(memory: Ragmem, chance: random.Random) -> None:
    """Do what a person does next: seed, or gc where it would remove nothing else."""
    plan = memory.gc.plan(rules=UPKEEP)
    if chance.random() < 0.5 and not plan.ids("remove"):
        memory.gc.apply(plan)
    else:
        memory.seed()


def _unanswered(memory: Ragmem, chance: random.Random, asked: dict[str, str]) -> list[str]:
    lines = []
    hidden = memory.catalog.supersessions.in_force(asked)
    seen = sorted(asked.keys() - hidden.keys())
    for identifier in chance.sample(seen, min(SAMPLE, len(seen))):
        matches = memory.query(asked[identifier]).matches
        if not any(identifier in (match.memory.id, *match.duplicates) for match in matches):
            lines.append(f"lost: a question for {asked[identifier]} does not find {identifier}")
    return lines


def _copies(place: Place, places: Places) -> list[str]:
    """Return which files under the name of a backup or an export are not whole; remove what was looked at."""
    lines = []
    for one in backups(places):
        if problem := one.problem or _unreadable(one.path):
            lines.append(f"the backup {one.path.name} is incomplete: {problem}")
        if one.path.name.endswith(SUFFIX):
            one.path.unlink()
    for path in sorted(place.root.glob("out-*")):
        try:
            with ExportReader(path) as reader:
                reader.check()
        except RagmemError as error:
            lines.append(f"the export {path.name} is incomplete: {error}")
        path.unlink()
    return lines


def _unreadable(path: Path) -> str:
    if path.name.endswith(SUFFIX):
        try:
            read_archive(path)
        except RagmemError as error:
            return str(error)
        return ""
    file = path / "memory.db" if path.is_dir() else path
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        state = connection.execute("PRAGMA integrity_check").fetchall()
    return "" if state == [("ok",)] else str(state[0][0])

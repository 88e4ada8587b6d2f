"""What is around the database: configuration, permissions, disk, software, locks, backups."""

import importlib.util
import os
import platform
import shutil
import stat
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from ragmem.services.doctor.report import REPAIR, Check, DoctorContext, Examination
from ragmem.services.doctor.warm_process import warm
from ragmem.services.ingestion.inbox_waiting import waiting
from ragmem.services.transfer.backup import REPLACED, Backup, backups
from ragmem.storage.sql.fair_lock import holder, leftovers
from ragmem.storage.sql.sqlite import LOCK_NAME
from ragmem.storage.sql.sqlite_files import has_fts5, library_version

LITTLE_SPACE = 500_000_000
"""Bytes free from which on nobody needs to be told."""
NO_SPACE = 50_000_000

OLDEST_SQLITE = (3, 35)
"""RETURNING came with it."""

OLD_BACKUP_DAYS = 30

WAITS_LONG = timedelta(days=1)
"""From then on nobody has asked or written for so long that the vectors should be made."""

_PUT_ASIDE = (REPLACED, "before-repair-")

EXTRAS: tuple[tuple[str, str], ...] = (
    ("code", "tree_sitter"),
    ("onnx", "onnxruntime"),
    ("mlx", "mlx"),
    ("mlx-embeddings", "mlx_embeddings"),
    ("serve", "fastapi"),
    ("postgres", "psycopg"),
    ("documents", "pdfplumber"),
    ("explore", "textual"),
)
"""Extra -> the module that it brings."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def configuration(patient: DoctorContext) -> Iterator[Check]:
    """Tell of the files that were read, and of keys that mean nothing."""
    settings = patient.settings
    for warning in settings.warnings:
        yield Check("configuration", "warning", warning, "ragmem inspect config")
    if not settings.warnings:
        own = sum(1 for item in settings.provenance if item.origin != "default")
        yield Check(
            "configuration", "ok", f"{len(settings.provenance)} settings, {own or 'none'} of them changed"
        )


def find_exposed(folders: Sequence[Path]) -> list[Path]:
    """Return the files and folders that others than their owner may use, links left out.

    A folder below these that nobody else can enter keeps what is in it: LightRAG's own files, for one.
    """
    found = []
    for folder in folders:
        if not folder.is_dir():
            continue
        found += [folder] if _open_to_others(folder) else []
        for root, below, files in os.walk(folder):
            found += [path for name in (*below, *files) if _open_to_others(path := Path(root, name))]
            below[:] = [name for name in below if _open_to_others(Path(root, name))]
    return found


def idle_gc(patient: DoctorContext) -> Iterator[Check]:
    """Tell whether gc may be carried out without a person."""
    if patient.settings.lifecycle.automatic:
        told = "on: `ragmem serve` carries gc out while nobody asks; `ragmem gc --disable-idle` ends it"
    else:
        told = "off: gc runs only when somebody runs it"
    yield Check("idle gc", "ok", told)


def _open_to_others(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # SQLite's -wal and -shm come and go
        return False
    return not stat.S_ISLNK(mode) and bool(stat.S_IMODE(mode) & _OTHERS)


def home(patient: DoctorContext) -> Iterator[Check]:
    """Tell where the memory is, and whether others can read it."""
    places = patient.settings.places
    if not patient.catalog.exists():
        detail = f'there is no memory in "{patient.catalog.database.place}" yet'
        yield Check("home", "warning", detail, "ragmem seed")
        return
    yield Check("home", "ok", patient.catalog.database.place)
    open_to_others = find_exposed([places.data, places.state])
    if open_to_others:
        first = open_to_others[0]
        mode = stat.S_IMODE(first.lstat().st_mode)
        more = f" and {len(open_to_others) - 1} more" if len(open_to_others) > 1 else ""
        detail = f'others can reach your memory: "{first}" is {mode:04o}{more}'
        yield Check("permissions", "failed", detail, REPAIR, "permissions")
    else:
        yield Check("permissions", "ok", "only you can read it")


def disk(patient: DoctorContext) -> Iterator[Check]:
    """Tell how much room is left where the memory is."""
    folder = patient.settings.places.data
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    detail = f'{free / 1e9:.1f} GB free where "{folder}" is'
    if free < NO_SPACE:
        yield Check("disk", "failed", detail, "make room: a write needs some more than what it adds")
    elif free < LITTLE_SPACE:
        yield Check("disk", "warning", detail, "make room soon")
    else:
        yield Check("disk", "ok", detail)


def software(patient: DoctorContext) -> Iterator[Check]:
    """Tell the versions, whether SQLite can do what is asked of it, and which extras are there."""
    del patient
    versions = f"Python {platform.python_version()}, SQLite {'.'.join(map(str, library_version()))}"
    if library_version() < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        yield Check(
            "software", "failed", f"{versions} is too old", f"use a Python with SQLite {wanted} or newer"
        )
    elif not has_fts5():
        yield Check("software", "failed", f"{versions} has no FTS5", "use a Python whose SQLite has FTS5")
    else:
        yield Check("software", "ok", f"{versions} with FTS5")
    there = [extra for extra, module in EXTRAS if importlib.util.find_spec(module) is not None]
    yield Check("extras", "ok", f"installed: {', '.join(there) or 'none'}")


def locks(patient: DoctorContext) -> Iterator[Check]:
    """Tell who writes, and what dead processes left in the queue."""
    lock = patient.catalog.database.home / LOCK_NAME
    if lock.exists() and not lock.is_file():
        detail = f'"{lock}" is not a file, so that nobody can write'
        yield Check("locks", "failed", detail, f'move it away: mv "{lock}" "{lock}.away"')
        return
    left = leftovers(lock)
    if left:
        detail = f"{len(left)} left by dead processes: {', '.join(path.name for path in left[:3])}"
        yield Check("locks", "failed", f'places in "{left[0].parent}" {detail}', REPAIR, "locks")
        return
    process = holder(lock) if lock.exists() else None
    yield Check("locks", "ok", "nobody writes" if process is None else f"process {process} writes now")


def backup_age(patient: DoctorContext) -> Iterator[Check]:
    """Tell how old the newest backup is."""
    newest = newest_backup(patient)
    if newest is None:
        if patient.catalog.exists():
            yield Check("backups", "warning", "there is none", "ragmem backup")
        return
    days = (patient.now - newest.at).days
    detail = f'the newest, "{newest.path}", was made {"today" if days < 1 else f"{days} days ago"}'
    if days > OLD_BACKUP_DAYS:
        yield Check("backups", "warning", detail, "ragmem backup")
    else:
        yield Check("backups", "ok", detail)


def inbox(patient: DoctorContext) -> Iterator[Check]:
    """Tell what waits to be taken into the catalog, and what was set aside because nobody could read it."""
    found = waiting(patient.settings.places.data)
    for path, reason in found.aside:
        fix = f'look at it, then remove it: "{path}"'
        yield Check("inbox", "warning", f"a file that was set aside: {reason}", fix)
    if found.since is not None:
        writes = "1 write waits" if found.writes == 1 else f"{found.writes:,} writes wait"
        detail = f"{writes} since {found.since:%Y-%m-%d %H:%M} UTC"
        old = patient.now - found.since > WAITS_LONG
        yield Check("inbox", "warning" if old else "ok", detail, "ragmem ingest --drain" if old else "")
    elif not found.aside:
        yield Check("inbox", "ok", "nothing waits")


def newest_backup(patient: DoctorContext) -> Backup | None:
    """Return the newest backup of this home that can be read, None where there is none.

    What a restore or a repair has put aside does not count: it may be what was wrong.
    """
    return next(
        (
            found
            for found in backups(patient.settings.places)
            if not found.problem and not found.path.name.startswith(_PUT_ASIDE)
        ),
        None,
    )


HOME_CHECKS: tuple[tuple[str, Examination], ...] = (
    ("configuration", configuration),
    ("home", home),
    ("disk", disk),
    ("software", software),
    ("locks", locks),
    ("inbox", inbox),
    ("warm process", warm),
    ("idle gc", idle_gc),
    ("backups", backup_age),
)
"""In this order, without opening the database."""

"""Check the surroundings of the database: configuration, permissions, disk, software, locks, backups."""

import importlib.util
import os
import platform
import shutil
import stat
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from ragmem.services.doctor.report import REPAIR, Check, DoctorContext
from ragmem.services.ingestion.inbox_status import inbox_status
from ragmem.services.transfer.backup import REPLACED, Backup, backups
from ragmem.storage.sql.fair_lock import holder, leftovers
from ragmem.storage.sql.sqlite import LOCK_NAME
from ragmem.storage.sql.sqlite_files import has_fts5, library_version

LITTLE_SPACE = 500_000_000
"""Free bytes below which the check warns."""
NO_SPACE = 50_000_000

OLDEST_SQLITE = (3, 35)
"""The first version with RETURNING."""

OLD_BACKUP_DAYS = 30

WAITS_LONG = timedelta(days=1)
"""Age of a waiting write from which the check warns."""

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
"""Extras, each with a module of it."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_configuration(patient: DoctorContext) -> Iterator[Check]:
    """Report warnings of the configuration, such as unknown keys."""
    settings = patient.settings
    for warning in settings.warnings:
        yield Check("configuration", "warning", warning, "ragmem inspect config")
    if not settings.warnings:
        own = sum(1 for item in settings.provenance if item.origin != "default")
        yield Check(
            "configuration", "ok", f"{len(settings.provenance)} settings, {own or 'none'} of them changed"
        )


def find_exposed(folders: Sequence[Path]) -> list[Path]:
    """Return the files and folders that other users can access, without links.

    A private folder protects its content, for example LightRAG's own files, so it is not searched.
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


def check_idle_gc(patient: DoctorContext) -> Iterator[Check]:
    """Report whether gc may run without the user."""
    if patient.settings.lifecycle.automatic:
        told = "on: `ragmem serve` runs gc while it is idle; `ragmem gc --disable-idle` turns it off"
    else:
        told = "off: gc runs only when you run it"
    yield Check("idle gc", "ok", told)


def _open_to_others(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # SQLite creates and deletes -wal and -shm
        return False
    return not stat.S_ISLNK(mode) and bool(stat.S_IMODE(mode) & _OTHERS)


def check_home(patient: DoctorContext) -> Iterator[Check]:
    """Report the place of the memory, whether it can be written to, and whether other users can read it."""
    places = patient.settings.places
    if not patient.catalog.exists():
        detail = f'there is no database in "{patient.catalog.database.place}" yet'
        yield Check("home", "warning", detail, "ragmem seed")
        return
    if os.access(places.data, os.W_OK | os.X_OK):
        yield Check("home", "ok", patient.catalog.database.place)
    else:
        detail = f'"{places.data}" is not writable, so nothing new is stored'
        yield Check("home", "warning", detail, "check its permissions, and how its disk is mounted")
    open_to_others = find_exposed([places.data, places.state])
    if open_to_others:
        first = open_to_others[0]
        mode = stat.S_IMODE(first.lstat().st_mode)
        more = f" and {len(open_to_others) - 1} more" if len(open_to_others) > 1 else ""
        detail = f'other users can read your memories: "{first}" is {mode:04o}{more}'
        yield Check("permissions", "failed", detail, REPAIR, "permissions")
    else:
        yield Check("permissions", "ok", "only you can read it")


def check_disk(patient: DoctorContext) -> Iterator[Check]:
    """Report the free disk space of the memory."""
    folder = patient.settings.places.data
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    amount = f"{free / 1e9:.1f} GB" if free >= 1e9 else f"{free / 1e6:.0f} MB"
    detail = f'{amount} free where "{folder}" is'
    if free < NO_SPACE:
        yield Check(
            "disk", "failed", detail, "free disk space: a write needs more than the data that it adds"
        )
    elif free < LITTLE_SPACE:
        yield Check("disk", "warning", detail, "free disk space soon")
    else:
        yield Check("disk", "ok", detail)


def check_software(patient: DoctorContext) -> Iterator[Check]:
    """Report versions, missing features of SQLite, and the installed extras."""
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


def check_locks(patient: DoctorContext) -> Iterator[Check]:
    """Report the writing process, and leftovers of dead processes in the queue."""
    lock = patient.catalog.database.home / LOCK_NAME
    if lock.exists() and not lock.is_file():
        detail = f'"{lock}" is not a file, so no process can write'
        yield Check("locks", "failed", detail, f'move it aside: mv "{lock}" "{lock}.away"')
        return
    left = leftovers(lock)
    if left:
        detail = f"{len(left)} left by dead processes: {', '.join(path.name for path in left[:3])}"
        yield Check("locks", "failed", f'places in "{left[0].parent}" {detail}', REPAIR, "locks")
        return
    process = holder(lock) if lock.exists() else None
    yield Check(
        "locks", "ok", "no process is writing" if process is None else f"process {process} is writing"
    )


def check_backups(patient: DoctorContext) -> Iterator[Check]:
    """Report the age of the newest backup."""
    newest = newest_backup(patient)
    if newest is None:
        if patient.catalog.exists():
            yield Check("backups", "warning", "there are no backups", "ragmem backup")
        return
    days = (patient.now - newest.at).days
    detail = f'the newest, "{newest.path}", was made {"today" if days < 1 else f"{days} days ago"}'
    if days > OLD_BACKUP_DAYS:
        yield Check("backups", "warning", detail, "ragmem backup")
    else:
        yield Check("backups", "ok", detail)


def check_inbox(patient: DoctorContext) -> Iterator[Check]:
    """Report waiting writes, and unreadable rejected files."""
    found = inbox_status(patient.settings.places.data)
    for path, reason in found.aside:
        fix = f'inspect it, then remove it: "{path}"'
        yield Check("inbox", "warning", f"a rejected file: {reason}", fix)
    if found.since is not None:
        writes = "1 write waits" if found.writes == 1 else f"{found.writes:,} writes wait"
        detail = f"{writes} since {found.since:%Y-%m-%d %H:%M} UTC"
        old = patient.now - found.since > WAITS_LONG
        yield Check("inbox", "warning" if old else "ok", detail, "ragmem ingest --drain" if old else "")
    elif not found.aside:
        yield Check("inbox", "ok", "nothing waits")


def newest_backup(patient: DoctorContext) -> Backup | None:
    """Return the newest readable backup of this home, None if there is none.

    A database that a restore or repair has replaced does not count: it may be damaged.
    """
    return next(
        (
            found
            for found in backups(patient.settings.places)
            if not found.problem and not found.path.name.startswith(_PUT_ASIDE)
        ),
        None,
    )

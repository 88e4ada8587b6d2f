"""Check that the sources can be read: code, documents, transcripts, and the events of hooks."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ragmem.errors import os_reason
from ragmem.hooks import spool
from ragmem.hooks.breaker import REST_S, Breaker
from ragmem.hooks.log import MOST_BYTES, NAME
from ragmem.readers.code import MANIFESTS
from ragmem.readers.code.parsing import EXTRA as CODE_EXTRA
from ragmem.readers.code.parsing import has_parser
from ragmem.readers.documents.ocr import EXTRA as OCR_EXTRA
from ragmem.readers.documents.ocr import engine_name
from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.services.reporting.queue_list import event_problem, queued_at
from ragmem.services.reporting.transcript_list import transcript_states

_TRANSCRIPTS = "transcripts"

KEPT = timedelta(days=30)
"""The time that Claude Code keeps transcripts, unless `cleanupPeriodDays` changes it."""

SOON = timedelta(days=7)
"""The warning comes this long before, and only to users who have read transcripts once."""


def check_transcripts(patient: DoctorContext) -> Iterator[Check]:
    """Report unread transcripts, by names and sizes; opens no file."""
    found = transcript_states(patient.catalog, patient.settings, home=Path.home())
    if not found.unread:
        if found.read:
            last = found.read[0].read_at
            yield Check(_TRANSCRIPTS, "ok", f"{len(found.read):,} were read, the last {last:%Y-%m-%d %H:%M}")
        return
    oldest = found.unread[0].modified
    detail = (
        f"{len(found.unread):,} were never read, {found.unread_bytes / 1e6:,.1f} MB, the oldest of "
        f"{oldest:%Y-%m-%d}; Claude Code deletes its own after {KEPT.days} days"
    )
    urgent = bool(found.read) and patient.now - oldest > KEPT - SOON
    yield Check(_TRANSCRIPTS, "warning" if urgent else "ok", detail, "ragmem seed --source transcripts")


_DOCUMENTS = "documents"
_LIBRARIES = ("lxml", "openpyxl", "pdfplumber", "PIL", "pypdfium2")


def check_documents(patient: DoctorContext) -> Iterator[Check]:
    """Report missing software; there is no check if no enabled source has documents."""
    wanted = [spec.name for spec in patient.settings.enabled_sources() if spec.reader == "documents"]
    if not wanted:
        return
    sources = ", ".join(wanted)
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        detail = f"the libraries to read {sources} are not installed: {', '.join(missing)}"
        yield Check(_DOCUMENTS, "warning", detail, 'pip install "ragmem[documents]"')
        return
    wished = patient.settings.documents
    if not wished.ocr:
        detail = f"{sources} can be read"
    elif engine := engine_name(wished.ocr_languages):
        detail = f"{sources} can be read, and text in pictures by {engine}"
    else:
        detail = f"{sources} can be read, except scans and text in pictures: {OCR_EXTRA}"
    yield Check(_DOCUMENTS, "ok", detail)


_WAITS_LONG = timedelta(days=1)

_LATELY = timedelta(days=1)
"""Maximum age of a reported failure."""

_EVENTS = "hook events"
_TROUBLES = (" failed: ", "the deadline passed", "no answer in time", "did not end in time")


def check_events(patient: DoctorContext) -> Iterator[Check]:
    """Report waiting events, unreadable events, and failures of hooks since yesterday."""
    data, state = patient.settings.places.data, patient.settings.places.state
    try:
        aside, waiting = spool.list_aside(data), spool.list_events(data)
    except OSError as error:
        detail = f'"{spool.folder(data)}" cannot be read: {os_reason(error)}'
        yield Check(_EVENTS, "failed", detail, "it must be a folder that you own: move the present one aside")
        return
    has_findings = bool(aside or waiting)
    for path in aside:
        yield Check(_EVENTS, "warning", f"a rejected event: {event_problem(path)}", f'remove "{path}"')
    if waiting:
        since = queued_at(waiting[0]) or patient.now
        count = "1 waits" if len(waiting) == 1 else f"{len(waiting):,} wait"
        old = patient.now - since > _WAITS_LONG
        detail = f"{count} since {since:%Y-%m-%d %H:%M} UTC"
        yield Check(_EVENTS, "warning" if old else "ok", detail, "ragmem ingest --drain" if old else "")
    if Breaker(str(state), str(data)).is_open():
        has_findings = True
        detail = f"hooks do not query for {REST_S / 60:.0f} minutes, after too many missed deadlines"
        yield Check(_EVENTS, "warning", detail, f'see "{state / NAME}"')
    troubles = _troubles(state / NAME, since=patient.now - _LATELY)
    if troubles:
        has_findings = True
        count = "1 hook" if len(troubles) == 1 else f"{len(troubles):,} hooks"
        detail = f"{count} failed partly since yesterday; the last: {troubles[-1]}"
        yield Check(_EVENTS, "warning", detail, f'see "{state / NAME}"')
    if not has_findings:
        yield Check(_EVENTS, "ok", "nothing waits")


def _troubles(log: Path, *, since: datetime) -> list[str]:
    """Return the failures in the log of hooks, without their timestamps."""
    try:
        with log.open("rb") as file:
            lines = file.read(2 * MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:  # no hook was ever called
        return []
    oldest = time.strftime("%Y-%m-%dT%H:%M:%SZ", since.astimezone(UTC).timetuple())
    found = [line.partition(" ") for line in lines if any(trouble in line for trouble in _TROUBLES)]
    return [message for moment, _, message in found if moment >= oldest]


_GRAMMARS = "grammars"


def check_grammars(patient: DoctorContext) -> Iterator[Check]:
    """Report unreadable languages; there is no check if tree-sitter is installed or no language needs it."""
    if has_parser():
        return
    code = patient.catalog.code
    languages = {
        file.language
        for root in code.roots()
        for file in code.files(root.project)
        if file.language != "python" and PurePosixPath(file.path).name not in MANIFESTS
    }
    if languages:
        listed = ", ".join(sorted(languages))
        detail = f"files in {listed} cannot be read again: tree_sitter is not installed"
        yield Check(_GRAMMARS, "warning", detail, CODE_EXTRA)

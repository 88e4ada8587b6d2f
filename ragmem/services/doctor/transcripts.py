"""Check for unread transcripts of assistants, which may be deleted before they are read."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.services.reporting.transcript_list import transcript_states

_NAME = "transcripts"

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
            yield Check(_NAME, "ok", f"{len(found.read):,} were read, the last {last:%Y-%m-%d %H:%M}")
        return
    oldest = found.unread[0].modified
    detail = (
        f"{len(found.unread):,} were never read, {found.unread_bytes / 1e6:,.1f} MB, the oldest of "
        f"{oldest:%Y-%m-%d}; Claude Code deletes its own after {KEPT.days} days"
    )
    urgent = bool(found.read) and patient.now - oldest > KEPT - SOON
    yield Check(_NAME, "warning" if urgent else "ok", detail, "ragmem seed --source transcripts")

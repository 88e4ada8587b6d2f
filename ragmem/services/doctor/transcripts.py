"""Whether transcripts of assistants lie on disk that were never read, and may be deleted before they are."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from ragmem.services.doctor.report import Check, DoctorContext, Examination
from ragmem.services.reporting.transcript_list import transcript_states

_NAME = "transcripts"

KEPT = timedelta(days=30)
"""How long Claude Code keeps transcripts, unless its `cleanupPeriodDays` says otherwise."""

SOON = timedelta(days=7)
"""So long before that a person is warned, who has asked for transcripts once."""


def transcripts(patient: DoctorContext) -> Iterator[Check]:
    """Tell of transcripts that were never read; names and sizes are looked at, no file is opened."""
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


TRANSCRIPTS: tuple[tuple[str, Examination], ...] = ((_NAME, transcripts),)

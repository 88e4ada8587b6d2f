"""Check the events that hooks left, and the failures of hooks."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragmem.hooks import spool
from ragmem.hooks.breaker import REST_S, Breaker
from ragmem.hooks.log import MOST_BYTES, NAME
from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.services.reporting.queue_list import event_problem, queued_at

WAITS_LONG = timedelta(days=1)

LATELY = timedelta(days=1)
"""Maximum age of a reported failure."""

_NAME = "hook events"
_TROUBLES = (" failed: ", "the deadline came first", "nobody answered in time", "did not end in time")


def check_events(patient: DoctorContext) -> Iterator[Check]:
    """Report waiting events, unreadable events, and failures of hooks since yesterday."""
    data, state = patient.settings.places.data, patient.settings.places.state
    try:
        aside, waiting = spool.list_aside(data), spool.list_events(data)
    except OSError as error:
        detail = f'"{spool.folder(data)}" cannot be read: {(error.strerror or str(error)).lower()}'
        yield Check(_NAME, "failed", detail, "it must be a folder of yours: move away what is there")
        return
    has_findings = bool(aside or waiting)
    for path in aside:
        yield Check(
            _NAME, "warning", f"an event that was set aside: {event_problem(path)}", f'remove "{path}"'
        )
    if waiting:
        since = queued_at(waiting[0]) or patient.now
        count = "1 waits" if len(waiting) == 1 else f"{len(waiting):,} wait"
        old = patient.now - since > WAITS_LONG
        detail = f"{count} since {since:%Y-%m-%d %H:%M} UTC"
        yield Check(_NAME, "warning" if old else "ok", detail, "ragmem ingest --drain" if old else "")
    if Breaker(str(state)).is_open():
        has_findings = True
        detail = f"hooks ask nobody for {REST_S / 60:.0f} minutes, since too many deadlines were missed"
        yield Check(_NAME, "warning", detail, f'see "{state / NAME}"')
    troubles = _troubles(state / NAME, since=patient.now - LATELY)
    if troubles:
        has_findings = True
        count = "1 hook" if len(troubles) == 1 else f"{len(troubles):,} hooks"
        detail = f"{count} could not do all since yesterday; the last: {troubles[-1]}"
        yield Check(_NAME, "warning", detail, f'see "{state / NAME}"')
    if not has_findings:
        yield Check(_NAME, "ok", "nothing waits")


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

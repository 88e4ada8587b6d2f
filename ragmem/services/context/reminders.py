"""Remind a session of the rules that its last answer broke."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ragmem.domain.injection.memory_frame import FIRST_WORDS, wrap_in_tags
from ragmem.errors import StorageError, StoreBusyError
from ragmem.services.context.anticipation import AnticipatedContext
from ragmem.storage.activity.violations import Violation
from ragmem.storage.home.catalog import Catalog

MOST = 5
"""Maximum violations in one reminder; the others are marked as reported."""

MAX_CHARS = 1_500

PATIENCE = 0.1
"""Seconds that a prompt waits for the record of its reminder."""

_HEAD = (
    f"{FIRST_WORDS}: rules of the person you work for that your last answer broke. Keep to them from now on, "
    "and say nothing about this unless it matters to the answer."
)


def with_reminder(
    told: AnticipatedContext,
    catalog: Catalog,
    *,
    session: str,
    max_chars: int | None,
    now: datetime,
    until: float = math.inf,
) -> AnticipatedContext:
    """Return the injected context with new violations of this session in front.

    Each is reported once. If the record fails, or if there is not enough space or time before `until` (a
    deadline by `time.monotonic`), it is reported later.
    """
    room = MAX_CHARS
    if max_chars is not None:
        room = min(room, max_chars - (len(told.context.text) + 1 if told.context.text else 0))
    if not _fit(catalog.violations.unreported(session, limit=MOST), room):
        return told
    if until - time.monotonic() < PATIENCE:
        return told
    try:
        found = catalog.violations.report(session, limit=MOST, now=now, patience=PATIENCE)
    except (StorageError, StoreBusyError) as error:
        return replace(told, notes=(*told.notes, f"broken rules are reported later: {error}"))
    lines = _fit(found, room)
    if not lines:  # another call has just reported them
        return told
    text = _block(lines)
    both = f"{text}\n{told.context.text}" if told.context.text else text
    reason = f"{len(lines)} broken rule{'s' if len(lines) > 1 else ''}; {told.reason}"
    return replace(told, context=replace(told.context, text=both), reason=reason)


def _fit(found: Sequence[Violation], room: int) -> list[str]:
    """Return the lines of the first violations that fit into a block."""
    lines = [f"- {one.rule}: {one.statement}\n  your sentence: {one.excerpt}" for one in found]
    while lines and len(_block(lines)) > room:
        lines.pop()
    return lines


def _block(lines: list[str]) -> str:
    return wrap_in_tags("\n".join([_HEAD, *lines]))

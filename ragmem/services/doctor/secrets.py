"""Check for secrets in memories that were stored before redaction existed."""

import time
from collections.abc import Iterator

from ragmem.domain.model import Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.services.ingestion.sanitize import sanitize_memory

SECONDS = 2.0
"""Time limit of the search; `--deep` has none."""

SCRUB = "ragmem scrub"


def check_secrets(patient: DoctorContext) -> Iterator[Check]:
    """Count the memories with a secret or a private block, within the time limit."""
    if not patient.settings.secrets.redact:
        detail = "texts are stored with their secrets: secrets.redact is false"
        yield Check("secrets", "warning", detail, "set redact = true below [secrets]")
        return
    ids = sorted(patient.catalog.memories.ids())
    began = time.monotonic()
    found = read = 0
    for memory in patient.catalog.memories.each():
        found += _holds_secrets(memory, redactor=patient.catalog.redactor)
        read += 1
        if not patient.deep and time.monotonic() - began > SECONDS:
            break
    seen = f"{read:,} memories" if read >= len(ids) else f"the first {read:,} of {len(ids):,} memories"
    if found:
        told = "1 holds" if found == 1 else f"{found:,} hold"
        yield Check("secrets", "warning", f"of {seen}, {told} what looks like a secret", SCRUB)
    else:
        yield Check("secrets", "ok", f"none in {seen}")


def _holds_secrets(memory: Memory, redactor: Redactor) -> bool:
    return bool(redactor.find(memory.text)) or sanitize_memory(memory, redactor=redactor) is not memory

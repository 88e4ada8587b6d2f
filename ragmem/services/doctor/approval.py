"""Check how much waits for a person's approval."""

from collections.abc import Iterator

from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.storage.sql.migrations import table_exists


def check_approval(patient: DoctorContext) -> Iterator[Check]:
    """Report the memories and drafted skills that wait; nothing where approval is off and nothing does."""
    database = patient.catalog.database
    with database.read() as connection:
        # An older home that is only read has no approvals.
        if not table_exists(database, connection, "skill_drafts"):
            return
    memories, skills = patient.catalog.approvals.count_waiting()
    if memories or skills:
        told = f"{memories:,} {'memory' if memories == 1 else 'memories'} and"
        told = f"{told} {skills:,} {'skill' if skills == 1 else 'skills'} wait for you"
        yield Check("approval", "ok", told, "ragmem approve")
    elif patient.settings.approval.enabled:
        yield Check("approval", "ok", "nothing waits for you")

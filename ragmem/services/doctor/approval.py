"""Check what waits for a person: proposed memories, drafted skills, and what members have shared."""

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
        told = f"{told} {skills:,} {'skill' if skills == 1 else 'skills'} wait for your review"
        yield Check("approval", "ok", told, "ragmem approve")
    elif patient.settings.approval.enabled:
        yield Check("approval", "ok", "nothing waits for your review")


def check_sharing(patient: DoctorContext) -> Iterator[Check]:
    """Report how much waits for a review, and in which projects; nothing where nothing does."""
    shared = patient.catalog.shared
    waiting = {key: count for key in shared.projects() if (count := shared.count_waiting(key))}
    if waiting:
        names = patient.catalog.projects.names()
        whole = sum(waiting.values())
        told = f"{whole:,} shared {'record waits' if whole == 1 else 'records wait'} for your review"
        places = ", ".join(f"{names.get(key, key)} {count:,}" for key, count in waiting.items())
        yield Check("sharing", "ok", f"{told}: {places}", "ragmem share review")

"""Check what members have shared that nobody has reviewed."""

from collections.abc import Iterator

from ragmem.services.doctor.report import Check, DoctorContext


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

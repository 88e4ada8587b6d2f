"""What providers were asked today, against the caps, and whether everything that was counted is kept."""

from collections.abc import Iterator

from ragmem.services.doctor.report import REPAIR, Check, DoctorContext, Examination
from ragmem.services.models.usage import amount, format_sums, limit_hint, limit_message


def spend(patient: DoctorContext) -> Iterator[Check]:
    """Tell what is spent today, and of a cap that background work waits for."""
    ledger = patient.ledger
    limits = ledger.limits()
    for limit in limits:
        if limit.reached:
            yield Check("spend", "warning", limit_message(limit, now=patient.now), limit_hint(limit))
        else:
            used, cap = amount(limit, limit.used), amount(limit, limit.cap)
            yield Check("spend", "ok", f"{used} today, of {cap} at most")
    if not limits:
        yield Check("spend", "ok", f"{format_sums(ledger.today())} of providers today, no cap")
    left = ledger.interrupted()
    if left:
        detail = f"files of counted requests that a killed process left: {left}"
        yield Check("spend", "warning", detail, REPAIR, "usage")


SPEND: tuple[tuple[str, Examination], ...] = (("spend", spend),)

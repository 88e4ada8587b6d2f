"""Check today's requests to providers against the caps, and for uncounted requests."""

from collections.abc import Iterator

from ragmem.services.doctor.report import REPAIR, Check, DoctorContext
from ragmem.services.models.usage import format_amount, format_sums, limit_hint, limit_message


def check_spend(patient: DoctorContext) -> Iterator[Check]:
    """Report today's spending, and reached caps."""
    ledger = patient.ledger
    limits = ledger.limits()
    for limit in limits:
        if limit.is_reached:
            yield Check("spend", "warning", limit_message(limit, now=patient.now), limit_hint(limit))
        else:
            used, cap = format_amount(limit, limit.used), format_amount(limit, limit.cap)
            yield Check("spend", "ok", f"{used} today, of {cap} at most")
    if not limits:
        yield Check("spend", "ok", f"{format_sums(ledger.today())} of providers today, no cap")
    left = ledger.count_interrupted()
    if left:
        detail = f"files of counted requests that a killed process left: {left}"
        yield Check("spend", "warning", detail, REPAIR, "usage")

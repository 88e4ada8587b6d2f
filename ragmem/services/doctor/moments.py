"""Check what sessions were told unasked: how often at each moment, and whether it was of use."""

from collections.abc import Iterator
from datetime import timedelta

from ragmem.services.context.moment_report import moment_figures
from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.storage.activity.moment_counts import MomentCounts

LATELY = timedelta(days=30)

LEAST_JUDGED = 20
"""Minimum texts of a moment whose use is judged before few useful ones are a finding."""

LEAST_USEFUL = 0.2


def check_moments(patient: DoctorContext) -> Iterator[Check]:
    """Report each moment that came in the last 30 days, with a warning where little of it was of use."""
    counts = MomentCounts(patient.settings.places.state)
    came = False
    for one in moment_figures(patient.catalog, counts, since=patient.now - LATELY):
        if not one.told and not one.silent:
            continue
        came = True
        told = f"{one.moment}: spoke {one.told:,} of {one.told + one.silent:,} times in 30 days"
        use = f", of use {one.useful:,} of the {one.judged:,} that can be judged" if one.judged else ""
        poor = one.judged >= LEAST_JUDGED and one.useful < LEAST_USEFUL * one.judged
        yield Check(
            "moments",
            "warning" if poor else "ok",
            told + use,
            "rate what is told: ragmem feedback ID bad" if poor else "",
        )
    if not came:
        yield Check("moments", "ok", "no session was told anything unasked yet")

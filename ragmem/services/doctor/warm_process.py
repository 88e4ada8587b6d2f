"""Check the warm process of a home, without starting or changing it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragmem import __version__, client
from ragmem.client import runtime
from ragmem.client.launcher import FIRST_DEATHS
from ragmem.services.doctor.report import Check, DoctorContext

PATIENCE = 1.0
"""Seconds in which a healthy process answers."""


@dataclass(frozen=True, slots=True)
class WarmProcess:
    """A warm process; if it does not answer (it starts, ends or hangs), at most the id is known."""

    process: int | None
    answers: bool = False
    version: str = ""
    memory_mb: float = 0.0
    idle_s: float = 0.0
    ends_after_s: float = 0.0
    serves: bool = False
    """Whether it is `ragmem serve`, which does not end by itself."""

    @property
    def summary(self) -> str:
        """A description in one line."""
        if not self.answers:
            return (
                f"process {self.process} does not answer" if self.process else "one is starting or stopping"
            )
        if self.serves:
            return f"`ragmem serve` answers, process {self.process}, {self.memory_mb:.0f} MB"
        return (
            f"process {self.process} of ragmem {self.version}, {self.memory_mb:.0f} MB, last query"
            f" {self.idle_s:.0f} s ago, exits after {self.ends_after_s / 60:g} minutes without a query"
        )


def find_warm_process(data: Path) -> WarmProcess | None:
    """Return the warm process of a home; None if there is none."""
    place = str(data)
    if not runtime.is_running(place):
        return None
    status = client.ask(place, {"op": "status"}, deadline=time.monotonic() + PATIENCE, start=False)
    if status is None or not isinstance(status.get("process"), int):
        return WarmProcess(runtime.recorded_pid(place))
    return WarmProcess(
        status["process"],
        answers=True,
        version=str(status.get("version", "")),
        memory_mb=float(status.get("memory_mb", 0.0)),
        idle_s=float(status.get("idle_s", 0.0)),
        ends_after_s=float(status.get("ends_after_s", 0.0)),
        serves=status.get("serves") is True,
    )


def check_warm_process(patient: DoctorContext) -> Iterator[Check]:
    """Report whether the warm process runs, and failed starts."""
    places = patient.settings.places
    if not runtime.is_enabled():
        yield Check("warm process", "ok", f"{runtime.SWITCH} turns it off")
        return
    found = find_warm_process(places.data)
    failed = runtime.failed_starts(str(places.data))
    if found is not None and not found.answers:
        yield Check("warm process", "warning", found.summary, "ragmem warm stop")
    elif found is not None and found.version != __version__:
        yield Check("warm process", "ok", f"{found.summary}; the next hook replaces it")
    elif found is not None:
        yield Check("warm process", "ok", found.summary)
    elif failed >= FIRST_DEATHS:
        log = places.state / "warm.log"
        detail = f"it exited right after its start, {failed} times in a row"
        yield Check("warm process", "warning", detail, f'see "{log}"')
    else:
        yield Check("warm process", "ok", "it is not running; the next hook starts it")

"""What can be seen of the warm process of a home, without starting one or changing it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragmem import __version__, client
from ragmem.client.starting import FIRST_DEATHS
from ragmem.services.doctor.report import Check, DoctorContext

PATIENCE = 1.0
"""Seconds in which a process that is well tells of itself."""


@dataclass(frozen=True, slots=True)
class WarmProcess:
    """A warm process; of one that does not answer (it starts, ends, hangs) only the id is known, if that."""

    process: int | None
    answers: bool = False
    version: str = ""
    memory_mb: float = 0.0
    idle_s: float = 0.0
    ends_after_s: float = 0.0
    serves: bool = False
    """Whether it is `ragmem serve`, which lives until it is ended."""

    @property
    def told(self) -> str:
        """One line of it."""
        if not self.answers:
            return (
                f"process {self.process} does not answer" if self.process else "one starts or ends just now"
            )
        if self.serves:
            return f"`ragmem serve` answers, process {self.process}, {self.memory_mb:.0f} MB"
        return (
            f"process {self.process} of ragmem {self.version}, {self.memory_mb:.0f} MB, asked"
            f" {self.idle_s:.0f} s ago, ends after {self.ends_after_s / 60:g} minutes without a question"
        )


def find_warm_process(data: Path) -> WarmProcess | None:
    """Return the warm process of a home; None where there is none."""
    place = str(data)
    if not client.is_running(place):
        return None
    told = client.ask(place, {"op": "status"}, deadline=time.monotonic() + PATIENCE, start=False)
    if told is None or not isinstance(told.get("process"), int):
        return WarmProcess(client.recorded(place))
    return WarmProcess(
        told["process"],
        answers=True,
        version=str(told.get("version", "")),
        memory_mb=float(told.get("memory_mb", 0.0)),
        idle_s=float(told.get("idle_s", 0.0)),
        ends_after_s=float(told.get("ends_after_s", 0.0)),
        serves=told.get("serves") is True,
    )


def warm(patient: DoctorContext) -> Iterator[Check]:
    """Tell whether the warm process runs, and whether it can."""
    places = patient.settings.places
    if not client.wanted():
        yield Check("warm process", "ok", f"{client.SWITCH} turns it off")
        return
    found = find_warm_process(places.data)
    failed = client.failed_starts(str(places.data))
    if found is not None and not found.answers:
        yield Check("warm process", "warning", found.told, "ragmem warm stop")
    elif found is not None and found.version != __version__:
        yield Check("warm process", "ok", f"{found.told}; the next hook replaces it")
    elif found is not None:
        yield Check("warm process", "ok", found.told)
    elif failed >= FIRST_DEATHS:
        log = places.state / "warm.log"
        detail = f"it ended as soon as it was started, {failed} times in a row"
        yield Check("warm process", "warning", detail, f'see "{log}"')
    else:
        yield Check("warm process", "ok", "it does not run; the next hook starts it")

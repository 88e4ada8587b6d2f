"""Run gc without a person, as far as that is allowed."""

from collections.abc import Callable
from dataclasses import dataclass

from ragmem.services.connections.connect import ConnectionReport
from ragmem.services.lifecycle.items import Plan
from ragmem.services.lifecycle.outcome import Outcome

DRY_RUN_HINT = "`ragmem gc --dry-run` shows what it would do"


@dataclass(frozen=True, slots=True)
class IdleGcResult:
    """The result: why no memory was changed although some would be, and how many are not compared yet.

    `finished` is False if the time was up, and the next run continues.
    """

    refused: str = ""
    uncompared: int = 0
    finished: bool = True


def run_idle_gc(
    *,
    may_change: bool,
    connect: Callable[[], ConnectionReport | None],
    plan: Callable[[], Plan],
    apply: Callable[[Plan], Outcome],
) -> IdleGcResult:
    """Connect new memories, then plan, and carry out what is allowed without a person.

    Unless it `may_change` memories, nothing is planned. `connect` returns None if no model is available.
    """
    found = connect()
    waiting = found.waiting if found else 0
    if found and waiting and found.new:
        # Planning would take long and leave most projects unchanged.
        return IdleGcResult("", waiting, finished=False)
    if not may_change:
        return IdleGcResult("", waiting)
    decided = plan()
    if decided.empty:
        return IdleGcResult("", decided.uncompared)
    if decided.large:
        share = (
            f"{decided.removal_count:,} of {decided.searched:,} memories would be archived, more than a third"
        )
        return IdleGcResult(f"{share}; {DRY_RUN_HINT}", decided.uncompared)
    return IdleGcResult("", decided.uncompared, finished=not apply(decided).stopped)

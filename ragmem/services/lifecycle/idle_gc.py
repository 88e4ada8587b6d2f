"""gc without a person: what it may do by itself, and why it does not do the rest."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ragmem.services.connections.connecting import ConnectionReport
from ragmem.services.lifecycle.items import Plan
from ragmem.services.lifecycle.outcome import Outcome

LOOK = "`ragmem gc --dry-run` shows what it would do"


@dataclass(frozen=True, slots=True)
class IdleGcResult:
    """What came of it: why no memory was changed though some would be, and how many are not compared yet.

    `finished` is False where time was up, and the next run goes on.
    """

    refused: str = ""
    uncompared: int = 0
    finished: bool = True


def tend(
    *,
    may_change: bool,
    connect: Callable[[], ConnectionReport | None],
    plan: Callable[[], Plan],
    apply: Callable[[Plan], Outcome],
    merges: bool,
) -> IdleGcResult:
    """Connect what is not connected yet, then plan, and carry out what may be done without a person.

    Unless it `may_change` memories, nothing is planned. `connect` gives None where no model can be had.
    Without `merges` nothing is merged.
    """
    found = connect()
    waiting = found.waiting if found else 0
    if found and waiting and found.new:
        # A plan would leave most projects as they are, and take long to say so.
        return IdleGcResult("", waiting, finished=False)
    if not may_change:
        return IdleGcResult("", waiting)
    decided = plan() if merges else _without_merges(plan())
    if decided.empty:
        return IdleGcResult("", decided.uncompared)
    if decided.large:
        told = f"{decided.leaving:,} of {decided.searched:,} memories would go, more than half; {LOOK}"
        return IdleGcResult(told, decided.uncompared)
    return IdleGcResult("", decided.uncompared, finished=not apply(decided).stopped)


def _without_merges(decided: Plan) -> Plan:
    staying = tuple(item for item in decided.items if item.action != "merge")
    return replace(decided, items=staying, merges=())

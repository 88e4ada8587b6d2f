"""gc without a person: what it may do by itself, and why it does not do the rest."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ragmem.catalog.database import Database
from ragmem.catalog.idle_mark import compared, was_seen
from ragmem.services.gc_apply import Outcome
from ragmem.services.gc_items import MERGED, Plan

LOOK = "`ragmem gc --dry-run` shows what it would do"


@dataclass(frozen=True, slots=True)
class Tended:
    """What came of it: why no memory was changed though some would be, and how many are not compared yet.

    `finished` is False where time was up, and the next run goes on.
    """

    refused: str = ""
    uncompared: int = 0
    finished: bool = True


def tend(
    database: Database,
    *,
    plan: Callable[[], Plan],
    apply: Callable[[Plan], Outcome],
    merges: bool,
) -> Tended:
    """Plan, which connects what is not connected yet, and carry out what may be done without a person.

    Without `merges` nothing is merged.
    """
    before = compared(database)
    decided = plan()
    if not merges:
        decided = _unmerged(decided)
    waiting = decided.uncompared
    # Where nothing more could be compared, to go on at once would be to try again and again.
    finished = not waiting or compared(database) == before
    if decided.empty:
        return Tended("", waiting, finished)
    if not was_seen(database):
        # The first time on a home that nobody has looked through is no time for surprises.
        return Tended(f"nobody has seen a plan of this memory yet; {LOOK}", waiting, finished)
    if decided.large:
        told = f"{decided.leaving:,} of {decided.searched:,} memories would go, more than half; {LOOK}"
        return Tended(told, waiting, finished)
    return Tended("", waiting, not apply(decided).stopped and finished)


def _unmerged(decided: Plan) -> Plan:
    staying = tuple(item for item in decided.items if item.action != "merge" and item.rule != MERGED)
    return replace(decided, items=staying, merges=())

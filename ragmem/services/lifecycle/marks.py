"""Mark memories as superseded or perhaps outdated in a run of gc, so that the run can be undone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

import orjson

from ragmem.services.lifecycle.items import Item
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.gc_runs import GcChange
from ragmem.storage.lifecycle.supersessions import Supersession


def supersede(catalog: Catalog, run: str, items: Sequence[Item], *, now: datetime) -> Counter[str]:
    """Supersede or mark memories by the first of their `others`, in the caller's transaction.

    Returns action -> number.

    A memory whose successor is missing, or leads back to it, is left as it is.
    """
    outlines = catalog.memories.outlines([*(item.id for item in items), *(item.others[0] for item in items)])
    wanted = [
        Supersession(
            older=item.id,
            newer=item.others[0],
            older_at=outlines[item.id].event_time,
            newer_at=outlines[item.others[0]].event_time,
            rule=item.rule,
            reason=item.reason,
            made_at=now,
        )
        for item in items
        if item.id in outlines and item.others[0] in outlines
    ]
    ids = [one.older for one in wanted]
    before = {one.older: one for one in catalog.supersessions.of(ids)}
    catalog.supersessions.put(wanted)
    after = {one.older: one.newer for one in catalog.supersessions.of(ids)}
    marked = [one for one in wanted if after.get(one.older) == one.newer]
    catalog.gc_runs.note(
        run,
        "superseded",
        [
            GcChange(
                one.older,
                orjson.dumps(asdict(before[one.older])).decode() if one.older in before else "",
                one.newer,
            )
            for one in marked
        ],
    )
    standing = [item for item in items if after.get(item.id) == item.others[0]]
    catalog.gc_runs.add(run, Counter(item.name for item in standing))
    return Counter(item.action for item in standing)

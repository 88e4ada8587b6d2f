"""The state of the memory now, for questions that ask for it: what waits, what runs, what was done last."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.model_record import ACTIVE, NEXT
from ragmem.domain.model import State
from ragmem.services.asking import Fact
from ragmem.services.reembed import at_work
from ragmem.services.usage import Ledger, Limit, amount, told_sums

LATEST = 5
"""Operations of the log that are told."""


def state_now(catalog: Catalog, ledger: Ledger, *, home: Path, now: datetime) -> tuple[Fact, ...]:
    """Return what is so now: memories that wait, a change of model, spend today, the last operations.

    Reads the catalog and the ledger only; contacts no model and opens no store.
    """
    states = catalog.overview.count_by("state")
    pending, buffered = states.get(State.PENDING, 0), states.get(State.BUFFERED, 0)
    facts = [
        Fact("indexed", f"{states.get(State.INDEXED, 0):,}"),
        Fact("pending", f"{pending:,}" + (": `ragmem seed` indexes them" if pending else ""), pending > 0),
        Fact("buffered", f"{buffered:,}"),
        Fact("in the archive", f"{catalog.archive.count():,}"),
        *_models(catalog, at_work(home)),
        *_spend(ledger.limits(), told_sums(ledger.today())),
    ]
    done = (
        Fact(f"{entry['operation']}, {_ago(now - entry['at'])}", _counts(entry["detail"]))
        for entry in catalog.log.entries(limit=LATEST)
    )
    return (*facts, *done)


def _models(catalog: Catalog, worker: int) -> list[Fact]:
    active, coming = catalog.models.read(ACTIVE), catalog.models.read(NEXT)
    facts = [Fact("embedding model", active.model if active else "none yet")]
    if coming is not None:
        how = (
            f"process {worker} makes its vectors"
            if worker
            else "nobody makes its vectors: `ragmem models resume`"
        )
        facts.append(Fact("next embedding model", f"{coming.model}, {how}", not worker))
    return facts


def _spend(limits: Sequence[Limit], today: str) -> list[Fact]:
    facts = [Fact("spent today", today)]
    for limit in limits:
        value = f"{amount(limit, limit.used)} of {amount(limit, limit.cap)}"
        facts.append(Fact(f"cap {limit.key}", value, limit.reached))
    return facts


def _counts(detail: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value}" for name, value in detail.items() if value not in (0, "", None, [], {})
    )


def _ago(age: timedelta) -> str:
    minutes = max(0, int(age.total_seconds() // 60))
    for unit, size in (("d", 1440), ("h", 60)):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit} ago"
    return f"{minutes} min ago"

"""How much a memory holds, and how much room that takes."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ragmem.config import Settings
from ragmem.ports import Store
from ragmem.services.ingestion.inbox_waiting import waiting
from ragmem.storage.home.catalog import Catalog


def statistics(catalog: Catalog, store: Store, settings: Settings) -> dict[str, Any]:
    """Return counts of catalog, store and inbox, the embedder's backend and the home's size in bytes.

    With a database elsewhere also its place, and its size counts as the home's.
    """
    data = settings.places.data
    held = waiting(data)
    database = catalog.database
    elsewhere = {} if database.path else {"database": database.place}
    return {
        "home": str(data),
        **elsewhere,
        "bytes": _bytes_below(data) + database.size_elsewhere(),
        "catalog": catalog.overview.counts(),
        "store": dict(store.statistics()),
        "models": settings.models.backend,
        "inbox": {
            "waiting": held.writes,
            "since": f"{held.since:%Y-%m-%dT%H:%M:%SZ}" if held.since else None,
            "aside": len(held.aside),
        },
    }


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            # Other processes remove theirs at any time: logs, tickets, files of vectors.
            with suppress(FileNotFoundError):
                total += Path(parent, name).stat().st_size
    return total

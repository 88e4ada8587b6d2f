"""The numbers of memories and their size on disk."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ragmem.config.settings import Settings
from ragmem.ports import Store
from ragmem.services.ingestion.inbox_status import inbox_status
from ragmem.storage.home.catalog import Catalog


def statistics(catalog: Catalog, store: Store, settings: Settings) -> dict[str, Any]:
    """Return counts of catalog, store and inbox, the embedder's backend and the home's size in bytes.

    For a database elsewhere its place is added, and its size is included.
    """
    data = settings.places.data
    held = inbox_status(data)
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
            # Other processes may remove files at any time: logs, tickets, vectors.
            with suppress(FileNotFoundError):
                total += Path(parent, name).stat().st_size
    return total

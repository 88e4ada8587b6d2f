"""Removal of secrets from all stored data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from ragmem.api.home import Home, now
from ragmem.ports import Store
from ragmem.services.processes.progress import Progress, Silent
from ragmem.services.scrub.scrub import Backups, Plan, ScrubContext, ScrubResult, plan, scrub
from ragmem.services.scrub.target import ScrubTarget
from ragmem.storage.home.catalog import Catalog


class Scrub:
    """Removes a text everywhere."""

    def __init__(self, home: Home, index_pending: Callable[[], str]) -> None:
        self._home = home
        self._index_pending = index_pending

    def plan(self, wanted: ScrubTarget, *, progress: Progress | None = None) -> Plan:
        """Return where below the home the secret is stored; changes nothing. See `services.scrub.scrub`."""
        self._home.require()
        return plan(scrub_context(self._home, progress), wanted)

    def apply(
        self,
        wanted: ScrubTarget,
        planned: Plan,
        *,
        backups: Backups = "rewrite",
        progress: Progress | None = None,
    ) -> ScrubResult:
        """Carry out a plan, then search everywhere for remains; see `services.scrub.scrub`."""
        tools = scrub_context(self._home, progress)
        return scrub(tools, wanted, planned, backups=backups, index=self._index_pending)


def scrub_context(home: Home, progress: Progress | None = None) -> ScrubContext:
    """Return the dependencies of a scrub or purge of this home."""
    return ScrubContext(
        catalog=home.catalog,
        open_store=lambda: home.store,
        open_home=partial(_open_copy, home),
        places=home.settings.places,
        sizes=home.settings.chunking,
        now=now(),
        progress=progress or Silent(),
    )


@contextmanager
def _open_copy(home: Home, data: Path) -> Iterator[tuple[Catalog, Store]]:
    """Open a copy of the memory in another data folder, with the present schema."""
    settings = replace(
        home.settings,
        places=home.settings.places._replace(data=data),
        store=replace(home.settings.store, profile="sqlite", url=""),
        secrets=replace(home.settings.secrets, redact=True),
    )
    with Home(settings, home=home.home, cwd=home.cwd) as copy:
        copy.prepare()
        yield copy.catalog, copy.store

"""The methods of an open memory for taking secrets out of everything that it has stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Opened, now
from ragmem.api.inbox import Receiving

if TYPE_CHECKING:
    from ragmem.ports import Store
    from ragmem.services.processes.progress import Progress
    from ragmem.services.scrub.forget import Forgotten
    from ragmem.services.scrub.forget import Plan as ForgetPlan
    from ragmem.services.scrub.scrub import Backups, Plan, Scrubbed, Tools
    from ragmem.services.scrub.wanted import Wanted
    from ragmem.storage.home.catalog import Catalog


class Scrubbing(Receiving):
    """What removes a text from everywhere at once."""

    def plan_scrub(self, wanted: "Wanted", *, progress: "Progress | None" = None) -> "Plan":
        """Return where it stands below the home; changes nothing. See `services.scrub.scrub`."""
        from ragmem.services.scrub.scrub import plan

        self.require()
        return plan(self._scrubbing(progress), wanted)

    def scrub(
        self,
        wanted: "Wanted",
        planned: "Plan",
        *,
        backups: "Backups" = "rewrite",
        progress: "Progress | None" = None,
    ) -> "Scrubbed":
        """Take out what was planned and search for it everywhere; see `services.scrub.scrub`."""
        from ragmem.services.scrub.scrub import scrub

        return scrub(self._scrubbing(progress), wanted, planned, backups=backups, index=self.index_waiting)

    def purge_forgotten(
        self, planned: "ForgetPlan", *, allow_large: bool = False, progress: "Progress | None" = None
    ) -> "Forgotten":
        """Delete for good what `plan_forget` chose, and search for what is left of it.

        See `services.scrub.forget`.

        There is no undo.
        """
        from ragmem.services.scrub.forget import purge

        self.require()
        return purge(self._scrubbing(progress), planned, allow_large=allow_large)

    def end_unfinished_purge(self) -> str:
        """End a purge that was killed before its bytes were gone; return what is in the way, or nothing."""
        from ragmem.services.scrub.forget import end_unfinished_purge

        self.require()
        return end_unfinished_purge(self._scrubbing(None))

    def _scrubbing(self, progress: "Progress | None") -> "Tools":
        from ragmem.services.processes.progress import Silent
        from ragmem.services.scrub.scrub import Tools

        return Tools(
            catalog=self.catalog,
            open_store=lambda: self.store,
            open_home=self._copy_at,
            places=self.settings.places,
            sizes=self.settings.chunking,
            now=now(),
            progress=progress or Silent(),
        )

    @contextmanager
    def _copy_at(self, data: Path) -> "Iterator[tuple[Catalog, Store]]":
        """Open the copy of a memory that lies in another data folder, brought up to date."""
        settings = replace(
            self.settings,
            places=self.settings.places._replace(data=data),
            store=replace(self.settings.store, profile="sqlite", url=""),
            secrets=replace(self.settings.secrets, redact=True),
        )
        with Opened(settings, home=self.home, cwd=self.cwd) as copy:
            copy.prepare()
            yield copy.catalog, copy.store

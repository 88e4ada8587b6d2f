"""Removal of memories: to the archive, or permanently."""

from collections.abc import Callable, Iterable, Sequence

from ragmem.api.home import Home, now
from ragmem.api.scrub import scrub_context
from ragmem.services.ingestion.scope import require_sources, resolve_project
from ragmem.services.lifecycle.undo import UndoResult
from ragmem.services.processes.progress import Progress
from ragmem.services.scrub import forget
from ragmem.services.scrub.forget import ForgetResult, Plan


class Removal:
    """Plans removals, and archives or purges memories."""

    def __init__(self, home: Home, undo: Callable[[str], UndoResult]) -> None:
        self._home = home
        self._undo = undo

    def plan(
        self,
        prefixes: Iterable[str] = (),
        *,
        sources: Sequence[str] = (),
        projects: Sequence[str] = (),
        run: str = "",
        purge: bool = False,
    ) -> Plan:
        """Return which memories `archive` or (with `purge`) `purge` would remove; changes nothing.

        Memories are chosen by beginnings of their ids, by sources, by projects (names, ids or paths), and by
        the `run` that stored them. A memory must meet all conditions. Raises NotFoundError for what does not
        exist, and UsageError without any condition.
        """
        home = self._home
        home.require()
        chosen = forget.choose(
            home.catalog,
            prefixes,
            sources=require_sources(home.catalog, home.settings, sources, archived=True),
            projects=[resolve_project(home.catalog, name) for name in projects],
            run=run,
            purge=purge,
        )
        return forget.plan(home.catalog, chosen, purge=purge)

    def archive(self, planned: Plan, *, allow_large: bool = False) -> ForgetResult:
        """Carry out a plan: move its memories to the archive. See `services.scrub.forget`."""
        home = self._home
        home.require()
        return forget.forget(home.catalog, lambda: home.store, planned, now=now(), allow_large=allow_large)

    def undo(self, run: str) -> UndoResult:
        """Restore everything that a run of `archive` removed; raises NotFoundError or UsageError."""
        self._home.require()
        return self._undo(forget.require_run(self._home.catalog, run))

    def purge(
        self, planned: Plan, *, allow_large: bool = False, progress: Progress | None = None
    ) -> ForgetResult:
        """Carry out a plan: delete its memories permanently, then search for remains. There is no undo.

        See `services.scrub.forget`.
        """
        self._home.require()
        self._home.forget_texts()
        return forget.purge(scrub_context(self._home, progress), planned, allow_large=allow_large)

    def finish_purge(self) -> str:
        """Finish a purge that was killed before its bytes were erased; return the obstacle, or ""."""
        self._home.require()
        return forget.end_unfinished_purge(scrub_context(self._home))

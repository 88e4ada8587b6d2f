"""The methods of an open memory for gc: plan it, carry it out, take it back, purge, and tell of it."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from ragmem.api.home import now
from ragmem.api.inbox import Receiving
from ragmem.errors import BackendError

if TYPE_CHECKING:
    from ragmem.services.connections.connecting import Connected
    from ragmem.services.lifecycle.idle_gc import Tended
    from ragmem.services.lifecycle.items import Plan
    from ragmem.services.lifecycle.outcome import Outcome
    from ragmem.services.lifecycle.purge import Purge
    from ragmem.services.lifecycle.undo import Undone
    from ragmem.services.processes.progress import Progress
    from ragmem.services.projects.projects import Changing
    from ragmem.services.scrub.forget import Forgotten
    from ragmem.services.scrub.forget import Plan as ForgetPlan
    from ragmem.storage.lifecycle.archive import Archived
    from ragmem.storage.lifecycle.gc_runs import GcRun

# Services are imported where they are used: a question must not pay for what only gc needs.


LARGE = 20_000
"""Memories from which other processes help with the plan of gc: they take most of a second to start."""


class Tending(Receiving):
    """What keeps a memory in order. Nothing but `purge_archive` deletes a text for good."""

    def changing_projects(self, *, dry_run: bool = False, progress: "Progress | None" = None) -> "Changing":
        """Return what `services.projects.projects` needs to join, split, rename and move projects."""
        from ragmem.services.processes.progress import Silent
        from ragmem.services.projects.projects import Changing

        self.require()
        if not dry_run:
            self.take_in()
        return Changing(self.catalog, lambda: self.store, self.home, now(), dry_run, progress or Silent())

    def plan_gc(
        self,
        *,
        missing: bool = False,
        projects: Sequence[str] | None = None,
        rules: Collection[str] = (),
        budget_s: float | None = None,
        workers: int = 1,
        progress: "Progress | None" = None,
    ) -> "Plan":
        """Return what gc would do; with `missing`, also for memories that have left their source.

        `projects` are ids (None: all); with `rules`, what no rule of these names says is left out. Missing
        connections are made on the way, for `budget_s` seconds at most. Several `workers` are as many
        processes, which is worth their start for tens of thousands of memories.
        """
        from ragmem.services.lifecycle.gone_sources import gone as gone_from_sources
        from ragmem.services.lifecycle.plan import plan

        self.require()
        self.take_in()
        gone = gone_from_sources(self.catalog, self.settings, home=self.home) if missing else None
        return plan(
            self.catalog,
            self.store,
            now=now(),
            policy=self.settings.lifecycle.policy,
            sizes=self.settings.chunking,
            keep=self._keep_archived(),
            gone=gone,
            projects=projects,
            rules=rules,
            budget_s=budget_s,
            workers=workers,
            progress=progress,
        )

    def gc_processes(self) -> int:
        """Return in how many processes gc is soonest done: as many as run at once, for many memories."""
        from ragmem.services.processes.worker_pool import cores

        self.require()
        return cores() if len(self.catalog.memories.ids()) >= LARGE else 1

    def apply_gc(
        self,
        decided: "Plan",
        *,
        allow_large: bool = False,
        caller: str = "gc",
        budget_s: float | None = None,
        outcome: "Outcome | None" = None,
        workers: int = 1,
        progress: "Progress | None" = None,
    ) -> "Outcome":
        """Carry a plan out; what it does can be undone. `outcome` tells who interrupts what was done.

        `workers` is in how many processes texts are read where much is to be merged, see `gc_processes`.
        """
        from ragmem.services.entities.extraction_texts import forget_unused
        from ragmem.services.lifecycle.apply import apply

        decided, note = self._written(decided, progress)
        done = apply(
            self.catalog,
            self.store,
            decided,
            now=now(),
            policy=self.settings.lifecycle.policy,
            allow_large=allow_large,
            caller=caller,
            budget_s=budget_s,
            outcome=outcome,
            workers=workers,
            progress=progress,
        )
        forget_unused(self.catalog, self.settings.chunking)
        done.note = done.note or note
        return done

    def _written(self, decided: "Plan", progress: "Progress | None") -> "tuple[Plan, str]":
        """Return the plan with merged texts as the language model writes them, where it is to, and a note."""
        if self.settings.lifecycle.merge_by != "llm" or not decided.merges:
            return decided, ""
        from ragmem.services.lifecycle.consolidation import Writer, drafted

        try:
            model = self.models.language_model
        except BackendError as error:
            return decided, f"merged by rule: {error.told}"
        if model is None:
            return (
                decided,
                'merged by rule: lifecycle.merge_by is "llm", and no model stands below [language_model]',
            )
        writer = Writer(model, self.settings.language_model.backend, self._meter)
        found = drafted(decided, self.catalog, writer, sizes=self.settings.chunking, progress=progress)
        return found.plan, found.note

    def tend(self, *, budget_s: float, progress: "Progress | None" = None) -> "Tended | None":
        """Run gc as the warm process does when it is idle, for about so many seconds.

        What is not connected yet is connected. Memories are changed only where `lifecycle.automatic` says so
        now, and not where more than half would go; what a language model is to merge is left to `ragmem gc`,
        for asking one may cost money. Returns None, and does nothing, where the latest run was taken back:
        what a person undid, only a person does again.
        """
        from ragmem.services.lifecycle.idle_gc import tend

        latest = self.catalog.gc_runs.latest(1)
        if latest and latest[0].undone is not None:
            return None
        return tend(
            may_change=self.may_tend(),
            connect=lambda: self._connect(budget_s / 2, progress),
            plan=lambda: self.plan_gc(budget_s=budget_s / 2, progress=progress),
            apply=lambda decided: self.apply_gc(
                decided, caller="idle", budget_s=budget_s / 2, progress=progress
            ),
            merges=self.settings.lifecycle.merge_by != "llm",
        )

    def _connect(self, budget_s: float, progress: "Progress | None") -> "Connected | None":
        """Connect for so many seconds at most; None where no model can be had."""
        from ragmem.services.connections.connecting import connect

        self.take_in()
        try:
            return connect(self.catalog, self.store, now=now(), budget_s=budget_s, progress=progress)
        except BackendError:
            return None

    def undo_gc(self, run: str = "", *, workers: int = 1) -> "Undone":
        """Take back what a gc run did, the latest unless one is named; `workers` as for `apply_gc`."""
        from ragmem.services.lifecycle.undo import undo

        self.require()
        return undo(
            self.catalog,
            self.store,
            sizes=self.settings.chunking,
            policy=self.settings.lifecycle.policy,
            run=run,
            now=now(),
            workers=workers,
        )

    def restore_archived(self, prefix: str) -> "tuple[Archived, str]":
        """Bring one memory back from the archive; see `services.lifecycle.undo.restore`."""
        from ragmem.services.lifecycle.undo import restore

        self.require()
        return restore(self.catalog, self.store, prefix, sizes=self.settings.chunking, now=now())

    def plan_purge(self) -> "Purge":
        """Return what `purge_archive` would delete."""
        from ragmem.services.lifecycle.purge import plan_purge

        self.require()
        return plan_purge(self.catalog, now=now(), keep=self._keep_archived())

    def purge_archive(self) -> "Purge":
        """Delete for good what has lain in the archive for longer than the settings say."""
        from ragmem.services.lifecycle.purge import purge

        self.require()
        return purge(self.catalog, now=now(), keep=self._keep_archived(), sizes=self.settings.chunking)

    def gc_history(self, limit: int | None = None) -> "list[GcRun]":
        """Return the runs of gc, latest first."""
        self.require()
        return self.catalog.gc_runs.latest(limit)

    def plan_forget(
        self,
        prefixes: Iterable[str] = (),
        *,
        sources: Sequence[str] = (),
        projects: Sequence[str] = (),
        run: str = "",
        purge: bool = False,
    ) -> "ForgetPlan":
        """Return which memories `forget` and `purge_forgotten` would take out; changes nothing.

        Memories are named by their ids or beginnings of them, by sources, by projects (names, ids or paths),
        and by the `run` that stored them; all that is given has to be true of each. Raises NotFoundError for
        what does not exist, UsageError where nothing is given.
        """
        from ragmem.services.ingestion.scope import known_sources, named_project
        from ragmem.services.scrub.forget import choice, plan

        self.require()
        chosen = choice(
            self.catalog,
            prefixes,
            sources=known_sources(self.catalog, self.settings, sources, archived=True),
            projects=[named_project(self.catalog, name) for name in projects],
            run=run,
            purge=purge,
        )
        return plan(self.catalog, chosen, purge=purge)

    def forget(
        self,
        prefixes: Iterable[str] = (),
        *,
        sources: Sequence[str] = (),
        projects: Sequence[str] = (),
        run: str = "",
        allow_large: bool = False,
    ) -> str:
        """Move memories to the archive, all of them or none; return the run for `undo_gc`, "" for none.

        They are named as for `plan_forget`, and no seed or hook brings them back. Where not each is named by
        its id, more than half of all memories go only with `allow_large`. Raises NotFoundError and
        UsageError, and then nothing was done.
        """
        named = list(prefixes)
        only_ids = bool(named) and not (sources or projects or run)
        planned = self.plan_forget(named, sources=sources, projects=projects, run=run)
        return self.apply_forget(planned, allow_large=allow_large or only_ids).run

    def apply_forget(self, planned: "ForgetPlan", *, allow_large: bool = False) -> "Forgotten":
        """Archive what was planned; see `services.scrub.forget`."""
        from ragmem.services.scrub.forget import forget

        self.require()
        return forget(self.catalog, lambda: self.store, planned, now=now(), allow_large=allow_large)

    def undo_forget(self, run: str) -> "Undone":
        """Bring back all that a run of `forget` took out, as it was; raises NotFoundError, UsageError."""
        from ragmem.services.scrub.forget import named_run

        self.require()
        return self.undo_gc(named_run(self.catalog, run))

    def _keep_archived(self) -> timedelta:
        return timedelta(days=self.settings.archive.keep_days)

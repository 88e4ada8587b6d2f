"""Garbage collection of a memory: plan it, apply it, undo it, purge the archive, run it when idle."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict, Unpack

from ragmem.api.home import Home, now
from ragmem.errors import BackendError

if TYPE_CHECKING:
    from ragmem.services.connections.connect import ConnectionReport
    from ragmem.services.lifecycle.cards import Card, Writer
    from ragmem.services.lifecycle.idle_gc import IdleGcResult
    from ragmem.services.lifecycle.items import Item, Plan
    from ragmem.services.lifecycle.model_judge import KnownAnswers
    from ragmem.services.lifecycle.outcome import Outcome
    from ragmem.services.lifecycle.plan_clusters import PlanCluster
    from ragmem.services.lifecycle.purge import Purge
    from ragmem.services.lifecycle.undo import UndoResult
    from ragmem.services.processes.progress import Progress
    from ragmem.storage.lifecycle.archive import ArchiveEntry
    from ragmem.storage.lifecycle.gc_runs import GcRun

# Services are imported inside functions: the history must not pay for the imports of a plan.

LARGE = 20_000
"""Memories from which gc uses several processes; each takes most of a second to start."""


class PlanOptions(TypedDict, total=False):
    """Options of `Gc.plan`.

    `projects` are ids (None: all). With `rules`, the plan has only the items of these rules. `budget_s`
    limits the seconds spent on connecting memories. `workers` is the number of processes; see
    `Gc.worker_count`.
    """

    projects: Sequence[str] | None
    rules: Collection[str]
    budget_s: float | None
    workers: int
    progress: "Progress | None"


class ApplyOptions(TypedDict, total=False):
    """Options of `Gc.apply`.

    A plan that removes more than a third of all memories needs `allow_large`. `outcome` is filled as the work
    goes on, so that a caller who interrupts it knows what was done.
    """

    allow_large: bool
    budget_s: float | None
    outcome: "Outcome | None"


class Gc:
    """Connects, folds, supersedes and archives memories. Only `purge` deletes texts permanently."""

    def __init__(self, home: Home, drain: Callable[[], object]) -> None:
        self._home = home
        self._drain = drain

    def plan(self, *, missing: bool = False, **options: "Unpack[PlanOptions]") -> "Plan":
        """Return what gc would do; with `missing`, also for memories whose source no longer has them.

        This also makes the missing connections.
        """
        from ragmem.services.lifecycle.plan import plan
        from ragmem.services.lifecycle.text_cache import CACHE
        from ragmem.services.lifecycle.upkeep import find_missing_memories as gone_from_sources

        home = self._home
        home.require()
        self._drain()
        return plan(
            home.catalog,
            home.store,
            now=now(),
            policy=home.settings.lifecycle.policy,
            keep=self._archive_age(),
            cards=home.settings.lifecycle.merge_by == "llm",
            judged=self._known_answers().keys if home.settings.lifecycle.judge_by == "llm" else None,
            gone=gone_from_sources(home.catalog, home.settings, home=home.home) if missing else None,
            cache=home.settings.places.cache / CACHE,
            **options,
        )

    def worker_count(self) -> int:
        """Return the number of processes with which gc is fastest: all cores, or 1 for few memories."""
        from ragmem.services.processes.worker_pool import cpu_count

        self._home.require()
        return cpu_count() if len(self._home.catalog.memories.ids()) >= LARGE else 1

    def apply(
        self,
        plan: "Plan",
        *,
        caller: str = "gc",
        progress: "Progress | None" = None,
        **options: "Unpack[ApplyOptions]",
    ) -> "Outcome":
        """Carry a plan out; what it does can be undone."""
        from ragmem.services.entities.extraction_texts import forget_unused
        from ragmem.services.lifecycle.apply import apply

        home = self._home
        plan, unanswered = self._ask_model(plan, progress)
        cards, note = self._write_cards(plan, progress)
        done = apply(
            home.catalog,
            home.store,
            plan,
            now=now(),
            policy=home.settings.lifecycle.policy,
            caller=caller,
            cards=cards,
            progress=progress,
            **options,
        )
        forget_unused(home.catalog, home.settings.chunking)
        done.note = done.note or note or unanswered
        return done

    def clusters(self, plan: "Plan", *, most: int | None = None) -> "list[PlanCluster]":
        """Return what a plan hides, by the memory that stays; see `services.lifecycle.plan_clusters`."""
        from ragmem.services.lifecycle.plan_clusters import clusters_of

        return clusters_of(self._home.catalog, plan, most=most)

    def show(self, plan: "Plan", wanted: str) -> "tuple[list[Item], list[PlanCluster]]":
        """Return the decisions and clusters of a plan about a cluster's id, or a memory's short id."""
        from ragmem.services.lifecycle.plan_clusters import show

        return show(self._home.catalog, plan, wanted)

    def _write_cards(self, plan: "Plan", progress: "Progress | None") -> "tuple[Sequence[Card], str]":
        """Return the texts that the language model writes of the plan's clusters, and a note."""
        from ragmem.services.lifecycle.cards import write_cards

        if not plan.cards:
            return (), ""
        writer, fault = self._writer("merge_by")
        if writer is None:
            return (), fault
        sizes = self._home.settings.chunking
        return write_cards(plan.cards, self._home.catalog, writer, sizes=sizes, progress=progress)

    def _ask_model(self, plan: "Plan", progress: "Progress | None") -> "tuple[Plan, str]":
        """Return the plan with what the language model decides where the rules are unsure, and a note."""
        from ragmem.services.lifecycle.model_judge import ask_model

        lifecycle = self._home.settings.lifecycle
        if plan.comparisons is None:
            return plan, ""
        writer, fault = self._writer("judge_by")
        if writer is None:
            return plan, fault
        return ask_model(
            self._home.catalog,
            self._home.store,
            plan,
            writer,
            most=lifecycle.judgements,
            policy=lifecycle.policy,
            known=self._known_answers(),
            progress=progress,
        )

    def _known_answers(self) -> "KnownAnswers":
        from ragmem.services.lifecycle.model_judge import CACHE, KnownAnswers

        model = self._home.settings.language_model
        return KnownAnswers(self._home.settings.places.cache / CACHE, f"{model.backend} {model.model}")

    def _writer(self, setting: str) -> "tuple[Writer | None, str]":
        """Return the language model that a setting of [lifecycle] asks for, or None and why there is none."""
        from ragmem.services.lifecycle.cards import Writer

        try:
            model = self._home.models.language_model
        except BackendError as error:
            return None, error.full_message
        if model is None:
            return None, f'lifecycle.{setting} is "llm", and no model is set in [language_model]'
        return Writer(model, self._home.settings.language_model.backend, self._home.meter), ""

    def run_idle(self, *, budget_s: float, progress: "Progress | None" = None) -> "IdleGcResult | None":
        """Run gc as the idle warm process does, for about `budget_s` seconds.

        It connects memories. It changes them only if `lifecycle.automatic` is on now, and never removes more
        than a third of them. A language model is left to `ragmem gc`, because it may cost money.
        Returns None and does nothing if the latest run was undone: only a person may repeat it.
        """
        from ragmem.services.lifecycle.idle_gc import run_idle_gc

        latest = self._home.catalog.gc_runs.latest(1)
        if latest and latest[0].undone is not None:
            return None
        return run_idle_gc(
            may_change=self._home.reload_settings().lifecycle.automatic,
            connect=lambda: self._connect(budget_s / 2, progress),
            plan=lambda: replace(
                self.plan(budget_s=budget_s / 2, progress=progress), cards=(), comparisons=None
            ),
            apply=lambda plan: self.apply(plan, caller="idle", budget_s=budget_s / 2, progress=progress),
        )

    def _connect(self, budget_s: float, progress: "Progress | None") -> "ConnectionReport | None":
        """Connect memories for `budget_s` seconds at most; return None if no model is available."""
        from ragmem.services.connections.connect import connect

        self._drain()
        try:
            return connect(
                self._home.catalog, self._home.store, now=now(), budget_s=budget_s, progress=progress
            )
        except BackendError:
            return None

    def undo(self, run: str = "", *, workers: int = 1) -> "UndoResult":
        """Undo a run of gc, by default the latest; `workers` as for `apply`."""
        from ragmem.services.lifecycle.undo import undo

        home = self._home
        home.require()
        return undo(
            home.catalog,
            home.store,
            sizes=home.settings.chunking,
            policy=home.settings.lifecycle.policy,
            run=run,
            now=now(),
            workers=workers,
        )

    def restore(self, prefix: str) -> "tuple[ArchiveEntry, str]":
        """Restore one memory from the archive; see `services.lifecycle.undo.restore`."""
        from ragmem.services.lifecycle.undo import restore

        home = self._home
        home.require()
        return restore(home.catalog, home.store, prefix, sizes=home.settings.chunking, now=now())

    def plan_purge(self) -> "Purge":
        """Return what `purge` would delete."""
        from ragmem.services.lifecycle.purge import plan_purge

        self._home.require()
        return plan_purge(self._home.catalog, now=now(), keep=self._archive_age())

    def purge(self) -> "Purge":
        """Permanently delete the memories that are in the archive for longer than [archive] keep_days."""
        from ragmem.services.lifecycle.purge import purge

        home = self._home
        home.require()
        home.forget_texts()
        return purge(home.catalog, now=now(), keep=self._archive_age(), sizes=home.settings.chunking)

    def prune_shared(self) -> list[str]:
        """Drop commits that members have rewritten from the repositories of `share`; return the problems."""
        from ragmem.services.sharing.sync import prune

        return prune(self._home.settings.places.data)

    def history(self, limit: int | None = None) -> "list[GcRun]":
        """Return the runs of gc, latest first."""
        self._home.require()
        return self._home.catalog.gc_runs.latest(limit)

    def _archive_age(self) -> timedelta:
        return timedelta(days=self._home.settings.archive.keep_days)

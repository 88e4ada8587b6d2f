"""Figures of a memory: statistics, plots, latency, lifecycle, and the report."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ragmem.api.home import Home, now

if TYPE_CHECKING:
    from ragmem.charts.model import Plot
    from ragmem.services.reporting.context import ReportContext
    from ragmem.services.reporting.latency import Latency
    from ragmem.services.reporting.lifecycle_report import LifecycleReport
    from ragmem.services.reporting.report import Report
    from ragmem.services.retrieval.query import Answer, Question

# Services are imported inside functions: the statistics must not pay for the imports of plots.


class Extent(TypedDict, total=False):
    """Options of plots and reports: projects (None: all), `private` hides names and titles, `at` a moment."""

    projects: Sequence[str] | None
    private: bool
    latency: "Latency | None"
    at: datetime | None


class Reports:
    """Statistics, plots and the report."""

    def __init__(self, home: Home, ask: "Callable[[Question], Answer]") -> None:
        self._home = home
        self._ask = ask

    def statistics(self) -> dict[str, Any]:
        """Return the counts of `services.reporting.statistics`."""
        from ragmem.services.reporting.statistics import statistics

        self._home.require()
        return statistics(self._home.catalog, self._home.store, self._home.settings)

    def lifecycle(
        self, projects: Sequence[str] | None = None, *, limit: int = 10, members: int | None = None
    ) -> "LifecycleReport":
        """Return the lifecycle figures of these projects (None: of all).

        See `services.reporting.lifecycle_report`.
        """
        from ragmem.services.reporting.lifecycle_report import lifecycle_report

        home = self._home
        home.require()
        return lifecycle_report(
            home.catalog,
            home.store,
            policy=home.settings.lifecycle.policy,
            projects=projects,
            limit=limit,
            members=members,
            automatic=home.reload_settings().lifecycle.automatic,
        )

    def latency(self, *, projects: Sequence[str] | None = None, questions: int = 100) -> "Latency":
        """Query with stored titles, and return the durations in seconds; counts no recall."""
        from ragmem.services.reporting.latency import measure_latency
        from ragmem.services.retrieval.query import Question
        from ragmem.storage.memories.report_queries import Figures

        self._home.require()
        titles = Figures(self._home.catalog.database, projects).titles(questions + 1)
        chosen = None if projects is None else tuple(projects)
        limit = self._home.settings.query.limit
        return measure_latency(lambda title: self._ask(Question(title, projects=chosen, limit=limit)), titles)

    def plots(self, names: Sequence[str] = (), **of: "Unpack[Extent]") -> "dict[str, Plot]":
        """Return plots by their names; see `services.reporting.plots`."""
        from ragmem.services.reporting.plots import plots_of

        return plots_of(self._reading(**of), names)

    def build(self, *, where: str, **of: "Unpack[Extent]") -> "Report":
        """Return a report titled with `where`; it is equal for equal store, moment and latency."""
        from ragmem import __version__
        from ragmem.services.reporting.report import report_of

        return report_of(self._reading(**of), where=where, version=__version__)

    def _reading(
        self,
        *,
        projects: Sequence[str] | None = None,
        private: bool = False,
        latency: "Latency | None" = None,
        at: datetime | None = None,
    ) -> "ReportContext":
        from ragmem.services.reporting.context import ReportContext
        from ragmem.services.reporting.latency import latency_plot

        home = self._home
        home.require()
        return ReportContext(
            home.catalog,
            lambda: home.store,
            home.settings.decay,
            home.settings.lifecycle.policy,
            at or now(),
            projects,
            private,
            latency_plot(latency) if latency else None,
        )

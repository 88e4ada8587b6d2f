"""What the plots of a memory are made of, and how names are shown in them."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache

from ragmem.charts.model import Plot
from ragmem.config import shipped
from ragmem.config.places import SOURCES_FILE
from ragmem.domain.model.decay import Decay
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.ports import Store
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.report_queries import Figures

LAYERS = 5
"""Sources that are told apart; the rest are added up."""

LONGEST = 15
"""Bars of a list."""


@cache
def shipped_sources() -> frozenset[str]:
    """Return the names of sources that tell nothing of a person: the shipped ones, and ragmem's own."""
    own = ("records", "ingest", "consolidated", "graph")
    text = shipped(SOURCES_FILE).read_text(encoding="utf-8")
    return frozenset((*tomllib.loads(text)["sources"], *own))


@dataclass(frozen=True, slots=True)
class ReportReader:
    """What plots are made of: of which projects (None: all), as of when, and without names if `private`."""

    catalog: Catalog
    open_store: Callable[[], Store]
    decay: Decay
    lifecycle: LifecyclePolicy
    now: datetime
    projects: Sequence[str] | None = None
    private: bool = False
    latency: Plot | None = None
    """What was measured, if somebody asked for it."""
    figures: Figures = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", Figures(self.catalog.database, self.projects))

    def shown(self, name: str) -> str:
        """Return a name in one line without secrets."""
        line = " ".join(self.catalog.redactor.redact(name)[0].split())
        return "".join(letter if letter.isprintable() else "\ufffd" for letter in line)

    def source_names(self, sources: Sequence[str]) -> dict[str, str]:
        """Return source -> its name, or a number where it may tell something private.

        Of all sources, for else the same number would stand for another source elsewhere in the report.
        """
        hidden = [one for one in sorted(sources) if self.private and one not in shipped_sources()]
        numbers = {one: f"source {number}" for number, one in enumerate(hidden, 1)}
        return {one: numbers.get(one) or self.shown(one) for one in sources}

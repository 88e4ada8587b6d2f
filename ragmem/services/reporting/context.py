"""The data sources of the plots, and the display of names in them."""

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from ragmem.charts.model import Plot
from ragmem.config.places import SOURCES_FILE, find_default
from ragmem.domain.model.decay import Decay
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.ports import Store
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.report_queries import Figures

LAYERS = 5
"""Number of sources that are shown separately; the rest are summed up."""

LONGEST = 15
"""Maximum number of bars in a list."""


@cache
def shipped_sources() -> frozenset[str]:
    """Return the names of sources that reveal nothing private: the shipped ones, and ragmem's own."""
    own = ("records", "ingest", "consolidated", "graph")
    text = find_default(SOURCES_FILE).read_text(encoding="utf-8")
    return frozenset((*tomllib.loads(text)["sources"], *own))


def largest_sources(counts: Mapping[tuple[str, Any], int]) -> list[str]:
    """Return the sources of (source, class) -> count by their totals, largest first."""
    totals = Counter[str]()
    for (source, _), count in counts.items():
        totals[source] += count
    return sorted(totals, key=lambda source: (-totals[source], source))


@dataclass(frozen=True, slots=True)
class ReportContext:
    """The data of the plots: of some projects (None: all), as of a moment, without names if `private`."""

    catalog: Catalog
    open_store: Callable[[], Store]
    decay: Decay
    lifecycle: LifecyclePolicy
    now: datetime
    projects: Sequence[str] | None = None
    private: bool = False
    latency: Plot | None = None
    """The measured latency, if requested."""
    figures: Figures = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", Figures(self.catalog.database, self.projects))

    def redact_line(self, name: str) -> str:
        """Return a name in one line without secrets."""
        line = " ".join(self.catalog.redactor.redact(name)[0].split())
        return "".join(letter if letter.isprintable() else "\ufffd" for letter in line)

    def source_names(self, sources: Sequence[str]) -> dict[str, str]:
        """Return source -> its name, or a number if the name may be private.

        Pass all sources, so that numbers mean the same source everywhere in the report.
        """
        hidden = [one for one in sorted(sources) if self.private and one not in shipped_sources()]
        numbers = {one: f"source {number}" for number, one in enumerate(hidden, 1)}
        return {one: numbers.get(one) or self.redact_line(one) for one in sources}

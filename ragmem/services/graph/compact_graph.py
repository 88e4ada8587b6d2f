"""Compact views of large graphs: read once, cached until a change, and filtered per request."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ragmem.domain.secrets.redaction import Redactor
from ragmem.ports import Store
from ragmem.services.graph.scope import GraphScope
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.idle_mark import signature
from ragmem.storage.names.mentions import Mentions
from ragmem.storage.sql.rows import to_stamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

CACHE_SIZE = 24
"""Maximum cached answers: enough for one page with a few filters."""

_SECOND = 1_000_000
"""Microseconds."""

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class GraphFilter:
    """A filter of the graph: the most connected nodes that match all of it.

    `projects` None and empty `types` mean all. With a time limit, only mentions in memories with events
    within it count.
    """

    projects: tuple[str, ...] | None = None
    types: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 2_000
    edges: int = 20_000
    alone: bool = True


class _ProjectGraph:
    """The graph of one project in parallel columns, which may have a hundred thousand rows each."""

    def __init__(self, scope: GraphScope, project: str) -> None:
        self.names: list[str] = []
        self.types: list[str] = []
        degrees: list[int] = []
        for entity, degree in scope.store.nodes(project, described=False):
            self.names.append(entity.name)
            self.types.append(entity.type)
            degrees.append(degree)
        self.degrees = np.array(degrees, dtype=np.int64)
        places = {name: number for number, name in enumerate(self.names)}
        edges = [
            (places[one.source], places[one.target], one.weight)
            for one in scope.store.edges(project, described=False)
            # Changes between the two reads appear in the next graph.
            if one.source in places and one.target in places and one.source != one.target
        ]
        self.edges = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
        self.weights = np.array([edge[2] for edge in edges], dtype=np.float64)
        spoken = [
            (places[name], stamp)
            for name, stamp in Mentions(scope.catalog.database).of(project)
            if name in places
        ]
        self.mentions = np.array(spoken, dtype=np.int64).reshape(-1, 2)

    def mention_counts(self, since: int | None, until: int | None) -> "_MentionCounts":
        """Return the number of mentions of each node within a time, with the first and the last time."""
        nodes, stamps = self.mentions[:, 0], self.mentions[:, 1]
        for stamp, sign in ((since, np.greater_equal), (until, np.less)):
            if stamp is not None:
                within = sign(stamps, stamp)
                nodes, stamps = nodes[within], stamps[within]
        count = len(self.names)
        first, last = np.full(count, _NEVER), np.full(count, -_NEVER)
        np.minimum.at(first, nodes, stamps)
        np.maximum.at(last, nodes, stamps)
        return _MentionCounts(np.bincount(nodes, minlength=count), first, last)


class _MentionCounts(NamedTuple):
    """For each node: how many memories mention it, and the times of the first and last event."""

    memories: "NDArray[np.int64]"
    first: "NDArray[np.int64]"
    last: "NDArray[np.int64]"


class CompactGraphs:
    """The compact graphs of one home; thread-safe, with one reader at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._mark = ""
        self._wholes: dict[str, _ProjectGraph] = {}
        self._answers: OrderedDict[GraphFilter, dict[str, Any]] = OrderedDict()

    def mark(self, catalog: Catalog) -> str:
        """Return a token that differs after a change of the graph."""
        return f"{signature(catalog.database)}/{Mentions(catalog.database).mark()}"

    def graph(self, catalog: Catalog, store: Store, cut: GraphFilter) -> dict[str, Any]:
        """Return a part of the graph as JSON fields; the result is the same until a change.

        Nodes are sorted by degree, then name; edges by weight, then nodes.
        """
        with self._guard:
            mark = self.mark(catalog)
            if mark != self._mark:
                self._wholes, self._mark = {}, mark
                self._answers.clear()
            if cut not in self._answers:
                self._answers[cut] = self._build(catalog, store, cut)
                while len(self._answers) > CACHE_SIZE:
                    self._answers.popitem(last=False)
            self._answers.move_to_end(cut)
            return self._answers[cut]

    def _build(self, catalog: Catalog, store: Store, cut: GraphFilter) -> dict[str, Any]:
        scope = GraphScope(catalog, store, cut.projects)
        projects = sorted(scope.projects)
        for project in projects:
            if project not in self._wholes:
                self._wholes[project] = _ProjectGraph(scope, project)
        return _filter_graph(
            [self._wholes[one] for one in projects], projects, cut, redactor=catalog.redactor
        )


def _filter_graph(
    wholes: Sequence[_ProjectGraph], projects: Sequence[str], cut: GraphFilter, redactor: Redactor
) -> dict[str, Any]:
    since = None if cut.since is None else to_stamp(cut.since)
    until = None if cut.until is None else to_stamp(cut.until)
    spoken = [whole.mention_counts(since, until) for whole in wholes]
    types: Counter[str] = Counter()
    through: list[tuple[int, str, int, int]] = []
    for place, (whole, counts) in enumerate(zip(wholes, spoken, strict=True)):
        wanted = np.ones(len(whole.names), dtype=bool)
        if since is not None or until is not None:
            wanted &= counts.memories > 0
        if not cut.alone:
            wanted &= whole.degrees > 0
        for number in np.flatnonzero(wanted).tolist():
            kind = whole.types[number]
            types[kind] += 1
            if not cut.types or kind in cut.types:
                through.append((-int(whole.degrees[number]), whole.names[number], place, number))
    through.sort()
    shown = through[: cut.limit]
    total, edges = _edges(wholes, through, len(shown))
    # If not all fit, the heaviest are the most informative.
    edges.sort(key=lambda edge: (-edge[2], edge[0], edge[1]))
    names: list[str] = redactor.redact_document([name for _, name, _, _ in shown])
    return {
        "projects": list(projects),
        "types": dict(sorted(types.items(), key=lambda one: (-one[1], one[0]))),
        "nodes": [
            _node(name, wholes[place], spoken[place], number, place)
            for name, (_, _, place, number) in zip(names, shown, strict=True)
        ],
        "edges": edges[: cut.edges],
        "total_nodes": len(through),
        "total_edges": total,
        "is_truncated": len(shown) < len(through) or len(edges) > cut.edges,
    }


def _edges(
    wholes: Sequence[_ProjectGraph], through: Sequence[tuple[int, str, int, int]], shown: int
) -> tuple[int, list[tuple[int, int, float]]]:
    """Return the number of relations between the selected nodes, and the first ones."""
    total, found = 0, list[tuple[int, int, float]]()
    for place, whole in enumerate(wholes):
        at = np.full(len(whole.names), -1, dtype=np.int64)
        here = [(number, rank) for rank, (_, _, other, number) in enumerate(through) if other == place]
        if not here:
            continue
        ranks = np.array(here, dtype=np.int64)
        at[ranks[:, 0]] = ranks[:, 1]
        ends = at[whole.edges]
        total += int((ends >= 0).all(axis=1).sum())
        among = ((ends >= 0) & (ends < shown)).all(axis=1)
        pairs = np.sort(ends[among], axis=1).tolist()
        weights = np.round(whole.weights[among], 3).tolist()
        found += [(first, second, weight) for (first, second), weight in zip(pairs, weights, strict=True)]
    return total, found


def _node(name: str, whole: _ProjectGraph, spoken: _MentionCounts, number: int, place: int) -> dict[str, Any]:
    memories = int(spoken.memories[number])
    return {
        "name": name,
        "type": whole.types[number],
        "degree": int(whole.degrees[number]),
        "memories": memories,
        "project": place,
        "first": int(spoken.first[number]) // _SECOND if memories else None,
        "last": int(spoken.last[number]) // _SECOND if memories else None,
    }

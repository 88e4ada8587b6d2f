"""Connects memories with those of their project that are about the same thing.

Each memory is one vector, the middle of those of its chunks: most have one or two, and the middle of a long
text is near what the whole of it is about, not near everything that one of its paragraphs touches. The
nearest by vectors, and those that share a rare name, are candidates; what the words of both say beside
(`Relatedness`) decides, and the strongest are kept.
"""

import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.connections import Edge, KeptScale, Member
from ragmem.domain.connections import (
    CONNECTED,
    FEWEST,
    Scale,
    is_due,
    known_scale,
    scale_from,
)
from ragmem.domain.lifecycle import LifecyclePolicy
from ragmem.domain.relatedness import Relatedness, strength
from ragmem.ports import ShowsVectors, Store
from ragmem.services.progress import Progress, Silent

if TYPE_CHECKING:
    from ragmem.services.neighbour_search import Near, Space

MOST = 12
"""Connections that a memory keeps of its own; it may have more that are among the strongest of others."""

CANDIDATES = 24
"""Nearest by vectors that are judged."""

LOWEST = 0.3
"""Place on the scale below which a cosine makes no candidate."""

RARE = 6
"""Memories of a project that mention a name at most, for it to make candidates of them."""

AT_ONCE = 2000
"""Memories whose connections are written in one transaction: some tenths of a second."""

SAMPLED = 600
"""Memories of a project by which the scale is measured at most, and memories of all projects together."""

PROJECTS = 20
"""Projects, the largest, by which the scale is measured."""


@dataclass(frozen=True, slots=True)
class Connected:
    """What was done: memories compared, connections written, and memories that still wait.

    `scale` is None where nothing can be judged yet, then `note` says why. A memory that waits was not
    compared with all others: that it has no connection says nothing.
    """

    new: int = 0
    connections: int = 0
    waiting: int = 0
    note: str = ""
    scale: KeptScale | None = None


def connect(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    policy: LifecyclePolicy,
    budget_s: float | None = None,
    progress: Progress | None = None,
) -> Connected:
    """Compare the memories that were not compared yet with all others of their project.

    Some thousand are written at a time: to stop in between, by the budget or a kill, is to go on later. A
    changed text is compared anew, and what was connected to the former one no longer is. Raises BackendError
    where the model that answers cannot be had.
    """
    if not isinstance(store, ShowsVectors):
        return Connected(note="this store does not show its vectors: nothing is connected")
    model = store.answering_model()
    waiting = catalog.connections.waiting(model)
    scale = current_scale(catalog, store, now=now)
    if scale is None:
        note = f'nothing is known of the cosines of "{model}" below {FEWEST} memories: nothing is connected'
        return Connected(waiting=sum(waiting.values()), note=note)
    waiting = catalog.connections.waiting(model)
    left = sum(waiting.values())
    told = progress or Silent()
    told.begin("connecting", left)
    until = None if budget_s is None else time.monotonic() + budget_s
    done = written = 0
    for project in waiting:
        work = _Project(catalog, store, project, scale.scale, policy)
        for compared, edges in work.batches():
            done += compared
            written += edges
            told.advance(compared)
            if until is not None and time.monotonic() > until:
                return Connected(done, written, left - done, "the time was used up", scale)
    return Connected(done, written, left - done, scale=scale)


def nearest(catalog: Catalog, store: Store, ids: Iterable[str]) -> dict[str, float]:
    """Return the strength of each memory's strongest link, by comparing it with all of its project.

    0 where it has none. A memory of which nothing can be said (it has no vector, or there is no scale) is
    absent: then it must not count as alone.
    """
    if not isinstance(store, ShowsVectors):
        return {}
    kept = catalog.connections.scale(store.answering_model())
    if kept is None:
        return {}
    found: dict[str, float] = {}
    by_project: dict[str, list[str]] = {}
    for key, memory in catalog.memories.outlines(ids).items():
        by_project.setdefault(memory.project, []).append(key)
    for project, wanted in sorted(by_project.items()):
        found |= _Project(catalog, store, project, kept.scale, LifecyclePolicy()).strongest(wanted)
    return found


def current_scale(catalog: Catalog, store: Store, *, now: datetime) -> KeptScale | None:
    """Return the scale of the model that answers, measured where that is due; None where there is none yet.

    Where it has changed, all memories count as not compared, so that one scale judges all.
    """
    if not isinstance(store, ShowsVectors):
        return None
    model = store.answering_model()
    sizes = catalog.connections.sizes()
    memories = sum(sizes.values())
    kept = catalog.connections.scale(model)
    if kept is not None and not is_due(kept.scale, memories):
        return kept
    random, near = _sampled(catalog, store, sizes)
    scale = scale_from(random, near, memories=memories, known=known_scale(model))
    if scale is None:
        return kept
    anew = kept is not None and kept.scale.differs(scale)
    if kept is not None and not anew:
        # What was judged stays as it was judged; only when it was looked at is new.
        scale = replace(kept.scale, memories=memories)
    catalog.connections.keep_scale(model, scale, now=now, anew=anew)
    return KeptScale(scale, now)


def _sampled(
    catalog: Catalog, store: ShowsVectors, sizes: Mapping[str, int]
) -> tuple[list[float], list[float]]:
    """Return cosines of random pairs of one project, and of memories with their nearest."""
    import numpy as np  # noqa: PLC0415 - most commands compare nothing

    largest = sorted(sizes, key=lambda project: (-sizes[project], project))[:PROJECTS]
    total = sum(sizes[project] for project in largest)
    random: list[float] = []
    near: list[float] = []
    for project in largest:
        ids = catalog.connections.sample(project, SAMPLED)
        space = _space(store, project, dict.fromkeys(ids, ""), ids)
        count = len(space[0])
        if count < 2:
            continue
        matrix = space[1].matrix
        share = max(1, round(SAMPLED * sizes[project] / total))
        products = matrix @ matrix.T
        pairs = products[np.triu_indices(count, 1)]
        # Evenly spaced ones of all, so that each project weighs by its size.
        wanted = min(len(pairs), share * 10)
        random += pairs[np.linspace(0, len(pairs) - 1, wanted).astype(np.intp)].tolist()
        np.fill_diagonal(products, -1.0)
        near += products[: min(share, count)].max(axis=1).tolist()
    return random, near


def _space(
    store: ShowsVectors, project: str, specs: Mapping[str, str], memory_ids: Sequence[str] | None
) -> "tuple[list[str], Space]":
    """Return the memories of `specs` (id -> spec) that have vectors, and these in the same order."""
    import numpy as np  # noqa: PLC0415

    from ragmem.services.neighbour_search import Space  # noqa: PLC0415

    places: dict[str, int] = {}
    sums = np.empty((0, 0), np.float32)
    for block in store.vector_blocks(project, memory_ids=memory_ids):
        rows = [n for n, key in enumerate(block.memory_ids) if key in specs]
        found = [places.setdefault(block.memory_ids[n], len(places)) for n in rows]
        if not len(sums):
            sums = np.zeros((len(specs), block.vectors.shape[1]), np.float32)
        np.add.at(sums, found, block.vectors[rows])
    matrix = sums[: len(places)]
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), np.float32(1e-12))
    numbers = {"": 0}
    codes = [numbers.setdefault(specs[key], len(numbers)) for key in places]
    return list(places), Space(matrix, np.array(codes, np.int32))


class _Project:
    """The comparison of the memories of one project."""

    def __init__(
        self, catalog: Catalog, store: ShowsVectors, project: str, scale: Scale, policy: LifecyclePolicy
    ) -> None:
        self._connections = catalog.connections
        self._model = store.answering_model()
        self._scale = scale
        known = {one.id: one for one in catalog.connections.members(project, self._model)}
        ids, self._vectors = _space(store, project, {key: one.spec for key, one in known.items()}, None)
        self._members: list[Member] = [known[key] for key in ids]
        self._compared = {one.number for one in self._members if one.compared}
        self._places = {one.number: place for place, one in enumerate(self._members)}
        self._names = catalog.connections.names(project)
        self._sharing = _sharing(self._names, self._places)
        named = {one.id: self._names.get(one.number, frozenset()) for one in self._members}
        entries = catalog.lives.entries([project], policy=policy)
        self._relatedness = Relatedness(entries, names=named)

    def batches(self) -> Iterator[tuple[int, int]]:
        """Compare what was not, and write it; yield how many memories and connections after each write."""
        fresh = [place for place, one in enumerate(self._members) if not one.compared]
        done: set[int] = set()
        for near in self._search(fresh):
            asked = [self._members[place] for place in near.asked.tolist()]
            done.update(one.number for one in asked)
            yield len(asked), self._write(asked, self._judged(near), done)

    def strongest(self, ids: Sequence[str]) -> dict[str, float]:
        """Return the strength of the strongest link of these memories, of those that have vectors."""
        wanted = set(ids)
        asked = [place for place, one in enumerate(self._members) if one.id in wanted]
        found = {self._members[place].id: 0.0 for place in asked}
        for near in self._search(asked):
            for edge in self._judged(near).values():
                for number in (edge.low, edge.high):
                    key = self._members[self._places[number]].id
                    if key in found:
                        found[key] = max(found[key], edge.strength)
        return found

    def _search(self, asked: Sequence[int]) -> "Iterator[Near]":
        import numpy as np  # noqa: PLC0415

        from ragmem.services.neighbour_search import search  # noqa: PLC0415

        bar = self._scale.cosine(LOWEST)
        rows = np.array(asked, np.intp)
        return search(self._vectors, rows, count=CANDIDATES, bar=bar, at_once=AT_ONCE)

    def _judged(self, near: "Near") -> dict[tuple[int, int], Edge]:
        """Return the connections among the candidates of some memories."""
        pairs = {
            (min(one, other), max(one, other)): cosine
            for one, other, cosine in zip(
                near.rows.tolist(), near.columns.tolist(), near.cosines.tolist(), strict=True
            )
        }
        matrix, specs = self._vectors.matrix, self._vectors.specs
        for place in near.asked.tolist():
            for other in self._sharing.get(place, ()):
                if not (specs[place] and specs[other] and specs[place] != specs[other]):
                    pair = (min(place, other), max(place, other))
                    pairs.setdefault(pair, float(matrix[place] @ matrix[other]))
        found: dict[tuple[int, int], Edge] = {}
        for (one, other), cosine in pairs.items():
            first, second = self._members[one], self._members[other]
            shared = self._relatedness.shared(first.id, second.id)
            strong = strength(self._scale.scaled(cosine), shared)
            if strong >= CONNECTED:
                low, high = sorted((first.number, second.number))
                found[low, high] = Edge(low, high, round(cosine, 4), round(shared, 4), round(strong, 4))
        return found

    def _write(
        self, asked: Sequence[Member], edges: Mapping[tuple[int, int], Edge], done: Collection[int]
    ) -> int:
        """Write what some memories are connected with; return how many connections.

        `done` are all that were compared in this run: they have seen these already.
        """
        new = {one.number for one in asked}
        stale = [
            (edge.low, edge.high)
            for edge in self._connections.edges(one.number for one in asked if one.before)
            if edge.low not in done or edge.high not in done or new >= {edge.low, edge.high}
        ]
        # Among the strongest of those that were compared before there may be new ones, which push others out.
        touched = {number for pair in edges for number in pair} & self._compared
        former = {
            (one.low, one.high): one
            for one in self._connections.edges(touched)
            if one.low not in new and one.high not in new
        }
        strongest = _strongest({**former, **edges})
        kept = [
            edge
            for pair, edge in edges.items()
            if any(pair in strongest[number] for number in pair if number in new or number in touched)
        ]
        fallen = {pair for pair in former if not any(pair in strongest[number] for number in pair)}
        others = {number for pair in fallen for number in pair} - touched
        if others:
            held = _strongest({(one.low, one.high): one for one in self._connections.edges(others)})
            fallen -= {pair for number in others for pair in held[number]}
        self._connections.write(
            kept,
            compared={one.number: one.content_hash for one in asked},
            model=self._model,
            without=[*stale, *fallen],
        )
        return len(kept)


def _strongest(edges: Mapping[tuple[int, int], Edge]) -> dict[int, set[tuple[int, int]]]:
    """Return for each memory its strongest connections, of equal ones those with the nearer vectors."""
    found: dict[int, list[Edge]] = {}
    for edge in edges.values():
        for number in (edge.low, edge.high):
            found.setdefault(number, []).append(edge)
    return {
        number: {
            (one.low, one.high)
            for one in sorted(every, key=lambda one: (-one.strength, -one.cosine, one.low, one.high))[:MOST]
        }
        for number, every in found.items()
    }


def _sharing(names: Mapping[int, frozenset[str]], places: Mapping[int, int]) -> dict[int, set[int]]:
    """Return place -> places of the memories with which it shares a rare name."""
    naming: dict[str, list[int]] = {}
    for number, found in names.items():
        if number in places:
            for name in found:
                naming.setdefault(name, []).append(places[number])
    sharing: dict[int, set[int]] = {}
    for every in naming.values():
        if len(every) <= RARE:
            for one, other in itertools.permutations(every, 2):
                sharing.setdefault(one, set()).add(other)
    return sharing

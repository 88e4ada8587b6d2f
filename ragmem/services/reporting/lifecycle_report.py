"""How the memories live: their states, what connects them, what went and why, and what may go next."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ragmem.domain.classification.substance import substance
from ragmem.domain.lifecycle.ageing import age
from ragmem.domain.lifecycle.connections import CONNECTED, Scale, known_scale
from ragmem.domain.lifecycle.near_copies import near_copies
from ragmem.domain.model import State
from ragmem.domain.model.lifecycle import Decision, Entry, EntryType, LifecyclePolicy, LifecycleState
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.lifecycle.items import TEMPLATE
from ragmem.services.vectors.memory_vectors import sampled_cosines
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.gc_runs import GcRun
from ragmem.storage.lifecycle.idle_mark import Mark, mark_of
from ragmem.storage.lifecycle.lifecycle_counts import ArchivedCount, archived_counts, merged_counts

CLASSES = 24
"""Classes of a histogram."""

LOWEST = -0.2
"""Cosine at which a histogram begins; what is below counts as this."""

TITLE = 80
"""Characters of a text that stand for a title where there is none."""

READ = 400
"""Characters of a text that are looked at for that: a secret that is cut short is not known for one."""

MERGED = "cluster"
"""The rule of archived memories whose text lives on in a merged one."""

EXPIRED = ("no-substance", "bad-feedback", TEMPLATE)
"""The rules of archived memories whose life came to its end; what people removed is not among them."""

AGEING = frozenset({"young", "reprieved", "substance", *EXPIRED, "diamond"})
"""The rules of isolated memories that nothing protects."""


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that say the same: those that are to become one, or the originals of a merged one."""

    size: int
    id: str
    title: str
    project: str
    merged: bool


@dataclass(frozen=True, slots=True)
class Loner:
    """An isolated memory, how many newer ones there are until it is looked at (0: now), and its substance."""

    id: str
    title: str
    project: str
    action: str
    newer: int
    left: int
    reprieves: int
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Similarity:
    """What cosines are worth here; counts of random pairs and of nearest ones from LOWEST to 1."""

    model: str
    scale: Scale
    measured: datetime | None
    random: tuple[int, ...] = ()
    nearest: tuple[int, ...] = ()

    @property
    def threshold(self) -> float:
        """The cosine half way from unrelated to related: from here few shared words connect two memories."""
        return self.scale.cosine(CONNECTED)


@dataclass(frozen=True, slots=True)
class LifecycleReport:
    """All that `inspect lifecycle` tells of some projects (None: of all).

    `states` counts each memory once: superseded or waiting for vectors before what its life is. `promoted`
    are those that left the buffer and live on, originals of merged ones included, and `expired` those whose
    life came to its end. `types` is type -> (all, those that never expire). Where a project has memories that
    are not compared, nobody knows who is alone in it, and its `loners` are left out. `tended` is what came of
    the last time that gc was to run by itself, and `automatic` tells whether it may.
    """

    projects: Sequence[str] | None
    memories: int
    states: Mapping[str, int]
    types: Mapping[str, tuple[int, int]]
    pinned: int
    connections: int
    connected: int
    uncompared: int
    promoted: int
    expired: int
    expiries: Sequence[ArchivedCount]
    groups: Sequence[Group]
    loners: Sequence[Loner]
    at_risk: int
    similarity: Similarity | None
    runs: Sequence[GcRun] = field(default_factory=tuple)
    tended: Mark | None = None
    automatic: bool = False

    @property
    def density(self) -> float:
        """The share of the memories that are connected with another one."""
        return self.connected / self.memories if self.memories else 0.0

    @property
    def promotion_rate(self) -> float | None:
        """The share that was promoted of what left the buffer; None while nothing has."""
        left = self.promoted + self.expired
        return self.promoted / left if left else None


def lifecycle_report(
    catalog: Catalog,
    store: Store,
    *,
    policy: LifecyclePolicy,
    projects: Sequence[str] | None,
    limit: int,
    automatic: bool = False,
) -> LifecycleReport:
    """Return how the memories of these projects live; lists have `limit` lines at most. Changes nothing."""
    entries = catalog.lives.entries(projects, policy=policy)
    connections = catalog.connections.of(projects)
    degree = Counter(end for one in connections for end in (one.first, one.second))
    expiries = archived_counts(catalog.database, projects)
    by_rule = {one.rule: one.memories for one in expiries}
    # What replaces another memory is not alone, wherever the two stand.
    replacing = Counter(entry.superseded_by for entry in entries if entry.superseded_by)
    similarity, waiting = _compared(catalog, store, projects)
    lonely = [
        one
        for one in _lonely(entries, degree + replacing, policy, catalog.archive.successors(TEMPLATE))
        if waiting is not None
        and one[1].scope.project not in waiting
        and one[1].memory.state is not State.PENDING
    ]
    return LifecycleReport(
        projects=projects,
        memories=len(entries),
        states=_states(entries, sum(by_rule.values())),
        types=_types(entries),
        pinned=sum(entry.pinned for entry in entries),
        connections=len(connections),
        connected=sum(entry.id in degree for entry in entries),
        uncompared=sum((waiting or {}).values()),
        promoted=sum(map(_promoted, entries)) + by_rule.get(MERGED, 0),
        expired=sum(by_rule.get(rule, 0) for rule in EXPIRED),
        expiries=expiries,
        groups=_groups(catalog, entries, policy, limit),
        loners=[_loner(*one, redactor=catalog.redactor) for one in lonely[:limit]],
        at_risk=sum(decision.action == "archive" for _, _, decision in lonely),
        similarity=similarity,
        runs=catalog.gc_runs.latest(limit),
        tended=mark_of(catalog.database),
        automatic=automatic,
    )


def _states(entries: Sequence[Entry], archived: int) -> dict[str, int]:
    counts = Counter(
        "superseded"
        if entry.superseded_by
        else "waiting"
        if entry.memory.state is State.PENDING
        else entry.life.value
        for entry in entries
    )
    order = (*(life.value for life in LifecycleState), "superseded", "waiting")
    return {name: counts[name] for name in order} | {"archived": archived}


def _types(entries: Sequence[Entry]) -> dict[str, tuple[int, int]]:
    every = Counter(entry.type for entry in entries)
    safe = Counter(entry.type for entry in entries if entry.protected)
    return {kind.value: (every[kind], safe[kind]) for kind in EntryType if every[kind]}


def _promoted(entry: Entry) -> bool:
    """Tell whether it left the buffer because it was recalled, or is a diamond; what was merged is not it."""
    lasting = entry.life is not LifecycleState.BUFFER
    return lasting and not (entry.curated or entry.pinned or "merged" in entry.memory.metadata)


def _groups(catalog: Catalog, entries: Sequence[Entry], policy: LifecyclePolicy, limit: int) -> list[Group]:
    """Return the largest groups: those that gc would merge, and those that it did."""
    free = [entry for entry in entries if entry.memory.state is State.INDEXED]
    found = [
        Group(
            len(members),
            members[0].id,
            _title(members[0].memory.title, members[0].text, redactor=catalog.redactor),
            members[0].scope.project,
            merged=False,
        )
        for members in near_copies(free, minimum=policy.min_cluster)
    ]
    found += [
        Group(one.originals, one.id, _title(one.title, redactor=catalog.redactor), one.project, merged=True)
        for one in merged_counts(catalog.database, _projects(entries), limit=limit)
    ]
    return sorted(found, key=lambda group: (-group.size, group.id))[:limit]


def _projects(entries: Sequence[Entry]) -> list[str]:
    return sorted({entry.scope.project for entry in entries})


def _lonely(
    entries: Sequence[Entry],
    degree: Mapping[str, int],
    policy: LifecyclePolicy,
    last_copies: Collection[str],
) -> list[tuple[int, Entry, Decision]]:
    """Return the isolated memories that may end, with how many newer ones there are until they are looked at.

    Those that gc would archive come first, then those that are next.
    """
    found = []
    for entry, decision in zip(entries, age(entries, degree, policy, last_copies=last_copies), strict=True):
        if entry.id not in degree and decision.rule in AGEING:
            due = policy.age_after + (entry.checked_age if entry.reprieves else 0)
            found.append((max(0, due - decision.age), entry, decision))
    return sorted(found, key=lambda one: (one[2].action != "archive", one[0], -one[2].age, one[1].id))


def _loner(left: int, entry: Entry, decision: Decision, redactor: Redactor) -> Loner:
    told = substance(entry)
    return Loner(
        entry.id,
        _title(entry.memory.title, entry.text, redactor=redactor),
        entry.scope.project,
        decision.action,
        decision.age,
        left,
        entry.reprieves,
        told.score,
        told.reasons,
    )


def _title(title: str, text: str = "", *, redactor: Redactor) -> str:
    """Return what people know a memory by, in one line and without secrets: not all have a title."""
    shown = " ".join(redactor.redact(title or text[:READ])[0].split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in shown)[
        : None if title else TITLE
    ]


def _compared(
    catalog: Catalog, store: Store, projects: Sequence[str] | None
) -> tuple[Similarity | None, Mapping[str, int] | None]:
    """Return what cosines are worth here, and project -> memories that are not compared yet.

    None and None where no vectors or no model can be had: then nothing is known of either.
    """
    try:
        model = store.answering_model()
        kept = catalog.connections.scale(model)
        scale = kept.scale if kept else known_scale(model)
        waiting = {
            project: count
            for project, count in catalog.connections.waiting(model).items()
            if count and (projects is None or project in projects)
        }
        if scale is None:
            return None, waiting
        random, nearest = sampled_cosines(catalog, store, projects)
    except BackendError:
        return None, None
    measured = kept.measured_at if kept else None
    return Similarity(model, scale, measured, _classes(random), _classes(nearest)), waiting


def _classes(cosines: Sequence[float]) -> tuple[int, ...]:
    counts = [0] * CLASSES
    for cosine in cosines:
        place = int((cosine - LOWEST) / (1.0 - LOWEST) * CLASSES)
        counts[max(0, min(CLASSES - 1, place))] += 1
    return tuple(counts)

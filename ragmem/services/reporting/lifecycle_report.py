"""The lifecycle report: states, connections, archived memories with reasons, and those that may be next."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from ragmem.domain.classification.judge import judge
from ragmem.domain.lifecycle.ageing import COLD, age
from ragmem.domain.lifecycle.connections import CONNECTED, Scale, known_scale, star_clusters
from ragmem.domain.lifecycle.folds import age_order
from ragmem.domain.model import State
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import (
    Connection,
    Decision,
    Entry,
    EntryType,
    LifecyclePolicy,
    LifecycleState,
)
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.identifiers import identifiers
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.lifecycle.items import CARD, FOLDED
from ragmem.services.vectors.memory_vectors import sample_cosines
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import ArchivedCount, archived_counts
from ragmem.storage.lifecycle.gc_runs import GcRun
from ragmem.storage.lifecycle.idle_mark import Mark, mark_of

CLASSES = 24
"""Number of classes of a histogram."""

LOWEST = -0.2
"""Cosine at which a histogram begins; lower ones count as this."""

TITLE = 80
"""Number of characters of a text that replace a missing title."""

READ = 400
"""Number of characters that are redacted for that: a truncated secret is not recognized."""

MOST_NAMES = 6
"""Number of names that a cluster is told by."""

EXPIRED = (COLD, "bad-feedback", "no-substance")
"""The rules of archived memories that expired, the last in earlier releases; people did not remove them."""

AGEING = frozenset({"young", "reprieved", "alone", *EXPIRED, "diamond"})
"""The rules of isolated memories that nothing protects."""


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A memory of a cluster, as people see it."""

    id: str
    at: datetime
    title: str


@dataclass(frozen=True, slots=True)
class Group:
    """A card of connected memories: the id and title of their centre, their common names, and all by date.

    Of `size` memories, `members` may be the oldest only. It is computed when somebody asks, and it is not
    stored anywhere. `merged` tells whether a language model wrote a text of them.
    """

    size: int
    id: str
    title: str
    project: str
    merged: bool
    names: tuple[str, ...] = ()
    members: tuple[ClusterMember, ...] = ()


@dataclass(frozen=True, slots=True)
class Loner:
    """An isolated memory; after `left` newer memories it is decided on (0: now).

    `score` is the probability that it is worthless, and `reasons` are the inputs that moved it most.
    """

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
    """The scale of cosines here, and histograms of random pairs and of nearest ones from LOWEST to 1."""

    model: str
    scale: Scale
    measured: datetime | None
    random: tuple[int, ...] = ()
    nearest: tuple[int, ...] = ()

    @property
    def threshold(self) -> float:
        """The cosine half way from unrelated to related: from here, few shared words connect two memories."""
        return self.scale.cosine(CONNECTED)


@dataclass(frozen=True, slots=True)
class LifecycleReport:
    """The report of `inspect lifecycle` on some projects (None: all).

    `states` counts each memory once; superseded and waiting come before the state of its life. `promoted`
    are confirmed by people or by recalls; `expired` ones are archived for being alone. `types`
    is type -> (all, those that never expire). A project with memories that are not compared yet has no
    `loners`. `tended` is the result of the last idle gc, and `automatic` tells whether idle gc is on.
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
        """The share of the memories with a connection."""
        return self.connected / self.memories if self.memories else 0.0

    @property
    def promotion_rate(self) -> float | None:
        """The share of promoted memories among the promoted and the expired; None if there are none."""
        left = self.promoted + self.expired
        return self.promoted / left if left else None


def lifecycle_report(
    catalog: Catalog,
    store: Store,
    *,
    policy: LifecyclePolicy,
    projects: Sequence[str] | None,
    limit: int,
    members: int | None = None,
    automatic: bool = False,
) -> LifecycleReport:
    """Return the lifecycle report of these projects; lists have at most `limit` lines. Changes nothing.

    Groups list at most so many `members` (None: all), because the title of each is searched for secrets.
    """
    entries = catalog.lives.entries(projects, policy=policy)
    connections = catalog.connections.of(projects)
    degree = Counter(end for one in connections for end in (one.first, one.second))
    expiries = archived_counts(catalog.database, projects)
    by_rule = {one.rule: one.memories for one in expiries}
    # A memory that replaces another one is not alone.
    replacing = Counter(entry.superseded_by for entry in entries if entry.superseded_by)
    runs = catalog.gc_runs
    told = {key for some in runs.originals(runs.merged_ids()).values() for key in some}
    similarity, waiting = _similarity(catalog, store, projects)
    lonely = [
        one
        for one in _isolated_memories(
            entries, degree + replacing, policy, catalog.archive.successors(*FOLDED)
        )
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
        promoted=sum(entry.is_promoted(policy) for entry in entries),
        expired=sum(by_rule.get(rule, 0) for rule in EXPIRED),
        expiries=expiries,
        groups=list(
            islice(
                _groups(entries, connections, told, policy, redactor=catalog.redactor, most=members), limit
            )
        ),
        loners=[_loner(*one, redactor=catalog.redactor) for one in lonely[:limit]],
        at_risk=sum(decision.action == "archive" for _, _, decision in lonely),
        similarity=similarity,
        runs=runs.latest(limit),
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
    safe = Counter(entry.type for entry in entries if entry.is_protected)
    return {kind.value: (every[kind], safe[kind]) for kind in EntryType if every[kind]}


def _groups(
    entries: Sequence[Entry],
    connections: Sequence[Connection],
    told: Collection[str],
    policy: LifecyclePolicy,
    *,
    redactor: Redactor,
    most: int | None,
) -> Iterator[Group]:
    """Yield the clusters of connected memories, the largest first, without history and pages of documents."""
    free = {
        entry.id: entry
        for entry in entries
        if not (entry.superseded_by or CARD in entry.memory.metadata or is_of_document(entry.memory.metadata))
    }
    for cluster in star_clusters(connections, free, minimum=policy.min_cluster):
        centre = free[cluster[0]]
        members = sorted((free[key] for key in cluster), key=age_order)
        yield Group(
            len(cluster),
            centre.id,
            _title(centre.memory.title, centre.text, redactor=redactor),
            centre.scope.project,
            centre.id in told,
            tuple(redactor.redact(name)[0] for name in _common_names(members)),
            tuple(
                ClusterMember(
                    entry.id,
                    entry.memory.event_time,
                    _title(entry.memory.title, entry.text, redactor=redactor),
                )
                for entry in members[:most]
            ),
        )


def _common_names(members: Sequence[Entry]) -> list[str]:
    """Return the names that at least half of the members mention, the most common first."""
    counts = Counter(name for entry in members for name in set(identifiers(entry.text)))
    common = [(-count, name) for name, count in counts.items() if 2 * count >= max(4, len(members))]
    return [name for _, name in sorted(common)[:MOST_NAMES]]


def _isolated_memories(
    entries: Sequence[Entry],
    degree: Mapping[str, int],
    policy: LifecyclePolicy,
    last_copies: Collection[str],
) -> list[tuple[int, Entry, Decision]]:
    """Return the isolated memories that may expire, with the number of newer ones until the decision.

    Those that gc would archive come first, then those that are next.
    """
    found = []
    for entry, decision in zip(entries, age(entries, degree, policy, last_copies=last_copies), strict=True):
        if entry.id not in degree and decision.rule in AGEING:
            due = policy.age_after + (entry.checked_age if entry.reprieves else 0)
            found.append((max(0, due - decision.age), entry, decision))
    return sorted(found, key=lambda one: (one[2].action != "archive", one[0], -one[2].age, one[1].id))


def _loner(left: int, entry: Entry, decision: Decision, redactor: Redactor) -> Loner:
    found = judge(entry.text, source=entry.memory.source)
    return Loner(
        entry.id,
        _title(entry.memory.title, entry.text, redactor=redactor),
        entry.scope.project,
        decision.action,
        decision.age,
        left,
        entry.reprieves,
        round(found.discard, 3),
        tuple(redactor.redact(found.reason)[0].split("; ")) if found.reason else (),
    )


def _title(title: str, text: str = "", *, redactor: Redactor) -> str:
    """Return the title of a memory, or the beginning of its text, in one line without secrets."""
    shown = " ".join(redactor.redact(title or text[:READ])[0].split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in shown)[
        : None if title else TITLE
    ]


def _similarity(
    catalog: Catalog, store: Store, projects: Sequence[str] | None
) -> tuple[Similarity | None, Mapping[str, int] | None]:
    """Return the scale of cosines here, and project -> number of memories not compared yet.

    Return None and None if there are no vectors or no model.
    """
    try:
        model = store.answering_model()
        kept = catalog.connections.scale(model)
        scale = kept.scale if kept else known_scale(model)
        waiting = {
            project: count
            for project, count in catalog.connections.count_uncompared(model).items()
            if count and (projects is None or project in projects)
        }
        if scale is None:
            return None, waiting
        random, nearest = sample_cosines(catalog, store, projects)
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

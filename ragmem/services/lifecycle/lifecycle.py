"""The rules of the lifecycle for one project, in order: templates, changes, near copies, age.

The first rule that applies to a memory decides on it.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from ragmem.domain.classification.substance import substance
from ragmem.domain.lifecycle.ageing import age
from ragmem.domain.lifecycle.changes import changes
from ragmem.domain.lifecycle.consolidation import MergedMemory, merge
from ragmem.domain.lifecycle.near_copies import near_copies
from ragmem.domain.lifecycle.templates import template_families
from ragmem.domain.model import Memory, Scope, State, Tier, content_hash, digest, memory_id
from ragmem.domain.model.lifecycle import Connection, Decision, Entry, LifecyclePolicy, LifecycleState
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.lifecycle.items import SUBSTANCE, TEMPLATE
from ragmem.services.processes.worker_pool import WorkerPool

CONSOLIDATED = "consolidated"
"""The source of merged memories."""

ALONE = frozenset({"no-substance", "bad-feedback"})
"""The rules that archive a memory for being alone."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that are merged into one."""

    memory: Memory
    members: tuple[Entry, ...]


@dataclass(slots=True)
class Decisions:
    """The decisions on the memories of a project."""

    decisions: dict[str, Decision] = field(default_factory=dict)
    clusters: list[Cluster] = field(default_factory=list)

    def decide(self, decision: Decision) -> None:
        """Record a decision, unless an earlier rule has decided."""
        self.decisions.setdefault(decision.id, decision)


def decide_all(
    entries: Sequence[Entry],
    connections: Sequence[Connection],
    *,
    policy: LifecyclePolicy,
    compared: bool,
    settled: Collection[str] = (),
    last_copies: Collection[str] = (),
    processes: WorkerPool | None = None,
    redactor: Redactor,
) -> Decisions:
    """Decide on the memories of one project; `connections` show which are not alone.

    Unless all were `compared` with each other, nothing is merged, and nothing is archived for being alone.
    Other rules have decided on the `settled` ids: they are neighbours and count for the age of others, but
    get no decision. `last_copies` are the newest memories of templates whose other copies were archived in an
    earlier run. Texts are read in `processes`, if given.
    """
    helping = processes or WorkerPool(1)
    fate = Decisions()
    free = [entry for entry in entries if entry.id not in settled]
    newest = _templates(free, fate)
    _readmit(free, fate)
    replaced = _changes(free, connections, fate, helping, redactor=redactor)
    if compared:
        _merge(free, fate, policy, replaced, helping=helping, redactor=redactor)
    for decision in replaced.values():
        fate.decide(decision)
    degree = _degree(entries, connections, fate)
    for decision in age(entries, degree, policy, last_copies=newest.union(last_copies), reading=helping.map):
        fate.decide(decision if compared else keep_uncompared(decision))
    for entry in entries:
        if entry.memory.state is State.PENDING:
            fate.decisions[entry.id] = keep_uncompared(fate.decisions[entry.id])
    for identifier in settled:
        fate.decisions.pop(identifier, None)
    return fate


def _templates(entries: Sequence[Entry], fate: Decisions) -> set[str]:
    """Archive all but the newest memory of each template; return the newest ones."""
    newest: set[str] = set()
    for family in template_families(entries):
        newest.add(family.keeper.id)
        for other in family.others:
            reason = f"says what {family.keeper.id[:12]} says but for the marks of a run"
            fate.decide(Decision(other.id, "archive", TEMPLATE, reason, (family.keeper.id,)))
    return newest


def _readmit(entries: Sequence[Entry], fate: Decisions) -> None:
    """Index the memories with a low signal that have substance.

    Without a vector they are not compared with others, and would be alone forever.
    """
    for entry in entries:
        faint = entry.memory.state is State.BUFFERED and entry.life is LifecycleState.BUFFER
        if faint and not entry.superseded_by and entry.id not in fate.decisions:
            found = substance(entry)
            if found.passes:
                reason = f"it came in as of little worth, and has substance ({', '.join(found.reasons[:3])})"
                fate.decide(Decision(entry.id, "mend", SUBSTANCE, reason))


def _changes(
    entries: Sequence[Entry],
    connections: Sequence[Connection],
    fate: Decisions,
    helping: WorkerPool,
    redactor: Redactor,
) -> dict[str, Decision]:
    """Return older memory -> decision, for memories without a decision by an earlier rule."""
    standing = {entry.id: entry for entry in entries if entry.id not in fate.decisions}
    found: dict[str, Decision] = {}
    for change in changes(list(standing.values()), connections, reading=helping.map, redactor=redactor):
        older = standing[change.older]
        if not older.pinned and not older.superseded_by:
            found[older.id] = Decision(older.id, "supersede", change.rule, change.reason, (change.newer,))
    return found


def _merge(
    entries: Sequence[Entry],
    fate: Decisions,
    policy: LifecyclePolicy,
    replaced: Collection[str],
    *,
    helping: WorkerPool,
    redactor: Redactor,
) -> None:
    free = [
        entry
        for entry in entries
        if entry.memory.state is State.INDEXED and entry.id not in fate.decisions and entry.id not in replaced
    ]
    found = near_copies(free, minimum=policy.min_cluster)
    merging = partial(_merge_cluster, redactor=redactor)
    for members, memory in zip(found, helping.map(merging, found), strict=True):
        fate.clusters.append(Cluster(memory, members))
        for entry in members:
            reason = f"one of {len(members)} of its session that say the same, which become {memory.id[:12]}"
            fate.decide(Decision(entry.id, "merge", "cluster", reason, (memory.id,)))


def _merge_cluster(members: tuple[Entry, ...], redactor: Redactor) -> Memory:
    return merged_memory(members, merge(members, redactor=redactor))


def merged_memory(members: Sequence[Entry], merged: MergedMemory) -> Memory:
    """Return the memory of a cluster; its id depends on its members only, so a second run gives the same."""
    first = members[0].memory
    place = digest(*sorted(f"{entry.id}{entry.memory.content_hash}" for entry in members))
    newest = max((entry.memory for entry in members), key=lambda memory: (memory.event_time, memory.id))
    specs = {entry.scope.spec for entry in members}
    scope = Scope(first.scope.project, specs.pop() if len(specs) == 1 else "")
    uri = f"{CONSOLIDATED}:{place}"
    return Memory(
        id=memory_id(CONSOLIDATED, scope, uri),
        source=CONSOLIDATED,
        uri=uri,
        text=merged.text,
        title=merged.title,
        event_time=merged.event_time,
        created_at=newest.created_at,
        updated_at=newest.updated_at,
        content_hash=content_hash(merged.text),
        scope=scope,
        kind=newest.kind,
        category=newest.category,
        tier=Tier.INGEST,
        state=State.PENDING,
        tags=merged.tags,
        metadata={**merged.metadata, "type": merged.type.value, "merged": str(len(members))},
    )


def _degree(entries: Sequence[Entry], connections: Sequence[Connection], fate: Decisions) -> dict[str, int]:
    """Return the number of connections of each memory, without copies of a template."""
    leaving = {key for key, decision in fate.decisions.items() if decision.rule == TEMPLATE}
    ends = [
        end
        for one in connections
        if one.first not in leaving and one.second not in leaving
        for end in (one.first, one.second)
    ]
    # A memory that replaces another one is not alone.
    ends += [entry.superseded_by for entry in entries if entry.superseded_by]
    ends += [one.others[0] for one in fate.decisions.values() if one.action == "supersede"]
    return Counter(ends)


def keep_uncompared(decision: Decision) -> Decision:
    """Return the decision for a memory whose connections are not known yet."""
    alone = decision.action in {"reprieve", "archive"} and decision.rule != TEMPLATE
    if alone or decision.life is LifecycleState.PERMANENT:
        return Decision(decision.id, "keep", "uncompared", "it is not compared with the others yet")
    return decision

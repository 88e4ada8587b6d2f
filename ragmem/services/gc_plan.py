"""Plan a run of gc: each memory with the rule that keeps, merges or archives it, and nothing changed.

Connections are made on the way where they are missing: they follow from what is stored, like an index, and
can be made again.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from ragmem.catalog.catalog import Catalog
from ragmem.config import ChunkingSettings
from ragmem.domain.lifecycle import Decision, Entry, LifecyclePolicy
from ragmem.domain.model import State
from ragmem.errors import BackendError, UsageError
from ragmem.ports import ShowsVectors, Store
from ragmem.services.connecting import connect, nearest
from ragmem.services.gc_items import MERGED, RULES, Item, Merging, Plan, item_of
from ragmem.services.gc_lifecycle import ALONE, Fate, not_compared
from ragmem.services.gc_upkeep import UNOWNED, superfluous, unsettled
from ragmem.services.gc_workers import Job, fates
from ragmem.services.judge import chunks_of
from ragmem.services.likeness import to_compare
from ragmem.services.progress import Progress, Silent


def plan(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    policy: LifecyclePolicy,
    sizes: ChunkingSettings,
    keep: timedelta,
    gone: Collection[str] | None = None,
    projects: Sequence[str] | None = None,
    rules: Collection[str] = (),
    budget_s: float | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """Decide without changing a memory.

    `gone` are the ids of memories that have left their source; None means that nobody asked. Only memories of
    `projects` (None: of all) are looked at, and only what one of `rules` says (none: any) is done. After
    `budget_s` seconds no more memories are compared: those of a project with some that wait are neither
    merged nor archived for being alone. With several `workers` projects are decided on in as many processes.
    Raises UsageError for a rule that there is not.
    """
    for rule in rules:
        if rule not in RULES:
            raise UsageError(f'gc has no rule "{rule}"', hint="known: " + ", ".join(RULES))
    if "cluster" in rules:
        # What stays behind a merged memory is a part of its cluster.
        rules = {*rules, MERGED}
    told = progress or Silent()
    removals = superfluous(catalog, policy=policy, gone=gone or (), projects=projects)
    removing = {decision.id for decision in removals if decision.action == "remove"}
    waiting, note = _connected(catalog, store, now=now, policy=policy, budget_s=budget_s, progress=told)
    whole = projects is None
    unfinished = list(unsettled(catalog, store, removing=removing)) if whole else []
    known = catalog.overview.counts()["project"]
    wanted = sorted(known if projects is None else set(projects).intersection(known))
    made = _Made()
    told.begin("planning", sum(known[project] for project in wanted))
    described = {decision.id: decision for decision in (*removals, *unfinished)}
    jobs = (
        _job(
            catalog,
            store,
            project,
            removing=removing,
            described=described,
            policy=policy,
            compared=not waiting.get(project, 0),
        )
        for project in wanted
    )
    for job, fate in fates(jobs, workers=workers):
        if job.compared:
            _spare(catalog, store, fate)
        made.add(job.entries, fate, described=described, sizes=sizes)
        told.advance(len(job.entries))
    strangers = [
        Item(one.id, one.action, one.rule, one.reason) for one in unfinished if one.id not in made.hashes
    ]
    items = [_only(item, rules) for item in (*made.items, *strangers)]
    asked = {item.id for item in items if item.action != "keep"}
    return Plan(
        items=tuple(items),
        memories=made.memories,
        searched=made.searched,
        merges=tuple(one for one in made.merges if asked.issuperset(one.members)),
        hashes={key: made.hashes[key] for item in items for key in item.others if key in made.hashes},
        sweep=store.sweep(dry_run=True) if whole and (not rules or UNOWNED in rules) else {},
        expired=catalog.archive.expired(now=now, keep=keep),
        uncompared=sum(waiting.values()),
        note=note,
    )


def _only(item: Item, rules: Collection[str]) -> Item:
    if not rules or item.rule in rules or item.action == "keep":
        return item
    return Item(
        item.id, "keep", "not asked", f"{item.action} by {item.rule}", item.title, item.uri, item.project
    )


def _job(
    catalog: Catalog,
    store: Store,
    project: str,
    *,
    removing: Collection[str],
    described: Mapping[str, Decision],
    policy: LifecyclePolicy,
    compared: bool,
) -> Job:
    entries = catalog.lives.entries([project], policy=policy)
    staying = [entry for entry in entries if entry.id not in removing]
    here = {entry.id for entry in staying}
    connections = [
        one for one in catalog.connections.of([project]) if one.first in here and one.second in here
    ]
    settled = frozenset(here.intersection(described))
    free = [entry for entry in staying if entry.id not in settled] if compared else []
    return Job(entries, staying, connections, to_compare(catalog, store, free), policy, compared, settled)


def _spare(catalog: Catalog, store: Store, fate: Fate) -> None:
    """Let those live on that are not alone when all of their project is looked at.

    Where memories are many, or a few new ones come to many, connections are looked for in places only.
    """
    ending = [key for key, decision in fate.decisions.items() if decision.rule in ALONE]
    outlines = catalog.memories.outlines(ending)
    indexed = [key for key in ending if key in outlines and outlines[key].state is State.INDEXED]
    found = nearest(catalog, store, indexed)
    for key in indexed:
        if key not in found:
            fate.decisions[key] = not_compared(fate.decisions[key])
        elif found[key] > 0:
            reason = f"connected after all, by {found[key]:.2f}, when all of its project is looked at"
            fate.decisions[key] = Decision(key, "keep", "connected", reason, age=fate.decisions[key].age)


class _Made:
    """What the projects add to the plan."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.merges: list[Merging] = []
        self.hashes: dict[str, str] = {}
        self.memories = 0
        self.searched = 0

    def add(
        self,
        entries: Sequence[Entry],
        fate: Fate,
        *,
        described: Mapping[str, Decision],
        sizes: ChunkingSettings,
    ) -> None:
        """Add the memories of one project; of those in `described` other rules have decided."""
        self.memories += len(entries)
        self.searched += sum(not entry.superseded_by for entry in entries)
        for entry in entries:
            decision = described.get(entry.id) or fate.decisions.get(entry.id) or _kept(entry)
            self.items.append(item_of(decision, entry))
            self.hashes[entry.id] = entry.memory.content_hash
        self.merges += _merges(fate, sizes)


def _kept(entry: Entry) -> Decision:
    return Decision(entry.id, "keep", entry.life.value, "no rule says otherwise")


def _merges(fate: Fate, sizes: ChunkingSettings) -> list[Merging]:
    found = []
    for cluster in fate.clusters:
        staying = tuple(entry.id for entry in cluster.members if entry.protected)
        leaving = tuple(entry.id for entry in cluster.members if not entry.protected)
        chunks = chunks_of(cluster.memory, sizes)
        found.append(Merging(cluster.memory, chunks, leaving, staying, cluster.superseded))
    return found


def _connected(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    policy: LifecyclePolicy,
    budget_s: float | None,
    progress: Progress,
) -> tuple[dict[str, int], str]:
    """Connect what is not connected yet; return project -> memories that wait, and why."""
    everything = dict(catalog.overview.counts()["project"])
    if not isinstance(store, ShowsVectors):
        return everything, "this store does not show its vectors: nothing is merged, and nothing grows old"
    note = ""
    try:
        if not catalog.database.read_only:
            note = connect(catalog, store, now=now, policy=policy, budget_s=budget_s, progress=progress).note
        model = store.answering_model()
    except BackendError as error:
        return everything, error.told
    return catalog.connections.waiting(model), note

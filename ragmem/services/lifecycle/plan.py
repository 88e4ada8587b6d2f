"""Plan a run of gc: find the rule that keeps, hides or archives each memory, without changing any.

Missing connections are made on the way: like an index, they follow from what is stored and can be rebuilt.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from ragmem.domain.model import UNASSIGNED, State
from ragmem.domain.model.lifecycle import Decision, Entry, LifecyclePolicy
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError, StoreBusyError, UsageError
from ragmem.ports import Store
from ragmem.services.connections.connect import connect, nearest
from ragmem.services.lifecycle.cards import find_clusters
from ragmem.services.lifecycle.items import FOLDED, RULES, Item, Plan, item_of
from ragmem.services.lifecycle.kept_findings import Kept, KeptFindings, key_of, read_findings, write_findings
from ragmem.services.lifecycle.lifecycle import ALONE, Decisions, decide_all, keep_uncompared
from ragmem.services.lifecycle.model_judge import find_comparisons
from ragmem.services.lifecycle.text_cache import remove_others
from ragmem.services.lifecycle.upkeep import UNOWNED, apart, find_inconsistent, find_superfluous
from ragmem.services.processes.progress import Progress, Silent
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class ProjectRequest:
    """A project to decide on, its number of `memories`, and whether they are `compared` with each other.

    `described` are decisions of other rules on its memories, by id, and `kept` what an earlier plan found.
    `cache` is the file of what is known of its texts; see `text_cache`.
    """

    project: str
    memories: int
    described: Mapping[str, Decision]
    policy: LifecyclePolicy
    compared: bool
    kept: Kept | None = None
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class ProjectPlan:
    """The part of the plan for a project: an item for each memory.

    `searched` and `hashes` are as in `Plan`, but with the hashes of all memories. `kept` is for the
    next plan.
    """

    items: Sequence[Item]
    hashes: Mapping[str, str]
    searched: int
    kept: Kept


def plan_project(
    catalog: Catalog, store: Store, asked: ProjectRequest, processes: WorkerPool | None = None
) -> ProjectPlan:
    """Decide on a project; texts are read in `processes`, if given. Raises BackendError."""
    entries = catalog.lives.entries([asked.project], policy=asked.policy)
    findings = KeptFindings(asked.kept, asked.cache)
    by_id = {entry.id: entry for entry in entries}
    fate: Decisions = {}
    for number, ids in enumerate(apart(by_id, catalog.memories.readers(asked.project))):
        # What is known of the texts is that of the first group; without a team there is no other.
        known = findings if number == 0 else KeptFindings(None)
        fate |= _decide_project(catalog, asked, [by_id[key] for key in ids], known, processes)
    if asked.compared:
        _spare(catalog, store, fate)
    findings.save()
    decided = fate | dict(asked.described)
    return ProjectPlan(
        [item_of(decided.get(entry.id) or _keep(entry), entry) for entry in entries],
        {entry.id: entry.memory.content_hash for entry in entries},
        sum(not entry.superseded_by and entry.memory.state is not State.BUFFERED for entry in entries),
        findings.kept,
    )


def _decide_project(
    catalog: Catalog,
    asked: ProjectRequest,
    entries: Sequence[Entry],
    findings: KeptFindings,
    processes: WorkerPool | None,
) -> Decisions:
    if asked.project == UNASSIGNED:
        # They may be from different projects, so that no memory ends another one.
        entries = []
    removing = {key for key, decision in asked.described.items() if decision.action == "remove"}
    staying = [entry for entry in entries if entry.id not in removing]
    here = {entry.id for entry in staying}
    settled = here.intersection(asked.described)
    return decide_all(
        staying,
        [one for one in catalog.connections.of([asked.project]) if one.first in here and one.second in here],
        policy=asked.policy,
        compared=asked.compared,
        settled=settled,
        last_copies=here & catalog.archive.successors(*FOLDED),
        processes=processes,
        findings=findings,
        redactor=catalog.redactor,
    )


def _spare(catalog: Catalog, store: Store, fate: Decisions) -> None:
    """Keep memories that are not alone when they are compared with their whole project.

    In large projects, connections are searched approximately.
    """
    ending = [key for key, decision in fate.items() if decision.rule in ALONE]
    outlines = catalog.memories.outlines(ending)
    indexed = [key for key in ending if key in outlines and outlines[key].state is State.INDEXED]
    found = nearest(catalog, store, indexed)
    for key in indexed:
        if key not in found:
            fate[key] = keep_uncompared(fate[key])
        elif found[key] > 0:
            reason = f"connected, by {found[key]:.2f}, once its whole project was compared"
            fate[key] = Decision(key, "keep", "connected", reason, age=fate[key].age)


def _keep(entry: Entry) -> Decision:
    return Decision(entry.id, "keep", entry.life.value, "no rule applies")


def plan(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    policy: LifecyclePolicy,
    keep: timedelta,
    gone: Collection[str] | None = None,
    projects: Sequence[str] | None = None,
    rules: Collection[str] = (),
    cards: bool = False,
    judged: Collection[int] | None = None,
    budget_s: float | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    cache: Path | None = None,
) -> Plan:
    """Decide without changing a memory.

    `gone` are the ids of memories that their source no longer has; None means not checked. Only memories of
    `projects` (None: all) and decisions of `rules` (none: all) count. After `budget_s` seconds no more
    memories are compared: no memory of a project that is not fully compared is archived for being alone.
    With `cards`, the plan has the clusters of which a language model is to write a text; with `judged`, what
    it is to compare besides the pairs of these keys. Projects are
    compared and decided on in `workers` processes. What is known of the texts of a project is kept in a file
    of the folder `cache`, if given, for the next plan. Raises UsageError for an unknown rule.
    """
    for rule in rules:
        if rule not in RULES:
            raise UsageError(f'gc has no rule "{rule}"', hint="known: " + ", ".join(RULES))
    told = progress or Silent()
    removals = find_superfluous(catalog, policy=policy, gone=gone or (), projects=projects)
    removing = {decision.id for decision in removals if decision.action == "remove"}
    waiting, note = _connect_memories(
        catalog, store, now=now, budget_s=budget_s, workers=workers, progress=told
    )
    whole = projects is None
    unfinished = list(find_inconsistent(catalog, store, removing=removing)) if whole else []
    known = catalog.overview.counts()["project"]
    wanted = sorted(known if projects is None else set(projects).intersection(known))
    told.begin("planning", sum(known[project] for project in wanted))
    described = _by_project(catalog, (*removals, *unfinished))
    former = read_findings(catalog.database)
    asked = (
        ProjectRequest(
            project,
            known[project],
            described.get(project, {}),
            policy,
            # Unassigned memories are never compared.
            project != UNASSIGNED and not waiting.get(project, 0),
            former.get(key_of(project)),
            cache / key_of(project) if cache and not catalog.database.read_only else None,
        )
        # The largest first: at the end all processes should have something to do.
        for project in sorted(wanted, key=lambda one: -known[one])
    )
    parts: dict[str, ProjectPlan] = {}
    for one, part in plan_projects(catalog, store, asked, workers=workers):
        parts[one.project] = part
        told.advance(len(part.items))
    _keep_findings(catalog, former, parts, whole=whole)
    if cache and whole:
        remove_others(cache, map(key_of, wanted))
    found = [item for project in wanted for item in parts[project].items]
    hashes = {key: value for part in parts.values() for key, value in part.hashes.items()}
    strangers = [Item(one.id, one.action, one.rule, one.reason) for one in unfinished if one.id not in hashes]
    items = [_apply_rule_filter(item, rules) for item in (*found, *strangers)]
    asks = not rules and (cards or judged is not None)
    staying = {item.id for item in items if item.action in {"keep", "reprieve"}} if asks else set[str]()
    return Plan(
        items=tuple(items),
        memories=len(found),
        searched=sum(part.searched for part in parts.values()),
        cards=find_clusters(catalog, wanted, staying, policy=policy) if cards and asks else (),
        comparisons=find_comparisons(catalog, wanted, staying, judged, policy=policy)
        if judged is not None and asks
        else None,
        hashes={key: hashes[key] for item in items for key in item.others if key in hashes},
        sweep=store.sweep(dry_run=True) if whole and (not rules or UNOWNED in rules) else {},
        expired=catalog.archive.count_expired(now=now, keep=keep),
        uncompared=sum(waiting.values()),
        note=note,
    )


def _keep_findings(
    catalog: Catalog, former: Mapping[str, Kept], parts: Mapping[str, ProjectPlan], *, whole: bool
) -> None:
    """Keep what was found for the next plan; with the `whole` store, of no project that is gone.

    While another process writes, nothing is kept, and the next plan reads the texts again.
    """
    found = {key_of(project): part.kept for project, part in parts.items()}
    kept = found if whole else {**former, **found}
    if kept != former and not catalog.database.read_only:
        with suppress(StoreBusyError):
            write_findings(catalog.database, kept)


def _apply_rule_filter(item: Item, rules: Collection[str]) -> Item:
    if not rules or item.rule in rules or item.action == "keep":
        return item
    return Item(
        item.id, "keep", "not asked", f"{item.action} by {item.rule}", item.title, item.uri, item.project
    )


def _by_project(catalog: Catalog, decisions: Iterable[Decision]) -> dict[str, dict[str, Decision]]:
    """Return project -> id -> decision, for existing memories."""
    known = {decision.id: decision for decision in decisions}
    found: dict[str, dict[str, Decision]] = {}
    for key, outline in catalog.memories.outlines(known).items():
        found.setdefault(outline.project, {})[key] = known[key]
    return found


def _connect_memories(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    budget_s: float | None,
    workers: int,
    progress: Progress,
) -> tuple[dict[str, int], str]:
    """Connect new memories; return project -> number of memories not compared yet, and the reason."""
    everything = dict(catalog.overview.counts()["project"])
    note = ""
    try:
        if not catalog.database.read_only:
            done = connect(
                catalog,
                store,
                now=now,
                budget_s=budget_s,
                workers=workers,
                progress=progress,
            )
            note = done.note
        model = store.answering_model()
    except BackendError as error:
        return everything, error.full_message
    return catalog.connections.count_uncompared(model), note


LARGE = 15_000
"""Number of memories from which a project is too large for one process."""


@dataclass(frozen=True, slots=True)
class _RemoteProject:
    """A project for another process, which reads it from the same file."""

    home: Path
    redactor: Redactor
    reader: Callable[[Any], Store]
    asked: ProjectRequest

    def plan(self) -> ProjectPlan:
        with (
            closing(Catalog.at(self.home, self.redactor)) as catalog,
            closing(self.reader(catalog.database)) as store,
        ):
            return plan_project(catalog, store, self.asked)


def plan_projects(
    catalog: Catalog, store: Store, asked: Iterable[ProjectRequest], *, workers: int
) -> Iterator[tuple[ProjectRequest, ProjectPlan]]:
    """Yield each project with its plan, in order; with one worker in this process.

    Several processes share the work on a large project, or on any project if they cannot read the store.
    Raises BackendError; a process that ends early raises BrokenProcessPool.
    """
    reader = store.reader() if workers > 1 else None
    with WorkerPool(workers) as processes:
        for small, some in groupby(asked, key=lambda one: one.memories < LARGE):
            if small and reader:
                elsewhere = (
                    _RemoteProject(catalog.database.home, catalog.redactor, reader, one) for one in some
                )
                yield from ((one.asked, done) for one, done in processes.each(_RemoteProject.plan, elsewhere))
            else:
                yield from ((one, plan_project(catalog, store, one, processes)) for one in some)

"""Plan a run of gc: each memory with the rule that keeps, merges or archives it, and nothing changed.

Connections are made on the way where they are missing: they follow from what is stored, like an index, and
can be made again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from ragmem.config import ChunkingSettings
from ragmem.domain.model import UNASSIGNED
from ragmem.domain.model.lifecycle import Decision, LifecyclePolicy
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Store
from ragmem.services.connections.connecting import connect
from ragmem.services.lifecycle.items import RULES, Item, Plan
from ragmem.services.lifecycle.project import ProjectPlan, ProjectRequest
from ragmem.services.lifecycle.upkeep import UNOWNED, superfluous, unsettled
from ragmem.services.lifecycle.workers import plans
from ragmem.services.processes.progress import Progress, Silent
from ragmem.storage.home.catalog import Catalog


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
    merged nor archived for being alone. With several `workers` projects are compared and decided on in as
    many processes. Raises UsageError for a rule that there is not.
    """
    for rule in rules:
        if rule not in RULES:
            raise UsageError(f'gc has no rule "{rule}"', hint="known: " + ", ".join(RULES))
    told = progress or Silent()
    removals = superfluous(catalog, policy=policy, gone=gone or (), projects=projects)
    removing = {decision.id for decision in removals if decision.action == "remove"}
    waiting, note = _connected(
        catalog, store, now=now, policy=policy, budget_s=budget_s, workers=workers, progress=told
    )
    whole = projects is None
    unfinished = list(unsettled(catalog, store, removing=removing)) if whole else []
    known = catalog.overview.counts()["project"]
    wanted = sorted(known if projects is None else set(projects).intersection(known))
    told.begin("planning", sum(known[project] for project in wanted))
    described = _by_project(catalog, (*removals, *unfinished))
    asked = (
        ProjectRequest(
            project, known[project], described.get(project, {}), policy, sizes, _is_compared(project, waiting)
        )
        # The largest first: at the end all processes should have something to do.
        for project in sorted(wanted, key=lambda one: -known[one])
    )
    parts: dict[str, ProjectPlan] = {}
    for one, part in plans(catalog, store, asked, workers=workers):
        parts[one.project] = part
        told.advance(len(part.items))
    found = [item for project in wanted for item in parts[project].items]
    merges = [merging for project in wanted for merging in parts[project].merges]
    hashes = {key: value for part in parts.values() for key, value in part.hashes.items()}
    strangers = [Item(one.id, one.action, one.rule, one.reason) for one in unfinished if one.id not in hashes]
    items = [_only(item, rules) for item in (*found, *strangers)]
    doing = {item.id for item in items if item.action != "keep"}
    return Plan(
        items=tuple(items),
        memories=len(found),
        searched=sum(part.searched for part in parts.values()),
        merges=tuple(one for one in merges if doing.issuperset(one.members)),
        hashes={key: hashes[key] for item in items for key in item.others if key in hashes},
        sweep=store.sweep(dry_run=True) if whole and (not rules or UNOWNED in rules) else {},
        expired=catalog.archive.expired(now=now, keep=keep),
        uncompared=sum(waiting.values()),
        note=note,
    )


def _is_compared(project: str, waiting: Mapping[str, int]) -> bool:
    """Tell whether all of a project was compared; what is assigned to none is of many, and never is."""
    return project != UNASSIGNED and not waiting.get(project, 0)


def _only(item: Item, rules: Collection[str]) -> Item:
    if not rules or item.rule in rules or item.action == "keep":
        return item
    return Item(
        item.id, "keep", "not asked", f"{item.action} by {item.rule}", item.title, item.uri, item.project
    )


def _by_project(catalog: Catalog, decisions: Iterable[Decision]) -> dict[str, dict[str, Decision]]:
    """Return project -> id -> decision, of memories that are there."""
    known = {decision.id: decision for decision in decisions}
    found: dict[str, dict[str, Decision]] = {}
    for key, outline in catalog.memories.outlines(known).items():
        found.setdefault(outline.project, {})[key] = known[key]
    return found


def _connected(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    policy: LifecyclePolicy,
    budget_s: float | None,
    workers: int,
    progress: Progress,
) -> tuple[dict[str, int], str]:
    """Connect what is not connected yet; return project -> memories that wait, and why."""
    everything = dict(catalog.overview.counts()["project"])
    note = ""
    try:
        if not catalog.database.read_only:
            done = connect(
                catalog,
                store,
                now=now,
                policy=policy,
                budget_s=budget_s,
                workers=workers,
                progress=progress,
            )
            note = done.note
        model = store.answering_model()
    except BackendError as error:
        return everything, error.told
    return catalog.connections.waiting(model), note

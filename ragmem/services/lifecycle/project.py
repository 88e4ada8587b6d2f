"""Decide on the memories of one project: read them, apply the rules, and plan each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragmem.domain.model import UNASSIGNED, State
from ragmem.domain.model.lifecycle import Decision, Entry, LifecyclePolicy
from ragmem.ports import Store
from ragmem.services.connections.connect import nearest
from ragmem.services.lifecycle.items import FOLDED, Item, item_of
from ragmem.services.lifecycle.kept_findings import Kept, KeptFindings
from ragmem.services.lifecycle.lifecycle import ALONE, Decisions, decide_all, keep_uncompared
from ragmem.services.lifecycle.upkeep import apart
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
            reason = f"connected, by {found[key]:.2f}, when all of its project is looked at"
            fate[key] = Decision(key, "keep", "connected", reason, age=fate[key].age)


def _keep(entry: Entry) -> Decision:
    return Decision(entry.id, "keep", entry.life.value, "no rule applies")

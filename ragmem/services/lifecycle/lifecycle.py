"""The rules of the lifecycle for one project, in order: folds, changes, age.

The first rule that applies to a memory decides on it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ragmem.domain.lifecycle.ageing import COLD, age
from ragmem.domain.lifecycle.ageing import Reading as Judging
from ragmem.domain.lifecycle.changes import Change, Links, Reading, changes, model_changes, reason_of
from ragmem.domain.lifecycle.folds import Fold, contained, repeated_reports
from ragmem.domain.model import SHARED, State
from ragmem.domain.model.lifecycle import Action, Connection, Decision, Entry, LifecyclePolicy, LifecycleState
from ragmem.domain.model.supersession import PERHAPS_OUTDATED
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.lifecycle.items import CARD, FOLD
from ragmem.services.processes.worker_pool import WorkerPool

Decisions = dict[str, Decision]
"""The decision on each memory of a project, by its id."""

ALONE = frozenset({COLD, "bad-feedback"})
"""The rules that archive a memory for being alone."""


class Findings:
    """What is found by reading all texts of a project."""

    def reports(self, entries: Sequence[Entry]) -> list[Fold]:
        """Return the reports that repeat each other."""
        return repeated_reports(entries)

    def contained(self, entries: Sequence[Entry]) -> list[Fold]:
        """Return the memories that another one of their session contains."""
        return contained(entries)

    def changes(self, group: Sequence[Entry], linked: Links, reading: Reading) -> Iterable[Change]:
        """Return the changes that the pair model finds."""
        return model_changes(group, linked, reading)

    def judging(self, reading: Judging) -> Judging:
        """Return what judges texts for `age`, by `reading` those that are not known."""
        return reading


def decide_all(
    entries: Sequence[Entry],
    connections: Sequence[Connection],
    *,
    policy: LifecyclePolicy,
    compared: bool,
    settled: Collection[str] = (),
    last_copies: Collection[str] = (),
    processes: WorkerPool | None = None,
    findings: Findings | None = None,
    redactor: Redactor,
) -> Decisions:
    """Decide on the memories of one project; `connections` show which are not alone.

    Unless all were `compared` with each other, nothing is archived for being alone. Other rules have decided
    on the `settled` ids: they are neighbours and count for the age of others, but get no decision.
    `last_copies` are those behind which others were folded in an earlier run. Texts are read in `processes`,
    if given; `findings` stand in for what reads them.
    """
    helping = processes or WorkerPool(1)
    reading = findings or Findings()
    fate: Decisions = {}
    # The card of a language model only repeats what its members say.
    free = [entry for entry in entries if entry.id not in settled and CARD not in entry.memory.metadata]
    # What replaces another memory must stay in sight.
    replacing = {entry.superseded_by for entry in entries}
    stays = _fold(reading.reports([entry for entry in free if entry.id not in replacing]), fate)
    replaced = _changes(free, connections, fate, helping=helping, findings=reading, redactor=redactor)
    replacing |= {decision.others[0] for decision in replaced.values()}
    bound = stays | fate.keys() | replaced.keys() | replacing
    standing = [entry for entry in free if entry.memory.state is State.INDEXED and entry.id not in bound]
    stays |= _fold(reading.contained(standing), fate)
    fate |= replaced
    degree = _degree(entries, connections, fate)
    judging = reading.judging(helping.map)
    for decision in age(entries, degree, policy, last_copies=stays.union(last_copies), reading=judging):
        fate.setdefault(decision.id, decision if compared else keep_uncompared(decision))
    for entry in entries:
        if entry.memory.state is State.PENDING:
            fate[entry.id] = keep_uncompared(fate[entry.id])
    for identifier in settled:
        fate.pop(identifier, None)
    return fate


def _fold(folds: Iterable[Fold], fate: Decisions) -> set[str]:
    """Archive what says nothing of its own beside another memory; return the ids of those that stay."""
    stays: set[str] = set()
    for fold in folds:
        stays.add(fold.keeper.id)
        for other in fold.others:
            fate[other.id] = Decision(other.id, "archive", FOLD, fold.reason, (fold.keeper.id,))
    return stays


def _changes(
    entries: Sequence[Entry],
    connections: Sequence[Connection],
    fate: Decisions,
    *,
    helping: WorkerPool,
    findings: Findings,
    redactor: Redactor,
) -> dict[str, Decision]:
    """Return older memory -> decision, for memories without a decision by an earlier rule."""
    standing = {entry.id: entry for entry in entries if entry.id not in fate}
    found: dict[str, Decision] = {}
    for change in changes(
        list(standing.values()), connections, reading=helping.map, finding=findings.changes
    ):
        older, newer = standing[change.older], standing[change.newer]
        marks = change.rule == PERHAPS_OUTDATED
        if older.pinned or older.superseded_by or (marks and older.perhaps_outdated == change.newer):
            continue
        # An unapproved memory supersedes no approved one.
        if newer.approval.is_withheld and not older.approval.is_withheld:
            continue
        # Their authors say what they replace, and a person what they replace of one's own.
        if SHARED in {newer.memory.source, older.memory.source}:
            continue
        action: Action = "mark" if marks else "supersede"
        reason = reason_of(change, older, newer, redactor)
        found[older.id] = Decision(older.id, action, change.rule, reason, (newer.id,))
    return found


def _degree(entries: Sequence[Entry], connections: Sequence[Connection], fate: Decisions) -> dict[str, int]:
    """Return the number of connections of each memory, without what folds."""
    leaving = {key for key, decision in fate.items() if decision.rule == FOLD}
    ends = [
        end
        for one in connections
        if one.first not in leaving and one.second not in leaving
        for end in (one.first, one.second)
    ]
    # A memory that replaces another one is not alone.
    ends += [entry.superseded_by for entry in entries if entry.superseded_by]
    ends += [one.others[0] for one in fate.values() if one.action == "supersede"]
    return Counter(ends)


def keep_uncompared(decision: Decision) -> Decision:
    """Return the decision for a memory whose connections are not known yet."""
    alone = decision.action in {"reprieve", "archive"} and decision.rule != FOLD
    if alone or decision.life is LifecycleState.PERMANENT:
        return Decision(decision.id, "keep", "uncompared", "not compared with other memories yet")
    return decision

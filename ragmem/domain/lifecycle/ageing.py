"""Decide the fate of old memories: keep, promote, reprieve or archive.

Age counts the newer memories of the same project, not days, and all exchanges of a session as one.
Isolation, not age, ends a life: a connected memory stays however old it is. An isolated one stays for a while
where it has substance, and for good where it still has it after its last reprieve.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ragmem.domain.classification.substance import Substance, substance, substance_of, with_type
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Decision, Entry, LifecyclePolicy, LifecycleState
from ragmem.domain.sessions.transcript import counting_key

MOST_REASONS = 3
"""Number of reasons in an explanation."""

Reading = Callable[[Callable[[str], Substance], Sequence[str]], Iterable[Substance]]


def age(
    entries: Iterable[Entry],
    degree: Mapping[str, int],
    policy: LifecyclePolicy,
    *,
    last_copies: Collection[str] = (),
    reading: Reading = map,
) -> list[Decision]:
    """Return one decision for each entry, in their order; nothing is changed.

    `entries` are all memories of their projects, `degree` counts the connections by id (none: isolated), and
    `last_copies` are the ids of the newest of a template, which stay. What is decided is one of: keep,
    promote (recalled often enough, or a diamond), reprieve, archive. `reading` applies `substance_of` to many
    texts, in order.
    """
    given = list(entries)
    ages = ages_of(given)
    first = [
        _decide_without_text(
            entry, ages[entry.id], degree.get(entry.id, 0), policy, last=entry.id in last_copies
        )
        for entry in given
    ]
    due = [entry for entry, decision in zip(given, first, strict=True) if decision is None]
    told = iter(reading(substance_of, [entry.text for entry in due]))
    return [
        decision or _decide_by_substance(entry, ages[entry.id], policy, with_type(entry, next(told)))
        for entry, decision in zip(given, first, strict=True)
    ]


def ages_of(entries: Iterable[Entry]) -> dict[str, int]:
    """Return by id the number of newer memories in the project, by event time; ties by entry.

    The exchanges of a session count as one, and not for each other. A gigabyte of transcripts, read at once,
    therefore does not make everything else old.
    """
    projects: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        projects[entry.scope.project].append(entry)
    ages: dict[str, int] = {}
    for members in projects.values():
        members.sort(key=lambda entry: (entry.memory.event_time, entry.number), reverse=True)
        newer: set[str] = set()
        for entry in members:
            own = counting_key(entry.memory)
            ages[entry.id] = len(newer) - (own in newer)
            newer.add(own)
    return ages


def protection_of(entry: Entry, policy: LifecyclePolicy) -> tuple[str, str]:
    """Return the rule that keeps a memory regardless of age and connections, and why; both "" for none."""
    recalled = 0 < entry.sessions < policy.promote_sessions
    rules = (
        (entry.pinned, "pinned", "pinned: it never expires"),
        (
            entry.life is LifecycleState.PERMANENT,
            "permanent",
            "substantial after its last reprieve: it no longer ages",
        ),
        (entry.curated, "curated", f'the source "{entry.memory.source}" is kept by hand'),
        (
            entry.life is LifecycleState.PROVEN,
            "proven",
            "recalled in several sessions, or restored by hand: it no longer ages",
        ),
        (
            is_of_document(entry.memory.metadata),
            "document",
            "a part of a document: it stays as long as the others do",
        ),
        (entry.is_protected, "protected", f"protected: a {entry.type} never expires by itself"),
        (
            recalled and entry.feedback >= 0,
            "recalled",
            f"recalled in {_count(entry.sessions, 'session')}",
        ),
        (
            entry.feedback > 0 and not entry.sessions,
            "rated",
            f"rated good {_count(entry.feedback, 'time')} more than bad",
        ),
    )
    return next(((rule, reason) for holds, rule, reason in rules if holds), ("", ""))


def decide_entry(
    entry: Entry, newer: int, connections: int, policy: LifecyclePolicy, *, last: bool = False
) -> Decision:
    """Return the decision for one memory, given the number of newer ones and of connections; see `age`."""
    standing_so = _decide_without_text(entry, newer, connections, policy, last=last)
    return standing_so or _decide_by_substance(entry, newer, policy, substance(entry))


def _decide_without_text(
    entry: Entry, newer: int, connections: int, policy: LifecyclePolicy, *, last: bool
) -> Decision | None:
    """Return the decision that needs no text; None for a memory that is isolated and due."""
    rule, reason = protection_of(entry, policy)
    if rule:
        return Decision(entry.id, "keep", rule, reason, age=newer)
    if entry.sessions >= policy.promote_sessions and entry.feedback >= 0:
        reason = f"recalled in {entry.sessions} sessions, {policy.promote_sessions} are enough"
        return Decision(entry.id, "promote", "recalled", reason, life=LifecycleState.PROVEN, age=newer)
    due = entry.checked_age + policy.age_after
    waits = (
        (last, "last copy", "the newest of a template, whose others are in the archive"),
        (newer < policy.age_after, "young", f"{_newer(newer)}, looked at from {policy.age_after}"),
        (connections > 0, "connected", f"connected with {_count(connections, 'memory', 'memories')}"),
        (bool(entry.superseded_by), "superseded", f"the history of {entry.superseded_by[:12]}"),
        (
            bool(entry.reprieves) and newer < due,
            "reprieved",
            f"reprieve {entry.reprieves} of {policy.reprieves}: {_newer(newer)}, looked at again from {due}",
        ),
    )
    for holds, rule, reason in waits:
        if holds:
            return Decision(entry.id, "keep", rule, reason, age=newer)
    return None


def _decide_by_substance(entry: Entry, newer: int, policy: LifecyclePolicy, found: Substance) -> Decision:
    """Return the decision for an isolated memory that is due; bad feedback uses up its reprieves."""
    isolated = f"isolated, {_newer(newer)}, {_reason(found)}"
    if not found.passes:
        return Decision(entry.id, "archive", "no-substance", isolated, age=newer)
    bad = max(0, -entry.feedback)
    if entry.reprieves + bad < policy.reprieves:
        reason = f"{isolated}: reprieve {entry.reprieves + 1} of {policy.reprieves - bad}"
        return Decision(entry.id, "reprieve", "substance", reason, age=newer)
    if bad:
        reason = f"{isolated}, but rated bad {_count(bad, 'time')} more than good"
        return Decision(entry.id, "archive", "bad-feedback", reason, age=newer)
    reason = f"{isolated}, after {_count(entry.reprieves, 'reprieve')}: a diamond, kept for good"
    return Decision(entry.id, "promote", "diamond", reason, life=LifecycleState.PERMANENT, age=newer)


def _newer(count: int) -> str:
    return f"{count} newer in its project"


def _reason(found: Substance) -> str:
    named = ", ".join(found.reasons[:MOST_REASONS])
    return f"{'substance' if found.passes else 'no substance'} {found.score:.1f} ({named})"


def _count(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"

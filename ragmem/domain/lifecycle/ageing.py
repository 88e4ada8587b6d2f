"""Decide the fate of old memories: keep, promote, reprieve or archive.

Age counts the newer memories of the same project, not days, and all exchanges of a session as one.
Isolation, not age, ends a life: a connected memory stays however old it is. An isolated one is archived only
where the judge takes it for worthless; any other is looked at again, and stays after its last reprieve.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ragmem.domain.classification.signal import is_noise
from ragmem.domain.model import SHARED, State
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Decision, Entry, LifecyclePolicy, LifecycleState
from ragmem.domain.sessions.transcript import counting_key

COLD = "cold"
"""The rule for a memory that is alone, old, never recalled and worthless to the judge."""

Reading = Callable[[Callable[[tuple[str, str]], bool], Sequence[tuple[str, str]]], Iterable[bool]]


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
    `last_copies` are the ids of those behind which others were folded, which stay. What is decided is one of:
    keep, promote (recalled often enough, rated good, or a diamond), reprieve, archive. `reading` applies
    `judged_noise` to many texts, in order.
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
    told = iter(reading(judged_noise, [_place(entry) for entry in due]))
    return [
        decision or _decide_alone(entry, ages[entry.id], policy, noise=next(told))
        for entry, decision in zip(given, first, strict=True)
    ]


def ages_of(entries: Iterable[Entry]) -> dict[str, int]:
    """Return by id the number of newer memories in the project, by event time; ties by entry.

    The exchanges of a session count as one, and not for each other. A gigabyte of transcripts, read at once,
    therefore does not make everything else old. What is kept out of answers for its little worth counts not.
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
            if entry.memory.state is not State.BUFFERED:
                newer.add(own)
    return ages


def protection_of(entry: Entry, policy: LifecyclePolicy) -> tuple[str, str]:
    """Return the rule that keeps a memory regardless of age and connections, and why; both "" for none."""
    # What may not be promoted stays recalled, however often it is.
    recalled = entry.sessions > 0 and (entry.sessions < policy.promote_sessions or entry.approval.is_withheld)
    rules = (
        (entry.pinned, "pinned", "pinned: it never expires"),
        (
            entry.life is LifecycleState.PERMANENT,
            "permanent",
            "not worthless after its last reprieve: it no longer ages",
        ),
        (entry.curated, "curated", f'the source "{entry.memory.source}" is maintained by people'),
        (
            entry.life is LifecycleState.PROVEN,
            "proven",
            "recalled in several sessions, or restored by hand: it no longer ages",
        ),
        (
            entry.memory.source == SHARED,
            "shared",
            f"shared by {entry.memory.origin}, who can withdraw it",
        ),
        (
            is_of_document(entry.memory.metadata),
            "document",
            "a part of a document: it stays as long as the others do",
        ),
        (entry.is_protected, "protected", f"protected: a {entry.type} never expires automatically"),
        (
            recalled and entry.feedback == 0,
            "recalled",
            f"recalled in {_count(entry.sessions, 'session')}",
        ),
    )
    return next(((rule, reason) for holds, rule, reason in rules if holds), ("", ""))


def decide_entry(entry: Entry, newer: int, connections: int, policy: LifecyclePolicy) -> Decision:
    """Return the decision for one memory, given the number of newer ones and of connections; see `age`."""
    standing_so = _decide_without_text(entry, newer, connections, policy, last=False)
    return standing_so or _decide_alone(entry, newer, policy, noise=judged_noise(_place(entry)))


def judged_noise(place: tuple[str, str]) -> bool:
    """Return whether the judge takes a text of a source, given as (text, source), for worthless."""
    text, source = place
    return is_noise(text, source=source)


def _place(entry: Entry) -> tuple[str, str]:
    return entry.text, entry.memory.source


def _decide_without_text(
    entry: Entry, newer: int, connections: int, policy: LifecyclePolicy, *, last: bool
) -> Decision | None:
    """Return the decision that needs no text; None for a memory that is isolated and due."""
    used = entry.pinned or entry.sessions > 0 or entry.feedback > 0
    if entry.memory.state is State.BUFFERED and used:
        reason = "discarded when it came in, and recalled, rated good or pinned since: it is indexed"
        return Decision(entry.id, "mend", "used", reason, age=newer)
    rule, reason = protection_of(entry, policy)
    if rule:
        return Decision(entry.id, "keep", rule, reason, age=newer)
    if entry.is_promoted(policy):
        rule, reason = (
            ("rated", f"rated good {_count(entry.feedback, 'time')} more than bad")
            if entry.feedback > 0
            else ("recalled", f"recalled in {entry.sessions} sessions, {policy.promote_sessions} are enough")
        )
        return Decision(entry.id, "promote", rule, reason, life=LifecycleState.PROVEN, age=newer)
    due = entry.checked_age + policy.age_after
    waits = (
        (entry.memory.state is State.BUFFERED, "faint", "of little worth: only `--all-tiers` shows it"),
        (last, "last copy", "the archive has others that say the same"),
        (newer < policy.age_after, "young", f"{_newer(newer)}, examined at {policy.age_after}"),
        (connections > 0, "connected", f"connected with {_count(connections, 'memory', 'memories')}"),
        (bool(entry.superseded_by), "superseded", f"the history of {entry.superseded_by[:12]}"),
        (
            bool(entry.reprieves) and newer < due,
            "reprieved",
            f"reprieve {entry.reprieves} of {policy.reprieves}: {_newer(newer)}, examined again at {due}",
        ),
    )
    for holds, rule, reason in waits:
        if holds:
            return Decision(entry.id, "keep", rule, reason, age=newer)
    return None


def _decide_alone(entry: Entry, newer: int, policy: LifecyclePolicy, *, noise: bool) -> Decision:
    """Return the decision for an isolated memory that is due; bad feedback uses up its reprieves."""
    isolated = f"isolated, {_newer(newer)}"
    if noise and not entry.sessions:
        reason = f"{isolated}, never recalled, and worthless to the judge"
        return Decision(entry.id, "archive", COLD, reason, age=newer)
    bad = max(0, -entry.feedback)
    if entry.reprieves + bad < policy.reprieves:
        reason = f"{isolated}: reprieve {entry.reprieves + 1} of {policy.reprieves - bad}"
        return Decision(entry.id, "reprieve", "alone", reason, age=newer)
    if bad:
        reason = f"{isolated}, and rated bad {_count(bad, 'time')} more than good"
        return Decision(entry.id, "archive", "bad-feedback", reason, age=newer)
    if entry.approval.is_withheld:
        reason = f"{isolated}, and {entry.approval}: kept, but not for good"
        return Decision(entry.id, "keep", "withheld", reason, age=newer)
    reason = f"{isolated}, after {_count(entry.reprieves, 'reprieve')}: a diamond, kept for good"
    return Decision(entry.id, "promote", "diamond", reason, life=LifecycleState.PERMANENT, age=newer)


def _newer(count: int) -> str:
    return f"{count} newer in its project"


def _count(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"

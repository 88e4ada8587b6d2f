"""Which newer memory makes an older one of its project untrue, decided from their words alone."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from ragmem.domain.facts import Claim, claims, words_of
from ragmem.domain.lifecycle import Connection, Entry
from ragmem.domain.replacing import Rarity, judge
from ragmem.domain.supersession import DECLARED, direct_successors

MAX_WORDS = 90
"""A memory with more words says more than one thing, and one change does not make all of it untrue."""

RARE = 40
"""A word of more memories than these leads to no candidate; it still counts where two are compared."""

TELLING = 6
"""The rarest words of a claim, which lead to candidates."""

CANDIDATES = 8
"""Older memories that a claim is compared with, those with the most telling words in common."""


@dataclass(frozen=True, slots=True)
class Change:
    """That a newer memory has made an older one untrue, by which rule, and why in one line with both."""

    older: str
    newer: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A memory with what it claims: what its end would make untrue, and what can end another."""

    entry: Entry
    main: list[Claim]
    telling: list[Claim]
    words: frozenset[str]
    leading: frozenset[str]
    """The words of its main claims, by which it is found."""


def changes(entries: Sequence[Entry], connections: Sequence[Connection] = ()) -> list[Change]:
    """Return which memories are made untrue by which, at most one successor for each, without circles.

    What memories declare of each other comes first. By rule only a later memory (by event time) replaces an
    earlier one of the same project. Candidates are connected memories and those that share rare words, so
    that the time grows with the number of memories and not with that of their pairs.
    """
    projects: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        projects[entry.scope.project].append(entry)
    linked: dict[str, list[str]] = defaultdict(list)
    for connection in connections:
        linked[connection.first].append(connection.second)
        linked[connection.second].append(connection.first)
    found: dict[str, Change] = {}
    for group in projects.values():
        _choose(chain(_declared(group), _by_rule(group, linked)), found)
    return [found[key] for key in sorted(found)]


def _choose(proposed: Iterable[tuple[float, Change]], found: dict[str, Change]) -> None:
    """Take the surest proposals; by rule a memory replaces one other, and nothing leads back to itself."""
    used: set[str] = set()
    for _, change in sorted(proposed, key=lambda one: (-one[0], one[1].older, one[1].newer)):
        if change.older in found or (change.rule != DECLARED and change.newer in used):
            continue
        end = change.newer
        while end in found:
            end = found[end].newer
        if end != change.older:
            found[change.older] = change
            used.add(change.newer)


def _declared(group: Sequence[Entry]) -> Iterator[tuple[float, Change]]:
    """Yield what memories say of each other in their metadata."""
    uris = {entry.id: entry.memory.uri for entry in group}
    for older, newer in direct_successors([entry.memory for entry in group]).items():
        yield math.inf, Change(older, newer, DECLARED, f"{uris[newer]} takes the place of {uris[older]}")


def _by_rule(group: Sequence[Entry], linked: Mapping[str, Sequence[str]]) -> Iterator[tuple[float, Change]]:
    """Yield what the rules find in the memories of one project, with how sure they are."""
    read = {entry.id: _read(entry) for entry in group}
    seen = Counter(word for one in read.values() for word in one.words)
    rarity = Rarity(seen, len(group))
    holding: dict[str, list[_Read]] = defaultdict(list)
    for one in read.values():
        for word in one.leading:
            if seen[word] <= RARE:
                holding[word].append(one)
    for one in read.values():
        near = [read[key] for key in linked.get(one.entry.id, ()) if key in read]
        for claim in one.telling:
            for other in _candidates(one, claim, holding, rarity, near):
                for main in other.main:
                    judged = judge(main, claim, rarity, around=one.words)
                    if judged is not None:
                        reason = f'"{_short(main.text)}" gave way to "{_short(claim.text)}"'
                        yield judged.score, Change(other.entry.id, one.entry.id, judged.rule, reason)


def _read(entry: Entry) -> _Read:
    main, telling = claims(entry.text)
    small = entry.text.count(" ") < MAX_WORDS
    words = words_of(entry.text) if small else _words(telling)
    return _Read(entry, main if small else [], telling, words, _words(main) if small else frozenset())


def _words(read: Iterable[Claim]) -> frozenset[str]:
    return frozenset(word for claim in read for word in claim.words)


def _candidates(
    newer: _Read,
    claim: Claim,
    holding: Mapping[str, Sequence[_Read]],
    rarity: Rarity,
    near: Sequence[_Read],
) -> list[_Read]:
    """Return the earlier memories that a claim may be about."""
    moment = newer.entry.memory.event_time
    known = [
        (rarity[word], word) for word in claim.words if len(holding.get(word, ())) > (word in newer.leading)
    ]
    shared: dict[str, float] = defaultdict(float)
    found: dict[str, _Read] = {other.entry.id: other for other in near}
    for weight, word in sorted(known, reverse=True)[:TELLING]:
        for other in holding[word]:
            found[other.entry.id] = other
            shared[other.entry.id] += weight
    best = sorted(shared, key=lambda key: (-shared[key], key))
    earlier = (key for key in best if found[key].entry.memory.event_time < moment)
    chosen = dict.fromkeys(islice(earlier, CANDIDATES))
    chosen |= dict.fromkeys(other.entry.id for other in near if other.entry.memory.event_time < moment)
    return [found[key] for key in chosen]


def _short(text: str, most: int = 100) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "\u2026"

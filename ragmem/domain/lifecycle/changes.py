"""Decide which newer memory supersedes an older one of its project, by their texts alone."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from ragmem.domain.lifecycle.claims import Claim, claims
from ragmem.domain.lifecycle.replacement import Rarity, find_contradiction
from ragmem.domain.model.lifecycle import Connection, Entry
from ragmem.domain.model.supersession import DECLARED, direct_successors
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.claim_words import words_of

MAX_WORDS = 90
"""A memory with more words makes several claims, and one change does not supersede it."""

RARE = 40
"""A word in more memories yields no candidate; it still counts in a comparison."""

TELLING = 6
"""Number of rarest words of a claim that yield candidates."""

CANDIDATES = 5
"""Number of older memories compared with a claim, those with the most specific common words."""

LEAST_SHARED = 0.15
"""Minimum share of a claim's weight that the common words must have."""


Claimed = tuple[list[Claim], list[Claim]]
Reading = Callable[[Callable[[str], Claimed], Sequence[str]], Iterable[Claimed]]


@dataclass(frozen=True, slots=True)
class Change:
    """A newer memory supersedes an older one, by a rule, with a one-line reason that quotes both."""

    older: str
    newer: str
    rule: str
    reason: str


class _EntryClaims:
    """A memory with its claims: those that can be superseded, and those that can supersede."""

    def __init__(self, entry: Entry, main: list[Claim], telling: list[Claim]) -> None:
        self.telling = telling
        self.key, self.moment = entry.id, entry.memory.event_time
        self.by_people = entry.curated or entry.is_protected
        """Whether a user curates or protects it; automatic memories cannot replace it."""
        self._text = entry.text
        self._small = entry.text.count(" ") < MAX_WORDS
        self.main = main if self._small else []
        self.words = _words(self.telling)
        self.leading = self.words if self.main == telling else _words(self.main)
        """The words of its main claims, by which it is found."""

    @cached_property
    def context_words(self) -> frozenset[str]:
        """The words of the whole text, if it has only one subject."""
        return words_of(self._text) if self._small else self.words


def changes(
    entries: Sequence[Entry],
    connections: Sequence[Connection] = (),
    *,
    reading: Reading = map,
    redactor: Redactor,
) -> list[Change]:
    """Return which memories are made untrue by which, at most one successor for each, without circles.

    What memories declare of each other comes first. By rule only a later memory (by event time) replaces an
    earlier one of the same project, and one that a person keeps (curated, protected) only one that is such
    as well. Candidates are connected memories and those that share rare words, so
    that the time grows with the number of memories and not with that of their pairs. `reading` applies
    `claims` to many texts, in order.
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
        _choose(
            chain(_declared_changes(group), _rule_changes(group, linked, reading, redactor=redactor)), found
        )
    return [found[key] for key in sorted(found)]


def _choose(proposed: Iterable[tuple[float, Change]], found: dict[str, Change]) -> None:
    """Take the most certain proposals; by rule a memory replaces one other, and there are no circles."""
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


def _declared_changes(group: Sequence[Entry]) -> Iterator[tuple[float, Change]]:
    """Yield the changes that memories declare in their metadata."""
    uris = {entry.id: entry.memory.uri for entry in group}
    for older, newer in direct_successors([entry.memory for entry in group]).items():
        yield math.inf, Change(older, newer, DECLARED, f"{uris[newer]} takes the place of {uris[older]}")


def _rule_changes(
    group: Sequence[Entry], linked: Mapping[str, Sequence[str]], reading: Reading, redactor: Redactor
) -> Iterator[tuple[float, Change]]:
    """Yield the changes that the rules find in one project, with their certainty."""
    claimed = reading(claims, [entry.text for entry in group])
    read = {entry.id: _EntryClaims(entry, *found) for entry, found in zip(group, claimed, strict=True)}
    seen = Counter(chain.from_iterable(one.words for one in read.values()))
    rarity = Rarity(seen, len(group))
    # A word of a single memory leads to no other.
    leading = {word for word, count in seen.items() if 1 < count <= RARE}
    holding: dict[str, list[_EntryClaims]] = defaultdict(list)
    for one in sorted(read.values(), key=lambda one: one.moment):
        for word in one.leading & leading:
            holding[word].append(one)
    for one in read.values():
        known = (read[key] for key in linked.get(one.key, ()) if key in read)
        near = {other.key: other for other in known if other.moment < one.moment}
        for claim in one.telling:
            around = one.context_words if claim.ended else claim.words
            for other in _candidates(one, claim, holding, rarity, near):
                if other.by_people and not one.by_people:
                    continue
                for main in other.main:
                    judged = find_contradiction(main, claim, rarity, around=around)
                    if judged is not None:
                        reason = f"{_quote(main, redactor)} gave way to {_quote(claim, redactor)}"
                        yield judged.score, Change(other.key, one.key, judged.rule, reason)


def _words(read: Iterable[Claim]) -> frozenset[str]:
    return frozenset().union(*(claim.words for claim in read))


def _candidates(
    newer: _EntryClaims,
    claim: Claim,
    holding: Mapping[str, Sequence[_EntryClaims]],
    rarity: Rarity,
    near: Mapping[str, _EntryClaims],
) -> Collection[_EntryClaims]:
    """Return the earlier memories that a claim may supersede.

    `holding` maps a word to its memories by event time, `near` are the connected earlier ones.
    """
    moment = newer.moment
    known = [
        (rarity.weight(word), word)
        for word in claim.words & holding.keys()
        if len(holding[word]) > (word in newer.leading)
    ]
    shared: dict[str, float] = defaultdict(float)
    found: dict[str, _EntryClaims] = {}
    for weight, word in sorted(known, reverse=True)[:TELLING]:
        for other in holding[word]:
            if other.moment >= moment:
                break
            found[other.key] = other
            shared[other.key] += weight
    least = LEAST_SHARED * rarity.of_claim(claim)
    enough = [(had, key) for key, had in shared.items() if had >= least]
    chosen = {key: found[key] for _, key in sorted(enough, reverse=True)[:CANDIDATES]}
    chosen.update(near)
    return chosen.values()


def _quote(claim: Claim, redactor: Redactor, most: int = 100) -> str:
    """Return the beginning of a claim in quotes, without secrets, because a reason is stored and shown."""
    text = " ".join(redactor.redact(claim.text)[0].split())
    return f'"{text if len(text) <= most else text[: most - 1].rstrip() + "…"}"'

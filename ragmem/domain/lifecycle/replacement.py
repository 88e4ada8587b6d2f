"""Decide whether one claim contradicts an earlier one."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragmem.domain.lifecycle.claims import Claim, opposite
from ragmem.domain.text.claim_words import words_of

NAMED_AGAIN = 0.75
"""Minimum overlap of the obsolete thing with the earlier claim."""

ABOUT_IT = 0.18
"""Minimum overlap of two claims if one of them names an obsolete thing."""

SAME_FACT = 0.37
"""Overlap from which two claims are about the same fact, if one of them states a change."""

SAME_SUBJECT = 0.22
"""The same threshold if both begin with the same name or word."""

CLOSE = 0.45
"""Overlap from which a claim about the present supersedes one about the past without a new value."""

SAME_FRAME = 0.55
"""Overlap from which two claims differ only in a value, if neither states a change."""

SAME_BUT_NOT = 0.7
"""Overlap from which two claims differ only in a negation."""

LEADING = 3
"""Number of words of a claim among which its subject is."""

NOTHING = 1e-9

_CHANGED = re.compile(
    r"\b(?:fix\w*|solve\w*|resolve\w*|moved?|renamed?|removed?|dropped|changed?|no longer|now)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[$\u20ac\u00a3~<>\u2248]?v?\d[\d,.-]*[a-z%]{0,3}")


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The rule by which a claim contradicts another, and its certainty."""

    rule: str
    score: float


class _Weights(dict[str, float]):
    """A dictionary in which an unknown word weighs nothing."""

    def __missing__(self, key: str) -> float:
        return 0.0


class Rarity:
    """The weights of words in one project: rarer words weigh more."""

    def __init__(self, seen: Mapping[str, int], memories: int) -> None:
        """Take the number of memories that contain each word, and the number of all memories."""
        by_count = {count: math.log(1 + memories / count) for count in set(seen.values())}
        self._weights = _Weights({word: by_count[count] for word, count in seen.items()})
        self._wholes: dict[int, float] = {}
        self.weight = self._weights.__getitem__
        """Returns the weight of one word."""

    def of(self, words: Iterable[str]) -> float:
        """Return the total weight of some words; never 0, because it is a divisor."""
        return sum(map(self.weight, words)) or NOTHING

    def of_claim(self, claim: Claim) -> float:
        """Return the weight of a claim's words (cached)."""
        key = id(claim)
        if key not in self._wholes:
            self._wholes[key] = self.of(claim.words)
        return self._wholes[key]


def find_contradiction(
    older: Claim, newer: Claim, rarity: Rarity, *, around: frozenset[str] = frozenset()
) -> Contradiction | None:
    """Return how the newer claim contradicts the older one, or None.

    `rarity` weighs words by how rare they are in the project, `around` are the words of all that
    the newer memory claims.
    """
    shared = older.words & newer.words
    if not shared:
        return None
    total = rarity.of(shared)
    of_newer, of_older = total / rarity.of_claim(newer), total / rarity.of_claim(older)
    overlap = 2 * of_newer * of_older / (of_newer + of_older)
    # Cheapest check first: nearly all pairs have little in common, so the checks that
    # search the texts come last.
    if overlap < ABOUT_IT and not newer.ended:
        return None
    if older.words == newer.words and older.negated == newer.negated and older.signs == newer.signs:
        return None
    found = [*_by_value(older, newer, overlap)]
    if newer.ended:
        found += _by_negation(older, newer, around, overlap, rarity)
        found += _by_change_verb(older, newer, overlap)
    if not found or not older.states or newer.planned or (newer.orders and not older.orders):
        return None
    return max(found, key=lambda one: (one.score, one.rule))


def _by_negation(
    older: Claim, newer: Claim, around: frozenset[str], overlap: float, rarity: Rarity
) -> Iterable[Contradiction]:
    """Yield contradictions in which the newer claim declares the older one's subject obsolete."""
    named = [one for one in newer.ended if not one.words.isdisjoint(older.words)]
    if not named:
        return
    about = older.words & (around | newer.words)
    common = rarity.of(about) / rarity.of_claim(older)
    if overlap < ABOUT_IT and common < SAME_FACT:
        return
    for ended in named:
        if any(ended.rule == one.rule and ended.words & one.words for one in older.ended):
            continue
        if ended.rule == "instead" and (overlap < SAME_SUBJECT or not _is_current_fact(older, newer)):
            continue
        known = ended.words & older.words
        again = rarity.of(known) / rarity.of(ended.words)
        beyond = about - ended.words
        if again >= NAMED_AGAIN and (beyond or len(known) > 1 or common >= SAME_FACT):
            yield Contradiction(ended.rule, 0.5 + 0.5 * again * max(overlap, common))


def _by_change_verb(older: Claim, newer: Claim, overlap: float) -> Iterable[Contradiction]:
    """Yield contradictions in which the newer claim states that the same fact has changed."""
    rules = {ended.rule for ended in newer.ended if not ended.words}
    enough = SAME_SUBJECT if _same_subject(older, newer) else SAME_FACT
    if not rules or overlap < enough or len(older.words & newer.words) < 2:
        return
    turned = older.negated != newer.negated
    if "no longer" in rules and (turned or overlap >= SAME_FRAME):
        yield Contradiction("no longer", overlap)
    elif (
        "now" in rules
        and not older.orders
        and not older.flawed
        and not newer.adds
        and newer.order[0] in older.words
        and (
            _have_distinct_values(older, newer)
            or opposite(older, newer)
            or (overlap >= CLOSE and not any(one.rule == "now" for one in older.ended))
        )
    ):
        yield Contradiction("now", overlap)


def _by_value(older: Claim, newer: Claim, overlap: float) -> Iterable[Contradiction]:
    """Yield contradictions in which the claims differ only in a value, an opposite or a negation."""
    if overlap >= ABOUT_IT and _other_version(older, newer) and _CHANGED.search(newer.text):
        yield Contradiction("version", 0.3 + overlap)
    found = list(_by_difference(older, newer, overlap)) if overlap >= SAME_SUBJECT else []
    if found and newer.states and not (older.orders or newer.adds or older.conditional or newer.conditional):
        yield from found


def _by_difference(older: Claim, newer: Claim, overlap: float) -> Iterable[Contradiction]:
    """Yield the kind of difference between two claims with this overlap."""
    if overlap >= SAME_FACT and _both_values(older, newer):
        yield Contradiction("former value", overlap)
    enough = (SAME_FRAME, SAME_FACT, SAME_SUBJECT)[len(set(older.order[:2]) & set(newer.order[:2]))]
    if overlap >= enough and _one_subject(older, newer) and opposite(older, newer):
        yield Contradiction("opposite", overlap)
    if (
        overlap >= SAME_BUT_NOT
        and older.negated != newer.negated
        and _denies(older, newer)
        and older.values == newer.values
    ):
        yield Contradiction("negated", overlap)
    if overlap >= SAME_FRAME and _only_value(older, newer) and older.has_verb:
        yield Contradiction("value", overlap)


def _both_values(older: Claim, newer: Claim) -> bool:
    """Tell whether the newer claim gives the older one's number as past, and another one."""
    new = newer.values - older.values
    if not new or not older.values:
        return False
    numbers = {value for value in older.values if _NUMBER.fullmatch(value)}
    others = any(_NUMBER.fullmatch(value) for value in new)
    return bool(numbers) and others and numbers <= newer.values and newer.past


def _denies(older: Claim, newer: Claim) -> bool:
    """Tell whether one claim negates a word of the other."""
    return any((one.denied & other.words) - other.denied for one, other in ((older, newer), (newer, older)))


def _only_value(older: Claim, newer: Claim) -> bool:
    """Tell whether two claims have all words in common except those of a value."""
    gone, new = older.values - newer.values, newer.values - older.values
    if not gone or not new:
        return False
    # Two numbers are a measurement and its condition, a name with a number is another thing ("svc-2 has 3").
    if max(sum(any(map(str.isdigit, one)) for one in side) for side in (gone, new)) > 1:
        return False
    former, later = words_of(" ".join(gone)), words_of(" ".join(new))
    # The first token is the subject, not a value.
    if older.order[0] in former or newer.order[0] in later:
        return False
    return older.words - former == newer.words - later


def _same_subject(older: Claim, newer: Claim) -> bool:
    return bool(set(older.order[:2]) & set(newer.order[:2]))


def _one_subject(older: Claim, newer: Claim) -> bool:
    """Tell whether the first word of one claim is among the first of the other."""
    return older.order[0] in newer.order[:LEADING] or newer.order[0] in older.order[:LEADING]


def _is_current_fact(older: Claim, newer: Claim) -> bool:
    """Tell whether a claim states a fact that is new since the other one, and no general rule."""
    return _same_subject(older, newer) or any(one.rule == "now" for one in newer.ended)


def _have_distinct_values(older: Claim, newer: Claim) -> bool:
    """Tell whether each claim has a value that the other lacks."""
    return bool(older.values - newer.values and newer.values - older.values)


def _other_version(older: Claim, newer: Claim) -> bool:
    """Tell whether both state different versions of one thing."""
    return any(
        name == other and version != later
        for name, version in older.versions
        for other, later in newer.versions
    )

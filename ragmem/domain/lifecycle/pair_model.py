"""Relate two statements by trained weights: one supersedes, repeats or refines the other, or is distinct.

A multinomial regression reads how the words of the two align: what is kept, inserted and replaced, whether a
number or a name changes its value, and whether both begin with the same subject. It needs no model of
meaning and no dates. `scripts/train_pairs.py` makes the weights; docs/benchmarks.md tells what they reach
on repositories that they were not trained on.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from ragmem.domain.classification.judge import softmax
from ragmem.domain.text.keywords import is_stop_word

WEIGHTS = Path(__file__).with_name("pair_model.json")

RELATIONS = ("supersedes", "same", "refines", "distinct")

MAX_WORDS = 120
"""Words of each statement that are aligned: those of the training are hardly longer."""

SUBJECT_WORDS = 5
"""First words of a statement, among which a bare number or letter is a part of a name ("proxy 2")."""

HARM = 2.0
"""What hiding a distinct statement costs, beside 1 for leaving a superseded one in sight."""

MOST = 4
"""Highest count of words of one sort as an input."""

KEPT = 1_024
"""Statements, and words, of which what was read is kept: one is compared with many."""

_WORD = re.compile(r"\w+(?:['\u2019./:@_+-]+\w+)*")
_NAME = re.compile(r"[/\\.:@_-]|[a-z][A-Z]|^[A-Z]{2}|^[A-Z]$|\d")
_ORDINAL = re.compile(r"[A-Z]{0,6}\d+(?:\.\d+)?|[A-Z]|\w+[-_]\d+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DATE = re.compile(r"(?:19|20)\d\d(?:[-/.]\d\d){0,2}")
_LABEL = re.compile(r"\W*(?:\*\*(.+?)\*\*|`([^`]+)`|\|([^|]+)\||([^:]{2,40}):)")
_LETTERS = re.compile(r"[^\W\d]{2}")
_CORRECTION = re.compile(r"\W*(?:correction|corrected|erratum)\b[^:\n]{0,20}:", re.IGNORECASE)
_DENIED = re.compile(r"(?:\b(?:not|no longer)|n['\u2019]t)\s+(.{1,80}?)(?=\s+but\b|[.;,](?:\s|$)|$)")
_TICK = re.compile("[~\u2713\u2705]")
_STATUS = frozenset(
    """
    done complete completed closed shipped deferred superseded obsolete deprecated removed now longer moved
    renamed replaced fixed merged implemented landed published dropped retired missing open pending planned
    todo progress blocked
    """.split()
)
"""Words that tell where a thing stands."""

_OPEN = frozenset(
    """
    awaiting blocked coming deferred draft gap missing next open pending planned planning progress remain
    remaining remains todo upcoming will wip yet
    """.split()
)
"""Words that tell that a thing is not done."""

_Sort = Literal["number", "name", "word"]


@dataclass(frozen=True, slots=True)
class Step:
    """A difference of two statements: the words `older` became the words `newer`, after `place` words."""

    older: tuple[str, ...]
    newer: tuple[str, ...]
    place: int
    after_word: bool
    """Whether only white space separates it from the word before."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two statements, their words, and the differences in the order of the older one's words."""

    texts: tuple[str, str]
    older: tuple[str, ...]
    newer: tuple[str, ...]
    kept: int
    prefix: int
    """Number of equal words at the beginning."""
    steps: tuple[Step, ...]

    @property
    def replaced(self) -> list[Step]:
        """The differences with words on both sides."""
        return [step for step in self.steps if step.older and step.newer]

    @property
    def values(self) -> list[Step]:
        """The differences that replace a number or a name with another one."""
        return [step for step in self.replaced if _has_value(step.older) and _has_value(step.newer)]

    @property
    def is_of_one_thing(self) -> bool:
        """Return whether both speak of the same thing, as far as words show.

        Both begin with the same word of substance, and no date differs and no number or letter of a subject
        ("proxy 2"). More than one value differs only where nothing else does and both have the same label: a
        measurement at another size has two.
        """
        first, other = (_substance(words)[:1] for words in (self.older, self.newer))
        others = any(
            (step.place < SUBJECT_WORDS and step.after_word and all(map(_is_bare, (step.older, step.newer))))
            or all(map(_has_date, (step.older, step.newer)))
            for step in self.replaced
        )
        label, same = map(_label, self.texts)
        values = len(self.values)
        few = values < 2 or (values == len(self.steps) and label == same != "")
        return first == other and few and not others

    @property
    def has_other_name(self) -> bool:
        """Return whether both begin with a name, and not with the same one ("search-service ...")."""
        first, other = (_substance(words)[:1] for words in (self.older, self.newer))
        named = all(words and _NAME.search(words[0]) for words in (first, other))
        return named and first != other


@dataclass(frozen=True, slots=True)
class Weights:
    """The trained weights: `values[name]` of an input, one for each of RELATIONS, after `bias`.

    The older one is marked from the probability `mark` of *supersedes* on, and hidden from `hide` on of that
    probability less HARM times the one of *distinct*.
    """

    bias: tuple[float, ...]
    values: Mapping[str, tuple[float, ...]]
    hide: float
    mark: float


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The probabilities of RELATIONS, and what follows from them for the older statement.

    It `hides` where the newer one supersedes it with room to spare, and `marks` where it probably does.
    """

    probabilities: Mapping[str, float]
    hides: bool
    marks: bool

    @property
    def supersedes(self) -> float:
        """The probability that the newer statement makes the older one untrue or obsolete."""
        return self.probabilities["supersedes"]

    @property
    def certainty(self) -> float:
        """The same, and 1 more where it hides."""
        return self.supersedes + self.hides


@cache
def load_weights() -> Weights:
    """Return the weights that ragmem ships."""
    document = json.loads(WEIGHTS.read_bytes())
    scale = document["scale"]
    values = {name: tuple(each / scale for each in row) for name, row in document["weights"].items()}
    return Weights(
        tuple(each / scale for each in document["bias"]), values, document["hide"], document["mark"]
    )


def relate(older: str, newer: str, *, weights: Weights | None = None) -> PairVerdict:
    """Relate two statements of one project, of which the first is older; takes less than a millisecond.

    A statement is a sentence, an item of a list, a row or a short note, without the heading above it.
    """
    weights = weights or load_weights()
    alignment = align(older, newer)
    logits = list(weights.bias)
    for name, value in inputs(alignment).items():
        if value:
            for place, weight in enumerate(weights.values.get(name, ())):
                logits[place] += weight * value
    probabilities = dict(zip(RELATIONS, softmax(logits), strict=True))
    changed = bool(alignment.steps)
    room = probabilities["supersedes"] - HARM * probabilities["distinct"]
    return PairVerdict(
        probabilities,
        hides=changed and room >= weights.hide and alignment.is_of_one_thing,
        marks=changed
        and (
            (probabilities["supersedes"] >= weights.mark and not alignment.has_other_name)
            or corrects(older, newer)
        ),
    )


def corrects(older: str, newer: str) -> bool:
    """Return whether a statement calls itself a correction, and denies something that the older one says."""
    if not _CORRECTION.match(newer):
        return False
    denied = _stems(word for part in _DENIED.findall(newer.lower()) for word in words_of(part))
    return not denied.isdisjoint(_stems(words_of(older.lower())))


@lru_cache(KEPT)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words, numbers and names of a statement, each name as a whole."""
    return tuple(_WORD.findall(text)[:MAX_WORDS])


def align(older: str, newer: str) -> Alignment:
    """Align the words of two statements, regardless of case and punctuation."""
    former, later = words_of(older), words_of(newer)
    matcher = SequenceMatcher(None, _lowered(former), _lowered(later), autojunk=False)
    steps = matcher.get_opcodes()
    joined = _are_joined(older)
    return Alignment(
        (older, newer),
        former,
        later,
        sum(end - start for tag, start, end, _, _ in steps if tag == "equal"),
        steps[0][2] if steps and steps[0][0] == "equal" else 0,
        tuple(
            Step(
                former[start:end], later[begin:stop], start, after_word=start < len(joined) and joined[start]
            )
            for tag, start, end, begin, stop in steps
            if tag != "equal"
        ),
    )


def inputs(alignment: Alignment) -> dict[str, float]:
    """Return name -> value of the inputs of the model; all lie between -2 and some 10."""
    older, newer = alignment.older, alignment.newer
    size, other_size = max(1, len(older)), max(1, len(newer))
    old, new = {word.lower() for word in older}, {word.lower() for word in newer}
    gone, come = old - new, new - old
    lost, found = _stems(gone), _stems(come)
    replaced, values = alignment.replaced, alignment.values
    inserted = bool(alignment.steps) and not any(step.older for step in alignment.steps)
    labels = [_label(text) for text in alignment.texts]
    begins, starts = _substance(older), _substance(newer)
    result = {
        "kept": alignment.kept / size,
        "replaced": sum(len(step.older) for step in replaced) / size,
        "replacing": sum(len(step.newer) for step in replaced) / other_size,
        "common words": len(old & new) / max(1, len(old | new)),
        "one replacement": float(len(alignment.steps) == 1 == len(replaced)),
        "only inserted": float(inserted),
        "only added": float(inserted and alignment.prefix == len(older)),
        "equal beginning": math.log1p(alignment.prefix),
        "growth": max(-2.0, min(2.0, math.log(other_size / size))),
        "length": math.log(size),
        "length of the newer": math.log(other_size),
        "gone": math.log1p(len(gone)),
        "come": math.log1p(len(come)),
        "share gone": len(gone) / size,
        "share come": len(come) / other_size,
        "substance gone": math.log1p(len(lost - found)),
        "substance come": math.log1p(len(found - lost)),
        "no substance come": float(not found - lost),
        "value for a value": float(bool(values)),
        "one value for another": float(len(values) == 1 == len(alignment.steps)),
        "value in the subject": float(any(step.place < 3 for step in values)),
        "number of the subject": float(
            any(step.place < 3 and _is_numbered(step.older) and _is_numbered(step.newer) for step in replaced)
        ),
        "number rises": float(any(map(_rises, replaced))),
        "status come": float(not come.isdisjoint(_STATUS)),
        "open status gone": float(not gone.isdisjoint(_OPEN)),
        "tick come": float(len(_ticks(alignment.texts[1]) - _ticks(alignment.texts[0])) > 0),
        "same label": float(bool(labels[0]) and labels[0] == labels[1]),
        "other label": float(bool(labels[0]) and bool(labels[1]) and labels[0] != labels[1]),
        "same two words": float(begins[:2] == starts[:2]),
        "same three words": float(begins[:3] == starts[:3]),
        "table row": float(alignment.texts[0].lstrip().startswith("|")),
        "question": float(any(text.rstrip().endswith("?") for text in alignment.texts)),
    }
    dropped, added = _by_sort(older, gone), _by_sort(newer, come)
    every = _by_sort(older, old)
    for sort in ("number", "name", "word"):
        result[f"{sort} come"] = float(min(MOST, added[sort]))
        result[f"{sort} gone"] = float(min(MOST, dropped[sort]))
        result[f"{sort} gone and come"] = float(bool(dropped[sort] and added[sort]))
        result[f"{sort} kept"] = 1 - dropped[sort] / every[sort] if every[sort] else 0.5
    return result


def _lowered(words: Iterable[str]) -> list[str]:
    return [word.lower() for word in words]


@lru_cache(KEPT)
def _are_joined(text: str) -> tuple[bool, ...]:
    """Return for each word of a text whether only white space separates it from the word before."""
    found = []
    end = 0
    for word in _WORD.finditer(text):
        found.append(end > 0 and text[end : word.start()].isspace())
        end = word.end()
    return tuple(found)


@lru_cache(KEPT)
def _sort(word: str) -> _Sort:
    if any(map(str.isdigit, word)) and not _LETTERS.search(word):
        return "number"
    return "name" if _NAME.search(word) else "word"


def _by_sort(words: Iterable[str], chosen: set[str]) -> Mapping[_Sort, int]:
    counts: dict[_Sort, int] = {"number": 0, "name": 0, "word": 0}
    for word in {low: word for word in words if (low := word.lower()) in chosen}.values():
        counts[_sort(word)] += 1
    return counts


def _has_value(words: Sequence[str]) -> bool:
    return any(_sort(word) != "word" for word in words)


def _has_date(words: Sequence[str]) -> bool:
    return any(_DATE.fullmatch(word) for word in words)


def _is_numbered(words: Sequence[str]) -> bool:
    return any(_ORDINAL.fullmatch(word) for word in words)


def _rises(step: Step) -> bool:
    """Return whether the only difference is that a number grew."""
    words = (*step.older, *step.newer)
    return len(words) == 2 and all(map(_NUMBER.fullmatch, words)) and float(words[0]) < float(words[1])


def _is_bare(words: Sequence[str]) -> bool:
    """Return whether the first word is a number or a letter alone."""
    return words[0].isdigit() or len(words[0]) == 1


def _stems(words: Iterable[str]) -> set[str]:
    return {
        word[:-1] if word.endswith("s") and len(word) > 3 else word
        for word in words
        if not is_stop_word(word)
    }


def _substance(words: Iterable[str]) -> list[str]:
    """Return the first words that are no stop words, in lower case."""
    found = []
    for word in words:
        if not is_stop_word(word.lower()):
            found.append(word.lower())
            if len(found) == 3:
                break
    return found


@lru_cache(KEPT)
def _label(text: str) -> str:
    """Return what a statement begins with in bold, as code, in a table's cell or before a colon; or ""."""
    match = _LABEL.match(text)
    return next((part for part in match.groups() if part), "").strip().lower() if match else ""


def _ticks(text: str) -> set[str]:
    return set(_TICK.findall(text))

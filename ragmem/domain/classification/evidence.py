"""What speaks for keeping a text and what against it, word by word."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ragmem.domain.classification.evidence_cues import (
    BLANK,
    CODE_LINE,
    COMMON,
    ERRANDS,
    FOREIGN_WORDS,
    HEADINGS,
    NAME,
    NAMED,
    NOTICE,
    NUMBER,
    OUTPUT_LINE,
    PROGRESS,
    PROPER,
    QUOTED_SENTENCE,
    REQUEST,
    SHAPES,
    VERBS,
    WORDS,
    Sort,
)
from ragmem.domain.classification.protection import protecting
from ragmem.domain.text.blocks import Block, Form, units

MAX_CHARS = 20_000
"""Characters that are read: what a text is worth shows in its beginning, and a judgement stays cheap."""

MAX_UNIT_CHARS = 2_000
"""Characters of one sentence that are read: a longer one is data."""

ENOUGH_WORDS = 15
"""A text that states something in fewer words says little."""

FOREIGN_LETTERS = 0.05
"""From so many letters a word that English does not have, a text with few English words is in no English."""

ENGLISH_WORDS = 0.15
"""The share of small words below which a text is hardly English: in English it is 0.3 to 0.5."""

SMALL_FOREIGN_WORDS = 0.15
"""The share of small words of other languages from which a text is in one, if it has fewer English ones."""

QUOTED_WORDS = 4
"""Words by which an explanation quotes a sentence or a line."""

QUOTED_CHARS = 40

_ASIDE = frozenset({Sort.CHATTER, Sort.EXHORTATION, Sort.PROMPT, Sort.PASSING})
"""What counts in sentences, too, that tell of work or ask for it."""

_TELLING = (Sort.DECISION, Sort.CAUSE, Sort.FIX, Sort.FINDING)
"""What says enough in a few words."""

_STOPS = ".!?;:|("
_TOKEN = re.compile(rf"[^\W\d_]+(?:'[^\W\d_]+)?(?:-[^\W\d_]+)*|[{re.escape(_STOPS)}]")
"""Words, and the marks that end a phrase."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_FOREIGN = re.compile(r"[^\W\d_a-zA-Z]")
_OPENING = re.compile(
    r"(?:[-*+]|\d{1,4}[.)])?\s*(?:\[[ xX]\])?[\s*_]*(?:(?:then|now|first,?|next,?|also) )?([a-z]+)\b(?!:)"
)
_INLINE_CODE = re.compile(r"`[^`\n]{2,80}`")
_MARKS = ".,;:!?()[]{}\"'*_“”‘’"  # noqa: RUF001
_ALTERNATIVES = re.compile(r"[^\W\d_]+/[^\W\d_]+")
"""Two words with a slash between them: either of them, and no path."""
_CHECKBOX = re.compile(r"[-*+] \[[ xX]\]|[✅☑]")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a text is worth more or less: a sort, what it weighs in all, and the words that it was found by."""

    sort: Sort
    weight: float
    words: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """What was found in a text: per sort the different words, and how many units are of that sort."""

    said: dict[Sort, dict[str, None]] = field(default_factory=lambda: {sort: {} for sort in Sort})
    units: dict[Sort, int] = field(default_factory=lambda: dict.fromkeys(Sort, 0))
    total: int = 0
    words: int = 0
    common: int = 0
    """Those words that English sentences are full of."""
    foreign: int = 0
    """Letters that English does not have."""
    small_foreign: int = 0
    """Those words that sentences of other languages are full of."""
    specific: bool = False
    """Whether it has numbers, acronyms or proper names."""

    def note(self, sort: Sort, words: Iterable[str]) -> None:
        self.said[sort].update(dict.fromkeys(words))

    def count(self, sort: Sort, words: str) -> None:
        self.units[sort] += 1
        self.note(sort, (words,))


def weigh(text: str) -> tuple[Evidence, ...]:
    """Return all that speaks for a text, then all that speaks against it.

    Each sentence, list item, row and line is read for itself: what is at work ("let me check"), asks for
    something, or was printed by a program, states nothing, whatever its words. Reads the first 20,000
    characters, in time that is linear in them.
    """
    read = text.strip()[:MAX_CHARS]
    reading = _read(read)
    found = [*_by_words(reading), *_by_shape(read, reading)]
    return tuple(sorted(found, key=lambda item: item.weight < 0))


def _by_words(reading: _Reading) -> Iterator[Evidence]:
    """Yield what the different words say that were found."""
    for sort, cues in WORDS.items():
        words = tuple(reading.said[sort])[: cues.most]
        if words:
            yield Evidence(sort, cues.weight * len(words), words)
    if names := tuple(reading.said[Sort.NAMES])[: NAMED.most]:
        yield Evidence(Sort.NAMES, NAMED.weight * len(names), names)


def _by_shape(read: str, reading: _Reading) -> Iterator[Evidence]:
    """Yield what the shape of a text and of its parts says."""
    foreign = _is_foreign(reading)
    if protecting_words := protecting(read):
        yield _shaped(Sort.PROTECTED, 1, protecting_words)
    else:
        if reading.words < ENOUGH_WORDS and not any(reading.said[sort] for sort in _TELLING):
            yield _shaped(Sort.LITTLE, 1 - reading.words / ENOUGH_WORDS, (f"{reading.words} words",))
        if not reading.said[Sort.NAMES] and not reading.specific and not foreign:
            yield _shaped(Sort.VAGUE, 1)
    if foreign:
        yield _shaped(Sort.FOREIGN, 1)
    if telling := reading.said[Sort.TELLING_HEADING]:
        yield _shaped(Sort.TELLING_HEADING, 1, telling)
    if notice := NOTICE.match(read):
        yield _shaped(Sort.NOTICE, 1, (notice.group(),))
    if blanks := dict.fromkeys(found.group() for found in BLANK.finditer(read)):
        yield _shaped(Sort.BLANKS, min(2, len(blanks)), blanks)
    for sort, count in reading.units.items():
        if count:
            yield _shaped(sort, 1 if sort is Sort.ERRAND else count / reading.total, reading.said[sort])


def _is_foreign(reading: _Reading) -> bool:
    """Tell whether a text is in another language, by its letters or by its small words."""
    if reading.foreign > reading.words * FOREIGN_LETTERS and reading.common < reading.words * ENGLISH_WORDS:
        return True
    return reading.small_foreign > max(1, reading.common, reading.words * SMALL_FOREIGN_WORDS)


def _shaped(sort: Sort, share: float, words: Iterable[str] = ()) -> Evidence:
    return Evidence(sort, round(SHAPES[sort] * share, 1), tuple(words)[:3])


def _read(read: str) -> _Reading:
    """Return what the units of a text hold."""
    reading = _Reading()
    listed = list(units(read))
    for place, (block, start, end) in enumerate(listed):
        unit = read[start : min(end, start + MAX_UNIT_CHARS)]
        low = unit.lower().replace("’", "'")  # noqa: RUF001
        if block.form is Form.HEADING:
            for sort, pattern in HEADINGS.items():
                reading.note(sort, (found.group() for found in pattern.finditer(low)))
            continue
        reading.total += 1
        names = list(_names(unit))
        if OUTPUT_LINE.match(unit) and not QUOTED_SENTENCE.match(unit):
            reading.count(Sort.OUTPUT, _quoted(unit))
        elif block.form is Form.FENCE or CODE_LINE.match(unit) or unit[-1] in ";{}":
            reading.count(Sort.CODE, _quoted(unit))
            reading.note(Sort.NAMES, names)
        elif aside := _aside(low, last=place == len(listed) - 1):
            reading.count(*aside)
            for sort, said in _cues(_TOKEN.findall(low)):
                if sort in _ASIDE:
                    reading.note(sort, (said,))
        else:
            _read_statement(block, unit, low, names, reading, first=place == 0)
    return reading


def _aside(low: str, *, last: bool) -> tuple[Sort, str] | None:
    """Return whether a sentence tells of work or asks for something, and the words that say so."""
    if found := PROGRESS.search(low):
        return Sort.PROGRESS, found.group()
    if last and low.endswith(":"):
        # What it announces was done, and not said.
        return Sort.PROGRESS, _quoted(low)
    if found := REQUEST.search(low):
        return Sort.REQUEST, found.group()
    return None


def _read_statement(
    block: Block, unit: str, low: str, names: list[str], reading: _Reading, *, first: bool
) -> None:
    """Take in a sentence that states or orders something."""
    opening = _OPENING.match(low)
    verb = opening.group(1) if opening else ""
    if first and block.form is Form.PARAGRAPH and verb in ERRANDS:
        reading.count(Sort.ERRAND, _quoted(low))
    elif verb in VERBS and not names:
        reading.count(Sort.ORDER, _quoted(low))
    if _CHECKBOX.match(unit):
        reading.note(Sort.PASSING, ("[ ]",))
    tokens = _TOKEN.findall(low)
    reading.words += len(tokens) - sum(map(tokens.count, _STOPS))
    reading.common += sum(map(COMMON.__contains__, tokens))
    reading.small_foreign += sum(map(FOREIGN_WORDS.__contains__, tokens))
    if not unit.isascii():
        reading.words += len(_UNSPACED.findall(unit)) // 2
        reading.foreign += len(_FOREIGN.findall(unit))
    reading.note(Sort.NAMES, names)
    reading.specific = reading.specific or (PROPER.search(unit) or NUMBER.search(unit)) is not None
    for sort, said in _cues(tokens):
        reading.note(sort, (said,))


def _names(unit: str) -> Iterator[str]:
    """Yield the identifiers, paths, options and quoted code of a sentence."""
    if "`" in unit:
        yield from _INLINE_CODE.findall(unit)
        unit = _INLINE_CODE.sub(" ", unit)
    for word in unit.split():
        if word.isalpha() and word.islower():
            continue
        bare = word.strip(_MARKS)
        # Nearly all words are plain ones, which no pattern has to look at.
        if bare.isalpha() and (bare[1:].islower() or bare.isupper()):
            continue
        if (found := NAME.search(word)) and not _ALTERNATIVES.fullmatch(found.group()):
            yield found.group()


def _quoted(unit: str) -> str:
    return " ".join(unit[:QUOTED_CHARS].split()[:QUOTED_WORDS])


def _phrases() -> dict[str, list[tuple[tuple[str, ...], Sort, str]]]:
    """Return the phrases of all sorts by their first word, the longest first."""
    by_first: dict[str, list[tuple[tuple[str, ...], Sort, str]]] = {}
    for sort, cues in WORDS.items():
        for phrase in cues.words.split(","):
            said = " ".join(phrase.split())
            tokens = tuple(_TOKEN.findall(said))
            by_first.setdefault(tokens[0], []).append((tokens, sort, said))
    for phrases in by_first.values():
        phrases.sort(key=lambda item: -len(item[0]))
    return by_first


_PHRASES = _phrases()


def _cues(tokens: list[str]) -> Iterator[tuple[Sort, str]]:
    """Yield the phrases among the words of a sentence with their sorts; where several begin, the longest."""
    after = 0
    for at, token in enumerate(tokens):
        if token not in _PHRASES or at < after:
            continue
        for phrase, sort, said in _PHRASES[token]:
            if tuple(tokens[at : at + len(phrase)]) == phrase:
                yield sort, said
                after = at + len(phrase)
                break

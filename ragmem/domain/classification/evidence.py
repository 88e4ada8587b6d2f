"""Weigh the evidence for and against keeping a text, word by word."""

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
    EvidenceType,
)
from ragmem.domain.classification.protection import protection_reasons
from ragmem.domain.text.blocks import Block, BlockType, units

MAX_CHARS = 20_000
"""Characters that are read: the beginning shows the value of a text, and classification stays cheap."""

MAX_UNIT_CHARS = 2_000
"""Characters of one sentence that are read; a longer one is data."""

ENOUGH_WORDS = 15
"""A text that states something in fewer words is too short."""

FOREIGN_LETTERS = 0.05
"""Share of non-English letters from which a text with few English words counts as foreign."""

ENGLISH_WORDS = 0.15
"""Share of common words below which a text is hardly English; English has 0.3 to 0.5."""

SMALL_FOREIGN_WORDS = 0.15
"""Share of common foreign words from which a text counts as foreign, if it has fewer English ones."""

QUOTED_WORDS = 4
"""Number of words that an explanation quotes from a sentence or a line."""

QUOTED_CHARS = 40

_ASIDE = frozenset(
    {EvidenceType.CHATTER, EvidenceType.EXHORTATION, EvidenceType.PROMPT, EvidenceType.PASSING}
)
"""Evidence that also counts in sentences that report progress or make a request."""

_TELLING = (EvidenceType.DECISION, EvidenceType.CAUSE, EvidenceType.FIX, EvidenceType.FINDING)
"""Evidence that is enough in a short text."""

_STOPS = ".!?;:|("
_TOKEN = re.compile(rf"[^\W\d_]+(?:'[^\W\d_]+)?(?:-[^\W\d_]+)*|[{re.escape(_STOPS)}]")
"""Words and the marks that end a phrase."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_FOREIGN = re.compile(r"[^\W\d_a-zA-Z]")
_OPENING = re.compile(
    r"(?:[-*+]|\d{1,4}[.)])?\s*(?:\[[ xX]\])?[\s*_]*(?:(?:then|now|first,?|next,?|also) )?([a-z]+)\b(?!:)"
)
_INLINE_CODE = re.compile(r"`[^`\n]{2,80}`")
_MARKS = ".,;:!?()[]{}\"'*_“”‘’"  # noqa: RUF001
_ALTERNATIVES = re.compile(r"[^\W\d_]+/[^\W\d_]+")
"""Two words with a slash between them are alternatives, not a path."""
_CHECKBOX = re.compile(r"[-*+] \[[ xX]\]|[✅☑]")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of evidence: its type, its total weight, and the words that gave it."""

    sort: EvidenceType
    weight: float
    words: tuple[str, ...] = ()


@dataclass(slots=True)
class _Findings:
    """The evidence of a text: the distinct words of each type, and the number of units of each type."""

    said: dict[EvidenceType, dict[str, None]] = field(
        default_factory=lambda: {sort: {} for sort in EvidenceType}
    )
    units: dict[EvidenceType, int] = field(default_factory=lambda: dict.fromkeys(EvidenceType, 0))
    total: int = 0
    words: int = 0
    common: int = 0
    """Number of common English words."""
    foreign: int = 0
    """Number of letters that English does not use."""
    small_foreign: int = 0
    """Number of common words of other languages."""
    specific: bool = False
    """Whether the text has numbers, acronyms or proper names."""

    def note(self, sort: EvidenceType, words: Iterable[str]) -> None:
        self.said[sort].update(dict.fromkeys(words))

    def count(self, sort: EvidenceType, words: str) -> None:
        self.units[sort] += 1
        self.note(sort, (words,))


def weigh(text: str) -> tuple[Evidence, ...]:
    """Return all evidence for a text, then all evidence against it.

    Each sentence, list item, row and line is classified on its own. A unit that reports progress ("let me
    check"), makes a request, or was printed by a program states nothing, whatever its words. Reads the first
    20,000 characters in linear time.
    """
    read = text.strip()[:MAX_CHARS]
    reading = _read(read)
    found = [*_by_words(reading), *_by_shape(read, reading)]
    return tuple(sorted(found, key=lambda item: item.weight < 0))


def _by_words(reading: _Findings) -> Iterator[Evidence]:
    """Yield the evidence of the distinct words."""
    for sort, cues in WORDS.items():
        words = tuple(reading.said[sort])[: cues.most]
        if words:
            yield Evidence(sort, cues.weight * len(words), words)
    if names := tuple(reading.said[EvidenceType.NAMES])[: NAMED.most]:
        yield Evidence(EvidenceType.NAMES, NAMED.weight * len(names), names)


def _by_shape(read: str, reading: _Findings) -> Iterator[Evidence]:
    """Yield the evidence of the shape of a text and of its units."""
    foreign = _is_foreign(reading)
    if protecting_words := protection_reasons(read):
        yield _shape_evidence(EvidenceType.PROTECTED, 1, protecting_words)
    else:
        if reading.words < ENOUGH_WORDS and not any(reading.said[sort] for sort in _TELLING):
            yield _shape_evidence(
                EvidenceType.LITTLE, 1 - reading.words / ENOUGH_WORDS, (f"{reading.words} words",)
            )
        if not reading.said[EvidenceType.NAMES] and not reading.specific and not foreign:
            yield _shape_evidence(EvidenceType.VAGUE, 1)
    if foreign:
        yield _shape_evidence(EvidenceType.FOREIGN, 1)
    if telling := reading.said[EvidenceType.TELLING_HEADING]:
        yield _shape_evidence(EvidenceType.TELLING_HEADING, 1, telling)
    if notice := NOTICE.match(read):
        yield _shape_evidence(EvidenceType.NOTICE, 1, (notice.group(),))
    if blanks := dict.fromkeys(found.group() for found in BLANK.finditer(read)):
        yield _shape_evidence(EvidenceType.BLANKS, min(2, len(blanks)), blanks)
    for sort, count in reading.units.items():
        if count:
            yield _shape_evidence(
                sort, 1 if sort is EvidenceType.ERRAND else count / reading.total, reading.said[sort]
            )


def _is_foreign(reading: _Findings) -> bool:
    """Tell whether a text is in another language, by its letters or its common words."""
    if reading.foreign > reading.words * FOREIGN_LETTERS and reading.common < reading.words * ENGLISH_WORDS:
        return True
    return reading.small_foreign > max(1, reading.common, reading.words * SMALL_FOREIGN_WORDS)


def _shape_evidence(sort: EvidenceType, share: float, words: Iterable[str] = ()) -> Evidence:
    return Evidence(sort, round(SHAPES[sort] * share, 1), tuple(words)[:3])


def _read(read: str) -> _Findings:
    """Collect the evidence of all units of a text."""
    reading = _Findings()
    listed = list(units(read))
    for place, (block, start, end) in enumerate(listed):
        unit = read[start : min(end, start + MAX_UNIT_CHARS)]
        low = unit.lower().replace("’", "'")  # noqa: RUF001
        if block.form is BlockType.HEADING:
            for sort, pattern in HEADINGS.items():
                reading.note(sort, (found.group() for found in pattern.finditer(low)))
            continue
        reading.total += 1
        names = list(_names(unit))
        if OUTPUT_LINE.match(unit) and not QUOTED_SENTENCE.match(unit):
            reading.count(EvidenceType.OUTPUT, _quotation(unit))
        elif block.form is BlockType.FENCE or CODE_LINE.match(unit) or unit[-1] in ";{}":
            reading.count(EvidenceType.CODE, _quotation(unit))
            reading.note(EvidenceType.NAMES, names)
        elif aside := _non_statement(low, last=place == len(listed) - 1):
            reading.count(*aside)
            for sort, said in _cues(_TOKEN.findall(low)):
                if sort in _ASIDE:
                    reading.note(sort, (said,))
        else:
            _read_statement(block, unit, low, names, reading, first=place == 0)
    return reading


def _non_statement(low: str, *, last: bool) -> tuple[EvidenceType, str] | None:
    """Return whether a sentence reports progress or makes a request, with the words that show it."""
    if found := PROGRESS.search(low):
        return EvidenceType.PROGRESS, found.group()
    if last and low.endswith(":"):
        # The sentence announces an action, not a statement.
        return EvidenceType.PROGRESS, _quotation(low)
    if found := REQUEST.search(low):
        return EvidenceType.REQUEST, found.group()
    return None


def _read_statement(
    block: Block, unit: str, low: str, names: list[str], reading: _Findings, *, first: bool
) -> None:
    """Collect the evidence of a sentence that states or orders something."""
    opening = _OPENING.match(low)
    verb = opening.group(1) if opening else ""
    if first and block.form is BlockType.PARAGRAPH and verb in ERRANDS:
        reading.count(EvidenceType.ERRAND, _quotation(low))
    elif verb in VERBS and not names:
        reading.count(EvidenceType.ORDER, _quotation(low))
    if _CHECKBOX.match(unit):
        reading.note(EvidenceType.PASSING, ("[ ]",))
    tokens = _TOKEN.findall(low)
    reading.words += len(tokens) - sum(map(tokens.count, _STOPS))
    reading.common += sum(map(COMMON.__contains__, tokens))
    reading.small_foreign += sum(map(FOREIGN_WORDS.__contains__, tokens))
    if not unit.isascii():
        reading.words += len(_UNSPACED.findall(unit)) // 2
        reading.foreign += len(_FOREIGN.findall(unit))
    reading.note(EvidenceType.NAMES, names)
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
        # Plain words are by far the most frequent; skip the patterns for them.
        if bare.isalpha() and (bare[1:].islower() or bare.isupper()):
            continue
        if (found := NAME.search(word)) and not _ALTERNATIVES.fullmatch(found.group()):
            yield found.group()


def _quotation(unit: str) -> str:
    return " ".join(unit[:QUOTED_CHARS].split()[:QUOTED_WORDS])


def _phrases() -> dict[str, list[tuple[tuple[str, ...], EvidenceType, str]]]:
    """Return the phrases of all types by their first word, the longest first."""
    by_first: dict[str, list[tuple[tuple[str, ...], EvidenceType, str]]] = {}
    for sort, cues in WORDS.items():
        for phrase in cues.words.split(","):
            said = " ".join(phrase.split())
            tokens = tuple(_TOKEN.findall(said))
            by_first.setdefault(tokens[0], []).append((tokens, sort, said))
    for phrases in by_first.values():
        phrases.sort(key=lambda item: -len(item[0]))
    return by_first


_PHRASES = _phrases()


def _cues(tokens: list[str]) -> Iterator[tuple[EvidenceType, str]]:
    """Yield the phrases in a sentence with their types; of several at one word, the longest."""
    after = 0
    for at, token in enumerate(tokens):
        if token not in _PHRASES or at < after:
            continue
        for phrase, sort, said in _PHRASES[token]:
            if tuple(tokens[at : at + len(phrase)]) == phrase:
                yield sort, said
                after = at + len(phrase)
                break

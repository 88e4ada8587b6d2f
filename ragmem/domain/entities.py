"""Where a statement names entities: by code, by words whose form proves it, and by proper names."""

import re
from dataclasses import dataclass
from functools import lru_cache

from ragmem.domain.blocks import Form
from ragmem.domain.forms import (
    KNOWN_WEIGHT,
    MAX_NAME_CHARS,
    MIN_NAME_CHARS,
    NAME_WEIGHT,
    WEAK_WEIGHT,
    classify_code,
    classify_token,
)
from ragmem.domain.names import AMBIGUOUS_NAMES, COMMON_WORDS, KNOWN_NAMES, NAME_STARTERS

MAX_NAME_WORDS = 4
"""A longer run of capitalised words is a title, not a name."""

FENCE_FACTOR = 0.7
"""A line of code repeats its names more than prose does."""

_TOKEN = re.compile(
    r"([a-z][a-z'\u2019-]*(?:\s[a-z][a-z'\u2019-]*)*(?=\s|[.,;:!?)]+(?:\s|$)|$))"  # a run of plain words
    r"|`([^`\n]{1,160})`"
    r"|\[([^\]\n]{1,80})\]\(([^)\s]{1,300})\)"
    r"|[^\s`]+"
)
_AROUND = "\"'*_,;:!?[]{}<>|=\u2014\u2013\u2022\u2192\u201c\u201d\u2018\u2019\u2705\u274c"
_ENDS_SENTENCE = (".", "!", "?", ":", ";", "|")
_ENDS_NAME = (*_ENDS_SENTENCE, ",", ")", "]")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_PROPER = re.compile(r"[A-Z][A-Za-z0-9]*(?:[.&+'\u2019-][A-Za-z0-9]+)*[+#]{0,2}$")
_TAG = re.compile(r"</?[a-zA-Z][\w-]*/?>?$")
_TITLE_SHARE = 0.7
_HYPHENATED = re.compile(r"-[a-z]")
_NEVER_IN_NAMES = frozenset({"config", "event", "version", "error", "model"})
_SINGLE_CAPITALS = 5
"""A longer word in capitals is shouted, not named; shorter ones are acronyms."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a statement names an entity: its span in the statement, its canonical name and type."""

    start: int
    end: int
    name: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a piece of text between blanks tells on its own; `text` is "" where it names nothing."""

    text: str = ""
    offset: int = 0
    alone: tuple[str, str, float] | None = None
    capital: bool = False
    common: bool = False
    opens: bool = False
    ends_name: bool = False
    ends_sentence: bool = False
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Word:
    """A capitalised word that may be a part of a proper name, and what it names on its own, if anything."""

    start: int
    text: str
    alone: tuple[str, str, float] | None
    inside: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def canonical_key(name: str) -> str:
    """Return what two spellings of one entity share: identifiers keep their case, plain names do not."""
    return name if any(mark in name for mark in "_/.$:-") else name.casefold()


def find_mentions(text: str, form: Form) -> list[Mention]:
    """Return the mentions of a statement in order, without overlap; each name has 2 to 80 characters."""
    mentions: list[Mention] = []
    run: list[_Word] = []
    opening = True
    for token in _TOKEN.finditer(text):
        plain, code, label, target = token.groups()
        if plain is not None:
            _close(text, run, mentions, form)
            words = plain.split()
            if not KNOWN_NAMES.keys().isdisjoint(words):
                mentions.extend(_plain_mentions(token.start(), plain))
            opening = False
            continue
        if code is not None or label is not None:
            _close(text, run, mentions, form)
            found = classify_code(code) if code is not None else _linked(label, target)
            if found is not None:
                mentions.append(Mention(token.start(), token.end(), *found))
            opening = False
            continue
        shape = _shape(token.group())
        if shape.text:
            _read(text, token.start(), shape, run=run, mentions=mentions, form=form, opening=opening)
        if run and (shape.ends_name or not shape.text):
            _close(text, run, mentions, form)
        opening = shape.ends_sentence or (opening and not shape.text)
    _close(text, run, mentions, form)
    if form is Form.FENCE:
        return [Mention(m.start, m.end, m.name, m.type, m.weight * FENCE_FACTOR) for m in mentions]
    return mentions


def _plain_mentions(start: int, plain: str) -> list[Mention]:
    """Return the known names in a run of words in small letters."""
    mentions = []
    for found in re.finditer(r"\S+", plain):
        known = KNOWN_NAMES.get(found.group())
        if known and found.group() not in AMBIGUOUS_NAMES:
            mentions.append(Mention(start + found.start(), start + found.end(), *known, KNOWN_WEIGHT))
    return mentions


def _linked(label: str, target: str) -> tuple[str, str, float] | None:
    """Return what a Markdown link names: the file it leads to, else its label where that is a name."""
    path = target.split("#", 1)[0].removeprefix("./")
    if "://" not in path:
        found = classify_token(path)
        if found is not None and found[1] == "file":
            return found
    return classify_code(label.strip("*`_ "))


def _read(
    text: str,
    start: int,
    shape: _Shape,
    *,
    run: list[_Word],
    mentions: list[Mention],
    form: Form,
    opening: bool,
) -> None:
    """Take one word: into the run of capitalised words, or as a mention of its own, or not at all."""
    at = start + shape.offset
    if shape.capital and (run or not (shape.common or (opening and shape.opens))):
        inside = run[0].inside if run else _is_inside(text, start)
        run.append(_Word(at, shape.text, shape.alone, inside))
        return
    _close(text, run, mentions, form)
    for part in shape.parts:
        run.append(_Word(at, part, classify_token(part), _is_inside(text, start)))
        _close(text, run, mentions, form)
        at += len(part) + 1
    if shape.alone is not None and not (opening and shape.opens):
        mentions.append(Mention(at, at + len(shape.text), *shape.alone))


@lru_cache(maxsize=32768)
def _shape(raw: str) -> _Shape:
    """Return the shape of a piece of text between blanks."""
    word = _bare(raw)
    ends_name = raw.rstrip("*_\"'").endswith(_ENDS_NAME)
    ends_sentence = raw.endswith(_ENDS_SENTENCE)
    if not word:
        return _Shape(ends_name=ends_name, ends_sentence=ends_sentence)
    offset = max(raw.find(word), 0)
    parts = tuple(word.split("/"))
    if len(parts) > 1 and all(_PROPER.match(part) for part in parts):
        return _Shape(word, offset, ends_name=ends_name, ends_sentence=ends_sentence, parts=parts)
    alone = classify_token(word)
    lowered = word.lower()
    return _Shape(
        word,
        offset,
        alone,
        capital=bool(_PROPER.match(word)) and (alone is None or alone[1] not in _NEVER_IN_NAMES),
        common=alone is None and lowered in COMMON_WORDS,
        opens=lowered in NAME_STARTERS or lowered in AMBIGUOUS_NAMES,
        ends_name=ends_name,
        ends_sentence=ends_sentence,
    )


def _bare(raw: str) -> str:
    """Return a word without the punctuation around it, or "" where nothing nameable is left."""
    if len(raw) > 2 * MAX_NAME_CHARS or _TAG.match(raw):
        return ""
    word = raw.strip(_AROUND).rstrip(".")
    if word.startswith("("):
        word = word.strip("()" + _AROUND).rstrip(".")
    elif word.endswith(")") and "(" not in word:
        word = word.rstrip(")" + _AROUND).rstrip(".")
    elif "(" in word and ")" not in word:
        word = word.split("(", 1)[0]
    if raw.startswith("__") and word.endswith("__.py"):
        word = f"__{word}"
    word = _POSSESSIVE.sub("", word).strip("~" if not word.startswith("~/") else "")
    return word if any(letter.isalnum() for letter in word) else ""


def _close(text: str, run: list[_Word], mentions: list[Mention], form: Form) -> None:
    """Turn the run of capitalised words into a mention where it is surely a name, and empty it."""
    if not run:
        return
    words = run.copy()
    run.clear()
    name = " ".join(word.text for word in words)
    known = KNOWN_NAMES.get(name.lower())
    if known:
        mentions.append(Mention(words[0].start, words[-1].end, *known, KNOWN_WEIGHT))
    elif len(words) == 1 and words[0].alone is not None:
        mentions.append(Mention(words[0].start, words[0].end, *words[0].alone))
    elif form is not Form.FENCE and _is_name(text, words, name, form):
        weight = NAME_WEIGHT if words[0].inside else WEAK_WEIGHT
        kinds = [word.alone[1] for word in words if word.alone is not None]
        mentions.append(
            Mention(words[0].start, words[-1].end, name, kinds[0] if kinds else "concept", weight)
        )
    else:
        mentions.extend(
            Mention(word.start, word.end, *word.alone) for word in words if word.alone is not None
        )


def _is_name(text: str, words: list[_Word], name: str, form: Form) -> bool:
    """Tell whether a run of capitalised words is surely a name.

    One word is when it stands inside a sentence and is neither common nor shouted. Several are when they
    stand inside a sentence or one of them is a name or an acronym on its own, and they are not too many. In
    headings and titles every word has a capital, so that only what is a name on its own makes a name.
    """
    if len(words) > MAX_NAME_WORDS or not (MIN_NAME_CHARS < len(name) <= MAX_NAME_CHARS):
        return False
    if all(word.text.isupper() for word in words) and len(name) > _SINGLE_CAPITALS:
        return False
    if any(word.alone is not None for word in words):
        return True
    if all(word.text.lower() in COMMON_WORDS for word in words) or form is Form.HEADING or _is_title(text):
        return False
    if len(words) == 1:
        return words[0].inside and not _HYPHENATED.search(name)
    return words[0].inside or any(word.text.isupper() for word in words)


@lru_cache(maxsize=64)
def _is_title(text: str) -> bool:
    """Tell whether most words of a statement begin with a capital, so that a capital says nothing."""
    words = [word for word in text.split() if word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return len(words) > 1 and capitals >= _TITLE_SHARE * len(words)


def _is_inside(text: str, start: int) -> bool:
    """Tell whether a word stands in the middle of a sentence, where a capital letter means a name."""
    before = text[max(0, start - 12) : start].rstrip(" *_\"'(")
    return bool(before) and before[-1] not in ".!?:|-\u2022>\u2014#]"

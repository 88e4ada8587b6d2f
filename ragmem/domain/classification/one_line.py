"""One line that tells what a memory says: its own description, else its title and its best sentence."""

import re
from collections.abc import Iterator

from ragmem.domain.classification.filler import Voice, voice
from ragmem.domain.classification.protection import protecting
from ragmem.domain.classification.substance import says, worth_of
from ragmem.domain.injection.framing import guarded
from ragmem.domain.model import Memory
from ragmem.domain.model.lifecycle import EntryType, entry_type
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import Form, units
from ragmem.domain.text.exchanges import clip
from ragmem.domain.text.words import words_of

MAX_CHARS = 200
MIN_CHARS = 25
LONGEST = MAX_CHARS
"""Characters of a sentence; a longer one would have to be cut."""

LOOKED_AT = 80
"""Sentences from the beginning of a memory of which one is chosen."""

LEAST = 1.4
"""Worth of a sentence, by `substance.worth_of`, from which it stands by itself."""

ENOUGH = 3.0
"""What a sentence counts at most by itself, so that its place counts as well."""

RULED = 1.0
"""What it counts that a sentence holds a decision or a rule, where the memory is protected for one."""

NEAR_TITLE = 0.6
"""What each word of the title counts that a sentence has, up to two."""

FIRST = 0.4
"""What the first sentence counts more than the last that is looked at."""

_PLACES = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), worth)
    for words, worth in (
        (
            r"alternatives?|rejected|considered|out of scope|non-goals?|context|background|examples?|status",
            -1.0,
        ),
        (r"progress|changelog|history|references?|links?|files?|log|steps?|tasks?|acceptance|tests?", -2.0),
        (r"decisions?|decided|conclusions?|rules?|conventions?|root cause|lessons?|learned", 2.0),
        (r"solutions?|fix|problem|gotchas?|why|rationale|reason|how to apply|preferences?|summary", 1.0),
    )
)
"""What it counts below which heading a sentence stands."""

_PASSING = re.compile(
    r"(?:\b(?:before|until|till|prior to|up to) (?:the|this|that|then|now|our|its|it|we|they)\b"
    r"|^\W*(?:before|until)\b"
    r"|\b(?:previous(?:ly)?|former(?:ly)?|used to|originally|at first|initially|so far|for now|right now|"
    r"currently|at the moment|still|not yet|yet to|to-?do|tbd|wip|pending|in progress|unfinished|"
    r"remaining|remains?|left to do|next (?:step|steps|up)|will be|going to|planned|plan to|blocked|"
    r"open (?:work|question|issue|item|task|point)s?|temporar\w+|today|tomorrow|this week)\b|\[ \])",
    re.IGNORECASE,
)
"""Says what was so before, or what is so for the moment: no line for a file that stays."""

_PASSING_PLACE = re.compile(
    r"\b(?:next|to-?dos?|remaining|open|follow[- ]?ups?|pending|blocked|blockers?|unfinished|"
    r"not (?:yet )?done|"
    r"left|outstanding|still|recommendations?|status|state|progress|before|former|previous|old|until|history|"
    r"plan|plans|planned|in progress)\b",
    re.IGNORECASE,
)
"""A heading below which such things stand."""

_MARKS = re.compile(r"^\s*(?:(?:\d{1,4}[.)]|[-*+>#]+|\[[ xX]\])\s+)+")
HEAD = 1_000
"""Characters in which a text says that it does not hold any more."""

_NO_LONGER = re.compile(
    r"^\W{0,6}status\W{1,6}(?:superseded|deprecated|rejected|obsolete|abandoned|withdrawn|cancelled|canceled)\b",
    re.IGNORECASE | re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,400}\)")
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3})(?=\S)([^\n]+?)(?<=\S)\1(?!\w)")
_TAG = re.compile(r"</?[A-Za-z!][^<>\n]{0,200}>")
_SPEAKER = re.compile(r"^(?:user|assistant|human|claude)\s*:\s*", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"(?:this|that|these|those|it|its|they|them|he|she|here|there|such|both|above|below|see|so|then|also|and"
    r"|but|or|which|because|however|note that this)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:add|update|implement|create|refactor|extend|document|ensure|write|follow|fix|remove|move|introduce|"
    r"replace|build|make|set|run|test|check|verify|review|integrate|configure|define|design|expose|wire|"
    r"render|handle|migrate|investigate|read|open|click|select|copy|commit|push|merge|deploy|install|include|"
    r"modify|change|rename|delete|display|show|support|enable|start|continue|complete|finish|prepare|draft|"
    r"requires?)\b",
    re.IGNORECASE,
)
"""A step of a plan, which says nothing once it is done; with a rule it does."""
_LABELS = re.compile(r"(?:^|[\s(])[A-Z][\w/ ]{1,24}:\s")
_ENDS = re.compile(r"[.!)`\"'\w%]$")
_FILE_NAME = re.compile(r"[\w./-]+\.\w{1,5}$")
_LABEL = re.compile(r"^(?:\w+ ){0,3}\w+:\s*$")
_WORD = re.compile(r"[^\W\d_]{2,}")


def line_of(memory: Memory, redactor: Redactor) -> tuple[str, float]:
    """Return what a memory says in one line of 200 characters at most, and what it is worth.

    Nothing, and 0, where no sentence of it stands by itself, or its status says that it holds no more. The
    line has no secret, and nothing in it that Markdown or a frame of ours would read as more than text.
    """
    if _NO_LONGER.search(memory.text[:HEAD]) or _NO_LONGER.match(
        f"status: {memory.metadata.get('status', '')}"
    ):
        return "", 0.0
    described = plain(memory.metadata.get("description", ""), redactor=redactor)
    title = _title(memory, redactor=redactor)
    if _is_clean(described) and worth_of(described) >= LEAST:
        return _told(title, described, redactor=redactor), worth_of(described)
    best, worth = _best(memory, title, redactor=redactor)
    return (_told(title, best, redactor=redactor), worth) if best else ("", 0.0)


def _best(memory: Memory, title: str, redactor: Redactor) -> tuple[str, float]:
    wanted = set(words_of(title))
    ruled = memory.protected or entry_type(memory) in {EntryType.DECISION, EntryType.THOUGHT}
    best, most = "", 0.0
    for number, (sentence, listed, place) in enumerate(_sentences(memory.indexed_text, redactor=redactor)):
        if number == LOOKED_AT:
            break
        worth = worth_of(sentence, listed=listed)
        rules = ruled and bool(protecting(sentence))
        decided = ruled and place > RULED
        if not worth or (worth < LEAST and not (rules or decided)):
            continue
        if not decided and _TASK.match(sentence) and "rule" not in says(sentence):
            continue
        worth = min(worth, ENOUGH) + RULED * rules + place
        worth += NEAR_TITLE * min(2, len(wanted.intersection(words_of(sentence))))
        worth += FIRST * (1 - number / LOOKED_AT)
        if worth > most:
            best, most = sentence, worth
    return best, most


def _sentences(text: str, redactor: Redactor) -> Iterator[tuple[str, bool, float]]:
    """Yield the sentences that can stand by themselves, whether each is an item, and its place's worth."""
    place, passing = 0.0, 0
    for block, start, end in units(text):
        if block.form is Form.HEADING:
            if not passing or block.level <= passing:
                passing = block.level if _PASSING_PLACE.search(block.title) else 0
            place = next((worth for pattern, worth in _PLACES if pattern.search(block.title)), 0.0)
            continue
        if (
            passing
            or block.form not in {Form.PARAGRAPH, Form.ITEM}
            or not MIN_CHARS <= end - start <= LONGEST
        ):
            continue
        if voice(text[start:end], listed=block.form is Form.ITEM) is not Voice.STATES:
            continue
        sentence = _SPEAKER.sub("", plain(text[start:end], redactor=redactor))
        if not _is_clean(sentence) or _PASSING.search(text[start:end]):
            continue
        if block.form is Form.PARAGRAPH and not sentence.rstrip(")\"'`*").endswith((".", "!")):
            continue
        yield sentence, block.form is Form.ITEM, place


def _is_clean(sentence: str) -> bool:
    """Tell whether a sentence stands by itself, is whole, and says what lasts."""
    if not MIN_CHARS <= len(sentence) <= LONGEST or "?" in sentence or sentence.endswith((":", ";", ",")):
        return False
    if _POINTS_BACK.match(sentence) or sentence.startswith("[") or _PASSING.search(sentence):
        return False
    return bool(_ENDS.search(sentence)) and _is_prose(sentence)


def _is_prose(sentence: str) -> bool:
    """Tell whether a sentence is words: no row of data, code or path."""
    words = sentence.split()
    if len(words) < 5 or len(_WORD.findall(sentence)) < 0.6 * len(words):
        return False
    return len(_LABELS.findall(sentence)) < 2


def _title(memory: Memory, redactor: Redactor) -> str:
    title = plain(memory.title, redactor=redactor)
    return "" if _FILE_NAME.fullmatch(title) or len(title) < 4 else title


def _told(title: str, sentence: str, redactor: Redactor) -> str:
    """Return a sentence below the title, unless it says what the title does."""
    named = set(words_of(title))
    said = set(words_of(sentence))
    alone = not title or len(named & said) >= 0.6 * len(named) or len(title) > MAX_CHARS // 3
    if not alone and len(title) + len(sentence) + 2 > MAX_CHARS and len(sentence) > MAX_CHARS // 2:
        alone = True
    return _cut(sentence if alone else f"{title.rstrip('.:')}: {sentence}", redactor=redactor)


def _cut(line: str, redactor: Redactor) -> str:
    """Return a line cut where a sentence or a clause of it ends, else between words."""
    if len(line) <= MAX_CHARS:
        return line
    for stops in (". ", "; ", " \u2014 "):
        at = line.rfind(stops, MAX_CHARS // 3, MAX_CHARS)
        if at > 0:
            return line[: at + (stops == ". ")]
    return clip(line, MAX_CHARS, redactor=redactor)


def plain(text: str, redactor: Redactor) -> str:
    """Return a text as one line of words, without secrets and what Markdown would read as more."""
    line = " ".join(redactor.redact(text)[0].split())
    line = _MARKS.sub("", line)
    line = _LINK.sub(r"\1", line)
    for _ in range(2):
        line = _EMPHASIS.sub(r"\2", line)
    line = _TAG.sub("", line).replace("<!--", "").replace("-->", "")
    if line.count("`") % 2:
        line = line.replace("`", "")
    return guarded(" ".join(line.split())).strip(" -\u2013\u2014|#>")

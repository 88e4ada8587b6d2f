"""Summarize a memory in one line: its description, or its title and its best sentence."""

import re
from collections.abc import Iterator

from ragmem.domain.classification.filler import Voice, classify_voice
from ragmem.domain.classification.protection import protection_reasons
from ragmem.domain.classification.substance import evidence_types, worth_of
from ragmem.domain.injection.memory_frame import escape_tags
from ragmem.domain.model import Memory
from ragmem.domain.model.lifecycle import EntryType, entry_type
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import BlockType, units
from ragmem.domain.text.exchanges import clip
from ragmem.domain.text.words import words_of

MAX_CHARS = 200
MIN_CHARS = 25
LONGEST = MAX_CHARS
"""Longest sentence in characters; a longer one would have to be cut."""

LOOKED_AT = 80
"""Number of sentences from the beginning that are candidates."""

LEAST = 1.4
"""Score by `substance.worth_of` from which a sentence can stand alone."""

ENOUGH = 3.0
"""Largest score of a sentence by itself, so that its position matters too."""

RULED = 1.0
"""Bonus for a decision or a rule, if the memory is protected for one."""

NEAR_TITLE = 0.6
"""Bonus for each word shared with the title, up to two."""

FIRST = 0.4
"""Bonus of the first sentence over the last candidate."""

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
"""Bonus of the heading above a sentence."""

_PASSING = re.compile(
    r"(?:\b(?:before|until|till|prior to|up to) (?:the|this|that|then|now|our|its|it|we|they)\b"
    r"|^\W*(?:before|until)\b"
    r"|\b(?:previous(?:ly)?|former(?:ly)?|used to|originally|at first|initially|so far|for now|right now|"
    r"currently|at the moment|still|not yet|yet to|to-?do|tbd|wip|pending|in progress|unfinished|"
    r"remaining|remains?|left to do|next (?:step|steps|up)|will be|going to|planned|plan to|blocked|"
    r"open (?:work|question|issue|item|task|point)s?|temporar\w+|today|tomorrow|this week)\b|\[ \])",
    re.IGNORECASE,
)
"""Phrases about the past or the moment, which do not fit a lasting file."""

_PASSING_PLACE = re.compile(
    r"\b(?:next|to-?dos?|remaining|open|follow[- ]?ups?|pending|blocked|blockers?|unfinished|"
    r"not (?:yet )?done|"
    r"left|outstanding|still|recommendations?|status|state|progress|before|former|previous|old|until|history|"
    r"plan|plans|planned|in progress)\b",
    re.IGNORECASE,
)
"""A heading above such sentences."""

_MARKS = re.compile(r"^\s*(?:(?:\d{1,4}[.)]|[-*+>#]+|\[[ xX]\])\s+)+")
HEAD = 1_000
"""Number of characters in which a text may say that it is obsolete."""

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
"""A step of a plan is useless once it is done, except with a rule."""
_LABELS = re.compile(r"(?:^|[\s(])[A-Z][\w/ ]{1,24}:\s")
_ENDS = re.compile(r"[.!)`\"'\w%]$")
_FILE_NAME = re.compile(r"[\w./-]+\.\w{1,5}$")
_LABEL = re.compile(r"^(?:\w+ ){0,3}\w+:\s*$")
_WORD = re.compile(r"[^\W\d_]{2,}")


def line_of(memory: Memory, redactor: Redactor) -> tuple[str, float]:
    """Return a line of at most 200 characters that summarizes a memory, and its score.

    Returns an empty line and 0 if no sentence can stand alone or if the status says that the memory is
    obsolete. The line contains no secret, and nothing that Markdown or our own frame would interpret.
    """
    if _NO_LONGER.search(memory.text[:HEAD]) or _NO_LONGER.match(
        f"status: {memory.metadata.get('status', '')}"
    ):
        return "", 0.0
    described = plain(memory.metadata.get("description", ""), redactor=redactor)
    title = _title(memory, redactor=redactor)
    if _is_clean(described) and worth_of(described) >= LEAST:
        return _with_sentence(title, described, redactor=redactor), worth_of(described)
    best, worth = _best_sentence(memory, title, redactor=redactor)
    return (_with_sentence(title, best, redactor=redactor), worth) if best else ("", 0.0)


def _best_sentence(memory: Memory, title: str, redactor: Redactor) -> tuple[str, float]:
    wanted = set(words_of(title))
    ruled = memory.protected or entry_type(memory) in {EntryType.DECISION, EntryType.THOUGHT}
    best, most = "", 0.0
    for number, (sentence, listed, place) in enumerate(_sentences(memory.indexed_text, redactor=redactor)):
        if number == LOOKED_AT:
            break
        worth = worth_of(sentence, listed=listed)
        rules = ruled and bool(protection_reasons(sentence))
        decided = ruled and place > RULED
        if not worth or (worth < LEAST and not (rules or decided)):
            continue
        if not decided and _TASK.match(sentence) and "rule" not in evidence_types(sentence):
            continue
        worth = min(worth, ENOUGH) + RULED * rules + place
        worth += NEAR_TITLE * min(2, len(wanted.intersection(words_of(sentence))))
        worth += FIRST * (1 - number / LOOKED_AT)
        if worth > most:
            best, most = sentence, worth
    return best, most


def _sentences(text: str, redactor: Redactor) -> Iterator[tuple[str, bool, float]]:
    """Yield the sentences that can stand alone, whether each is a list item, and its position bonus."""
    place, passing = 0.0, 0
    for block, start, end in units(text):
        if block.form is BlockType.HEADING:
            if not passing or block.level <= passing:
                passing = block.level if _PASSING_PLACE.search(block.title) else 0
            place = next((worth for pattern, worth in _PLACES if pattern.search(block.title)), 0.0)
            continue
        if (
            passing
            or block.form not in {BlockType.PARAGRAPH, BlockType.ITEM}
            or not MIN_CHARS <= end - start <= LONGEST
        ):
            continue
        if classify_voice(text[start:end], listed=block.form is BlockType.ITEM) is not Voice.STATES:
            continue
        sentence = _SPEAKER.sub("", plain(text[start:end], redactor=redactor))
        if not _is_clean(sentence) or _PASSING.search(text[start:end]):
            continue
        if block.form is BlockType.PARAGRAPH and not sentence.rstrip(")\"'`*").endswith((".", "!")):
            continue
        yield sentence, block.form is BlockType.ITEM, place


def _is_clean(sentence: str) -> bool:
    """Tell whether a sentence is complete, stands alone and states something lasting."""
    if not MIN_CHARS <= len(sentence) <= LONGEST or "?" in sentence or sentence.endswith((":", ";", ",")):
        return False
    if _POINTS_BACK.match(sentence) or sentence.startswith("[") or _PASSING.search(sentence):
        return False
    return bool(_ENDS.search(sentence)) and _is_prose(sentence)


def _is_prose(sentence: str) -> bool:
    """Tell whether a sentence is prose, not a row of data, code or a path."""
    words = sentence.split()
    if len(words) < 5 or len(_WORD.findall(sentence)) < 0.6 * len(words):
        return False
    return len(_LABELS.findall(sentence)) < 2


def _title(memory: Memory, redactor: Redactor) -> str:
    title = plain(memory.title, redactor=redactor)
    return "" if _FILE_NAME.fullmatch(title) or len(title) < 4 else title


def _with_sentence(title: str, sentence: str, redactor: Redactor) -> str:
    """Append a sentence to the title, unless it repeats the title."""
    named = set(words_of(title))
    said = set(words_of(sentence))
    alone = not title or len(named & said) >= 0.6 * len(named) or len(title) > MAX_CHARS // 3
    if not alone and len(title) + len(sentence) + 2 > MAX_CHARS and len(sentence) > MAX_CHARS // 2:
        alone = True
    return _truncate(sentence if alone else f"{title.rstrip('.:')}: {sentence}", redactor=redactor)


def _truncate(line: str, redactor: Redactor) -> str:
    """Cut a line after a sentence or a clause, else between words."""
    if len(line) <= MAX_CHARS:
        return line
    for stops in (". ", "; ", " \u2014 "):
        at = line.rfind(stops, MAX_CHARS // 3, MAX_CHARS)
        if at > 0:
            return line[: at + (stops == ". ")]
    return clip(line, MAX_CHARS, redactor=redactor)


def plain(text: str, redactor: Redactor) -> str:
    """Return a text as one plain line, without secrets and Markdown."""
    line = " ".join(redactor.redact(text)[0].split())
    line = _MARKS.sub("", line)
    line = _LINK.sub(r"\1", line)
    for _ in range(2):
        line = _EMPHASIS.sub(r"\2", line)
    line = _TAG.sub("", line).replace("<!--", "").replace("-->", "")
    if line.count("`") % 2:
        line = line.replace("`", "")
    return escape_tags(" ".join(line.split())).strip(" -\u2013\u2014|#>")

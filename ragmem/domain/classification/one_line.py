"""Summarize a memory in one line: its description, or its title and its best sentence."""

import re
from collections.abc import Container, Iterator

from ragmem.domain.classification.filler import Voice, classify_voice
from ragmem.domain.classification.protection import is_decision, protection_reasons
from ragmem.domain.classification.substance import evidence_types, worth_of
from ragmem.domain.injection.memory_frame import escape_tags
from ragmem.domain.model import Memory
from ragmem.domain.model.lifecycle import EntryType, entry_type
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import BlockType, sentences, units
from ragmem.domain.text.exchanges import clip
from ragmem.domain.text.words import words_of

MAX_CHARS = 200
MIN_CHARS = 25
MIN_TITLE = 30
"""Characters of a title that say what the sentence is about."""

MIN_TITLE_WORDS = 3
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

DECIDED = 2.0
"""Bonus of a sentence below a heading of decisions or rules."""

_PLACES = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), worth)
    for words, worth in (
        (
            r"alternatives?|rejected|considered|out of scope|non-goals?|context|background|examples?|status",
            -1.0,
        ),
        (r"progress|changelog|history|references?|links?|files?|log|steps?|tasks?|acceptance|tests?", -2.0),
        (
            r"drivers?|lifecycle|options?|pros|cons|consequences?|positive|negative|confirmation|validation",
            -1.0,
        ),
        (r"decisions?|decided|rules?|conventions?", DECIDED),
        (r"conclusions?|root cause|lessons?|learned", 1.5),
        (r"solutions?|fix|problem|gotchas?|why|rationale|reason|how to apply|preferences?|summary", 1.0),
    )
)
"""Bonus of the heading above a sentence."""

_PASSING = re.compile(
    r"(?:\b(?:before|until|till|prior to|up to) (?:the|this|that|then|now|our|its|it|we|they)\b"
    r"|^\W*(?:before|until)\b"
    r"|\b(?:previous(?:ly)?|former(?:ly)?|used to|originally|at first|initially|so far|for now|right now|"
    r"currently|at the moment|still|not yet|yet to|to-?do|tbd|wip|pending|in progress|unfinished|"
    r"remaining|remains?|left to do|next (?:step|steps|up|session)|in this pass|first version|"
    r"will be|going to|planned|plan to|blocked|"
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

_ENDED = r"superseded|deprecated|rejected|obsolete|abandoned|withdrawn|cancelled|canceled"
_STATUS = r"^#{0,6}\W{0,6}status\W{1,8}"
_NO_LONGER = re.compile(
    rf"{_STATUS}(?:{_ENDED})\b|^\W{{0,6}}(?:{_ENDED})\b|^\W{{0,6}}(?:replaced|amended) (?:in part )?by\b"
    r"|\bdo not follow\b",
    re.IGNORECASE | re.MULTILINE,
)
_ENDED_STATUS = re.compile(
    rf"{_STATUS}[^\n]{{0,200}}\b(?:{_ENDED}|amended|retracted|historical|moved|partially)\b"
    r"|^#{1,4} (?:update|amendment)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What was decided and no longer holds as it was written."""

_UNDECIDED = re.compile(
    rf"{_STATUS}(?:proposed|draft|pending|under review|in review|open|rfc)\b|\$ARGUMENTS\b|\{{\{{\w",
    re.IGNORECASE | re.MULTILINE,
)
"""A status of what is not decided yet, and the marks of a template."""

_IN_FORCE = re.compile(
    rf"{_STATUS}(?:accepted|approved|adopted|implemented|active|angenommen|accept\u00e9|aceptad[ao])\b",
    re.IGNORECASE | re.MULTILINE,
)
"""The status of a decision that holds."""

_RECORD = re.compile(
    r"(?:^|/|__|_)(?:adrs?|(?:architecture-)?decisions?(?:-records?)?)(?:/|_)", re.IGNORECASE
)
_RECORD_TITLE = re.compile(r"(?:adr|decision)[-_ #]?\d|\d{2,4}\s?[-:.]\s", re.IGNORECASE)
"""The path or the title of a record of one decision, whose title states it."""

_STATES = re.compile(
    r"(?:^|[:\u2014-]\s+)(?:use|adopt|add|make|migrate|model|replace|remove|record|keep|split|move|store|drop|prefer"
    r"|expose|introduce|separate|support|require|serve|treat|mine|self-host|build|run|pin|enforce|allow|deny)\w{0,3}\b"
    r"|\b(?:over|instead of|rather than|without|is|are|must|not|no|never|only|as)\b",
    re.IGNORECASE,
)
"""A title that states a decision."""

_WITHIN = re.compile(r"\([^()]*\)|\"[^\"]*\"|`[^`]*`")

_DECISION_HEADING = re.compile(
    r"^#{2,4}[ \t]+(?:[\d.]+[ \t]+)?(?:decisions?|decision outcome|outcome|entscheidung)[ \t]*:?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)

_NO_RECORD = re.compile(
    r"(?:^|[/_])(?:readme|template|_?index|0000[-_][^/]*)\.\w+$|/(?:future|proposals?|drafts?)/",
    re.IGNORECASE,
)
"""The path of a file beside the records of decisions, and of what is only proposed."""

_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,400}\)")
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3})(?=\S)([^\n]+?)(?<=\S)\1(?![\w*])")
_TAG = re.compile(
    r"(`[^`\n]*`)|</?(?:a|b|i|u|p|s|br|hr|em|strong|code|pre|div|span|img|kbd|sub|sup|ul|ol|li|td|th|tr|table"
    r"|details|summary|font|center|h[1-6])\b[^<>\n]{0,200}>",
    re.IGNORECASE,
)
"""Inline code, which stays, or a tag of HTML."""

_SPEAKER = re.compile(r"^(?:user|assistant|human|claude)\s*:\s*", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"(?:this|that|these|those|it|its|they|them|he|she|here|there|such|both|above|below|see|so|then|also|and"
    r"|but|or|which|because|however|note that this|already|(?:governed|built|based|driven) (?:by|on))\b"
    r"|.*\b(?:the following|as follows|in the same way)\b",
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

_ACTS = re.compile(
    r"^(?:adopt|use|keep|prefer|store|serve|treat|require|reject|allow|deny|apply|accept|choose|ship|avoid|never"
    r"|always|do not|don't|only|every|all|no)\b"
    r"|\b(?:is|are|was|were|will|would|can|cannot|must|should|shall|does|do|has|have|may|never|always|uses?|runs?"
    r"|needs?|stays?|holds?|keeps?|takes?|lives?|goes|comes|owns?|returns?|requires?|replaces?|becomes?|remains?)\b",
    re.IGNORECASE,
)
"""An order or a finite verb; without one a list item is a fragment."""

_HOW = re.compile(r"^(?:how to apply|rule|lesson|takeaway|summary|key point)\s*:\s*", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:why|context|background|status|example|e\.g|note|date|source|see also|what happened|good|bad"
    r"|pros?|cons?|neutral|trade-?off|exception|legacy|initial|original|current|short-term|stage \d|schedule)"
    r"\b[^:.]{0,20}:",
    re.IGNORECASE,
)
"""The beginning of a sentence that explains the one before, or tells a story."""

_GENERIC = re.compile(
    r"context|background|overview|summary|features?|introduction|decisions?|problem|goals?|notes?|memory|purpose",
    re.IGNORECASE,
)
"""A title that is only the name of a section."""

_VAGUE = re.compile(
    r"\b(?:option \w\b|see decision|(?:gates?|section|table|list|figure|steps?) (?:below|above)"
    r"|similar (?:\w+ )?to|in (?:the )?interim|initial version|although|users? need|these \w+|those \w+"
    r"|this (?!project|repo|repository|codebase|app|package|module)\w+)\b"
    r"|\[\[|^(?:related|see|skill rules)\b",
    re.IGNORECASE,
)
"""Words that need the rest of the document, and concessions."""

_NEWS = re.compile(
    r"\b(?:DONE|MERGED|SHIPPED|RESOLVED|PENDING|LIVE|BLOCKED|COMPLETE)\b|\bPRs? #\d|\bbranch `"
    r"|\b(?:awaiting|flipped|[Ss]tate as of|same day|day after|(?:discovered|found|verified) (?:during|on))\b"
)
"""The state of a task on one day."""

_LABELS = re.compile(r"(?:^|[\s(])[A-Z][\w/ ]{1,24}:\s")
_ENDS = re.compile(r"[.!)`\"'\w%]$")
_PLACEHOLDER = re.compile(r"^\[|\[[a-z][\w ]{2,30}\](?!\()|\{\{|<[a-z][\w -]{1,20}>")
_FILE_NAME = re.compile(r"[\w./-]+\.\w{1,5}$")
_LABEL = re.compile(r"^(?:\w+ ){0,3}\w+:\s*$")
_WORD = re.compile(r"[^\W\d_]{2,}")


def line_of(
    memory: Memory, redactor: Redactor, *, within: Container[int] | None = None, decided: bool = False
) -> tuple[str, float]:
    """Return a line of at most 200 characters that summarizes a memory, and its score.

    Returns an empty line and 0 if no sentence can stand alone or if the status says that the memory is
    obsolete. The line contains no secret, and nothing that Markdown or our own frame would interpret. Only
    sentences that begin `within` these positions of the text count, and with `decided` only those that say
    themselves that something was decided or is wanted for good; a record of a decision is told by its title.
    """
    if _NO_LONGER.search(memory.text[:HEAD]) or _NO_LONGER.match(
        f"status: {memory.metadata.get('status', '')}"
    ):
        return "", 0.0
    if decided and (_UNDECIDED.search(memory.text) or _NO_RECORD.search(memory.uri)):
        return "", 0.0
    if decided and _ENDED_STATUS.search(memory.text):
        return "", 0.0
    if decided and within is None and is_record(memory):
        return _line_of_record(memory, redactor=redactor)
    title = _title(memory, redactor=redactor)
    if not decided and (described := _described(memory, redactor=redactor)):
        worth = worth_of(described)
        if worth >= LEAST:
            return _with_sentence(title, described, redactor=redactor), worth
    best, worth = _best_sentence(memory, title, redactor=redactor, within=within, decided=decided)
    return (_with_sentence(title, best, redactor=redactor), worth) if best else ("", 0.0)


def _described(memory: Memory, redactor: Redactor) -> str:
    """Return the description of a memory if it says something: of a long one the first sentence that fits."""
    text = memory.metadata.get("description", "")
    parts = (
        [text] if len(text) <= LONGEST else [text[start:end] for start, end in sentences(text, 0, len(text))]
    )
    lines = (plain(part, redactor=redactor) for part in parts)
    told = memory.metadata.get("type", "").lower() in {"feedback", "user"}
    return next((line for line in lines if _is_clean(line) and (told or _acts(line))), "")


def _acts(sentence: str) -> bool:
    """Tell whether a sentence has an order or a finite verb, outside of asides, quotations and code."""
    return _ACTS.search(_WITHIN.sub("", sentence)) is not None


def is_record(memory: Memory) -> bool:
    """Tell whether a memory is the record of one decision: it lies among such, and has one or its status."""
    named = _RECORD.search(memory.uri) is not None or _RECORD_TITLE.match(memory.title) is not None
    return named and any(one.search(memory.text) for one in (_DECISION_HEADING, _IN_FORCE))


def is_in_force(memory: Memory) -> bool:
    """Tell whether the status of a record says that its decision was accepted and still holds."""
    return _IN_FORCE.search(memory.text) is not None and not any(
        one.search(memory.text) for one in (_NO_LONGER, _ENDED_STATUS)
    )


def _line_of_record(memory: Memory, redactor: Redactor) -> tuple[str, float]:
    """Return the title of a record, with the first sentence of its decision if that can stand alone."""
    title = _title(memory, redactor=redactor)
    if len(_WORD.findall(title)) < MIN_TITLE_WORDS or "?" in title:
        return "", 0.0
    heading = _DECISION_HEADING.search(memory.text)
    begin = heading.end() if heading else len(memory.text)
    first = next(((block, start, end) for block, start, end in units(memory.text, begin)), None)
    if first is not None and first[0].form is BlockType.PARAGRAPH and first[2] - first[1] <= LONGEST:
        sentence = plain(memory.text[first[1] : first[2]], redactor=redactor)
        if sentence.endswith(".") and _is_clean(sentence) and not _ASIDE.match(sentence):
            return _with_sentence(title, sentence, redactor=redactor), ENOUGH
    # A title that only names a subject points to a decision, and does not tell it.
    return (_truncate(title, redactor=redactor), ENOUGH) if _STATES.search(title) else ("", 0.0)


def _best_sentence(
    memory: Memory, title: str, redactor: Redactor, *, within: Container[int] | None, decided: bool
) -> tuple[str, float]:
    wanted = set(words_of(title))
    ruled = memory.protected or entry_type(memory) in {EntryType.DECISION, EntryType.THOUGHT}
    best, most = "", 0.0
    sentences = _sentences(memory.text, redactor=redactor, within=within)
    for number, (sentence, listed, place) in enumerate(sentences):
        if number == LOOKED_AT:
            break
        worth = worth_of(sentence, listed=listed)
        rules = ruled and bool(protection_reasons(sentence))
        placed = ruled and place > RULED and not decided
        if decided and not is_decision(sentence):
            continue
        if listed and not _acts(sentence):
            continue
        if not worth or (worth < LEAST and not (rules or placed)):
            continue
        if not placed and _TASK.match(sentence) and "rule" not in evidence_types(sentence):
            continue
        worth = min(worth, ENOUGH) + RULED * rules + place
        worth += NEAR_TITLE * min(2, len(wanted.intersection(words_of(sentence))))
        worth += FIRST * (1 - number / LOOKED_AT)
        if worth > most:
            best, most = sentence, worth
    return best, most


def _sentences(
    text: str, redactor: Redactor, *, within: Container[int] | None
) -> Iterator[tuple[str, bool, float]]:
    """Yield the sentences that can stand alone, whether each is a list item, and its position bonus."""
    place, passing, below = 0.0, 0, 0
    text = _COMMENT.sub(lambda found: " " * len(found[0]), text)
    for block, start, end in units(text):
        if block.form is BlockType.HEADING:
            is_title = block.level == 1 and not text[: block.start].strip()
            if not passing or block.level <= passing:
                passing = block.level if _PASSING_PLACE.search(block.title) and not is_title else 0
            own = next((worth for pattern, worth in _PLACES if pattern.search(block.title)), None)
            if own is None and below and block.level > below:
                continue
            place = own or 0.0
            below = block.level if place >= DECIDED else 0
            continue
        if (
            passing
            or block.form not in {BlockType.PARAGRAPH, BlockType.ITEM}
            or (within is not None and start not in within)
            or not MIN_CHARS <= end - start <= LONGEST
        ):
            continue
        if classify_voice(text[start:end], listed=block.form is BlockType.ITEM) is not Voice.STATES:
            continue
        sentence = _SPEAKER.sub("", plain(text[start:end], redactor=redactor))
        sentence = _HOW.sub("", sentence)
        if _ASIDE.match(sentence) or not _is_clean(sentence) or _PASSING.search(text[start:end]):
            continue
        if block.form is BlockType.PARAGRAPH and not sentence.rstrip(")\"'`*").endswith((".", "!")):
            continue
        yield sentence, block.form is BlockType.ITEM, place


def _is_clean(sentence: str) -> bool:
    """Tell whether a sentence is complete, stands alone and states something lasting."""
    if not MIN_CHARS <= len(sentence) <= LONGEST or "?" in sentence or sentence.endswith((":", ";", ",")):
        return False
    if _POINTS_BACK.match(sentence) or _PLACEHOLDER.search(sentence) or _PASSING.search(sentence):
        return False
    if (
        _NEWS.search(sentence)
        or _VAGUE.search(sentence)
        or any(sentence.count(one) != sentence.count(other) for one, other in ("()", "[]"))
    ):
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
    says_nothing = _FILE_NAME.fullmatch(title) or _GENERIC.fullmatch(title)
    return "" if says_nothing or len(title) < 4 else title


def _with_sentence(title: str, sentence: str, redactor: Redactor) -> str:
    """Append a sentence to the title, unless it repeats the title; a long title is clipped."""
    named = set(words_of(title))
    said = set(words_of(sentence))
    room = MAX_CHARS - len(sentence) - 2
    if not title or len(named & said) >= 0.6 * len(named) or room < MIN_TITLE:
        return _truncate(sentence, redactor=redactor)
    title = title.rstrip(".:")
    return f"{title if len(title) <= room else clip(title, room, redactor=redactor)}: {sentence}"


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
    line = _TAG.sub(r"\1", line).replace("<!--", "").replace("-->", "")
    line = line.replace("**", "")
    if line.count("`") % 2:
        line = line.replace("`", "")
    return escape_tags(" ".join(line.split())).strip(" -\u2013\u2014|#>")

"""Summarize a memory in one line: its description, or its title and its best sentence."""

import re
from collections.abc import Container, Iterator

from ragmem.domain.classification.decision_record import (
    CHOSEN,
    MOST_OF_RECORD,
    decision_of,
    is_obsolete,
    is_record,
    is_undecided,
    lies_among_records,
    may_be_told,
    states_decision,
)
from ragmem.domain.classification.filler import SentencePurpose, classify_purpose
from ragmem.domain.classification.protection import is_decision, protection_reasons
from ragmem.domain.classification.standalone import (
    ASIDE,
    LONGEST,
    MAX_CHARS,
    has_length,
    has_verb,
    is_order,
    is_passing,
    leans_back,
    main_clause,
    plain,
    stands_alone,
    without_comments,
)
from ragmem.domain.classification.substance import evidence_types, worth_of
from ragmem.domain.model import Memory
from ragmem.domain.model.lifecycle import EntryType, entry_type
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import Block, BlockType, sentences, units
from ragmem.domain.text.exchanges import clip
from ragmem.domain.text.words import words_of

MIN_TITLE = 30
"""Characters of a title that say what the sentence is about."""

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

_PASSING_PLACE = re.compile(
    r"\b(?:next|to-?dos?|remaining|open|follow[- ]?ups?|pending|blocked|blockers?|unfinished|"
    r"not (?:yet )?done|left|outstanding|still|recommendations?|status|state|progress|before|former|previous|"
    r"old|until|history|plan|plans|planned|in progress)\b",
    re.IGNORECASE,
)
"""A heading above such sentences."""

_SPEAKER = re.compile(r"^(?:user|assistant|human|claude)\s*:\s*", re.IGNORECASE)
_TASK = re.compile(
    r"(?:add|update|implement|create|refactor|extend|document|ensure|write|follow|fix|remove|move|introduce|"
    r"replace|build|make|set|run|test|check|verify|review|integrate|configure|define|design|expose|wire|"
    r"render|handle|migrate|investigate|read|open|click|select|copy|commit|push|merge|deploy|install|include|"
    r"modify|change|rename|delete|display|show|support|enable|start|continue|complete|finish|prepare|draft|"
    r"requires?)\b",
    re.IGNORECASE,
)
"""A step of a plan is useless once it is done, except with a rule."""

_TOLD_TYPES = frozenset({"feedback", "user", "preference", "decision", "convention", "rule"})
"""The types of what a person told the assistant, whose description lasts."""

_POINTER = re.compile(
    r"(?:how|where|what|why|status|list|history|summary|overview|notes?|index|details?|background|context|plan"
    r"|como|c\u00f3mo|d\u00f3nde|onde|comment|wie|jak|\u043a\u0430\u043a)\b",
    re.IGNORECASE,
)
"""The beginning of a description that only says what the memory is about."""

_TOPIC = re.compile(
    r"(?:[\w'\u2019.-]+ ){0,6}(?:preferences?|standards?|conventions?|workflows?|patterns?|guidelines?"
    r"|practices|mistakes|roles?|names?|profile|settings|structure|setup|details|rules|tips|gotchas"
    r"|pitfalls|requirements|steps)\b(?!.*(?:[:;\u2014\u2013]| - ))",
    re.IGNORECASE,
)
"""A description that names a subject and says nothing about it, if it has no verb."""

_TOPIC_OF = re.compile(
    r"(?:[\w'\u2019./&-]+ ){0,6}(?:preferences?|standards?|conventions?|workflows?|patterns?|guidelines?"
    r"|practices|mistakes|profile|settings|structure|setup|details|rules|tips|gotchas|pitfalls|requirements"
    r"|steps|checklist|logins|accounts|sources?|map|list|inventory|process|procedure)"
    r" (?:for|of|to|in|on|about|when|how|from|with|that|used|required|needed|learned|found)\b",
    re.IGNORECASE,
)
"""A description that begins with the name of a subject and what it is of."""

_PARTS = re.compile(r" [\u2014\u2013-] |[:;] ")

_LISTED_TOPIC = re.compile(r"[^.;]{3,80}?(?: [\u2014\u2013-]|:) [^.;]{2,60}, [^.;]+")
"""A subject and a list of what belongs to it; it says nothing without a verb."""

_STORY = re.compile(
    r"\W*(?:context|background|problem|symptom|example|what happened|alternatives|considered|consequences)\b"
    r"[^:.]{0,20}[:.]",
    re.IGNORECASE,
)
"""The label of a paragraph that tells how it came to a decision."""

_LINKED_NOTE = re.compile(r"\W{0,8}\[[^\]\n]{1,200}\]\((?!https?:)[^)\n]{1,200}\.md\b")
"""The entry of an index: a link to another note, which is told itself."""

_FOR_USERS = re.compile(
    r"(?:^|[/_ -])(?:user[-_ ]?(?:guide|manual|handbook)|getting[-_ ]started|quick[-_ ]?start|faqs?"
    r"|tutorials?|installation(?:[-_ ]guide)?|benutzerhandbuch|installationsanleitung)(?=[\W_]|$)",
    re.IGNORECASE,
)
"""The title or the file name of what tells the users of a product how to use it."""

_TOLD_PAST = re.compile(r"\b(?:was|were|said|ran|had|did)\b", re.IGNORECASE)

_HOW = re.compile(r"^(?:how to apply|rule|lesson|takeaway|summary|key point)\s*:\s*", re.IGNORECASE)
_APPLIES = re.compile(r"(?:how to apply|rule)\s*:", re.IGNORECASE)


_GENERIC = re.compile(
    r"context|background|overview|summary|features?|introduction|decisions?|problem|goals?|notes?|memory|purpose"
    r"|title(?: of (?:the |this )?(?:decision(?: record)?|adr|record))?",
    re.IGNORECASE,
)
"""A title that is only the name of a section."""

_FILE_NAME = re.compile(r"[\w./-]+\.\w{1,5}$|[{<\[].*[}>\]]$|.*\bdecision record title\b.*", re.IGNORECASE)
"""A title that is the name of a file, or the placeholder of a template."""


def line_of(
    memory: Memory, redactor: Redactor, *, within: Container[int] | None = None, decided: bool = False
) -> tuple[str, float]:
    """Return a line of at most 200 characters, of a record 300, that summarizes a memory, and its score.

    Returns an empty line and 0 if no sentence can stand alone or if the status says that the memory is
    obsolete. The line contains no secret, and nothing that Markdown or our own frame would interpret. Only
    sentences that begin `within` these positions of the text count, and with `decided` only those that say
    themselves that something was decided or is wanted for good; a record of a decision is told by its title.
    """
    if is_obsolete(memory) or (decided and is_undecided(memory)):
        return "", 0.0
    if _FOR_USERS.search(memory.title) or _FOR_USERS.search(memory.uri.rpartition("/")[2]):
        return "", 0.0
    title = _title(memory, redactor=redactor)
    if lies_among_records(memory) and not may_be_told(memory, title):
        return "", 0.0
    if within is None and is_record(memory):
        return _line_of_record(memory, title, redactor=redactor)
    if not decided and (described := _described(memory, redactor=redactor)):
        return _with_sentence(title, described, redactor=redactor), worth_of(described)
    best, worth = _best_sentence(memory, title, redactor=redactor, within=within, decided=decided)
    return (_with_sentence(title, best, redactor=redactor), worth) if best else ("", 0.0)


def _described(memory: Memory, redactor: Redactor) -> str:
    """Return the description of a memory if it says something: of a long one the first sentence that fits."""
    text = memory.metadata.get("description", "")
    parts = (
        [text] if len(text) <= LONGEST else [text[start:end] for start, end in sentences(text, 0, len(text))]
    )
    told = memory.metadata.get("type", "").lower() in _TOLD_TYPES
    for number, part in enumerate(parts):
        line = plain(part, redactor=redactor)
        if number and leans_back(line):
            continue
        if len(line) > LONGEST:
            line = main_clause(line)
        if (is_order(line) or _says_more(line, told=told)) and stands_alone(line) and worth_of(line) >= LEAST:
            return line
    return ""


def _says_more(line: str, *, told: bool) -> bool:
    """Return whether a description makes a statement, and does not only name its subject or tell a story."""
    if _POINTER.match(line):
        return False
    head, *parts = _PARTS.split(line)
    if _TOPIC_OF.match(head) and not any(has_verb(part) or is_order(part) for part in parts):
        return False
    topic = _TOPIC.match(line) or _LISTED_TOPIC.match(line)
    if not told:
        return has_verb(line)
    return not _TOLD_PAST.search(line) and (has_verb(line) or not topic)


def _line_of_record(memory: Memory, title: str, redactor: Redactor) -> tuple[str, float]:
    """Return the title of a record, with the sentence that states its decision if that can stand alone."""
    if sentence := decision_of(memory, redactor):
        if (chosen := CHOSEN.match(sentence)) and title:
            if set(words_of(sentence[chosen.end() :])) <= set(words_of(title)):
                return _truncate(title, redactor=redactor), ENOUGH
            return _with_title(title, sentence, redactor=redactor, most=MOST_OF_RECORD), ENOUGH
        return _with_sentence(title, sentence, redactor=redactor, most=MOST_OF_RECORD), ENOUGH
    # A title that only names a subject points to a decision, and does not tell it.
    return (_truncate(title, redactor=redactor), ENOUGH) if states_decision(title) else ("", 0.0)


def _best_sentence(
    memory: Memory, title: str, redactor: Redactor, *, within: Container[int] | None, decided: bool
) -> tuple[str, float]:
    wanted = set(words_of(title))
    ruled = memory.protected or entry_type(memory) in {EntryType.DECISION, EntryType.THOUGHT}
    failed = entry_type(memory) is EntryType.ERROR
    best, most = "", 0.0
    sentences = _sentences(memory.text, redactor=redactor, within=within)
    for number, (sentence, listed, place) in enumerate(sentences):
        if number == LOOKED_AT:
            break
        worth = worth_of(sentence, listed=listed)
        rules = ruled and bool(protection_reasons(sentence))
        placed = ruled and place >= DECIDED and not decided
        if decided and not is_decision(sentence):
            continue
        # Other sentences only describe, or belong to the work of one day.
        lasts = is_order(sentence) or (placed and not _TOLD_PAST.search(sentence))
        if not (decided or lasts or (failed and "cause" in evidence_types(sentence))):
            continue
        if listed and not has_verb(sentence):
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
    place, passing, below, beside = 0.0, 0, 0, -1
    text = without_comments(text)
    for block, start, end in units(text):
        if block.form is BlockType.HEADING:
            is_title = block.level == 1 and not text[: block.start].strip()
            if not passing or block.level <= passing:
                passing = block.level if _PASSING_PLACE.search(block.title) and not is_title else 0
            # A title is above all of a text, and a log of decisions has other sentences too.
            own = next(
                (worth for pattern, worth in _PLACES if pattern.search(block.title) and not is_title), None
            )
            if own is None and below and block.level > below:
                continue
            place = own or 0.0
            below = block.level if place >= DECIDED else 0
            continue
        if (
            passing
            or block.form not in {BlockType.PARAGRAPH, BlockType.ITEM}
            or (within is not None and start not in within)
            or _LINKED_NOTE.match(text, start, end)
        ):
            continue
        sentence = _SPEAKER.sub("", plain(text[start:end], redactor=redactor))
        # What follows such a label in its paragraph belongs to it.
        beside = block.start if _STORY.match(sentence) else beside
        stated = _HOW.sub("", sentence)
        if beside != block.start and _is_told(text[start:end], stated, block, first=start == block.start):
            place_here = max(place, DECIDED) if _APPLIES.match(sentence) else place
            yield stated, block.form is BlockType.ITEM, place_here


def _is_told(text: str, sentence: str, block: Block, *, first: bool) -> bool:
    """Return whether a statement of a block says by itself something that lasts."""
    listed = block.form is BlockType.ITEM
    return (
        has_length(text)
        and classify_purpose(text, listed=listed) is SentencePurpose.STATES
        and (first or not leans_back(sentence))
        and not ASIDE.match(sentence)
        and stands_alone(sentence)
        and not is_passing(text)
        and (listed or sentence.rstrip(")\"'`*").endswith((".", "!", "\u3002", "\uff01")))
    )


def _title(memory: Memory, redactor: Redactor) -> str:
    title = plain(memory.title, redactor=redactor)
    says_nothing = _FILE_NAME.fullmatch(title) or _GENERIC.fullmatch(title)
    return "" if says_nothing or len(title) < 4 else title


def _with_sentence(title: str, sentence: str, redactor: Redactor, most: int = MAX_CHARS) -> str:
    """Append a sentence to the title, unless it repeats the title; a long title is clipped."""
    named = set(words_of(title))
    said = set(words_of(sentence))
    room = most - len(sentence) - 2
    if not title or len(named & said) >= 0.6 * len(named) or room < MIN_TITLE:
        return _truncate(sentence, redactor=redactor, most=most)
    return _with_title(title, sentence, redactor=redactor, most=most)


def _with_title(title: str, sentence: str, redactor: Redactor, most: int) -> str:
    """Put a title before a sentence, clipped to the remaining room; without room, only the sentence."""
    room = most - len(sentence) - 2
    if room < MIN_TITLE:
        return _truncate(sentence, redactor=redactor, most=most)
    title = title.rstrip(".:")
    return f"{title if len(title) <= room else clip(title, room, redactor=redactor)}: {sentence}"


def _truncate(line: str, redactor: Redactor, most: int = MAX_CHARS) -> str:
    """Cut a line after a sentence or a clause, else between words."""
    if len(line) <= most:
        return line
    for stops in (". ", "; ", " \u2014 "):
        at = line.rfind(stops, most // 3, most)
        if at > 0:
            return line[: at + (stops == ". ")]
    return clip(line, most, redactor=redactor)

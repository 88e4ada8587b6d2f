"""The first answer about a person's own past: the last decisions, else the latest memories."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Literal

from ragmem.domain.classification.decision_record import HEAD, is_in_force, is_record
from ragmem.domain.classification.one_line import line_of
from ragmem.domain.classification.protection import says_decided
from ragmem.domain.classification.standalone import MAX_CHARS, MIN_CHARS, plain
from ragmem.domain.model import EPISODES, Memory
from ragmem.domain.model.lifecycle import EntryType, explicit_type
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.outline import outline_of
from ragmem.domain.text.blocks import BlockType, units
from ragmem.services.context.recent_work import PROCEDURES
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.recent import MemoryFilter, latest

MOST = 3

READ = 300
"""The latest memories that are read for a decision; most have none."""

_DECISIONS = (
    r"[\W\d]*(?:(?:final|key|design|technical|architecture|architectural|our|wichtige)\s+)*"
    r"(?:decisions?(?:\s+(?:made|taken|log))?|%s)[\s:*_]*"
)
"""A heading whose items are decisions."""

_STATUS = (
    r"^\W{0,12}(?:status|statut|estado|situação|статус|ステータス|状態|状态|狀態)\W{1,12}"
    r"(?:proposed|draft|pending|rejected|superseded|deprecated|obsolete|withdrawn|%s)"
)
"""The status of a decision that was not taken, or does not hold any more."""

_BEFORE = re.compile(
    r"(?:initial(?:ly)?|original(?:ly)?|previous(?:ly)?|former(?:ly)?)\b[^:.]{0,20}:", re.IGNORECASE
)
"""The label of what was so before."""

_QUOTED = re.compile(
    '"[^"\\n]*"|\u201c[^\u201d\\n]*\u201d|\u00ab[^\u00bb\\n]*\u00bb|\u300c[^\u300d\\n]*\u300d|`[^`\\n]*`'
)

_WORDS = Path(__file__).with_name("decision_words.tsv")
"""Patterns of the words by which other languages than English say that people have decided, or have not, of
headings above decisions, and of the status of what does not hold."""

_MIN_CHARS_UNSPACED = 12
"""Characters of a sentence that can stand alone in a script that writes a word in one or two of them."""

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """What one memory says, in a line."""

    id: str
    at: datetime
    text: str
    project: str
    source: str
    project_name: str = ""
    """The name of the project, if it has one."""


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The last decisions, or the latest memories where there are no decisions; newest first."""

    about: Literal["decisions", "latest"]
    lines: tuple[AnswerLine, ...] = ()


@dataclass(frozen=True, slots=True)
class _Words:
    """Patterns: what was decided, or was not; a heading of decisions; the status of a void one."""

    decided: re.Pattern[str]
    denied: re.Pattern[str]
    heading: re.Pattern[str]
    void: re.Pattern[str]


def first_answer(catalog: Catalog) -> FirstAnswer:
    """Return what was decided last, each in a sentence that is stored.

    What was superseded, may be outdated, or waits for approval is no answer. Without a decision, the titles
    of the latest memories are one; an empty memory has no lines.
    """
    memories = list(_current(catalog))
    names = catalog.projects.names()
    decisions: dict[str, AnswerLine] = {}
    for memory in memories:
        if text := _decision(memory, catalog.redactor):
            decisions.setdefault(text, _line(memory, text, names))
        if len(decisions) == MOST:
            break
    if decisions:
        return FirstAnswer("decisions", tuple(decisions.values()))
    told: dict[str, AnswerLine] = {}
    # Sessions show what was worked on; files have the time of their last copy.
    for memory in [one for one in memories if one.source in EPISODES] or memories:
        if text := plain(memory.title, redactor=catalog.redactor)[:MAX_CHARS]:
            told.setdefault(text, _line(memory, text, names))
    return FirstAnswer("latest", tuple(told.values())[:MOST])


def _decision(memory: Memory, redactor: Redactor) -> str:
    """Return the sentence in which a memory says what was decided, or the title of a record; "" for none."""
    if is_record(memory) or explicit_type(memory) is EntryType.DECISION:
        if (line := line_of(memory, redactor, decided=True)[0]) or not is_in_force(memory):
            return line
        # The title of a record may only name its subject: enough to remember it by.
        listed = _listed_decision(memory.text, redactor)
        return listed or plain(memory.title, redactor=redactor)[:MAX_CHARS]
    outline = outline_of(memory.text)
    if outline is None and (listed := _listed_decision(memory.text, redactor)):
        return listed
    spans = outline.decisions if outline else [(start, end) for _, start, end in units(memory.text)]
    denied = _words().denied
    within = {
        start
        for start, end in spans
        if says_decided(memory.text[start:end]) and not denied.search(memory.text[start:end].lower())
    }
    if within and (line := line_of(memory, redactor, within=within, decided=True)[0]):
        return line
    if outline:
        said = [(start, end) for _, start, end in units(memory.text, *outline.question)]
        spans = [*said, *outline.result]
    return next(filter(None, (_told_decision(memory.text[slice(*one)], redactor) for one in spans)), "")


def _listed_decision(text: str, redactor: Redactor) -> str:
    """Return the first item or sentence below a heading of decisions that fits into a line; "" for none."""
    under = False
    if _words().void.search(text[:HEAD]):
        return ""
    for block, start, end in units(text):
        if block.form is BlockType.HEADING:
            under = _words().heading.fullmatch(block.title.strip()) is not None
        elif under and block.form in {BlockType.ITEM, BlockType.PARAGRAPH}:
            said = plain(text[start:end], redactor=redactor)
            if _fits(said) and not _BEFORE.match(said):
                return said
    return ""


def _told_decision(sentence: str, redactor: Redactor) -> str:
    """Return a sentence as a line if it says in another language that people have decided; "" otherwise."""
    words = _words()
    low = _QUOTED.sub("", sentence.lower())
    if not words.decided.search(low) or words.denied.search(low):
        return ""
    line = plain(sentence, redactor=redactor)
    return line if _fits(line) else ""


def _fits(line: str) -> bool:
    least = _MIN_CHARS_UNSPACED if _UNSPACED.search(line) else MIN_CHARS
    return least <= len(line) <= MAX_CHARS and not line.endswith(("?", "\uff1f", ":", "\uff1a"))


@cache
def _words() -> _Words:
    _, *rows = (line.split("\t") for line in _WORDS.read_text(encoding="utf-8").splitlines())
    _, decided, denied, heading, void = ("|".join(column) for column in zip(*rows, strict=True))
    return _Words(
        re.compile(decided),
        re.compile(denied),
        re.compile(_DECISIONS % heading, re.IGNORECASE),
        re.compile(_STATUS % void, re.IGNORECASE | re.MULTILINE),
    )


def _current(catalog: Catalog) -> Iterator[Memory]:
    """Yield the latest memories that hold, decisions of long ago among them."""
    found = {
        memory.id: memory
        for kept in (False, True)
        for memory in latest(
            catalog.database, MemoryFilter(other_than=PROCEDURES, protected=kept), limit=READ
        )
    }
    untrue = (
        catalog.supersessions.in_force(found).keys() | catalog.supersessions.perhaps_outdated(found).keys()
    )
    untrue |= set(catalog.approvals.withheld_ids())
    for memory in sorted(found.values(), key=lambda one: (-one.event_time.timestamp(), one.id)):
        broken_off = memory.source in EPISODES and not {"interrupted", "compaction"}.isdisjoint(
            memory.metadata
        )
        if memory.id not in untrue and not broken_off:
            yield memory


def _line(memory: Memory, text: str, names: Mapping[str, str]) -> AnswerLine:
    project = memory.scope.project
    name = names.get(project, "")
    return AnswerLine(memory.short_id, memory.event_time, text, project, memory.source, name)

"""Which memories may be shared: those that a rule selects, except those that are never shared."""

import re
from collections.abc import Collection

from ragmem.domain.model import EPISODES, SHARED, UNASSIGNED, USER, Category, Memory, Tier
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Approval, EntryType, entry_type, explicit_type
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import record_of
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

DECISION, CONVENTION, GOTCHA, ERROR_SOLUTION, RECORD = (
    "decision", "convention", "gotcha", "error_solution", "record",
)  # fmt: skip

_OF_SESSIONS = frozenset({RecordType.SESSION_INSIGHT, RecordType.TASK_OUTCOME, RecordType.EPISODE})
"""Typed records that tell of a session, as transcripts do."""

_BY_CATEGORY = {
    Category.GOTCHA: GOTCHA,
    Category.ERROR_SOLUTION: ERROR_SOLUTION,
    Category.PATTERN: CONVENTION,
    Category.BEST_PRACTICE: CONVENTION,
}

_BY_NAME = {
    "decision": DECISION,
    "adr": DECISION,
    "gotcha": GOTCHA,
    "pitfall": GOTCHA,
    "convention": CONVENTION,
    "best_practice": CONVENTION,
    "pattern": CONVENTION,
    "error_solution": ERROR_SOLUTION,
}
"""Values of `type` in a memory's metadata, by the kind that they name."""

_LABEL = lazy(
    r"[\s#>*_+-]*(?:known )?(?P<name>decision|gotcha|pitfall|convention|best[ -]practice)s?"
    r"(?:[ #-]{0,2}\d{1,5})?(?: \([^()\n]{1,40}\))?[*_ ]{0,3}(?:[:\n\u2013\u2014]| - |\Z)",
    re.IGNORECASE,
)
"""The head of a text that names its kind: "Gotcha: ...", "## Pitfall (macOS)", "**Decision 7** - ..."."""

_WE_DECIDED = lazy(
    r"\bwe(?:'ve| have)? (?:\w+ ){0,2}(?:decided|agreed|chose|settled|went with)\b"
    r"|\bwir [^.\n]{0,60}entschieden\b|\bnous avons (?:\w+ ){0,2}(?:d\u00e9cid|choisi)"
    r"|\b(?:hemos decidido|decidimos)\b",
    re.IGNORECASE,
)

_TYPES = {
    CONVENTION: (Category.BEST_PRACTICE, EntryType.INSIGHT),
    GOTCHA: (Category.GOTCHA, EntryType.ERROR),
    ERROR_SOLUTION: (Category.ERROR_SOLUTION, EntryType.ERROR),
}
"""The category and the type of what names its kind."""

TITLE = 100
"""Characters of a title that are looked at."""

LONGEST = 3_000
"""Characters of a text whose kind may be guessed; a longer one that is a decision says so."""

_TEAM_TYPES = frozenset({EntryType.DECISION, EntryType.ERROR, EntryType.INSIGHT})

_RECORDED = re.compile(r"(?:^|[/_-])(?:adrs?|decisions?)(?:[/_-]|\d)", re.IGNORECASE)
"""A place in which a team records decisions: docs/adr/0007-queue.md."""

_TELLS_OF_WORK = re.compile(
    r"\bsession[ _-](?:summar|notes?\b|logs?\b|recap|save|hand|s?\d|\W)|\bhand-?offs?\b|\btranscripts?\b"
    r"|\bstand-?ups?\b|\bjournal\b|\bdiary\b|\bretrospectives?\b|\bmeeting (?:notes|minutes)\b",
    re.IGNORECASE,
)
"""In the title of what tells of somebody's work, day by day."""

_INSTRUCTIONS = frozenset(
    ("claude.md", "claude.local.md", "agents.md", "gemini.md", "memory.md", "copilot-instructions.md")
)
"""Files for an assistant as a whole; what concerns the team lies in the repository."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants shared: kinds and tags by rule, ids by word, and ids despite a redaction."""

    kinds: Collection[str] = ()
    tags: Collection[str] = ()
    ids: Collection[str] = ()
    consent: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides besides the memory: its approval, its successor, and where its text already is.

    `redacted` says that a secret was or would be taken out. `tracked` says that its file is in the
    repository, where everybody has it.
    """

    approval: Approval = Approval.NONE
    superseded: bool = False
    tracked: bool = False
    redacted: bool = False
    personal: bool = False
    """Others than the members of its project see it, in a store with members of its own."""


def kinds_of(memory: Memory) -> tuple[str, ...]:
    """Return the kinds by which a rule may choose a memory; none for what no rule chooses.

    What a person has declared counts in any length; what heads a text, or was guessed of it, only if that is
    short, because a long text has words of everything. What names its kind is of no other one.
    """
    if memory.source in EPISODES or memory.source == SHARED:
        return ()
    item = record_of(memory)
    if item is not None and item.type in _OF_SESSIONS:
        return ()
    found = [] if item is None else [RECORD]
    if kind := named_kind(memory):
        return (*found, kind)
    is_short = item is not None or _may_guess(memory)
    if is_short and _type_of(memory) is EntryType.DECISION:
        found.append(DECISION)
    if is_short and (kind := _BY_CATEGORY.get(memory.category, "")):
        found.append(kind)
    return tuple(found)


def named_kind(memory: Memory) -> str:
    """Return the kind that a note names by its type, its place, or its head; "" without one."""
    if kind := _kind_named(memory.metadata.get("type", "")):
        return kind
    if _RECORDED.search(memory.uri):
        return DECISION
    heads = (memory.title, memory.text) if _may_guess(memory) and record_of(memory) is None else ()
    return next((_kind_named(found["name"]) for head in heads if (found := _LABEL.match(head))), "")


def types_of(memory: Memory) -> tuple[Category, EntryType]:
    """Return the category and the type under which a memory leaves: what it names, else what it has."""
    kind = named_kind(memory)
    if kind == DECISION:
        return memory.category, EntryType.DECISION
    category, entry = _TYPES.get(kind, (memory.category, _type_of(memory)))
    return memory.category if _BY_CATEGORY.get(memory.category) == kind else category, entry


def _type_of(memory: Memory) -> EntryType:
    """Return the type of a memory; what a team says it decided is a decision, even one that tells a taste."""
    found = entry_type(memory)
    ours = found is EntryType.THOUGHT and not explicit_type(memory) and _WE_DECIDED.search(memory.text)
    return EntryType.DECISION if ours else found


def _may_guess(memory: Memory) -> bool:
    """Return whether the kind of a note may be guessed: it is short, and its type is not a project state."""
    is_open = not memory.metadata.get("type") or explicit_type(memory) in _TEAM_TYPES
    return is_open and len(memory.text) <= LONGEST


def _kind_named(name: str) -> str:
    return _BY_NAME.get(name.strip().lower().replace("-", "_").replace(" ", "_"), "")


def refusal(memory: Memory, standing: Standing, wish: Wish) -> str:
    """Return why a memory never leaves, whatever a person says; "" if it may."""
    item = record_of(memory)
    rules = (
        (memory.scope.project == USER, "yours, and of no project"),
        (memory.scope.project == UNASSIGNED, "of an unknown project"),
        (memory.source == SHARED, "shared by another member"),
        (memory.source in EPISODES or (item is not None and item.type in _OF_SESSIONS), "of a session"),
        (standing.personal, "personal to a member of the server's team"),
        (standing.approval.is_withheld, f"{standing.approval}, not accepted"),
        (
            standing.redacted and memory.id not in wish.consent,
            "a secret was removed; --consent ID shares the rest",
        ),
    )
    return next((reason for holds, reason in rules if holds), "")


def omission(memory: Memory, standing: Standing, wish: Wish) -> str | None:
    """Return why the rules leave a memory out: "" if they choose it, None if it is none of their kinds."""
    if not (set(kinds_of(memory)) & set(wish.kinds) or set(memory.tags) & set(wish.tags)):
        return None
    rules = (
        (memory.tier is not Tier.INGEST, "of low value"),
        (standing.superseded, "superseded"),
        (is_of_document(memory.metadata), "a part of a document"),
        ("merged_from" in memory.metadata, "made of other memories"),
        (explicit_type(memory) is EntryType.THOUGHT, "a preference of yours"),
        (_TELLS_OF_WORK.search(memory.title[:TITLE]) is not None, "it seems to describe a session"),
        (memory.uri.rpartition("/")[2].lower() in _INSTRUCTIONS, "a file for an assistant"),
        (standing.tracked, "its file is in the repository"),
    )
    return next((reason for holds, reason in rules if holds), "")

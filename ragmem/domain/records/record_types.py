"""The types of records with their fields, and what memory makes of each: kind, category, protection."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from ragmem.domain.model import Category, Kind


class RecordType(StrEnum):
    """What a session can record."""

    SESSION_INSIGHT = "session_insight"
    CODEBASE_DISCOVERY = "codebase_discovery"
    PATTERN = "pattern"
    GOTCHA = "gotcha"
    TASK_OUTCOME = "task_outcome"
    ROOT_CAUSE = "root_cause"
    USER_CORRECTION = "user_correction"
    KNOWLEDGE = "knowledge"
    EPISODE = "episode"


class EventType(StrEnum):
    """What an episode tells of."""

    ACTION = "action"
    ERROR = "error"
    DECISION = "decision"
    OUTCOME = "outcome"


class Form(StrEnum):
    """What a field holds."""

    TEXT = "a text"
    TEXTS = "texts"
    FLAG = "true or false"
    PATH = "a path"
    PATHS = "paths"
    PAIRS = "names with a text each"
    PATH_PAIRS = "paths with a text each"
    CHOICE = "one of some words"
    SHARE = "a number from 0 to 1"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name, what it holds, its heading in the text and what it is for.

    `words` are what a flag reads as in the text, true first; `choices` those that a choice is among.
    """

    name: str
    form: Form
    label: str
    help: str
    required: bool = False
    words: tuple[str, str] = ("yes", "no")
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sort:
    """What memory makes of the records of a type, or of those with one choice: heading, kind and category."""

    label: str
    kind: Kind
    category: Category = Category.NONE


@dataclass(frozen=True, slots=True)
class Shape:
    """One type: its fields, and what memory makes of it.

    `main` is the field that a text without a name fills; `led` are the fields of the first paragraph, main
    first, put together by `join`; `same` is the field that alone tells two records apart, where all fields do
    not; `edited` are the fields with files that were changed; `no_content` says nothing by itself; `tags`
    are those of every record of it. `aside` are the fields that are kept as data and do not stand in the
    text; `sorts` are by the choice of the field `sorted_by`; records are found by their field `within`
    without a look at the others.
    """

    type: RecordType
    label: str
    main: str
    fields: tuple[Field, ...]
    kind: Kind
    category: Category = Category.NONE
    protected: bool = False
    led: tuple[str, ...] = ()
    join: str = ""
    same: str = ""
    edited: tuple[str, ...] = ()
    no_content: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()
    aside: frozenset[str] = frozenset()
    sorted_by: str = ""
    sorts: Mapping[str, Sort] = field(default_factory=dict)
    within: str = ""

    def sort_of(self, fields: Mapping[str, object]) -> Sort:
        """Return what memory makes of a record with these fields."""
        return self.sorts.get(str(fields.get(self.sorted_by, "")), Sort(self.label, self.kind, self.category))

    @property
    def by_name(self) -> Mapping[str, Field]:
        """The fields by their names."""
        return {one.name: one for one in self.fields}

    @property
    def told(self) -> str:
        """The names of the fields, as an error or a help text lists them."""
        return ", ".join(one.name for one in self.fields)


_FILES = Field("files", Form.PATHS, "Files", "the files that it is about")

_ALL = (
    Shape(
        RecordType.SESSION_INSIGHT,
        "Session insight",
        "summary",
        (
            Field("summary", Form.TEXT, "Summary", "what the session was about"),
            Field("session", Form.TEXT, "Session", "its number or id"),
            Field("subtasks_completed", Form.TEXTS, "Subtasks completed", "what was finished"),
            Field("discoveries", Form.TEXTS, "Discoveries", "what was found out"),
            Field("files_understood", Form.PATH_PAIRS, "Files understood", "files, each with what it is for"),
            Field("files_changed", Form.PATHS, "Files changed", "the files that were edited"),
            Field("patterns_found", Form.TEXTS, "Patterns found", "ways of building that work here"),
            Field("gotchas_encountered", Form.TEXTS, "Gotchas encountered", "traps that were met"),
            Field("what_worked", Form.TEXTS, "What worked", "what to do again"),
            Field("what_failed", Form.TEXTS, "What failed", "what not to do again"),
            Field("recommendations", Form.TEXTS, "Recommendations", "what the next session should do"),
        ),
        Kind.GENERAL,
        led=("summary",),
        edited=("files_changed",),
        no_content=frozenset({"session"}),
        tags=("sessions",),
    ),
    Shape(
        RecordType.CODEBASE_DISCOVERY,
        "Codebase discovery",
        "path",
        (
            Field("path", Form.PATH, "Path", "a file or folder of the project", required=True),
            Field("purpose", Form.TEXT, "Purpose", "what it is for", required=True),
            Field("notes", Form.TEXTS, "Notes", "what else is worth knowing of it"),
        ),
        Kind.ARCHITECTURE,
        led=("path", "purpose"),
        join=": ",
        same="path",
    ),
    Shape(
        RecordType.PATTERN,
        "Pattern",
        "pattern",
        (
            Field("pattern", Form.TEXT, "Pattern", "a way of building that works here", required=True),
            Field("when", Form.TEXT, "When", "where it applies"),
            Field("example", Form.TEXT, "Example", "how it looks"),
            _FILES,
        ),
        Kind.ARCHITECTURE,
        Category.PATTERN,
        led=("pattern",),
    ),
    Shape(
        RecordType.GOTCHA,
        "Gotcha",
        "gotcha",
        (
            Field("gotcha", Form.TEXT, "Gotcha", "a trap, and what happens in it", required=True),
            Field("trigger", Form.TEXT, "Trigger", "when one runs into it"),
            Field("solution", Form.TEXT, "Solution", "how to get around it"),
            _FILES,
        ),
        Kind.ERROR,
        Category.GOTCHA,
        led=("gotcha",),
    ),
    Shape(
        RecordType.TASK_OUTCOME,
        "Task outcome",
        "task",
        (
            Field("task", Form.TEXT, "Task", "what was to be done", required=True),
            Field(
                "success",
                Form.FLAG,
                "Success",
                "whether it was done: true or false",
                required=True,
                words=("**Succeeded.**", "**Failed.**"),
            ),
            Field("outcome", Form.TEXT, "Outcome", "what came of it"),
            Field("metadata", Form.PAIRS, "Details", "anything else, by name"),
        ),
        Kind.GENERAL,
        led=("task", "success"),
        join="\n\n",
    ),
    Shape(
        RecordType.ROOT_CAUSE,
        "Root cause",
        "error",
        (
            Field("error", Form.TEXT, "Error", "what was seen to go wrong", required=True),
            Field("cause", Form.TEXT, "Cause", "what was behind it", required=True),
            Field("fix", Form.TEXT, "Fix", "what put it right"),
            Field("files", Form.PATHS, "Files", "the files that the fix changed"),
        ),
        Kind.ERROR,
        Category.ERROR_SOLUTION,
        led=("error",),
        edited=("files",),
    ),
    Shape(
        RecordType.USER_CORRECTION,
        "User correction",
        "right",
        (
            Field("right", Form.TEXT, "Right", "what is right, in the user's words", required=True),
            Field("said", Form.TEXT, "Said before", "what was said or done and is wrong"),
            Field("rule", Form.TEXT, "Rule", "what to do from now on"),
        ),
        Kind.PREFERENCE,
        Category.BEST_PRACTICE,
        protected=True,
        led=("right",),
    ),
    Shape(
        RecordType.KNOWLEDGE,
        "Knowledge",
        "title",
        (
            Field("title", Form.TEXT, "Title", "what was learnt, in a line", required=True),
            Field(
                "category",
                Form.CHOICE,
                "Category",
                "error_solution, pattern, best_practice or gotcha",
                required=True,
                choices=tuple(one for one in Category if one is not Category.NONE),
            ),
            Field("content", Form.TEXT, "Content", "all that is worth knowing of it"),
        ),
        Kind.GENERAL,
        led=("title", "content"),
        join="\n\n",
        no_content=frozenset({"category"}),
        aside=frozenset({"category"}),
        sorted_by="category",
        sorts={
            Category.ERROR_SOLUTION: Sort("Error and its solution", Kind.ERROR, Category.ERROR_SOLUTION),
            Category.PATTERN: Sort("Pattern", Kind.ARCHITECTURE, Category.PATTERN),
            Category.BEST_PRACTICE: Sort("Best practice", Kind.PREFERENCE, Category.BEST_PRACTICE),
            Category.GOTCHA: Sort("Gotcha", Kind.ERROR, Category.GOTCHA),
        },
    ),
    Shape(
        RecordType.EPISODE,
        "Episode",
        "title",
        (
            Field("title", Form.TEXT, "Title", "what happened, in a line", required=True),
            Field(
                "event_type",
                Form.CHOICE,
                "Event",
                "action, error, decision or outcome",
                required=True,
                choices=tuple(EventType),
            ),
            Field("content", Form.TEXT, "Content", "what happened, in full"),
            Field("session", Form.TEXT, "Session", "in which session"),
            Field("agent", Form.TEXT, "Agent", "who did it"),
            Field("importance", Form.SHARE, "Importance", "how much it matters, from 0 to 1"),
        ),
        Kind.GENERAL,
        led=("title", "content"),
        join="\n\n",
        no_content=frozenset({"event_type", "session", "agent", "importance"}),
        tags=("sessions",),
        aside=frozenset({"event_type", "session", "agent", "importance"}),
        sorted_by="event_type",
        sorts={
            EventType.ACTION: Sort("Action", Kind.GENERAL),
            EventType.ERROR: Sort("Error", Kind.ERROR),
            EventType.DECISION: Sort("Decision", Kind.ARCHITECTURE),
            EventType.OUTCOME: Sort("Outcome", Kind.GENERAL),
        },
        within="session",
    ),
)

SHAPES: Mapping[RecordType, Shape] = MappingProxyType({shape.type: shape for shape in _ALL})
"""Every type with its fields."""

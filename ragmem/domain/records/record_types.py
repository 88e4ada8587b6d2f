"""The record types with their fields, and their kind, category and protection."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType

from ragmem.domain.model import Category, Kind
from ragmem.frozen import dataclass


class RecordType(StrEnum):
    """The types of records of a session."""

    SESSION_INSIGHT = "session_insight"
    CODEBASE_DISCOVERY = "codebase_discovery"
    PATTERN = "pattern"
    GOTCHA = "gotcha"
    TASK_OUTCOME = "task_outcome"
    ROOT_CAUSE = "root_cause"
    USER_CORRECTION = "user_correction"
    KNOWLEDGE = "knowledge"
    EPISODE = "episode"


class EpisodeType(StrEnum):
    """The types of events in an episode."""

    ACTION = "action"
    ERROR = "error"
    DECISION = "decision"
    OUTCOME = "outcome"


class FieldType(StrEnum):
    """The type of a field."""

    TEXT = "a text"
    TEXTS = "texts"
    FLAG = "true or false"
    PATH = "a path"
    PATHS = "paths"
    PAIRS = "an object with text values"
    PATH_PAIRS = "paths with a text each"
    CHOICE = "one of some words"
    SHARE = "a number from 0 to 1"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name, its type, its heading in the text and its help.

    `words` are the texts of a flag, true first; `choices` are the values of a choice.
    """

    name: str
    form: FieldType
    label: str
    help: str
    required: bool = False
    words: tuple[str, str] = ("yes", "no")
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordCategory:
    """The heading, kind and category of the records of a type, or of those with one choice."""

    label: str
    kind: Kind
    category: Category = Category.NONE


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """The schema of a record type: its fields, and how they become a memory.

    `main` is the field of a text without a field name. `lead_fields` form the first paragraph, main first,
    joined by `join`. `key_field` identifies a record; without it all fields do. `edited_fields` list changed
    files. A record of only `no_content` fields is empty. `tags` are added to every record. `data_only` fields
    are not in the text. `categories` are by the value of `category_field`. Records are grouped by
    `group_field`, so that those of one value are found without a scan.
    """

    type: RecordType
    label: str
    main: str
    fields: tuple[Field, ...]
    kind: Kind
    category: Category = Category.NONE
    protected: bool = False
    lead_fields: tuple[str, ...] = ()
    join: str = ""
    key_field: str = ""
    edited_fields: tuple[str, ...] = ()
    no_content: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()
    data_only: frozenset[str] = frozenset()
    category_field: str = ""
    categories: Mapping[str, RecordCategory] = field(default_factory=dict)
    group_field: str = ""

    def category_of(self, fields: Mapping[str, object]) -> RecordCategory:
        """Return the category of a record with these fields."""
        return self.categories.get(
            str(fields.get(self.category_field, "")), RecordCategory(self.label, self.kind, self.category)
        )

    @property
    def by_name(self) -> Mapping[str, Field]:
        """The fields by their names."""
        return {one.name: one for one in self.fields}

    @property
    def field_list(self) -> str:
        """The names of the fields, for an error or a help text."""
        return ", ".join(one.name for one in self.fields)


_FILES = Field("files", FieldType.PATHS, "Files", "the files that it is about")

_ALL = (
    RecordSchema(
        RecordType.SESSION_INSIGHT,
        "Session insight",
        "summary",
        (
            Field("summary", FieldType.TEXT, "Summary", "what the session was about"),
            Field("session", FieldType.TEXT, "Session", "its number or id"),
            Field("subtasks_completed", FieldType.TEXTS, "Subtasks completed", "what was finished"),
            Field("discoveries", FieldType.TEXTS, "Discoveries", "what was found out"),
            Field(
                "files_understood",
                FieldType.PATH_PAIRS,
                "Files understood",
                "files, each with what it is for",
            ),
            Field("files_changed", FieldType.PATHS, "Files changed", "the files that were edited"),
            Field("patterns_found", FieldType.TEXTS, "Patterns found", "ways of building that work here"),
            Field("gotchas_encountered", FieldType.TEXTS, "Gotchas encountered", "traps that were met"),
            Field("what_worked", FieldType.TEXTS, "What worked", "what to do again"),
            Field("what_failed", FieldType.TEXTS, "What failed", "what not to do again"),
            Field("recommendations", FieldType.TEXTS, "Recommendations", "what the next session should do"),
        ),
        Kind.GENERAL,
        lead_fields=("summary",),
        edited_fields=("files_changed",),
        no_content=frozenset({"session"}),
        tags=("sessions",),
    ),
    RecordSchema(
        RecordType.CODEBASE_DISCOVERY,
        "Codebase discovery",
        "path",
        (
            Field("path", FieldType.PATH, "Path", "a file or folder of the project", required=True),
            Field("purpose", FieldType.TEXT, "Purpose", "what it is for", required=True),
            Field("notes", FieldType.TEXTS, "Notes", "what else is worth knowing of it"),
        ),
        Kind.ARCHITECTURE,
        lead_fields=("path", "purpose"),
        join=": ",
        key_field="path",
    ),
    RecordSchema(
        RecordType.PATTERN,
        "Pattern",
        "pattern",
        (
            Field("pattern", FieldType.TEXT, "Pattern", "a way of building that works here", required=True),
            Field("when", FieldType.TEXT, "When", "where it applies"),
            Field("example", FieldType.TEXT, "Example", "how it looks"),
            _FILES,
        ),
        Kind.ARCHITECTURE,
        Category.PATTERN,
        lead_fields=("pattern",),
    ),
    RecordSchema(
        RecordType.GOTCHA,
        "Gotcha",
        "gotcha",
        (
            Field("gotcha", FieldType.TEXT, "Gotcha", "a trap, and what happens in it", required=True),
            Field("trigger", FieldType.TEXT, "Trigger", "when one runs into it"),
            Field("solution", FieldType.TEXT, "Solution", "how to get around it"),
            _FILES,
        ),
        Kind.ERROR,
        Category.GOTCHA,
        lead_fields=("gotcha",),
    ),
    RecordSchema(
        RecordType.TASK_OUTCOME,
        "Task outcome",
        "task",
        (
            Field("task", FieldType.TEXT, "Task", "what was to be done", required=True),
            Field(
                "success",
                FieldType.FLAG,
                "Success",
                "whether it was done: true or false",
                required=True,
                words=("**Succeeded.**", "**Failed.**"),
            ),
            Field("outcome", FieldType.TEXT, "Outcome", "what came of it"),
            Field("metadata", FieldType.PAIRS, "Details", "anything else, by name"),
        ),
        Kind.GENERAL,
        lead_fields=("task", "success"),
        join="\n\n",
    ),
    RecordSchema(
        RecordType.ROOT_CAUSE,
        "Root cause",
        "error",
        (
            Field("error", FieldType.TEXT, "Error", "what was seen to go wrong", required=True),
            Field("cause", FieldType.TEXT, "Cause", "what was behind it", required=True),
            Field("fix", FieldType.TEXT, "Fix", "what put it right"),
            Field("files", FieldType.PATHS, "Files", "the files that the fix changed"),
        ),
        Kind.ERROR,
        Category.ERROR_SOLUTION,
        lead_fields=("error",),
        edited_fields=("files",),
    ),
    RecordSchema(
        RecordType.USER_CORRECTION,
        "User correction",
        "right",
        (
            Field("right", FieldType.TEXT, "Right", "what is right, in the user's words", required=True),
            Field("said", FieldType.TEXT, "Said before", "what was said or done and is wrong"),
            Field("rule", FieldType.TEXT, "Rule", "what to do from now on"),
        ),
        Kind.PREFERENCE,
        Category.BEST_PRACTICE,
        protected=True,
        lead_fields=("right",),
    ),
    RecordSchema(
        RecordType.KNOWLEDGE,
        "Knowledge",
        "title",
        (
            Field("title", FieldType.TEXT, "Title", "what was learnt, in a line", required=True),
            Field(
                "category",
                FieldType.CHOICE,
                "Category",
                "error_solution, pattern, best_practice or gotcha",
                required=True,
                choices=tuple(one for one in Category if one is not Category.NONE),
            ),
            Field("content", FieldType.TEXT, "Content", "all that is worth knowing of it"),
        ),
        Kind.GENERAL,
        lead_fields=("title", "content"),
        join="\n\n",
        no_content=frozenset({"category"}),
        data_only=frozenset({"category"}),
        category_field="category",
        categories={
            Category.ERROR_SOLUTION: RecordCategory(
                "Error and its solution", Kind.ERROR, Category.ERROR_SOLUTION
            ),
            Category.PATTERN: RecordCategory("Pattern", Kind.ARCHITECTURE, Category.PATTERN),
            Category.BEST_PRACTICE: RecordCategory("Best practice", Kind.PREFERENCE, Category.BEST_PRACTICE),
            Category.GOTCHA: RecordCategory("Gotcha", Kind.ERROR, Category.GOTCHA),
        },
    ),
    RecordSchema(
        RecordType.EPISODE,
        "Episode",
        "title",
        (
            Field("title", FieldType.TEXT, "Title", "what happened, in a line", required=True),
            Field(
                "event_type",
                FieldType.CHOICE,
                "Event",
                "action, error, decision or outcome",
                required=True,
                choices=tuple(EpisodeType),
            ),
            Field("content", FieldType.TEXT, "Content", "what happened, in full"),
            Field("session", FieldType.TEXT, "Session", "in which session"),
            Field("agent", FieldType.TEXT, "Agent", "who did it"),
            Field("importance", FieldType.SHARE, "Importance", "how much it matters, from 0 to 1"),
        ),
        Kind.GENERAL,
        lead_fields=("title", "content"),
        join="\n\n",
        no_content=frozenset({"event_type", "session", "agent", "importance"}),
        tags=("sessions",),
        data_only=frozenset({"event_type", "session", "agent", "importance"}),
        category_field="event_type",
        categories={
            EpisodeType.ACTION: RecordCategory("Action", Kind.GENERAL),
            EpisodeType.ERROR: RecordCategory("Error", Kind.ERROR),
            EpisodeType.DECISION: RecordCategory("Decision", Kind.ARCHITECTURE),
            EpisodeType.OUTCOME: RecordCategory("Outcome", Kind.GENERAL),
        },
        group_field="session",
    ),
)

RECORD_SCHEMAS: Mapping[RecordType, RecordSchema] = MappingProxyType({schema.type: schema for schema in _ALL})
"""Every type with its fields."""

"""A file of expectations about a memory after a seed."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragmem.config.documents import Document, read_document, toml_lines
from ragmem.config.values import nearest
from ragmem.errors import ConfigError

COUNTED = ("files", "memories", "ingest", "summarize", "discard", "unread")
"""The counts of a source."""

QUESTION_KEYS = ("question", "source", "path", "project", "within")
TOP_LEVEL = ("unread", "sources", "must_find", "must_not_find")

WITHIN = 3
"""The default of the rank that is good enough."""

DEEPEST = 100

COUNT_HINT = "a number, or a range such as { min = 1, max = 9 }"


@dataclass(frozen=True, slots=True)
class Count:
    """The expected range of a count; `source` is "" for all sources, `most` None without an upper bound."""

    source: str
    counted: str
    least: int
    most: int | None
    line: int

    def holds(self, number: int) -> bool:
        """Return whether a number is in the range."""
        return self.least <= number and (self.most is None or number <= self.most)

    @property
    def description(self) -> str:
        """The range in words."""
        if self.most is None:
            return f"at least {self.least:,}"
        if self.least == self.most:
            return f"{self.least:,}"
        return f"at most {self.most:,}" if not self.least else f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True, slots=True)
class QuestionExpectation:
    """A question, and the memory that must (or must not) be among its first answers.

    Without source and path it is any memory. `path` is a glob, which may begin in any folder unless it
    begins with a slash or `~`. Without `project` all projects are searched.
    """

    question: str
    found: bool
    source: str
    path: str
    project: str
    within: int
    line: int


@dataclass(frozen=True, slots=True)
class Expectations:
    """The expectations of a file."""

    path: Path
    counts: tuple[Count, ...]
    questions: tuple[QuestionExpectation, ...]


def read_expectations(path: Path, *, sources: Collection[str]) -> Expectations:
    """Return the expectations of a TOML file about these sources.

    Unless the file says otherwise, no file may be unread. Raises ConfigError with file and line for an
    unknown key or source and for a wrong value.
    """
    if path.suffix == ".json":
        raise ConfigError(f'"{path}": expectations must be TOML', hint="write them as in docs/ci.md")
    document = read_document(path)
    if document is None:
        raise ConfigError(
            f'there is no file "{path}"', hint="--write-expect creates one from the current state"
        )
    values = document.values
    for key in values:
        document.require_known(TOP_LEVEL, key)
    counts = [_count(document, "unread", values.get("unread", 0), "unread", source="")]
    tables = _table(document, values.get("sources", {}), "sources")
    for name, table in tables.items():
        if name not in sources:
            raise document.error(f'there is no source "{name}"', "sources", name, hint=nearest(name, sources))
        for key, value in _table(document, table, "sources", name).items():
            where = ("sources", name, key)
            document.require_known(COUNTED, *where, table=f"sources.{name}")
            counts.append(_count(document, key, value, *where, source=name))
    questions = [
        entry.parse(sources) for key in ("must_find", "must_not_find") for entry in _entries(document, key)
    ]
    return Expectations(path, tuple(counts), tuple(questions))


def _table(document: Document, value: Any, *where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise document.error(f'"{".".join(where)}" must be a table', *where, hint="write [sources.NAME]")
    return value


def _count(document: Document, counted: str, value: Any, *where: str, source: str) -> Count:
    name = ".".join(where)
    least, most = value, value
    if isinstance(value, dict):
        for key in value:
            if key not in {"min", "max"}:
                raise document.error(f'unknown key "{key}" in {name}', *where, key, hint=COUNT_HINT)
        least, most = value.get("min", 0), value.get("max")
    numbers = [least] if most is None else [least, most]
    if value == {} or not all(
        isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers
    ):
        raise document.error(f"{name} must be a count", *where, hint=COUNT_HINT)
    if most is not None and least > most:
        raise document.error(f"{name} has a min above its max", *where, hint=COUNT_HINT)
    return Count(source, counted, least, most, document.line(*where))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A `[[key]]` of a file: its values and their lines; the line of the header has the key ""."""

    path: Path
    key: str
    values: Mapping[str, Any]
    lines: Mapping[str, int]

    def error(self, name: str, problem: str, hint: str) -> ConfigError:
        line = self.lines.get(name, self.lines[""])
        return ConfigError(f"{self.path}:{line}: {problem}", hint=hint)

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        if name in self.values and not (isinstance(value, str) and value.strip()):
            raise self.error(name, f"{name} must be a text", f'{name} = "..."')
        return str(value)

    def rank(self) -> int:
        value = self.values.get("within", WITHIN)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= DEEPEST:
            raise self.error("within", "within must be a rank", f"a whole number from 1 to {DEEPEST}")
        return value

    def parse(self, sources: Collection[str]) -> QuestionExpectation:
        for name in self.values:
            if name not in QUESTION_KEYS:
                raise self.error(
                    name, f'unknown key "{name}" in [[{self.key}]]', nearest(name, QUESTION_KEYS)
                )
        source, path, found = self.text("source"), self.text("path"), self.key == "must_find"
        if not self.text("question"):
            raise self.error("", f"[[{self.key}]] has no question", 'question = "why did the deploy fail"')
        if source and source not in sources:
            raise self.error("source", f'there is no source "{source}"', nearest(source, sources))
        if found and not (source or path):
            raise self.error(
                "", "[[must_find]] names neither source nor path", "name the expected source or path"
            )
        line = self.lines[""]
        return QuestionExpectation(
            self.text("question"), found, source, path, self.text("project"), self.rank(), line
        )


def _entries(document: Document, key: str) -> Iterator[_Entry]:
    tables = document.values.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise document.error(f'"{key}" must be a list of tables', key, hint=f"write [[{key}]]")
    lines = _lines_of_entries(document, key)
    for number, table in enumerate(tables):
        # Inline tables have the line of their list.
        at = lines[number] if number < len(lines) else {"": document.line(key)}
        yield _Entry(document.path, key, table, at)


def _lines_of_entries(document: Document, key: str) -> list[dict[str, int]]:
    entries: list[dict[str, int]] = []
    for place, line in toml_lines(document.path.read_text(encoding="utf-8-sig")):
        if place == (key,):
            entries.append({"": line})
        elif place[:1] == (key,) and entries:
            entries[-1].setdefault(place[1], line)
    return entries

"""Typed records: what a session learnt, as fields that are checked, shown as Markdown and kept as data."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragmem.domain.model import Draft, Memory, Scope, digest
from ragmem.domain.records.episodes import told_of_episode
from ragmem.domain.records.record_fields import Value, checked_value
from ragmem.domain.records.record_types import SHAPES, Field, Form, RecordType, Shape
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import UsageError

RECORDS = "records"
"""The source of memories that are typed records."""

TITLE_LENGTH = 80
_TYPE, FIELDS, _EDITED, _PROTECTED = "record", "fields", "files", "protected"
"""Keys in the metadata of a memory that is a record; `files` also leads from a file to its edits."""


@dataclass(frozen=True, slots=True)
class TypedRecord:
    """One record. `fields` are checked, in the order of the type's fields, without empty ones."""

    type: RecordType
    fields: Mapping[str, Value]

    def titled(self, redactor: Redactor) -> str:
        """Return the first line of its first text, shortened."""
        shape = SHAPES[self.type]
        names = (field.name for field in shape.fields if field.name not in shape.no_content)
        for name in (shape.main, *names):
            lines = _lines(self.fields.get(name, ""))
            if lines:
                first = lines[0]
                return (
                    first if len(first) <= TITLE_LENGTH else redactor.beginning(first, TITLE_LENGTH - 1) + "…"
                )
        return shape.label

    @property
    def text(self) -> str:
        """The record as Markdown, with every field verbatim: its main field first, the others in sections."""
        shape = SHAPES[self.type]
        parts = [f"# {shape.sort_of(self.fields).label}"]
        if shape.main in self.fields:
            parts.append(_lead(shape, self.fields))
        parts += [
            f"## {field.label}\n\n{_rendered(field, self.fields[field.name])}"
            for field in shape.fields
            if field.name in self.fields and field.name not in shape.led and field.name not in shape.aside
        ]
        return "\n\n".join(parts)

    @property
    def uri(self) -> str:
        """What makes it the same record: its path where it is about one file, else all of its fields."""
        shape = SHAPES[self.type]
        same = str(self.fields[shape.same]) if shape.same else json.dumps(self.fields, sort_keys=True)
        within = str(self.fields.get(shape.within, "")) if shape.within else ""
        return f"{uri_prefix(self.type, within=within)}{digest('record', same)}"


def record(kind: RecordType | str, fields: Mapping[str, object]) -> TypedRecord:
    """Return a record of checked fields; empty ones are left out, line ends become line feeds.

    Raises UsageError that names the field, for one that the type does not have, that is missing, that has
    another form than its type wants, or that is no text at all.
    """
    shape = SHAPES[record_type(kind)]
    for name in fields:
        if name not in shape.by_name:
            raise UsageError(f'a {shape.type} has no field "{name}"', hint=f"its fields: {shape.told}")
    checked: dict[str, Value] = {}
    for field in shape.fields:
        value = checked_value(shape, field, fields.get(field.name))
        if value is not None and value not in ("", (), {}):
            checked[field.name] = value
    for field in shape.fields:
        if field.required and field.name not in checked:
            raise UsageError(
                f'the {shape.type} lacks its field "{field.name}"', hint=f"{field.name}: {field.help}"
            )
    if not checked.keys() - shape.no_content:
        raise UsageError(f"the {shape.type} says nothing", hint=f"give one of its fields: {shape.told}")
    return TypedRecord(shape.type, checked)


def record_type(name: RecordType | str) -> RecordType:
    """Return the type of this name; raises UsageError with the names there are."""
    try:
        return RecordType(name)
    except ValueError as error:
        raise UsageError(
            f'there is no type of record "{name}"', hint=f"types: {', '.join(RecordType)}"
        ) from error


def uri_prefix(kind: RecordType, *, within: str = "") -> str:
    """Return how the URIs of all records of a type begin, and no others; `within`: of one session alone."""
    return f"record:{kind}:" + (f"{digest('within', within, length=16)}:" if within else "")


def draft_of(
    item: TypedRecord,
    *,
    scope: Scope,
    event_time: datetime | None,
    redactor: Redactor,
    tags: Iterable[str] = (),
) -> Draft:
    """Return the draft that stores a record: its text, with its type and fields as metadata."""
    shape = SHAPES[item.type]
    sort = shape.sort_of(item.fields)
    metadata = {_TYPE: item.type.value, FIELDS: fields_text(item.fields)}
    edited = [path for name in shape.edited for path in _lines(item.fields.get(name, ()))]
    if edited:
        metadata[_EDITED] = "\n".join(edited)
    if shape.protected:
        metadata[_PROTECTED] = "true"
    if item.type is RecordType.EPISODE:
        metadata |= told_of_episode(item.fields)
    return Draft(
        source=RECORDS,
        uri=item.uri,
        text=item.text,
        title=item.titled(redactor),
        event_time=event_time,
        scope=scope,
        kind=sort.kind,
        category=sort.category,
        tags=tuple(dict.fromkeys((item.type.value, *shape.tags, *tags))),
        metadata=metadata,
    )


def record_of(memory: Memory) -> TypedRecord | None:
    """Return the record that a memory is; None where it is none, or has fields that its type has not."""
    if memory.source != RECORDS or _TYPE not in memory.metadata:
        return None
    try:
        return record(memory.metadata[_TYPE], json.loads(memory.metadata.get(FIELDS, "")))
    except (ValueError, TypeError, AttributeError, RecursionError, UsageError):
        # Brought in by an import of another version: its text is shown and found all the same.
        return None


def type_of(source: str, tags: Sequence[str]) -> str:
    """Return the type of the record that a memory of this source and with these tags is, else nothing."""
    return tags[0] if source == RECORDS and tags else ""


def fields_text(fields: Mapping[str, Value]) -> str:
    """Return fields as the metadata of a memory keeps them: JSON."""
    return json.dumps(fields, ensure_ascii=False)


def _lines(value: Value) -> list[str]:
    """Return the lines of a value that are not blank."""
    if isinstance(value, bool):
        return []
    if isinstance(value, str):
        value = (value,)
    texts = [f"{name}: {text}" for name, text in value.items()] if isinstance(value, Mapping) else value
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]


def _lead(shape: Shape, fields: Mapping[str, Value]) -> str:
    """Return the main field, with what else stands in its line: a file's purpose, a task's success."""
    main = shape.by_name[shape.main]
    text = _rendered(main, fields[shape.main])
    for name in shape.led[1:]:
        if name in fields:
            text += f"{shape.join}{_rendered(shape.by_name[name], fields[name])}"
    return text


def _rendered(field: Field, value: Value) -> str:
    if isinstance(value, bool):
        return field.words[0] if value else field.words[1]
    if isinstance(value, Mapping):
        return "\n".join(f"- {_code(name)}: {_indented(text)}" for name, text in value.items())
    if isinstance(value, tuple):
        shown = map(_code, value) if field.form is Form.PATHS else map(_indented, value)
        return "\n".join(f"- {text}" for text in shown)
    return _code(value) if field.form is Form.PATH else value


def _code(text: str) -> str:
    """Return a name or path as a span of code, which a backtick or a line end within it would break."""
    return text if "`" in text or "\n" in text else f"`{text}`"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")

"""Typed records of a session: validated fields, rendered as Markdown and stored as data."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragmem.domain.model import Draft, Memory, Scope, digest
from ragmem.domain.records.episodes import episode_metadata
from ragmem.domain.records.record_fields import Value, parse_value
from ragmem.domain.records.record_types import SHAPES, Field, FieldType, RecordType, Shape
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import UsageError

RECORDS = "records"
"""The source of typed records."""

TITLE_LENGTH = 80
_TYPE, FIELDS, _EDITED, _PROTECTED = "record", "fields", "files", "protected"
"""Metadata keys of a record; `files` also leads from a file to its edits."""


@dataclass(frozen=True, slots=True)
class TypedRecord:
    """One record. `fields` are validated, in the order of the type's fields, without empty ones."""

    type: RecordType
    fields: Mapping[str, Value]

    def title(self, redactor: Redactor) -> str:
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
        """The record as Markdown, with every field verbatim: the main field first, the others in sections."""
        shape = SHAPES[self.type]
        parts = [f"# {shape.category_of(self.fields).label}"]
        if shape.main in self.fields:
            parts.append(_lead(shape, self.fields))
        parts += [
            f"## {field.label}\n\n{_render(field, self.fields[field.name])}"
            for field in shape.fields
            if field.name in self.fields and field.name not in shape.led and field.name not in shape.aside
        ]
        return "\n\n".join(parts)

    @property
    def uri(self) -> str:
        """The identity of the record: its path if it is about one file, else all of its fields."""
        shape = SHAPES[self.type]
        same = str(self.fields[shape.same]) if shape.same else json.dumps(self.fields, sort_keys=True)
        within = str(self.fields.get(shape.within, "")) if shape.within else ""
        return f"{uri_prefix(self.type, within=within)}{digest('record', same)}"


def record(kind: RecordType | str, fields: Mapping[str, object]) -> TypedRecord:
    """Return a record with validated fields; empty ones are dropped, line ends become line feeds.

    Raises UsageError that names the field, for one that the type does not have, that is missing, that has
    another form than its type wants, or that is no text at all.
    """
    shape = SHAPES[record_type(kind)]
    for name in fields:
        if name not in shape.by_name:
            raise UsageError(f'a {shape.type} has no field "{name}"', hint=f"its fields: {shape.field_list}")
    checked: dict[str, Value] = {}
    for field in shape.fields:
        value = parse_value(shape, field, fields.get(field.name))
        if value is not None and value not in ("", (), {}):
            checked[field.name] = value
    for field in shape.fields:
        if field.required and field.name not in checked:
            raise UsageError(
                f'the {shape.type} lacks its field "{field.name}"', hint=f"{field.name}: {field.help}"
            )
    if not checked.keys() - shape.no_content:
        raise UsageError(f"the {shape.type} says nothing", hint=f"give one of its fields: {shape.field_list}")
    return TypedRecord(shape.type, checked)


def record_type(name: RecordType | str) -> RecordType:
    """Return the type of this name; raises UsageError with the known names."""
    try:
        return RecordType(name)
    except ValueError as error:
        raise UsageError(
            f'there is no type of record "{name}"', hint=f"types: {', '.join(RecordType)}"
        ) from error


def uri_prefix(kind: RecordType, *, within: str = "") -> str:
    """Return the common URI prefix of all records of a type, or of one session (`within`)."""
    return f"record:{kind}:" + (f"{digest('within', within, length=16)}:" if within else "")


def draft_of(
    item: TypedRecord,
    *,
    scope: Scope,
    event_time: datetime | None,
    redactor: Redactor,
    tags: Iterable[str] = (),
) -> Draft:
    """Return the draft of a record: its text, with its type and fields as metadata."""
    shape = SHAPES[item.type]
    sort = shape.category_of(item.fields)
    metadata = {_TYPE: item.type.value, FIELDS: fields_text(item.fields)}
    edited = [path for name in shape.edited for path in _lines(item.fields.get(name, ()))]
    if edited:
        metadata[_EDITED] = "\n".join(edited)
    if shape.protected:
        metadata[_PROTECTED] = "true"
    if item.type is RecordType.EPISODE:
        metadata |= episode_metadata(item.fields)
    return Draft(
        source=RECORDS,
        uri=item.uri,
        text=item.text,
        title=item.title(redactor),
        event_time=event_time,
        scope=scope,
        kind=sort.kind,
        category=sort.category,
        tags=tuple(dict.fromkeys((item.type.value, *shape.tags, *tags))),
        metadata=metadata,
    )


def record_of(memory: Memory) -> TypedRecord | None:
    """Return the record in a memory; None if it has none, or has unknown fields."""
    if memory.source != RECORDS or _TYPE not in memory.metadata:
        return None
    try:
        return record(memory.metadata[_TYPE], json.loads(memory.metadata.get(FIELDS, "")))
    except (ValueError, TypeError, AttributeError, RecursionError, UsageError):
        # Imported from another version: its text is shown and found nevertheless.
        return None


def type_of(source: str, tags: Sequence[str]) -> str:
    """Return the record type of a memory with this source and these tags, else ""."""
    return tags[0] if source == RECORDS and tags else ""


def fields_text(fields: Mapping[str, Value]) -> str:
    """Return fields as JSON for the metadata of a memory."""
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
    """Return the main field and the other fields of its line: a file's purpose, a task's success."""
    main = shape.by_name[shape.main]
    text = _render(main, fields[shape.main])
    for name in shape.led[1:]:
        if name in fields:
            text += f"{shape.join}{_render(shape.by_name[name], fields[name])}"
    return text


def _render(field: Field, value: Value) -> str:
    if isinstance(value, bool):
        return field.words[0] if value else field.words[1]
    if isinstance(value, Mapping):
        return "\n".join(f"- {_code(name)}: {_indent(text)}" for name, text in value.items())
    if isinstance(value, tuple):
        shown = map(_code, value) if field.form is FieldType.PATHS else map(_indent, value)
        return "\n".join(f"- {text}" for text in shown)
    return _code(value) if field.form is FieldType.PATH else value


def _code(text: str) -> str:
    """Return a name or path as a code span, unless it contains a backtick or a line end."""
    return text if "`" in text or "\n" in text else f"`{text}`"


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")

"""Typed records of a session: validated fields, rendered as Markdown and stored as data."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ragmem.domain.model import Draft, Memory, Scope, digest
from ragmem.domain.records.episodes import episode_metadata
from ragmem.domain.records.record_fields import Value, parse_value
from ragmem.domain.records.record_types import RECORD_SCHEMAS, Field, FieldType, RecordSchema, RecordType
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import UsageError
from ragmem.frozen import dataclass

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
        schema = RECORD_SCHEMAS[self.type]
        names = (field.name for field in schema.fields if field.name not in schema.no_content)
        for name in (schema.main, *names):
            lines = _lines(self.fields.get(name, ""))
            if lines and len(lines[0]) > TITLE_LENGTH:
                return redactor.truncate(lines[0], TITLE_LENGTH - 1) + "…"
            if lines:
                return lines[0]
        return schema.label

    @property
    def text(self) -> str:
        """The record as Markdown, with every field verbatim: the main field first, the others in sections."""
        schema = RECORD_SCHEMAS[self.type]
        parts = [f"# {schema.category_of(self.fields).label}"]
        if schema.main in self.fields:
            parts.append(_lead(schema, self.fields))
        parts += [
            f"## {field.label}\n\n{_render(field, self.fields[field.name])}"
            for field in schema.fields
            if field.name in self.fields
            and field.name not in schema.lead_fields
            and field.name not in schema.data_only
        ]
        return "\n\n".join(parts)

    @property
    def uri(self) -> str:
        """The identity of the record: its path if it is about one file, else all of its fields."""
        schema = RECORD_SCHEMAS[self.type]
        same = (
            str(self.fields[schema.key_field])
            if schema.key_field
            else json.dumps(self.fields, sort_keys=True)
        )
        within = str(self.fields.get(schema.group_field, "")) if schema.group_field else ""
        return f"{uri_prefix(self.type, within=within)}{digest('record', same)}"


def record(kind: RecordType | str, fields: Mapping[str, object]) -> TypedRecord:
    """Return a record with validated fields; empty ones are dropped, line ends become line feeds.

    Raises UsageError that names the field if it is unknown, missing or of the wrong type.
    """
    schema = RECORD_SCHEMAS[record_type(kind)]
    for name in fields:
        if name not in schema.by_name:
            raise UsageError(
                f'a {schema.type} has no field "{name}"', hint=f"its fields: {schema.field_list}"
            )
    checked: dict[str, Value] = {}
    for field in schema.fields:
        value = parse_value(schema, field, fields.get(field.name))
        if value is not None and value not in ("", (), {}):
            checked[field.name] = value
    for field in schema.fields:
        if field.required and field.name not in checked:
            raise UsageError(
                f'the {schema.type} lacks the required field "{field.name}"',
                hint=f"{field.name}: {field.help}",
            )
    if not checked.keys() - schema.no_content:
        raise UsageError(f"the {schema.type} is empty", hint=f"give one of its fields: {schema.field_list}")
    return TypedRecord(schema.type, checked)


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
    schema = RECORD_SCHEMAS[item.type]
    category = schema.category_of(item.fields)
    metadata = {_TYPE: item.type.value, FIELDS: fields_text(item.fields)}
    edited = [path for name in schema.edited_fields for path in _lines(item.fields.get(name, ()))]
    if edited:
        metadata[_EDITED] = "\n".join(edited)
    if schema.protected:
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
        kind=category.kind,
        category=category.category,
        tags=tuple(dict.fromkeys((item.type.value, *schema.tags, *tags))),
        metadata=metadata,
    )


def record_of(memory: Memory) -> TypedRecord | None:
    """Return the record in a memory; None if it has none, or has unknown fields."""
    if memory.source != RECORDS or _TYPE not in memory.metadata:
        return None
    try:
        return record(memory.metadata[_TYPE], json.loads(memory.metadata.get(FIELDS, "")))
    except (ValueError, TypeError, AttributeError, RecursionError, UsageError):
        # Imported from another version: its text is still shown and found.
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


def _lead(schema: RecordSchema, fields: Mapping[str, Value]) -> str:
    """Return the main field and the other fields of its line: a file's purpose, a task's success."""
    main = schema.by_name[schema.main]
    text = _render(main, fields[schema.main])
    for name in schema.lead_fields[1:]:
        if name in fields:
            text += f"{schema.join}{_render(schema.by_name[name], fields[name])}"
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

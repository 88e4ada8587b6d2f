"""Validate and normalize the fields of typed records."""

import json
from collections.abc import Callable, Iterable, Mapping

from ragmem.domain.records.record_types import Field, FieldType, RecordSchema
from ragmem.errors import UsageError

MAX_QUOTE_CHARS = 80
"""Characters of an invalid value that an error quotes."""

Value = str | bool | tuple[str, ...] | Mapping[str, str]
"""A field's value: a text or path, a flag, several texts or paths, or names with a text each."""

_YES, _NO = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})


def parse_value(schema: RecordSchema, field: Field, value: object) -> Value | None:
    """Return a field's normalized value, None if it is empty; raises UsageError that names the field."""
    return None if value is None else _BY_FORM[field.form](schema, field, value)


def _one_text(schema: RecordSchema, field: Field, value: object) -> str:
    return _text(schema, field, value if isinstance(value, bool) else _scalar(value))


def _several_texts(schema: RecordSchema, field: Field, value: object) -> tuple[str, ...]:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        value = (value,)
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise _wrong(schema, field, "a list of texts", value)
    items = (item if isinstance(item, bool) else _scalar(item) for item in value)
    return tuple(text for item in items if (text := _text(schema, field, item)))


def _pairs(schema: RecordSchema, field: Field, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise _wrong(schema, field, "an object with text values", value)
    pairs: dict[str, str] = {}
    for item, said in value.items():
        name, text = _text(schema, field, item), _text(schema, field, _scalar(said), is_path=False)
        if not (name and text):
            continue
        if pairs.get(name, text) != text:
            raise UsageError(
                f'the field "{field.name}" of the {schema.type} has "{name}" twice', hint="give it once"
            )
        pairs[name] = text
    return pairs


def _text(schema: RecordSchema, field: Field, value: object, *, is_path: bool = True) -> str:
    """Return a text, or a path for a field of that type unless `is_path` is false."""
    if not isinstance(value, str):
        raise _wrong(schema, field, "a text", value)
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UsageError(
            f'the field "{field.name}" of the {schema.type} has a NUL character or an unpaired surrogate',
            hint="send UTF-8 text",
        )
    if is_path and field.form in (FieldType.PATH, FieldType.PATHS, FieldType.PATH_PAIRS):
        text = text.replace("\\", "/")
        while text.startswith("./"):
            text = text.removeprefix("./").strip()
        if "\n" in text:
            raise _wrong(schema, field, "a path in one line", value)
    return text


def _flag(schema: RecordSchema, field: Field, value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(_scalar(value)).strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise _wrong(schema, field, "true or false", value)


def _choice(schema: RecordSchema, field: Field, value: object) -> str:
    """Return one of the words of a field; "" for none."""
    word = value.strip().lower().replace("-", "_") if isinstance(value, str) else value
    if word != "" and word not in field.choices:
        raise _wrong(schema, field, f"one of {', '.join(field.choices)}", value)
    return str(word)


def _share(schema: RecordSchema, field: Field, value: object) -> str:
    """Return a number from 0 to 1 as text; "" for none."""
    if value == "":
        return ""
    try:
        number = float(str(value)) if not isinstance(value, bool) else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise _wrong(schema, field, "a number from 0 to 1", value)
    return f"{number:.4g}"


def _scalar(value: object) -> object:
    """Return a number or boolean as its JSON text."""
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def _wrong(schema: RecordSchema, field: Field, wanted: str, value: object) -> UsageError:
    shown = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(shown) > MAX_QUOTE_CHARS:
        shown = shown[: MAX_QUOTE_CHARS - 1] + "…"
    shown = " ".join(shown.split())
    return UsageError(
        f'the field "{field.name}" of the {schema.type} must be {wanted}, not "{shown}"',
        hint=f"{field.name}: {field.help}",
    )


_BY_FORM: Mapping[FieldType, Callable[[RecordSchema, Field, object], Value]] = {
    FieldType.TEXT: _one_text,
    FieldType.PATH: _one_text,
    FieldType.FLAG: _flag,
    FieldType.TEXTS: _several_texts,
    FieldType.PATHS: _several_texts,
    FieldType.PAIRS: _pairs,
    FieldType.PATH_PAIRS: _pairs,
    FieldType.CHOICE: _choice,
    FieldType.SHARE: _share,
}

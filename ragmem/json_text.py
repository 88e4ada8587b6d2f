"""Read and write JSON without the `json` module, whose import takes 15 ms."""

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The json module calls these internals of CPython, which a later version may change.
_quoted: "Any"
_make_scanner: "Any"
try:
    from _json import encode_basestring as _quoted
    from _json import make_scanner as _make_scanner
except ImportError:
    _quoted = _make_scanner = None


class _Rules:
    """The rules of `json.loads`, but control characters are allowed: some assistants do not escape them."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    array_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(_name: str) -> None:
        """Read NaN and the infinities as null: JSON does not have them."""


def read(text: str) -> "Any":
    """Return the value of a JSON text; raises ValueError for any other text."""
    text = text.strip(" \t\n\r")
    if _make_scanner is None:
        return _read_by_module(text)
    try:
        value, end = _make_scanner(_Rules)(text, 0)
    except MemoryError:
        raise
    except Exception as error:
        # Versions of Python raise different errors where the json module raises ValueError.
        raise ValueError("it is not JSON") from error
    if end != len(text):
        raise ValueError("there is more than one value")
    return value


def write(value: "Any") -> str:
    """Return a value as one line of JSON: texts, numbers, booleans, None, dicts and lists of these."""
    if isinstance(value, str):
        return _in_quotes(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{write(str(name))}:{write(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(write(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    # NaN and the infinities are not JSON.
    return "null" if isinstance(value, float) and value - value != 0 else str(value)


def _read_by_module(text: str) -> "Any":
    from json import loads

    try:
        return loads(text, strict=False)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _in_quotes(text: str) -> str:
    if _quoted is None:
        from json import dumps

        return dumps(text, ensure_ascii=False)
    return str(_quoted(text))


def text_of(mapping: "Mapping[str, Any]", *names: str) -> str:
    """Return the first of these values that is a text and not blank; "" if none is."""
    for name in names:
        value = mapping.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""

"""Find JSON data within a text: its records and keys."""

from collections.abc import Iterable, Iterator

from ragmem.patterns import lazy

_DATA = lazy(
    r"[ \t]*(?:[\[{]+[ \t]*(?:[\"\]}]|$)|[\]}]+,?[ \t]*$|\"[^\"]*\",?[ \t]*$"
    r"|\"[\w.$/-]{1,60}\":[ \t]*(?:[\"\[{\d-]|true\b|false\b|null\b|$))"
)
_LONE = lazy(r"[ \t]*\"[^\"]*(?:\\\"[^\"]*)*\",?[ \t]*$")
_KEY = lazy(r"(?:(?<=[{,\[\]}\"\d \t])|^)([\"'])[\w.$/-]{1,60}\1\s?:")
_NEXT_VALUE = lazy(r"([\"']),(?=\s*[\"'])")


def is_data(line: str) -> bool:
    """Return whether a line is data: a bracket, a key with its value, or only a string in quotes."""
    return bool(_DATA.match(line))


def records(text: str, rows: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the records in lines of data: the fields of one object, or one string of a list."""
    begin = end = -1
    for start, stop in rows:
        line = text[start:stop].rstrip()
        if line.endswith(("[", "{")) or line.lstrip().startswith(("]", "}")) or _LONE.match(line):
            if begin >= 0:
                yield begin, end
                begin = -1
            yield start, stop
        else:
            begin, end = start if begin < 0 else begin, stop
    if begin >= 0:
        yield begin, end


def without_keys(text: str) -> str:
    """Return data with blanked keys and a semicolon after each value; all offsets stay the same."""
    return _NEXT_VALUE.sub(r"\1;", _KEY.sub(lambda key: f"{':':>{len(key.group())}}", text))

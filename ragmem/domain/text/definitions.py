"""Find the spans of definitions in a program, by the layout of the lines and by Python's syntax."""

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ragmem.domain.text.python_syntax import module_tree
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_PARSED_CHARS = 200_000
"""A longer text is data: it is split by layout and not parsed."""

MAX_DEPTH = 4
"""Nesting levels: namespace, class, method, block; deeper code is split by lines only."""

MIN_CODE_SHARE = 0.4
"""Minimum share of non-blank lines that end like a statement, in a program."""

MIN_LINES = 3

_MAX_LINE = 300
_PYTHON = lazy(r"^[ \t]{0,40}(?:async[ \t]+)?(?:def|class)[ \t]", re.MULTILINE)
_CLOSES = lazy(r"[})\]]|end\b|fi\b|done\b|esac\b")
_GOES_ON = lazy(r"[})\]{]|(?:else|elif|elsif|except|finally|catch|rescue|ensure|then|do|end|fi|done)\b")
_STANDS_ABOVE = lazy(r"#(?!!)|//|/\*|\*|@|\[")
_NAMED = lazy(
    r"(?:[\w$.*&<>\[\],()]{1,40}[ \t]+){0,5}?"
    r"(?:def|class|function\*?|func|fn|fun|sub|struct|enum|interface|impl|trait|module|namespace|object)"
    r"[ \t]+(?:\([^)\n]{0,60}\)[ \t]*)?(?P<word>[\w$.:]{1,80})"
    r"|(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<value>[\w$]{1,80})[ \t]*=[ \t]*(?:async\b|function\b|\()"
    r"|(?:[\w$.*&<>\[\],:~]{1,60}[ \t]+){0,5}?(?!(?:if|for|while|switch|catch|return|with)\b)"
    r"(?P<called>[\w$~]{1,80})\([^;]{0,200}\{[ \t]*$"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A span of a program, with the path of names around it; the definition itself gives the last one."""

    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A non-blank line: `first` is its first character, `gap` whether a blank line precedes it."""

    start: int
    first: int
    end: int
    gap: bool
    begins: bool


def is_program(text: str) -> bool:
    """Return whether a text is a program: Python with definitions, or lines that end like code."""
    if _statement_lines(text):
        return True
    lines = [line.strip()[:_MAX_LINE] for line in text.splitlines() if line.strip()]
    if len(lines) < MIN_LINES or any(line.startswith(("```", "~~~")) for line in lines):
        return False
    ends = sum(1 for line in lines if line.endswith(("{", "}", ";")))
    return ends >= MIN_CODE_SHARE * len(lines) and any(map(_NAMED.match, lines))


def parts(text: str, start: int, end: int, fits: Callable[[int, int], bool]) -> Iterator[Definition]:
    """Yield the parts of text[start:end], each beginning with a definition or statement, without gaps.

    A part that fits is not divided; a class that does not fit is divided into methods, and so on. A part that
    cannot be divided may be too large. The time is linear.
    """
    python = _statement_lines(text[start:end])
    rows: list[_Row] = []
    begin, gap = start, True
    for number, line in enumerate(text[start:end].split("\n"), 1):
        body = line.lstrip()
        if body:
            first = begin + len(line) - len(body)
            begins = number in python if python else not _GOES_ON.match(body)
            rows.append(_Row(begin, first, begin + len(line), gap, begins))
        gap = not body
        begin += len(line) + 1
    if rows:
        yield from _divide(text, rows, (), fits, 0)


def _divide(
    text: str, rows: Sequence[_Row], path: tuple[str, ...], fits: Callable[[int, int], bool], depth: int
) -> Iterator[Definition]:
    """Yield the parts of these rows, all of them under the names in `path`."""
    # A multi-line string may be indented less than the code around it.
    least = min(row.first - row.start for row in ([row for row in rows if row.begins] or rows))
    level = [at for at, row in enumerate(rows) if row.first - row.start == least]
    starts = [0, *(at for at in level if at and _begins(text, rows, at, least)), len(rows)]
    for at, after in pairwise(starts):
        unit = rows[at:after]
        name = next((found for row in unit if (found := _name(text, row, least))), "")
        within = (*path, name) if name else path
        if depth == MAX_DEPTH or fits(unit[0].start, unit[-1].end):
            yield Definition(path, unit[0].start, unit[-1].end)
            continue
        inner = [place for place, row in enumerate(unit) if row.first - row.start > least]
        if not inner:
            yield from (Definition(path, row.start, row.end) for row in unit)
            continue
        head, stop = inner[0], inner[-1] + 1
        if head:
            yield Definition(path, unit[0].start, unit[head - 1].end)
        yield from _divide(text, unit[head:stop], within, fits, depth + 1)
        if stop < len(unit):
            yield Definition(within, unit[stop].start, unit[-1].end)


def _begins(text: str, rows: Sequence[_Row], at: int, least: int) -> bool:
    """Return whether a row of the least indentation begins a new part."""
    row, above = rows[at], rows[at - 1]
    if row.gap:
        return row.begins or _STANDS_ABOVE.match(text, row.first) is not None
    line = text[above.first : min(above.end, above.first + _MAX_LINE)]
    if above.first - above.start == least and _STANDS_ABOVE.match(line):
        return False
    ended = above.first - above.start > least or _CLOSES.match(line) is not None
    return (row.begins and (ended or bool(_name(text, row, least)))) or (
        ended and _STANDS_ABOVE.match(text, row.first) is not None
    )


def _name(text: str, row: _Row, least: int) -> str:
    """Return the name that a row of the least indentation defines, or ""."""
    if row.first - row.start != least:
        return ""
    found = _NAMED.match(text[row.first : min(row.end, row.first + _MAX_LINE)])
    return (found["word"] or found["value"] or found["called"] or "").rstrip(":") if found else ""


def _statement_lines(text: str) -> frozenset[int]:
    """Return the first lines, from 1, of the statements of a Python module with definitions."""
    if len(text) > MAX_PARSED_CHARS or not _PYTHON.search(text):
        return frozenset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = module_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            above = getattr(node, "decorator_list", ())
            found.add(min([node.lineno, *(item.lineno for item in above)]))
            found.update(item.lineno for item in above)
    return frozenset(found)

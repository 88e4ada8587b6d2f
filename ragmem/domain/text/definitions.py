"""The definitions of a program as spans, found by the layout of the lines and by Python's syntax."""

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragmem.domain.text.python_syntax import module_tree

MAX_PARSED_CHARS = 200_000
"""A longer text is data: its layout is looked at, but it is not parsed."""

MAX_DEPTH = 4
"""Namespace, class, method, block: what lies deeper is told by its lines only."""

MIN_CODE_SHARE = 0.4
"""Of the lines with text, those that end as a statement does, in a text that is a program."""

MIN_LINES = 3

_MAX_LINE = 300
_PYTHON = re.compile(r"^[ \t]{0,40}(?:async[ \t]+)?(?:def|class)[ \t]", re.MULTILINE)
_CLOSES = re.compile(r"[})\]]|end\b|fi\b|done\b|esac\b")
_GOES_ON = re.compile(r"[})\]{]|(?:else|elif|elsif|except|finally|catch|rescue|ensure|then|do|end|fi|done)\b")
_STANDS_ABOVE = re.compile(r"#(?!!)|//|/\*|\*|@|\[")
_NAMED = re.compile(
    r"(?:[\w$.*&<>\[\],()]{1,40}[ \t]+){0,5}?"
    r"(?:def|class|function\*?|func|fn|fun|sub|struct|enum|interface|impl|trait|module|namespace|object)"
    r"[ \t]+(?:\([^)\n]{0,60}\)[ \t]*)?(?P<word>[\w$.:]{1,80})"
    r"|(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<value>[\w$]{1,80})[ \t]*=[ \t]*(?:async\b|function\b|\()"
    r"|(?:[\w$.*&<>\[\],:~]{1,60}[ \t]+){0,5}?(?!(?:if|for|while|switch|catch|return|with)\b)"
    r"(?P<called>[\w$~]{1,80})\([^;]{0,200}\{[ \t]*$"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A span of a program, under the names of what it lies within; it tells what it defines itself."""

    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A line that is not blank: `first` is its first character, `gap` whether a blank line stands above."""

    start: int
    first: int
    end: int
    gap: bool
    begins: bool


def is_program(text: str) -> bool:
    """Tell whether a text is a program: Python that defines something, or lines that end as code does."""
    if _statement_lines(text):
        return True
    lines = [line.strip()[:_MAX_LINE] for line in text.splitlines() if line.strip()]
    if len(lines) < MIN_LINES or any(line.startswith(("```", "~~~")) for line in lines):
        return False
    ends = sum(1 for line in lines if line.endswith(("{", "}", ";")))
    return ends >= MIN_CODE_SHARE * len(lines) and any(map(_NAMED.match, lines))


def parts(text: str, start: int, end: int, fits: Callable[[int, int], bool]) -> Iterator[Part]:
    """Yield text[start:end] in parts that each begin with a definition or statement, no line left out.

    What fits is not divided; a class that does not is told by its methods, and so on. A part that has nothing
    to be divided by may not fit. The time is linear.
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
        yield from _divided(text, rows, (), fits, 0)


def _divided(
    text: str, rows: Sequence[_Row], path: tuple[str, ...], fits: Callable[[int, int], bool], depth: int
) -> Iterator[Part]:
    """Yield the parts of these rows, which lie within what `path` names."""
    # A string over several lines may stand further left than the code around it.
    least = min(row.first - row.start for row in ([row for row in rows if row.begins] or rows))
    level = [at for at, row in enumerate(rows) if row.first - row.start == least]
    starts = [0, *(at for at in level if at and _begins(text, rows, at, least)), len(rows)]
    for at, after in pairwise(starts):
        unit = rows[at:after]
        name = next((found for row in unit if (found := _name(text, row, least))), "")
        within = (*path, name) if name else path
        if depth == MAX_DEPTH or fits(unit[0].start, unit[-1].end):
            yield Part(path, unit[0].start, unit[-1].end)
            continue
        inner = [place for place, row in enumerate(unit) if row.first - row.start > least]
        if not inner:
            yield from (Part(path, row.start, row.end) for row in unit)
            continue
        head, stop = inner[0], inner[-1] + 1
        if head:
            yield Part(path, unit[0].start, unit[head - 1].end)
        yield from _divided(text, unit[head:stop], within, fits, depth + 1)
        if stop < len(unit):
            yield Part(within, unit[stop].start, unit[-1].end)


def _begins(text: str, rows: Sequence[_Row], at: int, least: int) -> bool:
    """Tell whether a row of the least indentation begins a part of its own."""
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
    """Return what a row of the least indentation defines, or an empty text."""
    if row.first - row.start != least:
        return ""
    found = _NAMED.match(text[row.first : min(row.end, row.first + _MAX_LINE)])
    return (found["word"] or found["value"] or found["called"] or "").rstrip(":") if found else ""


def _statement_lines(text: str) -> frozenset[int]:
    """Return the lines, from 1, at which the statements of a Python module that defines something begin."""
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

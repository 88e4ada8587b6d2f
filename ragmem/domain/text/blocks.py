"""The structure of a Markdown text as spans: sections, blocks, lines and sentences.

Every function takes linear time for any input. A text without Markdown is a sequence of paragraphs.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_HEADING_CHARS = 200
"""A longer line that begins with `#` is text, not a heading."""

MAX_TITLE_CHARS = 80
"""Maximum characters of one heading in a path of headings, so that the path leaves room for the text."""

_LINE = lazy(r"[^\r\n]+(?:\r\n|\r|\n)?|(?:\r\n|\r|\n)")
_HEADING = lazy(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_ASCIIDOC = lazy(r"(?:\s|//[^\n]*\n|:[\w-]+:[^\n]*\n)*= \w")
_ASCIIDOC_HEADING = lazy(r"(={1,6})[ \t]+(\S.*)$")
_WIKI = lazy(r"^==[^=\n]+==[ \t]*$", re.MULTILINE)
_MARKDOWN = lazy(r"(?:\A|\n[ \t]*\n)#{1,6} [^\n]+\n(?!#)")
"""A heading of Markdown: of the items of a numbered list of a wiki, which look the same, few stand alone."""
_WIKI_HEADING = lazy(r"(={1,6})[ \t]*([^=\s].*?)[ \t]*\1$")
"""A heading of a text that begins with a title of this form: other texts have such lines (`=== RUN Test`)."""
_ORG = lazy(
    r"\A(?:\s|#[ \t]-\*-[^\n]*\n)*#\+[a-z_]+:|^:PROPERTIES:[ \t]*$"
    r"|^[ \t]*#\+(?:begin|end)_(?:src|example|quote|verse)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""A text of Org begins with a keyword; a part of one may have a drawer or a block."""

_ORG_HEADING = lazy(
    r"(\*{1,8})[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|HOLD|CANCELLED)[ \t]+)?(.*?)(?:[ \t]+:[\w@:]+:)?$"
)
"""A heading of Org, without its keyword and its tags."""
_ORG_FIELD = lazy(
    r":[\w-]+\+?:(?:[ \t].*)?$|#(?:[ \t].*)?$|#\+(?:[\w-]+:.*|(?:begin|end)_(?:quote|verse|center).*)$",
    re.IGNORECASE,
)
"""A line of a drawer, a comment, or a keyword of Org: all but its text."""
_ORG_CODE = lazy(r"()(#\+)begin_(src|example|export|comment)\b", re.IGNORECASE)
_ANCHOR = lazy(r"[ \t]*<a\b[^<>]{0,500}>\s?</a>")
_FENCE = lazy(r"[ \t]*(?:[-*+][ \t]+|>[ \t]*)?(`{3,}|~{3,})(.*)$")
_FENCE_MARKS = ("```", "~~~", "#+begin_", "#+end_")
_ITEM = lazy(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+")
_MARKER = lazy(r"(?:\d{1,4}[.)]|[-*+])\s*")
_RULE = lazy(r" {0,3}(?:-[ \t]*){3,}$| {0,3}(?:\*[ \t]*){3,}$| {0,3}(?:_[ \t]*){3,}$")
_SENTENCE_END = lazy(r"[.!?]['\")\]*_`]{0,4}[ \t\r\n]+(?=[^a-z\s])")
_WIDE_ENDS = "\u3002\uff01\uff1f"
_ANY_END = lazy(rf"{_SENTENCE_END.pattern}|[{_WIDE_ENDS}][\u300d\u300f\u201d\u2019)]{{0,2}}")
"""Without a choice a pattern is searched four times as fast, and few texts have a Chinese full stop."""
_ABBREVIATION = lazy(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|approx|resp)|\b[A-Z]|\[\d{1,4})\.$"
)
_ABBREVIATION_REACH = 8
_DAY = lazy(
    r"(?<![\d.])\d{1,2}\.[ \t]{1,2}"
    r"(?:jan|feb|m[a\u00e4]r|apr|ma[ijy]|j[au]n|jul|a[uo]g|sep|o[ck]t|nov|de[csz])",
    re.IGNORECASE,
)
"""A day before its month, as in German and the Nordic languages."""

_UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, '"': 4, "'": 4, "+": 4, "*": 4}
"""Marks of a line below a title, with its level: Markdown has the first two, reStructuredText all."""

_OVERLINES = frozenset("=-*#^+")
"""Marks of lines above and below a title of reStructuredText; tildes would be a code fence."""


class BlockType(StrEnum):
    """The type of a block."""

    HEADING = "heading"
    FENCE = "fence"
    TABLE = "table"
    ITEM = "item"
    PARAGRAPH = "paragraph"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Block:
    """One block, `text[start:end]`, without trailing blank lines; headings have a level and a title."""

    form: BlockType
    start: int
    end: int
    level: int = 0
    title: str = ""


def blocks(text: str, begin: int = 0, stop: int | None = None) -> Iterator[Block]:
    """Yield the blocks of text[begin:stop] in order; together they hold every non-blank character once.

    A fence runs to its closing line or to the end of the text. An item is one list item with its lazy and
    indented continuation lines; nested items are separate blocks.
    """
    rows = _rows(text, begin, len(text) if stop is None else stop)
    other = _other_heading(text)
    at = 0
    while at < len(rows):
        start, end = rows[at]
        if start == end:
            at += 1
            continue
        if _is_framed(text, rows, at):
            at += 3
            yield Block(BlockType.HEADING, start, rows[at - 1][1], 1, text[slice(*rows[at - 2])].strip())
            continue
        form, found = _line_form(text[start:end], other)
        if form is BlockType.HEADING and found is not None:
            at += 1
            title = _ANCHOR.sub("", found.group(2) or "").strip()
            bare = title.rstrip("#")
            # Closing marks follow a blank; that of "C#" does not.
            title = bare.rstrip() if bare != bare.rstrip() or not bare else title
            yield Block(form, start, end, len(found.group(1)), title)
        elif form is BlockType.RULE:
            at += 1
            yield Block(form, start, end)
        elif form is BlockType.FENCE and found is not None:
            at = _fence_end(text, rows, at + 1, found.group(1) or f"#+end_{found.group(3).lower()}")
            yield Block(form, start, max(stop for _, stop in rows[at - 1 : at]))
        else:
            last = _run_end(text, rows, at + 1, form, other)
            if last == at + 1 and last < len(rows) and _is_underline(text, rows, last):
                at = last + 1
                level = _UNDERLINES[text[rows[last][0]]]
                yield Block(BlockType.HEADING, start, rows[last][1], level, text[start:end].strip())
            else:
                at = last
                yield Block(form, start, rows[last - 1][1])


def _rows(text: str, begin: int, stop: int) -> list[tuple[int, int]]:
    """Return the spans of the lines of text[begin:stop] without white space at their ends."""
    part = text[begin:stop]
    if "\r" in part:
        cut = _LINE.finditer(text, begin, stop)
        return [(line.start(), line.start() + len(line.group().rstrip())) for line in cut]
    # Most texts have one kind of line end, and this takes a third of the time.
    found, at = [], begin
    for line in part.split("\n"):
        found.append((at, at + len(line.rstrip())))
        at += len(line) + 1
    # Behind the last line end there is no line.
    return found if part and part[-1] != "\n" else found[:-1]


def sections(text: str, begin: int, stop: int) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """Yield the sections of text[begin:stop], each with its path of headings.

    Titles in the path are shortened; the first block of a section is its heading, if it has one.
    """
    path: list[tuple[int, str]] = []
    section: list[Block] = []
    for block in blocks(text, begin, stop):
        if block.form is BlockType.HEADING:
            if section:
                yield tuple(title for _, title in path), section
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, _clip(block.title)))
            section = [block]
        else:
            section.append(block)
    if section:
        yield tuple(title for _, title in path), section


def _clip(title: str) -> str:
    """Shorten a title for a path."""
    return title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1] + "…"


def _fence_end(text: str, rows: list[tuple[int, int]], at: int, fence: str) -> int:
    """Return the row after the fence that was opened by these marks before row `at`."""
    full = at
    while at < len(rows):
        start, end = rows[at]
        at += 1
        if start == end:
            continue
        full = at
        mark = text[start : min(end, start + MAX_HEADING_CHARS)].strip(" \t>\r\n")
        if mark.lower() == fence or (mark.startswith(fence) and not mark.strip(fence[0])):
            return at
    return full


def _run_end(
    text: str, rows: list[tuple[int, int]], at: int, form: BlockType, other: re.Pattern[str] | None
) -> int:
    """Return the row after the paragraph, item or table that continues at row `at`."""
    while at < len(rows):
        start, end = rows[at]
        if start == end:
            break
        follows, _ = _line_form(text[start:end], other)
        if not (
            follows is form is not BlockType.ITEM
            or (form is BlockType.ITEM and follows is BlockType.PARAGRAPH)
        ):
            break
        if form is BlockType.PARAGRAPH and _is_underline(text, rows, at):
            break
        at += 1
    return at


def _is_underline(text: str, rows: list[tuple[int, int]], at: int) -> bool:
    """Return whether row `at` is a line of marks that makes the row above it a heading.

    Marks other than equal signs must be as long as the title, else they are a rule, a fence or a list.
    """
    start, end = rows[at]
    above = text[slice(*rows[at - 1])]
    mark = text[start]
    if mark not in _UNDERLINES or text[start:end].strip(mark):
        return False
    if mark == "=":
        return 3 <= end - start <= MAX_HEADING_CHARS >= len(above)
    # A short word above a code fence is no title.
    least = 4 if mark == "~" else 3
    is_title = above[0].isalnum() or above[0] in "`'\"*_:("
    return is_title and least <= len(above) <= end - start <= MAX_HEADING_CHARS


def _is_framed(text: str, rows: list[tuple[int, int]], at: int) -> bool:
    """Return whether row `at` and the second one after it are equal lines of marks around a title."""
    start, end = rows[at]
    if text[start] not in _OVERLINES or at + 2 >= len(rows):
        return False
    # Three hyphens above and below are the marks of frontmatter, or rules.
    least = 3 if text[start] == "=" else 4
    if not least <= end - start <= MAX_HEADING_CHARS:
        return False
    line, title = text[start:end], text[slice(*rows[at + 1])].strip()
    is_frame = not line.strip(line[0]) and line == text[slice(*rows[at + 2])]
    return is_frame and 0 < len(title) <= len(line) and any(map(str.isalnum, title))


def _other_heading(text: str) -> re.Pattern[str] | None:
    """Return the form of headings of AsciiDoc, MediaWiki or Org; none in other texts."""
    # Most texts have no such line, and this is asked for each part of a text.
    if (text.startswith("==") or "\n==" in text) and (found := _WIKI.search(text)):
        # Obsidian highlights a line so.
        is_wiki = _WIKI.search(text, found.end()) or not _MARKDOWN.search(text)
        return _WIKI_HEADING if is_wiki else None
    if ("#+" in text or ":PROPERTIES:" in text) and _ORG.search(text):
        return _ORG_HEADING
    return _ASCIIDOC_HEADING if _ASCIIDOC.match(text) else None


def _line_form(body: str, other: re.Pattern[str] | None) -> tuple[BlockType, re.Match[str] | None]:
    """Return the type of block that a line begins, with the match."""
    first = body.lstrip()[0]
    if other is _ORG_HEADING and first in ":#*" and (form := _org_form(body)):
        return form
    # In a wiki it begins an item of a numbered list.
    is_number = first == "#" and other is _WIKI_HEADING
    heading = other if first == "=" else _HEADING if first == "#" and not is_number else None
    if heading and len(body) <= MAX_HEADING_CHARS and (found := heading.match(body)):
        return BlockType.HEADING, found
    if first in "`~-*+>" and (found := _FENCE.match(body)) and "`" not in found.group(2):
        return BlockType.FENCE, found
    if first in "-*_" and len(body) <= MAX_HEADING_CHARS and _RULE.match(body):
        return BlockType.RULE, None
    if is_number or ((first in "-*+" or first.isdigit()) and _ITEM.match(body)):
        return BlockType.ITEM, None
    return BlockType.TABLE if first == "|" else BlockType.PARAGRAPH, None


def _org_form(body: str) -> tuple[BlockType, re.Match[str] | None] | None:
    """Return the type of block that a line begins in Org alone: a heading, code, or a field."""
    if found := _ORG_CODE.match(body.lstrip()):
        return BlockType.FENCE, found
    if _ORG_FIELD.match(body.lstrip()):
        return BlockType.RULE, None
    found = _ORG_HEADING.match(body) if len(body) <= MAX_HEADING_CHARS else None
    return (BlockType.HEADING, found) if found else None


def lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the non-blank lines in text[start:end], without surrounding white space."""
    for line in _LINE.finditer(text, start, end):
        span = trim(text, line.start(), line.end())
        if span[0] < span[1]:
            yield span


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences in text[start:end]; together they hold every non-blank character.

    A sentence ends at `.`, `!` or `?` before white space and anything but a small letter, not after a common
    abbreviation, an initial, the day of a month or the number of a link ("[12. A title](...)"); Chinese and
    Japanese full stops end one too.
    """
    begin = start
    has_wide = not text.isascii() and any(text.find(mark, start, end) >= 0 for mark in _WIDE_ENDS)
    for mark in (_ANY_END if has_wide else _SENTENCE_END).finditer(text, start, end):
        stop = mark.end()
        if text[mark.start()] == "." and (
            _ABBREVIATION.search(text, max(begin, mark.start() - _ABBREVIATION_REACH), mark.start() + 1)
            or (
                text[mark.start() - 1].isdigit() and _DAY.search(text, max(begin, mark.start() - 3), stop + 3)
            )
        ):
            continue
        span = trim(text, begin, stop)
        if span[0] < span[1]:
            yield span
        begin = stop
    span = trim(text, begin, end)
    if span[0] < span[1]:
        yield span


def statements(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences in text[start:end]; a list marker belongs to the first one."""
    begun: int | None = None
    stop = start
    for begin, stop in sentences(text, start, end):
        begun = begin if begun is None else begun
        if not _MARKER.fullmatch(text, begun, stop):
            yield begun, stop
            begun = None
    if begun is not None:
        yield begun, stop


def units(text: str, begin: int = 0, stop: int | None = None) -> Iterator[tuple[Block, int, int]]:
    """Yield the statements of text[begin:stop] with their blocks: sentences, or lines of tables and fences.

    Delimiter lines of fences and tables, and rules, are skipped; a heading is one statement.
    """
    for block in blocks(text, begin, stop):
        if block.form is BlockType.RULE:
            continue
        if block.form is BlockType.HEADING:
            yield block, block.start, block.end
        elif block.form in {BlockType.FENCE, BlockType.TABLE}:
            for start, end in lines(text, block.start, block.end):
                if text[start] in "`~#" and text[start : start + 8].lower().startswith(_FENCE_MARKS):
                    continue
                if block.form is BlockType.TABLE and not text[start:end].strip("|-: \t"):
                    continue
                yield block, start, end
        else:
            for start, end in statements(text, block.start, block.end):
                yield block, start, end


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends; a blank span becomes empty."""
    part = text[start:end]
    bare = part.rstrip()
    if not bare:
        return start + len(part), start + len(part)
    first = start + len(bare) - len(bare.lstrip()) if bare[0].isspace() else start
    return first, start + len(bare)

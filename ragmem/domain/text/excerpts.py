"""Parts of a text that can be shown alone: sentences, lines of tables, code and headings."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from ragmem.domain.text.blocks import BlockType, blocks, lines, statements
from ragmem.domain.text.pieces import size_of
from ragmem.patterns import lazy

CHARACTERS_PER_TOKEN = 4

GAP = "[…]"
"""Marks omitted text of the same memory between two parts."""

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_INVISIBLE = lazy(
    r"(?P<code>`[^`\n]{1,300}`)"
    r"|\[\[(?! )(?P<first>[^\[\]|\n]{1,300})\|(?P<second>[^\[\]|\n]{1,300})(?<! )\]\]"
    r"|!\[\[[^\[\]\n]{1,300}\]\]|\[\[[^\[\]\n]{1,500}\]\[(?P<label>[^\[\]]{1,300})\]\]"
    r"|\\(?=\n)|%%[^%\n]{0,200}%%|<!--[^<>]{0,300}-->|<a\b[^<>]{0,500}>\s?</a>|&(?:#x20|nbsp);"
    r"|\{%\s?(?:end)?(?:hint|tabs?|content-ref|code|embed|columns?|stepper|step)\b(?![^%\n]{0,80}https?:)"
    r"[^%\n]{0,200}%\}"
    r"|</?(?:table|thead|tbody|tr|t[dh]|figure|figcaption|div|span|details|summary|p|br|pre)\b[^<>]{0,300}>"
    r"|(?P<mark></?(?:code|nowiki|tt)>|(?<![\w'])'{2,3}(?=\w)|(?<=[\w.)])'{2,3}(?![\w']))"
    r"|(?m:^[ ]{0,3}\[[^\]\[\n^]{1,100}\]:[ \t]*\S{1,500}[ \t]*(?:[\"'(][^\n]{0,200})?$)"
    r"|(?m:^[ \t]*(?:-[ \t]+)?(?:(?:collapsed|heading|background-color|filters|ls-type"
    r"|(?:hl|card|query|logseq)[-.][\w.-]{1,40})::[ \t][^\n]{0,300}"
    rf"|[\w-]{{1,40}}::[ \t]+(?:\d{{13}}|{_UUID}))[ \t]*$)"
    rf"|\(\({_UUID}\)\)|(?m:(?:^|[ \t])\^[A-Za-z0-9-]{{6,40}}[ \t]*$)"
)
"""Code, the name of a link of a wiki, and markup that no reader of a page sees: embedded files, marks of a
broken line, comments, anchors, targets of links, marks of MediaWiki, tags of GitBook and of HTML, and the
properties, times and names of blocks of Logseq and Obsidian."""

_MARKS = ("[[", "]:", "''", "%", "<", "&", "\\\n", "::", "((", "^")
"""One of these is in each part that has such markup."""

_ADDRESS = lazy(r"\S*\w[./#]\w\S*")
"""The target of a link, as opposed to its label."""

Span = tuple[int, int]


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer: four characters each, marks one each.

    The costs are those of chunking, fitted with the MiniLM vocabulary on developers' notes. The estimate of
    two joined texts is not above the sum of both.
    """
    return math.ceil(size_of(text, 0, len(text)) / CHARACTERS_PER_TOKEN)


def atoms(text: str) -> list[Span]:
    """Return the spans of a text that must not be split, in order.

    They are headings, code fences, sentences and table rows; the first row of a table includes its head.
    """
    found: list[Span] = []
    for block in blocks(text):
        if block.form in {BlockType.HEADING, BlockType.FENCE, BlockType.RULE}:
            found.append((block.start, block.end))
        elif block.form is BlockType.TABLE:
            rows = list(lines(text, block.start, block.end))
            # The head of a table is useless without a row.
            head = 2 if len(rows) > 2 and not text[slice(*rows[1])].strip("|-: \t") else 0
            found.append((rows[0][0], rows[head][1]))
            found.extend(rows[head + 1 :])
        else:
            found.extend(statements(text, block.start, block.end))
    return found


def visible(part: str) -> str:
    """Return a part of a text outside of code fences without what no reader of the page sees."""
    return _INVISIBLE.sub(_shown, part).strip() if any(map(part.__contains__, _MARKS)) else part


def _shown(found: re.Match[str]) -> str:
    """Return what a reader of the page sees in the place of some markup."""
    first, second = found["first"], found["second"]
    if second:
        # Obsidian and MediaWiki put the target first, Dendron and the wikis of GitHub put the label first.
        is_target = "://" in second or (_ADDRESS.fullmatch(second) and not _ADDRESS.fullmatch(first))
        return first if is_target else second
    return found["code"] or found["label"] or ("" if found["mark"] else " ")


def announces(text: str, span: Span) -> bool:
    """Return whether a part only announces the next one: a heading, or a text that ends with a colon."""
    start, end = span
    line = text[start:end]
    if line.rstrip("*_ ").endswith(":") or (line.startswith("#") and "\n" not in line):
        return True
    first = next(blocks(line), None) if "\n" in line else None
    return first is not None and first.form is BlockType.HEADING and first.end == len(line)


def find_overlaps(parts: Sequence[Span], start: int, end: int) -> range:
    """Return the indexes of the sorted spans that overlap text[start:end]."""
    if start >= end:
        return range(0)
    first = bisect_right(parts, (start, -1))
    while first > 0 and parts[first - 1][1] > start:
        first -= 1
    last = first
    while last < len(parts) and parts[last][0] < end:
        last += 1
    return range(first, last)


def runs(chosen: Iterable[int]) -> list[tuple[int, int]]:
    """Return the runs of consecutive numbers as (first, last), in order."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(chosen)):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found

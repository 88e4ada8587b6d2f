"""The blocks of a web page or e-book as Markdown: headings, lists, tables, code, quotations, figures."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from ragmem.readers.documents.formats import marks, spans
from ragmem.readers.documents.formats.html.html_inline import Page, blank, line, piece
from ragmem.readers.documents.formats.html.html_tree import contains, elements, local, roles, tokens
from ragmem.readers.documents.formats.spans import Cell

Written = list[tuple[str, bool]]
"""Blocks in order, with True for a list item."""

_DEEPEST = 100
_HEADING = re.compile(r"h([1-6])")
_BLOCKS = frozenset(
    "p div section article main header footer aside nav h1 h2 h3 h4 h5 h6 ul ol dl li dt dd pre blockquote "
    "table figure figcaption hr address details summary form fieldset legend center body hgroup "
    "search head tbody thead tr td th caption picture".split()
)
_OF_TABLES = frozenset("tr thead tbody tfoot caption".split())
_SKIPPED = frozenset("style template iframe object embed canvas title hr svg".split())
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|highlight)-(.+)")
_LANGUAGE_FOLLOWS = frozenset({"brush:", "sourcecode"})
_NO_LANGUAGES = frozenset(
    {"default", "text", "none", "plaintext", "notranslate", "source", "highlight", "code"}
)
_MOST_SPAN = 500


def blocks(node: Any, page: Page, depth: int = 0) -> Written:
    """Return the content of an element as blocks. Never raises for any tree."""
    found: Written = []
    if depth > _DEEPEST:
        text = " ".join("".join(each for each in node.itertext() if isinstance(each, str)).split())
        return [(marks.paragraph(text), False)] if text else []
    words = blank(node.text)
    for each in node:
        name = local(each)
        if name in _BLOCKS or _holds_blocks(each):
            _end_paragraph(found, words, page)
            words = ""
            found += _block(each, name, page, depth + 1)
        elif name and name not in _SKIPPED:
            words += piece(each, page)
        words += blank(each.tail)
    _end_paragraph(found, words, page)
    return found


def _holds_blocks(node: Any) -> bool:
    """Return whether an inline element (a link, a span) contains blocks, as is common."""
    return local(node) not in {"", "math", "svg", "script"} and any(
        local(each) in _BLOCKS for each in node.iter()
    )


def _end_paragraph(found: Written, words: str, page: Page) -> None:
    if text := marks.paragraph(words):
        found.append((text, False))
    found += [(each, False) for each in page.take_below()]


def _block(node: Any, name: str, page: Page, depth: int) -> Written:
    if page.is_note(node) or name in _SKIPPED:
        return []
    if found := _HEADING.fullmatch(name):
        return _with_below([(marks.heading(int(found[1]), line(node, page)), False)], page)
    reading = _READERS.get(name)
    return reading(node, page, depth) if reading is not None else blocks(node, page, depth)


def _with_below(found: Written, page: Page) -> Written:
    return found + [(each, False) for each in page.take_below()]


def _list(node: Any, page: Page, depth: int) -> Written:
    found: Written = []
    is_counted = local(node) == "ol" and "none" not in (node.get("style") or "")
    count = _whole(node.get("start"), 1)
    for each in node:
        name = local(each)
        if name in {"ul", "ol"}:
            found += _indent(_list(each, page, depth + 1)) if depth < _DEEPEST else []
        elif name and not page.is_note(each):
            count = _whole(each.get("value"), count)
            found += _item(each, f"{count}." if is_counted else "", page, depth)
            count += 1
    return found


def _item(node: Any, label: str, page: Page, depth: int) -> Written:
    """Return an item with its nested items; tables and code in it become blocks below it."""
    inner = blocks(node, page, depth + 1)
    found: Written = []
    for number, (text, is_item) in enumerate(inner):
        if number == 0 and not is_item and not text.startswith(("|", "```", "#", "$$")):
            found.append((marks.item(text, label=label), True))
        elif is_item:
            found.append((f"    {text}", True))
        else:
            found.append((text, False))
    return found


def _indent(found: Written) -> Written:
    return [(f"    {text}" if is_item else text, is_item) for text, is_item in found]


def _definitions(node: Any, page: Page, depth: int) -> Written:
    found: Written = []
    terms: list[str] = []
    for each in _children(node, {"dt", "dd", "dl"}):
        if local(each) == "dl" or any(local(inner) == "dt" for inner in each.iterdescendants()):
            # Browsers export bookmarks so: a folder is a list in a list, and no term is closed.
            found += [(marks.item(term), True) for term in terms]
            found += blocks(each, page, depth + 1)
            terms = []
            continue
        if local(each) == "dt":
            terms.append(marks.flatten(line(each, page)))
            continue
        inner = blocks(each, page, depth + 1)
        front = f"{', '.join(terms)}: " if terms else ""
        if inner and not inner[0][1]:
            found.append((marks.item(front + inner[0][0]), True))
            inner = inner[1:]
        elif front:
            found.append((marks.item(front.strip()), True))
        found += _indent(inner)
        terms = []
    return _with_below(found + [(marks.item(term), True) for term in terms], page)


def _children(node: Any, names: set[str]) -> Iterable[Any]:
    """Yield children with these names, including those in a `div`."""
    for each in node:
        if local(each) in names:
            yield each
        elif local(each) == "div":
            yield from (inner for inner in each if local(inner) in names)


def _code(node: Any, page: Page, depth: int) -> Written:
    del page, depth
    for each in elements(node, "br"):
        each.text = "\n"
    text = "".join(each for each in node.itertext() if isinstance(each, str)).strip("\n")
    return [(marks.fence(text, _language(node)), False)] if text.strip() else []


def _language(node: Any) -> str:
    inner = [each for each in node if local(each) == "code"]
    above = list(node.iterancestors())[:2]
    for each in (*inner, node, *above):
        given = (
            each.get("data-lang")
            or each.get("data-language")
            or _language_of((each.get("class") or "").lower())
        )
        language = given.lower().rstrip(";")
        if language and language not in _NO_LANGUAGES:
            return language if re.fullmatch(r"[a-z0-9+#-]{1,20}", language) else ""
    return ""


def _language_of(classes: str) -> str:
    """Return the language in the classes of code: "language-python", "brush: python"."""
    names = classes.split()
    for number, name in enumerate(names):
        if found := _LANGUAGE.fullmatch(name):
            return found[1]
        if name in _LANGUAGE_FOLLOWS and number + 1 < len(names):
            return names[number + 1]
    return ""


def _quote(node: Any, page: Page, depth: int) -> Written:
    text = marks.blocks(blocks(node, page, depth))
    return [(marks.quote(text), False)] if text else []


def _figure(node: Any, page: Page, depth: int) -> Written:
    caption = next(elements(node, "figcaption"), None)
    tables = list(elements(node, "table"))
    if caption is not None and len(tables) == 1 and not contains(tables[0], "caption"):
        return table(tables[0], page, depth, caption=marks.flatten(line(caption, page)))
    return blocks(node, page, depth)


def table(node: Any, page: Page, depth: int = 0, *, caption: str = "") -> Written:
    """Return a table; a layout table gives the content of its cells in order."""
    # Browsers show what is outside of all rows, as in mails, before the table.
    outside = [each for each in node if local(each) in _BLOCKS and local(each) not in _OF_TABLES]
    if outside:
        before = [block for each in outside for block in _block(each, local(each), page, depth + 1)]
        for each in outside:
            node.remove(each)
        return before + table(node, page, depth, caption=caption)
    rows = _rows(node)
    cells = [[each for each in row if local(each) in {"td", "th"}] for row in rows]
    if _is_layout(node, most=max(map(len, cells), default=0)):
        return [block for row in cells for cell in row for block in blocks(cell, page, depth + 1)]
    titled = next((each for each in node if local(each) == "caption"), None)
    if titled is not None:
        caption = marks.flatten(line(titled, page))
    laid = [[_cell(each, page, depth) for each in row] for row in cells]
    marked = sum(1 for row in rows if local(row.getparent()) == "thead")
    text = spans.write_merged_table(laid, headings=marked or None, caption=caption)
    return _with_below([(text, False)], page)


def _rows(node: Any) -> list[Any]:
    """Return the rows of a table without those of nested tables; the head comes first, the foot last."""
    parts = {"thead": 0, "tfoot": 2}
    groups: list[tuple[int, Any]] = []
    for each in node:
        if local(each) == "tr":
            groups.append((1, each))
        elif local(each) in {"thead", "tbody", "tfoot"}:
            groups += [(parts.get(local(each), 1), row) for row in each if local(row) == "tr"]
    return [row for _, row in sorted(groups, key=lambda group: group[0])]


def _is_layout(node: Any, *, most: int) -> bool:
    """Return whether a table only arranges its content; `most` are the cells of its widest row."""
    if {"presentation", "none"} & roles(node):
        return True
    inner = [local(each) for each in node.iter() if each is not node]
    if "caption" in inner or "th" in inner:
        return False
    return (
        most <= 1 or bool({"table", "h1", "h2", "h3", "pre"} & set(inner)) or "highlighttable" in tokens(node)
    )


def _cell(node: Any, page: Page, depth: int) -> Cell:
    texts: list[str] = []
    below = page.take_below()
    for each, is_item in _cell_blocks(node, page, depth):
        text = each.strip().removeprefix("- ") if is_item else marks.flatten(each)
        if text.startswith(("[^", "Image: ", "[[picture")) and not is_item:
            below.append(each)
            continue
        texts.append(f"; {text}" if texts and is_item else f" {text}")
    page.below = below + page.below
    return Cell(
        marks.flatten("".join(texts)),
        min(_whole(node.get("colspan"), 1), _MOST_SPAN),
        min(_whole(node.get("rowspan"), 1), _MOST_SPAN * 10),
        local(node) == "th",
    )


def _cell_blocks(node: Any, page: Page, depth: int) -> Written:
    inner = [each for each in elements(node, "table") if each is not node]
    if not inner:
        return blocks(node, page, depth + 1)
    rows = [
        [marks.flatten(line(cell, page)) for cell in row if local(cell) in {"td", "th"}]
        for row in _rows(inner[0])
    ]
    return [(spans.flat(rows), False)]


def _whole(text: str | None, default: int) -> int:
    text = (text or "").strip()
    return max(int(text), 0) if text.isascii() and text.isdigit() and len(text) < 7 and int(text) else default


_READERS: dict[str, Callable[[Any, Page, int], Written]] = {
    "ul": _list,
    "ol": _list,
    "dl": _definitions,
    "pre": _code,
    "blockquote": _quote,
    "figure": _figure,
    "table": table,
}

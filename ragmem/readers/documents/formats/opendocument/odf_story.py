"""The paragraphs, lists and tables of an OpenDocument text, in order and with their kinds."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ragmem.readers.documents.formats import marks, mathml, spans
from ragmem.readers.documents.formats.html.html_inline import format_formula
from ragmem.readers.documents.formats.opendocument.odf_styles import Counter, Styles
from ragmem.readers.documents.formats.package import Package, child, every, local, value, whole
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.spans import Cell
from ragmem.readers.documents.formats.text_blocks import Block, write_blocks
from ragmem.readers.documents.model import RefusedError

_DEEPEST = 40
"""Maximum nesting of lists, tables and boxes."""

_WHITE = re.compile(r"[ \t\r\n]+")
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff]")
_MOST_SPACES = 200
_WIDEST = 500
_MOST_LEVELS = 9
_IGNORED = frozenset(
    "tracked-changes table-of-content illustration-index table-index object-index alphabetical-index forms "
    "index-title-template title desc event-listeners notes settings annotation-end annotation "
    "page-number page-count thumbnail soft-page-break glue-point image-map ruby-text".split()
)
"""What is no text, or repeats another one; deleted text is in `tracked-changes`."""

_DRAWINGS = frozenset(
    "frame g custom-shape rect ellipse line polyline polygon path connector caption circle text-box a "
    "regular-polygon".split()
)
_DRAW = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"


@dataclass(slots=True)
class Story:
    """What the texts of a file share: its parts, styles and pictures, and the numbers of lists and notes."""

    package: Package
    styles: Styles
    pictures: Pictures
    notes: int = 0
    headings: Counter = field(default_factory=Counter)
    lists: dict[str, Counter] = field(default_factory=dict)

    @classmethod
    def of(cls, package: Package, content: Any, pictures: Pictures) -> "Story":
        """Return the story of a file; raises RefusedError without content."""
        if content is None:
            raise RefusedError("the file has no content.xml: it is not complete")
        return cls(package, Styles.of(package.tree("styles.xml"), content), pictures)


def blocks(node: Any, story: Story, depth: int = 0) -> Iterator[Block]:
    """Yield the blocks within a text, a section, a cell, a box or a note."""
    if depth > _DEEPEST:
        return
    for each in node:
        name = local(each)
        if name in {"p", "h"}:
            yield from _paragraph(each, story, depth)
        elif name == "list":
            yield from _list(each, story, depth, "", 1)
        elif name == "table":
            yield from _table(each, story, depth)
        elif is_drawing(each):
            line = Line(story)
            line.drawing(each)
            yield from _around(line, depth)
        elif name not in _IGNORED:
            yield from blocks(each, story, depth + 1)


def is_drawing(node: Any) -> bool:
    """Return whether an element is a shape or a frame."""
    return str(node.tag).startswith(f"{{{_DRAW}}}") and local(node) in _DRAWINGS


def _around(line: "Line", depth: int) -> Iterator[Block]:
    """Yield what stands beside the words of a line: pictures, notes and boxes."""
    if line.below:
        yield Block("text", "", below=line.below)
    for box in line.boxes:
        yield from blocks(box, line.story, depth + 1)


def _paragraph(node: Any, story: Story, depth: int) -> Iterator[Block]:
    style = value(node, "style-name")
    names = story.styles.names(style)
    line = Line(story, monospaced=bool(story.styles.is_monospaced("paragraph", style)))
    line.read(node)
    text = line.text()
    block = Block("text", text, below=line.below)
    if not text.strip():
        pass
    elif "title" in names:
        block.kind, block.level = "title", 1
    elif level := story.styles.outline(style) if local(node) == "p" else _outline(node):
        block.kind, block.level = "heading", level
        if local(node) == "h" and story.styles.is_in_outline(style):
            label = story.headings.next(story.styles, "", block.level)
            block.text = f"{label} {text}" if label else text
    elif "caption" in names:
        block.kind = "caption"
    elif line.is_code("preformatted text" in names):
        block.kind = "code"
    elif "quotations" in names:
        block.kind = "quote"
    yield block
    for box in line.boxes:
        yield from blocks(box, story, depth + 1)


def _outline(node: Any) -> int:
    return min(max(whole(value(node, "outline-level"), 1), 1), 10)


def _list(node: Any, story: Story, depth: int, style: str, level: int) -> Iterator[Block]:
    """Yield the items of a list; their first paragraphs have its labels."""
    style = value(node, "style-name") or style
    continues = value(node, "continue-numbering") == "true" or value(node, "continue-list")
    if level == 1 and not (continues and style in story.lists):
        story.lists[style] = Counter()
    counter = story.lists.setdefault(style, Counter())
    for item in node:
        is_item = local(item) == "list-item"
        for each in item:
            if local(each) == "list" and depth < _DEEPEST:
                yield from _list(each, story, depth + 1, style, level + 1)
                continue
            for block in blocks([each], story, depth + 1):
                if is_item and block.text.strip() and block.kind in {"text", "heading"}:
                    label = counter.next(story.styles, style, level, value(item, "start-value"))
                    if block.kind == "heading":
                        block.text = f"{label} {block.text}".strip()
                    elif "\n\n" not in block.text:
                        block.text = marks.item(block.text, level=min(level, _MOST_LEVELS) - 1, label=label)
                        block.kind = "item"
                    is_item = False
                yield block


def _table(node: Any, story: Story, depth: int) -> Iterator[Block]:
    rows = [each for each in every(node, "table-row") if next(each.iterancestors("{*}table")) is node]
    if len(rows) == 1 and sum(local(each) == "table-cell" for each in rows[0]) == 1:
        # A frame around text.
        yield from blocks(rows[0], story, depth + 1)
        return
    below: list[str] = []
    laid = [
        [
            Cell(_cell(cell, story, depth, below), _span(cell, "columns"), _span(cell, "rows"))
            for cell in row
            if local(cell) == "table-cell"
        ]
        for row in rows
    ]
    headings = sum(local(row.getparent()) == "table-header-rows" for row in rows)
    yield Block("table", "", rows=laid, headings=headings or None, below=below)


def _span(cell: Any, what: str) -> int:
    return min(max(whole(value(cell, f"number-{what}-spanned"), 1), 1), _WIDEST)


def _cell(node: Any, story: Story, depth: int, below: list[str]) -> str:
    """Return the text of a cell as one line; its notes go below the table."""
    told = []
    for block in blocks(node, story, depth + 1):
        if block.kind == "table":
            told.append(spans.flat([[cell.text for cell in row] for row in block.rows]))
        elif block.kind == "item":
            told.append(
                f"; {block.text.strip().removeprefix('- ')}"
                if told
                else block.text.strip().removeprefix("- ")
            )
        else:
            told.append(block.text.strip())
        below += block.below
    return marks.flatten(" ".join(told)).replace(" ; ", "; ").replace(":; ", ": ")


@dataclass(slots=True)
class Line:
    """The text of a paragraph so far, and what is beside it: notes, comments and pictures, text boxes.

    `fixed` of the `written` characters have a monospaced font.
    """

    story: Story
    monospaced: bool = False
    pieces: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    written: int = 0
    fixed: int = 0

    def text(self) -> str:
        """Return the text in Markdown."""
        return marks.join_strikes("".join(self.pieces))

    def is_code(self, preformatted: bool) -> bool:  # noqa: FBT001
        """Return whether the whole line has a monospaced font; that of Hebrew and Arabic is another one."""
        rightward = len(_RIGHT_TO_LEFT.findall("".join(self.pieces)))
        return (preformatted or 0 < self.written == self.fixed) and rightward * 2 < self.written

    def read(self, node: Any) -> None:
        """Add the content of an element."""
        self._put(node.text)
        for each in node:
            name = local(each)
            if is_drawing(each) and name != "a":
                self.drawing(each)
            elif name in self._READERS:
                self._READERS[name](self, each)
            elif name and name not in _IGNORED:
                self.read(each)
            self._put(each.tail)

    def drawing(self, node: Any) -> None:
        """Add a shape: its text as a box, or its picture, formula or chart."""
        # A table comes with a picture of itself.
        kinds = ("{*}image", "{*}object", "{*}text-box") if child(node, "table") is None else ()
        held = [each for each in node.iter(*kinds) if each is not node] if kinds else []
        if not held:
            self.boxes.append(node)
            return
        title = " ".join(filter(None, (each.text for each in node if local(each) in {"title", "desc"})))
        if local(node) != "frame" or local(held[0]) == "text-box":
            if title:
                self.below.append(f"Image: {marks.flatten(title)}")
            self.boxes.append(node)
            return
        address = value(held[0], "href").removeprefix("./")
        if local(held[0]) == "object":
            self._object(address, title)
        elif told := self.story.pictures.describe(self.story.package.bytes_of(address), alt=title):
            self.below.append(told)

    def _object(self, folder: str, title: str) -> None:
        """Add an embedded formula, or the title and the data of a chart."""
        root = self.story.package.tree(f"{folder}/content.xml") if folder else None
        if root is None:
            return
        if mathml.name(root) == "math":
            self.pieces.append(format_formula(mathml.to_latex(root), is_block=False))
            return
        words = [marks.flatten("".join(each.itertext())) for each in every(root, "title", "subtitle")]
        told = "; ".join(filter(None, [title, *words]))
        for table in every(root, "table"):
            for block in _table(table, self.story, _DEEPEST - 2):
                block.caption = f"Chart: {told}" if told else "Chart"
                self.below += [text for text, _ in write_blocks([block])]
            return

    def _put(self, text: str | None) -> None:
        if text:
            text = _WHITE.sub(" ", text)
            self.pieces.append(text)
            count = len(text.strip())
            self.written += count
            self.fixed += count * self.monospaced

    def _span(self, node: Any) -> None:
        name, before, monospaced = value(node, "style-name"), len(self.pieces), self.monospaced
        styles = self.story.styles
        if styles.setting("text", name, "display") == "none":
            return
        own = styles.is_monospaced("text", name)
        self.monospaced = monospaced if own is None else own
        self.read(node)
        self.monospaced = monospaced
        text = "".join(self.pieces[before:])
        position = styles.setting("text", name, "text-position")
        if position.startswith("super") or re.match(r"[1-9]", position):
            text = marks.superscript(text) if "[^" not in text else text
        if styles.setting("text", name, "text-line-through-style") not in {"", "none"}:
            text = marks.strike_through(text)
        self.pieces[before:] = [text]

    def _spaces(self, node: Any) -> None:
        self.pieces.append(" " * min(max(whole(value(node, "c"), 1), 1), _MOST_SPACES))

    def _tab(self, node: Any) -> None:
        del node
        self.pieces.append("\t")

    def _break(self, node: Any) -> None:
        del node
        self.pieces.append("\n")

    def _link(self, node: Any) -> None:
        before = len(self.pieces)
        self.read(node)
        self.pieces[before:] = [marks.link("".join(self.pieces[before:]), value(node, "href"))]

    def _note(self, node: Any) -> None:
        self.story.notes += 1
        number = self.story.notes
        self.pieces.append(f"[^{number}]")
        self._remark(f"[^{number}]: ", child(node, "note-body"))

    def _annotation(self, node: Any) -> None:
        author = "".join((each.text or "") for each in node if local(each) == "creator").strip()
        self._remark(f"> Comment{f' by {author}' if author else ''}: ", node)

    def _remark(self, front: str, node: Any) -> None:
        """Add a note or a comment below as one line, followed by its own notes."""
        inner = Line(self.story)
        for each in every(node, "p", "h"):
            inner.read(each)
            inner.pieces.append(" ")
        if text := marks.flatten(inner.text()):
            self.below += [front + text, *inner.below]

    def _ruby(self, node: Any) -> None:
        self.read(node)
        if reading := "".join(each.text or "" for each in every(node, "ruby-text")).strip():
            self.pieces.append(f" ({reading})")

    _READERS: ClassVar[dict[str, Callable[["Line", Any], None]]] = {
        "span": _span,
        "s": _spaces,
        "tab": _tab,
        "line-break": _break,
        "a": _link,
        "note": _note,
        "annotation": _annotation,
        "ruby": _ruby,
    }

"""PowerPoint slides (.pptx, .pptm) as Markdown: one part per slide, with notes, tables and charts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.readers.documents.formats import charts, equations, marks, package, spans
from ragmem.readers.documents.formats.package import (
    Package,
    Relation,
    child,
    every,
    local,
    relation_id,
    value,
    whole,
    within,
)
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.spans import Cell
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError

_FROM_LAYOUT = frozenset({"slidenum"})
_MOST_LEVELS = 8
_MOST_SPAN = 500

_DEEPEST_CUT = 20
_SLACK = 0.02
"""Tolerated overlap of boxes as a share of the slide, because people do not place them exactly."""


@dataclass(frozen=True, slots=True)
class Box:
    """A text at its position on the slide, in shares of the slide's width and height."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def sort_shapes(boxes: Sequence[Box], depth: int = 0) -> list[Box]:
    """Return boxes in reading order; overlapping ones are sorted by their upper edges.

    The slide is cut along lines between all boxes: first into columns, then into rows, then each piece again.
    A heading over two columns is cut off as a row, because every vertical line crosses it.
    """
    if len(boxes) < 2 or depth > _DEEPEST_CUT:
        return sorted(boxes, key=_by_upper_edge)
    for start, end in (_across, _down):
        pieces = _cut(boxes, start, end)
        if len(pieces) > 1:
            return [box for piece in pieces for box in sort_shapes(piece, depth + 1)]
    return sorted(boxes, key=_by_upper_edge)


def _by_upper_edge(box: Box) -> tuple[float, ...]:
    # Boxes placed by hand at the same height differ by up to a hundredth.
    return (round(box.top, 2), box.left, box.top, box.right, box.bottom)


_Edge = Callable[[Box], float]
_across: tuple[_Edge, _Edge] = (lambda box: box.left, lambda box: box.right)
_down: tuple[_Edge, _Edge] = (lambda box: box.top, lambda box: box.bottom)


def _cut(boxes: Sequence[Box], start: _Edge, end: _Edge) -> list[list[Box]]:
    """Return boxes in groups that are separated by gaps in one direction."""
    pieces: list[list[Box]] = []
    reach = 0.0
    for box in sorted(
        boxes, key=lambda box: (start(box), end(box), box.left, box.top, box.right, box.bottom)
    ):
        if not pieces or start(box) >= reach - _SLACK:
            pieces.append([])
            reach = end(box)
        pieces[-1].append(box)
        reach = max(reach, end(box))
    return pieces


_TITLES = frozenset({"title", "ctrTitle"})
_ON_EACH_SLIDE = frozenset({"dt", "ftr", "sldNum", "hdr"})
_LISTS = frozenset({"", "body", "obj"})
_WIDTH, _HEIGHT = 9_144_000, 6_858_000
_DEEPEST = 30


@dataclass(slots=True)
class Slide:
    """A slide and the context of its shapes: the placeholders of its layout, and its title."""

    whole: Package
    part: str
    pictures: Pictures
    size: tuple[int, int]
    places: dict[tuple[str, str], Any]
    title: str = ""


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return a presentation, one part per slide with text; raises RefusedError for any other file."""
    whole, main, root = package.open_package(path, limits, main="ppt/presentation.xml")
    with whole.archive:
        if local(root) != "presentation":
            raise RefusedError("it is not a PowerPoint presentation")
        pictures = Pictures(limits)
        size = _size(root)
        relations = whole.relations(main)
        listed = [relations.get(relation_id(each)) for each in every(child(root, "sldIdLst"), "sldId")]
        warnings = []
        if len(listed) > limits.pages:
            warnings.append(f"slides after the first {limits.pages:,} are left out")
        authors = dict(_authors(whole, main))
        parts = []
        for number, relation in enumerate(listed[: limits.pages], 1):
            tree = whole.tree(relation.target) if relation is not None and not relation.outside else None
            if relation is None or tree is None:
                continue
            slide = Slide(whole, relation.target, pictures, size, _places(whole, relation.target))
            text = _describe_slide(slide, tree, authors)
            found = pictures.take()
            if text.strip():
                parts.append(Part(text, f"slide={number}", f"slide {number}", slide.title, found))
        properties = whole.properties()
        if whole.has_macros:
            warnings.append("macros are left out")
    title = properties.get("title") or next((part.title for part in parts if part.title), "")
    unread = tuple(f"slide={number}" for number in range(limits.pages + 1, len(listed) + 1))
    event_time = package.event_time(properties)
    return ConvertedDocument(tuple(parts), title, event_time, properties, tuple(warnings), unread)


def _size(root: Any) -> tuple[int, int]:
    node = child(root, "sldSz")
    found = [value(node, name) if node is not None else "" for name in ("cx", "cy")]
    width, height = (max(package.whole(each, 0), 0) for each in found)
    return width or _WIDTH, height or _HEIGHT


def _describe_slide(slide: Slide, root: Any, authors: dict[str, str]) -> str:
    """Return a slide: its title, its texts in reading order, speaker notes, comments."""
    boxes = list(_boxes(within(root, "cSld", "spTree"), slide, 0))
    texts = [marks.heading(1, slide.title), *(box.text for box in sort_shapes(boxes))]
    for notes in slide.whole.of_kind(slide.part, "notesSlide"):
        if said := _notes(slide, notes):
            texts += ["## Speaker notes", said]
    for comments in slide.whole.of_kind(slide.part, "comments"):
        texts += _comments(slide.whole.tree(comments), authors)
    return marks.blocks([(text, False) for text in texts])


def _boxes(tree: Any, slide: Slide, depth: int) -> Iterator[Box]:
    """Yield the texts of the shapes with their positions; a group of shapes is one text."""
    if tree is None or depth > _DEEPEST:
        return
    for shape in tree:
        name = local(shape)
        if name == "AlternateContent":
            chosen = next((each for each in shape if any(local(inner) in _SHAPES for inner in each)), None)
            yield from _boxes(chosen, slide, depth + 1)
        elif name in _SHAPES and not _is_hidden(shape):
            text = _shape(shape, name, slide, depth)
            if text.strip():
                yield _place_text(text, shape, slide)


def _is_hidden(shape: Any) -> bool:
    return next((each.get("hidden") in {"1", "true"} for each in every(shape, "cNvPr")), False)


def _shape(shape: Any, name: str, slide: Slide, depth: int) -> str:
    relations = slide.whole.relations(slide.part)
    alt = next((each.get("descr") or "" for each in every(shape, "cNvPr")), "")
    if name == "grpSp":
        inner = sort_shapes(list(_boxes(shape, slide, depth + 1)))
        texts = [slide.pictures.describe(None, alt=alt), *(box.text for box in inner)]
        return marks.blocks([(text, False) for text in texts])
    if name == "pic":
        return slide.pictures.describe(_image(shape, slide), alt=alt)
    if name == "graphicFrame":
        return _graphic(shape, slide, alt)
    kind, _ = _placeholder(shape)
    text = body(child(shape, "txBody"), relations, is_list=_is_list(shape))
    if kind in _TITLES and not slide.title:
        slide.title = marks.flatten(text)
        return ""
    if kind in _ON_EACH_SLIDE:
        return ""
    return text or (slide.pictures.describe(_image(shape, slide), alt=alt) if alt else "")


def _is_list(shape: Any) -> bool:
    """Return whether a shape is a placeholder for a list, where paragraphs have bullets by default."""
    node = next(every(shape, "ph"), None)
    return node is not None and (node.get("type") or "") in _LISTS


def _placeholder(shape: Any) -> tuple[str, str]:
    """Return kind and number of a placeholder; both are empty for other shapes."""
    node = next(every(shape, "ph"), None)
    return ("", "") if node is None else (node.get("type") or "obj", node.get("idx") or "0")


def _image(shape: Any, slide: Slide) -> bytes | None:
    blip = next(every(shape, "blip"), None)
    if blip is None:
        return None
    return slide.whole.bytes_of(slide.whole.related_part(slide.part, relation_id(blip, "embed")))


def _graphic(shape: Any, slide: Slide, alt: str) -> str:
    grid = next(every(shape, "tbl"), None)
    text = "" if grid is None else table(grid, slide.whole.relations(slide.part))
    for each in every(shape, "chart", "relIds") if grid is None else ():
        text = charts.graphic(slide.whole, slide.part, each) or text
    return marks.blocks([(slide.pictures.describe(None, alt=alt), False), (text, False)])


def _place_text(text: str, shape: Any, slide: Slide) -> Box:
    """Return a text with the position of its shape, or that of its placeholder in the layout."""
    kind, number = _placeholder(shape)
    place = _transform(shape)
    if place is None and kind:
        named = (("", number), (kind, ""), ("title" if kind in _TITLES else "body", ""))
        place = next((found for each in named if (found := _transform(slide.places.get(each)))), None)
    left, top, width, height = place or (0, slide.size[1], slide.size[0], 0)
    across, down = slide.size
    return Box(text, left / across, top / down, (left + width) / across, (top + height) / down)


def _transform(shape: Any) -> tuple[int, int, int, int] | None:
    if shape is None:
        return None
    for holder in (child(shape, "spPr"), child(shape, "grpSpPr"), shape):
        node = child(holder, "xfrm")
        offset, extent = child(node, "off"), child(node, "ext")
        if offset is not None and extent is not None:
            left, top = (package.whole(offset.get(name), 0) for name in ("x", "y"))
            width, height = (package.whole(extent.get(name), 0) for name in ("cx", "cy"))
            return left, top, width, height
    return None


def _places(whole: Package, part: str) -> dict[tuple[str, str], Any]:
    """Return the placeholders of a slide's layout and master, by number and by kind; the layout is first."""
    found: dict[tuple[str, str], Any] = {}
    for layout in whole.of_kind(part, "slideLayout"):
        for holder in (layout, *whole.of_kind(layout, "slideMaster")):
            for shape in every(whole.tree(holder), "sp"):
                kind, number = _placeholder(shape)
                if kind and _transform(shape) is not None:
                    if holder == layout:
                        found.setdefault(("", number), shape)
                    found.setdefault((kind, ""), shape)
    return found


def _notes(slide: Slide, part: str) -> str:
    root = slide.whole.tree(part)
    bodies = (child(shape, "txBody") for shape in every(root, "sp") if _placeholder(shape)[0] == "body")
    texts = (body(each, slide.whole.relations(part)) for each in bodies)
    return "\n\n".join(text for text in texts if text)


def _authors(whole: Package, main: str) -> Iterator[tuple[str, str]]:
    for kind in ("commentAuthors", "authors"):
        for part in whole.of_kind(main, kind):
            for each in whole.tree(part) if whole.tree(part) is not None else ():
                yield each.get("id") or "", each.get("name") or ""


def _comments(root: Any, authors: dict[str, str]) -> list[str]:
    found = []
    for each in (node for name in ("cm", "reply") for node in every(root, name)):
        plain = child(each, "text")
        words = (t.text or "" for t in every(child(each, "txBody"), "t"))
        text = marks.flatten(plain.text or "" if plain is not None else " ".join(words))
        author = authors.get(each.get("authorId") or "", "")
        if text:
            found.append(f"> Comment{f' by {author}' if author else ''}: {text}")
    return found


_SHAPES = frozenset({"sp", "pic", "graphicFrame", "grpSp", "cxnSp"})


def body(node: Any, relations: Mapping[str, Relation], *, is_list: bool = False) -> str:
    """Return the paragraphs of a text body, by default as a list if `is_list`."""
    found: list[tuple[str, bool]] = []
    code: list[str] = []
    counts: dict[int, int] = {}
    paragraphs = [each for each in node if local(each) == "p"] if node is not None else []
    told = [(each, line(each, relations)) for each in paragraphs]
    is_list = is_list and sum(1 for _, text in told if text.strip()) > 1
    for paragraph, text in told:
        if text.strip() and _is_code(paragraph):
            code.append(text)
            continue
        if code:
            found.append((marks.fence("\n".join(code)), False))
            code = []
        if text.strip():
            found.append(_paragraph(paragraph, text, is_list=is_list, counts=counts))
    if code:
        found.append((marks.fence("\n".join(code)), False))
    return marks.blocks(found)


def _paragraph(node: Any, text: str, *, is_list: bool, counts: dict[int, int]) -> tuple[str, bool]:
    properties = child(node, "pPr")
    deep = whole(properties.get("lvl"), 0) if properties is not None else 0
    level = min(max(deep, 0), _MOST_LEVELS)
    for deeper in [each for each in counts if each > level]:
        del counts[deeper]
    numbered = child(properties, "buAutoNum")
    if numbered is not None:
        counts[level] = counts.get(level, whole(numbered.get("startAt"), 1) - 1) + 1
        return marks.item(text, level=level, label=f"{counts[level]}."), True
    counts.pop(level, None)
    has_bullet = child(properties, "buChar") is not None or child(properties, "buBlip") is not None
    if "\n\n" not in text and (has_bullet or (is_list and child(properties, "buNone") is None)):
        return marks.item(text, level=level), True
    return marks.paragraph(text), False


def line(paragraph: Any, relations: Mapping[str, Relation]) -> str:
    """Return the text of a paragraph."""
    text = ""
    for each in paragraph:
        name = local(each)
        if name == "r":
            text += _run(each, relations)
        elif name == "br":
            text += "\n"
        elif name == "fld" and (each.get("type") or "") not in _FROM_LAYOUT:
            text += _run(each, relations)
        elif name in {"m", "AlternateContent"}:
            text += _equation(each)
    return marks.join_strikes(text)


def _run(node: Any, relations: Mapping[str, Relation]) -> str:
    text = "".join(each.text or "" for each in node if local(each) == "t").replace("\v", "\n")
    properties = child(node, "rPr")
    if properties is None or not text.strip():
        return text
    if whole(properties.get("baseline"), 0) > 0:
        text = marks.superscript(text)
    if (properties.get("strike") or "noStrike") != "noStrike":
        text = marks.strike_through(text)
    clicked = child(properties, "hlinkClick")
    relation = relations.get(relation_id(clicked)) if clicked is not None else None
    return marks.link(text, relation.target) if relation is not None and relation.outside else text


def _equation(node: Any) -> str:
    paragraph = next(node.iter("{*}oMathPara"), None)
    if paragraph is not None:
        found = equations.to_latex(paragraph)
        return f"\n\n$$\n{found}\n$$\n\n" if found else ""
    found = " ".join(equations.to_latex(each) for each in node.iter("{*}oMath"))
    return f"${found}$" if found.strip() else ""


def _is_code(paragraph: Any) -> bool:
    runs = [each for each in paragraph if local(each) == "r"]
    fonts = [within(each, "rPr", "latin") for each in runs]
    return bool(runs) and all(
        font is not None and marks.MONOSPACED.search(value(font, "typeface")) for font in fonts
    )


def table(node: Any, relations: Mapping[str, Relation]) -> str:
    """Return a table of a slide."""
    rows = []
    for row in (each for each in node if local(each) == "tr"):
        cells = []
        for each in (each for each in row if local(each) == "tc"):
            # Cells that a merged cell covers are in the file as well, with a mark.
            if {"1", "true"} & {each.get("hMerge"), each.get("vMerge")}:
                continue
            text = marks.flatten(" ".join(line(p, relations) for p in every(child(each, "txBody"), "p")))
            cells.append(Cell(text, _span(each, "gridSpan"), _span(each, "rowSpan")))
        rows.append(cells)
    return spans.write_merged_table(rows)


def _span(node: Any, name: str) -> int:
    return min(max(whole(node.get(name), 1), 1), _MOST_SPAN)

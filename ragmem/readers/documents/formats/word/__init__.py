"""Word documents (.docx, .docm) as Markdown in one part, because they have no pages before printing."""

import re
from collections.abc import Iterator
from typing import Any

from ragmem.readers.documents.formats import marks, package, spans
from ragmem.readers.documents.formats.package import Package, child, every, local, relation_id
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.word.word_blocks import Block, blocks
from ragmem.readers.documents.formats.word.word_story import Story
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return a Word document as one part; raises RefusedError for any other file."""
    whole, part, root = package.open_package(path, limits, main="word/document.xml")
    with whole.archive:
        body = child(root, "body")
        if body is None:
            raise RefusedError("it is not a Word document")
        pictures = Pictures(limits)
        story = Story.of(whole, part, root, pictures)
        found = list(blocks(body, story, 0))
        texts = [*_write_blocks(found), *((text, False) for text in _margins(whole, root, story))]
        properties = whole.properties()
        titles = (
            marks.flatten(each.text) for kind in ("title", "heading") for each in found if each.kind == kind
        )
        shown = next((each.text for each in found if each.kind == "title"), "")
        title = marks.flatten(shown) or properties.get("title", "") or next(titles, "")
        warnings = ("macros are left out",) if whole.has_macros else ()
    text = marks.blocks(texts)
    return ConvertedDocument(
        (Part(text, pictures=pictures.take()),), title, package.event_time(properties), properties, warnings
    )


def _margins(whole: Package, root: Any, story: Story) -> Iterator[str]:
    """Yield each header and footer once, even if several sections have it."""
    seen = set()
    for reference in every(root, "headerReference", "footerReference"):
        part = whole.related_part(story.part, relation_id(reference))
        tree = whole.tree(part)
        if tree is None:
            continue
        found = list(blocks(tree, story.beside(part, tree), 0))
        text = marks.flatten(" ".join(text for text, _ in _write_blocks(found)))
        name = local(reference).removesuffix("Reference")
        if re.search(r"\w{2}", text) and (name, text) not in seen:
            seen.add((name, text))
            yield f"Page {name}: {text}"


def _write_blocks(found: list[Block]) -> Iterator[tuple[str, bool]]:
    """Yield the text of each block, and whether it is a list item."""
    _assign_captions(found)
    deeper = 1 if any(block.kind == "title" for block in found) else 0
    code: list[str] = []
    for block in found:
        if block.kind == "code":
            code.append(block.text)
        elif code:
            yield marks.fence("\n".join(code)), False
            code = []
        if block.kind != "code":
            yield _write_block(block, deeper), block.kind == "item"
        for text in block.below:
            yield text, False
    if code:
        yield marks.fence("\n".join(code)), False


def _write_block(block: Block, deeper: int) -> str:
    if block.kind in {"title", "heading"}:
        return marks.heading(block.level + (deeper if block.kind == "heading" else 0), block.text)
    if block.kind == "table":
        return spans.write_merged_table(block.rows, headings=block.headings, caption=block.caption)
    if block.kind == "quote":
        return marks.quote(marks.paragraph(block.text))
    return block.text if block.kind == "item" else marks.paragraph(block.text)


def _assign_captions(found: list[Block]) -> None:
    """Assign to each table the caption above it, else the one below; captions of pictures stay."""
    kept = [block for block in found if block.text.strip() or block.below or block.rows]
    for number, block in enumerate(kept):
        if block.kind != "table" or block.caption:
            continue
        above = kept[number - 1] if number else None
        higher = kept[number - 2] if number > 1 else None
        if above is not None and above.kind == "caption" and not _is_picture(higher):
            _assign_caption(block, above)
            continue
        below = kept[number + 1] if number + 1 < len(kept) else None
        further = kept[number + 2] if number + 2 < len(kept) else None
        if below is not None and below.kind == "caption" and (further is None or further.kind != "table"):
            _assign_caption(block, below)
    found[:] = [block for block in found if block.kind != "taken"]


def _assign_caption(table: Block, caption: Block) -> None:
    table.caption = marks.flatten(caption.text)
    table.below += caption.below
    caption.kind = "taken"


def _is_picture(block: Block | None) -> bool:
    return block is not None and any(text.startswith(("[[picture", "Image: ")) for text in block.below)

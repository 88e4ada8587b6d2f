"""The blocks of a word processor's text, and how they are written as Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ragmem.readers.documents.formats import marks, spans
from ragmem.readers.documents.formats.spans import Cell


@dataclass(slots=True)
class Block:
    """A paragraph, an item, a heading, a line of code, or a table; `below` are the texts after it."""

    kind: str
    text: str
    level: int = 0
    rows: list[list[Cell]] = field(default_factory=list)
    headings: int | None = None
    below: list[str] = field(default_factory=list)
    merges: bool = False
    caption: str = ""


def write_blocks(found: list[Block]) -> Iterator[tuple[str, bool]]:
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

"""Word documents (.docx, .docm) as Markdown in one part, because they have no pages before printing."""

import re
from collections.abc import Iterator
from typing import Any

from ragmem.readers.documents.formats import marks, package
from ragmem.readers.documents.formats.package import Package, child, every, local, relation_id
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.text_blocks import write_blocks
from ragmem.readers.documents.formats.word.word_blocks import blocks
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
        texts = [*write_blocks(found), *((text, False) for text in _margins(whole, root, story))]
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
        text = marks.flatten(" ".join(text for text, _ in write_blocks(found)))
        name = local(reference).removesuffix("Reference")
        if re.search(r"\w{2}", text) and (name, text) not in seen:
            seen.add((name, text))
            yield f"Page {name}: {text}"

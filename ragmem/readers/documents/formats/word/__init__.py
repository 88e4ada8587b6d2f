"""Word documents (.docx, .docm) as Markdown: one part, because their pages are made only when printed."""

import re
from collections.abc import Iterator
from typing import Any

from ragmem.readers.documents.formats import marks, package
from ragmem.readers.documents.formats.package import Package, child, local, relation_id
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.word.word_blocks import blocks
from ragmem.readers.documents.formats.word.word_story import Story
from ragmem.readers.documents.formats.word.word_writing import write_blocks
from ragmem.readers.documents.model import Converted, Limits, Part, RefusedError


def read(path: str, limits: Limits) -> Converted:
    """Read a Word document as one part; raise RefusedError where it is none."""
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
        warnings = ("macros are left out",) if _has_macros(whole) else ()
    text = marks.blocks(texts)
    return Converted(
        (Part(text, pictures=pictures.taken()),), title, package.event_time(properties), properties, warnings
    )


def _has_macros(whole: Package) -> bool:
    return any(name.endswith("vbaProject.bin") for name in whole.archive.namelist())


def _margins(whole: Package, root: Any, story: Story) -> Iterator[str]:
    """Yield each header and footer once, however many sections have it."""
    seen = set()
    for reference in root.iter("{*}headerReference", "{*}footerReference"):
        relation = story.relations().get(relation_id(reference))
        tree = None if relation is None or relation.outside else whole.tree(relation.target)
        if relation is None or tree is None:
            continue
        found = list(blocks(tree, story.beside(relation.target, tree), 0))
        text = marks.flatten(" ".join(text for text, _ in write_blocks(found)))
        name = local(reference).removesuffix("Reference")
        if re.search(r"\w{2}", text) and (name, text) not in seen:
            seen.add((name, text))
            yield f"Page {name}: {text}"

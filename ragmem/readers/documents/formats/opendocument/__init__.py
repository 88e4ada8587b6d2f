"""OpenDocument files as Markdown: texts (.odt) in one part, presentations (.odp) by slide, sheets (.ods)."""

import re
from collections.abc import Iterator

from lxml.etree import XMLSyntaxError

from ragmem.readers.documents import archives
from ragmem.readers.documents.formats import marks, package
from ragmem.readers.documents.formats.opendocument.odf_sheets import read_sheets
from ragmem.readers.documents.formats.opendocument.odf_slides import read_slides
from ragmem.readers.documents.formats.opendocument.odf_story import Story, blocks
from ragmem.readers.documents.formats.package import Package, child, every, local, within
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.text_blocks import write_blocks
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError

_PROPERTIES = {
    "title": "title",
    "initial-creator": "author",
    "creator": "last_modified_by",
    "subject": "subject",
    "keyword": "keywords",
    "creation-date": "created",
    "date": "modified",
}


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return an OpenDocument file; raises RefusedError for an encrypted one and for any other file."""
    with archives.open_archive(path, limits) as archive:
        whole = Package(archive)
        if next(every(whole.tree("META-INF/manifest.xml"), "encryption-data"), None) is not None:
            raise RefusedError("it is encrypted", hint="save a copy without the password")
        pictures = Pictures(limits)
        warnings: list[str] = []
        unread: list[str] = []
        shown = heading = ""
        if "spreadsheet" in _media_type(whole):
            try:
                parts = list(read_sheets(whole, pictures, limits, warnings))
            except XMLSyntaxError as error:
                raise RefusedError('its part "content.xml" is not well-formed XML') from error
        else:
            root = whole.tree("content.xml")
            story = Story.of(whole, root, pictures)
            body = child(root, "body")
            if (slides := child(body, "presentation")) is not None:
                parts, unread = read_slides(slides, story, limits, warnings)
                # The title in the properties is often that of the template: "Blue Curve".
                shown = next((part.title for part in parts if part.title), "")
            elif (text := child(body, "text")) is not None:
                found = list(blocks(text, story))
                shown = next((marks.flatten(each.text) for each in found if each.kind == "title"), "")
                heading = next((marks.flatten(each.text) for each in found if each.kind == "heading"), "")
                texts = [*write_blocks(found), *((line, False) for line in _margins(story))]
                parts = [Part(marks.blocks(texts), pictures=pictures.take())]
            else:
                raise RefusedError("it is not a text, a presentation or a spreadsheet")
        properties = _properties(whole)
        if any(name.startswith("Basic/") for name in archive.namelist()):
            warnings.append("macros are left out")
    title = shown or properties.get("title") or heading
    event_time = package.event_time(properties)
    return ConvertedDocument(tuple(parts), title, event_time, properties, tuple(warnings), tuple(unread))


def _media_type(whole: Package) -> str:
    if name := whole.bytes_of("mimetype"):
        return name.decode("ascii", "replace")
    content = whole.bytes_of("content.xml")
    if content is None:
        raise RefusedError("the file has no content.xml: it is not complete")
    return "spreadsheet" if b":spreadsheet" in content else ""


def _properties(whole: Package) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in every(within(whole.tree("meta.xml"), "meta"), *_PROPERTIES):
        key, value = _PROPERTIES.get(local(each), ""), marks.flatten(each.text or "")
        if key and value:
            found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def _margins(story: Story) -> Iterator[str]:
    """Yield each header and footer once, even if several page styles have it."""
    seen = set()
    for margin in every(within(story.styles.root, "master-styles"), "header", "footer"):
        told = " ".join(text for text, _ in write_blocks(list(blocks(margin, story))))
        line = f"Page {local(margin)}: {marks.flatten(told)}"
        if re.search(r"\w{2}", told) and line not in seen:
            seen.add(line)
            yield line

"""The stories of a Word file (body, headers, notes, comments) and what their text refers to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ragmem.readers.documents.formats import charts
from ragmem.readers.documents.formats.package import (
    Package,
    Relation,
    between,
    every,
    local,
    relation_id,
    value,
)
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.word.word_styles import Numbering, Styles

_FROM_LAYOUT = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES", "TOC", "INDEX"})


@dataclass(frozen=True, slots=True)
class Remark:
    """A note or a comment: its element, its part and its author."""

    node: Any
    part: str
    author: str = ""


@dataclass(slots=True)
class Story:
    """A flow of text in one part, with the data that all stories of the file share.

    `fields` are the instructions of the open fields, `quoted` the commented words by the ids of the comments.
    If the fields are not balanced, none is dropped.
    """

    package: Package
    part: str
    styles: Styles
    numbering: Numbering
    pictures: Pictures
    remarks: Mapping[tuple[str, str], Remark]
    numbers: dict[tuple[str, str], int]
    fields: list[str] = field(default_factory=list)
    quoted: dict[str, str] = field(default_factory=dict)
    is_even: bool = True

    @classmethod
    def of(cls, package: Package, part: str, root: Any, pictures: Pictures) -> "Story":
        """Return the story of the body."""
        styles = Styles.of(_first_tree(package, part, "styles"))
        numbering = Numbering.of(_first_tree(package, part, "numbering"), styles)
        remarks = {
            key: each
            for kind in ("footnote", "endnote", "comment")
            for key, each in _read_remarks(package, part, kind)
        }
        return cls(package, part, styles, numbering, pictures, remarks, {}, is_even=_is_even(root))

    def beside(self, part: str, root: Any) -> "Story":
        """Return the story of another part of the same file."""
        return replace(self, part=part, fields=[], quoted={}, is_even=_is_even(root))

    def relations(self) -> Mapping[str, Relation]:
        """Return the relations of this part."""
        return self.package.relations(self.part)

    def is_dropping(self) -> bool:
        """Return whether the text here is generated: a page number, a table of contents."""
        return self.is_even and any((each.split() or [""])[0].upper() in _FROM_LAYOUT for each in self.fields)

    def note(self, kind: str, identity: str) -> tuple[int, Remark | None]:
        """Return number and content of a footnote or endnote; both kinds are numbered in one sequence."""
        remark = self.remarks.get((kind, identity))
        if remark is None:
            return 0, None
        number = self.numbers.setdefault((kind, identity), len(self.numbers) + 1)
        return number, remark

    def describe_drawing(self, node: Any) -> str:
        """Return the alternative text and mark of a picture, the data of a chart, the words of a diagram."""
        alt = next((text for each in every(node, "docPr") if (text := value(each, "descr"))), "")
        alt = alt or next((text for each in every(node, "shape") if (text := value(each, "alt"))), "")
        texts = []
        for each in every(node, "blip", "imagedata", "chart", "relIds"):
            if "txbxContent" in between(each, node):
                # It is read with the text of its box.
                continue
            if local(each) in {"blip", "imagedata"}:
                identity = relation_id(each, "embed") or relation_id(each)
                image = self.package.bytes_of(self.package.related_part(self.part, identity))
                texts.append(self.pictures.describe(image, alt=alt))
                alt = ""
            else:
                texts.append(charts.graphic(self.package, self.part, each))
        if alt:
            texts.append(self.pictures.describe(None, alt=alt))
        return "\n\n".join(text for text in texts if text)


def _first_tree(package: Package, part: str, kind: str) -> Any:
    found = next(package.of_kind(part, kind), "")
    return package.tree(found) if found else None


def _read_remarks(package: Package, part: str, kind: str) -> Iterator[tuple[tuple[str, str], Remark]]:
    for path in package.of_kind(part, f"{kind}s"):
        root = package.tree(path)
        for each in root if root is not None else ():
            # The separator above the notes is itself a note.
            if local(each) == kind and value(each, "type", "normal") == "normal":
                yield (kind, value(each, "id")), Remark(each, path, value(each, "author"))


def _is_even(root: Any) -> bool:
    kinds = [value(each, "fldCharType") for each in every(root, "fldChar")]
    return kinds.count("begin") == kinds.count("end")

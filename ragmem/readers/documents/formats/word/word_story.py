"""What the text of a Word file refers to, for each of its stories: body, headers, notes, comments."""

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
    """A note or a comment: its element, the part that it is in, and who wrote it."""

    node: Any
    part: str
    author: str = ""


@dataclass(slots=True)
class Story:
    """A flow of text in one part, with what all stories of the file share.

    `fields` are the instructions of the fields that are open, `quoted` the words that comments are on, by the
    comments' ids. Where fields are not closed as often as they are opened, none is dropped.
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
        styles = Styles.of(_one(package, part, "styles"))
        numbering = Numbering.of(_one(package, part, "numbering"), styles)
        remarks = {
            key: each
            for kind in ("footnote", "endnote", "comment")
            for key, each in _all(package, part, kind)
        }
        return cls(package, part, styles, numbering, pictures, remarks, {}, is_even=_is_even(root))

    def beside(self, part: str, root: Any) -> "Story":
        """Return the story of another part of the same file."""
        return replace(self, part=part, fields=[], quoted={}, is_even=_is_even(root))

    def relations(self) -> Mapping[str, Relation]:
        """Return what this part refers to."""
        return self.package.relations(self.part)

    def is_dropping(self) -> bool:
        """Tell whether text here is made from the layout: a page number, a table of contents."""
        return self.is_even and any((each.split() or [""])[0].upper() in _FROM_LAYOUT for each in self.fields)

    def note(self, kind: str, identity: str) -> tuple[int, Remark | None]:
        """Return number and content of a footnote or endnote; they are counted together, as they are met."""
        remark = self.remarks.get((kind, identity))
        if remark is None:
            return 0, None
        number = self.numbers.setdefault((kind, identity), len(self.numbers) + 1)
        return number, remark

    def drawing(self, node: Any) -> str:
        """Return alternative text and mark of a picture, the data of a chart, the words of a diagram."""
        alt = next((text for each in every(node, "docPr") if (text := value(each, "descr"))), "")
        alt = alt or next((text for each in every(node, "shape") if (text := value(each, "alt"))), "")
        told = []
        for each in node.iter("{*}blip", "{*}imagedata", "{*}chart", "{*}relIds"):
            if "txbxContent" in between(each, node):
                # It is read with the text of its box.
                continue
            if local(each) in {"blip", "imagedata"}:
                told.append(self._picture(each, alt))
                alt = ""
            else:
                kind = "id" if local(each) == "chart" else "dm"
                told.append(self._graphic(relation_id(each, kind), is_chart=kind == "id"))
        if alt:
            told.append(self.pictures.told(None, alt=alt))
        return "\n\n".join(text for text in told if text)

    def _picture(self, node: Any, alt: str) -> str:
        relation = self.relations().get(relation_id(node, "embed") or relation_id(node))
        data = None if relation is None or relation.outside else self.package.bytes_of(relation.target)
        return self.pictures.told(data, alt=alt)

    def _graphic(self, identity: str, *, is_chart: bool) -> str:
        relation = self.relations().get(identity)
        root = None if relation is None or relation.outside else self.package.tree(relation.target)
        if root is None:
            return ""
        return charts.chart(root) if is_chart else charts.diagram(root)


def _one(package: Package, part: str, kind: str) -> Any:
    found = next(package.of_kind(part, kind), "")
    return package.tree(found) if found else None


def _all(package: Package, part: str, kind: str) -> Iterator[tuple[tuple[str, str], Remark]]:
    for path in package.of_kind(part, f"{kind}s"):
        root = package.tree(path)
        for each in root if root is not None else ():
            # The line above the notes is itself a note.
            if local(each) == kind and value(each, "type", "normal") == "normal":
                yield (kind, value(each, "id")), Remark(each, path, value(each, "author"))


def _is_even(root: Any) -> bool:
    kinds = [value(each, "fldCharType") for each in every(root, "fldChar")]
    return kinds.count("begin") == kinds.count("end")

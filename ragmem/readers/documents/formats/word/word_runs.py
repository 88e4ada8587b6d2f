"""The text of a Word paragraph as one line of Markdown: runs, fields, links, references and equations."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ragmem.readers.documents.formats import equations, marks
from ragmem.readers.documents.formats.package import between, child, every, local, relation_id, value
from ragmem.readers.documents.formats.word.word_story import Remark, Story
from ragmem.readers.documents.formats.word.word_styles import is_monospaced, setting, switch

_DROPPED = frozenset({"del", "moveFrom", "delText", "delInstrText", "rPr", "pPr", "sdtPr", "rPrChange"})
_QUOTED = 160
_HYPERLINK = re.compile(r'HYPERLINK\s+(?:\\l\s+)?"([^"]+)"', re.IGNORECASE)
_COUNTED = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES", "TOC", "TOF", "INDEX"})
"""Fields whose result depends on the layout, or repeats the headings."""

_SYMBOLS = {"F0FE": "☑", "F0FD": "☒", "F0A8": "☐", "F0FC": "✓", "F0FB": "✗", "F0E0": "→", "F0B7": "•"}
_SYMBOL_GREEK = dict(
    zip("abgdezhqiklmnxprstufcyw", "αβγδεζηθικλμνξπρστυφχψω", strict=True),
)


@dataclass(slots=True)
class Line:
    """The text of a paragraph so far, and the blocks below it: notes, comments, text boxes."""

    story: Story
    pieces: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    hidden: bool = False
    monospaced: int = 0
    written: int = 0
    _quotes: dict[str, int] = field(default_factory=dict)
    _links: list[tuple[int, int, str]] = field(default_factory=list)

    def text(self) -> str:
        """Return the text as Markdown."""
        return marks.join_strikes("".join(self.pieces))

    def read(self, node: Any) -> None:
        """Add the content of an element."""
        for each in node:
            self._one(each)

    def _one(self, node: Any) -> None:
        name = local(node)
        if name in _DROPPED:
            return
        reading = self._READERS.get(name)
        if reading is not None:
            reading(self, node)
        else:
            self.read(node)

    def _put(self, text: str) -> None:
        if text and not self.story.is_dropping():
            self.pieces.append(text)

    def _run(self, node: Any) -> None:
        properties = child(node, "rPr")
        if self._is_hidden(properties):
            return
        before = len(self.pieces)
        self.read(node)
        added = "".join(self.pieces[before:])
        if not added.strip():
            return
        self.written += len(added)
        fonts = child(properties, "rFonts")
        if fonts is not None and is_monospaced(fonts):
            self.monospaced += len(added)
        if setting(properties, "vertAlign") == "superscript" and "[^" not in added:
            added = marks.superscript(added)
        if switch(properties, "strike") or switch(properties, "dstrike"):
            added = marks.strike_through(added)
        self.pieces[before:] = [added]

    def _is_hidden(self, properties: Any) -> bool:
        on = switch(properties, "vanish")
        if on is None and (style := child(properties, "rStyle")) is not None:
            on = self.story.styles.is_hidden(value(style, "val"))
        return self.hidden if on is None else on

    def _words(self, node: Any) -> None:
        self._put(node.text or "")

    def _tab(self, node: Any) -> None:
        del node
        self._put("\t")

    def _break(self, node: Any) -> None:
        # Breaks of pages and columns mean nothing for the text.
        if value(node, "type", "textWrapping") == "textWrapping":
            self._put("\n")

    def _hyphen(self, node: Any) -> None:
        del node
        self._put("-")

    def _symbol(self, node: Any) -> None:
        code = value(node, "char").upper()
        number = int(code, 16) if re.fullmatch(r"[0-9A-F]{2,5}", code) else 0
        own = chr(number & 0xFF) if 0xF000 <= number <= 0xF0FF else chr(number)
        greek = _SYMBOL_GREEK.get(own, "") if value(node, "font").lower() == "symbol" else ""
        self._put(_SYMBOLS.get(code) or greek or (own if own.isprintable() and number else ""))

    def _link(self, node: Any) -> None:
        before = len(self.pieces)
        self.read(node)
        relation = self.story.relations().get(relation_id(node))
        if relation is not None and relation.outside:
            self.pieces[before:] = [marks.link("".join(self.pieces[before:]), relation.target)]

    def _field_mark(self, node: Any) -> None:
        fields = self.story.fields
        kind = value(node, "fldCharType")
        if kind == "begin":
            fields.append("")
            self._links.append((len(fields), len(self.pieces), ""))
        elif kind == "end" and fields:
            depth, instruction = len(fields), fields.pop()
            found = _HYPERLINK.match(instruction.strip())
            while self._links and self._links[-1][0] >= depth:
                at, start, _ = self._links.pop()
                if found and at == depth:
                    self.pieces[start:] = [marks.link("".join(self.pieces[start:]), found[1])]

    def _simple_field(self, node: Any) -> None:
        if value(node, "instr").split()[:1] and value(node, "instr").split()[0].upper() in _COUNTED:
            return
        self.read(node)

    def _instruction(self, node: Any) -> None:
        if self.story.fields:
            self.story.fields[-1] += node.text or ""

    def _note(self, node: Any) -> None:
        number, remark = self.story.note(local(node).removesuffix("Reference"), value(node, "id"))
        if remark is not None and not self.story.is_dropping():
            self.pieces.append(f"[^{number}]")
            self._remark(f"[^{number}]: ", remark)

    def _comment_begins(self, node: Any) -> None:
        self._quotes[value(node, "id")] = len(self.pieces)

    def _comment_ends(self, node: Any) -> None:
        identity = value(node, "id")
        if identity in self._quotes:
            quoted = " ".join("".join(self.pieces[self._quotes[identity] :]).split())
            self.story.quoted[identity] = quoted if len(quoted) <= _QUOTED else ""

    def _comment(self, node: Any) -> None:
        identity = value(node, "id")
        if remark := self.story.remarks.get(("comment", identity)):
            author = f" by {remark.author}" if remark.author else ""
            quoted = self.story.quoted.get(identity)
            place = f' on "{quoted}"' if quoted else ""
            self._remark(f"> Comment{author}{place}: ", remark)

    def _remark(self, front: str, remark: Remark) -> None:
        """Add a note or comment below as one line, followed by its own notes."""
        line = Line(self.story.beside(remark.part, remark.node))
        for paragraph in every(remark.node, "p"):
            line.read(paragraph)
            line.pieces.append(" ")
        if text := marks.flatten(line.text()):
            self.below.append(front + text)
            self.below += line.below

    def _equation(self, node: Any) -> None:
        if found := equations.to_latex(node):
            self._put(f"${found}$")

    def _equations(self, node: Any) -> None:
        if found := equations.to_latex(node):
            self._put(f"\n\n$$\n{found}\n$$\n\n")

    def _drawing(self, node: Any) -> None:
        if text := self.story.describe_drawing(node):
            self.below.append(text)
        self.boxes += [each for each in node.iter("{*}txbxContent") if _is_outermost(each, node)]

    def _alternative(self, node: Any) -> None:
        # The choice and its fallback have the same content.
        chosen = child(node, "Choice")
        chosen = child(node, "Fallback") if chosen is None or not len(chosen) else chosen
        if chosen is not None:
            self.read(chosen)

    def _ruby(self, node: Any) -> None:
        before = len(self.pieces)
        self.read(child(node, "rubyBase") if child(node, "rubyBase") is not None else node)
        reading = Line(self.story)
        if (above := child(node, "rt")) is not None:
            reading.read(above)
        if told := reading.text().strip():
            self.pieces[before:] = [f"{''.join(self.pieces[before:])} ({told})"]

    _READERS: ClassVar[dict[str, Callable[["Line", Any], None]]] = {
        "r": _run,
        "t": _words,
        "tab": _tab,
        "ptab": _tab,
        "br": _break,
        "cr": _break,
        "noBreakHyphen": _hyphen,
        "sym": _symbol,
        "hyperlink": _link,
        "fldChar": _field_mark,
        "fldSimple": _simple_field,
        "instrText": _instruction,
        "footnoteReference": _note,
        "endnoteReference": _note,
        "commentRangeStart": _comment_begins,
        "commentRangeEnd": _comment_ends,
        "commentReference": _comment,
        "oMath": _equation,
        "oMathPara": _equations,
        "drawing": _drawing,
        "pict": _drawing,
        "object": _drawing,
        "AlternateContent": _alternative,
        "ruby": _ruby,
    }


def _is_outermost(box: Any, top: Any) -> bool:
    """Return whether a box is not inside another box, which is read with it, and not a fallback."""
    return not {"Fallback", "txbxContent"} & set(between(box, top))

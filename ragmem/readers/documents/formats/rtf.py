"""Rich text (.rtf) of WordPad, TextEdit and Word as Markdown: headings, tables, footnotes, any code page."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.spans import Cell
from ragmem.readers.documents.formats.text_blocks import Block, write_blocks
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError

_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)",
    re.DOTALL,
)
_IGNORED = frozenset(
    "colortbl pict object objdata fldinst themedata colorschememapping datastore latentstyles generator "
    "listtable listoverridetable rsidtbl xmlnstbl bkmkstart bkmkend header headerl headerr headerf footer "
    "footerl footerr footerf nonshppict filetbl revtbl operator company template doccomm keywords comment "
    "shprslt category manager hlinkbase atnid atnauthor atndate annotation pgptbl wgrffmtfilter".split()
)
"""Groups that are no text of the document, besides those marked as such and unknown here."""

_TOLD = frozenset({"title", "author", "subject"})
_KEPT = _TOLD | {"footnote", "fonttbl", "stylesheet", "creatim"}
_WITHIN = frozenset({"listtext", "pntext", "fldrslt", "shptxt"})
"""Groups whose text belongs where they stand."""

_SIGNS = {"tab": "\t", "line": "\n", "emspace": " ", "enspace": " ", "nestcell": " ", "nestrow": " "}
_SIGNS |= {"emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018", "rquote": "\u2019", "bullet": "\u2022"}
_SIGNS |= {"ldblquote": "\u201c", "rdblquote": "\u201d", "~": " ", "_": "-", "\\": "\\", "{": "{", "}": "}"}
_CODE_PAGES = {77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255}
_CODE_PAGES |= {178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250}
"""Code pages by the character sets of fonts (RTF 1.9.1, Font Table)."""

_CODECS = {10000: "mac_roman", 65001: "utf-8"}
_DEEPEST = 500
_ITEM = re.compile(r"\s*(?:[\u2022\u00b7\u25e6\uf0b7-]|(\w{1,4}[.)]))\t")


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds until the end of a group in braces."""

    destination: str = ""
    is_ignored: bool = False
    skip: int = 1
    font: int = 0
    is_hidden: bool = False


@dataclass(slots=True)
class _Reader:
    """The blocks so far, and the paragraph, row and table that are being read."""

    blocks: list[Block] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    fonts: dict[int, int] = field(default_factory=dict)
    styles: dict[int, int] = field(default_factory=dict)
    line: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    noted: int = 0
    cells: list[Cell] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    group: _Group = field(default_factory=_Group)
    code_page: int = 1252
    level: int = 0
    style: int = 0
    in_table: bool = False
    data: bytearray = field(default_factory=bytearray)
    moment: list[int] = field(default_factory=list)
    outer: list[_Group] = field(default_factory=list)
    fallback: int = 0
    is_marked: bool = False

    def read(self, text: str) -> None:
        """Read a whole file; what follows its last brace is ignored."""
        at = 0
        while (found := _TOKEN.match(text, at)) is not None:
            at = found.end()
            word, number, code, sign, brace, words = found.groups()
            if word == "bin":
                at += max(0, int(number or 0))
            elif word:
                self._word(word, None if number is None else int(number))
            elif sign:
                self._sign(sign)
            elif brace:
                self._brace(brace)
                if not self.outer:
                    break
            elif code or words:
                self._words(bytes([int(code, 16)]) if code else words.encode("latin-1"))
            self.is_marked = sign == "*"
        self.flush()
        self.group, self.in_table = _Group(), False
        self._end_paragraph()

    def _brace(self, brace: str) -> None:
        self.flush()
        self.fallback = 0
        if brace == "{":
            self.outer.append(self.group)
            if len(self.outer) > _DEEPEST:
                raise RefusedError("it is nested too deeply")
        elif self.outer:
            self.group = self.outer.pop()

    def _sign(self, sign: str) -> None:
        if sign in "\r\n":
            self._obey("par", None)
        elif sign != "*":
            self.put(_SIGNS.get(sign, ""))

    def _words(self, data: bytes) -> None:
        # What stands for a sign of Unicode in programs that know none is skipped.
        taken = min(self.fallback, len(data))
        self.fallback -= taken
        if not self.group.is_ignored:
            self.data += data[taken:]

    def _word(self, word: str, number: int | None) -> None:
        if word in _WITHIN:
            # The text of a shape stands among its settings, which are no text.
            self.group = replace(self.group, is_ignored=self.group.is_ignored and word != "shptxt")
        elif self.is_marked or word in _IGNORED or word in _KEPT:
            is_ignored = self.group.is_ignored or word in _IGNORED or (self.is_marked and word not in _KEPT)
            if word == "footnote" and not is_ignored:
                self.notes.append("")
                self.put(f"[^{len(self.notes)}]")
            self.group = replace(self.group, destination=word, is_ignored=is_ignored)
        elif word == "u" and number is not None:
            self.put(chr(number % 0x10000))
            self.fallback = self.group.skip
        else:
            self._obey(word, number)

    def put(self, text: str) -> None:
        """Add text where the group belongs."""
        self.flush()
        if self.group.is_ignored or self.group.is_hidden:
            return
        if self.group.destination in _TOLD:
            self.facts[self.group.destination] = self.facts.get(self.group.destination, "") + text
        elif self.group.destination == "footnote":
            self.notes[-1] += text
        elif self.group.destination in {"", "shpinst"}:
            self.line.append(text)

    def flush(self) -> None:
        """Add the bytes so far, decoded by the code page of their font."""
        if self.data:
            page = self.fonts.get(self.group.font, self.code_page)
            data, self.data = bytes(self.data), bytearray()
            try:
                self.put(data.decode(_CODECS.get(page, f"cp{page}"), "replace"))
            except LookupError:
                self.put(data.decode("cp1252", "replace"))

    def _obey(self, name: str, number: int | None) -> None:
        ending = {"cell": self._end_cell, "row": self._end_row}.get(name, self._end_paragraph)
        if name in _SIGNS:
            self.put(_SIGNS[name])
        elif name in {"par", "sect", "page", "cell", "row"} and not self.group.is_ignored:
            self.flush()
            ending()
        elif name == "pard":
            self.level, self.style, self.in_table = 0, 0, False
        elif name in {"plain", "v", "deleted"}:
            self.flush()
            self.group = replace(self.group, is_hidden=name != "plain" and number != 0)
        elif name == "intbl":
            self.in_table = True
        elif number is not None:
            self._set(name, number)

    def _set(self, name: str, number: int) -> None:
        if name == "uc":
            self.group = replace(self.group, skip=max(number, 0))
        elif name == "f":
            self.flush()
            self.group = replace(self.group, font=number)
        elif name == "ansicpg":
            self.code_page = number
        elif name == "fcharset" and self.group.destination == "fonttbl":
            self.fonts[self.group.font] = _CODE_PAGES.get(number, self.code_page)
        elif name == "s":
            self.style = number
        elif name == "outlinelevel" and 0 <= number < 9:
            self.level = number + 1
            if self.group.destination == "stylesheet":
                self.styles[self.style] = number + 1
        elif name in {"yr", "mo", "dy", "hr", "min"} and self.group.destination == "creatim":
            self.moment.append(number)

    def _end_paragraph(self) -> None:
        if self.group.destination == "footnote":
            self.notes[-1] += " "
            return
        if self.in_table:
            self.line.append(" ")
            return
        self._end_table()
        text, below = self._take()
        level = self.level or self.styles.get(self.style, 0)
        item = _ITEM.match(text)
        if item and text[item.end() :].strip():
            text = marks.item(text[item.end() :], label=item[1] or "")
            self.blocks.append(Block("item", text, below=below))
        else:
            self.blocks.append(
                Block("heading" if level and text.strip() else "text", text, level, below=below)
            )

    def _take(self) -> tuple[str, list[str]]:
        """Return the text so far and its notes."""
        text, self.line = "".join(self.line), []
        first, self.noted = self.noted, len(self.notes)
        notes = enumerate(self.notes[first:], first + 1)
        return text, [f"[^{number}]: {marks.flatten(note)}" for number, note in notes]

    def _end_cell(self) -> None:
        text, below = self._take()
        self.cells.append(Cell(marks.flatten(text)))
        self.below += below

    def _end_row(self) -> None:
        self.rows.append(self.cells)
        self.cells = []

    def _end_table(self) -> None:
        if self.cells:
            self._end_row()
        if self.rows:
            self.blocks.append(Block("table", "", rows=self.rows, below=self.below))
            self.rows, self.below = [], []


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return a rich text as one part; raises RefusedError for any other file."""
    data = Path(path).read_bytes()
    if len(data) > limits.unpacked_bytes:
        raise RefusedError(f"it is larger than {limits.unpacked_bytes // 1_000_000:,} MB")
    text = data.decode("latin-1")
    if not text.lstrip().startswith("{\\rtf"):
        raise RefusedError("it is not a rich text")
    reader = _Reader()
    reader.read(text)
    heading = next((marks.flatten(each.text) for each in reader.blocks if each.kind == "heading"), "")
    facts = {name: _join(text) for name, text in reader.facts.items()}
    year, *rest = [*reader.moment, 0, 0, 0, 0, 0][:5]
    moment = f"{year:04d}-{rest[0]:02d}-{rest[1]:02d}T{rest[2]:02d}:{rest[3]:02d}" if reader.moment else ""
    whole = _join(marks.blocks(list(write_blocks(reader.blocks))))
    return ConvertedDocument((Part(whole),), facts.get("title") or _join(heading), moment, facts)


def _join(text: str) -> str:
    """Return text in which the halves of signs beyond the basic plane are joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

"""The styles of a Word file, and the numbering of its lists and headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.package import child, every, local, value, whole, within

BODY = 9
"""The outline level of body text; 0 to 8 are headings."""

_LONGEST_CHAIN = 20
_OFF = {"0", "false", "off", "none"}
_CODE_NAME = re.compile(r"\b(?:code|listing|preformatted|source)\b|^macro text$", re.IGNORECASE)
_ROMAN = dict(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        "m cm d cd c xc l xl x ix v iv i".split(),
        strict=True,
    )
)
_LAST_ROMAN = 3_999


@dataclass(slots=True)
class Styles:
    """The styles of a file by their ids; a property is inherited from the nearest base style."""

    by_id: dict[str, Any] = field(default_factory=dict)
    default: str = ""

    @classmethod
    def of(cls, root: Any) -> "Styles":
        """Return the styles of a `styles.xml`; none if it is missing."""
        found = cls()
        for each in every(root, "style"):
            identity = value(each, "styleId")
            found.by_id[identity] = each
            if value(each, "type") == "paragraph" and value(each, "default") in {"1", "true"}:
                found.default = identity
        return found

    def name(self, identity: str) -> str:
        """Return the name of a style in lower case; built-in ones have English names in every language."""
        return setting(self.by_id.get(identity), "name", identity).lower()

    def chain(self, identity: str) -> Iterator[Any]:
        """Yield a style and its base styles."""
        for _ in range(_LONGEST_CHAIN):
            style = self.by_id.get(identity)
            if style is None:
                return
            yield style
            identity = setting(style, "basedOn")

    def names(self, identity: str) -> Iterator[str]:
        """Yield the names of a style and its base styles in lower case."""
        for style in self.chain(identity):
            yield setting(style, "name").lower()

    def outline(self, identity: str) -> int:
        """Return the outline level of a style, from 0; `BODY` for styles that are not headings."""
        for style in self.chain(identity):
            level = within(style, "pPr", "outlineLvl")
            if level is not None:
                return whole(value(level, "val"), BODY)
        for name in self.names(identity):
            if found := re.fullmatch(r"heading ([1-9])", name):
                return int(found[1]) - 1
        return BODY

    def list_level(self, identity: str) -> tuple[str, int | None]:
        """Return the list of a style's paragraphs and their level in it, if any."""
        number, level = "", None
        for style in self.chain(identity):
            properties = within(style, "pPr", "numPr")
            if level is None and (each := child(properties, "ilvl")) is not None:
                level = whole(value(each, "val"), 0)
            if not number and (each := child(properties, "numId")) is not None:
                number = value(each, "val")
        return number, level

    def is_hidden(self, identity: str) -> bool:
        """Return whether the text of a style is hidden."""
        return any(switch(child(style, "rPr"), "vanish") for style in self.chain(identity))

    def is_code(self, identity: str) -> bool:
        """Return whether a style is for code, by its name and font."""
        if identity == self.default:
            return False
        fonts = (child(child(style, "rPr"), "rFonts") for style in self.chain(identity))
        by_font = next((is_monospaced(font) for font in fonts if font is not None), False)
        return by_font or bool(_CODE_NAME.search(self.name(identity)))


def is_monospaced(fonts: Any) -> bool:
    """Return whether `w:rFonts` names a monospaced font."""
    return bool(marks.MONOSPACED.search(value(fonts, "ascii")))


def setting(properties: Any, name: str, default: str = "") -> str:
    """Return the value of a property such as `w:pStyle`; the default where it is not set."""
    each = child(properties, name)
    return default if each is None else value(each, "val")


def switch(properties: Any, name: str) -> bool | None:
    """Return whether a property such as `w:vanish` is on; None where it is not set."""
    each = child(properties, name)
    return None if each is None else value(each, "val", "1") not in _OFF


@dataclass(slots=True)
class Level:
    """The numbering of one level of a list: "decimal" from 1 as "%1.%2", or "bullet"."""

    form: str = "bullet"
    text: str = ""
    start: int = 1
    style: str = ""


@dataclass(slots=True)
class Numbering:
    """The lists of a file with their counters."""

    levels: dict[str, dict[int, Level]] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Any, styles: Styles) -> "Numbering":
        """Return the lists of a `numbering.xml`; none if it is missing."""
        found = cls()
        if root is None:
            return found
        abstract = {value(each, "abstractNumId"): each for each in root if local(each) == "abstractNum"}
        for number in (each for each in root if local(each) == "num"):
            kind = _linked_style(setting(number, "abstractNumId"), abstract, root, styles)
            levels = _levels(abstract.get(kind))
            overridden = _override(levels, number)
            identity = value(number, "numId")
            found.levels[identity] = levels
            # Lists of one kind share a counter, unless a list sets its own start.
            found.shared[identity] = identity if overridden else f"abstract {kind}"
        return found

    def level_of_style(self, number: str, style: str) -> int:
        """Return the list level of a style; 0 by default."""
        return next(
            (n for n, level in self.levels.get(number, {}).items() if style and level.style == style), 0
        )

    def is_list(self, number: str) -> bool:
        """Return whether a list exists; number 0 means that a paragraph is not in a list."""
        return number in self.levels

    def next_label(self, number: str, level: int) -> str:
        """Advance a list by one item; return its label: "2.1", "(a)", or empty for a bullet."""
        levels = self.levels[number]
        rule = levels.get(level, Level())
        counts = self._counts.setdefault(self.shared[number], {})
        counts[level] = counts.get(level, rule.start - 1) + 1
        for deeper in [each for each in counts if each > level]:
            del counts[deeper]
        if rule.form in {"bullet", "none"}:
            return ""

        def place(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            other = levels.get(at, Level("decimal"))
            return numeral(counts.setdefault(at, other.start), other.form)

        return re.sub(r"%([1-9])", place, rule.text)


def numeral(count: int, form: str) -> str:
    """Return a number in a form of Word's lists; decimal for unknown forms."""
    if form in {"lowerLetter", "upperLetter"} and count > 0:
        letter = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letter.upper() if form == "upperLetter" else letter
    if form in {"lowerRoman", "upperRoman"} and 0 < count <= _LAST_ROMAN:
        roman, left = "", count
        for amount, sign in _ROMAN.items():
            roman += sign * (left // amount)
            left %= amount
        return roman.upper() if form == "upperRoman" else roman
    return f"{count:02d}" if form == "decimalZero" else str(count)


def _linked_style(kind: str, abstract: dict[str, Any], root: Any, styles: Styles) -> str:
    """Return the kind of list of a linked style; other kinds stay as they are."""
    link = child(abstract.get(kind), "numStyleLink")
    if link is None:
        return kind
    number = styles.list_level(value(link, "val"))[0]
    linked = (each for each in root if local(each) == "num" and value(each, "numId") == number)
    return setting(next(linked, None), "abstractNumId", kind)


def _levels(abstract: Any) -> dict[int, Level]:
    found = {}
    for each in abstract if abstract is not None else ():
        if local(each) == "lvl":
            found[whole(value(each, "ilvl"), 0)] = _level(each)
    return found


def _level(node: Any) -> Level:
    start = whole(setting(node, "start"), 1)
    return Level(
        setting(node, "numFmt") or "decimal", setting(node, "lvlText"), start, setting(node, "pStyle")
    )


def _override(levels: dict[int, Level], number: Any) -> bool:
    """Apply the overrides of one list to the levels of its kind; return whether it restarts."""
    anew = False
    for each in number:
        if local(each) != "lvlOverride":
            continue
        at = whole(value(each, "ilvl"), 0)
        if (own := child(each, "lvl")) is not None:
            levels[at] = _level(own)
        if (start := child(each, "startOverride")) is not None:
            levels.setdefault(at, Level("decimal", f"%{at + 1}.")).start = whole(value(start, "val"), 1)
            anew = True
    return anew

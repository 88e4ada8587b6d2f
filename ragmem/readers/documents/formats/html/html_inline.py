"""Text within a paragraph of a web page or e-book as one line of Markdown: links, code, formulas, notes."""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from ragmem.readers.documents.formats import marks, mathml
from ragmem.readers.documents.formats.html.html_tree import local, roles, tokens
from ragmem.readers.documents.formats.pictures import Pictures

_BACK = re.compile(r"back-?ref|back-?link|footnote-?back|reversefootnote|footnote-return")
_ARROWS = frozenset("↩↑^⤴⏎\ufe0e«")
_DISPLAY_STYLE = re.compile(r"^\{\\displaystyle\s*(.*)\}$", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_ANCHORS = frozenset({"#", "§", "¶", "🔗", "∞", "⚓", "⚓︎"})
_SHORT_ALT = 3
_DEEPEST = 100
_NOTES_WITHIN = 3
_LONGEST_IMAGE = 20_000_000


@dataclass(slots=True)
class Page:
    """What the text of a page refers to, and what has been met of it so far.

    `notes` are elements of notes by where they are (`file#id`, `#id` within one file). `image` gives the
    bytes of an image in the same e-book. `below` collects what belongs under the paragraph at hand,
    `inside` counts the notes within notes that are being read.
    """

    pictures: Pictures
    notes: Mapping[str, Any] = field(default_factory=dict)
    here: str = ""
    image: Callable[[str], bytes | None] | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    below: list[str] = field(default_factory=list)
    inside: int = 0
    _elements: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._elements = {id(each) for each in self.notes.values()}

    def is_note(self, node: Any) -> bool:
        """Tell whether an element is a note that is told where it is referred to."""
        return id(node) in self._elements

    def taken(self) -> list[str]:
        """Return what belongs under the paragraph, and forget it."""
        found, self.below = self.below, []
        return found


def place(address: str, here: str) -> str:
    """Return where a link within a book or a page leads, `file#id`; empty for another page."""
    path, _, part = address.partition("#")
    if path and not here:
        return ""
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(path))) if path else here
    return f"{whole}#{unquote(part)}"


def line(node: Any, page: Page) -> str:
    """Return what is in an element as text of one line, but for breaks that its author put in."""
    return _tidy(_within(node, page, 0))


def piece(node: Any, page: Page) -> str:
    """Return an element within a paragraph as text, with the blanks at its ends."""
    return _one(node, page, 0)


def blank(text: str | None) -> str:
    """Return text with what a browser shows as one blank as one blank."""
    return _SPACE.sub(" ", text or "")


def _tidy(text: str) -> str:
    return "\n".join(each.strip() for each in re.sub(r" {2,}", " ", text).split("\n")).strip()


def _within(node: Any, page: Page, depth: int) -> str:
    if depth > _DEEPEST:
        return blank("".join(each for each in node.itertext() if isinstance(each, str)))
    text = blank(node.text)
    for each in node:
        text += _one(each, page, depth + 1) + blank(each.tail)
    return text


def _one(node: Any, page: Page, depth: int) -> str:
    name = local(node)
    reading = _READERS.get(name)
    if reading is not None:
        return reading(node, page, depth)
    if not name:
        return ""
    text = _within(node, page, depth)
    # Elements that are paragraphs of their own, met within a cell or a link.
    return f" {text} " if name in _APART else text


def _link(node: Any, page: Page, depth: int) -> str:
    address = node.get("href") or ""
    if "#" in address and (leads_to := place(address, page.here)) in page.notes:
        return _note(leads_to, page)
    text = _within(node, page, depth)
    if address.startswith("#") and text.strip() in _ANCHORS:
        # What a heading shows to copy its address from.
        return ""
    return marks.link(text, address)


def _note(leads_to: str, page: Page) -> str:
    if leads_to not in page.numbers:
        page.numbers[leads_to] = number = len(page.numbers) + 1
        before, page.below, page.inside = page.below, [], page.inside + 1
        node = page.notes[leads_to]
        # Notes on notes on notes: no person goes on, and a chain of a thousand ends no reader here.
        text = (
            _note_text(node, page)
            if page.inside <= _NOTES_WITHIN
            else marks.flatten("".join(node.itertext()))
        )
        page.below, page.inside = [*before, f"[^{number}]: {text}", *page.below], page.inside - 1
    return f"[^{page.numbers[leads_to]}]"


def _note_text(node: Any, page: Page) -> str:
    """Return what a note says, without its number and the way back."""
    for each in [each for each in node.iter() if local(each) and each is not node]:
        text = "".join(each.itertext()).strip()
        leads_back = "#" in (each.get("href") or "") and (len(text) < 2 or text.strip("[].() ").isdigit())
        is_back = "doc-backlink" in roles(each) or _BACK.search((each.get("class") or "").lower())
        if leads_back or is_back or (local(each) == "a" and set(text) <= _ARROWS):
            for inner in list(each):
                each.remove(inner)
            each.text = None
    return re.sub(r"^[\s.:)\]]+", "", marks.flatten(_within(node, page, 0)))


def _superscript(node: Any, page: Page, depth: int) -> str:
    text = _within(node, page, depth)
    return text if "[^" in text else marks.raised(text)


def _struck(node: Any, page: Page, depth: int) -> str:
    return marks.struck(_within(node, page, depth))


def _code(node: Any, page: Page, depth: int) -> str:
    text = _within(node, page, depth)
    return f"`{text.strip()}`" if text.strip() and "`" not in text else text


def _quote(node: Any, page: Page, depth: int) -> str:
    return f"“{_within(node, page, depth)}”"


def _break(node: Any, page: Page, depth: int) -> str:
    del node, page, depth
    return "\n"


def _formula(node: Any, page: Page, depth: int) -> str:
    del page, depth
    return shown_formula(mathml.to_latex(node), is_block=(node.get("display") or "") == "block")


def shown_formula(latex: str, *, is_block: bool) -> str:
    """Return LaTeX between dollar signs, on lines of its own where it stands apart."""
    if found := _DISPLAY_STYLE.match(latex):
        latex = found[1].strip()
    if not latex:
        return ""
    return f"\n\n$$\n{latex}\n$$\n\n" if is_block else f"${latex}$"


def _script(node: Any, page: Page, depth: int) -> str:
    del page, depth
    kind = (node.get("type") or "").lower()
    if not kind.startswith("math/tex"):
        return ""
    return shown_formula(" ".join((node.text or "").split()), is_block="display" in kind)


def _image(node: Any, page: Page, depth: int) -> str:
    del depth
    alt = marks.flatten(node.get("alt") or "")
    classes = tokens(node)
    if alt and any("math" in each or each in {"tex", "latex"} for each in classes):
        near = node.getparent()
        # The same formula stands beside it as MathML.
        twice = near is not None and any(local(each) == "math" for each in near.iter())
        return "" if twice else shown_formula(alt, is_block="mwe-math-fallback-image-display" in classes)
    if 0 < len(alt) <= _SHORT_ALT or classes & {"emoji", "wp-smiley"}:
        return alt
    told = page.pictures.told(_bytes(node.get("src") or "", page), alt=alt)
    if told:
        page.below.append(told)
    return ""


def _bytes(address: str, page: Page) -> bytes | None:
    """Return an image that is within the page or the e-book: nothing else is looked up."""
    if address.startswith("data:"):
        kind, _, data = address[5:_LONGEST_IMAGE].partition(",")
        if not kind.startswith("image/"):
            return None
        if not kind.endswith("base64"):
            return unquote_to_bytes(data)
        from base64 import b64decode

        try:
            return b64decode(unquote(data), validate=False)
        except ValueError:
            return None
    return page.image(address) if page.image is not None else None


def _checkbox(node: Any, page: Page, depth: int) -> str:
    del page, depth
    if (node.get("type") or "") != "checkbox":
        return ""
    return "[x] " if "checked" in node.attrib else "[ ] "


def _nothing(node: Any, page: Page, depth: int) -> str:
    del node, page, depth
    return ""


def _reading(node: Any, page: Page, depth: int) -> str:
    return f" ({_within(node, page, depth).strip()})"


_APART = frozenset("p div li dt dd tr td th h1 h2 h3 h4 h5 h6 section article blockquote figcaption".split())
_READERS: dict[str, Callable[[Any, Page, int], str]] = {
    "a": _link,
    "sup": _superscript,
    "del": _struck,
    "s": _struck,
    "strike": _struck,
    "code": _code,
    "kbd": _code,
    "samp": _code,
    "q": _quote,
    "br": _break,
    "math": _formula,
    "script": _script,
    "img": _image,
    "input": _checkbox,
    "rp": _nothing,
    "rt": _reading,
    "svg": _nothing,
    "style": _nothing,
}

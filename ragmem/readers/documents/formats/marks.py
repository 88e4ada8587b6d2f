"""Write Markdown: headings, lists, code, links, and plain text."""

import re

MONOSPACED = re.compile(r"courier|consol|mono|menlo|monaco|fixed|typewriter", re.IGNORECASE)
"""A part of the name of a font for code."""

_URL_LONGEST = 300
_STARTS = re.compile(r"^(\s{0,3})(#{1,6}(?=\s)|```|~~~|\[\^[^\]\n]{0,99}\]:)", re.MULTILINE)
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_ORDINALS = frozenset({"st", "nd", "rd", "th", "e", "er", "re", "a", "o", "®", "™"})
_DEEPEST = 6


def heading(level: int, text: str) -> str:
    """Return a heading with a level from 1; levels above 6 become 6."""
    return f"{'#' * min(max(level, 1), _DEEPEST)} {flatten(text)}" if text.strip() else ""


def paragraph(text: str) -> str:
    """Return text as a paragraph, escaped."""
    text = "\n".join(line.strip() for line in _SPACES.sub(" ", text).split("\n"))
    return escape_starts(_BLANK_LINES.sub("\n\n", text).strip())


def escape_starts(text: str) -> str:
    """Return text in which beginnings of lines that look like headings or fences are escaped."""
    return _STARTS.sub(r"\1\\\2", text)


def flatten(text: str) -> str:
    """Return text as one line."""
    return " ".join(text.split())


def item(text: str, *, level: int = 0, label: str = "") -> str:
    """Return an item of a list; a label such as "1." becomes Markdown's own number."""
    mark = label if re.fullmatch(r"\d{1,9}[.)]", label) else "-"
    words = flatten(text) if mark == label or not label else f"{label} {flatten(text)}"
    return f"{'    ' * level}{mark} {words}"


def quote(text: str) -> str:
    """Return text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def fence(text: str, language: str = "") -> str:
    """Return code in a fence that the code cannot close."""
    longest = max((len(each) for each in re.findall(r"`{3,}", text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def link(text: str, address: str) -> str:
    """Return the text of a link, with its address if that is on the web and not the text itself."""
    address = address.strip()
    if not re.match(r"https?://\S+$", address) or len(address) > _URL_LONGEST:
        return text
    if not text.strip() or text.strip() == address:
        # A link without text is an icon.
        return text
    edge = len(text) - len(text.lstrip()), len(text.rstrip())
    safe = address.replace("(", "%28").replace(")", "%29")
    return f"{text[: edge[0]]}[{text.strip()}]({safe}){text[edge[1] :]}"


def superscript(text: str) -> str:
    """Return a superscript with a caret, because 10^6 is not 106; the letters of 1st stay as they are."""
    bare = text.strip()
    if (
        not bare
        or bare.lower() in _ORDINALS
        or not (bare[0].isdigit() or bare[0] in "+-\u2212" or len(bare) == 1)
    ):
        return text
    return f"^{bare}" if len(bare) == 1 or re.fullmatch(r"[-+\u2212]?\w+", bare) else f"^({bare})"


def strike_through(text: str) -> str:
    """Return text with strikethrough."""
    bare = text.strip()
    return text.replace(bare, f"~~{bare}~~", 1) if bare else text


def join_strikes(text: str) -> str:
    """Return text in which adjacent strikethroughs are joined."""
    return re.sub(r"~~(\s*)~~(?=\S)", r"\1", text) if text.count("~~") > 2 else text


def blocks(texts: list[tuple[str, bool]]) -> str:
    """Return blocks with blank lines between them, but not between list items (True)."""
    whole = ""
    was_item = False
    for text, is_item in texts:
        if not text.strip():
            continue
        whole += ("\n" if was_item and is_item else "\n\n") if whole else ""
        whole += text
        was_item = is_item
    return whole

"""The marks that replace secrets in a text."""

from ragmem.patterns import lazy

_BEGIN = "[redacted: "

MARKED = lazy(r"\[redacted: [A-Za-z0-9 .-]{1,40}\]")


def mark(kind: str) -> str:
    """Return the mark for a secret of this kind."""
    return f"{_BEGIN}{kind}]"


def without_kinds(text: str) -> str:
    """Return a text of the same length with marks without kinds, because a kind may look like a label."""
    if _BEGIN not in text:
        return text
    return MARKED.sub(lambda found: _BEGIN + "." * (len(found[0]) - len(_BEGIN) - 1) + "]", text)


def without_marks(text: str) -> str:
    """Return a text with an ellipsis for each mark, for the full-text index."""
    return MARKED.sub("…", text) if _BEGIN in text else text

"""What stands in a text in place of a secret."""

import re

_BEGIN = "[redacted: "

MARKED = re.compile(r"\[redacted: [A-Za-z0-9 .-]{1,40}\]")


def mark(kind: str) -> str:
    """Return what stands in place of a secret of this kind."""
    return f"{_BEGIN}{kind}]"


def without_marks(text: str) -> str:
    """Return a text with an ellipsis for each mark, for what is searched: nobody wrote its words."""
    return MARKED.sub("…", text) if _BEGIN in text else text

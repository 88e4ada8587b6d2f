"""Text inside an SVG document: nothing in it is read as markup, and nothing of it is not allowed in XML."""

import re
from html import escape

# Not allowed in XML 1.0 at all, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def lawful(text: str) -> str:
    """Return a text with a stand-in for each character that XML does not take."""
    return _FORBIDDEN.sub("\ufffd", text)


def xml(text: str) -> str:
    """Return a text as it stands in an element or an attribute."""
    return escape(lawful(text))

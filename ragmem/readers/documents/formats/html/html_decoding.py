"""The text of a web page, by the encoding that its first bytes tell or that its bytes allow."""

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})|<\?xml[^>]{0,100}?encoding\s*=\s*["']([^"']{2,40})""",
    re.IGNORECASE,
)
_LOOKED_AT = 4_096

# What pages call Latin-1 and ASCII is read as Windows-1252 by browsers (WHATWG Encoding, section 4.2).
_READ_AS = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_NOT_OF_PAGES = re.compile(r"utf[-_]?(16|32)|utf_?7|punycode|idna|unicode_escape|raw_unicode|undefined")


def decode_page(data: bytes) -> str:
    """Return the text of a page: by its byte order mark, by what it declares, as UTF-8, or as Windows-1252.

    What it declares is not believed where its bytes are UTF-8 and not just ASCII. Never raises for any bytes:
    those that stand for nothing become U+FFFD.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(_declared_encoding(data) or "cp1252", "replace")


def _declared_encoding(data: bytes) -> str:
    """Return the name of the codec that a page declares; empty where it declares none that is known."""
    found = _DECLARED.search(data[:_LOOKED_AT])
    if not found:
        return ""
    try:
        name = codecs.lookup((found[1] or found[2]).decode("ascii", "replace")).name
        b"a".decode(name, "replace")  # codecs that are no encodings of text (zip, hex) are not found here
    except LookupError:
        return ""
    name = _READ_AS.get(name, name)
    # A page that is read for its declaration byte by byte is in no encoding of two bytes (section 4.3).
    return "" if _NOT_OF_PAGES.match(name) else name

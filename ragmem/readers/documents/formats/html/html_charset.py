"""Decode a web page by its declared or detected encoding."""

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})|<\?xml[^>]{0,100}?encoding\s*=\s*["']([^"']{2,40})""",
    re.IGNORECASE,
)
_LOOKED_AT = 4_096

# Browsers read Latin-1 and ASCII as Windows-1252 (WHATWG Encoding, section 4.2).
_READ_AS = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_NOT_OF_PAGES = re.compile(r"utf[-_]?(16|32)|utf_?7|punycode|idna|unicode_escape|raw_unicode|undefined")


def decode_page(data: bytes) -> str:
    """Return the text of a page by its byte order mark, as UTF-8, by its declaration, or as Windows-1252.

    A declaration is ignored if the bytes are valid UTF-8. Never raises for any bytes: invalid ones become
    U+FFFD.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(_declared_encoding(data) or "cp1252", "replace")


def decode_text(data: bytes, charset: str) -> str:
    """Return text in a charset that a mail declares, else as a page. Never raises for any bytes."""
    try:
        name = codecs.lookup(charset).name
        return data.decode(_READ_AS.get(name, name)) if name != "ascii" else decode_page(data)
    except (LookupError, ValueError):
        return decode_page(data)


def _declared_encoding(data: bytes) -> str:
    """Return the codec that a page declares; empty for none or an unknown one."""
    found = _DECLARED.search(data[:_LOOKED_AT])
    if not found:
        return ""
    try:
        name = codecs.lookup((found[1] or found[2]).decode("ascii", "replace")).name
        b"a".decode(name, "replace")  # this fails for codecs that are not text encodings (zip, hex)
    except LookupError:
        return ""
    name = _READ_AS.get(name, name)
    # A page whose declaration can be read byte by byte is not in a two-byte encoding (section 4.3).
    return "" if _NOT_OF_PAGES.match(name) else name

"""The texts of an XMP packet: titles, captions, alternative texts, keywords, authors, places and times."""

from typing import Any

from lxml import etree

_NAMES = {
    "title": "title",
    "description": "description",
    "subject": "keywords",
    "creator": "author",
    "rights": "rights",
    "Headline": "headline",
    "AltTextAccessibility": "alt",
    "ExtDescrAccessibility": "description",
    "Location": "place",
    "City": "place",
    "Country": "place",
    "DateTimeOriginal": "taken",
    "DateCreated": "taken",
}


def read_xmp(packet: bytes) -> dict[str, list[str]]:
    """Return the texts of a packet by field, in the first of several languages; empty if it is damaged."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(packet.strip(b"\x00 \r\n\t"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return {}
    result: dict[str, list[str]] = {}
    for element in root.iter("{*}Description"):
        for key, value in element.attrib.items():
            _add(result, str(key), [str(value)])
        for child in element:
            if isinstance(child.tag, str):
                _add(result, child.tag, _values(child))
    return result


def _add(result: dict[str, list[str]], tag: str, values: list[str]) -> None:
    name = _NAMES.get(tag.rpartition("}")[2])
    if name:
        result.setdefault(name, []).extend(value.strip() for value in values if value.strip())


def _values(element: Any) -> list[str]:
    """Return the items of a list, the first of alternatives (languages), or else the text itself."""
    items = [str(item.text or "") for item in element.iter("{*}li")]
    if items and next(element.iter("{*}Alt"), None) is not None:
        return items[:1]
    return items or [str(element.text or "")]

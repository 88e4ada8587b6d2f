"""The metadata of an image file: author, time, place, camera and description."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree
from PIL import IptcImagePlugin

_EXIF, _GPS = 0x8769, 0x8825
_DESCRIPTION, _MAKE, _MODEL, _DATE, _ARTIST, _COPYRIGHT = 0x010E, 0x010F, 0x0110, 0x0132, 0x013B, 0x8298
_TAKEN, _TAKEN_OFFSET, _USER_COMMENT, _LENS = 0x9003, 0x9011, 0x9286, 0xA434
_XP = {0x9C9B: "title", 0x9C9C: "description", 0x9C9D: "author", 0x9C9E: "keywords", 0x9C9F: "subject"}
_IPTC = {
    (2, 5): "title",
    (2, 25): "keywords",
    (2, 80): "author",
    (2, 90): "place",
    (2, 101): "place",
    (2, 105): "headline",
    (2, 116): "rights",
    (2, 120): "description",
}
_CHUNKS = {
    "title": "title",
    "description": "description",
    "comment": "description",
    "author": "author",
    "copyright": "rights",
}
_MOMENT = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d+)?\s*(Z|[-+]\d\d:?\d\d)?")


@dataclass(slots=True)
class Facts:
    """Texts by field ("title", "description", "alt"...), without duplicates; `taken` is RFC 3339."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    taken: str = ""
    camera: str = ""
    position: str = ""

    def add(self, name: str, value: object) -> None:
        """Add a text, unless it is empty or a duplicate."""
        text = " ".join(_text(value).split())
        known = self.texts.setdefault(name, [])
        if text and all(text.casefold() != one.casefold() for one in known):
            known.append(text)

    def first(self, *names: str) -> str:
        """Return the first text in these fields; empty without one."""
        return next((text for name in names for text in self.texts.get(name, [])), "")


def facts_of(image: Any) -> Facts:
    """Return the metadata of an open image (Pillow's) without damaged parts."""
    facts = Facts()
    _add_xmp(facts, image)
    _add_iptc(facts, image)
    _add_exif(facts, image)
    for name, value in image.info.items():
        known = _CHUNKS.get(str(name).lower())
        if known and isinstance(value, str | bytes):
            facts.add(known, value)
        elif str(name).lower() == "creation time" and not facts.taken:
            facts.taken = moment(_text(value))
    return facts


def _add_xmp(facts: Facts, image: Any) -> None:
    packet = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp")
    if packet is None and hasattr(image, "tag_v2"):
        packet = image.tag_v2.get(700)
    if not packet:
        return
    for name, values in _read_xmp(packet.encode() if isinstance(packet, str) else bytes(packet)).items():
        for value in values:
            if name == "taken":
                facts.taken = facts.taken or moment(value)
            else:
                facts.add(name, value)


def _add_iptc(facts: Facts, image: Any) -> None:
    try:
        found = IptcImagePlugin.getiptcinfo(image) or {}
    except (SyntaxError, ValueError, KeyError, OSError):
        return
    for tag, value in found.items():
        if name := _IPTC.get(tag):
            for each in value if isinstance(value, list) else [value]:
                facts.add(name, each)


def _add_exif(facts: Facts, image: Any) -> None:
    try:
        exif = image.getexif()
        more, gps = exif.get_ifd(_EXIF), exif.get_ifd(_GPS)
    except (SyntaxError, ValueError, KeyError, OSError, TypeError):
        return
    facts.add("description", exif.get(_DESCRIPTION))
    facts.add("author", exif.get(_ARTIST))
    facts.add("rights", exif.get(_COPYRIGHT))
    facts.add("description", _user_comment(more.get(_USER_COMMENT)))
    for tag, name in _XP.items():
        value = exif.get(tag)
        facts.add(name, bytes(value).decode("utf-16-le", "replace").strip("\x00") if value else "")
    make, model = (" ".join(_text(exif.get(tag)).split()) for tag in (_MAKE, _MODEL))
    lens = " ".join(_text(more.get(_LENS)).split())
    # Most makers repeat their name in the model.
    named = model if model.casefold().startswith(make.casefold()) else f"{make} {model}".strip()
    facts.camera = ", ".join(filter(None, [named, lens]))
    taken = moment(_text(more.get(_TAKEN)), _text(more.get(_TAKEN_OFFSET)))
    facts.taken = taken or facts.taken or moment(_text(exif.get(_DATE)))
    facts.position = position(gps)


def moment(text: str, offset: str = "") -> str:
    """Return a time as RFC 3339, in UTC by default; empty for any other text."""
    found = _MOMENT.match(text.strip())
    if found is None or found.group(1) == "0000":
        return ""
    year, month, day, hour, minute, second, zone = found.groups()
    zone = zone or (offset.strip() if re.fullmatch(r"[-+]\d\d:\d\d", offset.strip()) else "Z")
    zone = zone if zone == "Z" or ":" in zone else f"{zone[:3]}:{zone[3:]}"
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone}"


def position(gps: Mapping[int, Any]) -> str:
    """Return a position as decimal degrees and in minutes and seconds; empty if it is missing."""
    try:
        latitude, longitude = _degrees(gps[2]), _degrees(gps[4])
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError):
        return ""
    south, west = _text(gps.get(1)).strip().upper(), _text(gps.get(3)).strip().upper()
    if not (0 <= latitude <= 90 and 0 <= longitude <= 180):
        return ""
    decimals = (
        f"{-latitude if south == 'S' else latitude:.6f}, {-longitude if west == 'W' else longitude:.6f}"
    )
    return f"{decimals} ({_sexagesimal(latitude)} {south or 'N'}, {_sexagesimal(longitude)} {west or 'E'})"


def _degrees(parts: Any) -> float:
    degrees, minutes, seconds = (float(part) for part in parts)
    return degrees + minutes / 60 + seconds / 3600


def _sexagesimal(degrees: float) -> str:
    seconds = round(degrees * 3600, 1)
    return f"{int(seconds // 3600)}°{int(seconds // 60 % 60):02d}'{seconds % 60:04.1f}\""


def _user_comment(value: object) -> str:
    """Return a comment of EXIF, which begins with eight bytes for its encoding."""
    if not isinstance(value, bytes):
        return _text(value)
    letters, rest = value[:8], value[8:]
    if letters.startswith(b"UNICODE"):
        return rest.decode("utf-16", "replace").strip("\x00")
    return rest.decode("utf-8", "replace").strip("\x00") if letters in {b"ASCII\0\0\0", bytes(8)} else ""


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").replace("\x00", " ")
    return "" if value is None else str(value).replace("\x00", " ")


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


def _read_xmp(packet: bytes) -> dict[str, list[str]]:
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

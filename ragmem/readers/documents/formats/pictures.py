"""Select the images of a document that a model can describe, and mark their places in the text."""

import hashlib
import io
import struct
import warnings
from dataclasses import dataclass, field

from ragmem.readers.documents.model import Limits, Picture

_MOST = 200
"""Maximum number of images of one document: each takes a vision model seconds."""

_SMALLEST = 48
"""Minimum pixels of a side: smaller images are bullets, icons and lines."""

_KNOWN = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(slots=True)
class Pictures:
    """The images found so far, without duplicates (a logo on each slide)."""

    limits: Limits
    found: list[Picture] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)
    _count: int = 0

    def describe(self, data: bytes | None, *, alt: str = "") -> str:
        """Return the lines for an image: its alternative text, and a mark if a model can describe it."""
        lines = [f"Image: {alt}"] if (alt := " ".join(alt.split())) else []
        if data and self._count < _MOST and (usable := _usable(data, self.limits)):
            digest = hashlib.sha256(data).digest()
            if digest not in self._seen:
                self._seen.add(digest)
                self._count += 1
                mark = f"[[picture {self._count}]]"
                self.found.append(Picture(mark, *usable))
                lines.append(mark)
        return "\n\n".join(lines)

    def take(self) -> tuple[Picture, ...]:
        """Return the images since the last call, which belong to one part."""
        found, self.found = tuple(self.found), []
        return found


def _usable(data: bytes, limits: Limits) -> tuple[bytes, str] | None:
    """Return bytes and media type as PNG or JPEG; None for an image that is damaged or has a bad size."""
    from PIL import Image, UnidentifiedImageError

    damaged = (OSError, EOFError, ValueError, SyntaxError, IndexError, KeyError, struct.error)
    try:
        # Pillow warns of damage and size, which are checked here.
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data)) as image:
            if min(image.size) < _SMALLEST or image.width * image.height > limits.pixels:
                return None
            for magic, media_type in _KNOWN.items():
                if data.startswith(magic):
                    return data, media_type
            if image.format in {"WMF", "EMF", "EPS"}:
                # Rendering these would run external programs.
                return None
            packed = io.BytesIO()
            image.convert("RGB").save(packed, "PNG")
            return packed.getvalue(), "image/png"
    except (UnidentifiedImageError, Image.DecompressionBombError, *damaged):
        # A damaged picture does not affect the text around it.
        return None

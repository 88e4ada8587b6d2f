"""Images: their metadata, the text in them, and the image itself."""

import importlib
import io
from pathlib import PurePath
from typing import Any

from ragmem.readers.documents.formats.pdf.pdf_scans import plain_text
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture, RefusedError
from ragmem.readers.documents.ocr import Ocr
from ragmem.readers.documents.picture.facts import Facts, facts_of

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP")
_PHOTOGRAPHS = ("JPEG", "MPO")
_PLUGINS = ("Png", "Jpeg", "Gif", "WebP", "Tiff", "Bmp")
_LARGEST_SIDE = 1_568  # pixels; vision models scale larger pictures down
_LARGEST_BYTES = 3_000_000
_TOLD = {"author": "By", "place": "Place", "keywords": "Keywords", "rights": "Rights"}


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return the image at `path` in one part, or one part per page of a TIFF.

    Only the first frame of an animated image is read. The size is checked before decoding. Raises
    RefusedError for an image with more pixels than the limits allow, and for a damaged one; OSError.
    """
    from PIL import Image, UnidentifiedImageError

    # Each plugin registers its format; by default Pillow loads fifty more.
    for plugin in _PLUGINS:
        importlib.import_module(f"PIL.{plugin}ImagePlugin")
    # Pillow's limit is only a warning at first; ours is checked before decoding.
    Image.MAX_IMAGE_PIXELS = None
    name = PurePath(path).name
    try:
        with Image.open(path, formats=_FORMATS) as image:
            _refuse_size(image, limits)
            kind = "JPEG" if image.format == "MPO" else str(image.format)
            told = f"{kind}, {image.width} x {image.height} pixels"
            facts = facts_of(image)
            pages = image.n_frames if image.format == "TIFF" else 1
            seen, warnings = _pages(image, min(pages, limits.pages), limits)
    except UnidentifiedImageError as error:
        raise RefusedError("the file is damaged or cut short") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise RefusedError("the file is damaged or cut short") from error
    if pages > limits.pages:
        warnings.append(f"only the first {limits.pages:,} of {pages:,} pages are read")
    title = facts.first("title", "headline")
    parts = []
    for number, (picture, text) in enumerate(seen, 1):
        place = (f"page={number}", f"page {number}") if pages > 1 else ("", "")
        found = f"Text in the picture:\n\n{text}" if text else ""
        about = _about(name, title, facts, told, picture.mark) if number == 1 else ""
        if number == 1 and (found or _says_something(facts)):
            parts.append(Part("\n\n".join(filter(None, [about, found])), *place, pictures=(picture,)))
        elif found or limits.described:
            # Its name alone is no memory, its description is.
            parts.append(Part("\n\n".join(filter(None, [picture.mark, found])), *place, pictures=(picture,)))
    metadata = {"author": facts.first("author"), "camera": facts.camera, "position": facts.position}
    return ConvertedDocument(
        tuple(parts),
        title=title or name,
        event_time=facts.taken,
        metadata={key: value for key, value in metadata.items() if value},
        warnings=tuple(warnings),
        unread=_unread(pages, [text for _, text in seen]) if pages > 1 else (),
        unseen=sum(not text for _, text in seen) if not limits.described and not _is_described(facts) else 0,
    )


def _unread(pages: int, texts: list[str]) -> tuple[str, ...]:
    """Return the locators of pages without text: an earlier run may have had an engine, or more time."""
    return tuple(
        f"page={number}" for number in range(1, pages + 1) if number > len(texts) or not texts[number - 1]
    )


def _refuse_size(image: Any, limits: Limits) -> None:
    pixels = image.width * image.height
    if pixels > limits.pixels:
        size, most = pixels / 1e6, limits.pixels / 1e6
        raise RefusedError(
            f"it has {size:,.0f} million pixels, more than {most:,.0f}", hint="save a smaller copy"
        )


def _pages(image: Any, count: int, limits: Limits) -> tuple[list[tuple[Picture, str]], list[str]]:
    """Return each page as a picture with its text, and a warning if the time for OCR ran out."""
    ocr = Ocr(limits)
    found = []
    for number in range(count):
        image.seek(number)
        _refuse_size(image, limits)
        shown = upright(image)
        text = plain_text(ocr.read(shown))
        mark, is_photograph = f"[[picture {number + 1}]]", image.format in _PHOTOGRAPHS
        found.append((_make_picture(shown, mark, is_photograph=is_photograph), text))
    return found, ocr.warnings()


def upright(image: Any) -> Any:
    """Return the image upright, with white in place of transparency."""
    from PIL import Image, ImageOps

    turned = ImageOps.exif_transpose(image)
    if turned.mode in {"P", "LA", "PA", "RGBA"}:
        # Text on a transparent background is usually black.
        turned = turned.convert("RGBA")
        turned = Image.alpha_composite(Image.new("RGBA", turned.size, "white"), turned)
    return turned if turned.mode in {"RGB", "L"} else turned.convert("RGB")


def _make_picture(image: Any, mark: str, *, is_photograph: bool) -> Picture:
    """Return the image as PNG or JPEG, scaled down to the size that models use."""
    image.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
    if not is_photograph and len(packed := _pack(image)) <= _LARGEST_BYTES:
        return Picture(mark, packed, "image/png")
    small = io.BytesIO()
    image.save(small, "JPEG", quality=85)
    return Picture(mark, small.getvalue(), "image/jpeg")


def _pack(image: Any) -> bytes:
    packed = io.BytesIO()
    # It is not stored, so it need not be small.
    image.save(packed, "PNG", compress_level=1)
    return packed.getvalue()


def _is_described(facts: Facts) -> bool:
    return bool(facts.first("title", "headline", "description", "alt", "keywords", "subject"))


def _says_something(facts: Facts) -> bool:
    """Return whether the metadata says more of an image than its name and size."""
    return _is_described(facts) or any((facts.first(*_TOLD), facts.taken, facts.camera, facts.position))


def _about(name: str, title: str, facts: Facts, size: str, mark: str) -> str:
    """Return the metadata in words: the description first, then author, time, place and camera."""
    described = [
        *([f"Alternative text: {text}" for text in facts.texts.get("alt", [])]),
        *facts.texts.get("headline", []),
        *facts.texts.get("description", []),
        *facts.texts.get("subject", []),
    ]
    lines = [f"{told}: {', '.join(facts.texts[key])}" for key, told in _TOLD.items() if facts.texts.get(key)]
    lines += [f"Taken: {facts.taken.replace('T', ' ').removesuffix('Z')}"] if facts.taken else []
    lines += [f"Camera: {facts.camera}"] if facts.camera else []
    lines += [f"Position: {facts.position}"] if facts.position else []
    blocks = [
        f"# {title or name}",
        *dict.fromkeys(text for text in described if text != title),
        mark,
        "\n".join([*lines, f"File: {name} ({size})"]),
    ]
    return "\n\n".join(blocks)

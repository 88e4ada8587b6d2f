"""Images: their metadata, the text in them if tesseract is installed, and the image itself."""

import importlib
import io
import time
from pathlib import PurePath
from typing import Any

from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture, RefusedError
from ragmem.readers.documents.ocr import SECONDS, is_installed, ocr
from ragmem.readers.documents.picture.facts import Facts, facts_of

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP")
_PHOTOGRAPHS = ("JPEG", "MPO")
_PLUGINS = ("Png", "Jpeg", "Gif", "WebP", "Tiff", "Bmp")
_LARGEST_SIDE = 1_568  # pixels; vision models scale larger pictures down
_LARGEST_BYTES = 3_000_000
_OCR_SECONDS = 40.0  # for all pages: by default a document has a minute
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
    if not (limits.described or _has_description(facts) or any(text for _, text in seen)):
        warnings.append(_unknown(limits))
    parts = []
    for number, (picture, text) in enumerate(seen, 1):
        place = (f"page={number}", f"page {number}") if pages > 1 else ("", "")
        about = _about(name, title, facts, told, picture.mark) if number == 1 else picture.mark
        found = f"Text in the picture:\n\n{text}" if text else ""
        parts.append(Part("\n\n".join(filter(None, [about, found])), *place, pictures=(picture,)))
    metadata = {"author": facts.first("author"), "camera": facts.camera, "position": facts.position}
    return ConvertedDocument(
        tuple(parts),
        title=title or name,
        event_time=facts.taken,
        metadata={key: value for key, value in metadata.items() if value},
        warnings=tuple(warnings),
        unread=_unread(pages, [text for _, text in seen]) if pages > 1 else (),
    )


def _unread(pages: int, texts: list[str]) -> tuple[str, ...]:
    """Return the locators of pages without text: an earlier run may have had tesseract, or more time."""
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
    reads = limits.ocr and is_installed()
    until = time.monotonic() + _OCR_SECONDS
    found = []
    unread = 0
    for number in range(count):
        image.seek(number)
        _refuse_size(image, limits)
        upright = _upright(image)
        left = until - time.monotonic()
        text = ""
        if reads and left > 0:
            text = ocr(_pack(upright.convert("L")), limits, seconds=min(SECONDS, left))
        unread += reads and left <= 0
        mark, is_photograph = f"[[picture {number + 1}]]", image.format in _PHOTOGRAPHS
        found.append((_make_picture(upright, mark, is_photograph=is_photograph), text))
    warnings = [f"the last {unread:,} of {count:,} pages are not read: it takes too long"] if unread else []
    return found, warnings


def _upright(image: Any) -> Any:
    """Return the image upright, with white in place of transparency."""
    from PIL import Image, ImageOps

    upright = ImageOps.exif_transpose(image)
    if upright.mode in {"P", "LA", "PA", "RGBA"}:
        # Text on a transparent background is usually black.
        upright = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
    return upright if upright.mode in {"RGB", "L"} else upright.convert("RGB")


def _make_picture(upright: Any, mark: str, *, is_photograph: bool) -> Picture:
    """Return the image as PNG or JPEG, scaled down to the size that models use."""
    upright.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
    if not is_photograph and len(packed := _pack(upright)) <= _LARGEST_BYTES:
        return Picture(mark, packed, "image/png")
    small = io.BytesIO()
    upright.save(small, "JPEG", quality=85)
    return Picture(mark, small.getvalue(), "image/jpeg")


def _pack(image: Any) -> bytes:
    packed = io.BytesIO()
    # It is not stored, so it need not be small.
    image.save(packed, "PNG", compress_level=1)
    return packed.getvalue()


def _has_description(facts: Facts) -> bool:
    return bool(facts.first("title", "headline", "description", "alt", "keywords", "subject"))


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


def _unknown(limits: Limits) -> str:
    """Return the warning that the content of an image is unknown."""
    problem = "nothing tells what it shows: it has no description"
    if not limits.ocr:
        return f"{problem}, and reading its text is turned off"
    return (
        f"{problem}, and no text was found in it"
        if is_installed()
        else f"{problem}, and tesseract is not installed"
    )

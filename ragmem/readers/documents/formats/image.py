"""Images: what their file says of them, the text in them where tesseract is there, and the image itself."""

import importlib
import io
from pathlib import PurePath
from typing import Any

from ragmem.readers.documents.model import Converted, Limits, Part, Picture, RefusedError
from ragmem.readers.documents.ocr import is_installed, ocr
from ragmem.readers.documents.picture.facts import Facts, facts_of

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP")
_PLUGINS = ("Png", "Jpeg", "Gif", "WebP", "Tiff", "Bmp")
_LARGEST_SIDE = 1_568  # pixels; models that see make larger pictures smaller themselves
_LARGEST_BYTES = 3_000_000
_MARK = "[[picture 1]]"
_TOLD = {"author": "By", "place": "Place", "keywords": "Keywords", "rights": "Rights"}


def read(path: str, limits: Limits) -> Converted:
    """Return what is known of the image at `path`; of an animated one the first frame is looked at.

    The size is told before anything is decoded. Raises RefusedError for one of more pixels than the limits
    allow, and for one that is damaged; OSError.
    """
    from PIL import Image, UnidentifiedImageError

    # Each registers its format; Pillow would load those of fifty others as well.
    for plugin in _PLUGINS:
        importlib.import_module(f"PIL.{plugin}ImagePlugin")
    # Pillow's own limit is a warning first; ours is looked at before a pixel is.
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(path, formats=_FORMATS) as image:
            width, height = image.size
            if width * height > limits.pixels:
                size, most = width * height / 1e6, limits.pixels / 1e6
                raise RefusedError(
                    f"it has {size:,.0f} million pixels, more than {most:,.0f}",
                    hint="save a smaller copy",
                )
            kind = "JPEG" if image.format == "MPO" else str(image.format)
            facts = facts_of(image)
            shown = _shown(image)
    except UnidentifiedImageError as error:
        raise RefusedError("the file is damaged or cut short") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise RefusedError("the file is damaged or cut short") from error
    read_text = ocr(shown.data, limits)
    name = PurePath(path).name
    title = facts.first("title", "headline")
    text = _text(name, title, facts, f"{kind}, {width} x {height} pixels", read_text)
    is_known = bool(read_text) or limits.described or _is_told(facts)
    warnings = [] if is_known else [_unknown(limits)]
    return Converted(
        (Part(text, pictures=(shown,)),),
        title=title or name,
        event_time=facts.taken,
        metadata={
            name: value
            for name, value in (
                ("author", facts.first("author")),
                ("camera", facts.camera),
                ("position", facts.position),
            )
            if value
        },
        warnings=tuple(warnings),
    )


def _shown(image: Any) -> Picture:
    """Return the image upright and no larger than models look at, as PNG or JPEG."""
    from PIL import Image, ImageOps

    image.seek(0)
    upright = ImageOps.exif_transpose(image)
    if upright.mode in {"P", "LA", "PA", "RGBA"}:
        # What is transparent is white: text in it is black more often than not.
        upright = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
    if upright.mode not in {"RGB", "L"}:
        upright = upright.convert("RGB")
    upright.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
    packed = io.BytesIO()
    if image.format not in {"JPEG", "MPO"}:
        upright.save(packed, "PNG")
        if len(packed.getvalue()) <= _LARGEST_BYTES:
            return Picture(_MARK, packed.getvalue(), "image/png")
        packed = io.BytesIO()
    upright.save(packed, "JPEG", quality=85)
    return Picture(_MARK, packed.getvalue(), "image/jpeg")


def _is_told(facts: Facts) -> bool:
    return bool(facts.first("title", "headline", "description", "alt", "keywords", "subject"))


def _text(name: str, title: str, facts: Facts, size: str, read_text: str) -> str:
    """Return what is known in words: what it shows first, then who, when, where and with what."""
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
        _MARK,
        "\n".join([*lines, f"File: {name} ({size})"]),
    ]
    if read_text:
        blocks.append(f"Text in the picture:\n\n{read_text}")
    return "\n\n".join(blocks)


def _unknown(limits: Limits) -> str:
    """Return the warning that nothing tells what an image shows."""
    problem = "nothing tells what it shows: it has no description"
    if not limits.ocr:
        return f"{problem}, and reading its text is turned off"
    return (
        f"{problem}, and no text was found in it"
        if is_installed()
        else f"{problem}, and tesseract is not installed"
    )

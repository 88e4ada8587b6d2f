"""Images: what EXIF, XMP, IPTC and text chunks say, the text in them, and limits before decoding."""

import io
import struct
import zlib

import pytest
from PIL import Image, ImageDraw, ImageFont, PngImagePlugin
from samples_scans import LEASE, font, sheet

from ragmem.readers.documents.formats import image as image_format
from ragmem.readers.documents.model import Limits, RefusedError
from ragmem.readers.documents.ocr import Ocr, engine_name

read = image_format.read

XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmlns:Iptc4xmpCore="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/" photoshop:City="Bergen">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Propeller day</rdf:li>
<rdf:li xml:lang="de">Tag</rdf:li></rdf:Alt></dc:title>
<dc:subject><rdf:Bag><rdf:li>crane</rdf:li><rdf:li>pier</rdf:li></rdf:Bag></dc:subject>
<Iptc4xmpCore:AltTextAccessibility><rdf:Alt><rdf:li>A yellow crane lifts a propeller.</rdf:li></rdf:Alt>
</Iptc4xmpCore:AltTextAccessibility></rdf:Description></rdf:RDF></x:xmpmeta>"""


def _picture(size=(320, 200), color="navy"):
    return Image.new("RGB", size, color)


def _exif():
    exif = Image.Exif()
    exif[0x010E] = "The crane at pier 4"
    exif[0x010F], exif[0x0110], exif[0x013B] = "Nikon", "Nikon D7500", "Mara Olsen"
    exif[0x9C9C] = "Lifted at noon".encode("utf-16-le")
    exif.get_ifd(0x8769).update({0x9003: "2031:05:06 07:08:09", 0x9011: "+02:00"})
    exif.get_ifd(0x8825).update({1: "S", 2: (48.0, 51.0, 30.12), 3: "E", 4: (2.0, 17.0, 40.0)})
    return exif


def _without_ocr(path, **limits):
    return read(str(path), Limits(ocr=False, **limits))


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_exif_says_who_when_where_and_of_what(tmp_path, suffix):
    path = tmp_path / f"crane.{suffix}"
    _picture().save(path, exif=_exif())

    document = _without_ocr(path)

    text = document.parts[0].text
    assert "The crane at pier 4" in text
    assert "Lifted at noon" in text
    assert "By: Mara Olsen" in text
    assert "Camera: Nikon D7500" in text
    assert "Position: -48.858367, 2.294444 (48°51'30.1\" S, 2°17'40.0\" E)" in text
    assert document.event_time == "2031-05-06T07:08:09+02:00"
    assert document.warnings == ()


def test_xmp_says_title_alternative_text_keywords_and_place(tmp_path):
    path = tmp_path / "crane.jpg"
    _picture().save(path, xmp=XMP.encode())

    document = _without_ocr(path)

    assert document.title == "Propeller day"
    text = document.parts[0].text
    assert text.startswith("# Propeller day\n\nAlternative text: A yellow crane lifts a propeller.")
    assert "Keywords: crane, pier" in text
    assert "Place: Bergen" in text


def test_xmp_and_text_chunks_of_png_are_read(tmp_path):
    chunks = PngImagePlugin.PngInfo()
    chunks.add_itxt("XML:com.adobe.xmp", XMP)
    chunks.add_text("Description", "Drawn from the ferry")
    chunks.add_itxt("Creation Time", "2031-05-06T07:08:09")
    path = tmp_path / "crane.png"
    _picture().save(path, pnginfo=chunks)

    document = _without_ocr(path)

    assert "Drawn from the ferry" in document.parts[0].text
    assert "A yellow crane" in document.parts[0].text
    assert document.event_time == "2031-05-06T07:08:09Z"


def test_a_caption_of_iptc_is_read(tmp_path):
    caption = b"Oslo harbour from the tower"
    record = b"\x1c\x02\x78" + struct.pack(">H", len(caption)) + caption
    resource = b"8BIM\x04\x04\x00\x00" + struct.pack(">I", len(record)) + record + b"\0" * (len(record) % 2)
    block = b"Photoshop 3.0\x00" + resource
    packed = io.BytesIO()
    _picture().save(packed, "JPEG")
    jpeg = packed.getvalue()
    path = tmp_path / "harbour.jpg"
    path.write_bytes(jpeg[:2] + b"\xff\xed" + struct.pack(">H", len(block) + 2) + block + jpeg[2:])

    assert "Oslo harbour from the tower" in _without_ocr(path).parts[0].text


def test_an_image_that_says_nothing_but_its_name_is_no_part(tmp_path):
    path = tmp_path / "harbour crane.bmp"
    _picture().save(path)

    assert _without_ocr(path).parts == ()
    assert _without_ocr(path).unseen == 1
    (part,) = _without_ocr(path, described=True).parts
    assert part.text == part.pictures[0].mark


def test_an_image_with_nothing_but_a_date_is_kept_and_counted_as_unread(tmp_path):
    exif = Image.Exif()
    exif.get_ifd(0x8769).update({0x9003: "2031:05:06 07:08:09"})
    _picture().save(tmp_path / "a.jpg", exif=exif)

    document = _without_ocr(tmp_path / "a.jpg")

    assert "Taken: 2031-05-06 07:08:09" in document.parts[0].text
    assert document.unseen == 1


@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [("jpg", "image/jpeg"), ("png", "image/png"), ("gif", "image/png"), ("tif", "image/png")],
)
def test_the_image_is_handed_on_upright_and_small(tmp_path, suffix, media_type):
    path = tmp_path / f"large.{suffix}"
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    _picture((1_800, 1_200)).save(path, **({"exif": exif} if suffix in {"jpg", "png"} else {}))

    (picture,) = _without_ocr(path, described=True).parts[0].pictures

    assert picture.media_type == media_type
    with Image.open(io.BytesIO(picture.data)) as shown:
        assert max(shown.size) == 1_568
        assert (shown.height > shown.width) == (suffix in {"jpg", "png"})


def test_of_an_animated_image_the_first_frame_is_looked_at(tmp_path):
    path = tmp_path / "moving.gif"
    _picture(color="red").save(path, save_all=True, append_images=[_picture(color="blue")], duration=100)

    (picture,) = _without_ocr(path, described=True).parts[0].pictures

    with Image.open(io.BytesIO(picture.data)) as shown:
        red, _, blue = shown.convert("RGB").getpixel((5, 5))
    assert red > blue


def test_too_many_pixels_are_refused_before_they_are_decoded(tmp_path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1_000))
    path = tmp_path / "bomb.png"
    path.write_bytes(bomb + chunk(b"IEND", b""))

    with pytest.raises(RefusedError, match="3,600 million pixels, more than 60"):
        _without_ocr(path)


@pytest.mark.parametrize("suffix", ["jpg", "png", "gif", "webp", "bmp"])
def test_an_image_that_was_cut_short_is_refused(tmp_path, suffix):
    whole = tmp_path / f"whole.{suffix}"
    Image.effect_noise((400, 300), 80).convert("RGB").save(whole)
    path = tmp_path / f"cut.{suffix}"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])

    with pytest.raises(RefusedError, match="damaged or cut short"):
        _without_ocr(path)


def test_text_in_a_picture_is_read(tmp_path):
    picture = Image.new("RGB", (900, 160), "white")
    ImageDraw.Draw(picture).text((20, 40), "The ferry leaves at noon", "black", ImageFont.load_default(64))
    path = tmp_path / "sign.png"
    picture.save(path)

    assert "Text in the picture:\n\nThe ferry leaves at noon" in read(str(path), Limits()).parts[0].text
    assert _without_ocr(path).parts == ()


def test_small_print_on_a_large_scan_is_read(tmp_path):
    scan = Image.new("L", (2_480, 3_508), 255)
    ImageDraw.Draw(scan).text(
        (300, 1_700), "Clause 14: the lessee oils the hinges", 0, ImageFont.load_default(30)
    )
    path = tmp_path / "lease.png"
    scan.save(path)

    assert "the lessee oils the hinges" in read(str(path), Limits()).parts[0].text


@pytest.mark.parametrize("script", ["Договор аренды лодочного сарая", "עקד השכירות של בית הסירות"])
def test_a_script_that_the_models_do_not_know_gives_no_text(tmp_path, script):
    picture = Image.new("RGB", (900, 160), "white")
    ImageDraw.Draw(picture).text((20, 40), script, "black", font("DejaVuSans", 40))
    picture.save(tmp_path / "sign.png")

    assert read(str(tmp_path / "sign.png"), Limits()).unseen == 1


def test_text_beyond_the_time_of_a_document_is_left_out_with_a_warning(tmp_path):
    path = tmp_path / "scan.tif"
    pages = [sheet(LEASE, size=(900, 400)) for _ in range(3)]
    pages[0].save(path, save_all=True, append_images=pages[1:])

    document = read(str(path), Limits(ocr_seconds=0.001))

    assert document.warnings == (
        "3 pictures or scanned pages are not read to the end: raise ocr_seconds in [documents]",
    )
    assert document.unread == ("page=1", "page=2", "page=3")


def test_each_page_of_a_scan_is_a_part(tmp_path):
    path = tmp_path / "scan.tif"
    pages = [_picture(color=color) for color in ("red", "green", "blue")]
    pages[0].save(path, save_all=True, append_images=pages[1:])

    document = _without_ocr(path, described=True)
    assert [(part.locator, part.label) for part in document.parts] == [
        ("page=1", "page 1"),
        ("page=2", "page 2"),
        ("page=3", "page 3"),
    ]
    with Image.open(io.BytesIO(document.parts[2].pictures[0].data)) as last:
        assert last.getpixel((5, 5)) == (0, 0, 255)

    assert document.unread == ("page=1", "page=2", "page=3")
    assert len(_without_ocr(path, pages=2, described=True).parts) == 2
    assert "only the first 2 of 3 pages are read" in _without_ocr(path, pages=2).warnings


def _program(folder, monkeypatch, text):
    script = folder / "tesseract"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def _asked(languages="eng", seconds=20.0):
    return Ocr(Limits(ocr_languages=languages, ocr_seconds=seconds)).read(_picture()).text


def test_tesseract_is_asked_where_languages_are_configured(tmp_path, monkeypatch):
    _program(tmp_path, monkeypatch, 'cat >/dev/null; echo "asked: $*"')

    assert _asked("eng+deu") == "asked: stdin stdout -l eng+deu"
    assert _asked("--oem 1; rm") == "asked: stdin stdout"
    assert engine_name("eng") == "tesseract"
    assert engine_name() == "rapidocr"


@pytest.mark.parametrize("script", ["sleep 5", "echo half; exit 1"])
def test_a_tesseract_that_hangs_or_fails_gives_no_text(tmp_path, monkeypatch, script):
    _program(tmp_path, monkeypatch, script)

    assert _asked(seconds=0.3) == ""


def test_specks_are_no_text(tmp_path, monkeypatch):
    _program(tmp_path, monkeypatch, "cat >/dev/null; printf '|\\n_ .\\n\\n\\n\\nQuay 4\\n~\\n\\f'")

    assert _asked() == "Quay 4"

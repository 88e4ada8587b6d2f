"""Files that mean harm, or were harmed: each is written here, small on disk and large in what it asks for."""

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/{part}" ContentType="{kind}"/></Types>'
)
RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
    'officeDocument" Target="{part}"/></Relationships>'
)
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
MACRO_WORD = "application/vnd.ms-word.document.macroEnabled.main+xml"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ZEROS = b"\0" * (1 << 20)


def zip_of(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def word_file(path: Path, document: str, *, kind: str = WORD, more: dict[str, bytes] | None = None) -> None:
    part = "word/document.xml"
    zip_of(
        path,
        {
            "[Content_Types].xml": CONTENT_TYPES.format(part=part, kind=kind).encode(),
            "_rels/.rels": RELATIONS.format(part=part).encode(),
            part: document.encode(),
            **(more or {}),
        },
    )


def bomb(path: Path, member: str) -> None:
    """A megabyte that unpacks to three hundred, and more than is allowed."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(member, "w") as stream,
    ):
        for _ in range(300):
            stream.write(ZEROS)


def lying_bomb(path: Path) -> None:
    """The same, in an archive whose directory claims that it unpacks to 1,000 bytes."""
    bomb(path, "word/document.xml")
    raw = bytearray(path.read_bytes())
    entry = raw.rindex(b"PK\x01\x02")
    raw[entry + 24 : entry + 28] = struct.pack("<I", 1_000)
    path.write_bytes(raw)


def nested(path: Path) -> None:
    """An archive within an archive, thirty times, each of which holds the next one twice."""
    inner = b"end"
    for _ in range(30):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.zip", inner)
            archive.writestr("b.zip", inner[:1_000])
        inner = stream.getvalue()
    path.write_bytes(inner)


def entity_bomb(path: Path) -> None:
    """Nine entities, each ten times the one before: a gigabyte of "ha"."""
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    word_file(
        path,
        f'<?xml version="1.0"?><!DOCTYPE d [{entities}]><w:document {W}><w:body><w:p><w:r><w:t>'
        "Before &a9; after</w:t></w:r></w:p></w:body></w:document>",
    )


def external_entity(path: Path, target: str) -> None:
    word_file(
        path,
        f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "{target}">]><w:document {W}><w:body><w:p><w:r>'
        "<w:t>Before &x; after</w:t></w:r></w:p></w:body></w:document>",
    )


def deep(path: Path) -> None:
    """A hundred thousand elements, each within the one before."""
    word_file(
        path,
        f'<?xml version="1.0"?><w:document {W}><w:body>{"<w:sdt>" * 100_000}{"</w:sdt>" * 100_000}</w:body>'
        "</w:document>",
    )


def macros(path: Path) -> None:
    word_file(
        path,
        f'<?xml version="1.0"?><w:document {W}><w:body><w:p><w:r><w:t>The minutes of May say that the lease'
        " of the quay was signed.</w:t></w:r></w:p></w:body></w:document>",
        kind=MACRO_WORD,
        more={"word/vbaProject.bin": b"\xd0\xcf\x11\xe0 AutoOpen Shell"},
    )


def traversal(path: Path) -> None:
    """An EPUB whose chapter would be written outside of the folder that it is unpacked to."""
    zip_of(
        path,
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": b"<container/>",
            "../../../../tmp/ragmem-was-here.xhtml": b"<html><body>outside</body></html>",
        },
    )


def old_office(path: Path) -> None:
    """What Excel writes with a password: a container of 1997 with one encrypted stream."""
    name = "EncryptedPackage".encode("utf-16-le")
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1_016) + name + bytes(4_000))


def huge_picture(path: Path) -> None:
    """A PNG of some hundred bytes that claims to be 60,000 pixels wide and high."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1_000))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def wide_sheet(path: Path) -> None:
    """A sheet that declares a million columns by as many rows, and has one cell at the far corner."""
    part, kind = (
        "xl/workbook.xml",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    zip_of(
        path,
        {
            "[Content_Types].xml": CONTENT_TYPES.format(part=part, kind=kind).encode(),
            "_rels/.rels": RELATIONS.format(part=part).encode(),
            part: (
                f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets><sheet name="Wide" sheetId="1"'
                ' r:id="rId1"/></sheets></workbook>'
            ).encode(),
            "xl/_rels/workbook.xml.rels": (
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
                f'<Relationship Id="rId1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/>'
                "</Relationships>"
            ).encode(),
            "xl/worksheets/sheet1.xml": (
                f'<worksheet xmlns="{main}"><dimension ref="A1:XFD1048576"/><sheetData>'
                '<row r="1"><c r="A1" t="inlineStr"><is><t>name</t></is></c></row>'
                '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far away</t></is></c></row>'
                "</sheetData></worksheet>"
            ).encode(),
        },
    )


def pdf_of(objects: list[bytes]) -> bytes:
    """Return a PDF of these objects, numbered from 1; the first is the catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def endless_pdf(path: Path) -> None:
    """A tree of pages that is its own child, and content that draws itself."""
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R"
        b" /Resources << /XObject << /Fm0 5 0 R >> >> >>"
    )
    content = b"<< /Length 11 >>\nstream\n/Fm0 Do q Q\nendstream"
    form = (
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /Fm0 5 0 R >> >>"
        b" /Length 7 >>\nstream\n/Fm0 Do\nendstream"
    )
    path.write_bytes(
        pdf_of(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 1000000 >>",
                page,
                content,
                form,
            ]
        )
    )


def many_pages(path: Path, pages: int = 10_000) -> None:
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for number in range(1, pages + 1):
        text = f"BT /F1 12 Tf 72 700 Td (The log of day {number} tells of calm water.) Tj ET".encode()
        first = len(objects) + 1
        kids.append(f"{first} 0 R")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {first + 1} 0 R"
            " /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
            " >>".encode()
        )
        objects.append(f"<< /Length {len(text)} >>\nstream\n".encode() + text + b"\nendstream")
    objects[1] = f"<< /Type /Pages /Count {pages} /Kids [{' '.join(kids)}] >>".encode()
    path.write_bytes(pdf_of(objects))


def encrypted_pdf(path: Path, *, user: str) -> None:
    from reportlab.lib import pdfencrypt
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), encrypt=pdfencrypt.StandardEncryption(user, ownerPassword="owner", canPrint=0))
    canvas.drawString(72, 700, "The rent of the quay is paid in March.")
    canvas.save()


def good_pdf(path: Path, text: str = "The lantern of the lighthouse was renewed in 2024.") -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), invariant=1)
    canvas.drawString(72, 700, text)
    canvas.save()


def cut_in_half(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])


def pipe(path: Path) -> None:
    os.mkfifo(path)

"""Small OpenDocument files, written by hand."""

import zipfile
from pathlib import Path

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
NAMES = " ".join(
    f'xmlns:{prefix}="{address}"'
    for prefix, address in {
        "office": f"{_OASIS}:office:1.0",
        "text": f"{_OASIS}:text:1.0",
        "table": f"{_OASIS}:table:1.0",
        "draw": f"{_OASIS}:drawing:1.0",
        "style": f"{_OASIS}:style:1.0",
        "presentation": f"{_OASIS}:presentation:1.0",
        "meta": f"{_OASIS}:meta:1.0",
        "manifest": f"{_OASIS}:manifest:1.0",
        "number": f"{_OASIS}:datastyle:1.0",
        "svg": f"{_OASIS}:svg-compatible:1.0",
        "fo": f"{_OASIS}:xsl-fo-compatible:1.0",
        "xlink": "http://www.w3.org/1999/xlink",
        "dc": "http://purl.org/dc/elements/1.1/",
    }.items()
)
_TYPE = "application/vnd.oasis.opendocument"


def write(
    path: Path,
    kind: str,
    body: str,
    *,
    automatic: str = "",
    styles: str = "",
    meta: str = "",
    members: dict[str, bytes] | None = None,
    head: str = "",
) -> Path:
    """Write a file; `kind` is "text", "presentation" or "spreadsheet", `head` stands before the root."""
    content = (
        f"{head}<office:document-content {NAMES}>"
        f"<office:automatic-styles>{automatic}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", f"{_TYPE}.{kind}")
        archive.writestr("content.xml", content)
        archive.writestr("styles.xml", f"<office:document-styles {NAMES}>{styles}</office:document-styles>")
        told = f"<office:document-meta {NAMES}><office:meta>{meta}</office:meta></office:document-meta>"
        archive.writestr("meta.xml", told)
        for name, data in (members or {}).items():
            archive.writestr(name, data)
    return path


def paragraph(text: str, style: str = "Standard") -> str:
    """Return a paragraph."""
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def cell(text: str = "", *, kind: str = "string", more: str = "", inner: str = "") -> str:
    """Return a cell of a sheet; `more` are attributes."""
    words = f"<text:p>{text}</text:p>" if text else ""
    return f'<table:table-cell office:value-type="{kind}" {more}>{inner}{words}</table:table-cell>'


def row(*cells: str, more: str = "") -> str:
    """Return a row of cells."""
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def table(*rows: str, name: str = "Costs", more: str = "") -> str:
    """Return a table, or a sheet."""
    return f'<table:table table:name="{name}" {more}>{"".join(rows)}</table:table>'


def frame(inner: str, *, x: float = 1, y: float = 1, kind: str = "", width: float = 8) -> str:
    """Return a frame on a slide with a text box around its content."""
    named = f'presentation:class="{kind}"' if kind else ""
    place = f'svg:x="{x}cm" svg:y="{y}cm" svg:width="{width}cm" svg:height="2cm"'
    return f"<draw:frame {named} {place}><draw:text-box>{inner}</draw:text-box></draw:frame>"

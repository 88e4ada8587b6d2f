"""Jupyter notebooks: text, code and output, in parts that begin with the headings."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture, RefusedError
from ragmem.readers.documents.tables import convert_tables

_OUTPUT_MAX = 4_000  # characters; longer output is a log
_OLDEST = 3
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_ATTACHED = re.compile(r"!\[([^\]]*)\]\(attachment:([^)\s]+)[^)]*\)")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FORMER_IMAGES = {"png": "image/png", "jpeg": "image/jpeg"}
_FORMER_TEXTS = {"text": "text/plain", "html": "text/html", "latex": "text/latex"}


@dataclass(slots=True)
class _Section:
    """The cells from one heading up to the next."""

    first: int
    last: int
    title: str
    texts: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return the notebook at `path` (nbformat 3 or 4), one part per section; nothing in it is run.

    Raises RefusedError for a file that is not a notebook; OSError.
    """
    with open(path, "rb") as stream:  # noqa: PTH123
        content = stream.read()
    try:
        notebook = json.loads(content)
    except (ValueError, UnicodeDecodeError) as error:
        raise RefusedError("the file is damaged or cut short") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise RefusedError("its content is not that of a notebook")
    if notebook["nbformat"] < _OLDEST:
        raise RefusedError("it is a notebook from before 2013", hint="open it in Jupyter and save it again")
    cells = _cells(notebook)
    warnings = []
    if len(cells) > limits.pages:
        warnings.append(f"only the first {limits.pages:,} of {len(cells):,} cells are read")
    language = _language(notebook)
    seen = Pictures(limits)
    sections: list[_Section] = []
    for number, cell in enumerate(cells[: limits.pages], 1):
        heading = _heading(cell)
        if not sections or (heading and _has_content(sections[-1])):
            sections.append(_Section(number, number, heading))
        section = sections[-1]
        section.last = number
        section.title = section.title or heading
        section.texts += [text for text in _describe_cell(cell, language, seen) if text]
        section.pictures += seen.take()
    parts = tuple(_part(section, is_whole=len(sections) == 1) for section in sections if section.texts)
    metadata = _metadata(notebook, language)
    title = _text((notebook.get("metadata") or {}).get("title")) or next(
        (heading for heading in map(_heading, cells) if heading), ""
    )
    return ConvertedDocument(parts, title=title, metadata=metadata, warnings=tuple(warnings))


def _cells(notebook: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if isinstance(notebook.get("cells"), list):
        found = notebook["cells"]
    else:
        found = [cell for sheet in notebook.get("worksheets") or [] for cell in sheet.get("cells") or []]
    return [cell for cell in found if isinstance(cell, Mapping)]


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = notebook.get("metadata") or {}
    named = [
        (metadata.get("kernelspec") or {}).get("language"),
        (metadata.get("language_info") or {}).get("name"),
    ]
    return next((str(name).lower() for name in named if name), "python")


def _metadata(notebook: Mapping[str, Any], language: str) -> dict[str, str]:
    authors = (notebook.get("metadata") or {}).get("authors") or []
    names = [str(each.get("name", "")) if isinstance(each, Mapping) else str(each) for each in authors]
    return {"language": language, "author": ", ".join(filter(None, names))}


def _heading(cell: Mapping[str, Any]) -> str:
    """Return the first heading of a cell; empty without one."""
    if cell.get("cell_type") == "heading":
        return _source(cell).strip()
    if cell.get("cell_type") != "markdown":
        return ""
    found = _HEADING.search(_FENCE.sub("", _source(cell)))
    return found.group(1) if found else ""


def _has_content(section: _Section) -> bool:
    """Return whether a section has more than its heading."""
    return bool(section.pictures or _HEADING.sub("", "\n".join(section.texts)).strip())


def _part(section: _Section, *, is_whole: bool) -> Part:
    text = "\n\n".join(section.texts)
    if is_whole:
        return Part(text, title=section.title, pictures=tuple(section.pictures))
    cells = (
        f"cells {section.first}-{section.last}" if section.last > section.first else f"cell {section.first}"
    )
    return Part(text, f"cell={section.first}", cells, section.title, tuple(section.pictures))


def _describe_cell(cell: Mapping[str, Any], language: str, seen: Pictures) -> Iterator[str]:
    source = _source(cell).strip("\n")
    match cell.get("cell_type"):
        case "markdown":
            yield _with_attachments(source, cell.get("attachments") or {}, seen)
        case "heading":
            yield f"{'#' * min(6, max(1, int(cell.get('level') or 1)))} {source}"
        case "code":
            used = _text(cell.get("language")) or language
            if source.strip():
                yield marks.fence(source, _magic(source) or used)
            for output in cell.get("outputs") or []:
                if isinstance(output, Mapping):
                    yield _output(output, seen)
        case _:
            yield source.strip()


def _source(cell: Mapping[str, Any]) -> str:
    return _text(cell.get("source") if "source" in cell else cell.get("input"))


def _magic(source: str) -> str:
    """Return the language in the first line of a cell (`%%bash`); empty without one."""
    found = re.match(r"%%(bash|sh|sql|html|javascript|js|latex|perl|ruby|R|markdown)\b", source)
    return found.group(1) if found else ""


def _with_attachments(source: str, attachments: Mapping[str, Any], seen: Pictures) -> str:
    """Return a text cell in which the alternative text and mark of each picture replace it."""

    def replace(found: re.Match[str]) -> str:
        bundle = attachments.get(found.group(2))
        image = _image(bundle) if isinstance(bundle, Mapping) else b""
        return f"\n\n{seen.describe(image, alt=found.group(1))}\n\n"

    return re.sub(r"\n{3,}", "\n\n", _ATTACHED.sub(replace, source)).strip()


def _output(output: Mapping[str, Any], seen: Pictures) -> str:
    """Return an output of a cell: text, a table, a picture or an error."""
    match output.get("output_type"):
        case "stream":
            return _output_block(_text(output.get("text")))
        case "error" | "pyerr":
            return f"Error: {_plain(_text(output.get('ename')))}: {_plain(_text(output.get('evalue')))}"
        case _:
            pass
    bundle = _bundle(output)
    picture = seen.describe(_image(bundle), alt=_text(_alt(output)))
    return "\n\n".join(filter(None, [_representation(bundle), picture]))


def _bundle(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return an output by media type; nbformat 3 has other names for the types."""
    if isinstance(output.get("data"), Mapping):
        return dict(output["data"])
    names = {**_FORMER_IMAGES, **_FORMER_TEXTS}
    return {kind: output[name] for name, kind in names.items() if name in output}


def _representation(bundle: Mapping[str, Any]) -> str:
    """Return the text of an output in its richest form."""
    if markdown := _text(bundle.get("text/markdown")).strip():
        return _cut(markdown)
    if tables := convert_tables(_text(bundle.get("text/html"))):
        return _cut(tables)
    if latex := _text(bundle.get("text/latex")).strip():
        return _cut(latex)
    plain = _text(bundle.get("text/plain"))
    # The text of a plot or a widget is only an address in memory.
    return "" if re.match(r"\s*<[^>]*>\s*$", plain) else _output_block(plain)


def _alt(output: Mapping[str, Any]) -> object:
    metadata = output.get("metadata") or {}
    return next(
        (each.get("alt") for each in metadata.values() if isinstance(each, Mapping) and "alt" in each), ""
    )


def _image(bundle: Mapping[str, Any]) -> bytes:
    for kind in _IMAGES:
        if encoded := _text(bundle.get(kind)):
            try:
                return base64.b64decode(encoded)
            except (binascii.Error, ValueError):
                return b""
    return b""


def _output_block(text: str) -> str:
    """Return printed text as a fenced block, so that it is not read as Markdown."""
    output = _cut(_plain(text).strip("\n"))
    return f"Output:\n\n{marks.fence(output, 'text')}" if output.strip() else ""


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text)


def _cut(text: str) -> str:
    if len(text) <= _OUTPUT_MAX:
        return text
    half = _OUTPUT_MAX // 2
    left = len(text) - 2 * half
    return f"{text[:half]}\n... {left:,} characters left out ...\n{text[-half:]}"


def _text(value: object) -> str:
    """Return a text, which notebooks store as a string or a list of lines; empty for any other value."""
    if isinstance(value, list):
        return "".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""

"""docling-serve: a task for each file, whose result is docling's own document as JSON.

Shapes: github.com/docling-project/docling-serve (v1 API) and docling-core's DoclingDocument, as LightRAG
1.5.7 uses them.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from ragmem.backends.converters.bundle import Bundle, flag, number, texts
from ragmem.backends.converters.server import Pages, Server, quote_segment
from ragmem.errors import BackendError
from ragmem.readers.documents.model import ConvertedDocument, Limits
from ragmem.readers.documents.tables import write_table

SUFFIXES = frozenset(".pdf .docx .pptx .xlsx .html .htm .xhtml .png .jpg .jpeg .tif .tiff .bmp .webp".split())
_POLL_S = 5.0
_DONE, _FAILED = {"success"}, {"failure", "partial_success", "skipped"}
_FURNITURE = {"page_header", "page_footer"}
_DEPTH_MAX = 50
_PLACE_MAX = 10_000
_SPAN_MAX = 100
_FORMS = {"title": "# {}", "formula": "$${}$$", "footnote": "Footnote: {}"}


def poll_seconds(environ: Mapping[str, str]) -> float:
    """Return the seconds that the server may hold a poll."""
    return number(environ, "DOCLING_POLL_INTERVAL_SECONDS", default=_POLL_S)


def convert(server: Server, path: Path, limits: Limits, environ: Mapping[str, str]) -> ConvertedDocument:
    """Return the document as docling reads it, a part for each page; raises BackendError."""
    server.start_timer()
    answer = server.upload("/v1/convert/file/async", path, _form(environ))
    task = answer.get("task_id") or answer.get("id")
    if not task:
        raise BackendError("docling returned no task id")
    place = f"/v1/status/poll/{quote_segment(task)}"
    server.poll(place, _is_finished, wait=f"{server.wait.poll_seconds:g}")
    media_type, body = server.download(f"/v1/result/{quote_segment(task)}")
    if "zip" in media_type.lower() or body.startswith(b"PK"):
        bundle = Bundle(body, limits)
        name = next(iter(bundle.names(".json")), "")
        if not name:
            raise BackendError("docling's response contains no document")
        return _convert_document(bundle.json(name), limits, bundle, name)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BackendError("docling returned neither an archive nor JSON") from error
    return _convert_document(_unwrap(document), limits, None, "")


def _form(environ: Mapping[str, str]) -> dict[str, str | list[str]]:
    form: dict[str, str | list[str]] = {
        "pipeline": "standard",
        "target_type": "zip",
        "image_export_mode": "referenced",
        "to_formats": ["json", "md"],
        "do_ocr": flag(environ, "DOCLING_DO_OCR", default=True),
        "force_ocr": flag(environ, "DOCLING_FORCE_OCR", default=True),
        "ocr_engine": environ.get("DOCLING_OCR_ENGINE", "").strip() or "auto",
        "ocr_preset": environ.get("DOCLING_OCR_PRESET", "").strip() or "auto",
        "do_formula_enrichment": flag(environ, "DOCLING_DO_FORMULA_ENRICHMENT", default=False),
    }
    named = environ.get("DOCLING_OCR_LANG", "").strip().strip("[]")
    if languages := [one.strip().strip("\"'") for one in named.split(",") if one.strip()]:
        form["ocr_lang"] = languages
    return form


def _is_finished(status: Mapping[str, Any]) -> bool:
    """Return whether a task is done; raises BackendError if it failed."""
    word = str(status.get("task_status") or status.get("status") or "").lower()
    if word in _FAILED:
        said = " ".join(str(status.get("error_message") or status.get("error") or word).split())
        raise BackendError(f"docling failed: {said[:200]}")
    return word in _DONE


def _unwrap(answer: Any) -> Any:
    """Return the document of an answer that is JSON instead of an archive, as some servers send."""
    if isinstance(answer, dict):
        _is_finished({"status": answer.get("status", "success")})
        wrapper = answer.get("document")
        if isinstance(wrapper, dict):
            return wrapper.get("json_content") or wrapper
    return answer


def _convert_document(document: Any, limits: Limits, bundle: Bundle | None, name: str) -> ConvertedDocument:
    if not isinstance(document, dict) or not isinstance(document.get("body"), dict):
        raise BackendError("docling's response is not a document")
    pages = Pages(limits)
    beside = _linked_pointers(document)
    try:
        for item in _reading_order(document, document["body"], set()):
            if item.get("self_ref") not in beside:
                _add(pages, document, item, lambda each: _image(each, bundle, name))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BackendError("docling's document has an unknown structure") from error
    return pages.build("docling")


def _reading_order(
    document: Mapping[str, Any], node: Mapping[str, Any], seen: set[str], *, depth: int = 0
) -> Iterator[Mapping[str, Any]]:
    """Yield texts, tables and pictures in reading order, each once, also those in groups."""
    if depth > _DEPTH_MAX:
        return
    for reference in node.get("children") or []:
        place = _pointer(reference)
        item = _resolve(document, reference)
        if item is None or place in seen:
            continue
        seen.add(place)
        if not place.startswith("#/groups/"):
            yield item
        elif item.get("label") == "inline":
            yield _join_inline(list(_reading_order(document, item, seen, depth=depth + 1)))
            continue
        yield from _reading_order(document, item, seen, depth=depth + 1)


def _join_inline(items: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Join the pieces of one paragraph, which docling splits by fonts."""
    parts = [
        f"${item.get('text') or ''}$" if item.get("label") == "formula" else str(item.get("text") or "")
        for item in items
    ]
    prov: Any = next((item["prov"] for item in items if item.get("prov")), [])
    return {"label": "text", "text": " ".join(filter(None, parts)), "prov": prov}


def _pointer(reference: Mapping[str, Any]) -> str:
    return str(reference.get("$ref") or reference.get("cref") or "")


def _resolve(document: Mapping[str, Any], reference: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the item of a reference like "#/texts/3", or None."""
    kind, _, index = _pointer(reference).removeprefix("#/").partition("/")
    some = document.get(kind)
    if not isinstance(some, list) or not index.isdecimal() or int(index) >= len(some):
        return None
    found = some[int(index)]
    return found if isinstance(found, dict) else None


def _linked_pointers(document: Mapping[str, Any]) -> set[str]:
    """Return the references of captions and footnotes, which are written with their owners."""
    owners = [*(document.get("tables") or []), *(document.get("pictures") or [])]
    named = [each for owner in owners for key in ("captions", "footnotes") for each in owner.get(key) or []]
    return {_pointer(each) for each in named}


def _add(
    pages: Pages,
    document: Mapping[str, Any],
    item: Mapping[str, Any],
    image: Callable[[Mapping[str, Any]], bytes],
) -> None:
    page = next((int(each["page_no"]) for each in item.get("prov") or [] if each.get("page_no")), 0)
    label = str(item.get("label") or "").lower()
    caption, notes = _linked_text(document, item, "captions"), _linked_text(document, item, "footnotes")
    if "data" in item and isinstance(item["data"], dict):
        pages.add(
            page, "\n\n".join(filter(None, [write_table(_table(item["data"]), caption=caption), notes]))
        )
    elif label in {"picture", "chart"} or "annotations" in item:
        pages.add_picture(page, image(item), told="\n\n".join(filter(None, [caption, notes])))
    elif label not in _FURNITURE:
        text = str(item.get("text") or item.get("orig") or "").strip()
        if label == "title" and text and not pages.title:
            pages.title = " ".join(text.split())
        pages.add(page, _markdown(label, text, item))


def _markdown(label: str, text: str, item: Mapping[str, Any]) -> str:
    if not text:
        return ""
    if label == "section_header":
        return f"{'#' * min(6, int(item.get('level') or 1) + 1)} {text}"
    if label == "list_item":
        return f"{item.get('marker') or '-'} {text}"
    if label == "code":
        return f"```{str(item.get('code_language') or '').lower()}\n{text}\n```"
    return _FORMS.get(label, "{}").format(text)


def _linked_text(document: Mapping[str, Any], item: Mapping[str, Any], key: str) -> str:
    found = [_resolve(document, each) for each in item.get(key) or []]
    return " ".join(texts([str(each.get("text") or "") for each in found if each is not None]))


def _table(data: Mapping[str, Any]) -> list[list[str]]:
    """Return the cells by row, from the grid or else from the positions of the cells."""
    if grid := data.get("grid"):
        return [[str(cell.get("text") or "") for cell in row] for row in grid]
    rows: dict[int, dict[int, str]] = {}
    for cell in data.get("table_cells") or []:
        for row in _span(cell, "row"):
            for column in _span(cell, "col"):
                rows.setdefault(row, {})[column] = str(cell.get("text") or "")
    width = max((max(cells) for cells in rows.values()), default=-1) + 1
    return [[cells.get(column, "") for column in range(width)] for _, cells in sorted(rows.items())]


def _span(cell: Mapping[str, Any], what: str) -> range:
    """Return the rows or columns of a cell, limited to a reasonable number."""
    first = min(int(cell[f"start_{what}_offset_idx"]), _PLACE_MAX)
    return range(first, min(int(cell[f"end_{what}_offset_idx"]), first + _SPAN_MAX))


def _image(item: Mapping[str, Any], bundle: Bundle | None, name: str) -> bytes:
    """Return the bytes of a picture from the answer; addresses are never fetched."""
    uri = str((item.get("image") or {}).get("uri") or "")
    if uri.startswith("data:"):
        try:
            return base64.b64decode(uri.partition(",")[2])
        except (binascii.Error, ValueError):
            return b""
    return bundle.picture(uri, beside=name) if bundle and uri and "://" not in uri else b""

"""MinerU's own API server: a task for each file, whose result is an archive with a list of what it found.

Shapes: github.com/opendatalab/MinerU (mineru-api: /tasks, and content_list.json), as LightRAG 1.5.7 uses
them. The service at mineru.net, which would send files to another company, is not supported.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.backends.converters.bundle import Bundle, flag, number, texts
from ragmem.backends.converters.server import Pages, Server, quote_segment
from ragmem.errors import BackendError
from ragmem.readers.documents.model import ConvertedDocument, Limits
from ragmem.readers.documents.tables import convert_tables

SUFFIXES = frozenset(".pdf .png .jpg .jpeg .webp .gif .bmp .tif .tiff .docx .pptx .xlsx".split())
_POLL_S = 2.0
_LAST_PAGE = 99_999
_SKIPPED = {"header", "footer", "page_number", "page_header", "page_footer", "aside_text", "discarded"}


def poll_seconds(environ: Mapping[str, str]) -> float:
    """Return the seconds between two polls of a task."""
    return number(environ, "MINERU_POLL_INTERVAL_SECONDS", default=_POLL_S)


def convert(server: Server, path: Path, limits: Limits, environ: Mapping[str, str]) -> ConvertedDocument:
    """Return the document as MinerU reads it, a part for each page; raises BackendError."""
    server.start_timer()
    task = server.upload("/tasks", path, _form(environ, limits)).get("task_id")
    if not task:
        raise BackendError("MinerU returned no task id")
    server.poll(f"/tasks/{quote_segment(task)}", _is_finished)
    _, body = server.download(f"/tasks/{quote_segment(task)}/result")
    bundle = Bundle(body, limits)
    name = next(iter(bundle.names("content_list.json")), "")
    if not name:
        raise BackendError("MinerU's response has no content_list.json")
    items = bundle.json(name)
    if not isinstance(items, list):
        raise BackendError("MinerU's content_list.json is not a list")
    pages = Pages(limits)
    try:
        for item in items:
            _add(pages, item, bundle, name)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BackendError("MinerU's content_list.json has an unknown structure") from error
    return pages.build("mineru")


def _is_finished(status: Mapping[str, Any]) -> bool:
    """Return whether a task is done; raises BackendError if it failed."""
    word = str(status.get("status") or "").lower()
    if word == "failed":
        said = " ".join(str(status.get("error") or status.get("message") or word).split())
        raise BackendError(f"MinerU failed: {said[:200]}")
    return word == "completed"


def _form(environ: Mapping[str, str], limits: Limits) -> dict[str, str]:
    return {
        "lang_list": environ.get("MINERU_LANGUAGE", "").strip() or "ch",
        "backend": environ.get("MINERU_LOCAL_BACKEND", "").strip() or "hybrid-auto-engine",
        "parse_method": environ.get("MINERU_LOCAL_PARSE_METHOD", "").strip() or "auto",
        "formula_enable": flag(environ, "MINERU_ENABLE_FORMULA", default=True),
        "table_enable": flag(environ, "MINERU_ENABLE_TABLE", default=True),
        "image_analysis": flag(environ, "MINERU_LOCAL_IMAGE_ANALYSIS", default=False),
        "return_md": "true",
        "return_middle_json": "true",
        "return_model_output": "true",
        "return_content_list": "true",
        "return_images": "true",
        "response_format_zip": "true",
        "return_original_file": "true",
        "start_page_id": "0",
        "end_page_id": str(min(_LAST_PAGE, limits.pages - 1)),
    }


def _add(pages: Pages, item: Mapping[str, Any], bundle: Bundle, name: str) -> None:
    kind = str(item.get("type") or "").lower()
    page = int(item["page_idx"]) + 1 if "page_idx" in item else 0
    text = str(item.get("text") or item.get("content") or "").strip()
    match kind:
        case "table":
            caption = " ".join(texts(item.get("table_caption")))
            table = convert_tables(str(item.get("table_body") or ""), caption=caption)
            pages.add(page, "\n\n".join(filter(None, [table or caption, *texts(item.get("table_footnote"))])))
        case "image" | "chart":
            told = [*texts(item.get(f"{kind}_caption")), *texts(item.get(f"{kind}_footnote")), text]
            reference = str(item.get("img_path") or "")
            data = bundle.picture(reference, beside=name) if reference else b""
            pages.add_picture(page, data, told="\n\n".join(filter(None, told)))
        case "equation":
            pages.add(page, text if text.startswith("$") else f"$${text}$$" if text else "")
        case "list":
            pages.add(page, "\n".join(f"- {one}" for one in texts(item.get("list_items"))) or text)
        case "code":
            pages.add(page, str(item.get("code_body") or text))
        case _ if kind not in _SKIPPED:
            level = int(item.get("text_level") or 0)
            if level == 1 and text and not pages.title:
                pages.title = " ".join(text.split())
            pages.add(page, f"{'#' * min(6, level)} {text}" if level and text else text)

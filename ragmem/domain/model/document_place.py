"""The place of a memory within a document, in words: "report.pdf, page 3"."""

from collections.abc import Mapping
from pathlib import PurePath

FILE = "document_file"
LOCATOR = "document_locator"
LABEL = "document_label"
"""Metadata keys of a memory that is a document or a part of one."""


def place_metadata(path: str, locator: str, label: str) -> dict[str, str]:
    """Return the metadata of a place; a document without parts has no locator and no label."""
    values = {FILE: PurePath(path).name, LOCATOR: locator, LABEL: label}
    return {name: value for name, value in values.items() if value}


def is_of_document(metadata: Mapping[str, str]) -> bool:
    """Return whether a memory or a draft comes from a document."""
    return FILE in metadata


def document_place(metadata: Mapping[str, str]) -> str:
    """Return "report.pdf, page 3", or "report.docx" for one without pages; "" for any other memory."""
    return ", ".join(filter(None, (metadata[FILE], metadata.get(LABEL)))) if FILE in metadata else ""


def describe_place(path: str, metadata: Mapping[str, str]) -> str:
    """Return a path with its locator in words: "~/report.pdf, page 3" for "~/report.pdf#page=3"."""
    locator, label = metadata.get(LOCATOR, ""), metadata.get(LABEL, "")
    return f"{path.removesuffix(f'#{locator}')}, {label}" if locator and label else path

"""The suffixes of documents, and the module that reads each."""

from pathlib import PurePath

FORMATS: dict[str, str] = {
    ".pdf": "pdf",
    ".docx": "word",
    ".docm": "word",
    ".pptx": "powerpoint",
    ".pptm": "powerpoint",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".epub": "epub",
    ".csv": "csv_table",
    ".tsv": "csv_table",
    ".png": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".gif": "image",
    ".webp": "image",
    ".tif": "image",
    ".tiff": "image",
    ".bmp": "image",
    ".ipynb": "notebook",
}

IN_FOLDERS = tuple(suffix for suffix, module in FORMATS.items() if module != "image")
"""The suffixes that are read in folders. Pictures there are mostly icons: each must be named itself."""


def is_document(path: PurePath) -> bool:
    """Tell by the name of a file whether it is a document."""
    return path.suffix.lower() in FORMATS

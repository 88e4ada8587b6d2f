"""Which files are documents, by the ends of their names, and which module reads each."""

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
"""What a folder gives. Its pictures are mostly icons: one that is meant is named itself."""


def is_document(path: PurePath) -> bool:
    """Tell by its name whether a file is read as a document."""
    return path.suffix.lower() in FORMATS

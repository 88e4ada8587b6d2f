"""The suffixes of documents, and the module that reads each."""

from pathlib import PurePath

FORMATS: dict[str, str] = {
    suffix: module
    for module, suffixes in {
        "pdf": ".pdf",
        "word": ".docx .docm",
        "powerpoint": ".pptx .pptm",
        "excel": ".xlsx .xlsm",
        "html": ".html .htm .xhtml",
        "opendocument": ".odt .odp .ods",
        "rtf": ".rtf",
        "epub": ".epub",
        "mail": ".eml .emlx .mbox",
        "csv_table": ".csv .tsv",
        "image": ".png .jpg .jpeg .gif .webp .tif .tiff .bmp",
        "notebook": ".ipynb",
    }.items()
    for suffix in suffixes.split()
}

IN_FOLDERS = tuple(suffix for suffix, module in FORMATS.items() if module != "image")
"""The suffixes that are read in folders. Pictures there are mostly icons: each must be named itself."""

SAVE_AS: dict[str, str] = {
    ".doc": ".docx",
    ".xls": ".xlsx",
    ".ppt": ".pptx",
    ".pages": ".docx",
    ".numbers": ".xlsx",
    ".msg": ".eml",
}
"""The suffixes of documents that are not read, and the format in which their programs can save them."""


def is_document(path: PurePath) -> bool:
    """Return whether a file is a document, by its name; it may be one of those that are not read."""
    return path.suffix.lower() in FORMATS or path.suffix.lower() in SAVE_AS

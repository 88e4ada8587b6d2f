"""The suffixes of documents, and the module that reads each."""

import re
from pathlib import Path, PurePath

from ragmem.patterns import lazy

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


POSTMARK = lazy(
    rb"^From (?:- |-\r?$|\S+@|MAILER-DAEMON|.*\d:\d\d.* (?:19|20)\d\d\b).*\n(?=[!-9;-~]{1,80}:|>From )",
    re.MULTILINE,
)
"""The line before each mail of a mailbox: a sender or a date, and a header below. Sentences begin alike."""

_HEADER = lazy(rb"(?:[!-9;-~]{1,80}:.*\n(?:[ \t].*\n)*)*?(?:From|Date|Message-ID|Received):", re.IGNORECASE)
_MAILDIRS = frozenset({"cur", "new"})
SUFFIX = lazy(r"\.\w{1,12}$")
"""What a name ends with that has a suffix; `1.5` in "notes of 1.5 hours" is none."""

_HEAD_BYTES = 4_096


def is_mail(path: Path) -> bool:
    """Return whether a file is a mailbox without a suffix, or a mail of a Maildir, by its content."""
    in_maildir = path.parent.name in _MAILDIRS
    if is_document(path) or (SUFFIX.search(path.name) and not in_maildir):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return bool(POSTMARK.match(head) or (in_maildir and _HEADER.match(head)))


def is_document(path: PurePath) -> bool:
    """Return whether a file is a document, by its name; it may be one of those that are not read."""
    return path.suffix.lower() in FORMATS or path.suffix.lower() in SAVE_AS

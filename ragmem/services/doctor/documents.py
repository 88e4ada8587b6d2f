"""Check that the documents of sources can be read: libraries, and an engine for scans."""

from collections.abc import Iterator
from importlib.util import find_spec

from ragmem.readers.documents.ocr import EXTRA, engine_name
from ragmem.services.doctor.report import Check, DoctorContext

_NAME = "documents"
_LIBRARIES = ("lxml", "openpyxl", "pdfplumber", "PIL", "pypdfium2")


def check_documents(patient: DoctorContext) -> Iterator[Check]:
    """Report missing software; there is no check if no enabled source has documents."""
    wanted = [spec.name for spec in patient.settings.enabled_sources() if spec.reader == "documents"]
    if not wanted:
        return
    sources = ", ".join(wanted)
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        detail = f"the libraries to read {sources} are not installed: {', '.join(missing)}"
        yield Check(_NAME, "warning", detail, 'pip install "ragmem[documents]"')
        return
    wished = patient.settings.documents
    if not wished.ocr:
        detail = f"{sources} can be read"
    elif engine := engine_name(wished.ocr_languages):
        detail = f"{sources} can be read, and text in pictures by {engine}"
    else:
        detail = f"{sources} can be read, but for scans and text in pictures: {EXTRA}"
    yield Check(_NAME, "ok", detail)

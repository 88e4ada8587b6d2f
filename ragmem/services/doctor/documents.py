"""Check that the documents of sources can be read: libraries, and tesseract for scans."""

from collections.abc import Iterator
from importlib.util import find_spec

from ragmem.readers.documents.ocr import PROGRAM, is_installed
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
    if patient.settings.documents.ocr and not is_installed():
        detail = f"{sources} can be read, but for scans and text in pictures: {PROGRAM} is not installed"
    else:
        detail = f"{sources} can be read"
    yield Check(_NAME, "ok", detail)

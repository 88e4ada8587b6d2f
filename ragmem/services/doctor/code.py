"""Check that ingested code can be parsed again: the grammars are an extra."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from ragmem.readers.code import MANIFESTS
from ragmem.readers.code.parsing import EXTRA, has_parser
from ragmem.services.doctor.report import Check, DoctorContext

_NAME = "grammars"


def check_grammars(patient: DoctorContext) -> Iterator[Check]:
    """Report unreadable languages; there is no check if tree-sitter is installed or no language needs it."""
    if has_parser():
        return
    code = patient.catalog.code
    languages = {
        file.language
        for root in code.roots()
        for file in code.files(root.project)
        if file.language != "python" and PurePosixPath(file.path).name not in MANIFESTS
    }
    if languages:
        listed = ", ".join(sorted(languages))
        detail = f"files in {listed} cannot be read again: tree_sitter is not installed"
        yield Check(_NAME, "warning", detail, EXTRA)

"""Whether the code that is known can be read again: its grammars are an extra."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from ragmem.readers.code import MANIFESTS
from ragmem.readers.code.parsing import EXTRA, has_parser
from ragmem.services.doctor.report import Check, DoctorContext, Examination

_NAME = "grammars"


def grammars(patient: DoctorContext) -> Iterator[Check]:
    """Tell which languages cannot be read; nothing where tree-sitter is installed or none needs it."""
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


GRAMMARS: tuple[tuple[str, Examination], ...] = ((_NAME, grammars),)

"""Check the progress of the extraction of entities and relations by a language model."""

from collections.abc import Iterator

from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.services.entities.extraction_texts import find_texts
from ragmem.storage.activity.extractions import RULES

_NAME = "extraction"


def check_extraction(patient: DoctorContext) -> Iterator[Check]:
    """Report the number of processed and waiting texts; there is no check if only rules extract."""
    wanted, choice = patient.settings.extraction.by, patient.catalog.extractions.choice()
    if wanted != choice.by:
        detail = (
            f'the graph is made by "{choice.by}", [extraction] wants "{wanted}"; the next seed changes it'
        )
        yield Check(_NAME, "warning", detail, "ragmem seed")
    if choice == RULES:
        return
    asked = patient.catalog.extractions.answered_texts(choice.model)
    texts = find_texts(patient.catalog, choice.model)
    invalid = sum(not valid for valid in asked.values())
    detail = f"{len(asked):,} texts by {choice.model}, {invalid:,} invalid, {texts.waiting:,} wait"
    yield Check(_NAME, "warning" if texts.waiting else "ok", detail, "ragmem seed" if texts.waiting else "")

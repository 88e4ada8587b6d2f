"""How far the language model has come that finds entities and relations."""

from collections.abc import Iterator

from ragmem.services.doctor.report import Check, DoctorContext, Examination
from ragmem.services.entities.extraction_texts import find_texts
from ragmem.storage.activity.extractions import RULES

_NAME = "extraction"


def extraction(patient: DoctorContext) -> Iterator[Check]:
    """Tell how many texts the model was asked about, and how many wait; nothing where rules do it alone."""
    wanted, choice = patient.settings.extraction.by, patient.catalog.extractions.choice()
    if wanted != choice.by:
        detail = (
            f'the graph is made by "{choice.by}", [extraction] wants "{wanted}"; the next seed changes it'
        )
        yield Check(_NAME, "warning", detail, "ragmem seed")
    if choice == RULES:
        return
    asked = patient.catalog.extractions.asked(choice.model)
    texts = find_texts(patient.catalog, choice.model)
    invalid = sum(not valid for valid in asked.values())
    detail = f"{len(asked):,} texts by {choice.model}, {invalid:,} invalid, {texts.waiting:,} wait"
    yield Check(_NAME, "warning" if texts.waiting else "ok", detail, "ragmem seed" if texts.waiting else "")


EXTRACTION_CHECKS: tuple[tuple[str, Examination], ...] = ((_NAME, extraction),)

"""Examine a memory from the outside in: home, models, database, catalog, store, and a write of its own."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ragmem.errors import EXIT_DAMAGED, RagmemError
from ragmem.services.doctor.agents import AGENTS
from ragmem.services.doctor.code import GRAMMARS
from ragmem.services.doctor.database import DATABASE_CHECKS, FIRST
from ragmem.services.doctor.documents import DOCUMENTS
from ragmem.services.doctor.events import EVENTS
from ragmem.services.doctor.extraction import EXTRACTION_CHECKS
from ragmem.services.doctor.home import HOME_CHECKS
from ragmem.services.doctor.models import CANARY, CHANGE, MODEL_CHECKS
from ragmem.services.doctor.projects import PROJECTS
from ragmem.services.doctor.report import Check, DoctorContext, Examination, Report
from ragmem.services.doctor.secrets import SECRETS
from ragmem.services.doctor.spend import SPEND
from ragmem.services.doctor.transcripts import TRANSCRIPTS
from ragmem.services.doctor.wiring import WIRING


def examine(patient: DoctorContext) -> Report:
    """Run all checks; those that need the database end where it cannot be read. Nothing is mended."""
    around = list(_run(HOME_CHECKS, patient))
    models = list(_run(MODEL_CHECKS, patient))
    patient = replace(patient, answered=not _any_failed(one for one in models if one.name == "embedder"))
    inside: list[Check] = []
    beside = (*DOCUMENTS, *EVENTS, *TRANSCRIPTS, *WIRING, *AGENTS)
    if _can_be_examined(patient):
        inside += _run(FIRST, patient)
        if not _any_failed(inside):
            inside += _run(DATABASE_CHECKS, patient)
            inside += _run(GRAMMARS, patient)
            inside += _run(CHANGE, patient)
            inside += _run(EXTRACTION_CHECKS, patient)
            inside += _run(SPEND, patient)
            inside += _run(PROJECTS, patient)
            # One damage is told once: this reads all memories, as the check of the catalog does.
            if not _any_failed(one for one in inside if one.name == "catalog"):
                inside += _run(SECRETS, patient)
        else:
            # How far each transcript was read is in the database as well.
            beside = (*DOCUMENTS, *EVENTS, *WIRING, *AGENTS)
        only_reads = patient.read_only or patient.catalog.database.read_only
        # Only in what is otherwise sound: a write may mend what was found, or hide it. A cap that is reached
        # would stop the canary's vector, which is no damage.
        capped = not _any_failed(inside) and any(limit.reached for limit in patient.ledger.limits())
        if not only_reads and not capped and not _any_failed([*around, *models, *inside]):
            inside += _run(CANARY, patient)
    return Report((*around, *models, *inside, *_run(beside, patient)))


def _can_be_examined(patient: DoctorContext) -> bool:
    try:
        return patient.catalog.exists()
    except RagmemError:  # a server that does not answer; the check of the home tells
        return False


def _any_failed(checks: Iterable[Check]) -> bool:
    return any(check.status == "failed" for check in checks)


def _run(examinations: Iterable[tuple[str, Examination]], patient: DoctorContext) -> Iterator[Check]:
    """Yield the checks; one that cannot be made is one that failed."""
    for name, examination in examinations:
        try:
            yield from examination(patient)
        except RagmemError as error:
            yield Check(name, "failed", str(error), error.hint, damaged=error.exit_code == EXIT_DAMAGED)

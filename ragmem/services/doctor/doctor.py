"""Examine a memory from the outside in: home, models, database, catalog, store, and a test write."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ragmem.errors import EXIT_DAMAGED, RagmemError
from ragmem.services.doctor import (
    assistants,
    backlog,
    database,
    home,
    models,
    projects,
    sources,
    warm_process,
)
from ragmem.services.doctor.report import Check, DoctorContext, Examination, Report

_Checks = tuple[tuple[str, Examination], ...]

_HOME: _Checks = (
    ("configuration", home.check_configuration),
    ("home", home.check_home),
    ("disk", home.check_disk),
    ("software", home.check_software),
    ("locks", home.check_locks),
    ("inbox", home.check_inbox),
    ("warm process", warm_process.check_warm_process),
    ("idle gc", home.check_idle_gc),
    ("backups", home.check_backups),
)
"""These checks do not open the database."""

_MODELS: _Checks = (
    ("embedder", models.check_embedder),
    ("language model", models.check_language_model),
    ("named entities", models.check_recognizer),
    ("hardware", models.check_hardware),
)
_FILE: _Checks = (("database", database.check_pages), ("schema", database.check_schema))
"""If one of these fails, the other checks of the content are useless."""

_CONTENT: _Checks = (
    ("catalog", database.check_catalog),
    ("pending", database.check_pending),
    ("store", database.check_store),
    ("grammars", sources.check_grammars),
    ("model change", models.check_model_change),
    ("languages", models.check_languages),
    ("extraction", models.check_extraction),
    ("spend", models.check_spend),
    ("projects", projects.check_projects),
    ("approval", backlog.check_approval),
    ("sharing", backlog.check_sharing),
    ("moments", assistants.check_moments),
)
_TRANSCRIPTS = ("transcripts", sources.check_transcripts)
_OUTSIDE: _Checks = (
    ("documents", sources.check_documents),
    ("hook events", sources.check_events),
    _TRANSCRIPTS,
    ("hooks", assistants.check_assistants),
    ("agents", backlog.check_agents),
)


def examine(patient: DoctorContext) -> Report:
    """Run all checks, without those that need the database if it cannot be read. Repairs nothing."""
    around = list(_run(_HOME, patient))
    answers = list(_run(_MODELS, patient))
    patient = replace(patient, answered=not _any_failed(one for one in answers if one.name == "embedder"))
    inside: list[Check] = []
    outside = _OUTSIDE
    if _can_be_examined(patient):
        inside += _run(_FILE, patient)
        if not _any_failed(inside):
            inside += _run(_CONTENT, patient)
            # This reads all memories, as the check of the catalog does: damage is reported only once.
            if not _any_failed(one for one in inside if one.name == "catalog"):
                inside += _run([("secrets", database.check_secrets)], patient)
        else:
            # The check of transcripts needs the database as well.
            outside = tuple(check for check in _OUTSIDE if check is not _TRANSCRIPTS)
        only_reads = patient.read_only or patient.catalog.database.read_only
        # Only in a sound memory: a write may repair or hide the damage. A reached cap would refuse the
        # canary's vector, which is not damage.
        capped = not _any_failed(inside) and any(limit.is_reached for limit in patient.ledger.limits())
        if not only_reads and not capped and not _any_failed([*around, *answers, *inside]):
            inside += _run([("canary", models.check_canary)], patient)
    return Report((*around, *answers, *inside, *_run(outside, patient)))


def _can_be_examined(patient: DoctorContext) -> bool:
    try:
        return patient.catalog.exists()
    except RagmemError:  # a server does not answer; the check of the home reports it
        return False


def _any_failed(checks: Iterable[Check]) -> bool:
    return any(check.status == "failed" for check in checks)


def _run(examinations: Iterable[tuple[str, Examination]], patient: DoctorContext) -> Iterator[Check]:
    """Yield the checks; one that raises an error counts as failed."""
    for name, examination in examinations:
        try:
            yield from examination(patient)
        except RagmemError as error:
            yield Check(name, "failed", str(error), error.hint, damaged=error.exit_code == EXIT_DAMAGED)

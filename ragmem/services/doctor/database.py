"""Check the database: its pages, its schema, the catalog, the full text, the store."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator

from ragmem.domain.model import Memory, State
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import OlderSchemaError, RagmemError, StoreDamagedError
from ragmem.services.doctor.home import newest_backup
from ragmem.services.doctor.invariants import find_differences, find_unfindable
from ragmem.services.doctor.report import REPAIR, Check, DoctorContext, RepairName
from ragmem.services.ingestion.sanitize import sanitize_memory
from ragmem.storage.home.postgres import extension_versions, server_version
from ragmem.storage.home.schema import CATALOG
from ragmem.storage.maintenance import invariants
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import schema_state
from ragmem.storage.sql.schema_check import find_damage
from ragmem.storage.sql.sqlite_files import integrity_check

_TOPICS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("store", ("store is incomplete",)),
    ("vector files", ("vector files",)),
    ("vectors", ("vector",)),
    ("graph", ("entit", "relation", "mention")),
)
"""Name of a check of the store -> words in its violations."""

_IRREPLACEABLE = frozenset({"table memories", "table archive", "table projects"})
"""Empty new tables would hide the loss of these."""


def check_pages(patient: DoctorContext) -> Iterator[Check]:
    """Check the pages of a SQLite file, or for PostgreSQL the versions of the server and pgvector."""
    database = patient.catalog.database
    if database.path is None:
        yield from _server(database)
        return
    try:
        with database.read() as connection:
            lines = integrity_check(connection, quick=not patient.deep, limit=20)
    except StoreDamagedError as error:
        lines = [" ".join(str(error).split())]
    # The full-text index has its own repair, but newer SQLite versions report it here.
    lines = [line for line in lines if "FTS5" not in line]
    if not lines:
        yield Check("database", "ok", f"{'integrity_check' if patient.deep else 'quick_check'}: ok")
        return
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    yield Check("database", "failed", f"{lines[0]}{more}", restore_hint(patient), "salvage", damaged=True)


def restore_hint(patient: DoctorContext) -> str:
    """Return the command that restores the newest backup."""
    if patient.catalog.database.path is None:
        return "restore a backup of the server"
    backup = newest_backup(patient)
    if backup is None:
        return f"no backup was found; {REPAIR} saves readable memories, `ragmem seed` reads the rest again"
    return f'ragmem restore "{backup.path}"'


def _server(database: Database) -> Iterator[Check]:
    yield Check("database", "ok", f"{server_version(database)} at {database.place}")
    versions = extension_versions(database, "vector")
    if versions is None:
        yield Check("pgvector", "failed", "not available on the server", "install pgvector on the server")
    else:
        offered, used = versions
        yield Check("pgvector", "ok", f"version {used or offered}" + ("" if used else ", not used yet"))


def check_schema(patient: DoctorContext) -> Iterator[Check]:
    """Compare the catalog's tables and migrations with the schema of this version."""
    database = patient.catalog.database
    if database.path is None:
        patient.catalog.prepare()
        yield Check("schema", "ok", "the catalog is up to date")
        return
    try:
        lacking = find_damage(database, CATALOG)
        with database.read() as connection:
            version = schema_state(database, connection, CATALOG).version
        if not lacking.text and not patient.read_only and not database.read_only:
            patient.catalog.prepare()
    except StoreDamagedError as error:
        yield Check("schema", "failed", str(error), error.hint, damaged=True)
        return
    lost = [what for what, statement in lacking.missing if not statement or what in _IRREPLACEABLE]
    if lost:
        detail = f"tables with irreplaceable data are missing: {', '.join(lost)}"
        yield Check("schema", "failed", detail, restore_hint(patient), damaged=True)
    elif lacking.text:
        detail = f"a schema migration was interrupted; {lacking.text}"
        yield Check("schema", "failed", detail, REPAIR, "schema")
    elif version < CATALOG.version:
        brought = f"{version} from an older ragmem; the next write migrates it to {CATALOG.version}"
        if not patient.read_only and not database.read_only:
            brought = f"was {version}, now {CATALOG.version}; a copy of the old version is kept"
        yield Check("schema", "ok", brought)
    else:
        yield Check("schema", "ok", f"{version}, the current version")


def _is_older(patient: DoctorContext) -> bool:
    """Return whether the schema was not migrated, because the memory is read-only."""
    database = patient.catalog.database
    if database.path is None:
        # `check_schema` has migrated it.
        return False
    with database.read() as connection:
        return schema_state(database, connection, CATALOG).version < CATALOG.version


def check_catalog(patient: DoctorContext) -> Iterator[Check]:
    """Check the invariants of the catalog, and separately those of the full text."""
    if _is_older(patient):
        count = sum(patient.catalog.overview.counts()["state"].values())
        yield Check("catalog", "ok", f"{count:,} memories; the rest is checked after the migration")
        return
    found = invariants.violations(patient.catalog)
    if not found:
        try:
            for _ in patient.catalog.memories.each():
                pass
        except StoreDamagedError as error:
            mend: RepairName = "salvage" if patient.catalog.database.path else ""
            yield Check("catalog", "failed", str(error), restore_hint(patient), mend, damaged=True)
            return
        found = invariants.violations(patient.catalog, deep=True) if patient.deep else []
    text = [line for line in found if "full text" in line]
    archive = [line for line in found if "archive" in line]
    rest = [line for line in found if line not in text and line not in archive]
    count = sum(patient.catalog.overview.counts()["state"].values())
    yield from _checks_of("catalog", rest, f"{count:,} memories", "catalog")
    for line in archive:
        yield Check("archive", "failed", line, restore_hint(patient))
    yield from _checks_of("full text", text, "all chunks are indexed", "full text")


def check_pending(patient: DoctorContext) -> Iterator[Check]:
    """Report the memories that wait for their vectors."""
    waiting = len(patient.catalog.memories.ids(states=[State.PENDING]))
    late = patient.catalog.names.count_late()
    if waiting:
        detail = f"{waiting:,} memories wait to be indexed; a seed or this repair finishes them"
        yield Check("pending", "warning", detail, REPAIR, "pending")
    elif late:
        detail = (
            f"{late:,} names were resolved to another entity; a seed or this repair updates the memories "
            "that mention them"
        )
        yield Check("pending", "warning", detail, REPAIR, "pending")
    else:
        yield Check("pending", "ok", "no memories wait to be indexed")


def check_store(patient: DoctorContext) -> Iterator[Check]:
    """Check the invariants of the store, and compare it with the catalog."""
    deep = patient.deep and patient.answered
    try:
        held = patient.open_store()
        found = held.check(deep=deep)
        found += find_differences(patient.catalog, held) if not found else []
    except StoreDamagedError as error:
        yield Check("store", "failed", str(error), REPAIR, "store")
        return
    except OlderSchemaError as error:
        # The memory is read-only, so the tables were not migrated.
        yield Check("store", "ok", f"{error}; checked after the migration")
        return
    topics = Counter(_topic(line) for line in found)
    for topic in topics:
        yield from _checks_of(topic, [line for line in found if _topic(line) == topic], "", "store")
    if not found:
        figures = held.statistics()
        said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in figures.items())
        yield Check("store", "ok", said)
    if patient.answered:
        yield from _models_of_vectors(patient)
    if deep and not found:
        yield from _checks_of(
            "search",
            find_unfindable(patient.catalog, held),
            "every chunk is found by its own text",
            "anew",
        )


def _topic(line: str) -> str:
    return next((name for name, words in _TOPICS if any(word in line for word in words)), "store")


def _models_of_vectors(patient: DoctorContext) -> Iterator[Check]:
    """Report vectors that no search finds, because their model is neither the active nor the next one."""
    try:
        embedder = patient.open_models().embedder
        wanted = (embedder.model_id, embedder.dimensions)  # this may ask a provider
        coming = patient.model_standing().wanted
    except RagmemError:
        return  # the checks of the models report it
    by_model = patient.open_store().vector_models()
    for (model, dimensions), count in by_model.items():
        if model not in {wanted[0], coming}:
            detail = f'{count:,} vectors are from the model "{model}", but "{wanted[0]}" is configured'
            yield Check("vectors", "failed", detail, f"{REPAIR}, or configure the former model", "store")
        elif model == wanted[0] and dimensions != wanted[1]:
            detail = f"{count:,} vectors have {dimensions} dimensions, but the model has {wanted[1]}"
            yield Check("vectors", "failed", detail, REPAIR, "store")


def _checks_of(name: str, lines: Iterable[str], well: str, mend: RepairName) -> Iterator[Check]:
    found = list(lines)
    for line in found:
        yield Check(name, "failed", line, REPAIR, mend)
    if not found and well:
        yield Check(name, "ok", well)


_SECONDS = 2.0
"""Time limit of the search; `--deep` has none."""

_SCRUB = "ragmem scrub"


def check_secrets(patient: DoctorContext) -> Iterator[Check]:
    """Count the memories with a secret or a private block, within the time limit."""
    if not patient.settings.secrets.redact:
        detail = "secrets are stored in plain text: secrets.redact is false"
        yield Check("secrets", "warning", detail, "set redact = true below [secrets]")
        return
    if _is_older(patient):
        yield Check("secrets", "ok", "checked after the migration")
        return
    ids = sorted(patient.catalog.memories.ids())
    began = time.monotonic()
    found = read = 0
    for memory in patient.catalog.memories.each():
        found += _holds_secrets(memory, redactor=patient.catalog.redactor)
        read += 1
        if not patient.deep and time.monotonic() - began > _SECONDS:
            break
    seen = f"{read:,} memories" if read >= len(ids) else f"the first {read:,} of {len(ids):,} memories"
    if found:
        told = "1 holds" if found == 1 else f"{found:,} hold"
        yield Check("secrets", "warning", f"of {seen}, {told} possible secrets", _SCRUB)
    else:
        yield Check("secrets", "ok", f"none in {seen}")


def _holds_secrets(memory: Memory, redactor: Redactor) -> bool:
    return bool(redactor.find(memory.text)) or sanitize_memory(memory, redactor=redactor) is not memory

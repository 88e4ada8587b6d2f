"""Check operational.db and what waits: messages for silent agents, and proposals for a review."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

from ragmem.domain.sessions.agents import STOPPED
from ragmem.errors import StoreDamagedError
from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.storage.operational import agents as rows
from ragmem.storage.operational import messages
from ragmem.storage.operational.file import OperationalFile
from ragmem.storage.operational.schema import OPERATIONAL
from ragmem.storage.sql.migrations import table_exists
from ragmem.storage.sql.schema_check import find_damage
from ragmem.storage.sql.sqlite_files import count_foreign_key_violations, integrity_check

_NAME = "agents"


def check_agents(patient: DoctorContext) -> Iterator[Check]:
    """Report damage of the file, full inboxes, and messages that wait for silent agents.

    There is no check if no agent ever checked in.
    """
    file = OperationalFile(patient.settings.places.data)
    if not file.exists():
        return
    with closing(file):
        problem = _find_damage(file, deep=patient.deep)
        if problem:
            path = file.database.path
            # No backup has it: its content is short-lived, and agents check in again by themselves.
            yield Check(_NAME, "failed", f'"{path}" {problem}', f'move it aside: mv "{path}" "{path}.away"')
            return
        yield from _check_inboxes(file, patient)


def _find_damage(file: OperationalFile, *, deep: bool) -> str:
    try:
        with file.database.read() as connection:
            lines = integrity_check(connection, quick=not deep, limit=20)
            orphans = count_foreign_key_violations(connection)
    except StoreDamagedError as error:
        return f"is damaged: {str(error).rpartition(': ')[2]}"
    if lines:
        return f"is damaged: {lines[0]}"
    if orphans:
        return f"has {orphans:,} messages to unknown agents"
    lacking = find_damage(file.database, OPERATIONAL).text
    return f"is not whole: {lacking}" if lacking else ""


def _check_inboxes(file: OperationalFile, patient: DoctorContext) -> Iterator[Check]:
    limits = patient.settings.agents
    with file.read() as connection:
        known = rows.all_agents(connection)
        full = [one.id for one in known if messages.count_messages(connection, one.id) >= limits.inbox]
    silent = patient.now - timedelta(seconds=limits.stale_s)
    vain = [one for one in known if one.waiting and one.last_seen < silent and one.status != STOPPED]
    for name in full:
        detail = f'the inbox of "{name}" is full: {limits.inbox:,} messages'
        yield Check(_NAME, "warning", detail, f"restart it, or remove it: ragmem agents forget {name}")
    if vain:
        count = sum(one.waiting for one in vain)
        named = ", ".join(one.id for one in vain[:3]) + (" ..." if len(vain) > 3 else "")
        detail = f"messages for agents that are not running: {count:,}, for {named}"
        yield Check(_NAME, "warning", detail, "restart them, or remove them: ragmem agents forget AGENT")
    if not full and not vain:
        waiting = sum(one.waiting for one in known)
        yield Check(_NAME, "ok", f"known: {len(known):,}; waiting messages: {waiting:,}")


def check_approval(patient: DoctorContext) -> Iterator[Check]:
    """Report the memories and drafted skills that wait; nothing where approval is off and nothing does."""
    database = patient.catalog.database
    with database.read() as connection:
        # An older home that is only read has no approvals.
        if not table_exists(database, connection, "skill_drafts"):
            return
    memories, skills = patient.catalog.approvals.count_waiting()
    if memories or skills:
        told = f"{memories:,} {'memory' if memories == 1 else 'memories'} and"
        told = f"{told} {skills:,} {'skill' if skills == 1 else 'skills'} wait for your review"
        yield Check("approval", "ok", told, "ragmem approve")
    elif patient.settings.approval.enabled:
        yield Check("approval", "ok", "nothing waits for your review")


def check_sharing(patient: DoctorContext) -> Iterator[Check]:
    """Report how much waits for a review, and in which projects; nothing where nothing does."""
    shared = patient.catalog.shared
    waiting = {key: count for key in shared.projects() if (count := shared.count_waiting(key))}
    if waiting:
        names = patient.catalog.projects.names()
        whole = sum(waiting.values())
        told = f"{whole:,} shared {'record waits' if whole == 1 else 'records wait'} for your review"
        places = ", ".join(f"{names.get(key, key)} {count:,}" for key, count in waiting.items())
        yield Check("sharing", "ok", f"{told}: {places}", "ragmem share review")

"""Check operational.db: readable and complete, without full inboxes or messages to silent agents."""

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

"""`ragmem inspect transcripts`: the progress of reading transcripts, and what waits for vectors."""

from typing import TYPE_CHECKING, Any

from ragmem.cli.common import moment, open_memory, plural, prepare_stored, say_json, size, table, tell
from ragmem.cli.options import JsonOption, LimitOption
from ragmem.errors import EXIT_NO, EXIT_OK

if TYPE_CHECKING:
    from ragmem.storage.activity.transcripts import Transcript

DEFAULT_LIMIT = 20
WIDTH = 12

KEPT_DAYS = 30
"""Days after which Claude Code deletes transcripts, unless its `cleanupPeriodDays` says otherwise."""


def transcripts(limit: LimitOption = None, as_json: JsonOption = False) -> int:
    """Show how far each transcript was read, the latest first, and what is still unread."""
    from ragmem.services.reporting.transcript_list import transcript_states

    with open_memory() as memory:
        prepare_stored(memory)
        found = transcript_states(memory.catalog, memory.settings, home=memory.home)
    shown = found.read[: limit or DEFAULT_LIMIT]
    if as_json:
        say_json(
            {
                "schema": 1,
                "transcripts": [_shape(one) for one in shown],
                "read": len(found.read),
                "unread": len(found.unread),
                "unread_bytes": found.unread_bytes,
                "oldest_unread": moment(found.unread[0].modified) if found.unread else None,
                "waiting_for_vectors": found.waiting,
            }
        )
    elif shown:
        table(
            ("assistant", "session", "exchanges", "read", "last read", "project", "file"),
            [
                (
                    one.assistant,
                    one.session[:WIDTH],
                    one.exchanges,
                    size(one.size),
                    moment(one.read_at)[:16].replace("T", " "),
                    one.project,
                    one.path,
                )
                for one in shown
            ],
        )
    if len(found.read) > len(shown):
        tell(f"... and {len(found.read) - len(shown):,} more; -n shows them")
    if found.waiting:
        tell(f"{plural(found.waiting, 'exchange waits', 'exchanges wait')} for vectors")
    if found.unread:
        never = plural(len(found.unread), "transcript was", "transcripts were")
        tell(
            f"{never} never read, {size(found.unread_bytes)}, the oldest of "
            f"{found.unread[0].modified:%Y-%m-%d}: ragmem seed --source transcripts "
            f"(Claude Code deletes its own after {KEPT_DAYS} days)"
        )
    elif not found.read:
        tell("no transcripts were found")
    return EXIT_OK if found.read or found.unread else EXIT_NO


def _shape(one: "Transcript") -> dict[str, Any]:
    return {
        "path": one.path,
        "assistant": one.assistant,
        "session": one.session,
        "project": one.project,
        "exchanges": one.exchanges,
        "size": one.size,
        "position": one.position,
        "read_at": moment(one.read_at),
    }

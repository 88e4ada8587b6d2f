"""Notes of a project, each of some days before one moment."""

from datetime import UTC, datetime, timedelta

from ragmem.domain.model import Draft, Scope

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def store_note(memory, name, text, *, project, source="memory", days=10.0, rule=None, **more):
    """Store a text as a note that is so many days old, and return its id."""
    draft = Draft(
        source,
        more.pop("uri", f"/n/{name}"),
        text,
        title=more.pop("title", name),
        scope=Scope(project),
        event_time=NOW - timedelta(days=days),
        **more,
    )
    [one] = memory.ingest([draft], **({"rule": rule} if rule else {}))
    return one.id

"""What Tab offers of the memories: their ids, sources, projects, tags, specs and sessions."""

from collections.abc import Iterable

from ragmem.complete.rows import LIMIT, Pairs, above, places, rows, stored_or_nothing, told
from ragmem.config.places import SOURCES_FILE, shipped

FEWEST_LETTERS = 3
"""Of a word that is looked for in titles: a shorter one stands in most of them."""


def sources(prefix: str) -> Pairs:
    """Return the names of sources, stored and configured."""
    stored = dict(
        stored_or_nothing(
            "SELECT source, count(*) FROM memories WHERE source >= ? AND source < ?"
            f" GROUP BY source ORDER BY source LIMIT {LIMIT}",
            prefix,
            above(prefix),
        )
    )
    names = {name for name in _configured_sources() if name.startswith(prefix)}
    return [
        (name, told(stored[name]) if name in stored else "not seeded yet")
        for name in sorted(names | set(stored))
    ]


def _configured_sources() -> Iterable[str]:
    """Return the names in the headers of sources.toml; its values are not needed, so it is not parsed."""
    for path in (shipped(SOURCES_FILE), places().config / SOURCES_FILE):
        if path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("[sources."):
                    yield line.removeprefix("[sources.").partition("]")[0].strip("\"' ")


def projects(prefix: str) -> Pairs:
    """Return the names of projects, in any case."""
    # `user` is no project but a scope; every option that takes a project takes it.
    named = [("user", "what belongs to you and to no project")] if "user".startswith(prefix) else []
    folded = prefix.lower()
    return named + stored_or_nothing(
        "SELECT name, root FROM projects WHERE lower(name) >= ? AND lower(name) < ?"
        f" ORDER BY name, root LIMIT {LIMIT}",
        folded,
        above(folded),
    )


def memories(prefix: str) -> Pairs:
    """Return ids of memories."""
    return _by_id("memories", prefix)


def archived(prefix: str) -> Pairs:
    """Return ids of memories that lie in the archive."""
    # The whole row of each lies there as JSON.
    row = ", ".join(f"json_extract(memory, '$.{name}') AS {name}" for name in ("title", "kind", "event_at"))
    return _by_id(f"(SELECT id, {row}, archived_at AS updated_at FROM archive)", prefix)


def _by_id(table: str, prefix: str) -> Pairs:
    """Return ids that begin so, the latest first; where none does, those of titles with the words typed."""
    from ragmem.domain.model import SHORT_ID_LENGTH  # noqa: PLC0415 - only ids need it, and it costs 15 ms

    folded = prefix.lower()
    shown = "substr(id, 1, ?), kind || ' ' || date(event_at / 1000000, 'unixepoch') || ': ' || title"
    # What was archived twice is one memory.
    latest = f"GROUP BY id ORDER BY max(updated_at) DESC, id LIMIT {LIMIT}"
    length = max(SHORT_ID_LENGTH, len(prefix))
    condition = "WHERE id >= ? AND id < ?" if prefix else "WHERE ? <= ?"
    found = rows(f"SELECT {shown} FROM {table} {condition} {latest}", length, folded, above(folded))
    words = [word for word in folded.split() if len(word) >= FEWEST_LETTERS]
    if found or not words:
        return found
    condition = " AND ".join("instr(lower(title), ?)" for _ in words)
    return rows(f"SELECT {shown} FROM {table} WHERE {condition} {latest}", SHORT_ID_LENGTH, *words)


def tags(prefix: str) -> Pairs:
    """Return tags."""
    return [
        (tag, told(count))
        for tag, count in rows(
            "SELECT value, count(*) FROM memories, json_each(memories.tags)"
            f" WHERE value >= ? AND value < ? GROUP BY value ORDER BY count(*) DESC, value LIMIT {LIMIT}",
            prefix,
            above(prefix),
        )
    ]


def specs(prefix: str) -> Pairs:
    """Return specs."""
    return [
        (spec, told(count))
        for spec, count in rows(
            "SELECT spec, count(*) FROM memories WHERE spec >= ? AND spec < ?"
            f" GROUP BY spec ORDER BY spec LIMIT {LIMIT}",
            prefix,
            above(prefix),
        )
    ]


def sessions(prefix: str) -> Pairs:
    """Return ids of sessions of assistants."""
    # Those that asked or were told something, and those that left a transcript; the latest first.
    return rows(
        "SELECT session, 'last seen ' || date(max(at) / 1000000, 'unixepoch') FROM ("
        "SELECT session, recalled_at AS at FROM recalled_in UNION ALL"
        " SELECT session, injected_at FROM injections UNION ALL SELECT session, read_at FROM transcripts)"
        f" WHERE session >= ? AND session < ? GROUP BY session ORDER BY max(at) DESC LIMIT {LIMIT}",
        prefix,
        above(prefix),
    )


def runs(prefix: str) -> Pairs:
    """Return runs of gc that can be undone."""
    return [
        (run, told(count))
        for run, count in rows(
            "SELECT run, count(*) FROM archive WHERE run >= ? AND run < ?"
            f" GROUP BY run ORDER BY max(archived_at) DESC LIMIT {LIMIT}",
            prefix,
            above(prefix),
        )
    ]

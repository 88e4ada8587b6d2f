"""What Tab offers of the memories: their ids, sources, projects, tags, specs and sessions."""

from collections.abc import Iterable

from ragmem.complete.rows import LIMIT, Pairs, above, places, rows, stored_or_nothing, told
from ragmem.config.places import SOURCES_FILE, shipped

FEWEST_LETTERS = 3
"""Of a word that is looked for in titles: a shorter one stands in most of them."""

SHORT_ID_LENGTH = 12
"""As `domain.model` has it, which would take as long to import as all the rest; a test holds them equal."""


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
    scopes = {"user": "what belongs to you and to no project", "unassigned": "what names no known project"}
    named = [(name, hint) for name, hint in scopes.items() if name.startswith(prefix)]
    folded = prefix.lower()
    return named + stored_or_nothing(
        "SELECT name, root FROM projects WHERE lower(name) >= ? AND lower(name) < ?"
        f" AND id NOT IN (SELECT alias FROM project_aliases) ORDER BY name, root LIMIT {LIMIT}",
        folded,
        above(folded),
    )


def parts(prefix: str) -> Pairs:
    """Return what can be split off a project: former ids, remotes and folders."""
    return rows(
        "SELECT alias, 'was ' || name FROM project_aliases WHERE alias >= ?1 AND alias < ?2"
        " UNION SELECT r.remote, p.name FROM project_remotes r JOIN projects p ON p.id = r.project"
        " WHERE r.remote >= ?1 AND r.remote < ?2"
        " UNION SELECT s.path, p.name FROM project_paths s JOIN projects p ON p.id = s.project"
        f" WHERE s.path >= ?1 AND s.path < ?2 ORDER BY 1 LIMIT {LIMIT}",
        prefix,
        above(prefix),
    )


def folders(prefix: str) -> Pairs:
    """Return the folders of projects, also those that are gone."""
    return rows(
        "SELECT s.path, p.name FROM project_paths s JOIN projects p ON p.id = s.project"
        f" WHERE s.path >= ? AND s.path < ? ORDER BY s.path LIMIT {LIMIT}",
        prefix,
        above(prefix),
    )


def memories(prefix: str) -> Pairs:
    """Return ids of memories, the latest first."""
    # By number, not by moment: what stands behind the text in a row costs reading the text.
    return _by_id("memories", "n DESC", prefix)


def archived(prefix: str) -> Pairs:
    """Return ids of memories that lie in the archive, the latest first."""
    # The whole row of each lies there as JSON. What was archived twice is one memory.
    row = ", ".join(f"json_extract(memory, '$.{name}') AS {name}" for name in ("title", "kind", "event_at"))
    table = f"(SELECT id, {row}, max(archived_at) AS latest FROM archive GROUP BY id)"
    return _by_id(table, "latest DESC, id", prefix)


def _by_id(table: str, order: str, prefix: str) -> Pairs:
    """Return ids that begin so; where none does, those of memories whose titles have the words typed."""
    folded = prefix.lower()
    words = [word for word in folded.split() if len(word) >= FEWEST_LETTERS]
    ask = (
        "SELECT substr(id, 1, ?), kind || ' ' || date(event_at / 1000000, 'unixepoch') || ': ' || title"
        f" FROM {table}"
    )
    end = f"ORDER BY {order} LIMIT {LIMIT}"
    if not prefix:
        return rows(f"{ask} {end}", SHORT_ID_LENGTH)
    length = max(SHORT_ID_LENGTH, len(prefix))
    # The plus lets the index of ids be used, of which few begin so, and not the order.
    begun = rows(
        f"{ask} WHERE id >= ? AND id < ? ORDER BY +{order} LIMIT {LIMIT}", length, folded, above(folded)
    )
    if begun or not words:
        return begun
    titled = " AND ".join("instr(lower(title), ?)" for _ in words)
    return rows(f"{ask} WHERE {titled} {end}", SHORT_ID_LENGTH, *words)


def tags(prefix: str) -> Pairs:
    """Return tags, those of most memories first."""
    return _counted("value", "memories, json_each(memories.tags)", "count(*) DESC, value", prefix)


def specs(prefix: str) -> Pairs:
    """Return specs."""
    return _counted("spec", "memories", "spec", prefix)


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
    """Return runs of gc that can be undone, the latest first."""
    return _counted("run", "archive", "max(archived_at) DESC", prefix)


def ingested(prefix: str) -> Pairs:
    """Return runs that stored memories, the latest first."""
    from ragmem.domain.model import digest  # noqa: PLC0415 - only these runs need it, and it costs 15 ms

    # As `storage.activity.storing_runs` names them.
    named = [
        (digest("stored", stamp)[:8], hint)
        for stamp, hint in rows(
            "SELECT updated_at, datetime(updated_at / 1000000, 'unixepoch') || ', ' || count(*)"
            " FROM memories GROUP BY updated_at ORDER BY updated_at DESC"
        )
    ]
    return [(run, _told_at(hint)) for run, hint in named if run.startswith(prefix.lower())]


def _told_at(hint: str) -> str:
    """Return a moment and a count of memories as a hint."""
    at, _, count = hint.rpartition(", ")
    return f"{at}, {told(count)}"


def _counted(name: str, table: str, order: str, prefix: str) -> Pairs:
    """Return the values that begin so, each with how many memories have it."""
    ask = f"SELECT {name}, count(*) FROM {table} WHERE {name} >= ? AND {name} < ?"
    found = rows(f"{ask} GROUP BY {name} ORDER BY {order} LIMIT {LIMIT}", prefix, above(prefix))
    return [(value, told(count)) for value, count in found]

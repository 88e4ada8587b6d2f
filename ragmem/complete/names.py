"""What Tab offers beside memories: entities and their merges, symbols, models, agents, rules."""

import os
from pathlib import Path

from ragmem.complete.rows import LIMIT, Pairs, above, places, rows

OPERATIONAL_NAME = "operational.db"
"""As `storage.operational` names it, which would take half of a Tab to import."""

GC_RULES = (
    "missing",
    "duplicate",
    "unfinished",
    "unowned",
    "unindexed",
    "template",
    "has substance",
    "declared",
    "moved",
    "replaced",
    "instead",
    "gone",
    "former",
    "no longer",
    "now",
    "version",
    "value",
    "former value",
    "opposite",
    "negated",
    "cluster",
    "no-substance",
    "substance",
    "diamond",
    "bad-feedback",
    "recalled",
)
"""As `services.lifecycle.items` has them; a test holds them equal."""


def entities(prefix: str) -> Pairs:
    """Return names of entities, in any case."""
    folded = prefix.lower()
    # An entity stands once in each project; the best connected come first, as far as the shell keeps order.
    return [
        (name, "1 relation" if degree == "1" else f"{degree} relations")
        for name, degree in rows(
            "SELECT id, max(degree) FROM store_nodes WHERE folded >= ? AND folded < ?"
            f" GROUP BY id ORDER BY max(degree) DESC, id LIMIT {LIMIT}",
            folded,
            above(folded),
        )
    ]


def models(prefix: str) -> Pairs:
    """Return models that are on this machine."""
    from ragmem.config.hub import MODELS, SEPARATOR, hub_cache, subfolders  # noqa: PLC0415 - only models need it

    own = [folder.name for folder in subfolders(places().data / MODELS)]
    cached = [
        folder.name.removeprefix("models--")
        for folder in subfolders(hub_cache(os.environ, home=Path.home()))
        if folder.name.startswith("models--")
    ]
    hints = dict.fromkeys(cached, "in the cache of the hub") | dict.fromkeys(own, "fetched by ragmem")
    named = {"minilm": "the bundled embedding model"} | {
        name.replace(SEPARATOR, "/", 1): hint for name, hint in hints.items()
    }
    folded = prefix.lower()
    return [(name, hint) for name, hint in sorted(named.items()) if name.lower().startswith(folded)]


def symbols(prefix: str) -> Pairs:
    """Return names, qualified names and paths of indexed code."""
    # Each in the index that begins with the root; a dot makes a qualified name of it, a slash a path.
    column, table = ("path", "code_files") if "/" in prefix else ("name", "code_symbols")
    if "/" not in prefix and any(mark in prefix for mark in ".:#"):
        column = "qualified"
    hint = "t.language" if table == "code_files" else "t.kind || ' ' || f.path"
    files = "" if table == "code_files" else "JOIN code_files f ON f.n = t.file"
    return rows(
        f"SELECT t.{column}, min({hint}) FROM code_roots r JOIN {table} t ON t.root = r.n {files}"
        f" WHERE t.{column} >= ? AND t.{column} < ? GROUP BY t.{column} ORDER BY t.{column} LIMIT {LIMIT}",
        prefix,
        above(prefix),
    )


def merges(prefix: str) -> Pairs:
    """Return keys of merges, also by the names that were merged."""
    return _by_key(
        "SELECT project || char(31) || name || char(31) || rule,"
        " name || ' is ' || canonical || ', by ' || rule"
        " FROM entity_names WHERE canonical <> name ORDER BY canonical, name",
        prefix,
    )


def undone(prefix: str) -> Pairs:
    """Return keys of merges that were undone, also by the names that are kept apart."""
    return _by_key(
        "SELECT project || char(31) || name || char(31) || rule, name || ', no longer by ' || rule"
        " FROM entity_apart WHERE name <> '' ORDER BY name",
        prefix,
    )


def _by_key(sql: str, prefix: str) -> Pairs:
    from ragmem.domain.model import digest  # noqa: PLC0415 - only keys of merges need it, and it costs 15 ms

    # As `storage.names.merges` makes them.
    folded = prefix.lower()
    keyed = [(digest("merge", *parts.split("\x1f"), length=8), hint) for parts, hint in rows(sql)]
    found = [(key, hint) for key, hint in keyed if key.startswith(folded)]
    return found or [(key, hint) for key, hint in keyed if folded in hint.lower()]


def agents(prefix: str) -> Pairs:
    """Return the ids of agents, the latest first."""
    return _operational("SELECT id, status || ' ' || current_task FROM agents", "id", "seen_at", prefix)


def events(prefix: str) -> Pairs:
    """Return the types of events that happened, the latest first."""
    return _operational("SELECT type, 'latest by ' || agent FROM events", "type", "max(id)", prefix)


def _operational(sql: str, column: str, latest: str, prefix: str) -> Pairs:
    return rows(
        f"{sql} WHERE {column} >= ? AND {column} < ? GROUP BY {column} ORDER BY {latest} DESC LIMIT {LIMIT}",
        prefix,
        above(prefix),
        name=OPERATIONAL_NAME,
    )


def gc_rules(prefix: str) -> Pairs:
    """Return the rules by which gc does something."""
    return [(rule, "") for rule in GC_RULES if rule.startswith(prefix)]

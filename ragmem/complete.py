"""Values for Tab, from a read-only look into SQLite: no lock, no heavy import, silence when it fails."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from ragmem.catalog.sqlite import DATABASE_NAME
from ragmem.config.places import SOURCES_FILE, Places, find_places, shipped

LIMIT = 50
HINT_LENGTH = 60
PATIENCE = 0.2
"""Seconds that Tab waits for a database that another process holds."""

Pairs = Iterable[tuple[str, str]]


def complete(arguments: Sequence[str]) -> int:
    """Print `value TAB hint` lines for `KIND PREFIX`; always return 0, because Tab must never disturb."""
    kind, prefix = [*arguments, "", ""][:2]
    finder = FINDERS.get(kind)
    if finder is None:
        return 0
    try:
        # A value with a control character has no line of its own, and nobody could read it in a list.
        pairs = [(value, hint) for value, hint in finder(prefix) if value and value.isprintable()]
        text = "".join(f"{value}\t{_shortened(hint)}\n" for value, hint in pairs[:LIMIT])
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - nothing to offer is the answer to whatever is wrong with a home
        return 0
    return 0


def _shortened(hint: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in hint).split())
    return line if len(line) <= HINT_LENGTH else line[: HINT_LENGTH - 1] + "…"


def _places() -> Places:
    return find_places(os.environ, home=Path.home(), cwd=Path.cwd())


def _rows(sql: str, *parameters: str | int) -> list[tuple[str, str]]:
    path = _places().data / DATABASE_NAME
    if not path.is_file() or _is_elsewhere():
        return []
    # Without a write-ahead log nobody has the database open: reading it as immutable leaves no file behind,
    # and works where the folder is read-only.
    mode = "ro" if path.with_name(path.name + "-wal").exists() else "ro&immutable=1"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=PATIENCE)) as connection:
        return [(str(value), str(hint)) for value, hint in connection.execute(sql, parameters)]


def _is_elsewhere() -> bool:
    """Tell whether the memory lies in PostgreSQL, which Tab never asks; a file here is a former one then."""
    if profile := os.environ.get("RAGMEM_STORE_PROFILE"):
        return profile == "postgres"
    path = _places().config / "config.toml"
    if not path.is_file():
        return False
    table = ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        # Not parsed, which would cost more than the look into SQLite.
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            table = text.strip("[] ")
        name, _, value = text.partition("=")
        if f"{table}.{name.strip()}".strip(".") == "store.profile":
            return value.strip().strip("\"'") == "postgres"
    return False


def _above(prefix: str) -> str:
    """Return the text just above all texts with this prefix: unlike LIKE, no letter of it is a wildcard."""
    return prefix + "\U0010ffff"


def _count(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _sources(prefix: str) -> Pairs:
    stored = dict(
        _stored_or_nothing(
            "SELECT source, count(*) FROM memories WHERE source >= ? AND source < ?"
            f" GROUP BY source ORDER BY source LIMIT {LIMIT}",
            prefix,
            _above(prefix),
        )
    )
    names = {name for name in _configured_sources() if name.startswith(prefix)}
    return [
        (name, _count(int(stored[name])) if name in stored else "not seeded yet")
        for name in sorted(names | set(stored))
    ]


def _stored_or_nothing(sql: str, *parameters: str | int) -> list[tuple[str, str]]:
    """Return rows, or none from a damaged database: what the files of settings name can still be offered."""
    try:
        return _rows(sql, *parameters)
    except sqlite3.Error:
        return []


def _configured_sources() -> Iterable[str]:
    """Yield the names in the headers of sources.toml; its values are not needed, so it is not parsed."""
    for path in (shipped(SOURCES_FILE), _places().config / SOURCES_FILE):
        if path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("[sources."):
                    yield line.removeprefix("[sources.").partition("]")[0].strip("\"' ")


def _projects(prefix: str) -> Pairs:
    # `user` is no project but a scope; every option that takes a project takes it.
    named = [("user", "what belongs to you and to no project")] if "user".startswith(prefix) else []
    folded = prefix.lower()
    return named + _stored_or_nothing(
        "SELECT name, root FROM projects WHERE lower(name) >= ? AND lower(name) < ?"
        f" ORDER BY name, root LIMIT {LIMIT}",
        folded,
        _above(folded),
    )


def _memories(prefix: str) -> Pairs:
    from ragmem.domain.model import SHORT_ID_LENGTH  # noqa: PLC0415 - only ids need it, and it costs 15 ms

    folded = prefix.lower()
    return _rows(
        "SELECT substr(id, 1, ?), title FROM memories WHERE id >= ? AND id < ?"
        f" ORDER BY {'id' if prefix else 'updated_at DESC'} LIMIT {LIMIT}",
        max(SHORT_ID_LENGTH, len(prefix)),
        folded,
        _above(folded),
    )


def _entities(prefix: str) -> Pairs:
    folded = prefix.lower()
    # An entity stands once in each project; the best connected come first, as far as the shell keeps order.
    return [
        (name, "1 relation" if degree == "1" else f"{degree} relations")
        for name, degree in _rows(
            "SELECT id, max(degree) FROM store_nodes WHERE folded >= ? AND folded < ?"
            f" GROUP BY id ORDER BY max(degree) DESC, id LIMIT {LIMIT}",
            folded,
            _above(folded),
        )
    ]


def _tags(prefix: str) -> Pairs:
    return [
        (tag, _count(int(count)))
        for tag, count in _rows(
            "SELECT value, count(*) FROM memories, json_each(memories.tags)"
            f" WHERE value >= ? AND value < ? GROUP BY value ORDER BY count(*) DESC, value LIMIT {LIMIT}",
            prefix,
            _above(prefix),
        )
    ]


def _runs(prefix: str) -> Pairs:
    return [
        (run, _count(int(count)))
        for run, count in _rows(
            "SELECT run, count(*) FROM archive WHERE run >= ? AND run < ?"
            f" GROUP BY run ORDER BY max(archived_at) DESC LIMIT {LIMIT}",
            prefix,
            _above(prefix),
        )
    ]


def _kinds(prefix: str) -> Pairs:
    from ragmem.domain.model import Kind  # noqa: PLC0415 - only kinds need it, and it costs 15 ms

    return [(kind.value, "") for kind in Kind if kind.value.startswith(prefix)]


def _models(prefix: str) -> Pairs:
    from ragmem.config.hub import MODELS, SEPARATOR, hub_cache, subfolders  # noqa: PLC0415 - only models need it

    own = [folder.name for folder in subfolders(_places().data / MODELS)]
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


def _symbols(prefix: str) -> Pairs:
    # Each in the index that begins with the root; a dot makes a qualified name of it, a slash a path.
    column, table = ("path", "code_files") if "/" in prefix else ("name", "code_symbols")
    if "/" not in prefix and any(mark in prefix for mark in ".:#"):
        column = "qualified"
    hint = "t.language" if table == "code_files" else "t.kind || ' ' || f.path"
    files = "" if table == "code_files" else "JOIN code_files f ON f.n = t.file"
    return _rows(
        f"SELECT t.{column}, min({hint}) FROM code_roots r JOIN {table} t ON t.root = r.n {files}"
        f" WHERE t.{column} >= ? AND t.{column} < ? GROUP BY t.{column} ORDER BY t.{column} LIMIT {LIMIT}",
        prefix,
        _above(prefix),
    )


FINDERS: dict[str, Callable[[str], Pairs]] = {
    "entity": _entities,
    "kind": _kinds,
    "memory": _memories,
    "model": _models,
    "project": _projects,
    "run": _runs,
    "source": _sources,
    "symbol": _symbols,
    "tag": _tags,
}

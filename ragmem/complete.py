"""Values for Tab: read-only, without locks, without heavy imports, silent on errors."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ragmem.config.places import SOURCES_FILE, Places, find_default, find_places
from ragmem.storage import completion
from ragmem.storage.completion import LIMIT, Pairs
from ragmem.storage.operational import OPERATIONAL_NAME
from ragmem.storage.sql.sqlite import DATABASE_NAME

GC_RULES = (
    "missing",
    "duplicate",
    "unowned",
    "unindexed",
    "fold",
    "declared",
    "restated",
    "perhaps outdated",
    "judged outdated",
    "cold",
    "alone",
    "diamond",
    "bad-feedback",
    "recalled",
    "rated",
    "used",
)
"""The rules of `services.lifecycle.items`; a test holds them equal."""


def find_home() -> Places:
    """Return the four folders of this home."""
    return find_places(os.environ, home=Path.home(), cwd=Path.cwd())


def find_database() -> Path | None:
    """Return the path of the memory's database; None if the memory is in PostgreSQL."""
    return None if _is_elsewhere() else find_home().data / DATABASE_NAME


def _is_elsewhere() -> bool:
    """Return whether the memory is in PostgreSQL, which Tab never asks; a file here is then outdated."""
    if profile := os.environ.get("RAGMEM_STORE_PROFILE"):
        return profile == "postgres"
    path = find_home().config / "config.toml"
    if not path.is_file():
        return False
    table = ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        # Not parsed: that would cost more than the query in SQLite.
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            table = text.strip("[] ")
        name, _, value = text.partition("=")
        if f"{table}.{name.strip()}".strip(".") == "store.profile":
            return value.strip().strip("\"'") == "postgres"
    return False


def sources(prefix: str) -> Pairs:
    """Return the names of sources, stored and configured."""
    stored = dict(completion.sources(find_database(), prefix))
    names = {name for name in _configured_sources() if name.startswith(prefix)}
    return [(name, stored.get(name, "not seeded yet")) for name in sorted(names | set(stored))]


def _configured_sources() -> Iterable[str]:
    """Return the names in the headers of sources.toml; its values are not needed, so it is not parsed."""
    for path in (find_default(SOURCES_FILE), find_home().config / SOURCES_FILE):
        if path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("[sources."):
                    yield line.removeprefix("[sources.").partition("]")[0].strip("\"' ")


def projects(prefix: str) -> Pairs:
    """Return the names of projects, in any case."""
    # `user` is not a project but a scope: options that take a project take it, and `projects join` does not.
    scopes = {"user": "what belongs to you and to no project", "unassigned": "what names no known project"}
    found = [(name, hint) for name, hint in scopes.items() if name.startswith(prefix)]
    return found + completion.projects(find_database(), prefix)


def models(prefix: str) -> Pairs:
    """Return the models on this machine."""
    from ragmem.config.hub import MODELS, SEPARATOR, hub_cache, subfolders  # noqa: PLC0415 - only models need it

    own = [folder.name for folder in subfolders(find_home().data / MODELS)]
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


def gc_rules(prefix: str) -> Pairs:
    """Return the rules of gc."""
    return [(rule, "") for rule in GC_RULES if rule.startswith(prefix)]


def topics(prefix: str) -> Pairs:
    """Return the pages of the documentation."""
    folder = find_default("docs/README.md").parent
    names = sorted(path.stem for path in folder.glob("*.md"))
    return [(name, "") for name in names if name.startswith(prefix) and name != "README"]


HINT_LENGTH = 72


def complete(arguments: Sequence[str]) -> int:
    """Print `value TAB hint` lines for `KIND PREFIX`; always return 0, because Tab must never disturb."""
    kind, prefix = [*arguments, "", ""][:2]
    finder = FINDERS.get(kind)
    if finder is None:
        return 0
    try:
        # A value with a control character could span lines and be unreadable in a list.
        pairs = [(value, hint) for value, hint in finder(prefix) if value and value.isprintable()]
        text = "".join(f"{value}\t{_shorten(hint)}\n" for value, hint in pairs[:LIMIT])
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - a broken home completes nothing
        return 0
    return 0


def _shorten(hint: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in hint).split())
    return line if len(line) <= HINT_LENGTH else line[: HINT_LENGTH - 1] + "…"


def _in_memory(query: Callable[[Path | None, str], Pairs]) -> Callable[[str], Pairs]:
    return lambda prefix: query(find_database(), prefix)


def _in_operational(query: Callable[[Path | None, str], Pairs]) -> Callable[[str], Pairs]:
    # The data of agents is on this machine, wherever the memory is.
    return lambda prefix: query(find_home().data / OPERATIONAL_NAME, prefix)


FINDERS: dict[str, Callable[[str], Pairs]] = {
    "agent": _in_operational(completion.agents),
    "archived": _in_memory(completion.archived),
    "entity": _in_memory(completion.entities),
    "event": _in_operational(completion.events),
    "folder": _in_memory(completion.folders),
    "ingested": _in_memory(completion.storing_runs),
    "member": _in_memory(completion.members),
    "memory": _in_memory(completion.memories),
    "merge": _in_memory(completion.merges),
    "model": models,
    "part": _in_memory(completion.project_parts),
    "project": projects,
    "real-project": _in_memory(completion.projects),
    "proposal": _in_memory(completion.proposals),
    "rule": gc_rules,
    "run": _in_memory(completion.gc_runs),
    "session": _in_memory(completion.sessions),
    "shared": _in_memory(completion.shared),
    "source": sources,
    "spec": _in_memory(completion.specs),
    "symbol": _in_memory(completion.symbols),
    "tag": _in_memory(completion.tags),
    "topic": topics,
    "undone": _in_memory(completion.undone_merges),
}
"""The completer of each KIND; each takes the prefix typed so far."""

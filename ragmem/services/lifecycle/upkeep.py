"""The rules of gc that keep the store in order: for missing, duplicate, unowned and unindexed memories."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ragmem.config.settings import Settings
from ragmem.domain.lifecycle.folds import FEWEST_WORDS
from ragmem.domain.model import EPISODES, SHARED, UNASSIGNED, Memory, State, possible_files
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Decision, LifecyclePolicy, LifecycleState
from ragmem.ports import Store
from ragmem.services.ingestion.index import deferred_ids
from ragmem.services.ingestion.scope import project_finder
from ragmem.services.ingestion.source import RepositoryFinder, find_files, read_file
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import DUPLICATE

UNOWNED = "unowned"
"""The rule for entries of the store without a memory in the catalog."""

GONE = "its source no longer has it"
"""The beginning of the reason for a decision on a missing memory."""


def find_missing_memories(catalog: Catalog, settings: Settings, *, home: Path) -> set[str]:
    """Return the ids of seeded memories that their source no longer has.

    Memories of sources that are not configured (any more) are ignored, and so are those of transcripts,
    because assistants delete their files after some weeks. An unreadable file counts as present, and so do
    files behind a link that leads out of its folder. If several machines share the memory, a file can be
    missing here only if this machine has seeded it and no other one has it.
    """
    projects = project_finder(catalog, home=home)
    missing: set[str] = set()
    watched = [name for name, spec in settings.sources.items() if spec.reader != "transcripts"]
    repositories = RepositoryFinder(home, settings)
    by_source: dict[str, list[tuple[str, str]]] = {}
    for identifier, source, uri in catalog.overview.places(sources=watched) if watched else ():
        by_source.setdefault(source, []).append((identifier, uri))
    for name, held in by_source.items():
        spec = settings.sources[name]
        discovery = find_files(spec, home=home, settings=settings, repositories=repositories)
        files = {str(path) for path in discovery.files}
        unread = {one.path for one in discovery.skipped if one.leads_out}
        ours = catalog.files.seen_files(name).keys() - catalog.files.paths_elsewhere(name)
        entries: dict[str, set[str] | None] = {}
        for identifier, uri in held:
            if uri in files:
                continue
            # An entry of a file: path#key. A path may hold a "#" of its own, a key never does.
            path, separator, _ = uri.rpartition("#")
            if catalog.files.is_shared and not {uri, path} & ours:
                continue
            if path not in files and unread.isdisjoint((Path(uri), Path(path), *Path(path).parents)):
                missing.add(identifier)
            elif (
                path in files and separator and spec.reader != "documents"
            ):  # whose pages seed looks at as it reads them
                if path not in entries:
                    reading = read_file(Path(path), spec, settings=settings, projects=projects)
                    entries[path] = None if reading.error else {draft.uri for draft in reading.drafts}
                present = entries[path]
                if present is not None and uri not in present:
                    missing.add(identifier)
    return missing


def find_superfluous(
    catalog: Catalog,
    *,
    policy: LifecyclePolicy,
    gone: Collection[str],
    projects: Sequence[str] | None,
) -> list[Decision]:
    """Return the decisions on memories that their source no longer has (`gone`) and on duplicates.

    A protected, pinned or proven memory stays unless another one of its scope has exactly the same text; of
    duplicates the protected one stays, else one whose file was still there at the last seed, else the oldest.
    Each page of a document stays, and so do a few words of a session, or below a title of their own.
    """
    groups = _duplicates(catalog)
    doubled = {identifier for group in groups for identifier in group}
    entries = catalog.lives.find_entries(doubled.union(gone), policy=policy)
    # Unassigned memories may be from different projects.
    entries = {
        key: entry for key, entry in entries.items() if key in gone or entry.scope.project != UNASSIGNED
    }
    if projects is not None:
        entries = {key: entry for key, entry in entries.items() if entry.scope.project in projects}
    few = {key for key, entry in entries.items() if len(entry.text.split()) < FEWEST_WORDS}
    # A reader looks for a page in its own document, and "Yes." means what was asked.
    placed = {
        key
        for key, entry in entries.items()
        if is_of_document(entry.memory.metadata) or (entry.memory.source in EPISODES and key in few)
    }.difference(gone)
    # "To do." means what the title names.
    titles = {key: entries[key].memory.title for key in few}
    groups = [part for group in groups for part in apart(group, titles)]
    kept = {
        key: entry.is_protected or (entry.life is not LifecycleState.BUFFER and not entry.curated)
        for key, entry in entries.items()
    }
    without_file = catalog.files.gone() if groups else set()
    decided: dict[str, Decision] = {}
    for group in groups:
        here = [one for one in group if one in entries and one not in decided and one not in placed]
        lasting = [identifier for identifier in here if identifier not in gone]
        if not here:
            continue
        # Prefer a memory that its source still has, then one that counts, then a protected one.
        keeper = min(
            lasting or here,
            key=lambda one: (
                entries[one].approval.is_withheld,
                entries[one].memory.source == SHARED,
                not kept[one],
                not without_file.isdisjoint(_places(entries[one].memory)),
                here.index(one),
            ),
        )
        for identifier in here:
            same = f"the same text as {keeper[:12]}"
            if identifier == keeper:
                continue
            if identifier in gone and not entries[identifier].pinned and lasting:
                left = f"{GONE}, and it is {same}"
                decided[identifier] = Decision(identifier, "remove", "missing", left, (keeper,))
            elif entries[identifier].memory.source == SHARED:
                reason = f"a duplicate of {keeper[:12]}, but its author withdrew it"
                decided[identifier] = Decision(identifier, "keep", "shared", reason, (keeper,))
            elif kept[identifier]:
                reason = f"a duplicate of {keeper[:12]}, but protected"
                decided[identifier] = Decision(identifier, "keep", "protected", reason, (keeper,))
            else:
                decided[identifier] = Decision(identifier, "remove", DUPLICATE, same, (keeper,))
    missing = [key for key in sorted(gone) if key in entries and key not in decided]
    return [*decided.values(), *(_missing(key, is_kept=kept[key]) for key in missing)]


def _places(memory: Memory) -> list[tuple[str, str]]:
    return [(memory.source, path) for path in possible_files(memory.uri)]


def _missing(identifier: str, *, is_kept: bool) -> Decision:
    if is_kept:
        return Decision(identifier, "keep", "protected", f"{GONE}, but it is protected")
    return Decision(identifier, "remove", "missing", GONE)


def _duplicates(catalog: Catalog) -> list[list[str]]:
    readers = catalog.memories.readers()
    groups = ([identifier for identifier, _ in group] for _, group in catalog.overview.duplicates())
    return [part for group in groups for part in apart(group, readers)]


def apart(ids: Iterable[str], by: Mapping[str, str]) -> list[list[str]]:
    """Return ids in groups with the same value: no memory represents one that other members see."""
    groups: dict[str, list[str]] = {}
    for identifier in ids:
        groups.setdefault(by.get(identifier, ""), []).append(identifier)
    return list(groups.values())


def find_inconsistent(catalog: Catalog, store: Store, *, removing: Collection[str]) -> Iterator[Decision]:
    """Yield decisions on entries that only the store or only the catalog has.

    Transcripts that wait for their vectors are ignored.
    """
    stored = store.memory_ids()
    pending = catalog.memories.ids(states=[State.PENDING])
    unfinished = pending - deferred_ids(catalog)
    indexed = catalog.memories.ids(states=[State.INDEXED])
    for identifier in sorted(stored - indexed - pending):
        yield Decision(identifier, "drop", UNOWNED, "in the store but not in the catalog")
    for identifier in sorted((unfinished | (indexed - stored)).difference(removing)):
        yield Decision(identifier, "mend", "unindexed", "in the catalog but not in the store")

"""Find memories that their source no longer has: the file is gone, or no longer has the entry."""

from pathlib import Path

from ragmem.config.settings import Settings
from ragmem.services.ingestion.scope import project_finder
from ragmem.services.ingestion.source import RepositoryFinder, find_files, read_file
from ragmem.storage.home.catalog import Catalog


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

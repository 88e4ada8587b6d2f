"""Memories that have left their source: the file is gone, or no longer has the entry."""

from pathlib import Path

from ragmem.config import Settings
from ragmem.services.ingestion.scope import finder
from ragmem.services.ingestion.source import find_files, read_file
from ragmem.storage.home.catalog import Catalog


def find_gone_sources(catalog: Catalog, settings: Settings, *, home: Path) -> set[str]:
    """Return the ids of seeded memories that their source no longer has.

    A memory whose source is not configured (any more) is left alone: it did not come from a file we watch.
    So is what a transcript told: assistants delete theirs after some weeks, and it was said all the same.
    A file that is there but cannot be read now counts as there, and so does what lies behind a link that
    leads out of its folder. Where several machines share the memory, only
    files that this one has seeded can be missing here, and not while another one has them.
    """
    projects = finder(catalog, home=home)
    missing: set[str] = set()
    watched = [name for name, spec in settings.sources.items() if spec.reader != "transcripts"]
    by_source: dict[str, list[tuple[str, str]]] = {}
    for identifier, source, uri in catalog.overview.places(sources=watched) if watched else ():
        by_source.setdefault(source, []).append((identifier, uri))
    for name, held in by_source.items():
        spec = settings.sources[name]
        discovery = find_files(spec, home=home, settings=settings)
        files = {str(path) for path in discovery.files}
        unread = {one.path for one in discovery.skipped if one.leads_out}
        ours = catalog.files.seen(name).keys() - catalog.files.elsewhere(name)
        entries: dict[str, set[str] | None] = {}
        for identifier, uri in held:
            if uri in files:
                continue
            # An entry of a file: path#key. A path may hold a "#" of its own, a key never does.
            path, separator, _ = uri.rpartition("#")
            if catalog.files.shared and not {uri, path} & ours:
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

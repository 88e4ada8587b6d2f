"""The files of a source as seed saw them last, so that it does not open unchanged ones again."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragmem import __version__
from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.model import Memory, digest, possible_files
from ragmem.readers.discover import Discovery
from ragmem.readers.read_result import ReadResult
from ragmem.services.ingestion.classify import rules_version
from ragmem.services.ingestion.documents import (
    costly_message,
    costly_rules,
    documents_rules,
    is_costly,
    is_unread_picture,
)
from ragmem.services.seeding.report import Problem, SeedReport, Tally
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import GONE, SeenFile

UNREADABLE = f"!{__version__}"
"""The rules of a file that this release could not read: a seed tries it again, a setup waits for none."""

DATES_VERSION = "dates 6"
"""Changed when the rules for dates change: seed reads files again, and sets dates without new vectors."""


class SeenFiles:
    """The files of one source as the last run left them; with `anew` none is known."""

    def __init__(
        self,
        catalog: Catalog,
        spec: SourceSpec,
        settings: Settings,
        *,
        anew: bool,
        named: str = "",
        orphans: Iterable[Memory] = (),
    ) -> None:
        """Load the files; `named` changes when the texts of this source may name other projects.

        The files of `orphans` count as changed: gc archived their texts as duplicates of others that left.
        """
        self._catalog = catalog
        self._source = spec.name
        self._rules = _rules_of(spec, settings, named)
        self._given_up = costly_rules(self._rules, settings)
        self._has_vision = bool(settings.documents.vision)
        self._anew = anew
        self._seen = {} if anew else catalog.files.seen_files(spec.name)
        self._orphaned = {
            path for one in orphans if one.source == spec.name for path in possible_files(one.uri)
        }

    def is_unchanged(self, path: Path, size: int, modified_ns: int) -> bool:
        """Return whether a file and the rules for reading it are the same as before."""
        before = self._seen.get(str(path))
        if (
            before is None
            or str(path) in self._orphaned
            or (before.size, before.modified_ns) != (size, modified_ns)
        ):
            return False
        return before.rules in {self._rules, self._given_up}

    def is_known(self, path: Path) -> bool:
        """Return whether a file may have been read before."""
        return self._anew or str(path) in self._seen

    def count(self, path: Path, tally: Tally, report: SeedReport) -> None:
        """Count an unchanged file as it was counted then; report one that exceeded a limit."""
        before = self._seen[str(path)]
        for tier, count in before.tally.items():
            tally.add("found", "unchanged", tier, count=count)
        if before.rules == self._given_up:
            tally.failed += 1
            report.problems.append(Problem(self._source, str(path), costly_message(str(path))))

    def record(self, reading: ReadResult, counts: Mapping[str, int]) -> SeenFile:
        """Return the record of a file that was read."""
        return SeenFile(
            self._source, str(reading.path), reading.size, reading.modified_ns, self._rules, counts
        )

    def failure_record(self, reading: ReadResult) -> SeenFile:
        """Return the record of a file that could not be read; what it once gave is kept.

        A document that exceeded a limit is not tried again before something changes, nor is a picture without
        text, unless a model is to describe it.
        """
        path = str(reading.path)
        rules, before = UNREADABLE, self._seen.get(path)
        if is_costly(reading):
            rules, before = self._given_up, None
        elif is_unread_picture(reading) and not self._has_vision:
            rules = self._rules
        tally = before.tally if before else {}
        return SeenFile(self._source, path, reading.size, reading.modified_ns, rules, tally)

    def mark_missing(self, discovery: Discovery, *, dry_run: bool) -> int:
        """Mark the files that this machine no longer has; return how many memories there are of them.

        A file below a folder that cannot be read counts as present.
        """
        present, unread = {str(path) for path in discovery.files}, {one.path for one in discovery.skipped}
        gone = {
            path
            for path, file in self._seen.items()
            if path not in present
            and file.size != GONE
            and unread.isdisjoint((Path(path), *Path(path).parents))
        }
        if not gone:  # nearly always, and there may be many memories
            return 0
        if not dry_run:
            self._catalog.files.mark_gone(self._source, sorted(gone))
        places = self._catalog.overview.places(sources=[self._source])
        return sum(not gone.isdisjoint(possible_files(uri)) for _, _, uri in places)


def _rules_of(spec: SourceSpec, settings: Settings, named: str) -> str:
    """Return a hash of everything that decides how a file of this source is read and classified."""
    sizes = settings.chunking
    parts: list[object] = [spec.reader, spec.kind, spec.scope, spec.signal, sizes.max_chars, sizes.min_chars]
    if spec.reader == "documents":
        # To read them all again for their dates would cost too much.
        parts += documents_rules(settings)
    else:
        parts.append(DATES_VERSION)
    if named:
        parts.append(named)
    return digest(
        "rules", rules_version(redactor=settings.redactor), *(str(part) for part in parts), length=12
    )


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Paths in order, those without a memory, and the number of memories by tier."""

    paths: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)


def files_of(catalog: Catalog, source: str) -> SourceFiles:
    """Return the files of a source that still exist; none where nothing was ever seeded."""
    if not catalog.exists():
        return SourceFiles()
    there = {path: file for path, file in catalog.files.seen_files(source).items() if file.size != GONE}
    tally: Counter[str] = Counter()
    for file in there.values():
        tally.update({name: count for name, count in file.tally.items() if count})
    paths = tuple(sorted(there))
    without = tuple(path for path in paths if not any(there[path].tally.values()))
    return SourceFiles(paths, without, dict(sorted(tally.items())))

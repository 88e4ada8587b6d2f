"""Which files of a source are as seed saw them last, so that it does not open them again."""

from collections.abc import Mapping
from pathlib import Path

from ragmem.config import Settings, SourceSpec
from ragmem.domain.model import digest
from ragmem.readers.discover import Discovery
from ragmem.readers.reading import Reading
from ragmem.services.ingestion.classify import rules_version
from ragmem.services.ingestion.documents import documents_rules, given_up_rules, told_given_up
from ragmem.services.seeding.report import Problem, SeedReport, Tally
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import GONE, SeenFile

DATES_VERSION = "dates 2"
"""Changed when files are dated by other rules: seed reads them again, and sets dates without new vectors."""


class Seen:
    """The files of one source, as the last run left them; with `anew` none is known."""

    def __init__(
        self, catalog: Catalog, spec: SourceSpec, settings: Settings, *, anew: bool, named: str = ""
    ) -> None:
        """`named` changes when the texts of this source may name other projects than before."""
        self._catalog = catalog
        self._source = spec.name
        self._rules = _rules_of(spec, settings, named)
        self._given_up = given_up_rules(self._rules, settings)
        self._anew = anew
        self._seen = {} if anew else catalog.files.seen(spec.name)

    def unchanged(self, path: Path, size: int, modified_ns: int) -> bool:
        """Tell whether a file is as it was, and so are the rules by which it was read."""
        before = self._seen.get(str(path))
        if before is None or (before.size, before.modified_ns) != (size, modified_ns):
            return False
        return before.rules in {self._rules, self._given_up}

    def is_known(self, path: Path) -> bool:
        """Tell whether a file may have been read before."""
        return self._anew or str(path) in self._seen

    def count(self, path: Path, tally: Tally, report: SeedReport) -> None:
        """Count an unchanged file as it was counted then; tell of one that took too much."""
        before = self._seen[str(path)]
        for tier, count in before.tally.items():
            setattr(tally, tier, getattr(tally, tier) + count)
            tally.found += count
            tally.unchanged += count
        if before.rules == self._given_up:
            tally.failed += 1
            report.problems.append(Problem(self._source, str(path), told_given_up(str(path))))

    def read(self, reading: Reading, counts: Mapping[str, int]) -> SeenFile:
        """Return the record of a file that was read."""
        return SeenFile(
            self._source, str(reading.path), reading.size, reading.modified_ns, self._rules, counts
        )

    def given_up(self, reading: Reading) -> SeenFile:
        """Return the record of a document that exceeded a limit."""
        return SeenFile(
            self._source, str(reading.path), reading.size, reading.modified_ns, self._given_up, {}
        )

    def tell_what_is_gone(self, discovery: Discovery) -> None:
        """Tell other machines which files this one has no more."""
        present = {str(path) for path in discovery.files}
        known = self._catalog.files.seen(self._source)
        if gone := [path for path, file in known.items() if path not in present and file.size != GONE]:
            self._catalog.files.mark_gone(self._source, gone)


def _rules_of(spec: SourceSpec, settings: Settings, named: str) -> str:
    """Return a hash of all that decides how a file of this source is read and judged."""
    sizes = settings.chunking
    parts: list[object] = [spec.reader, spec.kind, spec.scope, spec.signal, sizes.max_chars, sizes.min_chars]
    if spec.reader == "documents":
        # To read them all anew for the sake of their dates would cost too much.
        parts += documents_rules(settings)
    else:
        parts.append(DATES_VERSION)
    if named:
        parts.append(named)
    return digest(
        "rules", rules_version(redactor=settings.redactor), *(str(part) for part in parts), length=12
    )

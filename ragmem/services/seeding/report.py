"""The report of a seeding: counts per source, decisions, problems."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Self

from ragmem.domain.model import Memory, Tier
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.discover import SkippedPath
from ragmem.readers.files import show
from ragmem.services.entities.extraction import ExtractionReport
from ragmem.services.entities.recognition import RecognitionReport
from ragmem.services.ingestion.classify import ClassifiedMemory
from ragmem.services.ingestion.ingest import Change
from ragmem.services.processes.refusals import Refusal
from ragmem.services.seeding.unread import Unread


@dataclass(slots=True)
class Tally:
    """The counts of one source; found = new + changed + unchanged + archived, over all tiers."""

    source: str
    files: int = 0
    found: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    archived: int = 0
    """Those whose text was archived from this place; a changed text is stored again."""
    ingest: int = 0
    summarize: int = 0
    discard: int = 0
    failed: int = 0

    def add(self, *names: str, count: int = 1) -> None:
        """Add a count to the fields of these names."""
        for name in names:
            setattr(self, name, getattr(self, name) + count)


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or an entry in it, that could not be read, or was read with a warning."""

    source: str
    place: str
    reason: str
    level: Literal["failed", "warning"] = "failed"


@dataclass(frozen=True, slots=True)
class Decision:
    """What seed decided about one draft, for `--explain`."""

    source: str
    uri: str
    title: str
    id: str
    change: Change
    tier: Tier
    reason: str
    kind: str

    @classmethod
    def of(cls, item: ClassifiedMemory, change: Change, redactor: Redactor | None = None) -> Self:
        """Return the decision about a draft and its change; with a redactor it quotes sentences."""
        memory = item.memory
        return cls(
            memory.source,
            memory.uri,
            memory.title,
            memory.id,
            change,
            memory.tier,
            item.explain(redactor) if redactor else item.signal.reason,
            memory.kind.value,
        )


@dataclass(slots=True)
class StreamReport:
    """What was read of transcripts: full text finds it at once, vectors follow."""

    files: int = 0
    """Files that had something new."""
    exchanges: int = 0
    bytes: int = 0
    seconds: float = 0.0
    doubled: int = 0
    buffered: int = 0
    waiting: int = 0
    """Exchanges that wait for vectors."""


@dataclass(slots=True)
class SeedReport:
    """What a seeding did, or would do."""

    tallies: list[Tally] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    resumed: int = 0
    shrunk: int = 0
    """Documents that lost some of their pages."""
    lost: int = 0
    """Memories of files that are gone since the last run."""
    characters: int = 0
    chunks: int = 0
    seconds: float = 0.0
    searchable_seconds: float = 0.0
    """Seconds until full text found all that was read; vectors and graph are made afterwards."""
    dry_run: bool = False
    run: str = ""
    """The name of this run, where it stored anything; see `storage.activity.storing_runs`."""
    extraction: ExtractionReport | None = None
    """What the language model extracted; None where only rules are used."""
    recognition: RecognitionReport | None = None
    """What the model for named entities read; None without one."""
    indexed: int = 0
    """Memories that got their vectors in this run."""
    pending: int = 0
    """Memories that are stored and found by full text, but have no vectors yet."""
    note: str = ""
    """Why no vectors could be made; empty where they were made, or where nobody waits for them."""
    streamed: StreamReport | None = None
    """What was read of transcripts; None without such a source."""
    rejected: int = 0
    """Memories of sources that were not read that the model or the store rejected; each is a problem too."""
    unread: list[Unread] = field(default_factory=list)
    """What a seed of all sources saw and did not read."""
    cut: str = ""
    """Why there may be more repositories than were found; empty if all were."""
    quotes: Redactor | None = None
    """What hides secrets of the sentences that decisions quote; None: they quote none."""
    _rejected: set[str] = field(default_factory=set)

    def decide(self, item: ClassifiedMemory, change: Change) -> None:
        """Record the decision about a draft."""
        self.decisions.append(Decision.of(item, change, self.quotes))

    def skip(self, tally: Tally, left_out: Iterable[SkippedPath]) -> None:
        """Report the paths of a source that seed skips; a link that leads outside is not a failure."""
        for one in left_out:
            tally.failed += not one.leads_out
            level: Literal["failed", "warning"] = "warning" if one.leads_out else "failed"
            self.problems.append(Problem(tally.source, show(one.path), one.reason, level))

    def refuse(self, memory: Memory, change: Change, refusal: Refusal) -> None:
        """Report that a memory of this run was rejected, either completely or by the embedder only."""
        tally = next(one for one in self.tallies if one.source == refusal.source)
        if not refusal.is_stored:
            tally.add("found", change, memory.tier.value, count=-1)
        tally.failed += 1
        self._rejected.add(memory.id)
        self.problems.append(Problem(refusal.source, refusal.uri, refusal.message))

    def recount(self, item: ClassifiedMemory, change: Change) -> None:
        """Report that a new memory is not new, because another process stored it in the meantime."""
        tally = next(one for one in self.tallies if one.source == item.memory.source)
        tally.add("new", count=-1)
        tally.add(change)
        if change == "unchanged":
            self.characters -= len(item.memory.text)
            self.chunks -= len(item.chunks)

    def count(self, tally: Tally, item: ClassifiedMemory, change: Change) -> None:
        """Count a classified draft, and the size of what is stored of it."""
        memory = item.memory
        tally.add("found", change, memory.tier.value)
        if change in {"new", "changed"} and not item.is_left_out:
            self.characters += len(memory.text)
            self.chunks += len(item.chunks)

    def reject(self, refusals: Iterable[Refusal]) -> None:
        """Report memories that stay pending, each once."""
        tallies = {tally.source: tally for tally in self.tallies}
        for one in refusals:
            if one.id not in self._rejected:
                self._rejected.add(one.id)
                if one.source in tallies:
                    tallies[one.source].failed += 1
                else:
                    self.rejected += 1
                self.problems.append(Problem(one.source, one.uri, one.message))

    @property
    def failed(self) -> int:
        """Return how many files or entries could not be read or stored."""
        return sum(tally.failed for tally in self.tallies) + self.rejected

    @property
    def would_change(self) -> bool:
        """Return whether the memory is not up to date with the sources."""
        unread = self.dry_run and self.streamed is not None and self.streamed.files
        return bool(self.resumed or self.shrunk or unread) or any(
            tally.new or tally.changed for tally in self.tallies
        )

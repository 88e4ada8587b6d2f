"""What is read of a transcript at a time, made durable together with the position behind it."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime

from ragmem import __version__
from ragmem.domain.model import Draft, State, Tier
from ragmem.errors import StoreBusyError
from ragmem.readers.failures import check
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import Classified
from ragmem.services.ingestion.ingest import Change
from ragmem.services.ingestion.scope import remember_projects
from ragmem.services.processes.refusals import Refusal, each
from ragmem.services.transcripts.sorting import SortedExchanges, sort
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog

REJECTED = f"!{__version__}"
"""Marks the rules of a transcript with a rejected exchange: another release may accept it."""


@dataclass(slots=True)
class CaptureResult:
    """What became of a transcript: what was read of it this time, and the memories that came of it."""

    path: str
    assistant: str = ""
    session: str = ""
    project: str = ""
    exchanges: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    doubled: int = 0
    """Those that another transcript told already: a resumed or forked session repeats what was before."""
    archived: int = 0
    """Those that the lifecycle or a person took out."""
    buffered: int = 0
    """Of the new and changed: those of low signal, which full text alone finds."""
    tiers: Counter[Tier] = field(default_factory=Counter)
    """Of all that were read."""
    chunks: int = 0
    bytes: int = 0
    position: int = 0
    size: int = 0
    anew: bool = False
    """Whether a file that was read before was read from its beginning: it is another one by now."""
    current: bool = False
    """Whether nothing was to be read."""
    complete: bool = False
    """Whether the file was read to its end; else the limits ended it, or something failed."""
    ids: list[str] = field(default_factory=list)
    """The memories that are new or changed."""
    problems: Counter[str] = field(default_factory=Counter)
    """What could not be read, and how often: broken lines, unknown records."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What was left out by rule, and how often."""
    rejected: list[Refusal] = field(default_factory=list)
    """Exchanges that a rule or the database rejects; another release reads the file once more."""
    failed: str = ""
    """Why nothing could be read; empty: it could."""


@dataclass(slots=True)
class Batch:
    """Exchanges that were read together, and from where the reader goes on after them."""

    position: int
    carried: str
    drafts: list[Draft] = field(default_factory=list)
    judged: list[Classified] = field(default_factory=list)
    exchanges: int = 0
    number: int = 0
    """The last question's number in its session."""
    characters: int = 0

    def is_full(self, exchanges: int, characters: int) -> bool:
        """Tell whether it has reached one of these numbers."""
        return self.exchanges >= exchanges or self.characters >= characters

    def take(self, other: "Batch", judged: list[Classified]) -> None:
        """Add exchanges that were read next."""
        self.judged += judged
        self.exchanges += other.exchanges
        self.characters += other.characters
        self.number = max(self.number, other.number)
        self.position, self.carried = other.position, other.carried


class Watch:
    """Is told of what is read while it is read; this one takes no note of it."""

    def judged(self, item: Classified, change: Change) -> None:
        """Take note of what becomes of an exchange."""

    def moved(self, done: CaptureResult) -> None:
        """Take note that a batch is durable."""


class OvertakenError(StoreBusyError):
    """Another process has moved the position meanwhile."""

    def __init__(self) -> None:
        super().__init__("another process reads the same transcript")


@dataclass(slots=True)
class Writer:
    """Makes batches durable, each together with the position behind it."""

    catalog: Catalog
    done: CaptureResult
    _: KW_ONLY
    known: Transcript | None
    exchanges: int
    status: os.stat_result
    projects: ProjectFinder
    rules: str
    now: datetime
    mark: Callable[[int], str]
    watch: Watch
    dry_run: bool
    _reached: int = field(init=False)

    def __post_init__(self) -> None:
        self._reached = self.done.position

    def write(self, batch: Batch, *, last: str | None = None) -> None:
        """Accept a batch and move the position; raises OvertakenError where another process moved it.

        `last` is what stands behind the rules of a file that was read to its end; None: it was not yet, and
        does not count as unchanged however it is found.
        """
        catalog, done = self.catalog, self.done
        if self.dry_run:
            self._count(batch, sort(catalog, batch.judged), last)
            return
        transcript = Transcript(
            path=done.path,
            assistant=done.assistant,
            session=done.session,
            project=done.project,
            head=self.mark(batch.position),
            size=self.status.st_size,
            modified_ns=0 if last is None else self.status.st_mtime_ns,
            position=batch.position,
            exchanges=max(self.exchanges, batch.number),
            carried=batch.carried,
            rules=self.rules + (REJECTED if done.rejected else "") + (last or ""),
            read_at=self.now,
        )
        try:
            found = self._keep(batch.judged, transcript)
        except Exception as error:  # noqa: BLE001 - one exchange never stops the others
            check(error)
            found = None
        if found is None:
            batch, found = self._keep_each(batch)
            transcript = replace(transcript, rules=self.rules + REJECTED + (last or ""))
            self._keep((), transcript)
        self.known, self.exchanges = transcript, transcript.exchanges
        self._count(batch, found, last)

    def _keep(self, judged: Sequence[Classified], transcript: Transcript | None = None) -> SortedExchanges:
        """Accept exchanges and, where one is given, a position, in one transaction."""
        catalog = self.catalog
        with catalog.database.write():
            if catalog.transcripts.get(self.done.path) != self.known:
                raise OvertakenError
            found = sort(catalog, judged)
            if found.fresh:
                remember_projects(catalog, self.projects)
                catalog.memories.accept([(item.memory, item.chunks) for item in found.fresh])
            if transcript is not None:
                catalog.transcripts.keep(transcript)
        return found

    def _keep_each(self, batch: Batch) -> tuple[Batch, SortedExchanges]:
        """Accept what can be of a batch; return that. Whoever is killed here reads the batch once more."""
        judged: list[Classified] = []
        found = SortedExchanges()

        def keep(some: Sequence[Classified]) -> None:
            found.add(self._keep(some))
            judged.extend(some)

        for item, reason in each(batch.judged, keep):
            self.done.rejected.append(Refusal.of(item.memory, reason))
        return replace(batch, judged=judged), found

    def _count(self, batch: Batch, found: SortedExchanges, last: str | None) -> None:
        done = self.done
        for item, change in zip(batch.judged, found.changes, strict=True):
            done.tiers[item.memory.tier] += 1
            self.watch.judged(item, change)
        done.exchanges += batch.exchanges
        # To the end of the file, though what is still open is read again.
        reached = batch.position if last is None else self.status.st_size
        done.bytes += max(0, reached - self._reached)
        self._reached = max(self._reached, reached)
        done.position = batch.position
        done.complete = last is not None
        done.new += found.new
        done.changed += found.changed
        done.unchanged += found.unchanged
        done.doubled += found.doubled
        done.archived += found.archived
        done.buffered += sum(item.memory.state is State.BUFFERED for item in found.fresh)
        done.chunks += sum(len(item.chunks) for item in found.fresh)
        done.ids += [item.memory.id for item in found.fresh]
        self.watch.moved(done)

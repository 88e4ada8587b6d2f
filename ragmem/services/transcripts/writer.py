"""Store the exchanges of a transcript in batches, each together with the position after it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime

from ragmem import __version__
from ragmem.domain.model import Draft, State, Tier
from ragmem.domain.model.lifecycle import proposes
from ragmem.errors import StoreBusyError
from ragmem.readers.failures import check, isolate_failures
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import ClassifiedMemory
from ragmem.services.ingestion.ingest import Change
from ragmem.services.ingestion.scope import remember_projects
from ragmem.services.processes.refusals import Refusal
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import fingerprint

REJECTED = f"!{__version__}"
"""Marks the rules of a transcript with a rejected exchange: another release may accept it."""


@dataclass(slots=True)
class CaptureResult:
    """The result of reading a transcript: what was read this time, and the memories made from it."""

    path: str
    assistant: str = ""
    session: str = ""
    project: str = ""
    exchanges: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    doubled: int = 0
    """Exchanges that another transcript has: a resumed or forked session repeats earlier ones."""
    archived: int = 0
    """Exchanges that the lifecycle or a person archived."""
    buffered: int = 0
    """New and changed ones of low signal, which only full text finds."""
    tiers: Counter[Tier] = field(default_factory=Counter)
    """Counts of all that were read."""
    chunks: int = 0
    bytes: int = 0
    position: int = 0
    size: int = 0
    anew: bool = False
    """Whether a known file was read from its start, because it is a different one now."""
    current: bool = False
    """Whether there was nothing to read."""
    complete: bool = False
    """Whether the file was read to its end; otherwise a limit or an error stopped it."""
    ids: list[str] = field(default_factory=list)
    """The memories that are new or changed."""
    problems: Counter[str] = field(default_factory=Counter)
    """What could not be read, with counts: broken lines, unknown records."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What the rules left out, with counts."""
    rejected: list[Refusal] = field(default_factory=list)
    """Exchanges that a rule or the database rejected; another release reads the file again."""
    failed: str = ""
    """Why the file could not be read, or an empty text."""


@dataclass(slots=True)
class Batch:
    """Exchanges that were read together, and the position at which the reader continues."""

    position: int
    carried: str
    drafts: list[Draft] = field(default_factory=list)
    judged: list[ClassifiedMemory] = field(default_factory=list)
    exchanges: int = 0
    number: int = 0
    """The number of the last question in its session."""
    characters: int = 0

    def is_full(self, exchanges: int, characters: int) -> bool:
        """Return whether the batch has reached one of these limits."""
        return self.exchanges >= exchanges or self.characters >= characters

    def take(self, other: "Batch", judged: list[ClassifiedMemory]) -> None:
        """Add exchanges that were read next."""
        self.judged += judged
        self.exchanges += other.exchanges
        self.characters += other.characters
        self.number = max(self.number, other.number)
        self.position, self.carried = other.position, other.carried


@dataclass(slots=True)
class ExchangeChanges:
    """The exchanges to write, the last of each id, and the counts."""

    fresh: list[ClassifiedMemory] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    """The change of each exchange, in order."""
    counts: Counter[str] = field(default_factory=Counter)
    """The counts of a CaptureResult by their names."""

    def add(self, other: "ExchangeChanges") -> None:
        """Add the changes of another transaction."""
        self.fresh += other.fresh
        self.changes += other.changes
        self.counts += other.counts


def compare_exchanges(catalog: Catalog, judged: Sequence[ClassifiedMemory]) -> ExchangeChanges:
    """Compare classified exchanges with the catalog, within the caller's transaction.

    One whose text another memory of its scope has is a duplicate: a resumed or forked session repeats earlier
    exchanges. One that is unchanged in the archive stays there.
    """
    found = ExchangeChanges()
    if not judged:
        return found
    if not catalog.exists():
        return ExchangeChanges(list(judged), ["new"] * len(judged), Counter(new=len(judged)))
    known = catalog.memories.states(item.memory.id for item in judged)
    unknown = [item.memory for item in judged if item.memory.id not in known]
    known_texts = {
        (one.content_hash, one.scope)
        for one in catalog.memories.with_hashes(one.content_hash for one in unknown)
    }
    archived = catalog.archive.removed_ids(unknown)
    fresh: dict[str, ClassifiedMemory] = {}
    for item in judged:
        memory = item.memory
        before = known.get(memory.id)
        place = (memory.content_hash, memory.scope)
        change: Change = "unchanged"
        if memory.id in fresh:
            # The same exchange twice in one batch: it grew while the file was read.
            fresh[memory.id] = item
        elif before is None and memory.id in archived:
            found.counts["archived"] += 1
            change = "archived"
        elif before is None and place in known_texts:
            found.counts["doubled"] += 1
        elif before is None:
            found.counts["new"] += 1
            change = "new"
            fresh[memory.id] = item
        elif before.content_hash == memory.content_hash and before.fingerprint == fingerprint(memory):
            found.counts["unchanged"] += 1
        else:
            found.counts["changed"] += 1
            change = "changed"
            if memory.state is State.BUFFERED and before.state is not State.BUFFERED:
                # The store has the former text until it is indexed again.
                memory = replace(memory, state=State.PENDING, tier=Tier.INGEST)
            fresh[memory.id] = replace(item, memory=memory)
        known_texts.add(place)
        found.changes.append(change)
    found.fresh = list(fresh.values())
    return found


class CaptureObserver:
    """Receives the progress of a capture; this one ignores it."""

    def on_exchange(self, item: ClassifiedMemory, change: Change) -> None:
        """Handle an exchange and its change."""

    def on_batch(self, done: CaptureResult) -> None:
        """Handle a batch that is durable."""


class OvertakenError(StoreBusyError):
    """Another process has moved the position meanwhile."""

    def __init__(self) -> None:
        super().__init__("another process is reading the same transcript")


@dataclass(slots=True)
class Writer:
    """Makes batches durable, each together with the position after it."""

    catalog: Catalog
    done: CaptureResult
    _: KW_ONLY
    known: Transcript | None
    exchanges: int
    modified_ns: int
    projects: ProjectFinder
    rules: str
    now: datetime
    mark: Callable[[int], str]
    observer: CaptureObserver
    dry_run: bool
    approval: bool = False
    """Whether exchanges that state a decision or a rule wait for an approval."""
    _reached: int = field(init=False)

    def __post_init__(self) -> None:
        self._reached = self.done.position

    def write(self, batch: Batch, *, last: str | None = None) -> None:
        """Accept a batch and move the position; raises OvertakenError where another process moved it.

        `last` is the suffix to the rules of a file that was read to its end. None means that it was not, and
        never counts as unchanged.
        """
        catalog, done = self.catalog, self.done
        if self.dry_run:
            self._count(batch, compare_exchanges(catalog, batch.judged), last)
            return
        transcript = Transcript(
            path=done.path,
            assistant=done.assistant,
            session=done.session,
            project=done.project,
            head=self.mark(batch.position),
            size=self.done.size,
            modified_ns=0 if last is None else self.modified_ns,
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

    def _keep(
        self, judged: Sequence[ClassifiedMemory], transcript: Transcript | None = None
    ) -> ExchangeChanges:
        """Accept exchanges and, where one is given, a position, in one transaction."""
        catalog = self.catalog
        with catalog.database.write():
            if catalog.transcripts.get(self.done.path) != self.known:
                raise OvertakenError
            found = compare_exchanges(catalog, judged)
            if found.fresh:
                remember_projects(catalog, self.projects)
                if self.approval:
                    fresh = (item.memory for item in found.fresh)
                    catalog.approvals.propose(filter(proposes, fresh))
                catalog.memories.accept([(item.memory, item.chunks) for item in found.fresh])
            if transcript is not None:
                catalog.transcripts.keep(transcript)
        return found

    def _keep_each(self, batch: Batch) -> tuple[Batch, ExchangeChanges]:
        """Accept the valid exchanges of a batch and return them. After a kill the batch is read again."""
        judged: list[ClassifiedMemory] = []
        found = ExchangeChanges()

        def keep(some: Sequence[ClassifiedMemory]) -> None:
            found.add(self._keep(some))
            judged.extend(some)

        for item, reason in isolate_failures(batch.judged, keep):
            self.done.rejected.append(Refusal.of(item.memory, reason))
        return replace(batch, judged=judged), found

    def _count(self, batch: Batch, found: ExchangeChanges, last: str | None) -> None:
        done = self.done
        for item, change in zip(batch.judged, found.changes, strict=True):
            done.tiers[item.memory.tier] += 1
            self.observer.on_exchange(item, change)
        done.exchanges += batch.exchanges
        # To the end of the file, although an open exchange is read again.
        reached = batch.position if last is None else self.done.size
        done.bytes += max(0, reached - self._reached)
        self._reached = max(self._reached, reached)
        done.position = batch.position
        done.complete = last is not None
        for name, count in found.counts.items():
            setattr(done, name, getattr(done, name) + count)
        done.buffered += sum(item.memory.state is State.BUFFERED for item in found.fresh)
        done.chunks += sum(len(item.chunks) for item in found.fresh)
        done.ids += [item.memory.id for item in found.fresh]
        self.observer.on_batch(done)

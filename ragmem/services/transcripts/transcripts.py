"""Store transcripts of assistants as they grow: each exchange once, from the last position.

Exchanges are accepted in batches, each one transaction together with the new position in the file: a process
that is killed anywhere loses nothing and duplicates nothing. No model is needed; full text finds the
exchanges, and the next indexing makes the vectors.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from ragmem.config.settings import ChunkingSettings, Settings, SignalRule
from ragmem.domain.model import Draft, digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.errors import SourceError, os_reason
from ragmem.readers import transcripts as readers
from ragmem.readers.failures import failure, isolate_failures
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft, rules_version
from ragmem.services.ingestion.scope import assign_ids, project_finder
from ragmem.services.ingestion.source import datetime_of
from ragmem.services.processes.refusals import Refusal
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.services.transcripts.own_sessions import Origin
from ragmem.services.transcripts.scopes import Scopes
from ragmem.services.transcripts.writer import (
    REJECTED,
    Batch,
    CaptureObserver,
    CaptureResult,
    OvertakenError,
    Writer,
)
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog

BATCH = 256
BATCH_CHARACTERS = 400_000
"""Exchanges, and characters of them, in one transaction: other writers wait for about half a second."""

HEAD = 1_024
TAIL = 256
"""Bytes at the start of a file, and before the position in it, by which it is recognized."""

PACKET = 16
PACKET_CHARACTERS = 60_000
"""Exchanges, and characters of them, that are classified together, perhaps in another process."""

Classify = Callable[[Sequence[Draft]], list[ClassifiedMemory]]

TRIES = 5
"""Times that a transcript is started again because another process reads it at the same time."""

DATABASE = ".db"
"""Suffix of a database that holds many sessions."""

_ENDED = "+"
"""Suffix to the rules of a transcript whose last exchange was stored although it may be incomplete."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one capture may do; None: all of it. The next one continues."""

    bytes: int | None = None
    seconds: float | None = None


ALL = Limits()


def capture(
    catalog: Catalog,
    settings: Settings,
    path: Path,
    *,
    home: Path,
    now: datetime,
    assistant: str = "",
    ended: bool = False,
    projects: ProjectFinder | None = None,
    limits: Limits = ALL,
    pool: WorkerPool | None = None,
    observer: CaptureObserver | None = None,
    dry_run: bool = False,
    origin: Origin | None = None,
) -> CaptureResult:
    """Store what was added to a transcript since it was last read.

    `ended` says that nobody writes it now, so that the last exchange is complete; if it grows all the same,
    its memory is replaced. A file that is shorter than before, or a different one, is read again without
    duplicates. For one that cannot be read, or is not a transcript, the result says so and nothing is raised;
    StoreBusyError and StorageError mean that the catalog cannot be written, and what was stored before stays.
    With `pool` exchanges are classified in other processes; `observer` is called for each batch; with
    `dry_run` nothing is written. Several processes may capture one file at once. With `origin` the file is a
    copy of what has another name and belongs elsewhere.
    """
    done = CaptureResult(origin.name if origin else show(path), assistant)
    try:
        # Opening a pipe without a writer would block forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        done.failed = (getattr(error, "strerror", "") or str(error)).lower()
        return done
    try:
        capturing = _Capture(
            catalog,
            settings,
            path,
            descriptor,
            home=home,
            now=now,
            projects=projects,
            done=done,
            pool=pool or WorkerPool(1),
            observer=observer or CaptureObserver(),
            dry_run=dry_run,
            origin=origin,
        )
        capturing.run(ended=ended, limits=limits)
    except SourceError as error:
        done.failed = str(error)
    except OSError as error:
        if error.errno is not None:
            failure(error)
        done.failed = os_reason(error)
    except BrokenProcessPool:
        raise
    except Exception as error:  # noqa: BLE001 - one file never stops the others
        done.failed = failure(error)
    finally:
        os.close(descriptor)
    return done


def size_and_time(path: Path, status: os.stat_result) -> tuple[int, int]:
    """Return the bytes of a transcript and its last change, in nanoseconds since 1970.

    Those of a database include its log, which holds what was written last.
    """
    size, modified = status.st_size, status.st_mtime_ns
    if path.suffix == DATABASE:
        try:
            log = path.with_name(f"{path.name}-wal").stat()
        except OSError:  # it has none
            return size, modified
        size, modified = size + log.st_size, max(modified, log.st_mtime_ns)
    return size, modified


def is_current(known: Transcript | None, *, size: int, modified_ns: int, rules: str, ended: bool) -> bool:
    """Return whether a file of this size and time was read completely, and by the same rules."""
    if known is None or (known.size, known.modified_ns) != (size, modified_ns):
        return False
    whole = known.position >= size or not ended
    return _rules_of(known) == rules and (known.rules.endswith(_ENDED) or whole)


def keep_as_read(catalog: Catalog, settings: Settings, path: Path, *, session: str, now: datetime) -> None:
    """Record that a file need not be read as it is now, because its session is read from elsewhere."""
    try:
        size, modified_ns = size_and_time(path, path.stat())
    except OSError:  # it has gone since
        return
    catalog.prepare()
    catalog.transcripts.keep(
        Transcript(
            path=show(path),
            assistant="",
            session=session,
            project="",
            head="",
            size=size,
            modified_ns=modified_ns,
            position=size,
            exchanges=0,
            carried="",
            rules=rules_of(settings) + _ENDED,
            read_at=now,
        )
    )


def _rules_of(known: Transcript) -> str:
    """Return the rules by which a transcript was read, if this release can continue it."""
    return known.rules.removesuffix(_ENDED).removesuffix(REJECTED)


def rules_of(settings: Settings) -> str:
    """Return a hash of everything that decides how a transcript is read and classified."""
    sizes = settings.chunking
    parts = (
        readers.RULES,
        rules_version(redactor=settings.redactor),
        _signal_rule(settings),
        str(sizes.max_chars),
        str(sizes.min_chars),
    )
    return digest("transcripts", *parts, length=12)


def _signal_rule(settings: Settings) -> SignalRule:
    return settings.sources[SOURCE].signal if SOURCE in settings.sources else "judge"


def _classify(
    drafts: Sequence[Draft], *, now: datetime, sizes: ChunkingSettings, rule: SignalRule, redactor: Redactor
) -> list[ClassifiedMemory]:
    return [classify_draft(draft, now=now, sizes=sizes, rule=rule, redactor=redactor) for draft in drafts]


def _classify_batch(batch: Batch, classify: Classify) -> list[ClassifiedMemory] | None:
    """Classify the exchanges of a batch, also in another process; None where a rule fails on one of them."""
    try:
        return classify(batch.drafts)
    except Exception:  # noqa: BLE001 - the reader classifies them one by one, and reports the error
        return None


@dataclass(slots=True)
class _Capture:
    """One capture of an open file."""

    catalog: Catalog
    settings: Settings
    path: Path
    descriptor: int
    _: KW_ONLY
    home: Path
    now: datetime
    projects: ProjectFinder | None
    done: CaptureResult
    pool: WorkerPool
    observer: CaptureObserver
    dry_run: bool
    origin: Origin | None
    rules: str = field(init=False)

    def __post_init__(self) -> None:
        self.rules = rules_of(self.settings)

    def run(self, *, ended: bool, limits: Limits) -> None:
        """Read what is new; start again from the new position where another process was faster."""
        status = os.fstat(self.descriptor)
        if not stat.S_ISREG(status.st_mode):
            self.done.failed = "not a regular file"
            return
        size, modified_ns = size_and_time(self.path, status)
        self.done.size = size
        for _ in range(TRIES):
            known = None
            if self.catalog.exists():
                self.catalog.prepare()
                known = self.catalog.transcripts.get(self.done.path)
            if known is not None and is_current(
                known, size=size, modified_ns=modified_ns, rules=self.rules, ended=ended
            ):
                self.done.current = self.done.complete = True
                self._copy_known(known)
                return
            try:
                self._read(known, modified_ns, ended=ended, limits=limits)
            except OvertakenError:
                continue
            return
        self.done.problems["read by other processes at the same time"] += 1

    def _copy_known(self, known: Transcript) -> None:
        done = self.done
        done.assistant, done.session, done.project = known.assistant, known.session, known.project
        done.position = known.position

    def _read(self, known: Transcript | None, modified_ns: int, *, ended: bool, limits: Limits) -> None:
        done = self.done
        start = known if known is not None and self._continues(known, done.size) else None
        done.anew = known is not None and start is None
        assistant = start.assistant if start else done.assistant or self._assistant()
        if not assistant:
            done.failed = "no transcript of a known assistant" if done.size else ""
            return
        done.assistant = assistant
        if start:
            self._copy_known(start)
        if not self.dry_run:
            self.catalog.prepare()
        projects = self.projects or project_finder(self.catalog, home=self.home)
        began = time.monotonic()
        origin = start.position if start else 0
        batch = Batch(origin, start.carried if start else "")
        writer = Writer(
            self.catalog,
            done,
            known=known,
            exchanges=start.exchanges if start else 0,
            modified_ns=modified_ns,
            projects=projects,
            rules=self.rules,
            now=self.now,
            mark=self._mark,
            observer=self.observer,
            dry_run=self.dry_run,
            approval=self.settings.approval.enabled,
        )
        classify = partial(
            _classify,
            now=self.now,
            sizes=self.settings.chunking,
            rule=_signal_rule(self.settings),
            redactor=self.catalog.redactor,
        )
        read = self._packets(batch, projects, datetime_of(modified_ns), ended=ended)
        for packet, judged in self.pool.each(partial(_classify_batch, classify=classify), read):
            batch.take(packet, self._classify_each(packet, classify) if judged is None else judged)
            if batch.is_full(BATCH, BATCH_CHARACTERS):
                writer.write(batch)
                batch = Batch(batch.position, batch.carried)
                late = limits.seconds is not None and time.monotonic() - began > limits.seconds
                if late or (limits.bytes is not None and batch.position - origin > limits.bytes):
                    return
        writer.write(batch, last=_ENDED if ended else "")

    def _classify_each(self, packet: Batch, classify: Classify) -> list[ClassifiedMemory]:
        """Classify exchanges one by one; those on which a rule fails are reported and left out."""
        judged: list[ClassifiedMemory] = []
        for draft in packet.drafts:
            rejected = isolate_failures([draft], lambda drafts: judged.extend(classify(drafts)))
            self.done.rejected += [Refusal.of(one, reason) for one, reason in rejected]
        return judged

    def _packets(
        self, origin: Batch, projects: ProjectFinder, modified: datetime, *, ended: bool
    ) -> Iterator[Batch]:
        """Yield batches to classify; the last one may have no exchange, only the position at the end."""
        done = self.done
        scopes = Scopes(self.catalog, projects, home=self.home)
        packet = Batch(origin.position, origin.carried)
        steps = readers.read(
            self.path,
            done.assistant,
            position=origin.position,
            carried=origin.carried,
            ended=ended,
            redactor=self.catalog.redactor,
        )
        for step in steps:
            done.problems.update(step.problems)
            done.left_out.update(step.left_out)
            packet.position, packet.carried = step.position, step.carried
            if step.exchange is None:
                continue
            done.session = step.exchange.session or done.session
            packet.number = max(packet.number, step.exchange.number)
            told = self.origin.describe(step.exchange) if self.origin else {}
            if told is None:
                continue
            packet.exchanges += 1
            scope = self.origin.scope if self.origin else scopes.of(step.exchange.cwd)
            done.project = scope.project
            drafts = readers.drafts_of(
                step.exchange, path=done.path, scope=scope, modified=modified, redactor=self.catalog.redactor
            )
            if told:
                drafts = [replace(draft, metadata={**draft.metadata, **told}) for draft in drafts]
            packet.drafts += assign_ids(self.catalog, drafts)
            packet.characters += sum(len(draft.text) for draft in drafts)
            if packet.is_full(PACKET, PACKET_CHARACTERS):
                yield packet
                packet = Batch(packet.position, packet.carried)
        yield packet

    def _assistant(self) -> str:
        return readers.assistant_of(self.path, os.pread(self.descriptor, readers.HEAD_BYTES, 0)) or ""

    def _continues(self, known: Transcript, size: int) -> bool:
        """Return whether a file is the one that was read, and the rules are the same."""
        return (
            _rules_of(known) == self.rules
            and known.position <= size
            and self.done.assistant in {"", known.assistant}
            and known.head == self._mark(known.position)
        )

    def _mark(self, position: int) -> str:
        """Return a hash of the start of the file, and of the bytes before a position."""
        begins = os.pread(self.descriptor, min(HEAD, position), 0)
        before = os.pread(self.descriptor, min(TAIL, position), max(0, position - TAIL))
        return digest("transcript", begins.hex(), before.hex())

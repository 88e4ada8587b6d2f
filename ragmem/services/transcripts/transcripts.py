"""Take transcripts of assistants into the catalog as they grow: each exchange once, from where it was left.

Exchanges are accepted in batches, each one transaction together with the new position in the file: a process
that is killed anywhere loses nothing and doubles nothing. No model is needed; full text finds what was taken
in, and whoever indexes next makes the vectors.
"""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from ragmem.config import ChunkingSettings, Settings
from ragmem.config.settings import SignalRule
from ragmem.domain.model import Draft, digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.errors import SourceError
from ragmem.readers import transcripts as readers
from ragmem.readers.failures import failure
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import Classified, classify_draft, rules_version
from ragmem.services.ingestion.scope import assign_ids, finder
from ragmem.services.ingestion.source import moment_of
from ragmem.services.processes.refusals import Refusal, each
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.services.transcripts.scopes import Scopes
from ragmem.services.transcripts.writing import REJECTED, Batch, CaptureResult, OvertakenError, Watch, Writer
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog

BATCH = 256
BATCH_CHARACTERS = 400_000
"""Exchanges, and characters of them, in one transaction: other writers wait for about half a second."""

HEAD = 1_024
TAIL = 256
"""Bytes from the beginning of a file, and before the position in it, by which it is known again."""

PACKET = 16
PACKET_CHARACTERS = 60_000
"""Exchanges, and characters of them, that are judged together, perhaps in another process."""

TRIES = 5
"""Times that a transcript is begun again because another process goes on with it meanwhile."""

_ENDED = "+"
"""Stands behind the rules of a transcript whose last exchange was taken as it stood."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one capture may do; None: all of it. What is left is taken in by the next one."""

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
    side: WorkerPool | None = None,
    watch: Watch | None = None,
    dry_run: bool = False,
) -> CaptureResult:
    """Take in what a transcript has more than when it was read last.

    `ended` says that nobody writes it now, so that the last exchange counts as it stands; should it grow all
    the same, its memory is replaced. A file that is shorter than it was, or another one by now, is read anew
    without doubles. One that cannot be read, or is no transcript, gives a result that says so and raises
    nothing; StoreBusyError and StorageError mean that the catalog cannot be written, and what was taken in
    before is. With `side` exchanges are judged in other processes; `watch` is told of each batch; with
    `dry_run` nothing is written. Several may capture one file at once.
    """
    done = CaptureResult(show(path), assistant)
    try:
        # A pipe without a writer would never open.
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
            side=side or WorkerPool(1),
            watch=watch or Watch(),
            dry_run=dry_run,
        )
        capturing.run(ended=ended, limits=limits)
    except SourceError as error:
        done.failed = str(error)
    except OSError as error:
        if error.errno is not None:
            failure(error)
        done.failed = (error.strerror or str(error)).lower()
    except BrokenProcessPool:
        raise
    except Exception as error:  # noqa: BLE001 - one file never stops the others
        done.failed = failure(error)
    finally:
        os.close(descriptor)
    return done


def is_current(known: Transcript | None, *, size: int, modified_ns: int, rules: str, ended: bool) -> bool:
    """Tell whether a file of this size and time has nothing that was not read, and would be read the same."""
    if known is None or (known.size, known.modified_ns) != (size, modified_ns):
        return False
    whole = known.position >= size or not ended
    return _rules_of(known) == rules and (known.rules.endswith(_ENDED) or whole)


def _rules_of(known: Transcript) -> str:
    """Return by which rules a transcript was read, if this release can go on with it."""
    return known.rules.removesuffix(_ENDED).removesuffix(REJECTED)


def rules_of(settings: Settings) -> str:
    """Return a hash of all that decides how a transcript is read and judged."""
    sizes = settings.chunking
    rule = settings.sources[SOURCE].signal if SOURCE in settings.sources else "graded"
    parts = (
        readers.RULES,
        rules_version(redactor=settings.redactor),
        rule,
        str(sizes.max_chars),
        str(sizes.min_chars),
    )
    return digest("transcripts", *parts, length=12)


def _classify_batch(
    batch: Batch, *, now: datetime, sizes: ChunkingSettings, rule: SignalRule, redactor: Redactor
) -> list[Classified] | None:
    """Judge the exchanges of a batch, also in another process; None where a rule fails on one of them."""
    try:
        return [
            classify_draft(draft, now=now, sizes=sizes, rule=rule, keep_discarded=True, redactor=redactor)
            for draft in batch.drafts
        ]
    except Exception:  # noqa: BLE001 - whoever reads the file judges each by itself, and tells of it
        return None


@dataclass(slots=True)
class _Capture:
    """One capture of one file that is open."""

    catalog: Catalog
    settings: Settings
    path: Path
    descriptor: int
    _: KW_ONLY
    home: Path
    now: datetime
    projects: ProjectFinder | None
    done: CaptureResult
    side: WorkerPool
    watch: Watch
    dry_run: bool
    rules: str = field(init=False)
    rule: SignalRule = field(init=False)

    def __post_init__(self) -> None:
        self.rules = rules_of(self.settings)
        self.rule = self.settings.sources[SOURCE].signal if SOURCE in self.settings.sources else "graded"

    def run(self, *, ended: bool, limits: Limits) -> None:
        """Read what is new, again from the new position where another process was faster."""
        status = os.fstat(self.descriptor)
        if not stat.S_ISREG(status.st_mode):
            self.done.failed = "not a regular file"
            return
        self.done.size = status.st_size
        for _ in range(TRIES):
            known = None
            if self.catalog.exists():
                self.catalog.prepare()
                known = self.catalog.transcripts.get(self.done.path)
            if known is not None and is_current(
                known, size=status.st_size, modified_ns=status.st_mtime_ns, rules=self.rules, ended=ended
            ):
                self.done.current = self.done.complete = True
                self._copy_known(known)
                return
            try:
                self._read(known, status, ended=ended, limits=limits)
            except OvertakenError:
                continue
            return
        self.done.problems["read by other processes at the same time"] += 1

    def _copy_known(self, known: Transcript) -> None:
        done = self.done
        done.assistant, done.session, done.project = known.assistant, known.session, known.project
        done.position = known.position

    def _read(self, known: Transcript | None, status: os.stat_result, *, ended: bool, limits: Limits) -> None:
        done = self.done
        start = known if known is not None and self._goes_on(known, status.st_size) else None
        done.anew = known is not None and start is None
        assistant = start.assistant if start else done.assistant or self._assistant()
        if not assistant:
            done.failed = "no transcript of an assistant that is known" if status.st_size else ""
            return
        done.assistant = assistant
        if start:
            self._copy_known(start)
        if not self.dry_run:
            self.catalog.prepare()
        projects = self.projects or finder(self.catalog, home=self.home)
        began = time.monotonic()
        origin = start.position if start else 0
        batch = Batch(origin, start.carried if start else "")
        writer = Writer(
            self.catalog,
            done,
            known=known,
            exchanges=start.exchanges if start else 0,
            status=status,
            projects=projects,
            rules=self.rules,
            now=self.now,
            mark=self._mark,
            watch=self.watch,
            dry_run=self.dry_run,
        )
        work = partial(
            _classify_batch,
            now=self.now,
            sizes=self.settings.chunking,
            rule=self.rule,
            redactor=self.catalog.redactor,
        )
        read = self._packets(batch, projects, moment_of(status.st_mtime_ns), ended=ended)
        for packet, judged in self.side.each(work, read):
            batch.take(packet, self._classify_each(packet) if judged is None else judged)
            if batch.is_full(BATCH, BATCH_CHARACTERS):
                writer.write(batch)
                batch = Batch(batch.position, batch.carried)
                late = limits.seconds is not None and time.monotonic() - began > limits.seconds
                if late or (limits.bytes is not None and batch.position - origin > limits.bytes):
                    return
        writer.write(batch, last=_ENDED if ended else "")

    def _classify_each(self, packet: Batch) -> list[Classified]:
        """Judge exchanges one by one; those on which a rule fails are told of and left out."""
        judged: list[Classified] = []

        def add(drafts: Sequence[Draft]) -> None:
            judged.extend(
                classify_draft(
                    draft,
                    now=self.now,
                    sizes=self.settings.chunking,
                    rule=self.rule,
                    keep_discarded=True,
                    redactor=self.catalog.redactor,
                )
                for draft in drafts
            )

        for draft in packet.drafts:
            self.done.rejected += [Refusal.of(one, reason) for one, reason in each([draft], add)]
        return judged

    def _packets(
        self, origin: Batch, projects: ProjectFinder, modified: datetime, *, ended: bool
    ) -> Iterator[Batch]:
        """Yield what is judged together; the last one may hold no exchange, but the position at the end."""
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
            packet.exchanges += 1
            packet.number = max(packet.number, step.exchange.number)
            scope = scopes.of(step.exchange.cwd)
            done.project = scope.project
            drafts = readers.drafts_of(
                step.exchange, path=self.path, scope=scope, modified=modified, redactor=self.catalog.redactor
            )
            packet.drafts += assign_ids(self.catalog, drafts)
            packet.characters += sum(len(draft.text) for draft in drafts)
            if packet.is_full(PACKET, PACKET_CHARACTERS):
                yield packet
                packet = Batch(packet.position, packet.carried)
        yield packet

    def _assistant(self) -> str:
        return readers.assistant_of(self.path, os.pread(self.descriptor, readers.HEAD_BYTES, 0)) or ""

    def _goes_on(self, known: Transcript, size: int) -> bool:
        """Tell whether a file is the one that was read, and would be read by the same rules."""
        return (
            _rules_of(known) == self.rules
            and known.position <= size
            and self.done.assistant in {"", known.assistant}
            and known.head == self._mark(known.position)
        )

    def _mark(self, position: int) -> str:
        """Return a hash of how the file begins, and of what stands before a position in it."""
        begins = os.pread(self.descriptor, min(HEAD, position), 0)
        before = os.pread(self.descriptor, min(TAIL, position), max(0, position - TAIL))
        return digest("transcript", begins.hex(), before.hex())

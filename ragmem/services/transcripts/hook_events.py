"""Process the events that hooks left: store the transcript of a session, a document, a reflection, a summary.

An event is claimed before the file that it names is read, and deleted only when the result is durable.
Processing is idempotent, so that a process may be killed anywhere, and two may run at the same time.
"""

import os
import re
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ragmem.assistants import NAMES, load_assistant
from ragmem.assistants.assistant import SESSION_END, SUBAGENT_STOP
from ragmem.config.settings import Settings
from ragmem.errors import (
    RejectionError,
    StorageError,
    StoreBusyError,
    StoreDamagedError,
    os_errors_as,
    os_reason,
)
from ragmem.hooks import spool
from ragmem.hooks.log import Log
from ragmem.inbox import set_aside
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.scope import project_finder
from ragmem.services.transcripts import hook_files
from ragmem.services.transcripts.transcripts import DATABASE, capture
from ragmem.services.transcripts.transcripts import Limits as CaptureLimits
from ragmem.storage.home.catalog import Catalog

BATCH = 64
"""Events that are processed together: a transcript is read once for all of its events."""

LAG_S = 0.3
"""Seconds after an event during which an assistant may still be writing its transcript."""

PATIENCE_S = 3600.0
"""Age in seconds until which an event waits for a missing transcript."""

_SUFFIXES = (".jsonl", ".json", DATABASE)
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(slots=True)
class EventResult:
    """The number of processed events, what they brought, and what is left or was set aside."""

    events: int = 0
    exchanges: int = 0
    ids: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    aside: int = 0
    left: list[str] = field(default_factory=list)
    """Paths of events that wait: for their transcript, or for more time than there was."""


@dataclass(frozen=True, slots=True)
class _Event:
    """A claimed event and its file."""

    path: str
    fields: Mapping[str, Any]

    @property
    def at(self) -> float:
        """The time of the event, in seconds since 1970."""
        return int(self.fields["at"]) / 1e9

    @property
    def transcript(self) -> str:
        """The path of its transcript, or the session where the assistant names no path."""
        return str(self.fields.get("transcript", "")) or f"{self.assistant}:{self.text('session')}"

    @property
    def is_end(self) -> bool:
        """Return whether the transcript seems complete."""
        own = self.text("agent") and Path(self.text("transcript")).stem != self.text("session")
        return self.fields["event"] == SESSION_END or bool(own and self.fields["event"] == SUBAGENT_STOP)

    @property
    def assistant(self) -> str:
        """The assistant that caused the event."""
        return self.text("assistant")

    def text(self, name: str) -> str:
        """Return a text field, or an empty text."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ""


def process_events(
    catalog: Catalog, settings: Settings, *, home: Path, now: datetime, seconds: float | None = None
) -> EventResult:
    """Process waiting events, oldest first, until the seconds are over (None: all of them).

    Invalid events are set aside; an event without its transcript waits for it, up to an hour. Without events
    this only lists a folder. Raises StoreBusyError and StorageError where the catalog cannot be written; the
    remaining events wait.
    """
    result = EventResult()
    data = settings.places.data
    if spool.is_empty(data):
        return result
    with os_errors_as(
        StorageError,
        f'read "{spool.folder(data)}"',
        hint="it must be a folder that you own: move the present one aside",
    ):
        paths = spool.list_events(data)
    catalog.prepare()
    run = _EventRun(
        catalog,
        settings,
        home,
        now,
        result,
        project_finder(catalog, home=home),
        Log(str(settings.places.state)),
    )
    ends = None if seconds is None else time.monotonic() + seconds
    for start in range(0, len(paths), BATCH):
        if ends is not None and start and time.monotonic() > ends:
            result.left += paths[start:]
            break
        run.batch(paths[start : start + BATCH], ends)
    return result


@dataclass(frozen=True, slots=True)
class _EventRun:
    """One run over the waiting events."""

    catalog: Catalog
    settings: Settings
    home: Path
    now: datetime
    result: EventResult
    projects: ProjectFinder
    log: Log

    def batch(self, paths: Sequence[str], ends: float | None) -> None:
        """Process some events, those of one transcript together."""
        together: dict[str, list[_Event]] = {}
        for path in paths:
            if event := self._claim(path):
                together.setdefault(event.text("file") or event.transcript, []).append(event)
        for events in together.values():
            if ends is not None and time.monotonic() > ends:
                self.result.left += [event.path for event in events]
                continue
            try:
                done = self._process(events, ends)
            except RejectionError as error:
                self._handle_error(events, error)
                continue
            except (StorageError, StoreBusyError, StoreDamagedError, MemoryError):
                raise
            except Exception as error:  # noqa: BLE001 - the data of another program must not block the rest
                self._handle_error(events, error)
                continue
            if done:
                self._finish(events)
            else:
                self.result.left += [event.path for event in events]

    def _claim(self, path: str) -> _Event | None:
        try:
            path = spool.claim(path)
            return _Event(path, spool.read(path))
        except FileNotFoundError:  # another process was faster
            return None
        except (ValueError, OSError) as error:
            self._set_aside(path, error)
            return None

    def _handle_error(self, events: Sequence[_Event], error: Exception) -> None:
        """Set failed events aside; after a system error they are retried for an hour."""
        waits = isinstance(error, OSError) and self.now.timestamp() - events[-1].at < PATIENCE_S
        if waits:
            self._report(f"could not process an event: {_reason(error)}")
            self.result.left += [event.path for event in events]
            return
        for event in events:
            self._set_aside(event.path, error)

    def _set_aside(self, path: str, error: Exception) -> None:
        self._report(f"set aside an event: {_reason(error)}")
        try:
            set_aside(path)
            self.result.aside += 1
        except OSError:  # it blocks nothing where it is, and doctor reports it
            self.result.left.append(path)

    def _process(self, events: Sequence[_Event], ends: float | None) -> bool:
        """Process the events of one file or transcript; return False if it must be tried again."""
        last = events[-1]
        if path := last.text("file"):
            self._store_files(
                hook_files.source_of_written_file(Path(path), settings=self.settings, home=self.home)
            )
            return True
        ended = any(event.is_end for event in events)
        done = self._capture(events, ended=ended, ends=ends)
        if done:
            self._store_files(
                hook_files.recent_files(last.at, ended=ended, settings=self.settings, home=self.home)
            )
        return done

    def _capture(self, events: Sequence[_Event], *, ended: bool, ends: float | None) -> bool:
        """Store what was added to a transcript; return False if it is missing or not read to its end."""
        last = events[-1]
        age = self.now.timestamp() - last.at
        if 0 <= age < LAG_S:
            time.sleep(LAG_S - age)
        path = transcript_of(last.fields, home=self.home)
        if path is None:
            named = last.text("transcript")
            waits = age < PATIENCE_S and bool(named) and not os.path.exists(named)  # noqa: PTH110 - never raises
            if named and not waits:
                self._report(f"there is no transcript at {named}")
            return not waits
        if problem := refusal(path, settings=self.settings):
            self._report(f"{problem}: {path}")
            return True
        limits = (
            CaptureLimits() if ends is None else CaptureLimits(seconds=max(0.05, ends - time.monotonic()))
        )
        found = capture(
            self.catalog,
            self.settings,
            path,
            home=self.home,
            now=self.now,
            # By its content first: an event may name another assistant's file.
            ended=ended,
            projects=self.projects,
            limits=limits,
        )
        self.result.exchanges += found.new + found.changed
        self.result.ids += found.ids
        for one in found.rejected:
            self._report(f"{one.message}: {path}")
        if found.failed:
            self._report(f"{found.failed}: {path}")
        elif found.new or found.changed:
            self.log.write(
                "drain", f"{found.assistant} {found.session[:36]}", f"ingested {found.new + found.changed}"
            )
        return found.complete or bool(found.failed)

    def _store_files(self, files: Sequence[tuple[Path, Any]]) -> None:
        if not files:
            return
        ids, problems = hook_files.store_files(
            self.catalog, files, settings=self.settings, projects=self.projects, now=self.now
        )
        self.result.ids += ids
        for problem in problems:
            self._report(problem)
        if ids:
            self.log.write(
                "drain", f"ingested {files[0][0].name}" + (f" and {len(files) - 1} more" * (len(files) > 1))
            )

    def _finish(self, events: Sequence[_Event]) -> None:
        for event in events:
            with os_errors_as(
                StorageError,
                f'remove "{event.path}", which was processed',
                hint=f'make "{Path(event.path).parent}" writable',
            ):
                Path(event.path).unlink(missing_ok=True)
        self.result.events += len(events)

    def _report(self, problem: str) -> None:
        self.result.problems.append(problem)
        self.log.write("drain", problem)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", "") or str(error) or type(error).__name__


def transcript_of(event: Mapping[str, Any], *, home: Path) -> Path | None:
    """Return the transcript of an event, if it exists; links are followed."""
    named = event.get("transcript")
    if isinstance(named, str) and named:
        path = Path(named)
    elif event.get("assistant") in NAMES:
        # Some assistants name no path: the file is found by the id of the session.
        assistant = load_assistant(str(event["assistant"]))
        session = str(event.get("session", ""))
        if not _SESSION_ID.fullmatch(session):
            return None
        globs = [one.format(session=session) for one in assistant.session_globs]
        found = [path for glob in globs for path in sorted((home / assistant.folder).glob(glob))]
        path = found[0] if found else Path()
    else:
        return None
    try:
        return path.resolve(strict=True) if path.is_absolute() else None
    except (OSError, RuntimeError, ValueError):  # it is missing, or a link in a circle
        return None


def refusal(path: Path, *, settings: Settings) -> str:
    """Return why a file is not read as a transcript regardless of its content, or an empty text."""
    try:
        status = path.stat()
    except OSError as error:
        return os_reason(error)
    if not stat.S_ISREG(status.st_mode):
        return "a transcript is a regular file"
    if path.suffix not in _SUFFIXES:
        return "a transcript's name ends with .jsonl, .json or .db"
    if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0):
        return "a transcript is the person's own file"
    if any(path.is_relative_to(place.resolve()) for place in settings.places):
        return "a file of ragmem itself is not a transcript"
    return ""

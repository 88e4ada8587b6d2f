"""What hooks have left becomes memories: the transcript of a session, a document, a reflection, a summary.

An event is claimed before anything that it speaks of is read, and its file goes only when what came of it is
durable. Taking the same up twice changes nothing, so that a process may be killed anywhere, and two may do
this at a time.
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
from ragmem.config import Settings
from ragmem.errors import RejectionError, StorageError, StoreBusyError, StoreDamagedError
from ragmem.hooks import spool
from ragmem.hooks.log import Log
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.scope import finder
from ragmem.services.transcripts import hook_files
from ragmem.services.transcripts.transcripts import Limits as CaptureLimits
from ragmem.services.transcripts.transcripts import capture
from ragmem.storage.home.catalog import Catalog

BATCH = 64
"""Events that are taken up together: those of one transcript cost one look at it."""

LAG_S = 0.3
"""Seconds for which an assistant may still be writing the transcript of what it has told already."""

PATIENCE_S = 3600.0
"""Age until which an event waits for a transcript that is not there."""

_SUFFIXES = (".jsonl", ".json")
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(slots=True)
class EventResult:
    """What became of events: how many are done, what they brought, and what is left or was set aside."""

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
    said: Mapping[str, Any]

    @property
    def at(self) -> float:
        """When it happened, in seconds since 1970."""
        return int(self.said["at"]) / 1e9

    @property
    def transcript(self) -> str:
        """The transcript that it speaks of, by its path, or by its session where the assistant names none."""
        return str(self.said.get("transcript", "")) or f"{self.assistant}:{self.text('session')}"

    @property
    def is_end(self) -> bool:
        """Tell whether the transcript is complete, to all appearances."""
        own = self.text("agent") and Path(self.text("transcript")).stem != self.text("session")
        return self.said["event"] == SESSION_END or bool(own and self.said["event"] == SUBAGENT_STOP)

    @property
    def assistant(self) -> str:
        """Whose event it is."""
        return self.text("assistant")

    def text(self, name: str) -> str:
        """Return a text of it, perhaps an empty one."""
        value = self.said.get(name, "")
        return value if isinstance(value, str) else ""


def process_events(
    catalog: Catalog, settings: Settings, *, home: Path, now: datetime, seconds: float | None = None
) -> EventResult:
    """Take up what waits, oldest first, until the seconds are over (None: all of it).

    What is no event is set aside and blocks nothing; an event whose transcript is not there yet waits for it,
    an hour at most. Costs one look into a folder where nothing waits. Raises StoreBusyError and StorageError
    where the catalog cannot be written; what was not done waits.
    """
    taken = EventResult()
    data = settings.places.data
    if spool.is_empty(data):
        return taken
    try:
        paths = spool.waiting(data)
    except OSError as error:
        raise StorageError(
            f'cannot read "{spool.folder(data)}": {(error.strerror or str(error)).lower()}',
            hint="it must be a folder that is yours: move away what is there",
        ) from error
    catalog.prepare()
    taking = _EventRun(
        catalog, settings, home, now, taken, finder(catalog, home=home), Log(str(settings.places.state))
    )
    ends = None if seconds is None else time.monotonic() + seconds
    for start in range(0, len(paths), BATCH):
        if ends is not None and start and time.monotonic() > ends:
            taken.left += paths[start:]
            break
        taking.batch(paths[start : start + BATCH], ends)
    return taken


@dataclass(frozen=True, slots=True)
class _EventRun:
    """One run over what waits."""

    catalog: Catalog
    settings: Settings
    home: Path
    now: datetime
    taken: EventResult
    projects: ProjectFinder
    log: Log

    def batch(self, paths: Sequence[str], ends: float | None) -> None:
        """Take up some events, those of one transcript together."""
        together: dict[str, list[_Event]] = {}
        for path in paths:
            if event := self._claim(path):
                together.setdefault(event.text("file") or event.transcript, []).append(event)
        for events in together.values():
            if ends is not None and time.monotonic() > ends:
                self.taken.left += [event.path for event in events]
                continue
            try:
                done = self._take_up(events, ends)
            except RejectionError as error:
                self._give_up(events, error)
                continue
            except (StorageError, StoreBusyError, StoreDamagedError, MemoryError):
                raise
            except Exception as error:  # noqa: BLE001 - it says what a stranger's program said, and blocks nobody
                self._give_up(events, error)
                continue
            if done:
                self._finish(events)
            else:
                self.taken.left += [event.path for event in events]

    def _claim(self, path: str) -> _Event | None:
        try:
            path = spool.claim(path)
            return _Event(path, spool.read(path))
        except FileNotFoundError:  # another process was faster
            return None
        except (ValueError, OSError) as error:
            self._set_aside(path, error)
            return None

    def _give_up(self, events: Sequence[_Event], error: Exception) -> None:
        """Set events aside that nobody can take up; what the system refuses it may allow within the hour."""
        waits = isinstance(error, OSError) and self.now.timestamp() - events[-1].at < PATIENCE_S
        if waits:
            self._tell(f"could not take up an event: {_reason(error)}")
            self.taken.left += [event.path for event in events]
            return
        for event in events:
            self._set_aside(event.path, error)

    def _set_aside(self, path: str, error: Exception) -> None:
        self._tell(f"set aside an event: {_reason(error)}")
        try:
            spool.set_aside(path)
            self.taken.aside += 1
        except OSError:  # it blocks nothing where it is, and doctor tells
            self.taken.left.append(path)

    def _take_up(self, events: Sequence[_Event], ends: float | None) -> bool:
        """Do what events of one file or transcript ask for; False: it must be done another time."""
        last = events[-1]
        if path := last.text("file"):
            self._take_in(
                hook_files.source_of_written_file(Path(path), settings=self.settings, home=self.home)
            )
            return True
        ended = any(event.is_end for event in events)
        done = self._capture(events, ended=ended, ends=ends)
        if done:
            self._take_in(
                hook_files.recent_files(last.at, ended=ended, settings=self.settings, home=self.home)
            )
        return done

    def _capture(self, events: Sequence[_Event], *, ended: bool, ends: float | None) -> bool:
        """Take in what a transcript has more; False: it is not there yet, or is not read to its end."""
        last = events[-1]
        age = self.now.timestamp() - last.at
        if 0 <= age < LAG_S:
            time.sleep(LAG_S - age)
        path = transcript_of(last.said, home=self.home)
        if path is None:
            named = last.text("transcript")
            waits = age < PATIENCE_S and bool(named) and not os.path.exists(named)  # noqa: PTH110 - never raises
            if named and not waits:
                self._tell(f"there is no transcript to read at {named}")
            return not waits
        if problem := refusal(path, settings=self.settings):
            self._tell(f"{problem}: {path}")
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
        self.taken.exchanges += found.new + found.changed
        self.taken.ids += found.ids
        for one in found.rejected:
            self._tell(f"{one.told}: {path}")
        if found.failed:
            self._tell(f"{found.failed}: {path}")
        elif found.new or found.changed:
            self.log.write(
                "drain", f"{found.assistant} {found.session[:36]}", f"took in {found.new + found.changed}"
            )
        return found.complete or bool(found.failed)

    def _take_in(self, files: Sequence[tuple[Path, Any]]) -> None:
        if not files:
            return
        ids, problems = hook_files.take_in(
            self.catalog, files, settings=self.settings, projects=self.projects, now=self.now
        )
        self.taken.ids += ids
        for problem in problems:
            self._tell(problem)
        if ids:
            self.log.write(
                "drain", f"took in {files[0][0].name}" + (f" and {len(files) - 1} more" * (len(files) > 1))
            )

    def _finish(self, events: Sequence[_Event]) -> None:
        for event in events:
            try:
                Path(event.path).unlink(missing_ok=True)
            except OSError as error:
                problem = (error.strerror or str(error)).lower()
                raise StorageError(
                    f'cannot remove "{event.path}", which is taken up: {problem}',
                    hint=f'make "{Path(event.path).parent}" writable',
                ) from error
        self.taken.events += len(events)

    def _tell(self, problem: str) -> None:
        self.taken.problems.append(problem)
        self.log.write("drain", problem)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", "") or str(error) or type(error).__name__


def transcript_of(event: Mapping[str, Any], *, home: Path) -> Path | None:
    """Return the transcript that an event speaks of, if it is there; links are followed."""
    named = event.get("transcript")
    if isinstance(named, str) and named:
        path = Path(named)
    elif event.get("assistant") in NAMES:
        # Some assistants name none: the id of the session leads to it.
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
    except (OSError, RuntimeError, ValueError):  # not there, or a link in a circle
        return None


def refusal(path: Path, *, settings: Settings) -> str:
    """Return why a file is not read as a transcript whatever is in it, or an empty text."""
    try:
        status = path.stat()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if not stat.S_ISREG(status.st_mode):
        return "a transcript is a regular file"
    if path.suffix not in _SUFFIXES:
        return "a transcript's name ends with .jsonl or .json"
    if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0):
        return "a transcript is the person's own file"
    if any(path.is_relative_to(place.resolve()) for place in settings.places):
        return "a file of ragmem's own is no transcript"
    return ""

"""`ragmem ingest --buffer` and `--drain`: accept texts into the inbox, and store what waits there."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.cli.common import Bar, open_memory, plural, prepare_stored, say, say_json, tell
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.errors import EXIT_FAILED, EXIT_OK, NotFoundError, UsageError
from ragmem.hooks.drain import release
from ragmem.inbox.buffer import STDIN, Request, accept

if TYPE_CHECKING:
    from ragmem.services.processes.refusals import Refusal


def buffer(request: Request) -> int:
    """Accept texts, files and standard input that the fast path could not parse."""
    if request.as_lines and STDIN not in request.paths:
        raise UsageError("--jsonl reads standard input", hint="ragmem ingest --buffer --jsonl -")
    if not request.texts and not request.paths:
        raise UsageError("there is no text to store", hint='ragmem ingest --buffer --text "what to remember"')
    for path in request.paths:
        if path != STDIN and not Path(path).exists():
            raise NotFoundError(f'there is no file "{path}"', hint="give a path, or - for standard input")
        if path != STDIN and not Path(path).is_file():
            raise UsageError(f'"{path}" is not a regular file', hint="ragmem ingest takes folders")
    return accept(request, environ=os.environ, home=str(Path.home()), cwd=str(Path.cwd()))


def drain(*, as_json: bool, quiet: bool) -> int:
    """Store everything that waits, index it if a model is available, and print the result."""
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        prepare_stored(memory)
        taken = memory.inbox.drain_events()
        done = memory.inbox.drain()
        stored = memory.catalog.exists()
        waiting = len(memory.catalog.memories.pending_ids()) if stored else 0
        rejected: list[Refusal] = []
        note = memory.inbox.index_pending(progress=bar, refusals=rejected) if stored else ""
        indexed = waiting - len(memory.catalog.memories.pending_ids()) if waiting else 0
        aside = memory.inbox.status().aside if done.aside else ()
    if as_json:
        say_json(
            {
                "schema": 1,
                **asdict(done),
                "ids": [identifier[:SHORT_ID_LENGTH] for identifier in (*done.ids, *taken.ids)],
                "events": taken.events,
                "exchanges": taken.exchanges,
                "events_left": len(taken.left),
                "events_aside": taken.aside,
                "indexed": indexed,
                "note": note,
                "problems": [one.message for one in rejected],
            }
        )
    else:
        twice = f", {done.duplicates:,} of them duplicates" if done.duplicates else ""
        say(f"ingested {plural(done.writes, 'write')}{twice}")
        if indexed > done.writes and not quiet:
            tell(f"made the missing vectors of {plural(indexed, 'memory', 'memories')}")
        if taken.events:
            brought = plural(len(taken.ids), "memory is", "memories are")
            say(f"processed {plural(taken.events, 'event')} of hooks: {brought} new or changed")
    if taken.left and not quiet:
        tell(f"note: {plural(len(taken.left), 'event')} of hooks kept until there is a transcript")
    for problem in taken.problems if not quiet else ():
        tell(f"a hook's event: {problem}")
    if note and not quiet:
        tell(f"note: only in full text until a later seed indexes it: {note}")
    for path, reason in aside:
        tell(f"set aside: {path}: {done.rejected.get(path.name.rpartition('-')[0], reason)}")
    for one in rejected:
        tell(f"failed: {one.message}")
    release(str(memory.settings.places.data), str(memory.settings.places.state), os.environ, left=taken.left)
    return EXIT_FAILED if done.aside or taken.aside or rejected else EXIT_OK

"""`ragmem ingest --buffer` and `--drain`: accept texts into the inbox, take in what waits there."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from ragmem.cli.common import Bar, open_memory, plural, printable, say, say_json, tell
from ragmem.domain.lifecycle import EntryType
from ragmem.domain.model import SHORT_ID_LENGTH, Kind
from ragmem.errors import EXIT_FAILED, EXIT_OK, NotFoundError, UsageError


def buffer(
    paths: Sequence[str],
    *,
    texts: Sequence[str],
    kind: Kind | None,
    entry: EntryType | None,
    event_time: datetime | None,
    tags: Sequence[str],
    as_lines: bool,
    as_json: bool,
    quiet: bool,
    **said: str,
) -> int:
    """Accept texts, files and standard input, whatever of it the quick way in did not understand."""
    from ragmem.buffer import STDIN, Request, accept

    if not texts and not paths:
        raise UsageError(
            "there is nothing to accept", hint='ragmem ingest --buffer --text "what to remember"'
        )
    if as_lines and STDIN not in paths:
        raise UsageError("--jsonl is about standard input", hint="ragmem ingest --buffer --jsonl -")
    for path in paths:
        if path != STDIN and not Path(path).exists():
            raise NotFoundError(f'there is no file "{path}"', hint="give a path, or - for standard input")
        if path != STDIN and not Path(path).is_file():
            raise UsageError(f'"{path}" is not a regular file', hint="ragmem ingest takes folders")
    request = Request(
        texts=texts,
        paths=paths,
        tags=tags,
        as_lines=as_lines,
        as_json=as_json,
        quiet=quiet,
        event_time=event_time,
        kind=kind.value if kind else "",
        type=entry.value if entry else "",
        **said,
    )
    return accept(request, environ=os.environ, home=str(Path.home()), cwd=str(Path.cwd()))


def drain(*, as_json: bool, quiet: bool) -> int:
    """Take in all that waits, index it as far as a model can be had, and say what became of it."""
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        done = memory.take_in()
        note = memory.index_waiting(progress=bar) if memory.catalog.exists() else ""
        aside = memory.inbox().aside if done.aside else ()
    if as_json:
        say_json(
            {
                "schema": 1,
                **asdict(done),
                "ids": [identifier[:SHORT_ID_LENGTH] for identifier in done.ids],
                "note": note,
            }
        )
    else:
        twice = f", {done.duplicates:,} of them known already" if done.duplicates else ""
        say(f"took in {plural(done.writes, 'write')}{twice}")
    if note and not quiet:
        tell(f"note: found by full text, and indexed by a later seed: {note}")
    for path, reason in aside:
        tell(printable(f"set aside: {path}: {reason}"))
    return EXIT_FAILED if done.aside else EXIT_OK

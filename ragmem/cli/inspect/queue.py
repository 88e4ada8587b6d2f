"""`ragmem inspect queue`: the texts and events that wait, and the rejected files."""

from ragmem.cli.common import (
    bold,
    moment,
    open_memory,
    plural,
    prepare_stored,
    say,
    say_json,
    table,
    tell,
    tell_rest,
)
from ragmem.cli.options import JsonOption, LimitOption
from ragmem.errors import EXIT_OK

DEFAULT_LIMIT = 20


def queue(limit: LimitOption = None, as_json: JsonOption = False) -> int:
    """Show what is queued: buffered texts, hook events, memories without vectors, and rejected files."""
    from ragmem.services.reporting.queue_list import queue as read
    from ragmem.services.reporting.queue_list import queue_shape

    most = limit or DEFAULT_LIMIT
    with open_memory() as memory:
        prepare_stored(memory)
        found = read(memory.catalog, memory.settings, named=most)
    waiting, aside = found.oldest[:most], found.aside[:most]
    # Some may have been stored while they were counted.
    unnamed = max(0, found.texts + found.events - len(waiting))
    if as_json:
        shape = queue_shape(found)  # of all, because the oldest may be an event, and texts come first
        shown = {"waiting": shape["waiting"][:most], "aside": shape["aside"][:most]}
        say_json({"schema": 1, **shape, **shown, "left_out": unnamed + len(found.aside) - len(aside)})
        return EXIT_OK
    if found.empty:
        say("nothing waits")
        return EXIT_OK
    say(f"{bold('texts')}      {found.texts:,}")
    say(f"{bold('events')}     {found.events:,}")
    say(f"{bold('vectors')}    {plural(found.vectors, 'memory waits', 'memories wait')} for them")
    say(f"{bold('rejected')}   {len(found.aside):,}")
    if waiting:
        say()
        table(
            ("since", "what", "it says"),
            [(moment(one.since) if one.since else "", one.what, one.text[:90]) for one in waiting],
        )
    tell_rest(unnamed, "waiting thing")
    for one in aside:
        tell(f"rejected: {one.path}: {one.problem}")
    tell_rest(len(found.aside) - len(aside), "rejected file", "rejected files")
    return EXIT_OK

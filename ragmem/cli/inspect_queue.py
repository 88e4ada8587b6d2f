"""`ragmem inspect queue`: what waits to be taken in, and what nobody could read."""

from ragmem.cli.common import (
    JsonOption,
    LimitOption,
    bold,
    moment,
    open_memory,
    plural,
    printable,
    say,
    say_json,
    table,
    tell,
)
from ragmem.errors import EXIT_OK

DEFAULT_LIMIT = 20


def queue(limit: LimitOption = None, as_json: JsonOption = False) -> int:
    """Show what waits: texts handed in, events of hooks, memories without vectors; and what was set aside."""
    from ragmem.services.queue_list import queue as read
    from ragmem.services.queue_list import queue_shape

    most = limit or DEFAULT_LIMIT
    with open_memory() as memory:
        found = read(memory.catalog, memory.settings)
    if as_json:
        shape = queue_shape(found)
        say_json({"schema": 1, **shape, "waiting": shape["waiting"][:most], "aside": shape["aside"][:most]})
        return EXIT_OK
    if found.empty:
        say("nothing waits")
        return EXIT_OK
    say(f"{bold('texts')}      {found.texts:,}")
    say(f"{bold('events')}     {found.events:,}")
    say(f"{bold('vectors')}    {plural(found.vectors, 'memory waits', 'memories wait')} for them")
    say(f"{bold('set aside')}  {len(found.aside):,}")
    if found.oldest:
        say()
        table(
            ("since", "what", "it says"),
            [
                (moment(one.since) if one.since else "", one.what, one.told[:90])
                for one in found.oldest[:most]
            ],
        )
    for one in found.aside[:most]:
        tell(printable(f"set aside: {one.path}: {one.problem}"))
    return EXIT_OK

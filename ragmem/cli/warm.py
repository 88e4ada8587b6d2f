"""`ragmem warm`: show or stop the background process that answers hooks."""

import time
from dataclasses import asdict

from ragmem.cli.common import command_group, open_memory, say, say_json
from ragmem.cli.options import JsonOption
from ragmem.errors import EXIT_NO, EXIT_OK, RagmemError

PATIENCE = 10.0
"""Maximum seconds to wait until the process has ended."""

EPILOG = """\b
Examples:
  ragmem warm
  ragmem warm stop

\b
Exit codes:
  0  it runs; `stop`: it has stopped
  1  it does not run
  2  usage
  3  it does not stop
"""

app = command_group(
    "warm",
    about="Show or stop the background process that answers hooks.",
    epilog=EPILOG,
    default="status",
)


@app.command()
def status(as_json: JsonOption = False) -> int:
    """Show whether it runs, and what it has loaded."""
    from ragmem.services.doctor.warm_process import find_warm_process

    with open_memory() as memory:
        found = find_warm_process(memory.settings.places.data)
    if as_json:
        say_json({"schema": 1, "running": found is not None, **(asdict(found) if found else {})})
    else:
        say(found.summary if found else "it is not running; the next hook starts it")
    return EXIT_OK if found else EXIT_NO


@app.command()
def stop() -> int:
    """Stop it after the requests in progress."""
    from ragmem import client
    from ragmem.client import runtime

    with open_memory() as memory:
        data = str(memory.settings.places.data)
    if not runtime.is_running(data):
        say("it was not running")
    elif client.stop(data, deadline=time.monotonic() + PATIENCE):
        say("ended")
    else:
        process = runtime.recorded_pid(data)
        raise RagmemError(
            f"the warm process {process or ''} does not stop", hint=f"kill -9 {process or 'PID'}"
        )
    return EXIT_OK

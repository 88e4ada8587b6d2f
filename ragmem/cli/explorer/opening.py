"""Opens the explorer on this user's memory, and ends as every other command does."""

import os

from ragmem.cli.common import open_memory
from ragmem.cli.explorer.app import Explorer
from ragmem.cli.explorer.reading import Reader
from ragmem.errors import EXIT_OK


def run(theme: str = "auto") -> int:
    """Run the explorer; raises RagmemError for a memory that cannot be opened, and whatever went wrong.

    A home without memories opens as well, and says what comes next.
    """
    if not os.environ.get("NO_COLOR"):
        os.environ.pop("NO_COLOR", None)  # an empty one wishes for nothing, but Textual heeds it
    with open_memory() as memory:
        if memory.is_stored():
            memory.prepare()
        with Reader(memory) as reader:
            app = Explorer(reader, light=theme == "light" or (theme == "auto" and is_light(os.environ)))
            app.run()
            if app.trouble is not None:
                raise app.trouble
    return EXIT_OK


def is_light(environ: "os._Environ[str] | dict[str, str]") -> bool:
    """Tell whether the terminal says that its background is light; most say nothing."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background in {"7", "15"}

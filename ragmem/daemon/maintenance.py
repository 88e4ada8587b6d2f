"""Take in and index what waits, in a thread of the warm process's own that gives way to questions."""

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragmem.daemon.log import Log
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

FILES, SECONDS = 32, 0.5
"""What is taken in at a time, between two looks at whether anybody asks."""

PAUSE_S = 0.05
"""Seconds between two of these looks, and between two batches."""

AGAIN_S = 60.0
"""Seconds between two looks at the inbox that nobody asked for."""

INDEX_AFTER_S = 30.0
"""Seconds without a question until vectors are made of what waits for them."""

NICE = 10

JOIN_S = 0.2
"""Seconds in which the thread ends; what it does is a transaction, which may be left at any point."""


class Maintenance:
    """The thread; `poke` lets it look now. `loaded` waits for the memory, which is None where it is wrong."""

    def __init__(self, loaded: "Callable[[], Ragmem | None]", idle_s: Callable[[], float], log: Log) -> None:
        self._loaded = loaded
        self._idle_s = idle_s
        self._log = log
        self._poked = threading.Event()
        self._busy = False
        self._stopped = False
        self._left = 0
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def poke(self) -> None:
        """Look as soon as nobody asks."""
        self._busy = True
        self._poked.set()

    def is_busy(self) -> bool:
        """Tell whether something is to be done."""
        return self._busy

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped = True
        self._poked.set()
        self._thread.join(JOIN_S)

    def _run(self) -> None:
        if sys.platform == "linux":
            # There it counts for this thread alone.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        while not self._stopped:
            self._poked.wait(AGAIN_S)
            self._poked.clear()
            self._busy = True
            try:
                self._tend()
            except RagmemError as error:
                self._log.failed("the inbox was not taken in", error)
            except Exception as error:  # noqa: BLE001 - questions are answered whatever is wrong here
                self._log.failed("tending", error)
            finally:
                self._busy = self._poked.is_set()

    def _tend(self) -> None:
        memory = self._loaded()
        while memory is not None and not self._stopped:
            while not self._idle_s() and not self._stopped:
                time.sleep(PAUSE_S)
            if not take_some(memory):
                self._index(memory)
                return
            time.sleep(PAUSE_S)

    def _index(self, memory: "Ragmem") -> None:
        """Make vectors where nobody asked for a while, unless none could be made of the same before."""
        if self._idle_s() < INDEX_AFTER_S:
            return
        from ragmem.daemon.indexer import index, waiting

        count = waiting(memory)
        if count and count != self._left and index(memory, lambda: self._stopped):
            self._left = waiting(memory)


def take_some(memory: "Ragmem") -> bool:
    """Take in a batch of what waits; tell whether some is left that the next can take."""
    from ragmem.api.home import now
    from ragmem.services.ingestion.inbox import Limits, drain

    done = drain(
        memory.catalog,
        memory.settings,
        home=memory.home,
        now=now(),
        limits=Limits(files=FILES, seconds=SECONDS),
    )
    taken = memory.inbox.drain_events(seconds=SECONDS)
    return bool((done.left and done.writes) or (taken.left and (taken.events or taken.ids)))

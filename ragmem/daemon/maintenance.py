"""Ingest and index pending input in a thread of the warm process that gives way to questions.

Before that, in the first quiet moment, it answers one question for nobody.
"""

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
"""Limits of a batch; between two batches it checks whether a question is open."""

PAUSE_S = 0.05
"""Seconds between two of these checks, and between two batches."""

RETRY_S = 60.0
"""Seconds between two checks of the inbox without a request."""

REHEARSE_AFTER_S = 2.0
"""Seconds without a question until one is answered for nobody: who starts the process often asks at once."""

INDEX_AFTER_S = 30.0
"""Seconds without a question until pending memories are embedded."""

NICE = 10

JOIN_S = 0.2
"""Seconds in which the thread ends; its work is a transaction, which may be interrupted at any point."""


class Maintenance:
    """The thread; `poke` wakes it. `wait_for_memory` gives None where the memory cannot be opened."""

    def __init__(
        self, wait_for_memory: "Callable[[], Ragmem | None]", idle_s: Callable[[], float], log: Log
    ) -> None:
        self._wait_for_memory = wait_for_memory
        self._idle_s = idle_s
        self._log = log
        self._poked = threading.Event()
        self._busy = False
        self._stopped = False
        self._left = 0
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def poke(self) -> None:
        """Check the inbox as soon as no question is open."""
        self._busy = True
        self._poked.set()

    def is_busy(self) -> bool:
        """Return whether there is work to do."""
        return self._busy

    def stop(self) -> None:
        """Start no further work."""
        self._stopped = True
        self._poked.set()
        self._thread.join(JOIN_S)

    def _run(self) -> None:
        if sys.platform == "linux":
            # On Linux the priority is that of this thread alone.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        has_rehearsed = False
        while not self._stopped:
            poked = self._poked.wait(RETRY_S if has_rehearsed else REHEARSE_AFTER_S)
            self._poked.clear()
            self._busy = True
            try:
                if poked or has_rehearsed:
                    self._work_off()
                elif self._idle_s() >= REHEARSE_AFTER_S:
                    has_rehearsed = True
                    self._rehearse()
            except RagmemError as error:
                self._log.write_error("the inbox was not ingested", error)
            except Exception as error:  # noqa: BLE001 - questions are answered whatever is wrong here
                self._log.write_error("tending", error)
            finally:
                self._busy = self._poked.is_set()

    def _rehearse(self) -> None:
        from ragmem.daemon.context import rehearse

        if (memory := self._wait_for_memory()) is not None:
            rehearse(memory)

    def _work_off(self) -> None:
        memory = self._wait_for_memory()
        while memory is not None and not self._stopped:
            while not self._idle_s() and not self._stopped:
                time.sleep(PAUSE_S)
            if not ingest_batch(memory):
                self._index(memory)
                return
            time.sleep(PAUSE_S)

    def _index(self, memory: "Ragmem") -> None:
        """Embed pending memories after a quiet time, unless the same ones failed before."""
        if self._idle_s() < INDEX_AFTER_S:
            return
        from ragmem.daemon.indexer import count_pending, index

        count = count_pending(memory)
        if count and count != self._left and index(memory, lambda: self._stopped):
            self._left = count_pending(memory)


def ingest_batch(memory: "Ragmem") -> bool:
    """Ingest a batch of pending input; return whether the next batch can go on."""
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

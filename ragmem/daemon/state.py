"""The memory of a warm process: it answers by full text while the model loads, and in full from then on."""

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ragmem.daemon.context import answer, empty_answer
from ragmem.daemon.log import Log
from ragmem.errors import RagmemError
from ragmem.ports import model_due

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

QUESTIONS = frozenset({"query", "session_context"})
OPERATIONS = frozenset({"context", "tool", "resource", "prompt"}) | QUESTIONS
"""Operations that the memory answers."""

FULLTEXT_S, FULLTEXT_SHARE = 0.35, 0.4
"""Minimum seconds reserved for an answer by full text, and their minimum share of the deadline: until then a
request waits for the model. On a busy machine full text takes longer as well."""


class Home:
    """One open memory; several threads may use it."""

    def __init__(self, open_memory: "Callable[[], Ragmem]", log: Log) -> None:
        self._open = open_memory
        self._log = log
        self._opened = threading.Event()
        self._ready = threading.Event()
        self._memory: Ragmem | None = None
        self._fulltext: Ragmem | None = None
        self._error: RagmemError | None = None
        self.is_broken = False
        """Whether a bug prevented the load, so that another process may succeed."""
        self._guard = threading.Lock()

    def wait_for_memory(self) -> "Ragmem | None":
        """Wait until the memory is loaded and return it; None where its settings are wrong."""
        self._ready.wait()
        return self._memory

    def is_ready(self) -> bool:
        """Return whether loading has finished, successfully or not."""
        return self._ready.is_set()

    def load(self) -> None:
        """Open the memory and load the model and the code for a question; each answer reports a failure."""
        try:
            self._memory = memory = self._open()
            self._opened.set()
            if memory.is_stored():
                model = threading.Thread(target=self._load_model, args=(memory,), daemon=True)
                model.start()
                _load_code(memory)
                model.join()
        except RagmemError as error:
            self._error = error
            self._log.write_error("the memory cannot be opened", error)
        except Exception as error:  # noqa: BLE001 - a bug must not block clients for ever
            self.is_broken = True
            self._error = RagmemError(f"this is a bug in ragmem: {type(error).__name__}")
            self._log.write_error("loading", error)
        finally:
            self._opened.set()
            self._ready.set()

    def answer(self, request: dict[str, Any], due: float) -> dict[str, Any]:
        """Return the answer to a request of a hook or a tool; errors are reported in the field `error`."""
        try:
            left = due - time.monotonic()
            latest = due - max(FULLTEXT_S, FULLTEXT_SHARE * left)
            self._opened.wait(left)
            memory, rung = self._memory, "warm"
            if not self._ready.wait(latest - time.monotonic()) and memory is not None:
                memory, rung = self._fulltext_memory(memory), "words"
            if memory is None:
                raise self._error or RagmemError("the memory is still being opened")
            # Others wait as long as query_timeout_s says.
            token = model_due.set(latest if request.get("op", "context") == "context" else math.inf)
            try:
                found = _dispatch(memory, request, rung, due)
            finally:
                model_due.reset(token)
        except RagmemError as error:
            return {**empty_answer(str(error), "none"), "error": str(error)}
        except Exception as error:  # noqa: BLE001 - a bug is logged, and the next request is answered
            self._log.write_error("answering", error)
            problem = f"this is a bug in ragmem: {type(error).__name__}"
            return {**empty_answer(problem, "none"), "error": problem}
        if "error" in found:
            self._log.write(f"a question was not answered ({rung})")
        return found

    def close(self) -> None:
        """Close the memory."""
        for memory in (self._memory, self._fulltext):
            if memory is not None:
                memory.close()

    def _load_model(self, memory: "Ragmem") -> None:
        try:
            memory.models.embedder.embed(["warm"], role="query")
        except RagmemError as error:
            self._log.write_error("the model cannot be loaded", error)
        except Exception as error:  # noqa: BLE001 - full text answers questions, and each answer says why
            self._log.write_error("loading the model", error)

    def _fulltext_memory(self, memory: "Ragmem") -> "Ragmem":
        """Return the same memory without its models."""
        from ragmem.daemon.fulltext_only import FulltextMemory

        with self._guard:
            if self._fulltext is None:
                self._fulltext = FulltextMemory(memory.settings, home=memory.home, cwd=memory.cwd)
            return self._fulltext


def _dispatch(memory: "Ragmem", request: dict[str, Any], rung: str, due: float) -> dict[str, Any]:
    if request.get("op", "context") == "context":
        return answer(memory, request, rung=rung, due=due)
    # In most homes only hooks ask.
    if request["op"] in QUESTIONS:
        from ragmem.daemon import queries

        return queries.answer(memory, request)
    from ragmem.mcp import dispatch

    return {**dispatch.answer(memory, request), "rung": rung}


def _load_code(memory: "Ragmem") -> None:
    """Import and open what a first question needs besides the model, while that is being loaded."""
    import ragmem.services.context.anticipation
    import ragmem.services.retrieval.query  # noqa: F401
    from ragmem.domain.model import USER
    from ragmem.storage.fulltext import fulltext

    memory.require()
    _ = memory.store
    fulltext.search(memory.catalog.database, "warm up", limit=1, projects=(USER,))

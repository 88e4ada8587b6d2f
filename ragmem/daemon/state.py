"""The memory that a warm process holds: asked by its words while the model loads, in full from then on."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ragmem.daemon.context import answer, nothing
from ragmem.daemon.log import Log
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

QUESTIONS = frozenset({"query", "session_context"})
ANSWERED = frozenset({"context", "tool", "resource", "prompt"}) | QUESTIONS
"""Operations that the memory answers."""

BY_WORDS_S, BY_WORDS_SHARE = 0.35, 0.4
"""Seconds that an answer by words alone may take, at least, and their share of what a request waits: until
then it waits for the model. Where a machine is busy, words take longer as well."""


class Home:
    """One open memory; may be used from several threads."""

    def __init__(self, open_memory: "Callable[[], Ragmem]", log: Log) -> None:
        self._open = open_memory
        self._log = log
        self._opened = threading.Event()
        self._ready = threading.Event()
        self._memory: Ragmem | None = None
        self._by_words: Ragmem | None = None
        self._failed: RagmemError | None = None
        self.is_broken = False
        """Whether it could not be loaded by a bug, so that another process may have more luck."""
        self._guard = threading.Lock()

    def loaded(self) -> "Ragmem | None":
        """Return the memory once it is loaded; None where its settings are wrong."""
        self._ready.wait()
        return self._memory

    def is_ready(self) -> bool:
        """Tell whether the model is loaded, or will not be."""
        return self._ready.is_set()

    def load(self) -> None:
        """Open the memory and load what a question needs; each answer reports a failure."""
        try:
            self._memory = memory = self._open()
            self._opened.set()
            if memory.is_stored():
                model = threading.Thread(target=self._load_model, args=(memory,), daemon=True)
                model.start()
                _load_code(memory)
                model.join()
        except RagmemError as error:
            self._failed = error
            self._log.failed("the memory cannot be opened", error)
        except Exception as error:  # noqa: BLE001 - a bug must not leave clients waiting for good
            self.is_broken = True
            self._failed = RagmemError(f"this is a bug in ragmem: {type(error).__name__}")
            self._log.failed("loading", error)
        finally:
            self._opened.set()
            self._ready.set()

    def answer(self, request: dict[str, Any], due: float) -> dict[str, Any]:
        """Return the answer to a question of a hook, or of a tool; what goes wrong is its field `error`."""
        try:
            left = due - time.monotonic()
            latest = due - max(BY_WORDS_S, BY_WORDS_SHARE * left)
            self._opened.wait(left)
            memory, rung = self._memory, "warm"
            if not self._ready.wait(latest - time.monotonic()) and memory is not None:
                memory, rung = self._words(memory), "words"
            if memory is None:
                raise self._failed or RagmemError("the memory is still being opened")
            told = _told(memory, request, rung, due)
        except RagmemError as error:
            return {**nothing(str(error), "none"), "error": str(error)}
        except Exception as error:  # noqa: BLE001 - a bug is logged, and the next request is answered
            self._log.failed("answering", error)
            problem = f"this is a bug in ragmem: {type(error).__name__}"
            return {**nothing(problem, "none"), "error": problem}
        if "error" in told:
            self._log.write(f"a question was not answered ({rung})")
        return told

    def close(self) -> None:
        """Close what is open."""
        for memory in (self._memory, self._by_words):
            if memory is not None:
                memory.close()

    def _load_model(self, memory: "Ragmem") -> None:
        try:
            memory.models.embedder.embed(["warm"], role="query")
        except RagmemError as error:
            self._log.failed("the model cannot be loaded", error)
        except Exception as error:  # noqa: BLE001 - questions are answered by words, and each tells why
            self._log.failed("loading the model", error)

    def _words(self, memory: "Ragmem") -> "Ragmem":
        """Return the same memory without its models."""
        from ragmem.daemon.fulltext_only import FulltextMemory

        with self._guard:
            if self._by_words is None:
                self._by_words = FulltextMemory(memory.settings, home=memory.home, cwd=memory.cwd)
            return self._by_words


def _told(memory: "Ragmem", request: dict[str, Any], rung: str, due: float) -> dict[str, Any]:
    if request.get("op", "context") == "context":
        return answer(memory, request, rung=rung, due=due)
    # Most homes are only asked by hooks.
    if request["op"] in QUESTIONS:
        from ragmem.daemon import queries

        return queries.answer(memory, request)
    from ragmem.mcp import operations

    return {**operations.answer(memory, request), "rung": rung}


def _load_code(memory: "Ragmem") -> None:
    """Do what a first question does without the model, while that is being loaded."""
    import ragmem.services.context.anticipation
    import ragmem.services.retrieval.query  # noqa: F401
    from ragmem.domain.model import USER
    from ragmem.storage.fulltext import fulltext

    memory.require()
    _ = memory.store
    fulltext.search(memory.catalog.database, "warm up", limit=1, projects=(USER,))

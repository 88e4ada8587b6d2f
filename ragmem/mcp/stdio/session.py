"""One client of the server: its requests, answered at once or by workers, its cancellations and roots."""

import _thread
import os
import time
from _queue import SimpleQueue

from ragmem import json_text
from ragmem.mcp.stdio import protocol
from ragmem.mcp.stdio.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ProtocolError,
)
from ragmem.mcp.stdio.wire import LONGEST, Wire

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ragmem.mcp.definitions import Profile
    from ragmem.mcp.stdio.protocol import Params

    Reply = Callable[[Params | None], None]
    # Takes the answer to a request; None for no answer.

MOST_CALLS = 16
"""Maximum number of concurrent calls; more are queued."""

MOST_WAITS = 32
"""Maximum number of concurrent calls that wait for events; they take no place from the others."""

MOST_WAITING = 1_000
"""Maximum length of the queue."""

ROOTS_S = 1.0
"""Seconds that the first call waits for the client to name the open folder."""

ROOTS = "ragmem-roots"
"""Prefix of the ids of our own requests."""


class Call:
    """A request that the memory answers; `cancelled` once the client has withdrawn it.

    It began at a moment of `time.monotonic`.
    """

    __slots__ = ("agent", "began", "cancelled", "folder", "method", "params", "stateless")

    def __init__(self, method: str, params: "Params", *, stateless: bool, agent: str, folder: str) -> None:
        self.method = method
        self.params = params
        self.stateless = stateless
        self.agent = agent
        self.folder = folder
        self.began = time.monotonic()
        self.cancelled = False


class Session:
    """The state of one client; only one thread calls `take`.

    `answer` makes the result of a call, and raises ProtocolError where that is an error.
    """

    def __init__(
        self,
        wire: Wire,
        answer: "Callable[[Call], Params]",
        *,
        profile: "Profile",
        folder: str,
        fixed_folder: bool = False,
    ) -> None:
        self._wire = wire
        self._answer = answer
        self._profile = profile
        self._folder = folder
        self._fixed_folder = fixed_folder
        self._workers = Workers(MOST_CALLS)
        self._waiters = Workers(MOST_WAITS)
        self._guard = _thread.allocate_lock()
        self._running: dict[str | int, Call] = {}
        self._version = protocol.HANDSHAKE_VERSIONS[0]
        self._client = ""
        self._has_roots = False
        self._roots_asked = 0
        self._roots_due = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a call is still open."""
        return self._open > 0

    @property
    def _open(self) -> int:
        return self._workers.open + self._waiters.open

    def take(self, line: bytes | None) -> None:
        """Handle a line; None is one that was too long."""
        if line is None:
            self._send(
                _failure(None, ProtocolError(INVALID_REQUEST, f"a message has more than {LONGEST:,} bytes"))
            )
            return
        try:
            found = json_text.read(line.decode())
        except ValueError:
            self._send(_failure(None, ProtocolError(PARSE_ERROR, "a line is one message of JSON in UTF-8")))
            return
        if isinstance(found, list):
            self._batch(found)
        else:
            self._message(found, self._send)

    def _batch(self, messages: "list[Any]") -> None:
        if not messages or self._version not in protocol.BATCH_VERSIONS:
            reason = "is empty" if not messages else f"is not of version {self._version}"
            self._send(_failure(None, ProtocolError(INVALID_REQUEST, f"an array of messages that {reason}")))
            return
        batch = _Batch(self._wire, len(messages))
        for message in messages:
            self._message(message, batch.reply)

    def _message(self, message: "Any", reply: "Reply") -> None:
        try:
            identifier, method, params = _read(message)
        except ProtocolError as refused:
            reply(_failure(_id_of(message), refused))
            return
        if method is None:
            self._take_roots(message)
            reply(None)
        elif identifier is None:
            self._notice(method, params)
            reply(None)
        else:
            self._request(identifier, method, params, reply)

    def _request(self, identifier: str | int, method: str, params: "Params", reply: "Reply") -> None:
        try:
            stateless = protocol.check_version(method, params)
            self._client = protocol.client_of(method, params) or self._client
            if method not in protocol.CALLS:
                result = protocol.answer_without_memory(method, params, self._profile)
                if method == "initialize":
                    self._begin(params, result)
                result = protocol.add_stateless_fields(method, result, stateless=stateless)
                reply(_success(identifier, result))
                return
            if identifier in self._running:
                raise ProtocolError(INVALID_REQUEST, "a request of this id is being answered")
            if self._open >= MOST_WAITING:
                raise ProtocolError(INTERNAL_ERROR, f"{MOST_WAITING:,} calls are waiting already")
        except ProtocolError as refused:
            reply(_failure(identifier, refused))
            return
        call = Call(method, params, stateless=stateless, agent=self._client, folder=self._folder)
        self._running[identifier] = call
        workers = self._waiters if protocol.waits_for_events(params) else self._workers
        workers.do(lambda: self._run(identifier, call, reply))

    def _begin(self, params: "Params", result: "Params") -> None:
        self._version = result["protocolVersion"]
        offered = params.get("capabilities")
        self._has_roots = isinstance(offered, dict) and isinstance(offered.get("roots"), dict)

    def _notice(self, method: str, params: "Params") -> None:
        if method == "notifications/cancelled":
            gone = params.get("requestId")
            call = self._running.get(gone) if isinstance(gone, str | int) else None
            if call is not None:
                call.cancelled = True
        elif method in {"notifications/initialized", "notifications/roots/list_changed"}:
            self._request_roots()

    def _request_roots(self) -> None:
        """Ask the client for its open folders, if it supports that and no folder was fixed."""
        if not self._has_roots or self._fixed_folder:
            return
        self._roots_asked += 1
        self._roots_due = time.monotonic() + ROOTS_S
        self._send({"jsonrpc": "2.0", "id": f"{ROOTS}-{self._roots_asked}", "method": "roots/list"})

    def _take_roots(self, message: "Params") -> None:
        """Use the answer to our latest request; ignore any other answer."""
        if message.get("id") != f"{ROOTS}-{self._roots_asked}":
            return
        result = message.get("result")
        roots = result.get("roots") if isinstance(result, dict) else None
        named = (_folder(root) for root in roots) if isinstance(roots, list) else ()
        self._folder = next((folder for folder in named if folder), self._folder)
        self._roots_due = 0.0

    def _run(self, identifier: str | int, call: Call, reply: "Reply") -> None:
        """Answer a call in a worker thread."""
        while time.monotonic() < self._roots_due:
            time.sleep(0.005)
        call.folder = self._folder
        answer: Params | None = None
        if not call.cancelled:
            try:
                result = self._answer(call)
                result = protocol.add_stateless_fields(call.method, result, stateless=call.stateless)
                answer = _success(identifier, result)
            except ProtocolError as refused:
                answer = _failure(identifier, refused)
            except Exception as error:  # noqa: BLE001 - a bug is reported to the client, which can go on
                told = f"this is a bug in ragmem: {type(error).__name__}"
                answer = _failure(identifier, ProtocolError(INTERNAL_ERROR, told))
        with self._guard:
            del self._running[identifier]
        reply(None if call.cancelled else answer)

    def _send(self, message: "Params | None") -> None:
        if message is not None:
            self._wire.send(message)


class _Batch:
    """The answers to an array of messages, sent as one array when all are there."""

    def __init__(self, wire: Wire, count: int) -> None:
        self._wire = wire
        self._left = count
        self._answers: list[Params] = []
        self._guard = _thread.allocate_lock()

    def reply(self, answer: "Params | None") -> None:
        """Add an answer; None counts a message without one."""
        with self._guard:
            self._left -= 1
            if answer is not None:
                self._answers.append(answer)
            complete = not self._left and self._answers
        if complete:
            self._wire.send(self._answers)


def _read(message: "Any") -> "tuple[str | int | None, str | None, Params]":
    """Return id, method and params of a message; an answer has no method. Raises ProtocolError."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'a message is an object with "jsonrpc": "2.0"')
    method, identifier = message.get("method"), _id_of(message)
    if method is None and identifier is not None and ("result" in message or "error" in message):
        return identifier, None, {}
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "a request has a method, a text")
    if "id" in message and identifier is None:
        raise ProtocolError(INVALID_REQUEST, "an id is a text or a whole number")
    params = message.get("params", {})
    if params is None:
        params = {}
    if not isinstance(params, dict) or not isinstance(params.get("_meta") or {}, dict):
        raise ProtocolError(INVALID_PARAMS, "params is an object, and so is its _meta")
    return identifier, method, params


def _id_of(message: "Any") -> str | int | None:
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _success(identifier: str | int, result: "Params") -> "Params":
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


def _failure(identifier: str | int | None, refused: ProtocolError) -> "Params":
    return {"jsonrpc": "2.0", "id": identifier, "error": refused.error}


def _folder(root: "Any") -> str:
    """Return the folder that a root names; empty where it is not on this machine."""
    uri = root.get("uri") if isinstance(root, dict) else None
    if not isinstance(uri, str) or not uri.startswith("file://"):
        return ""
    from urllib.parse import unquote  # noqa: PLC0415 - a handshake does without

    _, _, path = uri[len("file://") :].partition("/")
    folder = f"/{unquote(path)}"
    return folder if "\0" not in folder and os.path.isdir(folder) else ""  # noqa: PTH112


class Workers:
    """A pool of up to `most` threads. They never end, because each may keep a database connection."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._guard = _thread.allocate_lock()
        self._started = 0
        self._open = 0

    @property
    def open(self) -> int:
        """The number of jobs that are queued or running."""
        return self._open

    def do(self, job: "Callable[[], None]") -> None:
        """Run a job in the next free thread; it must not raise."""
        with self._guard:
            self._open += 1
            more = self._open > self._started and self._started < self._most
            self._started += more
        self._jobs.put(job)
        if more:
            _thread.start_new_thread(self._work, ())

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job()
            finally:
                with self._guard:
                    self._open -= 1

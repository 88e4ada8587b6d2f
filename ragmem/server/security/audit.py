"""The audit log: one line for each request that may have changed something, without any content."""

import itertools
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragmem.ports.principal import Principal
from ragmem.server.security.access import UNMATCHED, role_for
from ragmem.server.security.guard import CREDENTIAL, PRINCIPAL, changes

FILE_NAME = "audit.jsonl"
MAX_BYTES = 4 * 1024 * 1024
MAX_FILES = 3
"""Maximum log files, including the current one: at 250 bytes a line at least the latest 50,000 writes."""

MAX_TEAM_FILES = 25
"""Maximum log files of a team's server: who writes much must not push out what others did."""

MAX_IDS = 20
"""Maximum ids in a line; it counts the rest."""

UNAUDITED = frozenset({"/heartbeat", "/status", "/messages/ack"})
"""Frequent status reports of agents, which change no memory."""

REQUEST_KEY = "ragmem.request_id"
"""The key of the request id in the ASGI scope, if it has one."""

_MAX_ANSWER = 64 * 1024
_NAME = re.compile(r"[\w.:@+-]{1,64}", re.ASCII)
_NOT_NAME = re.compile(r"[^\w.:@+-]", re.ASCII)
_ID_KEYS = frozenset({"memory_id", "memory_ids", "id", "ids"})
_LIST_KEYS = frozenset({"memory", "memories", "items", "results", "stored"})
_AGENT_KEYS = ("agent", "agent_id", "sender")


class AuditLog:
    """Appends lines to a file that only its owner can read; safe from several threads."""

    def __init__(
        self,
        path: Path,
        *,
        warn: Callable[[str], None] = lambda _: None,
        max_bytes: int = MAX_BYTES,
        kept: int = MAX_FILES,
    ) -> None:
        self.path = path
        self._warn = warn
        self._max_bytes = max_bytes
        self._kept = kept
        self._guard = threading.Lock()
        self._failing = False

    def record(self, **entry: Any) -> None:
        """Append an entry with the time; a failed write warns once and does not fail the request."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": at, **entry}, ensure_ascii=True) + "\n"
        try:
            with self._guard:
                self._append(line.encode("ascii"))
            self._failing = False
        except OSError as error:
            if not self._failing:
                self._failing = True
                self._warn(f'writes are not audited: cannot write "{self.path}": {error.strerror}')

    def record_call(
        self, name: str, *, who: str, principal: Principal | None, agent: str, failed: bool, data: Any
    ) -> None:
        """Append an entry for a tool call over MCP, with the ids in its answer."""
        caller = member_fields(principal) | ({"agent": _NOT_NAME.sub("-", agent)[:64]} if agent else {})
        status = "failed" if failed else "done"
        self.record(who=who, method="MCP", route=name, status=status, **caller, **_memory_fields(_ids(data)))

    def _append(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            os.write(descriptor, line)
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size >= self._max_bytes:
            self._rotate()

    def _rotate(self) -> None:
        # The oldest first, so that each name is free before its use; replace() drops the last.
        names = [
            self.path,
            *(self.path.with_name(f"{FILE_NAME}.{number}") for number in range(1, self._kept)),
        ]
        for newer, older in reversed(list(itertools.pairwise(names))):
            if newer.exists():
                newer.replace(older)


class AuditMiddleware:
    """ASGI middleware that records each answered request that may have changed something."""

    def __init__(self, app: ASGIApp, *, log: AuditLog) -> None:
        self.app = app
        self.log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and read the ids in its answer."""
        if scope["type"] != "http" or not changes(scope) or scope["path"] in UNAUDITED:
            await self.app(scope, receive, send)
            return
        status = 500
        answer = bytearray()

        async def send_watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif len(answer) <= _MAX_ANSWER:
                answer.extend(message.get("body", b""))
            await send(message)

        begun = time.perf_counter()
        try:
            await self.app(scope, receive, send_watched)
        finally:
            # A path without a route may be any text; the path of a route lacks the prefix of its router.
            if route := getattr(scope.get("route"), "path", ""):
                _, whole = role_for(scope["method"], scope["path"])
                self.log.record(
                    who=scope.get(CREDENTIAL) or "nobody",
                    **member_fields(scope.get(PRINCIPAL)),
                    method=scope["method"],
                    route=route if whole == UNMATCHED else whole,
                    status=status,
                    ms=round((time.perf_counter() - begun) * 1_000),
                    **({"request": scope[REQUEST_KEY]} if REQUEST_KEY in scope else {}),
                    **_entry_fields(scope.get("path_params", {}), bytes(answer)),
                )


def member_fields(principal: Principal | None) -> dict[str, str]:
    """Return the member of an entry; nothing for the owner."""
    return {"member": principal.member} if principal else {}


def _entry_fields(parameters: Mapping[str, Any], answer: bytes) -> dict[str, Any]:
    """Return the ids in path and answer, and the agent; nothing that could be content."""
    document: Any = None
    if len(answer) <= _MAX_ANSWER and answer[:1] in {b"{", b"["}:
        with suppress(ValueError, RecursionError):
            document = json.loads(answer)
    fields = _memory_fields([*_ids(parameters), *_ids(document)])
    if isinstance(document, dict):
        agents = (document.get(key) for key in _AGENT_KEYS)
        if agent := next((one for one in agents if isinstance(one, str) and _NAME.fullmatch(one)), None):
            fields["agent"] = agent
    return fields


def _memory_fields(ids: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(ids))
    return {"memories": unique[:MAX_IDS], "count": len(unique)} if unique else {}


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _ids(item)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _ID_KEYS:
                ids = inner if isinstance(inner, list) else [inner]
                yield from (one for one in ids if isinstance(one, str) and _NAME.fullmatch(one))
            elif key in _LIST_KEYS:
                yield from _ids([inner] if isinstance(inner, dict) else inner)

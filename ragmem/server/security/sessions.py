"""Sessions of browsers: a random id in a cookie, and the session in the memory of this process only."""

import asyncio
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

IDLE_S = 12 * 3600.0
"""Seconds without a request after which a session ends: enough for a page that stays open overnight."""

ABSOLUTE_S = 7 * 86_400.0
"""Seconds after which a session ends in any case."""

MOST = 64
"""Maximum sessions of a token; a new one ends the least recently used one."""

_ID_BYTES = 32


@dataclass(slots=True)
class Session:
    """A logged-in browser; its page sends the token `csrf` with each request that changes something."""

    begun: float
    used: float
    member_hash: str = ""
    """The hash of the member's token that began it; empty: the server's token did."""
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(_ID_BYTES))
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set on the event loop when the session ends; its streams end then."""

    def accepts(self, given: str) -> bool:
        """Return in constant time whether this is the session's CSRF token."""
        return hmac.compare_digest(given.encode(), self.csrf.encode())


def cookie_name(token: str) -> str:
    """Return the name of the cookie: one per token, since cookies are shared by all ports of a host."""
    return f"ragmem-{hashlib.sha256(b'cookie' + token.encode()).hexdigest()[:12]}"


class Sessions:
    """The sessions of one server; safe to use from several threads, gone when the process ends."""

    def __init__(self, token: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.cookie = cookie_name(token)
        self._clock = clock
        self._guard = threading.Lock()
        # The keys are digests of the ids, so that the time of a look-up reveals nothing.
        self._sessions: dict[str, Session] = {}

    def begin(self, member_hash: str = "") -> tuple[str, Session]:
        """Return a new session of a token and its id, which is stored nowhere else."""
        identifier = secrets.token_urlsafe(_ID_BYTES)
        with self._guard:
            self._forget_ended()
            own = [key for key, session in self._sessions.items() if session.member_hash == member_hash]
            if len(own) >= MOST:
                self._end(min(own, key=lambda key: self._sessions[key].used))
            now = self._clock()
            session = self._sessions[_key(identifier)] = Session(now, now, member_hash)
        return identifier, session

    def find(self, headers: Iterable[tuple[bytes, bytes]]) -> Session | None:
        """Return the session of a request's cookies, which counts as used; None if there is none."""
        identifiers = list(self._identifiers(headers))
        if not identifiers:
            return None
        with self._guard:
            self._forget_ended()
            for identifier in identifiers:
                if (session := self._sessions.get(_key(identifier))) is not None:
                    session.used = self._clock()
                    return session
        return None

    def end(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """End the session of a request's cookies; has no effect without one."""
        with self._guard:
            for identifier in self._identifiers(headers):
                self._end(_key(identifier))

    def seconds_left(self, session: Session) -> float:
        """Return the seconds until an unused session ends."""
        now = self._clock()
        return min(session.used + IDLE_S, session.begun + ABSOLUTE_S) - now

    def _identifiers(self, headers: Iterable[tuple[bytes, bytes]]) -> Iterable[str]:
        for name, value in headers:
            if name != b"cookie":
                continue
            # It includes cookies of other servers on this host, so it may be long.
            for pair in value.decode("latin-1").split(";"):
                key, _, identifier = pair.strip().partition("=")
                if key == self.cookie:
                    yield identifier

    def _forget_ended(self) -> None:
        for key in [key for key, session in self._sessions.items() if self.seconds_left(session) <= 0]:
            self._end(key)

    def _end(self, key: str) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            session.ended.set()


def _key(identifier: str) -> str:
    return hashlib.sha256(identifier.encode()).hexdigest()

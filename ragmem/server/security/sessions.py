"""Logged-in browsers: a random id in a cookie, what it opens in the memory of this process alone."""

import asyncio
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

IDLE_S = 12 * 3600.0
"""Seconds without a request after which a session ends: longer than a page stays open overnight."""

ABSOLUTE_S = 7 * 86_400.0
"""Seconds after which it ends whatever happens."""

MOST = 64
"""Sessions kept; one more ends the one that was unused the longest."""

_ID_BYTES = 32


@dataclass(slots=True)
class Session:
    """One logged-in browser; `csrf` is what its page sends along with each request that changes something."""

    begun: float
    used: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(_ID_BYTES))
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, on the event loop, when its cookie opens nothing any more: streams that it opened end then."""

    def accepts(self, given: str) -> bool:
        """Tell in constant time whether this is the session's CSRF token."""
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
        # Kept by the digest of the id: finding one by its name then tells nothing by how long it takes.
        self._sessions: dict[str, Session] = {}

    def begin(self) -> tuple[str, Session]:
        """Return the id of a new session, which is kept nowhere else, and the session."""
        identifier = secrets.token_urlsafe(_ID_BYTES)
        with self._guard:
            self._forget_ended()
            while len(self._sessions) >= MOST:
                self._end(min(self._sessions, key=lambda key: self._sessions[key].used))
            now = self._clock()
            session = self._sessions[_key(identifier)] = Session(now, now)
        return identifier, session

    def find(self, headers: Iterable[tuple[bytes, bytes]]) -> Session | None:
        """Return the session that a request's cookies name, which counts as used; None without any."""
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
        """End the session that a request's cookies name; without one nothing happens."""
        with self._guard:
            for identifier in self._identifiers(headers):
                self._end(_key(identifier))

    def left(self, session: Session) -> float:
        """Return the seconds that a session has left if nobody uses it."""
        now = self._clock()
        return min(session.used + IDLE_S, session.begun + ABSOLUTE_S) - now

    def _identifiers(self, headers: Iterable[tuple[bytes, bytes]]) -> Iterable[str]:
        for name, value in headers:
            if name != b"cookie":
                continue
            # What other servers of this host have set comes along, so it may be long.
            for pair in value.decode("latin-1").split(";"):
                key, _, identifier = pair.strip().partition("=")
                if key == self.cookie:
                    yield identifier

    def _forget_ended(self) -> None:
        for key in [key for key, session in self._sessions.items() if self.left(session) <= 0]:
            self._end(key)

    def _end(self, key: str) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            session.ended.set()


def _key(identifier: str) -> str:
    return hashlib.sha256(identifier.encode()).hexdigest()

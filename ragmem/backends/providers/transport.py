"""Sends requests to one provider: time-outs, repetitions, limits, and every failure as a ProviderError."""

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from ragmem.backends.providers.connection import Connection
from ragmem.backends.providers.diagnosis import diagnose
from ragmem.backends.providers.failures import Failures, ProviderError
from ragmem.backends.providers.keys import Key
from ragmem.backends.providers.pacing import Clock, Pacing, Patience, backoff
from ragmem.backends.providers.provider import Provider
from ragmem.backends.providers.settings import Settings, url_problem
from ragmem.backends.providers.streaming import Stream
from ragmem.errors import BackendError
from ragmem.ports import Call, Purpose

LOOK_S = 3.0
"""How long a request that only explains a failure may take."""

MOST_TOKENS = 10**9
"""No request has more; what a server counts beyond is not believed."""

CHARACTERS_PER_TOKEN = 4

Tokens = tuple[int, int]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Account:
    """What a request is for, and how its tokens are counted.

    `tokens` reads them from the answer; `estimate` stands for those of the prompt where it tells none.
    """

    model: str
    purpose: Purpose
    estimate: int
    tokens: Callable[[Any], Tokens | None]


@dataclass(slots=True)
class _Attempt:
    """What an attempt has spent; None where no answer came."""

    spent: Tokens | None = None

    def read(self, stream: Stream, account: Account) -> None:
        """Take what an answer in parts told of its tokens, or estimate them."""
        told = stream.tokens
        guess = account.estimate, -(-stream.characters // CHARACTERS_PER_TOKEN)
        self.spent = told if told is not None and _sound(told) else guess


class Transport:
    """The connections to one provider; safe to use from several threads, closing twice is fine."""

    def __init__(self, provider: Provider, settings: Settings, *, key: Key, clock: Clock) -> None:
        self._provider = provider
        self._settings = settings
        self._clock = clock
        self._root = provider.root(settings.url or provider.url)
        self._failures = Failures(provider.name, settings, key, url=self._root, start=provider.start)
        self._pacing = Pacing(settings.requests_per_minute, clock)
        self._places = threading.BoundedSemaphore(max(1, settings.concurrency))
        self._connection = Connection(
            provider,
            self._failures,
            key=key,
            clock=clock,
            root=self._root,
            # QuestionCache come on top of background work.
            most=settings.concurrency + 4,
        )

    def patience(self, purpose: Purpose) -> Patience:
        """Return how long a request for this purpose may take, from now on."""
        # What the client takes to load is not the server's time.
        importlib.import_module("httpx")
        given = self._settings
        if purpose in {"query", "rerank"}:
            seconds = min(given.query_timeout_s, given.timeout_s)
            return Patience(seconds, self._clock.now() + seconds, min(1, given.retries))
        return Patience(given.timeout_s, None, given.retries)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        patience: Patience,
        account: Account,
    ) -> Any:
        """Return the answer's JSON; each attempt is admitted by the meter before, and recorded after."""
        content = self._content(body)

        def send() -> Any:
            return self._attempt(path, content, patience=patience, account=account)

        return self._retry(send, patience)

    @contextmanager
    def streaming(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        patience: Patience,
        account: Account,
    ) -> Iterator[Stream]:
        """Yield an answer that comes in parts, once its head is there; counted as in `post`, when it ends.

        What breaks off after the head is not repeated: somebody has read a part of it.
        """
        content = self._content(body)

        def begin() -> tuple[Stream, ExitStack]:
            with ExitStack() as opened:
                attempt = opened.enter_context(self._attempting(patience, account))
                stream = self._connection.stream(f"{self._root}{path}", content, patience=patience)
                opened.callback(attempt.read, stream, account)
                return stream, opened.pop_all()

        stream, opened = self._retry(begin, patience)
        with opened, closing(stream):
            yield stream

    def _content(self, body: Mapping[str, Any]) -> bytes:
        if problem := url_problem(self._root):
            # As good as a server that is down: full text answers, and what is handed in is kept.
            raise BackendError(problem, hint=f"write url in {self._settings.place}")
        return orjson.dumps({**body, **self._settings.body})

    def _retry(self, send: Callable[[], Answer], patience: Patience) -> Answer:
        attempt = 0
        while True:
            try:
                return send()
            except ProviderError as error:
                delay = self._delay(error, attempt, patience)
                if delay is None:
                    raise self._explain(error, patience) from None
                if error.wait is not None:
                    self._pacing.hold(error.wait)
            attempt += 1
            self._clock.sleep(delay)

    def odd(self, reason: str) -> ProviderError:
        """Return the error of an answer that is not as the protocol says."""
        return self._failures.odd(reason)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def _attempt(self, path: str, content: bytes, *, patience: Patience, account: Account) -> Any:
        with self._attempting(patience, account) as attempt:
            answer = self._connection.send("POST", f"{self._root}{path}", content, patience=patience)
            attempt.spent = _count_tokens(answer, account) or (account.estimate, 0)
            return answer

    @contextmanager
    def _attempting(self, patience: Patience, account: Account) -> Iterator["_Attempt"]:
        """Let an attempt have its turn; it is admitted by the meter before, and recorded after."""
        self._pacing.wait(patience)
        meter = self._settings.meter
        if meter is not None:
            meter.admit(account.purpose)
        with ExitStack() as place:
            if not patience.hurried:
                place.enter_context(self._places)
            started = self._clock.now()
            error, attempt = "", _Attempt()
            try:
                yield attempt
            except ProviderError as failure:
                error = failure.word
                raise
            finally:
                if meter is not None and (error or attempt.spent):
                    seconds = self._clock.now() - started
                    spent = attempt.spent or (0, 0)
                    name = self._provider.name
                    meter.record(Call(name, account.model, account.purpose, *spent, seconds, error))

    def _delay(self, error: ProviderError, attempt: int, patience: Patience) -> float | None:
        if not error.again or attempt >= patience.retries or patience.over.is_set():
            return None
        delay = backoff(attempt, error.wait, self._clock)
        if delay is None or (patience.until is not None and self._clock.now() + delay >= patience.until):
            return None
        return delay

    def _explain(self, error: ProviderError, patience: Patience) -> ProviderError:
        if not error.lost or patience.over.is_set():
            return error
        until = self._clock.now() + LOOK_S
        if patience.until is not None:
            until = min(until, patience.until)

        def fetch(url: str) -> Any:
            if url_problem(url.partition("?")[0]) or self._clock.now() >= until:
                return None
            try:
                look = Patience(LOOK_S, until, 0)
                return self._connection.send("GET", url, None, patience=look)
            except BackendError:
                return None

        return diagnose(error, self._provider, self._settings, root=self._root, fetch=fetch)


def _count_tokens(answer: Any, account: Account) -> Tokens | None:
    try:
        told = account.tokens(answer)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
    # JSON may have anything in their place, and a cap is reckoned with them.
    return told if told is not None and _sound(told) else None


def _sound(told: Tokens) -> bool:
    return all(type(one) is int and 0 <= one <= MOST_TOKENS for one in told)

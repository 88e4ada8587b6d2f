"""Send requests to one provider: time-outs, retries, limits, and every failure as a ProviderError."""

import difflib
import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

import orjson

from ragmem.backends.providers.connection import Connection
from ragmem.backends.providers.failures import Failures, ProviderError
from ragmem.backends.providers.keys import Key
from ragmem.backends.providers.provider import EmbeddingProtocol, Provider, RerankProtocol
from ragmem.backends.providers.rate_limit import Clock, RateLimiter, RetryPolicy, backoff
from ragmem.backends.providers.settings import Settings, redact_url, url_problem
from ragmem.backends.providers.streaming import Stream
from ragmem.errors import BackendError
from ragmem.ports import Call, Purpose, model_due

DIAGNOSIS_S = 3.0
"""Time-out of a request that only explains a failure."""

MOST_TOKENS = 10**9
"""No request has more; larger counts from a server are ignored."""

CHARACTERS_PER_TOKEN = 4

Tokens = tuple[int, int]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Account:
    """The purpose of a request, and how its tokens are counted.

    `tokens` reads them from the answer; `estimate` is the prompt's count where the answer has none.
    """

    model: str
    purpose: Purpose
    estimate: int
    tokens: Callable[[Any], Tokens | None]


@dataclass(slots=True)
class _Attempt:
    """The tokens that an attempt has spent; None without an answer."""

    spent: Tokens | None = None

    def read(self, stream: Stream, account: Account) -> None:
        """Take the token counts of a streamed answer, or estimate them."""
        guess = account.estimate, -(-stream.characters // CHARACTERS_PER_TOKEN)
        self.spent = stream.tokens if _is_valid(stream.tokens) else guess


class Transport:
    """The connections to one provider; safe to use from several threads, closing twice is fine."""

    def __init__(self, provider: Provider, settings: Settings, *, key: Key, clock: Clock) -> None:
        self._provider = provider
        self._settings = settings
        self._clock = clock
        self._root = provider.root(settings.url or provider.url)
        self._failures = Failures(provider.name, settings, key, url=self._root, start=provider.start)
        self._rate_limiter = RateLimiter(settings.requests_per_minute, clock)
        self._places = threading.BoundedSemaphore(max(1, settings.concurrency))
        self._connection = Connection(
            provider,
            self._failures,
            key=key,
            clock=clock,
            root=self._root,
            # Questions come on top of background work.
            most=settings.concurrency + 4,
        )

    def retry_policy(self, purpose: Purpose) -> RetryPolicy:
        """Return how long a request for this purpose may take, from now on."""
        # Loading the client must not count as the server's time.
        importlib.import_module("httpx")
        given = self._settings
        if purpose in {"query", "rerank"}:
            left = max(0.0, model_due.get() - time.monotonic())
            seconds = min(given.query_timeout_s, given.timeout_s, left)
            return RetryPolicy(seconds, self._clock.now() + seconds, min(1, given.retries))
        return RetryPolicy(given.timeout_s, None, given.retries)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        policy: RetryPolicy,
        account: Account,
    ) -> Any:
        """Return the answer's JSON; the meter admits each attempt before and records it after."""
        content = self._content(body)

        def send() -> Any:
            with self._record_attempt(policy, account) as attempt:
                answer = self._connection.send("POST", f"{self._root}{path}", content, policy=policy)
                attempt.spent = _count_tokens(answer, account) or (account.estimate, 0)
                return answer

        return self._retry(send, policy)

    @contextmanager
    def open_stream(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        policy: RetryPolicy,
        account: Account,
    ) -> Iterator[Stream]:
        """Yield a streamed answer once its head is there; counted as in `post` when it ends.

        A stream that breaks off after the head is not repeated: somebody has read a part of it.
        """
        content = self._content(body)

        def begin() -> tuple[Stream, ExitStack]:
            with ExitStack() as opened:
                attempt = opened.enter_context(self._record_attempt(policy, account))
                stream = self._connection.stream(f"{self._root}{path}", content, policy=policy)
                opened.callback(attempt.read, stream, account)
                return stream, opened.pop_all()

        stream, opened = self._retry(begin, policy)
        with opened, closing(stream):
            yield stream

    def _content(self, body: Mapping[str, Any]) -> bytes:
        if problem := self._provider.address_problem(self._settings.url):
            # Handled like a server that is down: full text answers, and new memories are kept.
            raise BackendError(problem, hint=f"write url in {self._settings.place}")
        return orjson.dumps({**body, **self._settings.body})

    def _retry(self, send: Callable[[], Answer], policy: RetryPolicy) -> Answer:
        attempt = 0
        while True:
            try:
                return send()
            except ProviderError as error:
                delay = self._delay(error, attempt, policy)
                if delay is None:
                    raise self._explain(error, policy) from None
                if error.retry_after is not None:
                    self._rate_limiter.hold(error.retry_after)
            attempt += 1
            self._clock.sleep(delay)

    @contextmanager
    def parsing(self) -> Iterator[None]:
        """Turn the exceptions of parsing an answer that violates its protocol into a ProviderError."""
        try:
            yield
        except KeyError as error:
            raise self._failures.protocol_error(f"no {error}") from None
        except IndexError:
            raise self._failures.protocol_error("an empty list") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise self._failures.protocol_error(str(error)) from None
        except FloatingPointError as error:
            raise self._failures.protocol_error(str(error), may_be_of_text=True) from None

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    @contextmanager
    def _record_attempt(self, policy: RetryPolicy, account: Account) -> Iterator["_Attempt"]:
        """Wait for the turn of an attempt; the meter admits it before and records it after."""
        self._rate_limiter.wait(policy)
        meter = self._settings.meter
        if meter is not None:
            meter.admit(account.purpose)
        with ExitStack() as place:
            if not policy.has_deadline:
                place.enter_context(self._places)
            started = self._clock.now()
            error, attempt = "", _Attempt()
            try:
                yield attempt
            except ProviderError as failure:
                error = failure.kind
                raise
            finally:
                if meter is not None and (error or attempt.spent):
                    seconds = self._clock.now() - started
                    spent = attempt.spent or (0, 0)
                    name = self._provider.name
                    meter.record(Call(name, account.model, account.purpose, *spent, seconds, error))

    def _delay(self, error: ProviderError, attempt: int, policy: RetryPolicy) -> float | None:
        if not error.is_retryable or attempt >= policy.retries or policy.cancelled.is_set():
            return None
        delay = backoff(attempt, error.retry_after, self._clock)
        if delay is None or (policy.deadline is not None and self._clock.now() + delay >= policy.deadline):
            return None
        return delay

    def _explain(self, error: ProviderError, policy: RetryPolicy) -> ProviderError:
        if not error.is_not_found or policy.cancelled.is_set():
            return error
        until = self._clock.now() + DIAGNOSIS_S
        if policy.deadline is not None:
            until = min(until, policy.deadline)

        def fetch(url: str) -> Any:
            if url_problem(url.partition("?")[0]) or self._clock.now() >= until:
                return None
            try:
                return self._connection.send("GET", url, None, policy=RetryPolicy(DIAGNOSIS_S, until, 0))
            except BackendError:
                return None

        return _diagnose(error, self._provider, self._settings, root=self._root, fetch=fetch)


def input_tokens(protocol: EmbeddingProtocol | RerankProtocol) -> Callable[[Any], Tokens | None]:
    """Return the reader of token counts of a protocol whose answers have no completion."""

    def tokens(answer: Any) -> Tokens | None:
        counted = protocol.tokens(answer)
        return None if counted is None else (counted, 0)

    return tokens


def _count_tokens(answer: Any, account: Account) -> Tokens | None:
    try:
        told = account.tokens(answer)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
    # The JSON may hold anything here, and daily caps depend on these counts.
    return told if _is_valid(told) else None


def _is_valid(tokens: Tokens | None) -> TypeGuard[Tokens]:
    return tokens is not None and all(type(one) is int and 0 <= one <= MOST_TOKENS for one in tokens)


_MOST_NAMES = 8

_Fetch = Callable[[str], Any]
"""Returns the JSON at an address, or None."""


def _diagnose(
    error: ProviderError, provider: Provider, settings: Settings, *, root: str, fetch: _Fetch
) -> ProviderError:
    """Return the error with a better message where asking the server for its models explains it."""
    names = _names(provider, fetch(f"{root}{provider.models_path}"))
    if names is not None:
        return _about_model(error, provider, settings, names)
    for address in provider.other_addresses(root):
        if _names(provider, fetch(f"{address}{provider.models_path}")) is not None:
            return error.with_message(
                f"{redact_url(root)} is not the address of the API: {redact_url(address)} is",
                hint=f'write url = "{redact_url(address)}" in {settings.place}',
            )
    return error


def _names(provider: Provider, answer: Any) -> list[str] | None:
    if answer is None or provider.model_names is None:
        return None
    try:
        return provider.model_names(answer)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None


def _about_model(
    error: ProviderError, provider: Provider, settings: Settings, names: list[str]
) -> ProviderError:
    wanted = settings.model or provider.model
    # mlx_lm.server serves models that it does not list, and lists none.
    if not names or wanted in {name.removesuffix(":latest") for name in names} | set(names):
        if error.status not in {200, 404, 405}:
            return error
        lacks = {"models": "embeddings", "reranker": "reranking"}.get(
            settings.section, "completions of chats"
        )
        return error.with_message(
            f'the server of "{wanted}" offers no {lacks} ({error.detail or f"status {error.status}"})',
            hint="docs/models.md lists what each provider offers",
        )
    likely = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    # Where vectors are wanted, models with "embed" in their name come first.
    embedding = [name for name in names if settings.section == "models" and "embed" in name.lower()]
    listed = list(dict.fromkeys([*likely, *embedding, *names]))
    more = f" and {len(listed) - _MOST_NAMES} more" if len(listed) > _MOST_NAMES else ""
    pull = f"run `{provider.pull} {wanted}`, or use one of " if provider.pull else "it has "
    return error.with_message(
        f'{provider.name} has no model "{wanted}"', hint=f"{pull}{', '.join(listed[:_MOST_NAMES])}{more}"
    )

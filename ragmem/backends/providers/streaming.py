"""A streamed answer: its events, one by one, and every failure as a ProviderError."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from ragmem.backends.providers.failures import Failures, ProviderError
from ragmem.backends.providers.rate_limit import Clock

if TYPE_CHECKING:
    import httpx

LONGEST_ANSWER = 64 * 2**20
LONGEST_STREAM = 8 * 2**20
"""Bytes of a streamed answer, which is a completion and has no vectors."""

STREAM_TIMES = 10
"""A streamed answer may take this many times the time-out of a request, which each part has anew."""

_END = b"[DONE]"
_BLANKS = b" \t\r"


class Stream:
    """An answer whose headers have arrived; iterated once, and closed in any case."""

    def __init__(
        self, response: "httpx.Response", failures: Failures, clock: Clock, *, url: str, seconds: float
    ) -> None:
        self._response = response
        self._failures = failures
        self._clock = clock
        self._url = url
        self._seconds = seconds
        self.tokens: tuple[int, int] | None = None
        """Token counts of prompt and completion for the ledger; the reader of the stream sets them."""
        self.has_ended = False
        """Whether the answer is complete; the reader of the stream sets it, or the event [DONE]."""
        self.characters = 0
        """Characters of the completion so far, for an estimate where the provider reports no tokens."""

    @property
    def is_whole(self) -> bool:
        """Whether the server sends the whole answer at once, because it cannot stream."""
        return str(self._response.headers.get("content-type", "")).startswith("application/json")

    def __iter__(self) -> Iterator[Any]:
        """Yield the JSON of each event: lines of server-sent events, or lines of JSON."""
        for line in [b"".join(self._lines())] if self.is_whole else self._lines():
            content = line.removeprefix(b"data:").strip(_BLANKS)
            if content == _END:
                self.has_ended = True
                return
            if not self.is_whole and not line.startswith((b"data:", b"{")):
                continue
            try:
                event = parse_event(content)
            except (ValueError, RecursionError):
                raise self._failures.invalid_json(self._url, content) from None
            if isinstance(event, dict) and event.get("error"):
                raise self._failures.http_error(self._response.status_code, self._response.headers, content)
            yield event
        # A server that speaks HTTP/1.0 and dies closes the connection, as after a complete answer.
        if not self.is_whole and not self.has_ended:
            raise self._failures.connection_lost("the end of the answer is missing")

    def close(self) -> None:
        """Give up the rest; closing twice is fine."""
        self._response.close()

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines that are not empty; one may be as long as an answer."""
        rest, size, failure = b"", 0, None
        until = self._clock.now() + STREAM_TIMES * self._seconds
        parts = self._parts()
        while True:
            found = next(parts, b"")
            if isinstance(found, ProviderError):
                failure = found
                break
            size += len(found)
            *lines, rest = (rest + found).split(b"\n")
            yield from (line for line in lines if line.strip())
            if not found:
                break
            if size > LONGEST_STREAM:
                failure = self._failures.answer_too_long(LONGEST_STREAM)
                break
            if self._clock.now() > until:
                failure = self._failures.timeout(STREAM_TIMES * self._seconds, query=False)
                break
        if failure is not None:
            raise failure
        if rest.strip():
            yield rest

    def _parts(self) -> Iterator[bytes | ProviderError]:
        """Yield the bytes as they come, and at last the error that broke them off.

        No exception of httpx leaves this method, not even as a context: its frames hold the key.
        """
        import httpx

        try:
            for part in self._response.iter_bytes():
                if part:
                    yield part
        except httpx.TimeoutException:
            failure = self._failures.timeout(self._seconds, query=False)
        except httpx.DecodingError:
            failure = self._failures.invalid_json(self._url, b"")
        except (httpx.HTTPError, httpx.StreamError) as error:
            failure = self._failures.connection_lost(str(error))
        else:
            return
        yield failure


def parse_event(body: bytes) -> Any:
    """Return the value of a JSON text; raises ValueError or RecursionError for any other."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # Servers in Python write NaN, which is not JSON; a later check of the numbers gives a better error.
        return json.loads(body)

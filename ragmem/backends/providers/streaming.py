"""An answer that comes in parts: its events, one by one, and every failure as a ProviderError."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from ragmem.backends.providers.failures import Failures, ProviderError
from ragmem.backends.providers.pacing import Clock

if TYPE_CHECKING:
    import httpx

LONGEST_ANSWER = 64 * 2**20
LONGEST_STREAM = 8 * 2**20
"""Bytes of an answer in parts: the completion of a prompt, and no vectors."""

STREAM_TIMES = 10
"""Times the seconds of a request, which an answer in parts may take: each part has them anew."""

_END = b"[DONE]"
_BLANKS = b" \t\r"


class Stream:
    """An answer of which the head has come; iterated once, and closed in any case."""

    def __init__(
        self, response: "httpx.Response", failures: Failures, clock: Clock, *, url: str, seconds: float
    ) -> None:
        self._response = response
        self._failures = failures
        self._clock = clock
        self._url = url
        self._seconds = seconds
        self.tokens: tuple[int, int] | None = None
        """Tokens of prompt and completion as they were counted, for the ledger; whoever reads it sets it."""
        self.characters = 0
        """Characters of the completion so far, for an estimate where nothing was counted."""

    @property
    def is_whole(self) -> bool:
        """Whether the server gives the answer whole, as one that knows of no parts does."""
        return str(self._response.headers.get("content-type", "")).startswith("application/json")

    def __iter__(self) -> Iterator[Any]:
        """Yield the JSON of each event: lines of server-sent events, or lines of JSON."""
        for line in [b"".join(self._lines())] if self.is_whole else self._lines():
            content = line.removeprefix(b"data:").strip(_BLANKS)
            if content == _END:
                return
            if not self.is_whole and not line.startswith((b"data:", b"{")):
                continue
            try:
                event = parse_event(content)
            except (ValueError, RecursionError):
                raise self._failures.not_json(self._url, content) from None
            if isinstance(event, dict) and event.get("error"):
                raise self._failures.refused(self._response.status_code, self._response.headers, content)
            yield event

    def close(self) -> None:
        """Give up what has not come; closing twice is fine."""
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
                failure = self._failures.too_big(LONGEST_STREAM)
                break
            if self._clock.now() > until:
                failure = self._failures.slow(STREAM_TIMES * self._seconds, query=False)
                break
        if failure is not None:
            raise failure
        if rest.strip():
            yield rest

    def _parts(self) -> Iterator[bytes | ProviderError]:
        """Yield the bytes as they come, and at last what broke them off.

        Nothing of what httpx raises goes further, also not as a context: its frames know the key.
        """
        import httpx

        try:
            for part in self._response.iter_bytes():
                if part:
                    yield part
        except httpx.TimeoutException:
            failure = self._failures.slow(self._seconds, query=False)
        except httpx.DecodingError:
            failure = self._failures.not_json(self._url, b"")
        except (httpx.HTTPError, httpx.StreamError) as error:
            failure = self._failures.broken(str(error))
        else:
            return
        yield failure


def parse_event(body: bytes) -> Any:
    """Return the value of a JSON text; raises ValueError or RecursionError for any other."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # Servers in Python write NaN, which is no JSON; it is better refused as a number than as a syntax.
        return json.loads(body)

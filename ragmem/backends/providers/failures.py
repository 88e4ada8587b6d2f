"""The failures of a provider, each as one line without secrets and a hint that names the next step."""

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import orjson

from ragmem.backends.providers.keys import Key
from ragmem.backends.providers.settings import Settings, redact_url
from ragmem.errors import BackendError

LONGEST_MESSAGE = 200

_AGAIN = {408, 409, 425, 429}
_NEVER = {501, 505}
_QUOTA = re.compile(r"insufficient_quota|credit balance is too low|billing", re.IGNORECASE)
_KEY = re.compile(r"API_KEY_INVALID|api key not valid|invalid api key|api key expired", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|too (long|large|many tokens)|maximum.{0,40}tokens"
    r"|exceeds?\b.{0,40}(tokens|limit|length)|input length|token limit"
    # A request of fewer texts helps as well.
    r"|batch size|in one batch",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model.{0,120}(not found|not exist|not available)|model_not_found", re.IGNORECASE)
_NO_ENDPOINT = re.compile(r"unexpected endpoint|page not found|no route", re.IGNORECASE)
_CODE = re.compile(r'"code"\s*:\s*"?([45]\d\d)\b')
_DELAY = re.compile(r'"retryDelay"\s*:\s*"([\d.]+)s"')


class ProviderError(BackendError):
    """A request to a provider failed."""

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        kind: str,
        status: int = 0,
        detail: str = "",
        is_retryable: bool = False,
        retry_after: float | None = None,
        is_not_found: bool = False,
        may_be_of_text: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        """The name of the failure in the ledger."""
        self.status = status
        """The HTTP status, or 0 where there was no answer."""
        self.detail = detail
        """The server's own message."""
        self.is_retryable = is_retryable
        """Whether the same request may succeed later."""
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""
        self.is_not_found = is_not_found
        """Whether the address or the name of the model may be wrong."""
        self.may_be_of_text = may_be_of_text
        """Whether other texts may succeed: models compute NaN for some, and servers refuse some."""

    def with_message(self, message: str, *, hint: str) -> "ProviderError":
        """Return the same failure with a message and a hint that explain it; it is not retried."""
        return ProviderError(message, hint=hint, kind=self.kind, status=self.status, detail=self.detail)

    @property
    def too_long(self) -> bool:
        """Whether the server says that the input has too many tokens."""
        return self.status in {400, 413, 422, 429, 500} and is_too_long(self.status, self.detail)


class Failures:
    """Puts the failures of one provider into words."""

    def __init__(
        self, name: str, settings: Settings, key: Key, *, url: str, start: Callable[[str], str]
    ) -> None:
        self._name = name
        self._settings = settings
        self._key = key
        self._url = url
        self._start = start

    def unreachable(self, reason: str) -> ProviderError:
        """Return the error for a refused connection."""
        if "[SSL" in reason:
            return ProviderError(
                f"no secure connection to {redact_url(self._url)} ({self._name}: {self._line(reason)})",
                hint="set SSL_CERT_FILE to a file with its certificate, or write http:// where it has none",
                kind="unreachable",
            )
        start = self._start(self._url)
        local = f"is the server running ({start})? its address is url in {self._settings.place}"
        return ProviderError(
            f"no server answers at {redact_url(self._url)} ({self._name}: {self._line(reason)})",
            hint=local if start else "check the network connection; HTTPS_PROXY sets a proxy",
            kind="unreachable",
            is_retryable=True,
        )

    def timeout(self, seconds: float, *, query: bool) -> ProviderError:
        """Return the error for an answer that did not come in time."""
        name = "query_timeout_s" if query else "timeout_s"
        return ProviderError(
            f"{self._name} did not answer within {round(seconds, 1):g} s",
            hint=f"try again, or raise {name} in {self._settings.place}",
            kind="timeout",
            is_retryable=True,
        )

    def connection_lost(self, reason: str) -> ProviderError:
        """Return the error for a connection that broke before the answer was complete."""
        return ProviderError(
            f"the connection to {self._name} broke off: {self._line(reason)}",
            hint="try again: unfinished work stays pending",
            kind="connection",
            is_retryable=True,
        )

    def invalid_json(self, url: str, body: bytes) -> ProviderError:
        """Return the error for an answer that is not JSON, or only a part of it."""
        start = body.lstrip()[:1]
        cut = start in {b"{", b"["}
        kind = "a web page" if start == b"<" else "truncated JSON" if cut else "something other than JSON"
        return ProviderError(
            f"{redact_url(url)} answered with {kind}",
            hint=f"check that url in {self._settings.place} is the address of the API",
            kind="answer",
            is_retryable=cut,
            is_not_found=not cut,
        )

    def protocol_error(self, reason: str, *, may_be_of_text: bool = False) -> ProviderError:
        """Return the error for JSON that violates the protocol."""
        return ProviderError(
            f"{self._name} returned a response that violates its protocol: {self._line(reason)}",
            hint=f"check that url in {self._settings.place} is the address of such a server",
            kind="answer",
            may_be_of_text=may_be_of_text,
        )

    def answer_too_long(self, limit: int) -> ProviderError:
        """Return the error for an answer of too many bytes."""
        return ProviderError(
            f"the answer of {self._name} is longer than {limit // 2**20} MiB",
            hint=f"set batch = 16 in config.toml, [{self._settings.section}.options]"
            if self._settings.section == "models"
            else f"check that url in {self._settings.place} is the address of the API",
            kind="answer",
        )

    def redirect(self, target: str) -> ProviderError:
        """Return the error for a redirect to another server, where the key must not go."""
        return ProviderError(
            f"{redact_url(self._url)} redirects to {redact_url(target)}",
            hint=f"if that is right, set url to its address in {self._settings.place}",
            kind="redirect",
        )

    def http_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """Return the error for an error status."""
        told = body.decode("utf-8", "replace")
        if status == 200 and (code := _CODE.search(told)):  # OpenRouter
            status = int(code[1])
        said = self._line(server_message(body))
        tail = f": {said}" if said else ""
        place = self._settings.place
        quota = status in {402, 403, 429} and bool(_QUOTA.search(told))
        message, hint = f"{self._name} refuses the request (status {status}){tail}", "see docs/models.md"
        of_key = status == 401 or (status in {400, 403} and bool(_KEY.search(told)))
        if status == 200:
            message = f"{self._name} reports an error{tail}"
        if of_key:
            message = f"{self._name} refuses the key{tail}"
            hint = f"set {self._key.source}, or key_command in {place}"
        elif quota:
            message = f"the account at {self._name} has no quota left{tail}"
            hint = "see the billing page of the account, or use the bundled model: [models] backend = minilm"
        elif status == 403:
            hint = f"may the key of {self._key.source} use this model?"
        elif status == 404:
            message = f"{self._name} does not know {redact_url(self._url)} or the model{tail}"
            hint = f"look at url and model in {place}"
        elif status == 429:
            message = f"{self._name} limits the rate of requests{tail}"
            hint = f"lower requests_per_minute or concurrency in {place}"
        elif status >= 500:
            message = f"{self._name} failed (status {status}){tail}"
            hint = "try again later: unfinished work stays pending"
        again = (status in _AGAIN or (status >= 500 and status not in _NEVER)) and not quota
        return ProviderError(
            message,
            hint=hint,
            kind=f"status {status}",
            status=status,
            detail=said,
            is_retryable=again and not is_too_long(status, said),
            retry_after=_retry_after(headers, told) if again else None,
            is_not_found=status in {404, 405}
            or bool(status < 500 and (_NO_MODEL.search(said) or _NO_ENDPOINT.search(said))),
            may_be_of_text=status in {400, 413, 422, 500} and not of_key,
        )

    def _line(self, text: str) -> str:
        """Return a text as part of one line, without the key."""
        line = " ".join(self._key.conceal(text).split())
        return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"


def is_too_long(status: int, said: str) -> bool:
    """Return whether a message says that the input is too long; a rate limit does not count."""
    if status == 429:
        return "request too large" in said.lower()
    return bool(_TOO_LONG.search(said))


def server_message(body: bytes) -> str:
    """Return the message of an error answer: `error.message`, `error`, `detail`, `message`, or the text."""
    try:
        told: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        text = body[:2000].decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text
    if isinstance(told, list) and told:
        told = told[0]
    for name in ("error", "detail", "message"):
        if isinstance(told, dict) and told.get(name):
            told = told[name]
    return told if isinstance(told, str) else orjson.dumps(told).decode() if told else ""


def _retry_after(headers: Mapping[str, str], told: str) -> float | None:
    """Return the seconds that the server asks to wait, from its headers or, as Google does, from the body."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if value := headers.get("retry-after", ""):
        if (seconds := _number(value)) is not None:
            return seconds
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time())
        except (ValueError, OverflowError):
            return None
    delay = _DELAY.search(told)
    return _number(delay.group(1)) if delay else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None

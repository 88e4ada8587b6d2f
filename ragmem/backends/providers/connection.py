"""One HTTP request and its answer: no retry, no redirect that would carry the key to another server."""

import ipaddress
import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from ragmem.backends.providers.failures import Failures
from ragmem.backends.providers.keys import Key
from ragmem.backends.providers.provider import Provider
from ragmem.backends.providers.rate_limit import Clock, RetryPolicy
from ragmem.backends.providers.streaming import LONGEST_ANSWER, Stream, parse_event
from ragmem.backends.providers.threads import run_with_timeout
from ragmem.errors import BackendError

if TYPE_CHECKING:
    import httpx

MOST_REDIRECTS = 3
GRACE_S = 0.05
"""Time for the client to notice a time-out and close the connection, before the thread is abandoned."""


class Connection:
    """The HTTP client of one provider, opened on first use; safe to use from several threads."""

    def __init__(
        self, provider: Provider, failures: Failures, *, key: Key, clock: Clock, root: str, most: int
    ) -> None:
        self._provider = provider
        self._key = key
        self._failures = failures
        self._clock = clock
        self._root = root
        self._most = most
        self._opening = threading.Lock()
        self._client: httpx.Client | None = None

    def send(self, method: str, url: str, content: bytes | None, *, policy: RetryPolicy) -> Any:
        """Send one request and return the JSON of its answer.

        Every failure is a ProviderError; a missing key or client is a BackendError.
        """
        response, body = self._request(method, url, content, policy=policy, whole=True)
        return self._read(url, response, body)

    def stream(self, url: str, content: bytes, *, policy: RetryPolicy) -> Stream:
        """Send one request and return its answer as a stream, to be closed; failures as in `send`."""
        response, _ = self._request("POST", url, content, policy=policy, whole=False)
        if str(response.headers.get("content-type", "")).startswith("text/html"):
            response.close()
            raise self._failures.invalid_json(url, b"<")
        return Stream(response, self._failures, self._clock, url=url, seconds=policy.timeout_s)

    def _request(
        self, method: str, url: str, content: bytes | None, *, policy: RetryPolicy, whole: bool
    ) -> tuple["httpx.Response", bytes]:
        """Return a successful answer, read as a `whole` or not at all."""
        seconds = policy.timeout_s
        if policy.deadline is not None:
            seconds = min(seconds, policy.deadline - self._clock.now())
        if seconds <= 0:
            raise self._failures.timeout(policy.timeout_s, query=policy.has_deadline)
        until = self._clock.now() + seconds
        try:
            got = run_with_timeout(
                lambda: self._try_request(method, url, content, seconds=seconds, until=until, whole=whole),
                seconds + GRACE_S,
            )
        except TimeoutError:
            got = None
        if got is None:
            raise self._failures.timeout(policy.timeout_s, query=policy.has_deadline)
        if isinstance(got, BackendError):
            raise got
        response, body = got
        if not response.is_success:
            raise self._failures.http_error(response.status_code, response.headers, body)
        return response, body

    def _read(self, url: str, response: "httpx.Response", body: bytes) -> Any:
        try:
            answer = parse_event(body)
        except (ValueError, RecursionError):
            raise self._failures.invalid_json(url, body) from None
        # LM Studio and OpenRouter report some errors with status 200.
        if isinstance(answer, dict) and answer.get("error"):
            raise self._failures.http_error(response.status_code, response.headers, body)
        return answer

    def close(self) -> None:
        """Close the client; closing twice is fine, and a later request opens a new one."""
        with self._opening:
            if self._client is not None:
                self._client.close()
            self._client = None

    def _try_request(
        self, method: str, url: str, content: bytes | None, *, seconds: float, until: float, whole: bool
    ) -> "tuple[httpx.Response, bytes] | BackendError | None":
        """Return an answer, its error, or None after a time-out.

        No exception of httpx leaves this method, not even as a context: its frames hold the key.
        """
        import httpx

        try:
            return self._follow_redirects(method, url, content, seconds=seconds, until=until, whole=whole)
        except httpx.TimeoutException:
            return None
        # A host name that cannot be encoded for DNS is a UnicodeError.
        except (httpx.ConnectError, httpx.ProxyError, httpx.InvalidURL, UnicodeError) as error:
            return self._failures.unreachable(str(error))
        except httpx.DecodingError:
            return self._failures.invalid_json(self._root, b"")
        except httpx.HTTPError as error:
            return self._failures.connection_lost(str(error))
        except BackendError as error:
            return error.with_traceback(None)

    def _follow_redirects(
        self, method: str, url: str, content: bytes | None, *, seconds: float, until: float, whole: bool
    ) -> tuple["httpx.Response", bytes]:
        for _ in range(MOST_REDIRECTS + 1):
            response, body = self._receive(method, url, content, seconds=seconds, until=until, whole=whole)
            if not response.is_redirect:
                return response, body
            url = self._redirect_target(url, response)
        raise self._failures.redirect(url)

    def _receive(
        self, method: str, url: str, content: bytes | None, *, seconds: float, until: float, whole: bool
    ) -> tuple["httpx.Response", bytes]:
        import httpx

        key = self._key.read()
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self._provider.headers}
        if key:
            named = self._provider.key_header
            headers[named] = f"Bearer {key}" if named == "Authorization" else key
        client = self._open_client()
        request = client.build_request(method, url, content=content, headers=headers, timeout=seconds)
        response = client.send(request, stream=True)
        if response.is_success and not whole:
            return response, b""
        parts, size = [], 0
        try:
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > LONGEST_ANSWER:
                    raise self._failures.answer_too_long(LONGEST_ANSWER)
                # The time-out of httpx is between two bytes, so that a trickle would never end.
                if self._clock.now() > until:
                    raise httpx.ReadTimeout("the answer takes too long", request=request)
        finally:
            response.close()
        return response, b"".join(parts)

    def _redirect_target(self, url: str, response: "httpx.Response") -> str:
        """Return the target of a redirect: on the same server only, because the request carries the key."""
        target = str(response.headers.get("location", ""))
        try:
            target = urljoin(url, target)
            # Other statuses than these turn a POST into a GET.
            same = response.status_code in {307, 308} and _origin(target) == _origin(url)
        except ValueError:
            same = False
        if not same:
            raise self._failures.redirect(target)
        return target

    def _open_client(self) -> "httpx.Client":
        with self._opening:
            if self._client is None:
                import httpx

                try:
                    self._client = httpx.Client(
                        follow_redirects=False,
                        headers={"User-Agent": f"ragmem/{version('ragmem')}"},
                        limits=httpx.Limits(max_connections=self._most, max_keepalive_connections=self._most),
                        # A proxy for the internet does not reach a server on this machine.
                        trust_env=not _on_this_machine(self._root),
                        # Loading the certificates takes 36 ms, which plain HTTP does not need. SSL_CERT_FILE
                        # counts on this machine, too.
                        verify=not self._root.startswith("http://") and httpx.create_ssl_context(),
                    )
                except (ImportError, ValueError, OSError) as error:
                    raise BackendError(
                        f"cannot prepare a connection to {self._provider.name} ({type(error).__name__})",
                        hint="check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE",
                    ) from None
            return self._client


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


def _on_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

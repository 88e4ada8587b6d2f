"""One HTTP request and its answer: no repetition, no redirect that would carry the key to another server."""

import contextlib
import ipaddress
import json
import threading
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import orjson

from ragmem.backends.providers.failures import Failures
from ragmem.backends.providers.pacing import Clock, Patience
from ragmem.backends.providers.provider import Provider
from ragmem.errors import BackendError

if TYPE_CHECKING:
    import httpx

LONGEST_ANSWER = 64 * 2**20
MOST_REDIRECTS = 3


class Connection:
    """The HTTP client of one provider, opened on first use; safe to use from several threads."""

    def __init__(self, provider: Provider, failures: Failures, *, clock: Clock, root: str, most: int) -> None:
        self._provider = provider
        self._failures = failures
        self._clock = clock
        self._root = root
        self._most = most
        self._opening = threading.Lock()
        self._client: httpx.Client | None = None

    def send(self, method: str, url: str, content: bytes | None, *, key: str, patience: Patience) -> Any:
        """Send one request and return the JSON of its answer; every failure is a ProviderError."""
        seconds = patience.timeout_s
        if patience.until is not None:
            seconds = min(seconds, patience.until - self._clock.now())
        if seconds <= 0:
            raise self._failures.slow(patience.timeout_s, query=patience.hurried)
        until = self._clock.now() + seconds
        with self._mapped(patience):
            for _ in range(MOST_REDIRECTS + 1):
                response, body = self._receive(method, url, content, key=key, seconds=seconds, until=until)
                if not response.is_redirect:
                    break
                url = self._redirected(url, response)
            else:
                raise self._failures.redirected(url)
        if not response.is_success:
            raise self._failures.refused(response.status_code, response.headers, body)
        try:
            answer = _parsed(body)
        except (ValueError, RecursionError):
            raise self._failures.not_json(url, body) from None
        # LM Studio and OpenRouter tell some errors with status 200.
        if isinstance(answer, dict) and answer.get("error"):
            raise self._failures.refused(response.status_code, response.headers, body)
        return answer

    def close(self) -> None:
        """Close the client; closing twice is fine, and a later request opens a new one."""
        with self._opening:
            if self._client is not None:
                self._client.close()
            self._client = None

    @contextlib.contextmanager
    def _mapped(self, patience: Patience) -> Iterator[None]:
        """Turn what httpx raises into a ProviderError; never with its cause, whose request has the key."""
        import httpx

        try:
            yield
        except httpx.TimeoutException:
            raise self._failures.slow(patience.timeout_s, query=patience.hurried) from None
        except (httpx.ConnectError, httpx.ProxyError, httpx.InvalidURL) as error:
            raise self._failures.unreachable(str(error)) from None
        except httpx.DecodingError:
            raise self._failures.not_json(self._root, b"") from None
        except httpx.HTTPError as error:
            raise self._failures.broken(str(error)) from None

    def _receive(
        self, method: str, url: str, content: bytes | None, *, key: str, seconds: float, until: float
    ) -> tuple["httpx.Response", bytes]:
        import httpx

        headers = {"Content-Type": "application/json", "Accept": "application/json", **self._provider.headers}
        if key:
            named = self._provider.key_header
            headers[named] = f"Bearer {key}" if named == "Authorization" else key
        client = self._opened()
        request = client.build_request(method, url, content=content, headers=headers, timeout=seconds)
        response = client.send(request, stream=True)
        parts, size = [], 0
        try:
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > LONGEST_ANSWER:
                    raise self._failures.too_big(LONGEST_ANSWER)
                # httpx counts from byte to byte, so that a trickle would never end.
                if self._clock.now() > until:
                    raise httpx.ReadTimeout("the answer takes too long", request=request)
        finally:
            response.close()
        return response, b"".join(parts)

    def _redirected(self, url: str, response: "httpx.Response") -> str:
        """Return where a request goes instead: at the same server only, because it carries the key."""
        target = urljoin(url, str(response.headers.get("location", "")))
        # Other statuses than these turn a POST into a GET.
        if response.status_code not in {307, 308} or _origin(target) != _origin(url):
            raise self._failures.redirected(target)
        return target

    def _opened(self) -> "httpx.Client":
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
                        # To read the certificates takes 36 ms, for nothing where none are shown.
                        verify=not self._root.startswith("http://"),
                    )
                except (ImportError, ValueError, OSError) as error:
                    raise BackendError(
                        f"no connection to {self._provider.name} can be prepared ({type(error).__name__})",
                        hint="look at HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE",
                    ) from None
            return self._client


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # Servers in Python write NaN, which is no JSON; it is better refused as a number than as a syntax.
        return json.loads(body)


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

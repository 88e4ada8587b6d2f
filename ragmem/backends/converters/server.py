"""The HTTP client of a server that reads documents, with limits, and the pages that it returns."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import orjson

from ragmem.config import offline
from ragmem.errors import BackendError, ConfigError
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture

if TYPE_CHECKING:
    import httpx

ANSWER_BYTES_MAX = 512 * 1024 * 1024
"""An answer contains the pages' pictures; LightRAG has the same limit by default."""

_CONNECT_S = 10.0
_SAID = 200
Fields = Mapping[str, str | Sequence[str]]

_SMALL_BYTES = 200  # a smaller picture is a line or a dot
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The time limit of a document, and the interval of polls."""

    seconds: float
    poll_seconds: float


class Server:
    """One server; its failures are BackendErrors of one line. No redirect is followed."""

    def __init__(self, name: str, address: str, *, wait: TimeLimits) -> None:
        """Set the address; raises ConfigError for an invalid one. Sends no request."""
        self.name = name
        self.wait = wait
        parts = _parse_address(address)
        self._host = parts.hostname or ""
        self._address = address
        self._client: httpx.Client | None = None
        self._until = 0.0

    def start_timer(self) -> None:
        """Start the time of a document; raises BackendError if offline mode forbids the server."""
        offline.require_local([self._host])
        self._until = time.monotonic() + self.wait.seconds

    def upload(self, path: str, file: Path, fields: Fields) -> dict[str, Any]:
        """Send a file as `files` of a form, and return the JSON of the answer."""
        try:
            with file.open("rb") as stream:
                data = {
                    name: value if isinstance(value, str) else list(value) for name, value in fields.items()
                }
                files = {"files": (file.name, stream, "application/octet-stream")}
                _, body = self._send_request("POST", path, data=data, files=files)
        except OSError as error:
            raise BackendError(f"it cannot be opened: {error.strerror or error}") from error
        return self._parse_object(body)

    def get_json(self, path: str, **query: str) -> dict[str, Any]:
        """Return the JSON object at a path."""
        _, body = self._send_request("GET", path, params=query)
        return self._parse_object(body)

    def download(self, path: str) -> tuple[str, bytes]:
        """Return media type and bytes at a path."""
        return self._send_request("GET", path)

    def poll(self, path: str, is_finished: Callable[[Mapping[str, Any]], bool], **query: str) -> None:
        """Get the status at a path until it is finished; raises BackendError after the document's time."""
        since = time.monotonic()
        while not is_finished(self.get_json(path, **query)):
            pause = max(0.0, since + self.wait.poll_seconds - time.monotonic())
            if time.monotonic() + pause >= self._until:
                raise BackendError(f"it takes longer than {self.wait.seconds:g} seconds")
            time.sleep(pause)
            since = time.monotonic()

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _send_request(self, method: str, path: str, **given: Any) -> tuple[str, bytes]:
        import httpx

        left = self._until - time.monotonic()
        if left <= 0:
            raise BackendError(f"it takes longer than {self.wait.seconds:g} seconds")
        timeout = httpx.Timeout(left, connect=min(_CONNECT_S, left))
        try:
            with self._open_client().stream(
                method, f"{self._address}{path}", timeout=timeout, **given
            ) as response:
                body = self._body(response)
        except httpx.TimeoutException as error:
            raise BackendError(f"{self._address} takes longer than {self.wait.seconds:g} seconds") from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise BackendError(f"{self._address} cannot be reached") from error
        if not response.is_success:
            raise BackendError(f"{self._address} answered {response.status_code}{_error_message(body)}")
        return response.headers.get("content-type", ""), body

    def _body(self, response: "httpx.Response") -> bytes:
        parts, size = [], 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > ANSWER_BYTES_MAX:
                raise BackendError(f"its response is larger than {ANSWER_BYTES_MAX // 1024**2} MB")
            # The time-out of the client does not end a trickle of bytes.
            if time.monotonic() > self._until:
                raise BackendError(f"it takes longer than {self.wait.seconds:g} seconds")
        return b"".join(parts)

    def _parse_object(self, body: bytes) -> dict[str, Any]:
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise BackendError(f"{self._address} returned something other than JSON") from error
        if not isinstance(answer, dict):
            raise BackendError(f"{self._address} returned an unexpected response")
        return answer

    def _open_client(self) -> "httpx.Client":
        if self._client is None:
            import httpx

            # A proxy for the internet does not reach a server on this machine.
            self._client = httpx.Client(
                follow_redirects=False,
                trust_env=not offline.is_loopback(self._host),
                verify=not self._address.startswith("http://"),
            )
        return self._client


def quote_segment(text: object) -> str:
    """Return a server's identifier quoted as one segment of a path."""
    return quote(str(text), safe="")


def _parse_address(address: str) -> Any:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise _invalid_address(address) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise _invalid_address(address)
    if parts.username or parts.password:
        raise ConfigError(
            "documents.endpoint contains a user name or password",
            hint="run the server on this machine, without a login",
        )
    return parts


def _invalid_address(address: str) -> ConfigError:
    return ConfigError(
        f'documents.endpoint "{address[:60]}" is not a URL',
        hint="use an address such as http://127.0.0.1:5001",
    )


def _error_message(body: bytes) -> str:
    """Return the error message of a server as a short part of one line."""
    text = " ".join(body[: 4 * _SAID].decode("utf-8", "replace").split())[:_SAID]
    return f": {text}" if text and not text.startswith("<") else ""


@dataclass(slots=True)
class Pages:
    """Pieces of text and pictures by page; 0 is for formats without pages."""

    limits: Limits
    title: str = ""
    texts: dict[int, list[str]] = field(default_factory=dict)
    pictures: dict[int, list[Picture]] = field(default_factory=dict)
    count: int = 0

    def add(self, page: int, text: str) -> None:
        """Add a piece of Markdown, without control characters; an empty one is left out."""
        kept = "".join(sign for sign in text if sign in "\n\t" or (sign >= " " and sign != "\x7f")).strip()
        if kept:
            self.texts.setdefault(page, []).append(kept)

    def add_picture(self, page: int, data: bytes, *, told: str) -> None:
        """Add the description of an image, and the image itself if a model could read its format."""
        self.add(page, told)
        media_type = "image/png" if data.startswith(_PNG) else "image/jpeg" if data.startswith(_JPEG) else ""
        if media_type and len(data) > _SMALL_BYTES:
            self.count += 1
            mark = f"[[picture {self.count}]]"
            self.add(page, mark)
            self.pictures.setdefault(page, []).append(Picture(mark, data, media_type))

    def build(self, engine: str) -> ConvertedDocument:
        """Return the document; pages and characters beyond the limits are left out with a warning."""
        numbers = sorted(self.texts)
        warnings = []
        if len(numbers) > self.limits.pages:
            warnings.append(f"only the first {self.limits.pages:,} of {len(numbers):,} pages are read")
        parts: list[Part] = []
        left = self.limits.characters
        for page in numbers[: self.limits.pages]:
            text = "\n\n".join(self.texts[page])
            if len(text) > left:
                warnings.append(f"text beyond {self.limits.characters:,} characters is left out")
                break
            left -= len(text)
            place = (f"page={page}", f"page {page}") if page else ("", "")
            parts.append(Part(text, *place, pictures=tuple(self.pictures.get(page, ()))))
        unread = tuple(f"page={page}" for page in numbers[len(parts) :] if page)
        return ConvertedDocument(
            tuple(parts),
            title=self.title,
            metadata={"engine": engine},
            warnings=tuple(warnings),
            unread=unread,
        )

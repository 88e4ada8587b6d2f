"""A small HTTP client for a hub of models; each of its errors suggests the next step.

It does not use huggingface_hub, which falls back to local files when the hub fails, does not compare
checksums, and has changed its HTTP library twice. Only two URLs are needed.
"""

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from ragmem import __version__
from ragmem.errors import NotFoundError, RagmemError

DEFAULT_ENDPOINT = "https://huggingface.co"

TIMEOUT_S = 30.0
"""Maximum seconds without a byte; a large file may take hours."""

TRIES = 4
"""Number of tries if the server is busy or failing, or the connection breaks."""

_FIRST_PAUSE_S = 0.5
_MOST_ANSWER_BYTES = 50_000_000
_PIECE_BYTES = 1 << 20
_PASSING = (TimeoutError, ConnectionResetError, http.client.HTTPException)
"""Errors that a retry may solve, unlike an unknown host name or a closed port."""

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})

# No formats that execute code when they are read: no pickle, no Python. Numbered folders are modules
# of sentence-transformers, which define the pooling of an embedding model.
_WANTED = re.compile(
    r"(?!consolidated)(\d_\w+/)?([\w.-]+\.(safetensors|json|txt|jinja|model)|tokenizer[\w.-]*|LICEN[CS]E[\w.-]*|NOTICE)",
    re.ASCII,
)
_UNWANTED = re.compile(r".*\.(bin|pt|pth|pkl|pickle|py|msgpack|h5|onnx|gguf)")

# A graph and the files with its weights, which exporters name after it, or after the tensor that each has.
_ONNX = re.compile(r"(onnx/)?([\w.+-]+\.onnx([._]data[\w.]*)?|Constant_\w+|onnx__\w+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a model: its path, its size, and its checksum (SHA-256, or that of a git blob)."""

    path: str
    bytes: int
    sha256: str = ""
    blob: str = ""


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model of a hub at one revision, with its files in formats that are safe to read."""

    name: str
    revision: str
    licence: str
    files: tuple[HubFile, ...]

    @property
    def bytes(self) -> int:
        """The total size of the files."""
        return sum(file.bytes for file in self.files)


class Hub:
    """A hub at an address; the key is sent to that host only."""

    def __init__(self, endpoint: str, *, key: str = "", pause: float = _FIRST_PAUSE_S) -> None:
        """Take an http or https address; `pause` is the number of seconds before the second try."""
        self.endpoint = endpoint.rstrip("/")
        self._key = key
        self._pause = pause
        self._opener = urllib.request.build_opener(_Redirects())

    def describe(self, name: str, revision: str = "main") -> HubModel:
        """Return the model's revision, licence and files; raises RagmemError if it is unavailable."""
        path = f"api/models/{quote(name)}/revision/{quote(revision, safe='')}?blobs=true"
        with self._get(path, name=name, revision=revision) as answer:
            try:
                body = answer.read(_MOST_ANSWER_BYTES)
            except (OSError, http.client.HTTPException) as error:
                raise RagmemError(
                    f'the response of "{self.endpoint}" was interrupted', hint="run the same command again"
                ) from error
        try:
            found = json.loads(body)
            card = found.get("cardData") or {}
            files = tuple(_file(entry) for entry in found["siblings"] if _is_wanted(entry["rfilename"]))
            return HubModel(name, str(found["sha"]), _licence(card, found.get("tags") or []), files)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RagmemError(
                f'"{self.endpoint}" is not a hub of models',
                hint="check --from or HF_ENDPOINT",
            ) from error

    def fetch(self, model: HubModel, file: HubFile, into: Path) -> Iterator[int]:
        """Download the missing part of a file; yield the bytes of each piece.

        A broken download is resumed. Raises RagmemError if the file is unavailable.
        """
        path = f"{quote(model.name)}/resolve/{quote(model.revision, safe='')}/{quote(file.path)}"
        tries = 0
        while (begun := into.stat().st_size if into.exists() else 0) < file.bytes or not into.exists():
            headers = {"Range": f"bytes={begun}-"} if begun else {}
            try:
                with (
                    self._get(path, name=model.name, revision=model.revision, headers=headers) as answer,
                    into.open("r+b" if into.exists() else "w+b", buffering=0) as target,
                ):
                    # A server without range support starts from the beginning.
                    target.truncate(begun if answer.status == http.client.PARTIAL_CONTENT else 0)
                    target.seek(0, 2)
                    left = file.bytes - target.tell()
                    while left > 0 and (piece := _read(answer, min(_PIECE_BYTES, left))):
                        target.write(piece)
                        left -= len(piece)
                        tries = 0
                        yield len(piece)
                    if left <= 0:
                        return
            except (http.client.HTTPException, ConnectionError, TimeoutError):
                pass
            tries += 1
            if tries >= TRIES:
                raise RagmemError(
                    f'the connection to "{self.endpoint}" was interrupted repeatedly',
                    hint="run the same command again: it continues where it stopped",
                )
            time.sleep(self._pause * 2**tries)

    @contextmanager
    def _get(
        self, path: str, *, name: str, revision: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[Any]:
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            f"{self.endpoint}/{path}",
            headers={"User-Agent": f"ragmem/{__version__}", "Accept-Encoding": "identity", **(headers or {})},
        )
        if self._key:
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        answer: IO[bytes]
        for tried in range(1, TRIES + 1):
            try:
                answer = self._opener.open(request, timeout=TIMEOUT_S)
                break
            except urllib.error.HTTPError as error:
                error.close()
                if error.code not in _BUSY or tried == TRIES:
                    raise self._http_error(error, name, revision) from error
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                if tried == TRIES or not isinstance(reason, _PASSING):
                    said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
                    raise RagmemError(
                        f'cannot reach "{self.endpoint}": {said[:1].lower()}{said[1:]}',
                        hint="check the network and --from; without one, see `ragmem models bundle`",
                    ) from error
            time.sleep(self._pause * 2 ** (tried - 1))
        with answer:
            yield answer

    def _http_error(self, error: urllib.error.HTTPError, name: str, revision: str) -> RagmemError:
        word = error.headers.get("X-Error-Code", "")
        page = f"{self.endpoint}/{name}"
        if word == "GatedRepo":
            return RagmemError(
                f'"{name}" requires you to accept its terms',
                hint=f"accept them at {page}, then set HF_TOKEN to your token",
            )
        if word == "RevisionNotFound":
            return NotFoundError(f'"{name}" has no revision "{revision}"', hint=f"see {page}")
        # The public hub answers 401 for an unknown model, to keep private ones secret.
        if error.code in {401, 403} and word != "RepoNotFound":
            known = "the token in HF_TOKEN is not accepted" if self._key else "set HF_TOKEN to your token"
            return RagmemError(
                f'"{self.endpoint}" denies access to "{name}": {error.code}',
                hint=f"check the name; if it is private, {known}",
            )
        if error.code in {401, 404}:
            return NotFoundError(
                f'there is no model "{name}" on "{self.endpoint}"',
                hint="check the name; a private one needs a token in HF_TOKEN",
            )
        return RagmemError(
            f'"{self.endpoint}" answers {error.code} {error.reason}'.rstrip(), hint="try again later"
        )


def _read(answer: Any, count: int) -> bytes:
    """Return the next bytes, b"" at the end; raises ConnectionError or TimeoutError on interruption."""
    try:
        return bytes(answer.read1(count))
    except (TimeoutError, ConnectionError):
        raise
    except OSError as error:  # such as a broken TLS session; a full disk is another error
        raise ConnectionError(str(error)) from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to other hosts without the key, and never from https to http."""

    def redirect_request(  # noqa: PLR0917 - the standard library's signature
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            raise RagmemError(f'"{req.host}" redirects to a URL without encryption', hint="check --from")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and request.host == req.host:
            for name, value in req.unredirected_hdrs.items():
                request.add_unredirected_header(name, value)
        return request


def is_onnx(path: str) -> bool:
    """Return whether a file of a model is an ONNX graph, or has weights of one."""
    return bool(_ONNX.fullmatch(path))


def _is_wanted(path: str) -> bool:
    plain = _WANTED.fullmatch(path) and not _UNWANTED.fullmatch(path)
    return bool(plain or is_onnx(path)) and ".." not in path


def _file(entry: Mapping[str, Any]) -> HubFile:
    large = entry.get("lfs") or {}
    size = large.get("size", entry.get("size"))
    if not isinstance(size, int) or size < 0:
        raise TypeError("a file without a size")
    return HubFile(entry["rfilename"], size, str(large.get("sha256", "")), str(entry.get("blobId", "")))


def _licence(card: Mapping[str, Any], tags: list[Any]) -> str:
    told = card.get("license_name") or card.get("license")
    if isinstance(told, str) and told:
        return told
    return next((str(tag).removeprefix("license:") for tag in tags if str(tag).startswith("license:")), "")

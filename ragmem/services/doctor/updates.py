"""Ask the package index for a newer ragmem, and read what the shipped changelog says about versions."""

import base64
import configparser
import json
import re
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from ragmem import __version__
from ragmem.config import offline
from ragmem.config.places import find_default
from ragmem.errors import BackendError, ConfigError, RagmemError
from ragmem.services.doctor.report import Check

DEFAULT_INDEX = "https://pypi.org/simple"
"""The index of pip and uv where none is configured."""

TIMEOUT_S = 5.0
"""Seconds for the whole answer of the index."""

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of an answer at most; the list of a project has some thousands."""

ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
"""The forms of the simple repository API, the shortest to read first."""

UPGRADE = "uv tool upgrade ragmem, or pip install --upgrade ragmem"

_RELEASE = re.compile(r"(\d+(?:\.\d+)*)(?:\.post(\d+))?")
"""A final release; those for trial (a1, rc1, .dev0) are offered to nobody."""

_FILE = re.compile(r"ragmem-(\d[^-]*)(?:-.+\.whl|\.tar\.gz|\.zip)")
_LINK = re.compile(r"<a\b([^>]*)>\s*([^<\s]+)\s*</a>", re.IGNORECASE)
_SECTION = re.compile(r"^## \[?([^\]\s]+)\]?.*$", re.MULTILINE)

Version = tuple[tuple[int, ...], int, int]


@dataclass(frozen=True, slots=True)
class Update:
    """What an index says: the newest version, or why it is unknown; `changes` is Markdown, may be empty."""

    index: str
    """Its address, without a password."""
    newest: str = ""
    problem: str = ""
    changes: str = ""

    @property
    def check(self) -> Check:
        """The answer as a check of the report; that an index is out of reach is no fault of the memory."""
        if self.problem:
            return Check("updates", "warning", f"{self.index}: {self.problem}", "try again with a network")
        if _order(self.newest) <= _order(__version__):
            return Check(
                "updates", "ok", f"{__version__} is the newest: {self.index}", "ragmem help changelog"
            )
        return Check("updates", "warning", f"{self.newest} is available, {__version__} is installed", UPGRADE)


def ask_index(environ: Mapping[str, str], *, home: Path) -> Update:
    """Return what the configured index offers; each wait ends after TIMEOUT_S. Proxies are respected."""
    try:
        address, headers = _without_password(find_index(environ, home=home))
    except ValueError:
        return Update("the configured index", problem="this is not a URL")
    try:
        newest = max(_offered(address, headers), key=_order, default="")
    except HTTPError as error:
        return Update(
            address, problem="it has no ragmem" if error.code == 404 else f"it returned status {error.code}"
        )
    except RagmemError as error:
        return Update(address, problem=str(error))
    except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        return Update(address, problem=f"no answer: {' '.join(str(reason).split()) or type(error).__name__}")
    if not newest:
        return Update(address, problem="it has no release of ragmem")
    return Update(address, newest, changes=changes_between(_changelog(), __version__, newest))


def _offered(address: str, headers: Mapping[str, str]) -> list[str]:
    """Return the releases at an index."""
    if offline.active():
        raise BackendError("offline mode allows no connection")
    if not address.startswith(("http://", "https://")):
        raise BackendError("only an index over HTTP can be asked")
    request = Request(f"{address.rstrip('/')}/ragmem/", headers={"Accept": ACCEPTED})  # noqa: S310 - checked above
    for name, value in headers.items():
        # Not sent to another machine that the index leads to.
        request.add_unredirected_header(name, value)
    with urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 - checked above
        body = b"".join(_read(response, until=time.monotonic() + TIMEOUT_S))
        return list(_versions(body, response.headers.get_content_type()))


def find_index(environ: Mapping[str, str], *, home: Path) -> str:
    """Return the index that uv or pip are configured to use: by a variable, else by a file of theirs."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if value := environ.get(name, "").strip():
            return value.partition("=")[2] if re.match(r"[\w.-]+=", value) else value  # name=address
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    given = [Path(environ["PIP_CONFIG_FILE"])] if environ.get("PIP_CONFIG_FILE") else []
    places = [config / "pip" / "pip.conf", home / ".pip" / "pip.conf", Path(sys.prefix, "pip.conf")]
    found = _uv_index(config / "uv" / "uv.toml")
    for path in [] if found else [*given, *places, Path("/etc/pip.conf")]:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue  # pip itself tells what is wrong with it
        found = parser.get("global", "index-url", fallback="").strip()
        if found:
            break
    return found or DEFAULT_INDEX


def _uv_index(path: Path) -> str:
    try:
        settings = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    named = [one for one in settings.get("index", []) if isinstance(one, dict) and one.get("default")]
    return str(named[0].get("url", "") if named else settings.get("index-url", ""))


def changes_between(changelog: str, older: str, newer: str) -> str:
    """Return the sections of a changelog after a version, up to another one; empty if it has none of them."""
    heads = list(_SECTION.finditer(changelog))
    ends = [*(head.start() for head in heads[1:]), len(changelog)]
    return "\n\n".join(
        changelog[head.start() : end].strip()
        for head, end in zip(heads, ends, strict=True)
        if _RELEASE.fullmatch(head[1]) and _order(older) < _order(head[1]) <= _order(newer)
    )


def _changelog() -> str:
    try:
        return find_default("CHANGELOG.md").read_text("utf-8")
    except ConfigError:
        return ""  # an installation without it


def _without_password(index: str) -> tuple[str, dict[str, str]]:
    """Return an address without its user and password, and the header that has them."""
    parts = urlsplit(index)
    user, at, host = parts.netloc.rpartition("@")
    address = urlunsplit((parts.scheme, host, parts.path, "", ""))
    token = base64.b64encode(unquote(user).encode()).decode()
    return address, {"Authorization": f"Basic {token}"} if at else {}


def _read(response: object, *, until: float) -> Iterator[bytes]:
    size = 0
    while part := response.read1(65536):  # type: ignore[attr-defined]
        size += len(part)
        if time.monotonic() > until or size > MOST_BYTES:
            raise ValueError("too slow" if size <= MOST_BYTES else "too long")
        yield part


def _versions(body: bytes, form: str) -> Iterator[str]:
    """Yield the releases of which an index has a file that was not withdrawn."""
    files: list[tuple[str, bool]]
    if form.endswith("json"):
        listed = [one for one in json.loads(body)["files"] if isinstance(one, dict)]
        files = [(str(one.get("filename")), bool(one.get("yanked"))) for one in listed]
    else:
        page = body.decode("utf-8", "replace")
        files = [(found[2], "data-yanked" in found[1].lower()) for found in _LINK.finditer(page)]
    for name, withdrawn in files:
        found = _FILE.fullmatch(name)
        if found and not withdrawn and _RELEASE.fullmatch(found[1]):
            yield found[1]


def _order(version: str) -> Version:
    """Return what versions are sorted by; one for trial comes before its release."""
    found = _RELEASE.match(version)
    if not found:
        return (), 0, 0
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), int(found.end() == len(version)), int(found[2] or 0)

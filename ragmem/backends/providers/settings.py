"""The settings of a provider in config.toml, with types and defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

import orjson

from ragmem.domain.secrets.redaction import DEFAULT, Redactor
from ragmem.errors import ConfigError
from ragmem.ports import Meter, Purpose

Section = Literal["models", "language_model", "reranker"]

MOST = 1_000_000
"""The largest number of a setting; as seconds it is eleven days."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The keys of one table of config.toml, and those of its `options` that providers know.

    `window` is the number of tokens that the model reads of a text, `batch` the number of texts in a request
    (0: the provider's own), `body` holds fields that are added to each request.
    """

    section: Section
    model: str = ""
    url: str = ""
    key_variable: str = ""
    key_command: str = ""
    dimensions: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    timeout_s: float = 60.0
    query_timeout_s: float = 5.0
    retries: int = 3
    requests_per_minute: int = 0
    concurrency: int = 4
    purpose: Purpose = "extraction"
    window: int = 0
    batch: int = 0
    api_version: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    meter: Meter | None = field(default=None, repr=False)
    redactor: Redactor = DEFAULT

    @property
    def place(self) -> str:
        """Where a person changes these settings."""
        return f"config.toml, [{self.section}]"


_NUMBERS = {"dimensions", "retries", "requests_per_minute", "concurrency", "window", "batch"}
_SECONDS = {"timeout_s", "query_timeout_s"}
_TEXTS = {"url", "key_variable", "key_command", "query_prefix", "document_prefix", "api_version"}


def section_of(options: Mapping[str, Any]) -> Section:
    """Return the section of the model that the options name; by default that of the embedder."""
    return next((name for name in ("language_model", "reranker") if name in options), "models")


def read_settings(options: Mapping[str, Any], *, section: Section) -> Settings:
    """Return the settings of one section; raises ConfigError for a value of the wrong type."""
    given: dict[str, Any] = {"section": section}
    for name in sorted(_NUMBERS & options.keys()):
        value = options[name] or 0
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise _wrong(section, name, value, f"a number from 0 to {MOST}")
        given[name] = value
    for name in sorted(_SECONDS & options.keys()):
        value = options[name]
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MOST:
            raise _wrong(section, name, value, f"a number of seconds, at most {MOST}")
        given[name] = float(value)
    for name in sorted(_TEXTS & options.keys()):
        given[name] = _text(section, name, options[name])
    given["url"] = given.get("url", "").strip().rstrip("/")
    named = "model" if section == "models" else section
    given["model"] = _text(section, "model", options.get(named, "")).strip()
    purpose = options.get("purpose", "extraction")
    if purpose not in get_args(Purpose):
        raise _wrong(section, "purpose", purpose, f"one of {', '.join(get_args(Purpose))}")
    body = options.get("body") or {}
    if not isinstance(body, Mapping):
        raise _wrong(section, "body", body, "a table")
    try:
        orjson.dumps(body)
    except TypeError as error:
        raise _wrong(section, "body", body, f"a table that JSON can represent ({error})") from None
    given.update(purpose=purpose, body=body, meter=cast("Meter | None", options.get("meter")))
    given["redactor"] = options.get("redactor") or DEFAULT
    return Settings(**given)


def url_problem(url: str) -> str:
    """Return the problem of a server's address, or an empty text."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
        # DNS cannot resolve a name with an empty or too long part.
        (host or "").encode("idna")
    except ValueError:
        return f'"{redact_url(url)}" is not a URL'
    if not url.isprintable() or " " in url:
        return f"{redact_url(url)!a} is not a URL: it contains invalid characters"
    if parts.scheme not in {"http", "https"} or not host:
        return f'"{redact_url(url)}" is not a URL: it must start with http:// or https://'
    if parts.username or parts.password:
        # The address is kept with the vectors, so that their model can be opened again.
        bare = redact_url(url)
        return f'"{bare}" is written with a name or password: give that as key_variable or key_command'
    if parts.query or parts.fragment:
        return f'"{redact_url(url)}" has something after its path: write the address without it'
    return ""


def redact_url(url: str) -> str:
    """Return an address without its possible secrets: user name, password and query."""
    bare = url.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}" if slashes else bare.rpartition("@")[2]


def _text(section: Section, name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(section, name, value, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _wrong(section, name, ascii(value)[1:-1], "text in UTF-8") from None
    return value


def _wrong(section: Section, name: str, value: object, wanted: str) -> ConfigError:
    return ConfigError(f'{name} is "{value}"', hint=f"{name} in config.toml, [{section}], is {wanted}")

"""Servers that read documents instead of ragmem: docling-serve and MinerU's own.

Nothing is sent unless [documents] names one of them as `engine`. The requests, their order and the variables
that shape them are those of LightRAG 1.5.7's parsers (lightrag/parser/external), so that a server which
serves LightRAG serves ragmem with the same settings.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ragmem.backends.converters import docling, mineru
from ragmem.backends.converters.server import Server, TimeLimits
from ragmem.config.settings import DocumentSettings
from ragmem.errors import BackendError, ConfigError
from ragmem.readers.documents.model import ConvertedDocument, Limits

MAX_FAILURES = 3
"""Failures in a row after which a run stops using the server."""

_ENDPOINTS = {"docling": "DOCLING_ENDPOINT", "mineru": "MINERU_LOCAL_ENDPOINT"}
_LEGACY_PATHS = {"docling": "/v1/convert/file/async", "mineru": ""}

Convert = Callable[[Server, Path, Limits, Mapping[str, str]], ConvertedDocument]


class Engine:
    """Reads documents with a server; ragmem reads the others, with a warning."""

    def __init__(
        self,
        name: str,
        server: Server,
        convert: Convert,
        *,
        suffixes: frozenset[str],
        environ: Mapping[str, str],
    ) -> None:
        self._name = name
        self._server = server
        self._convert = convert
        self._suffixes = suffixes
        self._environ = environ
        self._failures = 0
        self._warnings: list[str] = []

    def __call__(self, path: Path, limits: Limits) -> ConvertedDocument | None:
        """Return the document as the server reads it, or None; `take_warnings` then has the reason."""
        if path.suffix.lower() not in self._suffixes or self._failures >= MAX_FAILURES:
            return None
        try:
            converted = self._convert(self._server, path, limits, self._environ)
        except (BackendError, ModuleNotFoundError) as error:
            self._failures += 1
            # Tables in HTML need lxml, which comes with the extra for documents.
            problem = str(error)
            if isinstance(error, ModuleNotFoundError):
                problem = f"{error.name} is not installed"
            self._warnings.append(f"{self._name} did not read it ({problem}), so that ragmem did")
            return None
        self._failures = 0
        if not converted.parts:
            self._warnings.append(f"{self._name} found no text in it, so ragmem read it itself")
            return None
        return converted

    def take_warnings(self) -> list[str]:
        """Return and clear the warnings since the last call: those of one document."""
        told, self._warnings = self._warnings, []
        return told

    def close(self) -> None:
        """Close the connections; closing twice is fine."""
        self._server.close()


def open_engine(wanted: DocumentSettings, *, environ: Mapping[str, str] | None = None) -> Engine:
    """Return the server that reads documents instead of ragmem; `engine` is not "builtin".

    The address is `endpoint`, else the variable that LightRAG reads. Sends no request. Raises ConfigError for
    a missing or invalid address.
    """
    given = os.environ if environ is None else environ
    variable = _ENDPOINTS[wanted.engine]
    address = (wanted.endpoint or given.get(variable, "")).strip().rstrip("/")
    address = address.removesuffix(_LEGACY_PATHS[wanted.engine])
    if not address:
        raise ConfigError(
            f'documents.engine is "{wanted.engine}", which needs a server address',
            hint=f"set endpoint in [documents] of config.toml, or set {variable}",
        )
    module = docling if wanted.engine == "docling" else mineru
    wait = TimeLimits(wanted.engine_seconds, module.poll_seconds(given))
    server = Server(wanted.engine, address, wait=wait)
    return Engine(wanted.engine, server, module.convert, suffixes=module.SUFFIXES, environ=given)

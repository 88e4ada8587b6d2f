"""Read manifests for the names under which a repository's files are imported."""

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ragmem.domain.code.code import ParsedFile, Symbol, SymbolKind

_MOST_PATHS = 1_000
_GO_MODULE = re.compile(r"^\s*module\s+\"?([^\s\"]+)", re.MULTILINE)
_JSON_EXTRA = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_BUILT = re.compile(r"^\.?/?(?:dist|build|out)/")


def read_manifest(path: str, text: str, language: str) -> ParsedFile:
    """Return the content of a manifest as the fact `manifest`, or a `problem`."""
    said: dict[str, Any] = {}
    purpose = problem = ""
    try:
        said, purpose = _READERS[posixpath.basename(path)](text)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        problem = f"it cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    last = text.rstrip("\n").count("\n") + 1
    own = Symbol(path, posixpath.basename(path), SymbolKind.MODULE, 1, last, doc=purpose)
    facts: Mapping[str, Any] = {"manifest": said} if said else {}
    return ParsedFile(path, language, path, purpose, (own,), facts, problem)


def _go_module(text: str) -> tuple[dict[str, Any], str]:
    found = _GO_MODULE.search(text)
    return ({"module": found[1]} if found else {}), ""


def _package(text: str) -> tuple[dict[str, Any], str]:
    content = json.loads(text)
    said = {}
    if isinstance(name := content.get("name"), str):
        said["package"] = name
    entry = content.get("source") or content.get("module") or content.get("main")
    if isinstance(entry, str):
        # Build output is not in the repository; its source is usually in src.
        said["entry"] = _BUILT.sub("src/", entry)
    return said, _sentence(content.get("description"))


def _typescript(text: str) -> tuple[dict[str, Any], str]:
    options = json.loads(_JSON_EXTRA.sub(lambda found: found[1] or "", text)).get("compilerOptions", {})
    said: dict[str, Any] = {}
    if isinstance(base := options.get("baseUrl"), str):
        said["base"] = base
    paths = {
        str(pattern): [str(target) for target in targets]
        for pattern, targets in list(options.get("paths", {}).items())[:_MOST_PATHS]
    }
    return said | ({"paths": paths} if paths else {}), ""


def _cargo(text: str) -> tuple[dict[str, Any], str]:
    package = tomllib.loads(text).get("package", {})
    name = package.get("name")
    crate = {"crate": name.replace("-", "_")} if isinstance(name, str) else {}
    return crate, _sentence(package.get("description"))


def _sentence(value: object) -> str:
    return " ".join(value.split())[:300] if isinstance(value, str) else ""


_READERS: Mapping[str, Callable[[str], tuple[dict[str, Any], str]]] = MappingProxyType(
    {
        "go.mod": _go_module,
        "package.json": _package,
        "tsconfig.json": _typescript,
        "jsconfig.json": _typescript,
        "Cargo.toml": _cargo,
    }
)

"""Go."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ragmem.readers.code.syntax import Import, Namespace, Syntax, read_query

_SPEC = re.compile(r"""(?:([\w.]+)\s+)?["`]([^"`]+)["`]""")
_VERSION = re.compile(r"v\d+$")


def _imports(text: str) -> Iterator[Import]:
    if not (spec := _SPEC.match(text)):
        return
    local, module = spec[1] or "", spec[2]
    if not local:
        parts = module.split("/")
        local = parts[-2] if len(parts) > 1 and _VERSION.match(parts[-1]) else parts[-1]
        local = local.removeprefix("go-").removesuffix("-go").partition(".")[0]
    yield Import(module, "*" if local == "." else "", "" if local in {"_", "."} else local)


def _namespace(path: str) -> Namespace:
    folder = str(PurePosixPath(path).parent)
    return Namespace(path, "" if folder == "." else folder)


GO = Syntax(
    "tree_sitter_go",
    read_query("go"),
    namespace=_namespace,
    is_test_file=re.compile(r"_test\.go\Z").search,
    imports=_imports,
    selves=frozenset(),
    supers=frozenset(),
)

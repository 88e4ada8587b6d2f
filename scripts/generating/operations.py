"""docs/api.md: ragmem's own operations of the server, written into the page between two marks."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from generating.tree import Command
from ragmem import Ragmem
from ragmem.server.app import create_app
from ragmem.server.security.origin import Names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
OWN = "/v1/memory/"
"""Other paths have their sections on that page and in docs/serve.md."""
BEGIN, END = "<!-- BEGIN operations -->", "<!-- END operations -->"


def operations_page(tree: Command) -> str:
    """Return docs/api.md as it stands, with the operations of /openapi.json between the marks."""
    del tree  # operations are no commands
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join((f"{before}{BEGIN}", *_lines(), f"{END}{after}"))


def _lines() -> Iterator[str]:
    yield "Written by `scripts/generate.py` from `/openapi.json`: do not edit between the marks."
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environ = {"HOME": folder, "RAGMEM_HOME": folder}
        with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
            description = create_app(memory, token="x" * 43, names=Names("127.0.0.1")).openapi()
    for tag in description["tags"]:
        rows = [
            f"- `{method.upper()} {path.removeprefix(OWN)}`: {operation['summary']}"
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
            if operation["tags"][0] == tag["name"] and path.startswith(OWN)
        ]
        if rows:
            yield from ("", f"**{tag['name']}**: {tag['description']}", "", *rows)
    yield ""

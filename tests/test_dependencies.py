"""What the package imports is declared, so that it is there where only what is declared was installed."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Imported, and brought by a declared package whose own interface it is.
BROUGHT = {
    "h11": "uvicorn",
    "markdown-it-py": "rich",
    "pydantic": "fastapi",
    "starlette": "fastapi",
}


def plain(requirement):
    """Return the name of a requirement as PyPI compares it."""
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def imported():
    """Return what modules of the package import from elsewhere, each with a file that does."""
    found = {}
    for path in (ROOT / "ragmem").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            else:
                continue
            for top in {name.partition(".")[0] for name in names} - {"ragmem"}:
                # Names with an underscore are parts of Python of some versions.
                if top not in sys.stdlib_module_names and not top.startswith("_"):
                    found.setdefault(top, path.relative_to(ROOT).as_posix())
    return found


def test_every_import_is_declared_or_brought():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        *project["dependencies"],
        *(line for part in project["optional-dependencies"].values() for line in part),
    ]
    expected = {plain(line) for line in lines} | set(BROUGHT)
    known, found = packages_distributions(), imported()
    assert len(found) > 20
    # Some parts of a library are distributions of their own: mlx is brought by mlx and mlx-cpu.
    unexpected = {
        top: path
        for top, path in found.items()
        if not {plain(name) for name in known.get(top, [top])} & expected
    }
    assert unexpected == {}


@pytest.mark.parametrize(("name", "by"), BROUGHT.items())
def test_what_is_said_to_be_brought_is(name, by):
    assert name in {plain(line) for line in requires(by) if "extra ==" not in line}

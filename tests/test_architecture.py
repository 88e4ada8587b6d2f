"""The order of the package: how many modules a folder holds, and that no import goes round."""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import architecture  # noqa: E402 - it counts the same for docs/architecture.md

PACKAGE = ROOT / "ragmem"
MODULES = 25
"""Modules that a folder may hold."""

LARGER = {"ragmem/cli", "ragmem/cli/explorer"}
"""One command a file, one screen a file: these may be larger."""


def test_a_folder_holds_no_more_modules_than_a_reader_can_survey():
    folders = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    large = {path.relative_to(ROOT).as_posix() for path, count in folders.items() if count > MODULES}

    assert len(folders) > 50
    assert large <= LARGER


def test_no_module_imports_itself_by_way_of_others():
    assert architecture.circles(PACKAGE) == set()


def test_a_circle_would_be_found(tmp_path):
    package = tmp_path / "ragmem"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from ragmem import two\n")
    (package / "two.py").write_text("def ask():\n    from ragmem.three import answer\n    return answer\n")
    (package / "three.py").write_text("from .one import two\nanswer = two\n")
    (package / "four.py").write_text("import ragmem.one\n")

    assert architecture.circles(package) == {"ragmem.one", "ragmem.two", "ragmem.three"}


def test_every_package_says_what_it_is_for():
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("__init__.py")
        if not path.read_text(encoding="utf-8").startswith('"""')
    ]

    assert silent == []

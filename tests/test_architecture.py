"""The order of the package: how many modules a folder holds, and that no import goes round."""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import architecture  # noqa: E402 - it counts the same for docs/benchmarks.md

PACKAGE = ROOT / "ragmem"
MODULES = 25
"""Modules that a folder may hold."""

LARGER = {"ragmem/cli"}
"""One command a file: it may be larger."""


def test_a_folder_holds_no_more_modules_than_a_reader_can_survey():
    folders = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    large = {path.relative_to(ROOT).as_posix() for path, count in folders.items() if count > MODULES}

    assert len(folders) > 50
    assert large <= LARGER


def test_each_script_of_the_benchmarks_is_a_command_and_its_folders_hold_what_several_share():
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" not in path.read_text()}
    folders = Counter(path.parent.name for path in (ROOT / "benchmarks").glob("*/*.py"))

    assert scripts == {"common", "fingerprint"}
    assert max(folders.values()) <= MODULES


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


SQL_ROOMS = ("storage", "backends")
"""Folders whose modules may run SQL."""

SQL_MODULES = ("readers/transcripts/opencode.py", "readers/foreign/databases.py")
"""Modules that read the database of another program."""

RUNS_SQL = {"execute", "executemany", "executescript", "fetchone", "fetchall"}
"""Methods of connections and cursors."""


def sql_calls(package: Path) -> Iterator[str]:
    """Yield each call of a database connection outside of the rooms with SQL, as `path:line`."""
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        if inside.parts[0] in SQL_ROOMS or inside.as_posix() in SQL_MODULES:
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in RUNS_SQL) else ():
            if isinstance(node, ast.Attribute) and node.attr in RUNS_SQL:
                yield f"{inside.as_posix()}:{node.lineno}"


def test_sql_runs_in_storage_and_back_ends_only():
    assert list(sql_calls(PACKAGE)) == []


def test_sql_elsewhere_would_be_found(tmp_path):
    for room in ("storage", "services"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "rows.py").write_text("def count(c):\n    return c.execute('SELECT 1')\n")

    assert list(sql_calls(tmp_path)) == ["services/rows.py:2"]


def test_every_package_says_what_it_is_for():
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("__init__.py")
        if not path.read_text(encoding="utf-8").startswith('"""')
    ]

    assert silent == []

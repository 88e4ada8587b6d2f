"""The back end of docs/plugins.md: it is the file in examples/, it keeps the contracts, and it works."""

import importlib.util
import sqlite3
import sys
import tomllib
from pathlib import Path

import pytest

from ragmem import testing
from ragmem.backends.simple_store import SimpleStore, StoreDefaults

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "plugin"


def _load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


trigrams = _load("trigrams")
contracts = _load("test_trigrams")

TestTrigrams = contracts.TestTrigrams
TestTableStore = contracts.TestTableStore


@pytest.mark.parametrize("name", ["trigrams.py", "pyproject.toml", "test_trigrams.py"])
def test_the_tutorial_shows_the_file(name):
    assert f"\n{(EXAMPLE / name).read_text()}```\n" in (ROOT / "docs" / "plugins.md").read_text()


def test_the_tutorial_counts_right():
    page = (ROOT / "docs" / "plugins.md").read_text()
    tests = [
        sum(name.startswith("test_") for name in dir(one))
        for one in (testing.StoreContract, testing.ModelsContract)
    ]
    lines = (EXAMPLE / "trigrams.py").read_text().splitlines()
    assert f"{tests[0]} for a store" in page
    assert f"{tests[1]} for models" in page
    assert f"one of {sum(bool(line.strip()) for line in lines)} lines" in page


def test_the_back_end_has_fewer_than_sixty_lines_and_no_store_behind_it():
    lines = (EXAMPLE / "trigrams.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) < 60
    assert trigrams.TableStore.__mro__[1:3] == (SimpleStore, StoreDefaults)


def test_an_installed_plug_in_is_found_by_its_name(started, tmp_path, monkeypatch):
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    # What pip writes of a package: a folder beside its module.
    facts = tmp_path / f"ragmem_trigrams-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    entries = project["entry-points"]["ragmem.backends"]
    lines = [f"{name} = {module}\n" for name, module in entries.items()]
    (facts / "entry_points.txt").write_text("".join(["[ragmem.backends]\n", *lines]))
    (tmp_path / "trigrams.py").write_bytes((EXAMPLE / "trigrams.py").read_bytes())
    chosen = {
        "RAGMEM_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(tmp_path),
        "RAGMEM_MODELS_BACKEND": "trigrams",
        "RAGMEM_STORE_BACKEND": "trigrams",
    }
    stored = started("ingest", "-", stdin="We decided to keep the sessions in PostgreSQL.\n", **chosen)
    assert stored.returncode == 0, stored.stderr
    found = started("query", "where are sessions kept", "--nearest", **chosen)
    assert "keep the sessions in PostgreSQL" in found.stdout, found.stderr
    refused = started("query", "where are sessions kept", "--mode", "mix", **chosen)
    assert refused.returncode == 2
    assert 'the back end "trigrams" has no mode "mix"' in refused.stderr
    with sqlite3.connect(tmp_path / "home" / "data" / "memory.db") as connection:
        (count,) = connection.execute("SELECT count(*) FROM trigrams").fetchone()
    connection.close()
    assert count == 1

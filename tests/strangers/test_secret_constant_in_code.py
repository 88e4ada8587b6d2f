"""Code that holds secrets, and files that go wrong, stop no other file."""

import random
import string
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.readers import markdown
from ragmem.services.code import on_disk, relink
from ragmem.services.ingestion import drafts
from ragmem.services.seeding import seed

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
CHOOSER = random.Random(7)


def token() -> str:
    """Return what looks like a token; made here, so that no file holds one."""
    return "gh" + "p_" + "".join(CHOOSER.choice(string.ascii_letters + string.digits) for _ in range(36))


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "home").mkdir()
    root = tmp_path / "ragmem"
    environ = {"RAGMEM_HOME": str(root), **FAKE}
    with Ragmem.open(environ=environ, home=tmp_path / "home", cwd=tmp_path / "home") as opened:
        yield opened


def written(root: Path, files: dict[str, str]) -> Path:
    (root / ".git").mkdir(parents=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def edges(memory) -> set[tuple[str, str]]:
    with memory.catalog.database.read() as connection:
        rows = connection.execute("SELECT source, target FROM code_edges WHERE kind = 'calls'").fetchall()
    return {(source, target) for source, target in rows}


def test_secrets_in_code_are_stored_nowhere_and_leave_the_graph_whole(tmp_path, memory):
    default, key, other, decorator, name, js, go = (token() for _ in range(7))
    secrets = [default, key, other, decorator, name, js, go]
    python = (
        f'def ship(a="{default}", password="f"):\n    return a\n\n\ndef sail():\n    return ship()\n\n\n'
        f'def {name}():\n    return sail()\n\n\nHANDLERS = {{"{key}": ship, "{other}": sail}}\n\n\n'
        f'def route(path):\n    return lambda work: work\n\n\n@route("{decorator}")\ndef dock():\n'
        f'    {name}()\n    return HANDLERS["{key}"]()\n'
    )
    crane = f"from port.boats import sail, {name}\n\n\ndef lift():\n    {name}()\n    return sail()\n"
    script = f'export const KEYS = {{"{js}": 1}};\nexport function load(k = "{js}") {{ return k; }}\n'
    program = (
        f'package main\n\nconst Key = "{go}"\n\n'
        "func N() string { return Key }\n\nfunc M() string { return N() }\n"
    )
    repository = written(
        tmp_path / "repo",
        {
            "port/boats.py": python,
            "port/crane.py": crane,
            "web/a.js": script,
            "web/b.js": 'import { load } from "./a.js";\nexport function show() { return load(); }\n',
            "go/main.go": program,
        },
    )
    report = memory.code.ingest(repository)
    assert len(report.new) == 5
    assert not report.failed
    found = edges(memory)
    assert {("port.boats.sail", "port.boats.ship"), ("port.crane.lift", "port.boats.sail")} <= found
    assert ("port.boats.dock", "port.boats.ship") in found
    assert ("port.boats.dock", "port.boats.sail") not in found
    ends = {(source.rpartition(".")[2], target.rpartition(".")[2]) for source, target in found}
    assert {("show", "load"), ("M", "N")} <= ends
    hidden = {target for _, target in found if "redacted" in target}
    assert len(hidden) == 1
    assert {source for source, target in found if target in hidden} == {"port.boats.dock", "port.crane.lift"}
    memory.close()
    for file in (tmp_path / "ragmem").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not [one for one in secrets if one.encode() in content], file


@pytest.mark.parametrize("kind", ["f", "m", "c", "dict", "kind", "ship"])
def test_a_password_that_equals_a_word_of_the_graph_changes_no_name(tmp_path, memory, kind):
    files = {
        "a.py": f'PASSWORD = "{kind}"\nTOKEN = "{token()}"\n\n\ndef ship():\n    return 1\n',
        "b.py": "from a import ship\n\n\ndef sail():\n    return ship()\n",
    }
    report = memory.code.ingest(written(tmp_path / "repo", files))
    assert len(report.new) == 2
    assert ("b.sail", "a.ship") in edges(memory)


def raising(real, error: Exception):
    def broken(path, *given, **named):
        if "bad" in str(path):
            raise error
        return real(path, *given, **named)

    return broken


ERRORS = [KeyError("x"), RecursionError("too deep"), ValueError("two\nlines"), RuntimeError()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: type(one).__name__)
def test_code_that_cannot_be_parsed_leaves_the_others_stored(tmp_path, memory, monkeypatch, error):
    repository = written(tmp_path / "repo", {"bad.py": "x = 1\n", "good.py": "def f():\n    return 1\n"})
    monkeypatch.setattr(on_disk, "read_code", raising(on_disk.read_code, error))
    report = memory.code.ingest(repository)
    assert report.new == ["good.py"]
    assert [path for path, _ in report.failed] == ["bad.py"]
    assert type(error).__name__ in report.failed[0][1]
    assert "\n" not in report.failed[0][1]
    monkeypatch.undo()
    assert memory.code.ingest(repository).new == ["bad.py"]


def test_code_that_cannot_be_linked_leaves_the_others_stored(tmp_path, memory, monkeypatch):
    real = relink.link_python

    def broken(files, **named):
        if any("bad" in file.path for file in files):
            raise KeyError("scope")
        return real(files, **named)

    monkeypatch.setattr(relink, "link_python", broken)
    files = {"bad.py": "x = 1\n", "good.py": "def f():\n    return 1\n"}
    report = memory.code.ingest(written(tmp_path / "repo", files))
    assert report.new == ["good.py"]
    assert report.failed == [("bad.py", "KeyError: 'scope'")]


def test_memory_that_is_short_ends_the_run(tmp_path, memory, monkeypatch):
    monkeypatch.setattr(on_disk, "read_code", raising(on_disk.read_code, MemoryError()))
    with pytest.raises(MemoryError):
        memory.code.ingest(written(tmp_path / "repo", {"bad.py": "x = 1\n"}))


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("bad", "good", "other"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nWe decided that the {name} crane is painted red.\n")
    return folder


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: type(one).__name__)
def test_a_note_that_cannot_be_read_leaves_the_others_handed_in(notes, memory, monkeypatch, error):
    monkeypatch.setattr(markdown, "read", raising(markdown.read, error))
    handed = memory.ingestion.draft([notes], drafts.DraftOptions())
    assert len(handed.drafts) == 2
    assert len(handed.problems) == 1
    assert "bad.md" in handed.problems[0]
    assert "\n" not in handed.problems[0]


def test_a_note_that_cannot_be_judged_leaves_the_others_seeded(notes, tmp_path, monkeypatch):
    root = tmp_path / "ragmem"
    (root / "config").mkdir(parents=True)
    (root / "config/sources.toml").write_text(f'[sources.wiki]\nglob = "{notes}/*.md"\n')
    real = seed.classify_draft

    def broken(draft, **named):
        if "bad" in draft.text:
            raise IndexError("out of range")
        return real(draft, **named)

    monkeypatch.setattr(seed, "classify_draft", broken)
    environ = {"RAGMEM_HOME": str(root), **FAKE}
    sources = root / "config/sources.toml"
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path, sources_file=sources) as memory:
        report = memory.seed(sources=["wiki"])
        assert report.failed == 1
        assert [Path(one.place).name for one in report.problems if one.level == "failed"] == ["bad.md"]
        assert sum(tally.found for tally in report.tallies) == 2

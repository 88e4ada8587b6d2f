"""Without the extra `code`, Python is read and files of other languages name what they need."""

import json
import os
import subprocess
import sys

import pytest

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
COMMAND = "pip install 'ragmem[code]'"
MISSING = f"it needs tree_sitter, which is not installed: {COMMAND}"
GO = "package shop\n\n// Charge takes the money.\nfunc Charge() {}\n"
PYTHON = "def charge(amount):\n    return amount\n"
WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys({hidden!r})); from ragmem.__main__ import main; main()"
)


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    for name in ("cart", "pay", "ship", "tax"):
        (root / f"{name}.go").write_text(GO)
    (root / "pay.py").write_text(PYTHON)
    return root


@pytest.fixture
def without(shop):
    def run(*words, hidden=("tree_sitter",), at=shop):
        code = WITHOUT.format(hidden=hidden)
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=at,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **FAKE},
        )
        assert "Traceback" not in done.stderr
        return done

    return run


def test_python_is_read_and_one_line_names_the_extra_for_the_rest(without):
    done = without("ingest", "--code", ".")
    assert done.returncode == 3
    assert "1 new" in done.stdout
    assert done.stderr.splitlines() == [f"failed: cart.go, pay.go, ship.go and 1 more: {MISSING}"]

    ((failed),) = json.loads(without("ingest", "--code", "--json", ".").stdout)["code"][0]["failed"]
    assert (failed["reason"], failed["files"]) == (MISSING, 4)


def test_a_missing_grammar_names_the_same_extra(without):
    done = without("ingest", "--code", ".", hidden=("tree_sitter_go",))
    assert done.returncode == 3
    assert MISSING.replace("tree_sitter", "tree_sitter_go") in done.stderr


def test_once_the_extra_is_there_the_next_run_reads_what_is_missing(without, ragmem, shop, monkeypatch):
    without("ingest", "--code", ".")
    monkeypatch.chdir(shop)
    done = ragmem("ingest", "--code", ".")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 new, 0 changed, 0 renamed, 0 gone, 1 unchanged" in done.stdout


def test_where_the_extra_has_gone_what_is_known_stays(without, ragmem, shop, monkeypatch):
    monkeypatch.chdir(shop)
    assert ragmem("ingest", "--code", ".").returncode == 0
    (shop / "pay.go").write_text(GO.replace("Charge", "Refund"))
    done = without("ingest", "--code", ".")
    assert (done.returncode, done.stderr) == (3, f"failed: pay.go: {MISSING}\n")
    known = ragmem("inspect", "code", "pay.go", "--json").stdout
    assert "Charge" in known
    assert "Refund" not in known


def test_a_python_file_that_cannot_be_parsed_says_what_would_read_the_rest(without, shop):
    (shop / "old.py").write_text("def kept():\n    return 1\n\n\nprint 'hello'\n")
    done = without("ingest", "--code", "old.py")
    assert done.returncode == 0
    (said,) = done.stderr.splitlines()
    assert said.startswith("not read completely: old.py: Python cannot read it: ")
    assert said.endswith(f"{MISSING}, then ingest --code --rebuild")


def test_looking_into_the_code_says_what_other_languages_need(without, ragmem, shop, monkeypatch):
    without("ingest", "--code", ".")
    done = without("inspect", "code")
    assert done.returncode == 0
    assert done.stderr == f"note: languages other than Python need tree_sitter: {COMMAND}\n"
    assert without("inspect", "code", "pay.py").stderr == ""
    monkeypatch.chdir(shop)
    assert ragmem("inspect", "code").stderr == ""


def doctor(run):
    told = json.loads(run("doctor", "--json").stdout)["checks"]
    return {one["name"]: (one["status"], one["detail"], one["fix"]) for one in told}


def test_doctor_warns_where_code_is_known_that_cannot_be_read_anew(without, ragmem, shop, monkeypatch):
    monkeypatch.chdir(shop)
    assert ragmem("ingest", "--code", "pay.py").returncode == 0
    assert "grammars" not in doctor(without)
    assert ragmem("ingest", "--code", ".").returncode == 0
    detail = "files in go cannot be read again: tree_sitter is not installed"
    assert doctor(without)["grammars"] == ("warning", detail, COMMAND)
    told = doctor(ragmem)
    assert "grammars" not in told
    assert "code" in told["extras"][1].removeprefix("installed: ").split(", ")


def test_a_question_is_answered_without_the_extra(without):
    assert without("ingest", "--code", ".").returncode == 3
    assert without("ingest", "cart.go").returncode == 0
    done = without("query", "who takes the money")
    assert done.returncode == 0
    assert "Charge takes the money" in done.stdout

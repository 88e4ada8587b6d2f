"""`ragmem check`, and how a session is told which rules its last answer broke."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from claude_sessions import Session
from hook_calls import Hooks
from quick_commands import COMMANDS

from ragmem.api.memory import Ragmem

RULES = "- **no-apologies**: never say `sorry`\n- Never claim what was not run.\n"
SECRET = "sk-ant-" + "api03-" + "q7Rt2LmX9vKp4WzN8bYc3HdJ6sFgUe1a"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    monkeypatch.setenv("RAGMEM_STORE_BACKEND", "fake")
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (config / "rules.md").write_text(RULES)
    return tmp_path / "home"


def check(*arguments, said="", **environ):
    return COMMANDS.run(
        ("check", *arguments), given=said.encode(), environ={**os.environ, **environ}, cwd=Path.cwd()
    )


def kept(home, session=""):
    with Ragmem.open(environ={"RAGMEM_HOME": str(home)}, home=home, cwd=home) as memory:
        return memory.rules.violations(session=session)


def test_an_answer_is_checked_and_nothing_of_it_is_kept_without_a_session(home):
    found = check("-", said=f"I am sorry about {SECRET}.")
    assert found.returncode == 1
    assert b"no-apologies" in found.stdout
    assert SECRET.encode() not in found.stdout
    assert b"1 rule takes judgement, and no language model is asked" in found.stderr
    assert check("-", "--quiet", said="It was run.").returncode == 0
    assert kept(home) == []


def test_what_is_kept_of_a_session_is_kept_once_and_shown(home):
    for _ in range(2):
        check("-", "--session", "s1", "--for", "codex", said=f"Sorry: {SECRET}")
    (found,) = kept(home, "s1")
    assert (found.rule, found.assistant, found.told_at) == ("no-apologies", "codex", None)
    assert SECRET not in found.excerpt
    shown = json.loads(check("--history", "--json").stdout)
    assert [one["rule"] for one in shown["violations"]] == ["no-apologies"]


def test_a_language_model_judges_within_the_budget_of_a_day(home):
    models = {"RAGMEM_LANGUAGE_MODEL_BACKEND": "fake", "RAGMEM_LANGUAGE_MODEL_MODEL": "valid"}
    budget = {**models, "RAGMEM_CHECK_JUDGEMENTS_PER_DAY": "1"}
    first = check("-", "--judge", "--json", said="It works.", **budget)
    assert json.loads(first.stdout)["judged"] == 1
    second = check("-", "--judge", "--json", said="It works.", **budget)
    assert "the 1 of today are used up" in json.loads(second.stdout)["note"]
    down = {**models, "RAGMEM_LANGUAGE_MODEL_MODEL": "down"}
    assert b"the fake language model is down" in check("-", "--judge", said="It works.", **down).stderr
    useless = {**models, "RAGMEM_LANGUAGE_MODEL_MODEL": "garbage"}
    assert check("-", "--judge", said="It works.", **useless).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), b"nothing to check"),
        (("-", "--history"), b"give one of FILE"),
        (("missing.md",), b'there is no file "missing.md"'),
        (("-", "--rules", "missing.md"), b"missing.md"),
        (("-", "--rules", "empty.md"), b"has no rules"),
        (("-", "--rules", "broken.toml"), b"broken.toml"),
    ],
)
def test_bad_input_is_told_in_a_line(home, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.md").write_text("- Prefer short sentences.\n")
    (tmp_path / "broken.toml").write_text("[[rule]\n")
    found = check(*arguments, said="x")
    assert found.returncode == 2
    assert message in found.stderr
    assert b"hint: " in found.stderr


def test_patterns_that_take_for_ever_are_ended(home, tmp_path):
    slow = tmp_path / "slow.md"
    slow.write_text("- never /(a+)+$/\n")
    found = check("-", "--rules", str(slow), said="a" * 60 + "!", RAGMEM_CHECK_PATTERNS_S="0.5")
    assert found.returncode == 3
    assert b"took too long" in found.stderr


def test_why_nothing_was_checked_after_an_answer_is_known_to_the_log_of_hooks(home):
    (home / "config" / "rules.md").unlink()
    assert check("-", "--session", "s1", said="x").returncode == 2
    assert not (home / "state" / "hooks.log").exists()
    assert check("-", "--session", "s1", said="x", RAGMEM_HOOK_DEPTH="1").returncode == 2
    assert "check failed: there are no rules" in (home / "state" / "hooks.log").read_text()


@pytest.mark.slow
def test_a_session_is_told_with_its_next_prompt_what_its_last_answer_broke(tmp_path):
    hooks = Hooks(tmp_path)
    hooks.environ |= {"RAGMEM_CHECK_ENABLED": "true", "RAGMEM_HOOKS_QUERY_DEADLINE_S": "30"}
    (hooks.home / "config").mkdir(parents=True)
    (hooks.home / "config" / "rules.md").write_text(RULES)
    subprocess.run(
        [sys.executable, "-m", "ragmem", "ingest", "-", "--quiet"],
        input=b"The harbour portal keeps its sessions in PostgreSQL.",
        env=hooks.environ,
        check=True,
        timeout=60,
    )
    Session(hooks.transcript, name="s1", cwd=hooks.project).turn("does it work?", "I am sorry, it works now.")
    hooks.call("Stop", last_assistant_message="I am sorry, it works now.", stop_hook_active=False)
    ends = time.monotonic() + 60
    while not (found := kept(hooks.home, "s1")) and time.monotonic() < ends:
        time.sleep(0.1)
    assert [one.excerpt for one in found] == ["I am sorry, it works now."], hooks.log()

    told = []
    for _ in range(2):
        shown = subprocess.run(
            [sys.executable, "-m", "ragmem", "context", "--session", "s1", "--prompt", "and now the tests"],
            env=hooks.environ,
            capture_output=True,
            timeout=60,
            check=False,
        )
        told.append(shown.stdout.decode())
    assert "no-apologies: never say `sorry`" in told[0]
    assert "I am sorry, it works now." in told[0]
    assert "no-apologies" not in told[1]

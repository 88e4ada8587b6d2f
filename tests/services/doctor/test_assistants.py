"""What is wrong with the hooks of an assistant is found, and told with its next step."""

import json
import socket
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem, now
from ragmem.services.doctor.assistants import check_assistants, last_call


@pytest.fixture
def home(tmp_path, monkeypatch):
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("RAGMEM_HOME", str(place / "memory"))
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    monkeypatch.setenv("RAGMEM_STORE_BACKEND", "fake")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def checks(home):
    """Return a function that examines the wiring as it is, some days from now."""

    def look(*, days=0):
        with Ragmem.open() as memory:
            return list(check_assistants(replace(memory.doctor.patient(), now=now() + timedelta(days=days))))

    return look


def connect(*arguments):
    assert run(["connect", "-q", *arguments]) == 0


def settings(home, name):
    return home / {"claude-code": ".claude/settings.json", "gemini": ".gemini/settings.json"}[name]


def change(path, act):
    document = json.loads(path.read_text())
    act(document)
    path.write_text(json.dumps(document))


def test_nothing_connected_is_nothing_wrong(checks):
    assert [(check.status, check.detail) for check in checks()] == [("ok", "no assistant is connected")]


def test_a_sound_connection_tells_when_it_was_used(home, checks):
    connect("claude-code")
    assert [check.detail for check in checks()] == ["Claude Code (user): no hook has run yet"]

    state = home / "memory/state"
    moment = (now() - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    (state / "hooks.log").write_text(
        f"{moment} claude-code Stop s kept 9 ms\n{moment} codex Stop s kept 9 ms\n"
    )

    assert [(check.status, check.detail) for check in checks()] == [
        ("ok", "Claude Code (user): last hook 5 minutes ago")
    ]
    assert last_call(state, "gemini") is None


def test_a_connection_that_nobody_has_used_for_days_is_told_of(checks):
    connect("codex")

    assert [check.status for check in checks(days=1)] == ["ok"]
    (told,) = checks(days=9)
    assert told.status == "warning"
    assert "/hooks" in told.fix


def first(document, event="Stop"):
    return document["hooks"][event][0]["hooks"][0]


def with_other_program(document):
    first(document)["command"] = first(document)["command"].replace("/bin/ragmem", "/gone/ragmem")
    first(document)["command"] = first(document)["command"].replace(
        f"{sys.executable} -m ragmem", "/gone/python3 -m ragmem"
    )


def by_hand(document):
    document["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "sh -c 'ragmem hook Stop'"}]})


def other_tool(document):
    entry = {"type": "command", "command": "npx claude-mem hook stop", "timeout": 60}
    document["hooks"]["Stop"].append({"hooks": [entry]})


FAULTS = {
    "a program that is gone": ("claude-code", with_other_program, "failed", "which is not executable"),
    "milliseconds where seconds are meant": (
        "claude-code",
        lambda document: first(document).update(timeout=5000),
        "warning",
        "5000 seconds, which is 83 minutes",
    ),
    "seconds where milliseconds are meant": (
        "gemini",
        lambda document: first(document, "SessionEnd").update(timeout=5),
        "warning",
        "5 milliseconds",
    ),
    "an event that is missing": (
        "claude-code",
        lambda document: document["hooks"].pop("SessionEnd"),
        "warning",
        "differ from these",
    ),
    "hooks turned off": (
        "claude-code",
        lambda document: document.update(disableAllHooks=True),
        "failed",
        "disableAllHooks is true",
    ),
    "hooks of Gemini turned off": (
        "gemini",
        lambda document: document.update(hooksConfig={"enabled": False}),
        "failed",
        "hooksConfig.enabled is false",
    ),
    "ours turned off by name": (
        "gemini",
        lambda document: document.update(hooksConfig={"disabled": ["ragmem"]}),
        "failed",
        'names "ragmem"',
    ),
    "wired by hand as well": ("claude-code", by_hand, "warning", "a second hook calls ragmem"),
    "another memory": ("claude-code", other_tool, "ok", "another ragmem home is also connected: claude-mem"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(fault, home, checks):
    name, damage, status, told = fault
    connect(name)
    change(settings(home, name), damage)

    found = [check for check in checks() if told in check.detail]

    assert [check.status for check in found] == [status]
    assert found[0].fix or status == "ok"


def test_hooks_that_are_no_commands_are_understood(home, checks):
    connect("claude-code", "--handlers", "mcp")
    assert [check.detail for check in checks()] == ["Claude Code (user, hooks by mcp): no hook has run yet"]
    change(home / ".claude.json", lambda document: document.clear())
    assert "differ from these" in checks()[0].detail

    connect("claude-code", "--handlers", "http")
    nobody = [check for check in checks() if check.status != "ok"]
    assert [(one.status, "which does not answer" in one.detail) for one in nobody] == [("warning", True)]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        path = settings(home, "claude-code")
        path.write_text(path.read_text().replace("127.0.0.1:9622", f"127.0.0.1:{port}"))
        assert [check.detail for check in checks()] == [
            "Claude Code (user, hooks by http): no hook has run yet"
        ]


def test_settings_that_were_broken_or_emptied_are_told_of(home, checks):
    connect("claude-code")
    path = settings(home, "claude-code")
    path.write_text("{}")
    assert ["its settings no longer have ragmem's hooks" in check.detail for check in checks()] == [True]

    path.write_text('{"hooks": ')
    (told,) = checks()
    assert (told.status, "settings.json:1:11: not valid JSON" in told.detail) == ("failed", True)


def test_a_switch_of_codex_that_was_turned_off_is_told_of(home, checks):
    connect("codex")
    config = home / ".codex/config.toml"
    config.write_text(config.read_text().replace("true", "false"))

    assert [check.status for check in checks() if "turns them off" in check.detail] == ["failed"]


def test_a_project_and_all_work_together_are_once_too_often(home, checks, monkeypatch):
    (home / "work/.git").mkdir(parents=True)
    connect("claude-code")
    monkeypatch.chdir(home / "work")
    connect("claude-code", "--scope", "project")

    assert [check.status for check in checks() if "for the user and for this project" in check.detail] == [
        "warning"
    ]


def test_hooks_that_ragmem_itself_turns_off_are_told_of(checks, monkeypatch):
    connect("claude-code")
    monkeypatch.setenv("RAGMEM_HOOKS_ENABLED", "false")

    assert [check.status for check in checks() if "turned off for ragmem" in check.detail] == ["warning"]

"""The plug-ins of assistants: what is generated, their launcher, and `connect` where one is installed."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import frontmatter
import pytest

import ragmem as package
from ragmem.assistants import load_assistant
from ragmem.assistants.places import Places
from ragmem.hooks.settings import call_hook
from ragmem.mcp.definitions import tools_of
from ragmem.services.wiring.installed_plugins import find_plugin

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ROOT / "plugins"
ASSISTANTS = ("claude-code", "codex", "gemini")


def read(*path):
    return json.loads(ROOT.joinpath(*path).read_text(encoding="utf-8"))


@pytest.fixture
def home(tmp_path, monkeypatch):
    place = tmp_path / "home"
    (place / "work" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.delenv("RAGMEM_HOME")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(place / "work")
    return place


@pytest.fixture
def ragmem(inside, home):
    """Return a function that runs a command line in this process."""
    return inside


def enable(home, name):
    """Turn the plug-in on as the assistant itself writes it down."""
    match name:
        case "claude-code":
            path, text = ".claude/settings.json", '{"enabledPlugins": {"ragmem@ragmem": true}}'
        case "codex":
            path, text = ".codex/config.toml", '[plugins."ragmem@ragmem"]\nenabled = true\n'
        case _:
            folder = home / ".gemini/extensions/ragmem"
            shutil.copytree(PLUGINS / "gemini", folder)
            path = ".gemini/extensions/extension-enablement.json"
            text = json.dumps({"ragmem": {"overrides": [f"{home}/*"]}})
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text)
    return home / path


# What is generated.


@pytest.mark.parametrize("name", ASSISTANTS)
def test_the_hooks_of_a_plugin_are_those_that_connect_writes(name, ragmem, home):
    assert ragmem("connect", name).returncode == 0
    settings = home / {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}.get(
        name, ".gemini/settings.json"
    )
    written = json.loads(settings.read_text())["hooks"]
    shipped = read("plugins", name, "hooks", "hooks.json")["hooks"]

    def told(hooks):
        """Return the hooks with the words after the program alone."""
        for event, groups in hooks.items():
            for group in groups:
                for hook in group["hooks"]:
                    words = hook.pop("args", None) or hook["command"].split()
                    words = words[words.index("hook") :]
                    hook["command"] = [word for word in words if word not in {"--via", "plugin"}]
                    assert hook["command"][1] == event
        return hooks

    assert told(shipped) == told(written)


def test_the_hooks_of_claude_code_need_no_shell_to_find_the_launcher():
    hooks = read("plugins", "claude-code", "hooks", "hooks.json")["hooks"]
    found = [hook for groups in hooks.values() for group in groups for hook in group["hooks"]]
    assert {hook["command"] for hook in found} == {"sh"}
    assert {hook["args"][0] for hook in found} == {"${CLAUDE_PLUGIN_ROOT}/ragmem.sh"}
    assert all(hook["args"][-2:] == ["--via", "plugin"] for hook in found)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (".claude-plugin/marketplace.json", {"name", "owner", "plugins"}),
        (".agents/plugins/marketplace.json", {"name", "plugins"}),
        ("plugins/claude-code/.claude-plugin/plugin.json", {"name", "version", "description"}),
        (
            "plugins/codex/.codex-plugin/plugin.json",
            {"name", "version", "description", "hooks", "mcpServers"},
        ),
        ("plugins/gemini/gemini-extension.json", {"name", "version", "mcpServers", "contextFileName"}),
        ("server.json", {"$schema", "name", "description", "version", "packages"}),
    ],
)
def test_a_manifest_has_its_fields_and_each_path_in_it_exists(path, fields):
    manifest = read(path)
    assert fields <= manifest.keys()
    assert manifest.get("version", package.__version__) == package.__version__
    below = ROOT / path.partition("/.")[0] if path.startswith("plugins") else ROOT
    below = below if below.is_dir() else below.parent
    paths = re.findall(r'"(?:\./|\$\{extensionPath\}/)([^"]+)"', (ROOT / path).read_text())
    paths += [manifest["contextFileName"]] if "contextFileName" in manifest else []
    assert [one for one in paths if not (below / one).exists()] == []


def test_the_entry_for_registries_is_within_their_limits():
    entry = read("server.json")
    assert re.fullmatch(r"[a-z0-9.-]+/[a-z0-9-]+", entry["name"])
    assert len(entry["description"]) <= 100
    (given,) = entry["packages"]
    assert (given["registryType"], given["identifier"], given["version"]) == (
        "pypi",
        "ragmem",
        package.__version__,
    )
    assert given["transport"] == {"type": "stdio"}
    assert [one["value"] for one in given["packageArguments"]] == ["mcp"]


@pytest.mark.parametrize("name", ASSISTANTS)
def test_the_skill_has_the_published_form_and_names_the_tools(name):
    path = PLUGINS / name / "skills" / "ragmem" / "SKILL.md"
    skill = frontmatter.load(str(path))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill["name"])
    assert skill["name"] == path.parent.name
    assert 0 < len(skill["description"]) <= 1024
    assert 0 < len(skill["compatibility"]) <= 500
    assert all(f"`{tool.name}`" in skill.content for tool in tools_of("default"))


def test_the_commands_hand_on_what_was_typed():
    for name in ("recall", "remember"):
        command = frontmatter.load(str(PLUGINS / "claude-code" / "commands" / f"{name}.md"))
        assert command["description"]
        assert "$ARGUMENTS" in command.content
        toml = tomllib.loads((PLUGINS / "gemini" / "commands" / f"{name}.toml").read_text())
        assert toml["description"]
        assert "{{args}}" in toml["prompt"]


# The launcher.


def launch(home, name, *words, path="/usr/bin:/bin"):
    return subprocess.run(
        ["/bin/sh", PLUGINS / name / "ragmem.sh", *words],
        input='{"session_id": "s"}',
        capture_output=True,
        text=True,
        env={"PATH": path, "HOME": str(home)},
        check=False,
        timeout=60,
    )


def program(folder, does):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ragmem"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return folder


@pytest.mark.parametrize("name", ASSISTANTS)
def test_without_the_program_a_session_is_told_in_one_line_and_nothing_else_is_said(name, home):
    began = launch(home, name, "hook", "SessionStart", "--for", name, "--via", "plugin")
    later = launch(home, name, "hook", "Stop", "--for", name, "--via", "plugin")
    server = launch(home, name, "mcp")

    assert (began.returncode, began.stderr) == (0, "")
    said = json.loads(began.stdout)
    assert said.keys() == {"systemMessage"}
    assert "uv tool install ragmem" in said["systemMessage"]
    assert len(said["systemMessage"].splitlines()) == 1
    assert (later.returncode, later.stdout, later.stderr) == (0, "", "")
    assert (server.returncode, server.stdout, len(server.stderr.splitlines())) == (1, "", 1)


def test_the_program_gets_the_words_and_the_input_and_its_answer_is_handed_on(home, tmp_path):
    folder = program(tmp_path / "bin", 'echo "$*: $(cat)"')
    told = launch(home, "claude-code", "hook", "Stop", "--for", "x", path=f"{folder}:/usr/bin:/bin")
    assert (told.returncode, told.stdout) == (0, 'hook Stop --for x: {"session_id": "s"}\n')
    assert launch(home, "gemini", "mcp", path=f"{folder}:/usr/bin:/bin").stdout.startswith("mcp: ")


def test_it_is_found_where_uv_and_pipx_put_it_though_the_path_lacks_that(home):
    program(home / ".local/bin", 'echo "$1"')
    assert launch(home, "codex", "hook", "Stop").stdout == "hook\n"


def test_a_program_that_cannot_start_counts_as_missing(home):
    folder = program(home / ".local/bin", "")
    (folder / "ragmem").write_text("#!/no/such/python\n")
    began = launch(home, "claude-code", "hook", "SessionStart")
    assert (began.returncode, began.stderr) == (0, "")
    assert "systemMessage" in json.loads(began.stdout)


# Nothing is told twice.


@pytest.mark.parametrize("name", ASSISTANTS)
def test_connect_writes_nothing_where_the_plugin_is_on(name, ragmem, home):
    path = enable(home, name)
    before = path.read_text()

    told = ragmem("connect", name)
    shape = json.loads(ragmem("connect", name, "--json").stdout)["assistants"][0]

    assert told.returncode == 0, told.stderr
    assert "the plug-in ragmem" in told.stdout
    assert (shape["changed"], shape["files"], shape["plugin"]) == (False, [], shape["plugin"])
    assert shape["plugin"]
    assert path.read_text() == before
    rows = {line.split()[0]: line for line in ragmem("connect").stdout.splitlines()}
    assert "plug-in" in rows[name]


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("claude-code", ".claude/settings.json", '{"enabledPlugins": {"ragmem@ragmem": false}}'),
        ("claude-code", ".claude/settings.json", '{"enabledPlugins": {"other@ragmem": true}}'),
        ("claude-code", "work/.claude/settings.json", '{"enabledPlugins": {"ragmem@ragmem": false}}'),
        ("claude-code", ".claude/settings.json", "{"),
        ("codex", ".codex/config.toml", '[plugins."ragmem@ragmem"]\nenabled = false\n'),
        ("codex", ".codex/config.toml", "= broken"),
        (
            "gemini",
            ".gemini/extensions/extension-enablement.json",
            '{"ragmem": {"overrides": ["!/home/sam/*"]}}',
        ),
    ],
)
def test_a_plugin_that_is_off_does_not_count(name, path, text, home):
    enable(home, name)
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text)
    assert find_plugin(load_assistant(name), Places({}, home, home / "work")) == ""


def test_both_are_named_by_connect_disconnect_and_doctor(ragmem, home):
    assert ragmem("connect", "claude-code").returncode == 0
    settings = home / ".claude/settings.json"
    document = json.loads(settings.read_text())
    settings.write_text(json.dumps(document | {"enabledPlugins": {"ragmem@ragmem": True}}, indent=2))

    again = ragmem("connect", "claude-code")
    doctor = ragmem("doctor")
    without = ragmem("disconnect", "claude-code")

    assert "does nothing while these hooks are active" in again.stderr
    assert "connected twice: by connect and the plug-in ragmem@ragmem" in doctor.stdout
    assert "claude plugin disable ragmem@ragmem" in without.stderr
    assert "needs ragmem on the PATH" in ragmem("doctor").stdout


@pytest.mark.parametrize("name", ASSISTANTS)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_hook_of_the_plugin_is_silent_where_connect_has_written_it(name, scope, ragmem, home):
    event = load_assistant(name).hook_events()[0]
    log = home / ".local/state/ragmem/hooks.log"
    log.parent.mkdir(parents=True)

    def call(*more):
        """Call the hook as a process and return its line in the log."""
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "ragmem", "hook", event, "--for", name, *more],
            input=json.dumps({"hook_event_name": event, "session_id": "s", "cwd": str(home / "work")}),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return log.read_text()

    assert "its plug-in does nothing" not in call("--via", "plugin")
    assert ragmem("connect", name, "--scope", scope).returncode == 0
    assert "its plug-in does nothing" in call("--via", "plugin")
    assert "its plug-in does nothing" not in call()
    ragmem("disconnect", name, "--scope", scope)
    assert "its plug-in does nothing" not in call("--via", "plugin")


@pytest.mark.parametrize("handlers", ["mcp", "http"])
def test_the_plugin_sees_the_hooks_that_are_no_commands(handlers, ragmem, home):
    assistant = load_assistant("claude-code")

    def are_called():
        events = assistant.hook_events()
        return [event for event in events if call_hook(assistant, event, {}, str(home), str(home / "work"))]

    assert are_called() == []
    assert ragmem("connect", "claude-code", "--handlers", handlers).returncode == 0
    assert are_called() == assistant.hook_events()


# The example for those who have nothing yet.


def test_a_demo_answers_from_a_home_of_its_own_and_leaves_nothing(ragmem, home, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    before = sorted(home.rglob("*"))

    shown = ragmem("demo")

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("$ ragmem query") == 3
    assert "SIGTERM" in shown.stdout
    assert "ragmem setup" in shown.stdout
    assert sorted(home.rglob("*")) == before
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_demo_that_is_kept_can_be_asked_again(ragmem, home, tmp_path, monkeypatch):
    place = tmp_path / "kept"
    assert ragmem("demo", "--keep", str(place)).returncode == 0
    assert ragmem("demo", "--keep", str(place)).returncode == 2
    monkeypatch.setenv("RAGMEM_HOME", str(place / "memory"))
    assert "PostgreSQL" in ragmem("query", "which database does Tideline use", "--all").stdout

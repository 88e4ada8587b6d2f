"""`ragmem connect` and `disconnect`: an assistant's settings come back letter by letter, whatever happens."""

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import threading
import tomllib
from urllib.parse import parse_qs

import pytest
from settings_files import CODEX_CONFIGS, SETTINGS

from ragmem.assistants import NAMES, load_assistant
from ragmem.assistants.places import Places
from ragmem.errors import StorageError
from ragmem.services.wiring import connect
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.json_hooks import read_hooks

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/ragmem.js",
    "copilot": ".copilot/hooks/ragmem.json",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    place = tmp_path / "zoë's home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.delenv("RAGMEM_HOME")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    work = place / "work"
    (work / ".git").mkdir(parents=True)
    monkeypatch.chdir(work)
    return place


@pytest.fixture
def ragmem(inside, home):
    """Return a function that runs a command line in this process."""
    return inside


def put(home, name, content, mode=0o644):
    path = home / FILES[name]
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def tree(folder):
    """Return every file and folder below with its content, but for locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.name.startswith("connections.")
    }


def state(home):
    return home / ".local/state/ragmem"


@pytest.mark.parametrize(("name", "content"), SETTINGS.values(), ids=SETTINGS)
def test_disconnected_settings_are_what_they_were(name, content, ragmem, home):
    path = put(home, name, content, mode=0o640)
    before = path.parent.exists() and tree(path.parent)

    connected = ragmem("connect", name)
    after = path.read_bytes()
    again = ragmem("connect", name)

    assert (connected.returncode, again.returncode) == (0, 0), connected.stderr + again.stderr
    assert after != content
    assert path.read_bytes() == after
    assert "already connected" in again.stdout
    assert [one.read_bytes() for one in (state(home) / "connections").glob("*-*s*.json")] == [content]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

    assert ragmem("disconnect", name).returncode == 0
    assert tree(path.parent) == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in state(home).iterdir()] == ["connections.lock"]


@pytest.mark.parametrize("content", CODEX_CONFIGS.values(), ids=CODEX_CONFIGS)
def test_the_switch_of_codex_is_set_where_nobody_has_said_anything(content, ragmem, home):
    config = home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_bytes(content)
    said = tomllib.loads(content.decode()).get("features", {})
    decided = said.keys() & {"hooks", "codex_hooks"}

    told = ragmem("connect", "codex", "--no-mcp")
    after = config.read_bytes()
    ragmem("connect", "codex", "--no-mcp")

    assert told.returncode == 0
    assert config.read_bytes() == after
    assert decided or tomllib.loads(after.decode())["features"] == {**said, "hooks": True}
    assert (after == content) == bool(decided)
    assert ("turns them off" in told.stderr) == (said.get("hooks") is False)
    config.write_bytes(after + b'\n[extra]\ntheme = "x"\n')
    ragmem("disconnect", "codex")
    assert config.read_bytes() == content + b'\n[extra]\ntheme = "x"\n'


@pytest.mark.parametrize("name", NAMES)
def test_where_there_was_nothing_nothing_is_left(name, ragmem, home):
    (home / ".config").mkdir()
    before = tree(home)

    assert ragmem("connect", name).returncode == 0
    assert (home / FILES[name]).is_file()
    assert stat.S_IMODE((home / FILES[name]).stat().st_mode) == 0o600
    assert ragmem("disconnect", name).returncode == 0

    after = tree(home)
    assert {path: after[path] for path in after if not path.startswith(".local")} == before


@pytest.mark.parametrize("name", NAMES)
def test_a_dry_run_shows_the_diff_and_writes_nothing(name, ragmem, home):
    before = tree(home)
    shown = ragmem("connect", name, "--dry-run")

    assert shown.returncode == 0
    assert shown.stdout.startswith("--- /dev/null\n+++ ")
    assert f"--for {name}" in shown.stdout or name == "opencode"
    assert tree(home) == before

    ragmem("connect", name)
    connected = tree(home)
    gone = ragmem("disconnect", name, "--dry-run")
    assert [line[1:] for line in gone.stdout.splitlines() if line.startswith("-")][1:]
    assert tree(home) == connected


def test_a_dry_run_shows_no_secret_that_stands_beside(ragmem, home):
    key = "sk-ant-" + "api03-" + "Zk3qP9vXw2LmR8sTb4NcYd7HfJg6KaQe5UiO1zB0"
    put(home, "claude-code", json.dumps({"env": {"ANTHROPIC_API_KEY": key}}, indent=2).encode())

    shown = ragmem("connect", "claude-code", "--dry-run")

    assert '"hooks"' in shown.stdout
    assert key not in shown.stdout


def test_changes_of_the_person_in_between_stay(ragmem, home):
    name, content = SETTINGS["a long one of Claude Code with hooks of others"]
    path = put(home, name, content)
    ragmem("connect", name)
    changed = path.read_text().replace('"model": "opus"', '"model": "haiku"').replace("guard.sh", "guards.sh")
    path.write_text(changed.replace('"DISABLE_TELEMETRY": "1",', '"DISABLE_TELEMETRY": "1", "X": "ü",'))

    ragmem("disconnect", name)

    expected = (
        content.decode().replace('"model": "opus"', '"model": "haiku"').replace("guard.sh", "guards.sh")
    )
    assert path.read_text() == expected.replace(
        '"DISABLE_TELEMETRY": "1",', '"DISABLE_TELEMETRY": "1", "X": "ü",'
    )


def test_entries_that_somebody_took_out_are_not_missed(ragmem, home):
    path = put(home, "claude-code", b'{"model": "opus"}\n')
    ragmem("connect", "claude-code")
    path.write_bytes(b'{"model": "haiku"}\n')

    told = ragmem("disconnect", "claude-code")

    assert told.returncode == 0
    assert "no longer has any entries of ragmem" in told.stderr
    assert path.read_bytes() == b'{"model": "haiku"}\n'


def test_an_entry_in_other_words_is_told_of_and_stays(ragmem, home):
    path = put(home, "gemini", b"{}")
    ragmem("connect", "gemini")
    document = json.loads(path.read_text())
    entry = document["hooks"]["SessionEnd"][0]["hooks"][0]
    entry["command"] = f"nice {entry['command']}"
    path.write_text(json.dumps(document))

    told = ragmem("disconnect", "gemini")

    assert "is kept, because it was edited" in told.stderr
    assert [hook.command for hook in read_hooks(path.read_text())] == [entry["command"]]


@pytest.mark.parametrize("command", ["connect", "disconnect"])
def test_settings_that_are_no_json_are_told_with_line_and_column(command, ragmem, home):
    path = put(home, "gemini", b'{\n  "a": 1,\n  "b" 2\n}\n')

    told = ragmem(command, "gemini")

    assert told.returncode == 2
    assert f"{path}:3:7: not valid JSON" in told.stderr
    assert path.read_bytes() == b'{\n  "a": 1,\n  "b" 2\n}\n'
    assert "connections.json" not in {one.name for one in state(home).glob("*")}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"a": "\xff"}', "is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8"),
        (b"[]", "not an object"),
        (b'{"hooks": {"Stop": 1}}', '"hooks.Stop" is not a list'),
    ],
)
def test_settings_that_cannot_be_changed_are_left_alone(content, told, ragmem, home):
    path = put(home, "claude-code", content)

    result = ragmem("connect", "claude-code")

    assert (result.returncode, result.stdout) == (2, "")
    assert told in result.stderr
    assert path.read_bytes() == content


def test_linked_dotfiles_stay_links(ragmem, home):
    real = home / "dotfiles/claude.json"
    real.parent.mkdir()
    real.write_bytes(b'{"model": "opus"}')
    link = home / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")

    ragmem("connect", "claude-code")
    assert link.is_symlink()
    assert "hook SessionStart" in real.read_text()
    ragmem("disconnect", "claude-code")

    assert str(link.readlink()) == "../dotfiles/claude.json"
    assert real.read_bytes() == b'{"model": "opus"}'
    assert [one.name for one in real.parent.iterdir()] == ["claude.json"]


def test_a_link_that_leads_nowhere_is_not_written_through(ragmem, home):
    link = home / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to(home / "gone.json")

    assert "is a broken link" in ragmem("connect", "claude-code").stderr
    assert not (home / "gone.json").exists()


def test_a_folder_that_cannot_be_written_changes_nothing(ragmem, home):
    (home / ".gemini").write_text("a file")

    told = ragmem("connect", "gemini")

    assert (told.returncode, told.stdout) == (3, "")
    assert "cannot write" in told.stderr
    assert not (state(home) / "connections.json").exists()


def test_a_second_file_that_cannot_be_written_puts_the_first_one_back(ragmem, home, monkeypatch):
    hooks = put(home, "codex", b'{"hooks": {}}')
    real = connect.replace_settings

    def refuse(path, before, after):
        if path.name == "config.toml":
            raise StorageError(f'cannot write "{path}": no space left on device')
        real(path, before, after)

    with monkeypatch.context() as patch:
        patch.setattr(connect, "replace_settings", refuse)
        assert ragmem("connect", "codex").returncode == 3

    assert hooks.read_bytes() == b'{"hooks": {}}'
    assert not (state(home) / "connections.json").exists()
    assert ragmem("connect", "codex").returncode == 0


def test_what_another_program_writes_meanwhile_is_kept(ragmem, home, monkeypatch):
    path = put(home, "claude-code", b'{"model": "opus"}')
    real = connect.replace_settings
    writes = iter([b'{"model": "haiku"}'])

    def interrupted(target, before, after):
        path.write_bytes(next(writes, path.read_bytes()))
        real(target, before, after)

    with monkeypatch.context() as patch:
        patch.setattr(connect, "replace_settings", interrupted)
        assert ragmem("connect", "claude-code").returncode == 0

    assert json.loads(path.read_text())["model"] == "haiku"
    ragmem("disconnect", "claude-code")
    assert path.read_bytes() == b'{"model": "haiku"}'


def test_many_homes_connecting_at_once_all_get_in(home):
    path = put(home, "claude-code", b"{}")
    claude = load_assistant("claude-code")
    places = Places(dict(os.environ), home, home)
    desks = [
        connect.ConnectContext(
            places,
            Program(("/opt/ragmem",), (("RAGMEM_HOME", f"/homes/{n}"),)),
            home / f"state-{n}",
            "2026-01-01T00:00:00Z",
        )
        for n in range(3)
    ]

    def at_once(act):
        threads = [threading.Thread(target=act, args=(desk, claude, "user")) for desk in desks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    at_once(connect.connect)
    commands = [hook.command for hook in read_hooks(path.read_text()) if hook.call]
    assert len(set(commands)) == len(commands) == len(desks) * len(claude.hook_events())

    at_once(connect.disconnect)
    assert not [hook for hook in read_hooks(path.read_text()) if hook.call]


def test_a_project_is_written_to_only_when_asked_for(ragmem, home):
    before = tree(home / "work")
    for name in NAMES:
        ragmem("connect", name)
    assert tree(home / "work") == before
    ragmem("disconnect", "--all")

    told = ragmem("connect", "claude-code", "--scope", "project")

    assert "do not commit the file" in told.stderr
    added = set(tree(home / "work")) - set(before)
    assert added == {".claude", ".claude/settings.local.json", ".mcp.json"}
    assert not (home / FILES["claude-code"]).exists()


def test_all_is_taken_out_of_every_project(ragmem, home, monkeypatch):
    before = tree(home)
    ragmem("connect", "claude-code", "codex", "opencode")
    ragmem("connect", "cursor", "--scope", "project")
    monkeypatch.chdir(home)

    assert ragmem("disconnect", "--all").returncode == 0

    assert {path for path in tree(home) if not path.startswith(".local")} == set(before)


def test_all_says_so_where_nothing_is_connected(ragmem, home):
    assert ragmem("disconnect", "--all").stderr == "no assistant is connected\n"

    ragmem("connect", "codex")

    assert ragmem("disconnect", "--all", "--dry-run").stderr == ""


def test_the_list_tells_what_is_here_and_what_is_connected(ragmem, home):
    (home / ".codex").mkdir()
    put(home, "gemini", b"{")
    ragmem("connect", "claude-code")

    told = json.loads(ragmem("connect", "--json").stdout)
    shown = ragmem("connect")

    rows = {row["assistant"]: row for row in told["assistants"]}
    states = {name: row["connections"][0]["state"] for name, row in rows.items()}
    assert {name for name, row in rows.items() if row["found"]} == {"claude-code", "codex", "gemini"}
    assert (states["claude-code"], states["codex"], states["gemini"]) == ("connected", "no", "unreadable")
    assert ".gemini/settings.json:1:2: not valid JSON" in shown.stderr
    assert "hint: ragmem connect codex" in shown.stderr


def test_all_connects_what_is_here_and_goes_on_after_a_failure(ragmem, home):
    assert ragmem("connect", "--all").returncode == 1
    (home / ".codex").mkdir()
    put(home, "claude-code", b"{")

    told = ragmem("connect", "--all")

    assert told.returncode == 3
    assert "Claude Code: " in told.stderr
    assert (home / FILES["codex"]).is_file()
    assert not (home / FILES["gemini"]).exists()


@pytest.mark.parametrize(
    "arguments",
    [["connect", "vim"], ["connect", "--all", "codex"], ["disconnect"], ["disconnect", "--all", "codex"]],
)
def test_what_cannot_be_meant_is_refused(arguments, ragmem):
    assert ragmem(*arguments).returncode == 2


def test_the_home_is_no_project(ragmem, home, monkeypatch):
    monkeypatch.chdir(home)

    told = ragmem("connect", "gemini", "--scope", "project")

    assert (told.returncode, "not a project" in told.stderr) == (2, True)
    assert '"scope": "project"' not in ragmem("connect", "--json").stdout


def test_the_names_on_the_command_line_are_those_of_the_registry(ragmem):
    refused = ragmem("connect", "emacs")

    assert refused.returncode == 2
    assert all(name in refused.stderr for name in NAMES)


def test_places_follow_the_variables_of_each_assistant(ragmem, home, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "c"))
    monkeypatch.setenv("CODEX_HOME", str(home / "x"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(home / "g"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "o"))

    ragmem("connect", *NAMES)

    for path in ("c/settings.json", "x/hooks.json", "x/config.toml", "g/.gemini/settings.json"):
        assert (home / path).is_file()
    assert (home / "o/opencode/plugins/ragmem.js").is_file()


def test_time_outs_are_in_the_assistants_own_unit_and_longer_than_the_hooks(ragmem, home, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOOKS_QUERY_DEADLINE_S", "7.5")
    ragmem("connect", "claude-code", "codex", "cursor", "gemini")

    given = {
        name: {hook.timeout for hook in read_hooks((home / FILES[name]).read_text())}
        for name in ("claude-code", "codex", "cursor", "gemini")
    }
    # Codex gives a session's end 3 s and warns of more.
    assert given == {"claude-code": {10}, "codex": {3, 10}, "cursor": {10}, "gemini": {10_000}}


def test_the_command_that_is_written_reaches_the_home_from_anywhere(ragmem, home, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", "~/my mem'ory")
    ragmem("connect", "claude-code")
    (hook,) = [one for one in read_hooks((home / FILES["claude-code"]).read_text()) if one.event == "Stop"]

    stdin = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": "/", "transcript_path": "/none"})
    called = subprocess.run(
        ["/bin/sh", "-c", hook.command],
        input=stdin,
        capture_output=True,
        text=True,
        cwd="/",
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        check=False,
    )

    assert (called.returncode, called.stdout) == (0, "")
    assert "claude-code Stop s" in (home / "my mem'ory/state/hooks.log").read_text()


def test_folders_of_ones_own_go_along_with_the_command(ragmem, home, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/data/mine")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local/state"))

    ragmem("connect", "gemini")

    commands = [hook.command for hook in read_hooks((home / FILES["gemini"]).read_text())]
    assert all(command.startswith("XDG_DATA_HOME=/data/mine /") for command in commands)


@pytest.mark.parametrize(("name", "content"), list(SETTINGS.values())[:10], ids=list(SETTINGS)[:10])
def test_without_its_record_what_is_ours_is_found_by_what_it_says(name, content, ragmem, home):
    path = put(home, name, content)
    ragmem("connect", name)
    (state(home) / "connections.json").unlink()

    assert "already connected" in ragmem("connect", name).stdout
    (state(home) / "connections.json").unlink()
    assert "disconnected" in ragmem("disconnect", name).stdout

    left = [hook.command for hook in read_hooks(path.read_text())]
    assert left == [hook.command for hook in read_hooks(content.decode())]


def test_a_plugin_that_is_not_ours_or_was_changed_is_left_alone(ragmem, home):
    path = put(home, "opencode", b"export const Mine = 1\n")
    assert "was not written by ragmem" in ragmem("connect", "opencode").stderr
    path.unlink()
    ragmem("connect", "opencode")
    path.write_text(path.read_text() + "// mine\n")

    for command in ("connect", "disconnect"):
        told = ragmem(command, "opencode")
        assert (told.returncode, "was changed since ragmem wrote it" in told.stderr) == (2, True)
    assert path.read_text().endswith("// mine\n")


DRIVE = """
import { Ragmem } from "PLUGIN"
const hooks = await Ragmem({ directory: "/work" })
const said = []
const stored = []
const send = async (id, text) => {
  const output = { message: { id }, parts: [{ type: "text", text }] }
  await hooks["chat.message"]({ sessionID: "s1" }, output)
  stored.push(output.parts.length)
  const messages = [{ info: { id, sessionID: "s1", role: "user" }, parts: [...output.parts] }]
  await hooks["experimental.chat.messages.transform"]({}, { messages })
  await hooks["experimental.chat.messages.transform"]({}, { messages })
  said.push(messages[0].parts.slice(1).map((part) => part.text))
}
await send("m1", "first")
await send("m2", "second")
await hooks.event({ event: { type: "session.created", properties: { info: { id: "s2", parentID: "s1" } } } })
const child = { message: { id: "m" }, parts: [{ type: "text", text: "x" }] }
await hooks["chat.message"]({ sessionID: "s2" }, child)
const found = { title: "", output: "three lines" }
const call = { sessionID: "s1", callID: "c1", tool: "grep" }
await hooks["tool.execute.before"](call, { args: { pattern: "pool" } })
await hooks["tool.execute.after"](call, found)
const failed = { title: "", output: "no such file", metadata: { exit: 1 } }
const run = { sessionID: "s1", callID: "c2", tool: "bash", args: { command: "cat x" } }
await hooks["tool.execute.after"](run, failed)
const told = { said, stored, failed: failed.output, child: child.parts.length, found: found.output }
console.log(JSON.stringify(told))
"""


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.parametrize("present", [True, False], ids=["ragmem is there", "ragmem is gone"])
def test_the_plugin_puts_in_what_the_hooks_tell(present, tmp_path):
    program = tmp_path / "ragmem"
    if present:
        program.write_text(
            f"#!{sys.executable} -IS\nimport json, sys\ngiven = json.load(sys.stdin)\n"
            "text = ' '.join([sys.argv[2], sys.argv[4], given['session_id'], given['cwd'],"
            " str(given.get('prompt') or given.get('tool_input') or '')])\n"
            "print(json.dumps({'hookSpecificOutput': {'additionalContext': text}}))\n"
        )
        program.chmod(0o755)
    from ragmem.services.wiring.forms import write_plugin

    (tmp_path / "ragmem.mjs").write_text(write_plugin(load_assistant("opencode"), Program((str(program),))))
    (tmp_path / "drive.mjs").write_text(DRIVE.replace("PLUGIN", str(tmp_path / "ragmem.mjs")))

    driven = subprocess.run(
        [shutil.which("node"), tmp_path / "drive.mjs"], capture_output=True, text=True, check=False
    )

    assert driven.returncode == 0, driven.stderr
    told = json.loads(driven.stdout)
    assert told["child"] == 1
    if not present:
        silent = {"said": [[], []], "stored": [1, 1], "child": 1}
        assert told == {**silent, "found": "three lines", "failed": "no such file"}
        return
    start = "SessionStart opencode s1 /work "
    assert told["said"] == [
        [f"{start}\n\nUserPromptSubmit opencode s1 /work first"],
        ["UserPromptSubmit opencode s1 /work second"],
    ]
    assert told["stored"] == [1, 1], "the request for a title has the stored parts"
    assert told["failed"] == "no such file\n\nPostToolUse opencode s1 /work {'command': 'cat x'}"
    assert told["found"] == "three lines\n\nPreToolUse opencode s1 /work {'pattern': 'pool'}"


SERVERS = {
    "claude-code": (".claude.json", ".mcp.json"),
    "codex": (".codex/config.toml", ".codex/config.toml"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "opencode": (".config/opencode/opencode.json", "opencode.json"),
    "copilot": (".copilot/mcp-config.json", ".github/mcp.json"),
}


def server_of(path):
    text = path.read_text()
    document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return next(
        (document[name]["ragmem"] for name in ("mcpServers", "mcp_servers", "mcp") if name in document), None
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_mcp_server_is_named_where_the_assistant_looks_for_it(name, ragmem, home):
    user, project = SERVERS[name]

    ragmem("connect", name)
    ragmem("connect", name, "--scope", "project")

    for path in (home / user, home / "work" / project):
        entry = server_of(path)
        words = entry["command"] if name == "opencode" else [entry["command"], *entry["args"]]
        assert words[-1] == "mcp"
        assert subprocess.run([*words, "--help"], capture_output=True, check=True).stdout.startswith(b"Usage")


@pytest.mark.parametrize("name", NAMES)
def test_without_the_mcp_server_hooks_are_connected_alone(name, ragmem, home):
    assert ragmem("connect", name, "--no-mcp").returncode == 0

    path = home / SERVERS[name][0]
    assert not path.exists() or server_of(path) is None
    assert "connected (user)" in ragmem("connect").stdout
    assert ragmem("connect", name).returncode == 0
    assert server_of(path) is not None
    ragmem("connect", name, "--no-mcp")
    assert server_of(path) is not None
    assert ragmem("disconnect", name).returncode == 0
    assert not path.exists()


def test_settings_that_cannot_be_read_cost_the_server_and_not_the_hooks(ragmem, home):
    (home / ".claude.json").write_text('{"mcpServers": ')

    told = ragmem("connect", "claude-code")

    assert told.returncode == 0
    assert "the MCP server was not added to" in told.stderr
    assert (home / FILES["claude-code"]).is_file()
    assert (home / ".claude.json").read_text() == '{"mcpServers": '
    assert ragmem("disconnect", "claude-code").returncode == 0
    assert (home / ".claude.json").read_text() == '{"mcpServers": '


CLAUDES = {key: content for key, (name, content) in SETTINGS.items() if name == "claude-code"}


def handlers_of(path):
    """Return the types of our hooks by event, and fail where an event has more than one."""
    found = {}
    for hook in read_hooks(path.read_text("utf-8-sig")):
        if hook.call is not None:
            assert hook.event not in found
            found[hook.event] = hook.handler
    return found


@pytest.mark.parametrize("handlers", ["mcp", "http"])
@pytest.mark.parametrize("content", CLAUDES.values(), ids=CLAUDES)
def test_settings_are_what_they_were_after_each_handler(content, handlers, ragmem, home):
    path = put(home, "claude-code", content)
    before = tree(path.parent)

    for wanted in (handlers, "command", handlers):
        assert ragmem("connect", "claude-code", "--handlers", wanted).returncode == 0
        assert set(handlers_of(path).values()) == {"command", wanted}
    connected = path.read_bytes()
    again = ragmem("connect", "claude-code")

    assert "already connected" in again.stdout
    assert path.read_bytes() == connected
    assert ragmem("disconnect", "claude-code").returncode == 0
    assert tree(path.parent) == before
    assert not (home / ".claude.json").exists()


@pytest.mark.parametrize("handlers", ["mcp", "http"])
def test_without_its_record_each_handler_is_found_by_what_it_says(handlers, ragmem, home):
    path = put(home, "claude-code", CLAUDES["a long one of Claude Code with hooks of others"])
    before = json.loads(path.read_text())
    ragmem("connect", "claude-code", "--handlers", handlers)
    shutil.rmtree(state(home))

    assert ragmem("disconnect", "claude-code").returncode == 0
    assert json.loads(path.read_text()) == before


@pytest.mark.parametrize("handlers", ["mcp", "http"])
def test_what_begins_or_ends_a_session_stays_a_command(handlers, ragmem, home):
    ragmem("connect", "claude-code", "--handlers", handlers)

    found = handlers_of(home / FILES["claude-code"])
    assert list(found) == load_assistant("claude-code").hook_events()
    assert {event for event, handler in found.items() if handler == "command"} == {
        *("SessionStart", "SessionEnd", "Stop", "SubagentStop", "PreCompact", "PostCompact")
    }
    listed = json.loads(ragmem("connect", "--json").stdout)["assistants"][0]["connections"][0]
    assert (listed["state"], listed["handlers"]) == ("connected", handlers)
    assert f"connected (user, {handlers})" in ragmem("connect").stdout


def test_the_entries_of_each_handler_are_those_of_its_contract(ragmem, home, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", str(home / "my memory"))
    memory = shlex.quote(f"{home}/my memory")
    path = home / FILES["claude-code"]

    ragmem("connect", "claude-code", "--handlers", "mcp")
    group = json.loads(path.read_text())["hooks"]["PostToolUse"][0]
    assert group["matcher"].split("|") == list(load_assistant("claude-code").tools("PostToolUse"))
    assert group["hooks"] == [
        {
            "type": "mcp_tool",
            "server": "ragmem",
            "tool": "hook",
            "input": {
                "call": f"RAGMEM_HOME={memory} ragmem hook PostToolUse --for claude-code",
                "session_id": "${session_id}",
                "cwd": "${cwd}",
                "agent_id": "${agent_id}",
                "tool_name": "${tool_name}",
                "tool_input": "${tool_input}",
                "tool_response": {
                    "stdout": "${tool_response.stdout}",
                    "stderr": "${tool_response.stderr}",
                },
            },
            "timeout": 5,
        }
    ]
    monkeypatch.setenv("RAGMEM_SERVE_PORT", "9700")
    ragmem("connect", "claude-code", "--handlers", "http")
    (entry,) = json.loads(path.read_text())["hooks"]["UserPromptSubmit"][0]["hooks"]
    address, _, query = entry.pop("url").partition("?")
    assert address == "http://127.0.0.1:9700/v1/memory/hooks/claude-code/UserPromptSubmit"
    assert parse_qs(query) == {"RAGMEM_HOME": [f"{home}/my memory"]}
    assert entry == {
        "type": "http",
        "headers": {"Authorization": "Bearer $RAGMEM_TOKEN"},
        "allowedEnvVars": ["RAGMEM_TOKEN"],
        "timeout": 5,
    }


def test_a_dry_run_shows_the_handlers_and_writes_nothing(ragmem, home):
    before = tree(home)
    shown = ragmem("connect", "claude-code", "--handlers", "mcp", "--dry-run")
    assert '"type": "mcp_tool"' in shown.stdout
    assert tree(home) == before


def test_hooks_go_to_no_server_of_somebody_else(ragmem, home):
    theirs = '{"mcpServers": {"ragmem": {"command": "/opt/other", "args": []}}}'
    for content in (theirs, '{"mcpServers": '):
        (home / ".claude.json").write_text(content)

        told = ragmem("connect", "claude-code", "--handlers", "mcp")

        assert told.returncode == 2
        assert "no MCP server of this home" in told.stderr
        assert (home / ".claude.json").read_text() == content
        assert not (home / FILES["claude-code"]).exists()
    assert ragmem("connect", "claude-code", "--handlers", "mcp", "--no-mcp").returncode == 2


def test_hooks_reach_no_server_with_a_certificate(ragmem, home, monkeypatch):
    monkeypatch.setenv("RAGMEM_SERVE_TLS_CERT", "/a.pem")
    monkeypatch.setenv("RAGMEM_SERVE_TLS_KEY", "/a.key")
    told = ragmem("connect", "claude-code", "--handlers", "http")
    assert told.returncode == 2
    assert "cannot reach a server with TLS" in told.stderr


def test_other_assistants_stay_with_commands_and_are_told_so(ragmem, home):
    told = ragmem("connect", "gemini", "--handlers", "mcp")
    assert told.returncode == 0
    assert "Gemini CLI supports only command hooks" in told.stderr
    assert set(handlers_of(home / FILES["gemini"]).values()) == {"command"}


def test_two_homes_have_hooks_of_their_own_by_address(ragmem, home, monkeypatch):
    path = home / FILES["claude-code"]
    ragmem("connect", "claude-code", "--handlers", "http")
    one = path.read_bytes()
    monkeypatch.setenv("RAGMEM_HOME", str(home / "second"))

    assert ragmem("connect", "claude-code", "--handlers", "http", "--no-mcp").returncode == 0
    assert len(read_hooks(path.read_text())) == 24
    assert ragmem("disconnect", "claude-code").returncode == 0
    assert path.read_bytes() == one

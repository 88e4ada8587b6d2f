"""Try ragmem inside the real coding assistants, with a language model that answers by a script.

Usage: try_assistants.py [FOLDER] [--only NAME]... [--plugin] [--handlers mcp|http] [--keep]
                         [--markdown PAGE] [--record DIRECTORY]

Installs each assistant from the npm registry below FOLDER (by default a temporary one), and gives each an
empty home, a repository and a model on loopback. Four facts are stored before; `ragmem connect` writes its
settings; two sessions are held; `ragmem disconnect` ends it. With `--plugin` the assistants install the
plug-ins of this repository instead, by their own commands; a session is held with the plug-in alone, one
with `ragmem connect` beside it, and one where the program is missing. `--markdown` writes what happened into
a page, between its marks. `--record` writes the payloads of the hooks, without what is particular to this
machine, for the tests. FOLDER is left, and so is a temporary one with `--keep`; it holds what the models were
sent. Needs Node.js and an npm registry. Exit code 1: a check has failed.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scripted_model import Call, Model, Script

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ragmem.assistants import load_assistant  # noqa: E402 - the checkout's own
from ragmem.assistants.assistant import HOOK_SERVER, HOOK_TOOL  # noqa: E402

BEGIN, END = "<!-- BEGIN try_assistants -->", "<!-- END try_assistants -->"

INSTALL_S, SESSION_S, COMMAND_S, READ_S = 600, 120, 60, 40
"""Seconds that an installation, a session, a command, and the reading of a session may take."""

KEY = "no-key-is-needed"

AT_START = "Decision: the Larkspur gateway retries three times with a pause of 40 seconds."
WITH_PROMPT = "The Pelican importer takes CSV files with semicolons in them and a header row in capitals."
BY_TOOL = "Harbour cranes on the dashboard are drawn in the colour RAL 2004, which printers can reproduce."
AT_FAILURE = "`cat: no-such-file-7731: No such file or directory`: the fix is to run `make seeds` first."
LEARNT = "From now on the Larkspur gateway writes its log to /var/log/larkspur-gateway."
SUMMARY = (
    "The lighthouse lamp is driven by the tide table now, since the timer was wrong on 19 of 30 nights. "
    "The table is read from the calendar of the harbour once a day. Still open: what the lamp does on a day "
    "without a table, and who is told of it."
)
FIRST = "Which CSV files does the Pelican importer take? Look up the colour of harbour cranes as well."
SECOND = "Where does the Larkspur gateway write its log since the last session?"
QUESTION = "in which colour are harbour cranes drawn"
NOTE = "notes.md"
PATCH = f"*** Begin Patch\n*** Add File: {NOTE}\n+# Notes\n*** End Patch"
FAILS = "cat no-such-file-7731"
NOT_FOUND = "cat: no-such-file-7731: No such file or directory"
OURS = (
    *(AT_START, WITH_PROMPT, BY_TOOL, AT_FAILURE, LEARNT, SUMMARY, FIRST, SECOND, QUESTION),
    *(FAILS, NOT_FOUND),
)
"""Our texts, which may stand in what is written down."""

RECORDER = """\
#!{python}
import json, os, subprocess, sys, time
real = [{python!r}, "-m", "ragmem", *sys.argv[1:]]
os.environ["PYTHONPATH"] = {path!r}
if sys.argv[1:2] != ["hook"]:
    os.execv(real[0], real)
sent = sys.stdin.buffer.read()
at = time.time_ns()
done = subprocess.run(real, input=sent, stdout=subprocess.PIPE)
kept = {{"arguments": sys.argv[2:], "sent": sent.decode("utf-8", "replace"), "said": done.stdout.decode()}}
with open(os.path.join({folder!r}, f"{{at}}-{{os.getpid()}}.json"), "w") as file:
    json.dump(kept, file)
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
"""
"""A `ragmem` that keeps what hooks are sent and what they say."""


@dataclass(frozen=True)
class Program:
    """An assistant: its package, its settings before `connect`, and the command of a session."""

    name: str
    package: str
    command: str
    arguments: Sequence[str]
    """Of a session, before the prompt."""
    calls: Sequence[Call]
    """The tools that its model calls in the first session; `@PROJECT@` stands for the folder."""
    settings: Mapping[str, str]
    """A file below the home -> its text; `@ADDRESS@` stands for the model."""
    environ: Mapping[str, str] = field(default_factory=dict)
    later: Sequence[Sequence[str]] = ()
    """The arguments of further sessions, which are held for their hooks."""
    plugin: Sequence[Sequence[str]] = ()
    """Its commands that install our plug-in; `@ROOT@` stands for the repository."""
    switch: Sequence[Sequence[str]] = ()
    """Its commands that turn the plug-in off, and on again."""
    plugin_tool: str = ""
    """The name of our tool to search, where the plug-in brings it."""


PROGRAMS = (
    Program(
        "claude-code",
        "@anthropic-ai/claude-code",
        "claude",
        ("--allowedTools", "mcp__ragmem__search,Write,Bash", "-p"),
        (
            ("mcp__ragmem__search", {"query": QUESTION}),
            ("Write", {"file_path": f"@PROJECT@/{NOTE}", "content": "# Notes\n"}),
            ("Bash", {"command": FAILS, "description": "Show a file"}),
        ),
        {
            ".claude/commands/look.md": "Look $ARGUMENTS.\n",
            ".claude/settings.json": '{"cleanupPeriodDays": 90,\n\t"includeCoAuthoredBy": false }',
        },
        {
            "ANTHROPIC_BASE_URL": "@ADDRESS@",
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # Offers the tools of servers at once, without a search for them.
            "ENABLE_TOOL_SEARCH": "false",
        },
        (
            ("-p", f"/look {FIRST}"),
            ("--continue", "-p", "/compact"),
            ("--continue", "--fork-session", "-p", SECOND),
        ),
        (
            ("plugin", "marketplace", "add", "@ROOT@"),
            ("plugin", "install", "ragmem@ragmem"),
        ),
        (("plugin", "disable", "ragmem@ragmem"), ("plugin", "enable", "ragmem@ragmem")),
        "mcp__plugin_ragmem_ragmem__search",
    ),
    Program(
        "codex",
        "@openai/codex",
        "codex",
        ("exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"),
        (
            ("mcp__ragmem__search", {"query": QUESTION}),
            ("apply_patch", {"input": PATCH}),
            ("exec_command", {"cmd": FAILS}),
        ),
        {
            ".codex/config.toml": (
                '# Mine.\nmodel = "gpt-5.5"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n'
                'name = "scripted"\nbase_url = "@ADDRESS@/v1"\nwire_api = "responses"\n'
                'env_key = "SCRIPTED_KEY"\n'
            )
        },
        {"SCRIPTED_KEY": KEY},
        (),
        (
            ("plugin", "marketplace", "add", "@ROOT@"),
            ("plugin", "add", "ragmem@ragmem"),
        ),
        (("plugin", "remove", "ragmem@ragmem"), ("plugin", "add", "ragmem@ragmem")),
        "mcp__ragmem__search",
    ),
    Program(
        "gemini",
        "@google/gemini-cli",
        "gemini",
        ("--yolo", "-m", "gemini-2.5-pro", "-p"),
        (
            ("mcp_ragmem_search", {"query": QUESTION}),
            ("write_file", {"file_path": f"@PROJECT@/{NOTE}", "content": "# Notes\n"}),
            ("run_shell_command", {"command": FAILS}),
        ),
        {
            ".gemini/settings.json": (
                '{\n  // Mine.\n  "security": { "auth": { "selectedType": "gemini-api-key" } },\n'
                '  "privacy": { "usageStatisticsEnabled": false }\n}\n'
            )
        },
        {
            "GOOGLE_GEMINI_BASE_URL": "@ADDRESS@",
            "GEMINI_API_KEY": KEY,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        },
        (),
        (("extensions", "install", "@ROOT@/plugins/gemini", "--consent"),),
        (("extensions", "disable", "ragmem"), ("extensions", "enable", "ragmem")),
        "mcp_ragmem_search",
    ),
    Program(
        "opencode",
        "opencode-ai",
        "opencode",
        ("run",),
        (
            ("ragmem_search", {"query": QUESTION}),
            ("write", {"filePath": f"@PROJECT@/{NOTE}", "content": "# Notes\n"}),
            ("bash", {"command": FAILS, "description": "Show a file"}),
        ),
        {
            ".config/opencode/opencode.json": (
                '{\n  "model": "scripted/model", "autoupdate": false,\n  "provider": {"scripted": {\n'
                '    "npm": "@ai-sdk/openai-compatible",\n    "models": {"model": {}},\n'
                '    "options": {"baseURL": "@ADDRESS@/v1", "apiKey": "none"}}}\n}\n'
            )
        },
        {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    ),
    Program(
        "copilot",
        "@github/copilot",
        "copilot",
        ("--allow-all-tools", "--allow-all-paths", "-p"),
        (
            ("ragmem-search", {"query": QUESTION}),
            ("create", {"path": f"@PROJECT@/{NOTE}", "file_text": "# Notes\n"}),
            ("bash", {"command": FAILS, "description": "Show a file"}),
        ),
        {".copilot/mcp-config.json": '{"mcpServers": { } }'},
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": "@ADDRESS@/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "gpt-5.1",
        },
    ),
)


@dataclass
class Trial:
    """What one assistant did: its version, the checks, and the calls of hooks."""

    program: Program
    folder: Path
    handlers: str = ""
    """What hooks within a session are; empty: commands."""
    version: str = ""
    checks: list[tuple[str, bool, str]] = field(default_factory=list)
    """What is checked, whether it holds, and what was seen."""
    hooks: list[dict[str, Any]] = field(default_factory=list)

    def check(self, what: str, holds: bool, seen: str = "") -> None:  # noqa: FBT001 - a fact
        """Note a check and print it."""
        self.checks.append((what, holds, seen))
        print(f"{self.program.name}: {'ok  ' if holds else 'FAIL'} {what}{seen and f' ({seen})'}", flush=True)


def main(words: Sequence[str]) -> int:
    """Try the assistants; return 1 if a check has failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--only", action="append", choices=[one.name for one in PROGRAMS], metavar="NAME")
    parser.add_argument("--plugin", action="store_true", help="install the plug-ins instead of connecting")
    parser.add_argument("--handlers", choices=("mcp", "http"), help="what hooks within a session are")
    parser.add_argument("--keep", action="store_true", help="leave the temporary folder")
    parser.add_argument("--markdown", type=Path, metavar="PAGE")
    parser.add_argument("--record", type=Path, metavar="DIRECTORY")
    given = parser.parse_args(words)
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="try-assistants-"))).resolve()
    trials = []
    try:
        for program in PROGRAMS:
            fits = program.plugin or not given.plugin
            fits = fits and (not given.handlers or given.handlers in load_assistant(program.name).handlers)
            if fits and (not given.only or program.name in given.only):
                trial = Trial(program, folder / program.name, handlers=given.handlers or "")
                trials.append(trial)
                try:
                    _try(trial, _plugin_sessions if given.plugin else _sessions)
                except (OSError, subprocess.SubprocessError, LookupError, ValueError) as error:
                    trial.check("it runs to the end", False, f"{type(error).__name__}: {error}"[:300])
                if given.record:
                    _record(trial, given.record)
    finally:
        if not given.keep and given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    table = _table(trials)
    print("\n" + table)
    if given.markdown:
        page = given.markdown.read_text(encoding="utf-8")
        before, mark, rest = page.partition(BEGIN)
        if not mark:
            parser.error(f"{given.markdown} has no line {BEGIN}")
        text = f"{table}\n\n{_calls(trials)}"
        given.markdown.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return int(any(not holds for trial in trials for _, holds, _ in trial.checks))


Hold = Callable[["Trial", str, list[str], dict[str, str], Script], None]


def _try(trial: Trial, hold: Hold) -> None:
    program, folder = trial.program, trial.folder
    command = _install(trial)
    for name in ("home", "project", "hooks", "bin", "work"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    script = Script()
    with Model(script) as model:
        home, project = folder / "home", folder / "project"
        marks = {"@ADDRESS@": model.address, "@PROJECT@": str(project)}
        for name, text in program.settings.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(text, marks), encoding="utf-8")
        environ = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "RAGMEM_HOME": str(folder / "work" / "ragmem"),
            **{name: _filled(value, marks) for name, value in program.environ.items()},
        }
        _run(["git", "init", "--quiet"], project, environ, COMMAND_S)
        ragmem = _recorder(folder)
        try:
            with _served(trial, ragmem, environ):
                hold(trial, command, ragmem, environ, script)
        finally:
            (folder / "requests.json").write_text(json.dumps(script.requests), encoding="utf-8")
            with suppress(subprocess.SubprocessError, OSError):
                _run([*ragmem, "warm", "stop"], project, environ, COMMAND_S)


@contextmanager
def _served(trial: Trial, ragmem: list[str], environ: dict[str, str]) -> Iterator[None]:
    """Let `ragmem serve` run for hooks that are requests, with its token in the assistant's environment."""
    if trial.handlers != "http":
        yield
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        environ["RAGMEM_SERVE_PORT"] = str(free.getsockname()[1])
    project = trial.folder / "project"
    environ["RAGMEM_TOKEN"] = _run([*ragmem, "serve", "--print-token"], project, environ, COMMAND_S).strip()
    server = subprocess.Popen([*ragmem, "serve", "--quiet"], cwd=project, env=environ)
    try:
        yield
    finally:
        server.terminate()
        server.wait(COMMAND_S)


def _sessions(trial: Trial, command: str, ragmem: list[str], environ: dict[str, str], script: Script) -> None:
    program, project, home = trial.program, trial.folder / "project", trial.folder / "home"

    def call(*words: str, text: str = "") -> str:
        return _run([*ragmem, *words], project, environ, COMMAND_S, text=text, codes=(0, 1))

    for fact in (AT_START, WITH_PROMPT, BY_TOOL, AT_FAILURE):
        made = call("ingest", "-", text=fact).split()[0]
        if fact == AT_START:
            call("pin", made)
    trial.check("the warm process is running", _until(lambda: _is_warm(trial, call), READ_S))
    before = _files(home)
    call("connect", program.name, *(["--handlers", trial.handlers] if trial.handlers else []))
    connected = _files(home)
    written = [path for path, content in connected.items() if before.get(path) != content]
    trial.check("connect writes its settings", bool(written), ", ".join(_tilde(written, home)))

    script.says = LEARNT
    marks = {"@PROJECT@": str(project)}
    script.calls = [(name, json.loads(_filled(json.dumps(given), marks))) for name, given in program.calls]
    first = _session(trial, command, FIRST, environ, script)
    began, asked = _told(trial, "start", AT_START), _told(trial, "prompt", WITH_PROMPT)
    trial.check("context at session start", _is_sent(AT_START, first) and bool(began), began)
    trial.check("context with a prompt", _is_sent(WITH_PROMPT, first) and bool(asked), asked)
    unasked = _is_sent(BY_TOOL, first[:1])
    trial.check("the model's tool call reached ragmem", _is_sent(BY_TOOL, first) and not unasked)
    _check_tools(trial, first)
    failed = _told(trial, "tool-failure", AT_FAILURE) or _told(trial, "after-tool", AT_FAILURE)
    trial.check("the known fix after a failed command", _is_sent(AT_FAILURE, first) and bool(failed), failed)
    bare = [
        body for path, body in first if not re.search(r'"tools":\s*\[\s*\{', body) and "count" not in path
    ]
    if bare:
        trial.check("no context for a request without tools, such as a title", not any(map(_of_ragmem, bare)))

    found = _until(lambda: LEARNT in call("query", "--json", "where does Larkspur write its log"), READ_S)
    trial.check("the session was stored", found)

    script.calls = ()
    second = _session(trial, command, SECOND, environ, script)
    later = [moment for moment in ("start", "prompt") if _told(trial, moment, LEARNT)]
    trial.check("the next session gets its memory", _is_sent(LEARNT, second), ", ".join(later))

    script.says = SUMMARY
    for arguments in program.later:
        _run([command, *arguments], project, environ, SESSION_S)
    _read_hooks(trial)
    if program.later:
        question = "session summary: what drives the lighthouse lamp"
        found = _until(lambda: "Session summary: " in call("query", "--json", question), READ_S)
        trial.check("the model's summary of a compaction was stored", found)
    rewritten = [path for path in written if path.exists() and path.read_bytes() != connected[path]]
    call("disconnect", program.name)
    after = _files(home)
    kept = [path for path in written if path not in rewritten and after.get(path) != before.get(path)]
    # What the assistant has written anew meanwhile is not what it was: there the pair must change nothing.
    call("connect", program.name, *(["--handlers", trial.handlers] if trial.handlers else []))
    call("disconnect", program.name)
    kept += [path for path in rewritten if _files(home).get(path) != after.get(path)]
    told = f"{', '.join(_tilde(rewritten, home))} had been rewritten by the assistant" if rewritten else ""
    trial.check("disconnect leaves the settings byte for byte", not kept, told)
    left = [path for path in written if b"ragmem" in after.get(path, b"")]
    trial.check("no entries of ragmem remain", not left, ", ".join(_tilde(left, home)))


def _check_tools(trial: Trial, requests: Sequence[tuple[str, str]]) -> None:
    """Check that a model is offered our tools, but for the one of hooks."""
    if trial.handlers:
        sent = "".join(body for _, body in requests)
        offered = re.findall(rf'"mcp__{HOOK_SERVER}__(\w+)"', sent)
        trial.check("no model is offered the tool for hooks", bool(offered) and HOOK_TOOL not in offered)


def _plugin_sessions(
    trial: Trial, command: str, ragmem: list[str], environ: dict[str, str], script: Script
) -> None:
    """Hold a session with the plug-in alone, one beside `connect`, and one without the program."""
    program, project = trial.program, trial.folder / "project"
    bare = dict(environ)
    environ = {**environ, "PATH": f"{trial.folder / 'bin'}{os.pathsep}{environ['PATH']}"}

    def call(*words: str, text: str = "") -> str:
        return _run([*ragmem, *words], project, environ, COMMAND_S, text=text, codes=(0, 1))

    def tell(words: Sequence[str]) -> None:
        filled = [_filled(word, {"@ROOT@": str(ROOT)}) for word in words]
        _run([command, *filled], project, environ, SESSION_S, text="y\n")

    for fact in (AT_START, WITH_PROMPT, BY_TOOL):
        made = call("ingest", "-", text=fact).split()[0]
        if fact == AT_START:
            call("pin", made)
    trial.check("the warm process is running", _until(lambda: _is_warm(trial, call), READ_S))
    for words in program.plugin:
        tell(words)
    said = call("connect", program.name)
    trial.check("connect notices the plug-in", "plug-in" in said, said.strip())

    script.says = LEARNT
    script.calls = [(program.plugin_tool, {"query": QUESTION})]
    arguments = [word.replace("mcp__ragmem__search", program.plugin_tool) for word in program.arguments]
    held = replace(trial, program=replace(program, arguments=arguments))
    first = _session(held, command, FIRST, environ, script)
    trial.hooks, called = held.hooks, {tuple(one["arguments"][1:]) for one in held.hooks}
    via = ("--for", program.name, "--via", "plugin")
    trial.check("its hooks are called", via in called, ", ".join(dict.fromkeys(_events(trial.hooks))))
    began, asked = _told(trial, "start", AT_START), _told(trial, "prompt", WITH_PROMPT)
    trial.check("context at session start", _is_sent(AT_START, first) and bool(began), began)
    trial.check("context with a prompt", _is_sent(WITH_PROMPT, first) and bool(asked), asked)
    trial.check("the model's tool call reached ragmem", _is_sent(BY_TOOL, first))

    off, on = program.switch
    tell(off)
    call("connect", program.name)
    tell(on)
    before = len(trial.hooks)
    script.calls = ()
    _session(held, command, SECOND, environ, script)
    both = held.hooks[before:]
    speaks = [one for one in both if one["said"].strip() and "--via" in one["arguments"]]
    silent = any("--via" in one["arguments"] for one in both) and not speaks
    ours = any("<ragmem-memory>" in _plain(one["said"]) for one in both if "--via" not in one["arguments"])
    trial.check("beside connect's hooks those of the plug-in are silent", silent and ours)
    call("disconnect", program.name)

    # The program is nowhere: not on the PATH, nor where installers put it.
    missing = _session(held, command, FIRST, bare, script)
    trial.check("without the program a session is as it would be", _is_sent(FIRST, missing))


def _events(hooks: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one["arguments"][0] for one in hooks]


def _is_warm(trial: Trial, call: Callable[..., str]) -> bool:
    """Ask as a hook does, which has the model loaded, and return whether the warm process has answered."""
    prompt = {"session_id": "warm-up", "cwd": str(trial.folder / "project"), "prompt": QUESTION}
    call("hook", "UserPromptSubmit", text=json.dumps(prompt))
    return "[warm]" in (trial.folder / "work/ragmem/state/hooks.log").read_text(encoding="utf-8")


def _install(trial: Trial) -> str:
    """Install the newest version; return the path of its command."""
    program, folder = trial.program, trial.folder / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    environ = dict(os.environ)
    # A version is named, since npm would choose an older one where Node.js is not the newest.
    newest = _run(["npm", "view", program.package, "version"], folder, environ, INSTALL_S).strip()
    command = folder / "node_modules" / ".bin" / program.command
    options = ("--no-audit", "--no-fund", "--prefix", str(folder))
    _run(["npm", "install", *options, f"{program.package}@{newest}"], folder, environ, INSTALL_S)
    said = _run([str(command), "--version"], folder, {**environ, "HOME": str(folder)}, COMMAND_S)
    found = re.search(r"\d+\.\d+[\w.-]*", said)
    trial.version = found[0].rstrip(".") if found else newest
    return str(command)


def _recorder(folder: Path) -> list[str]:
    """Return the words of a ragmem that keeps the calls of hooks. `connect` writes its path into settings."""
    path = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    inside = folder / "bin"
    shell = inside / "ragmem"
    text = RECORDER.format(python=sys.executable, path=path, folder=str(folder / "hooks"))
    shell.write_text(text, encoding="utf-8")
    shell.chmod(0o755)
    # `connect` looks for the command beside its Python.
    python = inside / "python"
    python.symlink_to(sys.executable)
    return ["env", f"PYTHONPATH={path}", str(python), "-m", "ragmem"]


def _session(
    trial: Trial, command: str, prompt: str, environ: dict[str, str], script: Script
) -> list[tuple[str, str]]:
    """Hold a session and return the requests that the model was sent in it."""
    begin = len(script.requests)
    project = trial.folder / "project"
    _run([command, *trial.program.arguments, prompt], project, environ, SESSION_S)
    _read_hooks(trial)
    return script.requests[begin:]


def _read_hooks(trial: Trial) -> None:
    calls = sorted((trial.folder / "hooks").iterdir())
    trial.hooks = [json.loads(path.read_text(encoding="utf-8")) for path in calls]


def _told(trial: Trial, moment: str, fact: str) -> str:
    """Return the event of this meaning whose hook told a fact; empty if none did."""
    assistant = load_assistant(trial.program.name)
    for one in trial.hooks:
        event = assistant.find_event(one["arguments"][0])
        if assistant.meaning(event) == moment and fact in _plain(one["said"]):
            return event
    # Other hooks than commands are known by the log, and what they say by what the model was sent.
    log = trial.folder / "work/ragmem/state/hooks.log"
    for line in log.read_text(encoding="utf-8").splitlines() if trial.handlers else ():
        event = line.split()[2]
        if assistant.meaning(event) == moment and " told " in line:
            return f"{event}, {trial.handlers}"
    return ""


def _plain(text: str) -> str:
    r"""Return JSON's text with its escapes of lines, slashes and letters undone, however deep they are."""
    for escaped, letter in (("\\u003c", "<"), ("\\u003e", ">"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(escaped, letter)
    return re.sub(r"\\+([n\"/])", lambda found: "\n" if found[1] == "n" else found[1], text)


def _is_sent(fact: str, requests: Sequence[tuple[str, str]]) -> bool:
    return any(fact in _plain(body) for _, body in requests)


def _of_ragmem(body: str) -> bool:
    return "<ragmem-memory>" in _plain(body)


def _until(holds: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def _run(
    words: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    seconds: float,
    *,
    text: str = "",
    codes: Sequence[int] = (0,),
) -> str:
    """Run a command and return its output; raises ValueError for another exit code, or TimeoutExpired.

    A command that takes too long is killed with everything that it has started.
    """
    process = subprocess.Popen(
        list(words),
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, problem = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        raise
    if process.returncode not in codes:
        told = (problem.strip() or said.strip())[-600:]
        raise ValueError(f"{' '.join(words[-4:])[:120]}: exit code {process.returncode}: {told}")
    return said


def _files(home: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and not path.is_symlink()}


def _tilde(paths: Sequence[Path], home: Path) -> list[str]:
    return [f"~/{path.relative_to(home)}" for path in sorted(paths)]


def _filled(text: str, marks: Mapping[str, str]) -> str:
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def _table(trials: Sequence[Trial]) -> str:
    """Return the checks of all assistants as a table in Markdown."""
    names = list(dict.fromkeys(what for trial in trials for what, _, _ in trial.checks))
    lines = ["| | " + " | ".join(f"{_title(trial)} {trial.version}" for trial in trials) + " |"]
    lines.append("| --- |" + " --- |" * len(trials))
    for name in names:
        found = [next((holds for what, holds, _ in trial.checks if what == name), None) for trial in trials]
        cells = ("" if holds is None else "yes" if holds else "**no**" for holds in found)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _calls(trials: Sequence[Trial]) -> str:
    """Return which hooks each assistant called, one item each."""
    lines = []
    for trial in trials:
        events = dict.fromkeys(one["arguments"][0] for one in trial.hooks)
        lines.append(f"- {_title(trial)} called {', '.join(f'`{one}`' for one in events)}")
    return "\n".join(lines)


def _title(trial: Trial) -> str:
    return load_assistant(trial.program.name).title


def _record(trial: Trial, folder: Path) -> None:
    """Write the payloads of each event and tool once, with our own texts and the protocol's names alone."""
    project = str(trial.folder / "project")
    slug = re.sub(r"[^A-Za-z0-9]", "-", project)
    marks = {project: "@PROJECT@", slug: "@SLUG@", str(trial.folder / "home"): "@HOME@"}
    found: dict[str, dict[str, Any]] = {}
    for one in trial.hooks:
        payload = json.loads(one["sent"])
        key = f"{one['arguments'][0]} {payload.get('tool_name', '')} {payload.get('source', '')}"
        neutral = _neutral(payload, marks)
        found.setdefault(key, {"event": one["arguments"][0], "payload": neutral})
    record = {"assistant": trial.program.name, "version": trial.version, "calls": list(found.values())}
    path = folder / f"{trial.program.name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


KEPT = (
    *("hook_event_name", "source", "reason", "trigger", "tool_name", "permission_mode", "agent_type"),
    *("exit_code", "expansion_type"),
)
"""Fields of a payload whose values belong to the protocol."""


def _neutral(value: Any, marks: Mapping[str, str], name: str = "") -> Any:
    """Return a value of a payload without what belongs to this machine or to the assistant's maker."""
    if isinstance(value, dict):
        return {key: _neutral(inner, marks, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_neutral(inner, marks, name) for inner in value[:2]]
    if not isinstance(value, str):
        return 0 if type(value) in (int, float) and name not in KEPT else value
    text = _filled(value, marks)
    if name.endswith("_id"):
        text = f"{name.upper()}-1"
    elif text.startswith("@") and name.endswith(("cwd", "path", "directory")):
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{20,}", "SESSION_ID-1", text)
    else:
        text = _neutral_text(text, name)
    return text


def _neutral_text(text: str, name: str) -> str:
    told, mark, rest = text.partition("</hook_context>")
    if mark and told.startswith("<hook_context>"):
        return f"<hook_context>text{mark}\n\n{_neutral_text(rest.strip(), name)}"
    ours = next((one for one in OURS if one in text), "") or text * (text in _given_values())
    return text if name in KEPT or not text else ours or "text"


def _given_values() -> list[str]:
    calls = [given for program in PROGRAMS for _, given in program.calls]
    return [value for given in calls for value in given.values()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

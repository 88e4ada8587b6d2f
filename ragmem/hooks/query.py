"""The question of an event, from its prompt, its tool or its error, or the reason why there is none."""

import time

from ragmem.assistants.assistant import AFTER_TOOL, PROMPT, START, SUBAGENT_START, TOOL_FAILURE
from ragmem.hooks.event import read_files, tool_input, written_files
from ragmem.json_text import text_of

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ragmem.hooks.event import HookEvent

HEAD, TAIL = 12_000, 4_000
"""Characters of a long prompt that are asked: its beginning and its end, without the middle."""

FAILURE_HEAD, FAILURE_TAIL = 4_000, 12_000
"""Characters of a failed command's output that are asked: its end tells most."""

CODE_REACH = 400
"""Characters at both ends of a result in which its exit code may stand."""

SHORTEST_PATTERN = 4
"""Minimum number of letters of a question."""

WRITTEN_WITHIN_S, PAUSE_S = 0.1, 0.02
"""Seconds to wait for the task of a subagent in the transcript, and between two looks.

Claude Code 2.1.332 writes it up to 40 ms after the event, which a process that stays gets at once.
"""

MOST_FILES = 8
"""Files of one patch that are asked about."""

OURS = "ragmem"

_CONTEXT = ("<hook_context>", "</hook_context>")

FORK = "fork"
"""The source of a start that repeats another session, with what that was told."""

_PEOPLE = ("", "user", "sdk")
"""Sources of a prompt that stand for a person; others are wake-ups and messages of the assistant."""

_OWN_WORDS = ("<task-notification", "<local-command", "<command-", "<system-reminder")
"""Beginnings of prompts that an assistant writes itself."""

_MOMENTS = ("file", "command", "failure", "subagent")
"""The moments of need. A subagent is told at these as well; the session that started it is told the rest."""

_FAILURE_SIGNS = (
    *("Traceback (most recent call last)", "FAILED", "FAIL:", "fatal:", "panic:", "panicked at", "npm ERR!"),
    *("error:", "Error:", "ERROR", "error[", "rror TS", "Exception", "ERR_", "command not found"),
    *("No such file or directory", "segmentation fault", "Segmentation fault"),
)
"""Parts of the output of a command that tell of a failure, also where its exit code does not."""

READERS = frozenset("awk bat cat cd egrep fgrep find grep head jq less ls nl pwd rg sed tree wc".split())
"""The programs that show texts of others, where an error is none of the command; logs are read by `tail`."""

PROGRAMS = frozenset(
    (
        "alembic ansible-playbook bin/rails black buf bun bundle cap cargo cdk clang-format composer"
        " conda dart deno diesel docker dotnet fastlane firebase flutter fly flyway gem gh git glab go"
        " gofmt goreleaser gradle helm jest jupyter kamal knex kubectl liquibase make mamba manage.py mix"
        " mvn mysql netlify nox npm npx php phpunit pip pip3 pipenv pnpm poetry prettier prisma protoc"
        " psql pulumi py.test pytest python rails rake rspec ruff rustfmt serverless sls sqlite3 sqlx"
        " terraform terragrunt tofu tox twine uv vercel vitest wrangler yarn"
    ).split()
)
"""The programs of which rules in scope know what they do: those of rule_topics.tsv."""

_CODES = ("exit_code", "exitCode", "returnCode", "code")
_TEXTS = (
    "stderr",
    "stdout",
    "output",
    "aggregated_output",
    "llmContent",
    "text_result_for_llm",
    "content",
    "text",
    "message",
    "error",
)
_INNER = ("metadata", "error")


def request(
    happening: "HookEvent", *, max_chars: int, research: bool, moments: bool = True
) -> "dict[str, Any]":
    """Return the request to the memory, or only the field `reason` if there is no question."""
    event, prompt, reason = _question(happening, research=research)
    if reason:
        return {"reason": reason}
    if event in _MOMENTS and not moments:
        return {"reason": "[hooks] moments is off"}
    if happening.is_within_agent and event not in _MOMENTS:
        return {"reason": "nothing is injected into a subagent at this event"}
    if not happening.session:
        return {"reason": "the session id is missing"}
    return {
        "op": "context",
        "event": event,
        "assistant": happening.assistant.name,
        "session": happening.session,
        "agent": happening.agent,
        "cwd": happening.cwd,
        "prompt": prompt,
        "again": happening.is_again,
        "max_chars": max_chars,
    }


def _question(happening: "HookEvent", *, research: bool) -> tuple[str, str, str]:
    """Return the event's name for the memory, the question, and the reason if there is none."""
    source = _text(happening.fields, "source")
    if happening.what == START:
        return "start", "", "a fork already has the context of its session" if source == FORK else ""
    if happening.what == PROMPT:
        # The arguments of a command say what it is about.
        name = "command_args" if "command_args" in happening.fields else "prompt"
        prompt = _without_context(_text(happening.fields, name))
        reason = why_no_question(prompt) if source in _PEOPLE else "the prompt is the assistant's own"
        return "prompt", _shorten(prompt), reason
    if happening.what == SUBAGENT_START:
        task = _task(happening)
        return "subagent", _shorten(task), "" if task else "the subagent's task is unknown"
    return _tool_question(happening, research=research)


def _tool_question(happening: "HookEvent", *, research: bool) -> tuple[str, str, str]:
    if happening.tool not in happening.assistant.tools(happening.event):
        return "", "", "ragmem does not handle this tool"
    if happening.what == TOOL_FAILURE or (
        happening.what == AFTER_TOOL and happening.tool in happening.assistant.commands
    ):
        return _failure(happening)
    if happening.tool in happening.assistant.commands and happening.tool not in happening.assistant.edits:
        return _command(happening)
    if happening.tool not in happening.assistant.questions:
        late = happening.what == AFTER_TOOL and happening.assistant.is_told_before_tools
        paths = read_files(happening) if late else written_files(happening) or read_files(happening)
        return "file", "\n".join(paths[:MOST_FILES]), "" if paths else "the tool names no file"
    if not research:
        return "", "", "no research"
    return _research(happening)


def _research(happening: "HookEvent") -> tuple[str, str, str]:
    names = happening.assistant.questions[happening.tool]
    given = tool_input(happening)
    if OURS in happening.tool.lower() or _is_about_us(given):
        return "", "", "it concerns ragmem itself"
    question = " ".join(_question_part(name, _text(given, name)) for name in names).strip()
    if len([letter for letter in question if letter.isalpha()]) < SHORTEST_PATTERN:
        return "", "", "the question is too short"
    return "research", _shorten(question), ""


def _command(happening: "HookEvent") -> tuple[str, str, str]:
    """Return a command line that is about to run, if rules can apply to any of its programs."""
    line = _command_line(happening)
    words = line.replace("(", " ").replace("&", " ").replace(";", " ").replace("|", " ").split()
    if OURS in line.lower() or not any(word.rpartition("/")[2] in PROGRAMS for word in words):
        return "", "", "no rule can apply to this command"
    return "command", _shorten(line, HEAD, 0), ""


def _command_line(happening: "HookEvent") -> str:
    given, names = tool_input(happening), happening.assistant.commands[happening.tool]
    for name in names:
        if isinstance(listed := given.get(name), list):
            return " ".join(part for part in listed if isinstance(part, str))
    return text_of(given, *names)


def _only_shows(line: str, output: str) -> bool:
    """Return whether all programs of a command line only show texts, and none reports an error."""
    parts = [part.split() for part in line.replace("&", ";").replace("|", ";").split(";") if part.strip()]
    programs = {part[0] for part in parts}
    return (
        bool(parts) and programs <= READERS and not any(f"{name}: " in output for name in (*programs, "sh"))
    )


def _failure(happening: "HookEvent") -> tuple[str, str, str]:
    """Return the output of a command that failed; a person's interruption is no failure."""
    fields = happening.fields
    if fields.get("is_interrupt") is True:
        return "", "", "a person stopped it"
    command = text_of(tool_input(happening), *happening.assistant.commands.get(happening.tool, ()))
    if OURS in command.lower():
        return "", "", "it concerns ragmem itself"
    said = text_of(fields, *happening.assistant.error_fields)
    failed = happening.what == TOOL_FAILURE
    for name in happening.assistant.result_fields:
        text, code = _result(fields.get(name))
        said = f"{said}\n{text}".strip()
        failed = failed or code
    shown = not failed and _only_shows(_command_line(happening), said)
    if not said or not (failed or (not shown and any(sign in said for sign in _FAILURE_SIGNS))):
        return "", "", "nothing failed"
    return "failure", _shorten(said, FAILURE_HEAD, FAILURE_TAIL), ""


def _result(value: "Any") -> tuple[str, bool]:
    """Return the text of a tool's result, and whether its exit code tells of a failure."""
    if isinstance(value, str):
        return value, _names_exit_code(value)
    if isinstance(value, list):
        parts = [_result(item) for item in value]
        return "\n".join(text for text, _ in parts if text), any(failed for _, failed in parts)
    if not isinstance(value, dict):
        return "", False
    parts = [_result(value.get(name)) for name in _TEXTS]
    inner = [_result(each) for name in _INNER if isinstance(each := value.get(name), dict)]
    codes = [code for name in _CODES if isinstance(code := value.get(name), int)]
    failed = any(codes) or value.get("is_error") is True or any(each for _, each in (*parts, *inner))
    return "\n".join(text for text, _ in parts if text), failed


def _names_exit_code(text: str) -> bool:
    """Return whether a result says near one of its ends that the command ended with another code than 0."""
    for part in (text[:CODE_REACH].lower(), text[-CODE_REACH:].lower()):
        code = (part.partition("exit code")[2] or part.partition("exited with code")[2]).lstrip(": ")
        digits = code[: len(code) - len(code.lstrip("0123456789"))]
        if digits.strip("0"):
            return True
    return False


def _task(happening: "HookEvent") -> str:
    """Return the task of a starting subagent, from the event, else from the transcript."""
    told = text_of(happening.fields, *happening.assistant.task_fields)
    if told or not happening.transcript:
        return told
    from ragmem.hooks.task import last_task

    kind = text_of(happening.fields, "agent_type")
    tools, agent = happening.assistant.tasks, happening.agent
    until = time.monotonic() + WRITTEN_WITHIN_S
    while not (task := last_task(happening.transcript, tools, kind=kind, agent=agent)):
        if time.monotonic() >= until:
            return ""
        time.sleep(PAUSE_S)
    return task


def _without_context(prompt: str) -> str:
    """Return a prompt without the context of the start, which Gemini CLI puts before the first one."""
    while prompt.startswith(_CONTEXT[0]) and _CONTEXT[1] in prompt:
        prompt = prompt.partition(_CONTEXT[1])[2].lstrip()
    return prompt


def why_no_question(prompt: str) -> str:
    """Return why a prompt is not a question to the memory; "" if it is one."""
    text = prompt.strip()
    if not text:
        return "the prompt is empty"
    first = text.split(None, 1)[0]
    name = first[1:]
    if first.startswith("/") and name and all(letter.isalnum() or letter in "-_:." for letter in name):
        return "the prompt is a command"
    if text.startswith(_OWN_WORDS):
        return "the prompt is the assistant's own"
    return ""


def _text(fields: "Mapping[str, Any]", name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _question_part(name: str, text: str) -> str:
    """Return a text as a question; a pattern is reduced to its words."""
    if name != "pattern":
        return text.strip()
    # `\b`, `\s` and the like are not words.
    parts = text.split("\\")
    plain = parts[0] + "".join(part[1:] if part[:1].isalnum() else part for part in parts[1:])
    spaced = "".join(letter if letter.isalnum() or letter in "-_/." else " " for letter in plain)
    return " ".join(word.strip("./") for word in spaced.split())


def _is_about_us(given: "Mapping[str, Any]") -> bool:
    return any(isinstance(value, str) and OURS in value.lower() for value in given.values())


def _shorten(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    if len(text) <= head + tail:
        return text
    return f"{text[:head]}\n{text[-tail:]}"

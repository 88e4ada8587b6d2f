"""Find the workflows of a project: the same commands in the same order in several of its sessions.

A draft is worth something only where it is certain: a command that cannot be read, that may destroy something
or that has a secret ends a sequence, and no draft reaches across it.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ragmem.domain.secrets.redaction import Redactor

MIN_STEPS, MAX_STEPS = 3, 8
"""Commands of a workflow."""

MIN_SESSIONS = 3
"""Sessions in which a workflow was seen."""

MIN_OWN = 2
"""Commands that are about the project: committing and pushing alone needs no skill."""

MAX_NAME = 64
"""Maximum characters of the name of a skill."""

_LINE = re.compile(r"^- (?:(Ran|Tested with) (.*)|(Committed): .*)$", re.MULTILINE)
_COMMAND = re.compile(r"`([^`\n]+)`( \(\d+ times\))?(?:, |$)")
_PARTS = re.compile(r"&&|\|\||[;|&]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'&;|]+|\s+|[\"']")
_WORD = re.compile(r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'])+")
_STREAMS = re.compile(r"\s*(?:2>&1|[12]?>\s*/dev/null|&>\s*/dev/null)(?=\s|$)")
_SETTING = re.compile(r"[A-Za-z_]\w*=\S*")
_PROGRAM = re.compile(r"(?:\.{1,2}/|[\w.-]+/)*[A-Za-z][A-Za-z0-9.+-]*")
_SUBCOMMAND = re.compile(r"[a-z][\w:.-]*")
_SCRIPT = re.compile(r"(?:\.{1,2}/)?[\w.-]+(?:/[\w.-]+)*\.(?:py|sh|js|ts|mjs|rb|pl)")
_OPAQUE = re.compile(
    r"\$\(|<<|<\(|\$\{|\$\w|\\$|^[({]|\n|\[redacted"
    r"|(?:^|[;&|]\s*)(?:for|while|until|if|do|done|then|else|fi|case|export|source|alias|set|\.)\s"
)
"""Parts of commands whose meaning is not on the line, or whose secrets were taken out."""

_DANGEROUS = re.compile(
    r"\b(?:rm|rmdir|shred|dd|mkfs\S*|sudo|doas|su|kill|pkill|killall|shutdown|reboot|chown|unlink|eval)\b"
    r"|(?<![\w-])-(?:[a-zA-Z]{0,3}f[a-zA-Z]{0,3}|D|y|-force[\w-]*|-hard|-no-verify|-?delete|-prune|-yes|-rm)"
    r"(?![\w-])|(?<![\w-])(?i:delete|destroy|drop\w*|prune|purge|wipe|clean|clear|reset|uninstall|revert"
    r"|restore|publish|deploy|apply|rollback|remove|truncate|erase)(?![\w-])"
    r"|(?i:token|secret|passw|credential|authorization|bearer|api[_-]?key|private[_-]?key)"
    r"|\s\+\w+:|>"
)
"""What may destroy something, has a secret, or reaches other people; a word too many only costs a draft."""

_LOOKS = frozenset(
    "ls cat bat grep egrep rg fd find head tail less more pwd wc tree which type file stat du df jq sort uniq"
    " cut awk sed echo printf true date ps whoami uname sleep basename dirname realpath test column tr"
    " cd".split()
)
_LOOKS_OF = {
    "git": frozenset(
        "log show diff status blame branch remote rev-parse ls-files grep describe fetch".split()
    ),
    "gh": frozenset(("api", "auth", "search", "browse")),
}
_ASKS = frozenset(("--help", "-h", "--version", "-V", "help", "version"))
_TWO_WORDS = frozenset("run exec pr issue compose workflow release stash -m".split())
"""Subcommands whose next word says what is done."""

_INTERPRETERS = frozenset("python python3 node bash sh zsh ruby perl deno bun tsx ts-node".split())
_EVERYWHERE = frozenset("git gh mkdir cp mv touch chmod ln tar unzip curl wget".split())
"""Programs that say nothing of a project."""

_PRIVATE = re.compile(r"^[\"']?(?:/Users/|/home/|/root|/tmp|/var/|/private/|~)")
_CLIPPED = "…"


@dataclass(frozen=True, slots=True)
class Step:
    """A command: its shape (program and subcommand), and its words."""

    shape: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def is_own(self) -> bool:
        """Return whether it is about the project."""
        return self.shape[0] not in _EVERYWHERE


@dataclass(frozen=True, slots=True)
class CommandLog:
    """The session of an exchange, its time, and the `sequences` of its commands."""

    session: str
    at: datetime
    sequences: Sequence[Sequence[Step]]


@dataclass(slots=True)
class Workflow:
    """Shapes of commands in their order, and each time that sessions ran them."""

    shapes: tuple[tuple[str, ...], ...]
    runs: list[tuple[CommandLog, tuple[Step, ...]]] = field(default_factory=list)

    @property
    def sessions(self) -> dict[str, datetime]:
        """Session -> when it ran this first, in the order of time."""
        found: dict[str, datetime] = {}
        for log, _ in sorted(self.runs, key=lambda run: (run[0].at, run[0].session)):
            found.setdefault(log.session, log.at)
        return found

    @property
    def name(self) -> str:
        """The name of its skill, from the last word of each command."""
        words = [re.sub(r"[^a-z0-9]+", "-", shape[-1].lower()).strip("-") for shape in self.shapes]
        return "-".join(filter(None, words))[:MAX_NAME].strip("-")

    @property
    def commands(self) -> list[str]:
        """The commands as they were run, with a placeholder for each word that differed."""
        return [_shared_command(steps) for steps in zip(*(steps for _, steps in self.runs), strict=True)]


def find_workflows(logs: Iterable[CommandLog]) -> list[Workflow]:
    """Return the workflows of one project that at least three sessions ran, the most frequent first.

    `logs` are its exchanges. Of workflows that contain each other the longest stays, of those with the same
    commands the one that most sessions ran.
    """
    found: dict[tuple[tuple[str, ...], ...], Workflow] = {}
    for log in logs:
        seen: set[tuple[tuple[str, ...], ...]] = set()
        for steps in log.sequences:
            for length in range(MIN_STEPS, MAX_STEPS + 1):
                for start in range(len(steps) - length + 1):
                    part = tuple(steps[start : start + length])
                    shapes = tuple(step.shape for step in part)
                    own = sum(step.is_own for step in part)
                    if len(set(shapes)) == length and own >= MIN_OWN and shapes not in seen:
                        seen.add(shapes)
                        found.setdefault(shapes, Workflow(shapes)).runs.append((log, part))
    often = [one for one in found.values() if len(one.sessions) >= MIN_SESSIONS and one.name]
    often.sort(key=lambda one: (-len(one.shapes), -len(one.sessions), -len(one.runs), one.shapes))
    kept: list[Workflow] = []
    for one in often:
        if not any(frozenset(one.shapes) <= frozenset(other.shapes) for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: (-len(one.sessions), one.name, one.shapes))


def skill_text(workflow: Workflow) -> str:
    """Return the SKILL.md of a workflow: its name, what it does, its steps, and where it comes from."""
    told = ", ".join(" ".join(shape) for shape in workflow.shapes)
    sessions = workflow.sessions
    description = (
        f"Run the project's commands in the order that {len(sessions)} of its sessions used: {told}."
        " Use when several of them are due."
    )
    lines = ["---", f"name: {workflow.name}", f"description: {json.dumps(description)}", "---", ""]
    commands = workflow.commands
    if any("<" in command for command in commands):
        lines += ["Run these in order; `<...>` stands for what differs each time.", ""]
    else:
        lines += ["Run these in order.", ""]
    lines += [f"{number}. `{command}`" for number, command in enumerate(commands, 1)]
    lines += ["", f"Drafted from {len(sessions)} sessions:", ""]
    lines += [f"- {at:%Y-%m-%d} `{session}`" for session, at in sessions.items()]
    return "\n".join(lines) + "\n"


def sequences(text: str, redactor: Redactor) -> list[list[Step]]:
    """Return the commands of an exchange in order, cut where one cannot be repeated safely.

    The same command several times in a row counts once; commands that only look at something are left out.
    """
    found: list[list[Step]] = [[]]
    for line in _LINE.finditer(text):
        steps: list[Step | None]
        if line[3]:
            steps = [Step(("git", "commit"), ("git", "commit", "-m", '"<message>"'))]
        else:
            steps = _steps_of_line(line[2], redactor)
        for step in steps:
            if step is None:
                found.append([])
            elif not found[-1] or found[-1][-1].shape != step.shape:
                found[-1].append(step)
    return [steps for steps in found if len(steps) >= MIN_STEPS]


def _steps_of_line(told: str, redactor: Redactor) -> list["Step | None"]:
    """Return the commands of a line; None where the sequence is cut."""
    position, commands, repeated = 0, list[str](), False
    while match := _COMMAND.match(told, position):
        commands.append(match[1])
        repeated |= match[2] is not None
        position = match.end()
    # The most frequent commands come first, so their original order and the omitted ones are unknown.
    if position < len(told) or (repeated and len(commands) > 1):
        return [None]
    return [step for command in commands for step in _steps_of_command(command, redactor)]


def _steps_of_command(command: str, redactor: Redactor) -> list["Step | None"]:
    command = _STREAMS.sub("", command)
    if _OPAQUE.search(command) or _DANGEROUS.search(command) or redactor.redact(command)[1]:
        return [None]
    steps: list[Step | None] = []
    part, is_viewer = "", False
    for piece in [*_PARTS.findall(command), "&&"]:
        if piece in {"&&", ";", "|"}:
            if not is_viewer:
                steps += _step(part)
            elif _words(part)[:1] and _words(part)[0] not in _LOOKS:
                return [None]
            part, is_viewer = "", piece == "|"
        elif piece in {"||", "&", '"', "'"}:
            return [None]
        else:
            part += piece
    return steps


def _step(part: str) -> list["Step | None"]:
    """Return the step of a simple command; none if it only looks, [None] if it cannot be repeated safely."""
    words = _words(part)
    bare = [word for word in words if not _SETTING.fullmatch(word)]
    if not bare:
        return []
    program, rest = bare[0], bare[1:]
    if program in _LOOKS or (rest and rest[-1] in _ASKS):
        return []
    is_look = rest and rest[0] in _LOOKS_OF.get(program, ())
    if is_look or (program == "gh" and rest[1:2] and rest[1] in {"view", "list", "status", "checks", "diff"}):
        return []
    # A tool of an assistant has such a name, but is no command.
    is_tool = "_" in program and "/" not in program and "." not in program
    if is_tool or not _PROGRAM.fullmatch(program):
        return [None]
    shape = _shape(program, rest)
    return [None] if shape is None else [Step(shape, tuple(words))]


def _shape(program: str, rest: Sequence[str]) -> tuple[str, ...] | None:
    """Return the program and what it is asked to do; None for code on the command line, or a clipped one."""
    if program in _INTERPRETERS:
        if rest[:1] == ["-m"] and len(rest) > 1 and _CLIPPED not in rest[1]:
            return program, "-m", rest[1]
        if rest and (_SCRIPT.fullmatch(rest[0]) or rest[0] in {"run", "test"}):
            return (program, *rest[: 2 if rest[0] == "run" else 1])
        return None
    if not rest or not _SUBCOMMAND.fullmatch(rest[0]):
        return None if rest and _CLIPPED in rest[0] else (program,)
    if rest[0] in _TWO_WORDS:
        return (program, *rest[:2]) if rest[1:] and _SUBCOMMAND.fullmatch(rest[1]) else None
    return program, rest[0]


def _words(part: str) -> list[str]:
    return _WORD.findall(part)


def _shared_command(steps: Sequence[Step]) -> str:
    """Return a command with its words where all runs have the same, else with placeholders."""
    first = steps[0]
    if any(_CLIPPED in word for step in steps for word in step.words):
        return f"{' '.join(first.shape)} <arguments>"
    if len({len(step.words) for step in steps}) > 1:
        return f"{' '.join(first.shape)} <arguments>"
    words = []
    for alike in zip(*(step.words for step in steps), strict=True):
        is_same = len(set(alike)) == 1 and not _PRIVATE.match(alike[0])
        words.append(alike[0] if is_same else "<argument>")
    return " ".join(words)

"""The plugin through which OpenCode calls ragmem, because it has no hooks that are commands."""

import json
from importlib.resources import files

from ragmem.assistants.command import Program
from ragmem.assistants.model import Assistant

MARK = "// The hooks of ragmem for OpenCode"
"""How a plugin of ours begins, of whatever version."""

_VARIABLES = "const VARIABLES = "


def plugin(assistant: Assistant, program: Program) -> str:
    """Return the whole plugin, which calls this program."""
    text = files("ragmem.assistants").joinpath("opencode.js").read_text(encoding="utf-8")
    for name, value in (
        ("PROGRAM", list(program.words)),
        ("VARIABLES", dict(program.variables)),
        ("TIMEOUT", program.allowed_s * assistant.per_second),
    ):
        text = text.replace(f'"@{name}@"', json.dumps(value, ensure_ascii=False))
    return text


def same_home(text: str, program: Program) -> bool:
    """Tell whether a plugin of ours leads to the same home as `program`."""
    said = next((line for line in text.splitlines() if line.startswith(_VARIABLES)), "")
    try:
        return bool(json.loads(said.removeprefix(_VARIABLES)) == dict(program.variables))
    except ValueError:
        return False

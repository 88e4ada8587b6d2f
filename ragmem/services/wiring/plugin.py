"""The plug-in through which an assistant calls ragmem if its hooks cannot be commands."""

import json
from importlib.resources import files

from ragmem.assistants.assistant import Assistant
from ragmem.services.wiring.command import Program

_VARIABLES = "const VARIABLES = "


def write_plugin(assistant: Assistant, program: Program) -> str:
    """Return the text of an assistant's plug-in that calls this program."""
    text = files("ragmem.assistants").joinpath(assistant.plugin).read_text(encoding="utf-8")
    for name, value in (
        ("PROGRAM", list(program.words)),
        ("VARIABLES", dict(program.variables)),
        ("TIMEOUT", program.allowed_s * assistant.units_per_second),
    ):
        text = text.replace(f'"@{name}@"', json.dumps(value, ensure_ascii=False))
    return text


def is_ours(text: str, assistant: Assistant) -> bool:
    """Tell whether a text is our plug-in, of any version."""
    return text.startswith(f"// The hooks of ragmem for {assistant.title}")


def has_home(text: str, program: Program) -> bool:
    """Tell whether our plug-in uses the home of this program."""
    found = next((line for line in text.splitlines() if line.startswith(_VARIABLES)), "")
    try:
        return bool(json.loads(found.removeprefix(_VARIABLES)) == dict(program.variables))
    except ValueError:
        return False

"""Whether an assistant's settings call a hook, read as text: parsing them takes a hook too long."""

import os

from ragmem.assistants.assistant import HOOK_PATH

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ragmem.assistants.assistant import Assistant

_FILES = ("settings.json", "settings.local.json", "hooks.json")
"""The files in which `connect` writes hooks, for the assistants that have plug-ins."""

_MOST_BYTES = 2 * 1024 * 1024
"""Bytes of a file that are searched at most; a longer one cannot be read within the deadline."""


def call_hook(
    assistant: "Assistant", event: str, environ: "Mapping[str, str]", home: str, cwd: str | None
) -> bool:
    """Return whether the person's or the project's settings call a hook of ragmem; unreadable ones do not."""
    # As `connect` ends the command of a hook or its address, within a text of JSON.
    path = f"{HOOK_PATH}/{assistant.name}/{event}"
    calls = [one.encode() for one in (f'hook {event} --for {assistant.name}"', f'{path}"', f"{path}?")]
    for folder in _folders(assistant, environ, home, cwd):
        for name in _FILES:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    text = file.read(_MOST_BYTES)
                    if any(call in text for call in calls):
                        return True
            except OSError:  # most of these files do not exist
                continue
    return False


def _folders(
    assistant: "Assistant", environ: "Mapping[str, str]", home: str, cwd: str | None
) -> "Iterator[str]":
    """Yield the folders of the settings: that of the person, then that of the project around the folder."""
    chosen, parent = environ.get(assistant.variable, ""), environ.get(assistant.parent_variable, "")
    default = os.path.join(parent if os.path.isabs(parent) else home, assistant.folder)
    yield chosen if os.path.isabs(chosen) else default
    root = cwd
    while root and not os.path.exists(os.path.join(root, ".git")):
        root = "" if os.path.dirname(root) == root else os.path.dirname(root)
    if root or cwd:
        yield os.path.join(root or cwd or "", assistant.project_folder or f".{assistant.folder.lstrip('.')}")

"""The base class of coding assistants: their events, settings and sessions.

A hook imports this module and that of one assistant, so both use only what Python has loaded anyway.
"""

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, Literal

    from ragmem.assistants.places import Form, Places, Scope, Shape

    Meaning = Literal[
        "start",
        "prompt",
        "before-tool",
        "after-tool",
        "tool-failure",
        "subagent-start",
        "nothing",
        "session-end",
        "stop",
        "subagent-stop",
        "pre-compact",
        "post-compact",
    ]
    Reply = Literal["nested", "flat", "continue", "none"]
    Handler = Literal["command", "mcp", "http"]

START, PROMPT, BEFORE_TOOL, AFTER_TOOL, NOTHING = "start", "prompt", "before-tool", "after-tool", "nothing"
TOOL_FAILURE, SUBAGENT_START = "tool-failure", "subagent-start"
SESSION_END, STOP, SUBAGENT_STOP = "session-end", "stop", "subagent-stop"
PRE_COMPACT, POST_COMPACT = "pre-compact", "post-compact"
"""The meanings of an assistant's events for ragmem."""

HOOK_SERVER, HOOK_TOOL = "ragmem", "hook"
"""The MCP server that `connect` names, and its tool for the events of hooks, which is in no list."""

HOOK_PATH = "/v1/memory/hooks"
"""The path of `ragmem serve` for the events of hooks; assistant and event follow."""

TOKEN_VARIABLE = "RAGMEM_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable from which an assistant takes the token of `ragmem serve`."""


class Assistant:
    """A coding assistant. Each is a subclass; the defaults here fit most of them."""

    name: str
    title: str
    programs: tuple[str, ...]
    """Its commands; if one exists, the assistant is installed."""
    note = ""
    """A note for the person after the hooks are connected."""

    # Hooks.
    events: "Mapping[str, tuple[Meaning, Reply]]"
    """Its name of an event -> the meaning for ragmem, and the form of the reply.

    "nested": a text within `hookSpecificOutput`; "flat": a text in the field `additional_context`;
    "continue": permission to continue, with such a text; "none": no reply.
    """
    other_events: tuple[str, ...] = ()
    """Known events that are ignored."""
    session_fields: tuple[str, ...] = ("session_id",)
    """Fields of the payload that may hold the id of the session; the first present one counts."""
    cwd_fields: tuple[str, ...] = ("cwd",)
    message_fields: tuple[str, ...] = ("last_assistant_message",)
    questions: "Mapping[str, tuple[str, ...]]" = {}
    """A research tool -> the fields of its input that make up a question."""
    edits: "Mapping[str, tuple[str, ...]]" = {}
    """A tool that writes a file -> the fields of its input that may name the file."""
    reads: "Mapping[str, tuple[str, ...]]" = {}
    """A tool that reads a file -> the fields of its input that may name the file."""
    commands: "Mapping[str, tuple[str, ...]]" = {}
    """A tool that runs a command or a test -> the fields of its input that may hold the command."""
    result_fields: tuple[str, ...] = ("tool_response",)
    """Fields of the payload that may hold the result of a tool: a text, or an object of texts."""
    error_fields: tuple[str, ...] = ("error",)
    """Fields of the payload that may hold the error of a tool that failed."""
    task_fields: tuple[str, ...] = ("prompt", "task", "description")
    """Fields of the payload that may hold the task of a subagent that starts."""
    tasks: "Mapping[str, tuple[str, ...]]" = {}
    """A tool that starts a subagent -> the fields of its input that may hold the task.

    They are read in the transcript, where the payload does not tell the task.
    """

    # Settings.
    handlers: "tuple[Handler, ...]" = ("command",)
    """What its hooks can be: a command, a tool of an MCP server, a request to an HTTP server."""
    folder: str
    """The folder of the person's settings, below the home."""
    variable = ""
    """The environment variable that overrides this folder."""
    parent_variable = ""
    """The environment variable that overrides the parent of this folder."""
    project_folder = ""
    """The same folder within a project; by default a dot and the name."""
    user_files: "tuple[tuple[str, Form], ...]" = ()
    """The files to change in the folder: first the one with the hooks, last the one with the MCP server."""
    project_files: "tuple[tuple[str, Form], ...]" = ()
    """The same in the folder of a project, if they differ."""
    shape: "Shape" = "groups"
    units_per_second = 1
    """The unit of a time-out."""
    entry_name = False
    """Whether the entry of a hook has a name, with which the person can turn it off."""
    version: int | None = None
    """The value of the key `version`, if the settings need one."""
    plugin = ""
    """The plug-in that calls the hooks: a file beside this module."""
    switch: tuple[str, ...] = ()
    """The table and the keys of a TOML file that turn hooks on, the current key first."""
    servers_key = "mcpServers"
    """The key of the settings that holds the MCP servers."""

    instruction_files: tuple[str, ...] = ()
    """What it reads by itself when a session begins: files, and folders with a slash behind, in its settings
    and in the folders from the root of the project to that of the session."""
    memory_file = ""
    """The file of instructions that it reads in a project's folder; "" if `refresh` uses another one."""
    memory_file_head = ""
    """How a new file of this kind begins."""

    # Sessions.
    session_name = ""
    """The assistant's name in memories; empty if its sessions cannot be read."""
    session_format = ""
    """The module of `ragmem.readers.transcripts` that reads them; by default the same name."""
    session_files: tuple[str, ...] = ()
    """Globs of the files of all sessions."""
    session_folders: tuple[str, ...] = ()
    """Folders in the path of such a file that identify the assistant, besides that of the settings."""
    session_globs: tuple[str, ...] = ()
    """Globs below `folder` of the file of one `{session}`, for events that do not name it."""

    def reads_itself(self, path: str, folder: str) -> bool:
        """Return whether it reads this file by itself when a session begins in this folder.

        Of its settings it is asked without a folder.
        """
        for name in self.instruction_files:
            base, found, rest = path.rpartition(f"/{name}")
            above = f"{folder}/".startswith(f"{base}/") if folder else base.endswith(f"/{self.folder}")
            if found and above and (name.endswith("/") or not rest):
                return True
        return False

    def find_event(self, *spellings: str) -> str:
        """Return the assistant's name of the first known event, in any spelling; else ""."""
        for spelling in spellings:
            letters = _letters(spelling)
            for known in (*self.events, *self.other_events):
                if letters and _letters(known) == letters:
                    return known
        return ""

    def meaning(self, event: str) -> str:
        """Return the meaning of an event for ragmem; NOTHING for an ignored one."""
        return self.events.get(event, (NOTHING, "none"))[0]

    def takes_text(self, event: str) -> bool:
        """Return whether an event queries the memory, because the assistant may take the answer."""
        meaning, reply = self.events.get(event, (NOTHING, "none"))
        return meaning in (START, PROMPT, BEFORE_TOOL) or (
            meaning in (AFTER_TOOL, TOOL_FAILURE, SUBAGENT_START) and reply != "none"
        )

    def asks_within_session(self, event: str) -> bool:
        """Return whether an event asks while the session runs, so that a process that stays can answer it.

        Its start comes before the MCP servers are there; what ends a session must outlive them.
        """
        return self.takes_text(event) and self.meaning(event) != START

    @property
    def is_told_before_tools(self) -> bool:
        """Whether it has an event before a tool that takes text."""
        return any(meaning == BEFORE_TOOL for meaning, _ in self.events.values())

    def tools(self, event: str) -> tuple[str, ...]:
        """Return the tools that an event of a tool is needed for; none for any other event.

        If an assistant accepts no text before a tool call, it is injected after the call.
        """
        meaning = self.meaning(event)
        if meaning == TOOL_FAILURE:
            return tuple(self.commands)
        if meaning not in (BEFORE_TOOL, AFTER_TOOL):
            return ()
        asked = (*self.questions, *self.edits)
        if meaning == BEFORE_TOOL:
            names = (*asked, *self.commands)
        elif self.takes_text(event):
            names = (*(self.edits if self.is_told_before_tools else asked), *self.reads, *self.commands)
        else:
            names = tuple(self.edits)
        return tuple(filter(None, dict.fromkeys(names)))

    def answer(self, event: str, text: str) -> "dict[str, Any] | None":
        """Return the reply to an event with a text for the model, or None for no reply."""
        reply = self.events[event][1]
        flat = {"additional_context": text} if text else {}
        if reply == "continue":
            return {"continue": True, **flat}
        if not text or reply == "none":
            return None
        if reply == "flat":
            return flat
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}

    def payload_fields(self) -> tuple[str, ...]:
        """Return the fields of a payload that hold short texts."""
        names = ("hook_event_name", "source", "reason", "trigger", "agent_transcript_path", "file_path")
        more = ("agent_id", "transcript_path", "tool_name")
        return (*names, *self.session_fields, *more, *self.cwd_fields)

    def hook_events(self) -> list[str]:
        """Return the events that get a hook."""
        return [event for event, (meaning, _) in self.events.items() if meaning != NOTHING]

    def hook_entry(self, event: str, command: str, seconds: int) -> dict[str, object]:
        """Return the entry of an event in the settings; `seconds` is its time-out."""
        tools = "|".join(self.tools(event))
        head: dict[str, object] = {"matcher": tools} if tools else {}
        timed: dict[str, object] = {"command": command, "timeout": seconds * self.units_per_second}
        if self.shape == "flat":
            return {**head, **timed}
        name: dict[str, object] = {"name": "ragmem"} if self.entry_name else {}
        return {**head, "hooks": [{**name, "type": "command", **timed}]}

    def handler_entry(self, _handler: "Handler", event: str, target: str, seconds: int) -> dict[str, object]:
        """Return the entry of an event with one of `handlers`.

        The target is a command; for "mcp" the one that the tool stands for, for "http" an address.
        """
        return self.hook_entry(event, target, seconds)

    def server_entry(self, words: list[str], variables: dict[str, str]) -> "dict[str, Any]":
        """Return the entry of an MCP server that is started by a command, with environment variables."""
        return {"command": words[0], "args": words[1:], **({"env": variables} if variables else {})}

    def find_hook_blockers(self, _settings: dict[str, object]) -> list[str]:
        """Return the settings that keep hooks from running, in words."""
        return []

    def user_folder(self, places: "Places") -> "Path":
        """Return the folder of the person's settings."""
        default = places.home / self.folder
        if self.parent_variable:
            return places.folder(self.parent_variable, default.parent) / default.name
        return places.folder(self.variable, default)

    def settings_files(self, places: "Places", scope: "Scope") -> "tuple[tuple[Path, Form], ...]":
        """Return the files to change: first the one with the hooks, last the one with the MCP server.

        A file that holds both occurs twice.
        """
        if scope == "user":
            folder, files = self.user_folder(places), self.user_files
        else:
            folder = places.project / (self.project_folder or f".{self.name}")
            files = self.project_files or self.user_files
        return tuple((folder / name, form) for name, form in files)


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())

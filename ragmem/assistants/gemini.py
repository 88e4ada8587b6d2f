"""Gemini CLI. See docs/hooks.md and docs/mcp.md for where its formats are documented."""

from ragmem.assistants.assistant import Assistant

_FILE = ("file_path", "path")


class Gemini(Assistant):
    """Gemini CLI."""

    name = "gemini"
    title = "Gemini CLI"
    programs = ("gemini",)
    events = {
        "SessionStart": ("start", "nested"),
        "BeforeAgent": ("prompt", "nested"),
        # BeforeTool takes no text; the reply to AfterTool is appended to the tool's own result.
        "AfterTool": ("after-tool", "nested"),
        "PreCompress": ("pre-compact", "none"),
        "AfterAgent": ("stop", "none"),
        "SessionEnd": ("session-end", "none"),
    }
    other_events = ("BeforeTool", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification")
    message_fields = ("prompt_response",)
    questions = {
        "google_web_search": ("query",),
        "web_fetch": ("prompt",),
        "codebase_investigator": ("objective",),
        "search_file_content": ("pattern",),
        "grep_search": ("pattern",),
        "glob": ("pattern",),
    }
    edits = {"write_file": _FILE, "replace": _FILE}
    reads = {"read_file": ("file_path", "absolute_path", "path")}
    commands = {"run_shell_command": ("command",)}
    memory_file = "GEMINI.md"
    folder = ".gemini"
    instruction_files = ("GEMINI.md",)
    parent_variable = "GEMINI_CLI_HOME"
    user_files = (("settings.json", "json"), ("settings.json", "json server"))
    units_per_second = 1000
    entry_name = True
    session_name = "gemini"
    session_files = ("~/.gemini/tmp/*/chats/*.json*",)

    def find_hook_blockers(self, settings: dict[str, object]) -> list[str]:
        """Return the settings that turn hooks off; older versions have them in hooks and tools."""
        found = []
        for table, key in (("hooksConfig", "enabled"), ("hooks", "enabled"), ("tools", "enableHooks")):
            values = settings.get(table)
            if isinstance(values, dict) and values.get(key) is False:
                found.append(f"{table}.{key} is false")
        for table in ("hooksConfig", "hooks"):
            values = settings.get(table)
            names = values.get("disabled") if isinstance(values, dict) else None
            if isinstance(names, list) and "ragmem" in names:
                found.append(f'{table}.disabled names "ragmem"')
        return found


ASSISTANT = Gemini()

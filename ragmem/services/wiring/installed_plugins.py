"""The plug-ins of ragmem that assistants have installed, which call the same hooks as `connect`."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragmem.assistants.assistant import Assistant
from ragmem.assistants.places import Places
from ragmem.errors import ConfigError
from ragmem.services.wiring.files import read_settings
from ragmem.services.wiring.json_text import JsonTextError, read_json

NAME = "ragmem"

DISABLE: Mapping[str, str] = {
    "claude-code": "claude plugin disable {}",
    "codex": "codex plugin remove {}",
    "gemini": "gemini extensions disable {}",
}
"""An assistant -> its command that turns the plug-in off."""


def find_plugin(assistant: Assistant, places: Places) -> str:
    """Return the name by which an assistant has our plug-in turned on; "" without one.

    Settings that cannot be read have none: others report what is wrong with them.
    """
    folder = assistant.user_folder(places)
    match assistant.name:
        case "claude-code":
            project = places.project / ".claude"
            paths = (folder / "settings.json", project / "settings.json", project / "settings.local.json")
            # As Claude Code reads them: a later file overrides the ones before.
            enabled: dict[str, Any] = {}
            for path in paths:
                enabled |= _table(_read_json(path).get("enabledPlugins"))
            return next((name for name in _ours(enabled) if enabled[name] is True), "")
        case "codex":
            plugins = _table(_read_toml(folder / "config.toml").get("plugins"))
            return next((name for name in _ours(plugins) if _table(plugins[name]).get("enabled", True)), "")
        case "gemini":
            if not (folder / "extensions" / NAME / "gemini-extension.json").is_file():
                return ""
            known = _read_json(folder / "extensions" / "extension-enablement.json")
            rules = _table(known.get(NAME)).get("overrides")
            # The last rule counts; one that begins with "!" disables it.
            is_off = isinstance(rules, list) and rules and str(rules[-1]).startswith("!")
            return "" if is_off else NAME
    return ""


def _ours(names: Mapping[str, Any]) -> Iterator[str]:
    """Yield the plug-ins named ragmem; the marketplace after the @ may be anyone's."""
    return (name for name in names if name.partition("@")[0] == NAME)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return _table(read_json(read_settings(path) or "{}").value)
    except (ConfigError, JsonTextError):
        return {}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_settings(path) or "")
    except (ConfigError, tomllib.TOMLDecodeError):
        return {}

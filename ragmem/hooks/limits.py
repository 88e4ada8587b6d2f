"""How long a hook may take and how much it may say: [hooks] of config.toml, overridden by the environment."""

import os

from ragmem.config import hook_defaults

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Value = bool | float | str

_TRUE = ("true", "yes", "on")
_TABLES = ("hooks", "check", "share")


class Limits:
    """The keys of [hooks] (`config.settings.HooksSettings`).

    `checks`: [check] enabled; `shares`: [share] after_git.
    """

    __slots__ = (
        "checks",
        "drain_every_s",
        "enabled",
        "max_chars",
        "moments",
        "query_deadline_s",
        "research",
        "shares",
        "start_chars",
        "write_deadline_s",
    )

    def __init__(self) -> None:
        self.enabled = hook_defaults.ENABLED
        self.write_deadline_s = hook_defaults.WRITE_DEADLINE_S
        self.query_deadline_s = hook_defaults.QUERY_DEADLINE_S
        self.max_chars = hook_defaults.MAX_CHARS
        self.start_chars = hook_defaults.START_CHARS
        self.research = hook_defaults.RESEARCH
        self.moments = hook_defaults.MOMENTS
        self.drain_every_s = hook_defaults.DRAIN_EVERY_S
        self.checks = self.shares = False


def is_disabled(environ: "Mapping[str, str]") -> bool:
    """Return whether the environment turns hooks off."""
    depth = environ.get(hook_defaults.DEPTH, "")
    return environ.get(hook_defaults.SWITCH, "").strip().lower() in hook_defaults.OFF or depth not in (
        "",
        "0",
    )


def limits_from_environment(environ: "Mapping[str, str]") -> Limits:
    """Return the limits of the environment, which apply until config.toml is read: that may hang."""
    limits = Limits()
    _lay_environment_over(limits, environ)
    return limits


def read_limits(config: str, environ: "Mapping[str, str]") -> Limits:
    """Return the limits of config.toml, which may be missing, and of the environment.

    A hook ignores wrong values; every other command reports them.
    """
    limits = Limits()
    tables = _tables(config)
    _lay_over(limits, tables.get("hooks", {}))
    _lay_environment_over(limits, environ)
    limits.checks = _is_on(environ.get("RAGMEM_CHECK_ENABLED", ""), tables.get("check", {}).get("enabled"))
    limits.shares = _is_on(
        environ.get("RAGMEM_SHARE_AFTER_GIT", ""), tables.get("share", {}).get("after_git")
    )
    return limits


def _is_on(variable: str, value: "Value | None") -> bool:
    """Return whether a variable, or else a value of config.toml, turns something on."""
    return _switch(_value(variable) if variable else value or False) is True


def _lay_environment_over(limits: Limits, environ: "Mapping[str, str]") -> None:
    names = (name for name in Limits.__slots__ if name not in ("checks", "shares"))
    texts = {name: environ.get(f"RAGMEM_HOOKS_{name.upper()}", "") for name in names}
    _lay_over(limits, {name: _value(text) for name, text in texts.items() if text})


def _lay_over(limits: Limits, said: "Mapping[str, Value]") -> None:
    for name, value in said.items():
        before = getattr(limits, name, None)
        if isinstance(before, bool):
            if (told := _switch(value)) is not None:
                setattr(limits, name, told)
        elif before is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
            if isinstance(before, int):
                if 1 <= value <= hook_defaults.MOST_CHARS:
                    setattr(limits, name, int(value))
            elif 0 < value <= 60:
                setattr(limits, name, float(value))


def _tables(config: str) -> "dict[str, dict[str, Value]]":
    """Return the tables that concern hooks, read line by line; only unusual TOML is parsed."""
    try:
        with open(config, "rb") as file:
            text = file.read(1_000_000).decode("utf-8", "replace")
    except OSError:  # usually there is none
        return {}
    found: dict[str, dict[str, Value]] = {name: {} for name in _TABLES}
    table = ""
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        if line.startswith("["):
            table = line.strip("[] \t")
        elif table in found and line:
            name, _, value = line.partition("=")
            found[table][name.strip()] = _value(value.strip())
        elif line.startswith(_TABLES) and not table:
            return _parse_toml(text)
    return found


def _parse_toml(text: str) -> "dict[str, dict[str, Value]]":
    """Parse unusual TOML; importing the parser takes 20 ms."""
    import tomllib

    try:
        tables = tomllib.loads(text)
    except ValueError:  # every other command reports it
        return {}
    return {name: table for name in _TABLES if isinstance(table := tables.get(name), dict)}


def _value(text: str) -> "Value":
    said = text.strip().strip("\"'").lower()
    # Numbers first: 1 means one second for a deadline, and yes only for a switch.
    try:
        return float(said.replace("_", ""))
    except ValueError:
        return said in _TRUE if said in _TRUE or said in hook_defaults.OFF else text


def _switch(value: "Value") -> bool | None:
    """Return a value as a switch; None if it is neither on nor off."""
    if isinstance(value, bool):
        return value
    return bool(value) if value in (0.0, 1.0) else None


def config_file(folder: str) -> str:
    """Return the path of config.toml in the configuration folder."""
    return os.path.join(folder, "config.toml")

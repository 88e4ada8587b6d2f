"""How long a hook may take and how much it may say: [hooks] of config.toml, with the environment over it."""

import os

from ragmem.config import hooking

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Value = bool | float | str

_TRUE = ("true", "yes", "on")


class Limits:
    """The keys of [hooks] (`config.settings.HooksSettings`); `checks`: [check] enabled."""

    __slots__ = (
        "checks",
        "drain_every_s",
        "enabled",
        "max_chars",
        "query_deadline_s",
        "research",
        "write_deadline_s",
    )

    def __init__(self) -> None:
        self.enabled = hooking.ENABLED
        self.write_deadline_s = hooking.WRITE_DEADLINE_S
        self.query_deadline_s = hooking.QUERY_DEADLINE_S
        self.max_chars = hooking.MAX_CHARS
        self.research = hooking.RESEARCH
        self.drain_every_s = hooking.DRAIN_EVERY_S
        self.checks = False


def switched_off(environ: "Mapping[str, str]") -> bool:
    """Tell whether hooks are to do nothing here, by the environment alone."""
    depth = environ.get(hooking.DEPTH, "")
    return environ.get(hooking.SWITCH, "").strip().lower() in hooking.OFF or depth not in ("", "0")


def said(environ: "Mapping[str, str]") -> Limits:
    """Return the limits by the environment alone: what holds until config.toml is read, which may hang."""
    limits = Limits()
    _lay_environment_over(limits, environ)
    return limits


def read_limits(config: str, environ: "Mapping[str, str]") -> Limits:
    """Return the limits by a config.toml, which need not be there; what cannot be is passed over.

    A hook ignores a wrong value; every other command reports it.
    """
    limits = Limits()
    tables = _tables(config)
    _lay_over(limits, tables.get("hooks", {}))
    _lay_environment_over(limits, environ)
    checks = environ.get("RAGMEM_CHECK_ENABLED", "")
    limits.checks = (
        _switch(_value(checks) if checks else tables.get("check", {}).get("enabled", False)) is True
    )
    return limits


def _lay_environment_over(limits: Limits, environ: "Mapping[str, str]") -> None:
    names = (name for name in Limits.__slots__ if name != "checks")
    texts = {name: environ.get(f"RAGMEM_HOOKS_{name.upper()}", "") for name in names}
    _lay_over(limits, {name: _value(text) for name, text in texts.items() if text})


def _lay_over(limits: Limits, said: "Mapping[str, Value]") -> None:
    for name, value in said.items():
        before = getattr(limits, name, None)
        if isinstance(before, bool):
            if (told := _switch(value)) is not None:
                setattr(limits, name, told)
        elif before is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
            if name == "max_chars" and 1 <= value <= hooking.MOST_CHARS:
                limits.max_chars = int(value)
            elif name != "max_chars" and 0 < value <= 60:
                setattr(limits, name, float(value))


def _tables(config: str) -> "dict[str, dict[str, Value]]":
    """Return the tables that concern a hook, line by line; the real parser is used for unusual TOML only."""
    try:
        with open(config, "rb") as file:
            text = file.read(1_000_000).decode("utf-8", "replace")
    except OSError:  # there is none as a rule
        return {}
    found: dict[str, dict[str, Value]] = {"hooks": {}, "check": {}}
    table = ""
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        if line.startswith("["):
            table = line.strip("[] \t")
        elif table in found and line:
            name, _, value = line.partition("=")
            found[table][name.strip()] = _value(value.strip())
        elif line.startswith(("hooks", "check")) and not table:
            return _parse_toml(text)
    return found


def _parse_toml(text: str) -> "dict[str, dict[str, Value]]":
    """Return what a text in the less common forms of TOML says; it takes 20 ms to import the parser."""
    import tomllib

    try:
        tables = tomllib.loads(text)
    except ValueError:  # every other command tells
        return {}
    return {name: table for name in ("hooks", "check") if isinstance(table := tables.get(name), dict)}


def _value(text: str) -> "Value":
    said = text.strip().strip("\"'").lower()
    # Numbers first: 1 is a second for a deadline, and yes only for a switch.
    try:
        return float(said.replace("_", ""))
    except ValueError:
        return said in _TRUE if said in _TRUE or said in hooking.OFF else text


def _switch(value: "Value") -> bool | None:
    """Return what a value says of a switch; None where it says neither on nor off."""
    if isinstance(value, bool):
        return value
    return bool(value) if value in (0.0, 1.0) else None


def config_file(folder: str) -> str:
    """Return the path of the settings in a folder of configuration."""
    return os.path.join(folder, "config.toml")

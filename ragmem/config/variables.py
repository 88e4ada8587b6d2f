"""Environment variables that override settings, and warnings about similar ones that do not."""

import re
from collections.abc import Mapping
from functools import cache

from ragmem.config.hook_defaults import DEPTH, LOCK, SWITCH
from ragmem.config.offline import VARIABLE as OFFLINE_VARIABLE
from ragmem.config.places import HOME_VARIABLE

PREFIX = "RAGMEM_"

SESSION_VARIABLE = f"{PREFIX}SESSION"
"""Environment variable with the session of the assistant that runs the command."""

NO_SETTINGS = {HOME_VARIABLE, OFFLINE_VARIABLE, SESSION_VARIABLE, SWITCH, DEPTH, LOCK}
"""Variables that no setting has."""

_NOT_A_LETTER = re.compile(r"[^A-Z0-9]+")


class Variables:
    """The `RAGMEM_<SECTION>_<KEY>` variables; remembers which ones exist."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._given = {name: text for name, text in environ.items() if name.startswith(PREFIX)}
        self._keys: set[tuple[str, ...]] = set()

    def find(self, *key: str) -> tuple[str, str] | None:
        """Return the name and the text of the variable for a key; None if it is unset or empty."""
        self._keys.add(key)
        name = variable_name(*key)
        text = self._given.get(name, "")
        return (name, text) if text else None

    def warnings(self) -> list[str]:
        """Return a line for each unused variable that looks like a setting."""
        known = {variable_name(*key) for key in self._keys} | NO_SETTINGS
        return [line for name in sorted(self._given.keys() - known) if (line := self._warning(name, known))]

    def _warning(self, name: str, known: set[str]) -> str:
        # Needed for what is misspelt alone.
        import difflib  # noqa: PLC0415

        close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
        if close:
            return f'the variable "{name}" is unknown; did you mean "{close[0]}"?'
        if any(name.startswith(variable_name(section) + "_") for section, *_ in self._keys):
            return f'the variable "{name}" is unknown'
        # Other variables, such as the switches of a hook, are not settings.
        return ""


@cache
def variable_name(*key: str) -> str:
    """Return the variable for a key: ("query", "limit") is RAGMEM_QUERY_LIMIT."""
    return PREFIX + _NOT_A_LETTER.sub("_", "_".join(key).upper())

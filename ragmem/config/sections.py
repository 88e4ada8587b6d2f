"""The tables of config.toml, overridden by the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from ragmem.config.documents import Document
from ragmem.config.settings import FORMER, SECTIONS, Origin
from ragmem.config.values import Rule, check, nearest, parse
from ragmem.config.variables import Variables
from ragmem.errors import ConfigError


def read_sections(
    document: Document | None, variables: Variables, *, project: Sequence[Origin] = ()
) -> tuple[dict[str, Any], list[Origin]]:
    """Return the sections by name, and where each key was set.

    The values of `project` override the document, and the environment overrides both. Raises ConfigError for
    an unknown table or key and for a value of the wrong type or out of bounds.
    """
    above = {item.key: item for item in project}
    if document:
        _refuse_unknown_sections(document)
    sections: dict[str, Any] = {}
    origins: list[Origin] = []
    for name, section in SECTIONS.items():
        values = _section(name, section, document, variables, above)
        sections[name] = section(**{item.key.partition(".")[2]: item.value for item in values})
        origins += values
    return sections, origins


def _refuse_unknown_sections(document: Document) -> None:
    for name, table in document.values.items():
        if name not in SECTIONS:
            what = "table" if isinstance(table, dict) else "key"
            raise document.error(
                f'unknown {what} "{name}"', name, hint=FORMER.get((name, "")) or nearest(name, SECTIONS)
            )
        if not isinstance(table, dict):
            raise document.error(f'"{name}" must be a table', name, hint=f"write [{name}] on a separate line")


def _section(
    name: str,
    section: Any,
    document: Document | None,
    variables: Variables,
    above: Mapping[str, Origin],
) -> list[Origin]:
    given: Mapping[str, Any] = document.values.get(name, {}) if document else {}
    known = {field.name: field for field in fields(section)}
    for key in given:
        if key not in known and document:
            hint = FORMER.get((name, key)) or nearest(key, known)
            raise document.error(f'unknown key "{key}" in [{name}]', name, key, hint=hint)
    found = []
    for key, field in known.items():
        rule: Rule = field.metadata["rule"]
        default = field.default if field.default_factory is MISSING else field.default_factory()
        value, origin = default, "default"
        if key in given and document:
            try:
                value, origin = check(given[key], default, rule), document.origin(name, key)
            except ValueError as error:
                raise document.error(f"{name}.{key} {error}", name, key, hint=rule.about) from error
        if item := above.get(f"{name}.{key}"):
            value, origin = item.value, item.origin
        if not isinstance(default, dict) and (override := variables.find(name, key)):
            value, origin = from_variable(*override, default, rule), override[0]
        found.append(Origin(f"{name}.{key}", value, origin))
    return found


def from_variable(name: str, text: str, default: Any, rule: Rule) -> Any:
    """Return a variable's text as a checked value; raises ConfigError with the variable's name."""
    try:
        return check(parse(text, default), default, rule)
    except ValueError as error:
        raise ConfigError(f"the variable {name} {error}", hint=rule.about) from error

"""docs/configuration.md tells the truth: its defaults and its rule of variables are the code's."""

import json
import re
from pathlib import Path

import pytest

from ragmem.config.loader import load

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "configuration.md").read_text()
ROW = re.compile(r"^\| `([a-z_]+)` \| ([^|]*) \| ([^|]*) \| (?:[^|\\]|\\.)* \|$")


def rows():
    """Return (dotted key, type, default, variable by the page's rule) of each row of config.toml's tables."""
    found, section = [], ""
    for line in PAGE.splitlines():
        if line.startswith("#"):
            named = re.fullmatch(r"### \[(\w+)\]", line)
            section = named[1] if named else ""
        elif section and (row := ROW.match(line)):
            variable = f"RAGMEM_{section}_{row[1]}".upper() if row[2] != "table" else ""
            found.append((f"{section}.{row[1]}", row[2], row[3], variable))
    return found


ROWS = rows()


def another(kind, default):
    """Return a value of the type that is not the default, as a variable would give it."""
    if choices := re.findall(r"`(\w+)`", kind):
        return next(one for one in choices if f'"{one}"' != default)
    if kind == "true or false":
        return "false" if default == "`true`" else "true"
    if "number" in kind:
        low, high = (re.search(rf"{word} ([-\d.e+]+)", kind) for word in ("from", "to"))
        given = float(default.strip("`"))
        value = given + 1 if not high or given + 1 <= float(high[1]) else (float(low[1]) + given) / 2
        return str(int(value)) if kind.startswith("whole") else str(value)
    return "another"


def test_the_page_has_every_key_of_config_toml_and_no_other(tmp_path):
    settings = load(environ={"RAGMEM_HOME": str(tmp_path)}, home=tmp_path)
    known = {key for key, _, _ in settings.origins() if not key.startswith(("sources.", "decay.", "exclude"))}
    assert {key for key, *_ in ROWS} == known


def test_every_default_of_the_page_is_in_force_where_nothing_is_set(tmp_path):
    settings = load(environ={"RAGMEM_HOME": str(tmp_path)}, home=tmp_path)
    values = {key: value for key, value, _ in settings.origins()}
    for key, _, default, _ in ROWS:
        told = {} if default == "(none)" and values[key] == {} else ""
        told = told if default == "(none)" else json.loads(default.strip("`"))
        assert told == (list(values[key]) if isinstance(values[key], tuple) else values[key]), key


@pytest.mark.parametrize("source", ["sources", "decay"])
def test_every_key_of_the_other_files_is_told(tmp_path, source):
    settings = load(environ={"RAGMEM_HOME": str(tmp_path)}, home=tmp_path)
    for key, _, _ in settings.origins():
        if key.startswith(f"{source}."):
            name = key.removeprefix("decay.") if source == "decay" else key.rpartition(".")[2]
            assert f"| `{name}` |" in PAGE, key


def test_every_variable_of_the_page_sets_its_key(tmp_path):
    given = {variable: another(kind, default) for _, kind, default, variable in ROWS if variable}
    # Sizes that cross each other would be refused.
    given |= {"RAGMEM_CHUNKING_MAX_CHARS": "901"}
    settings = load(environ={"RAGMEM_HOME": str(tmp_path), **given}, home=tmp_path)
    origins = {key: origin for key, _, origin in settings.origins()}
    assert {key: origins[key] for key, *_, variable in ROWS if variable} == {
        key: variable for key, *_, variable in ROWS if variable
    }
    assert settings.warnings == ()

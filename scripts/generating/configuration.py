"""docs/configuration.md: every setting with its type, default and meaning, from the code."""

import json
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

from generating.environment import VARIABLES
from generating.tree import Command
from ragmem.config.loader import CONFIG_FILE, DECAY_FILE
from ragmem.config.places import SOURCES_FILE, find_default
from ragmem.config.project import MAX_ITEMS, PROJECT_FILE
from ragmem.config.project import project_keys as allowed_in_project
from ragmem.config.settings import FORMER, SECTIONS
from ragmem.config.sources import KEYS as SOURCE_KEYS
from ragmem.config.values import Rule

_INTRODUCTION = f"""\
# Configuration

```sh
ragmem inspect config                       # each value in force, and the line or variable that set it
RAGMEM_WARM_IDLE_MINUTES=5 ragmem query x   # set any key by its variable
```

No configuration is required. This page lists all settings; `scripts/generate.py` writes it from the code.

| file | settings | location |
| --- | --- | --- |
| [{CONFIG_FILE}](#configtoml) | how ragmem works | the configuration folder |
| [{SOURCES_FILE}](#sourcestoml) | what `ragmem seed` reads | the configuration folder |
| [{DECAY_FILE}](#decayjson) | how fast each kind of memory ages | the configuration folder |
| [{PROJECT_FILE}](#ragmemtoml) | additions for one repository | its root, or a folder below it |

The configuration folder is `$RAGMEM_HOME/config` if `RAGMEM_HOME` is set, else `$XDG_CONFIG_HOME/ragmem`,
else `~/.config/ragmem` (also on macOS). All files are optional.

**Precedence**, highest first: an option of the command, an environment variable, the project's file (for the
keys that it may set), the file in the configuration folder, the default. An unknown key, table or value is
an error. The message names the file, the line and the nearest known name.

**Variables.** Each key has an environment variable: `RAGMEM_`, then table and key in capitals, joined by
underscores. So `[warm] idle_minutes` is `RAGMEM_WARM_IDLE_MINUTES`, `[sources.prds] enabled` is
`RAGMEM_SOURCES_PRDS_ENABLED`, and `weights.recency` of decay.json is `RAGMEM_DECAY_WEIGHTS_RECENCY`. Boolean
keys take `1`, `true`, `yes` or `on`, and `0`, `false`, `no` or `off`. A list takes a single item. Keys that
are tables have no variable. An empty variable counts as unset.
"""

_MEANINGS = {
    "weights.semantic": "weight of the relevance of a match (docs/query.md)",
    "weights.recency": "weight of its recency; only the ratio of the two matters",
    "min_score_threshold": "matches with a lower score are not shown",
    "bound": "maximum share of the score that an old match may lose, with the default weights",
    "fresh_share": "share of the recency that halves every `fresh_days`; the rest halves by the kind",
    "fresh_days": "half-life of that share in days",
}


def configuration_page(tree: Command) -> str:
    """Return docs/configuration.md."""
    del tree  # settings are no commands
    parts = (_general(), _config(), _former(), _sources(), _decay(), _project())
    return "\n".join((_INTRODUCTION, *(line for part in parts for line in part)))


def _general() -> Iterator[str]:
    yield "## Other variables"
    yield ""
    yield "| variable | meaning |"
    yield "| --- | --- |"
    for one in VARIABLES:
        more = f" ([{one.page}]({one.page}))" if one.page else ""
        yield f"| {', '.join(f'`{name}`' for name in one.names)} | {one.meaning}{more} |"
    yield ""


def _config() -> Iterator[str]:
    yield f"## {CONFIG_FILE}"
    yield ""
    for name, section in SECTIONS.items():
        yield f"### [{name}]"
        yield ""
        yield _opening(section.__doc__ or "")
        yield ""
        yield "| key | type | default | meaning |"
        yield "| --- | --- | --- | --- |"
        for item in fields(section):
            yield _row(item.name, _default(item), item.metadata["rule"])
        yield ""


def _former() -> Iterator[str]:
    yield "### Keys of older releases"
    yield ""
    for (table, key), advice in FORMER.items():
        yield f"* `{f'{table}.{key}' if key else f'[{table}]'}`: {_cell(advice)}"
    yield ""


def _sources() -> Iterator[str]:
    yield f"## {SOURCES_FILE}"
    yield ""
    yield "Your file overrides the shipped file key by key: `[sources.skills]` with `enabled = false` turns"
    yield "one source off, a new table adds one. `ragmem seed --sources FILE` uses only that file."
    yield "The list `exclude` above all tables (.gitignore syntax) is added to the shipped one; `!pattern`"
    yield "removes an exclusion."
    yield ""
    yield "| key of [sources.NAME] | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, (default, rule) in SOURCE_KEYS.items():
        yield _row(name, default, rule)
    yield ""
    yield "The shipped file:"
    yield ""
    yield from _shown(SOURCES_FILE, "toml")


def _decay() -> Iterator[str]:
    yield f"## {DECAY_FILE}"
    yield ""
    yield "Your file overrides the shipped file key by key. [lifecycle.md](lifecycle.md#age) has plots."
    yield ""
    yield "| key | default | meaning |"
    yield "| --- | --- | --- |"
    for name, value in _flat(json.loads(find_default(DECAY_FILE).read_text(encoding="utf-8"))):
        kind = name.removeprefix("half_lives_days.")
        meaning = _MEANINGS.get(name) or f"half-life in days of the recency of the kind {kind}"
        yield f"| `{name}` | `{value}` | {meaning} |"
    yield ""


def _project() -> Iterator[str]:
    yield f"## {PROJECT_FILE}"
    yield ""
    yield "A repository is untrusted, so its file may set only harmless keys, for the files"
    yield f"below it; only the first {MAX_ITEMS} entries of each list count. Anything else is a warning,"
    yield "and is ignored. The nearest file applies, from the current folder up to the root of its git"
    yield "repository."
    yield ""
    yield "| key | type | meaning |"
    yield "| --- | --- | --- |"
    meanings = {
        "exclude": "exclusions in .gitignore syntax",
        "tags": "tags for each memory of the files below",
    }
    for name, (default, rule) in allowed_in_project().items():
        yield f"| `{name}` | {_type(default, rule)} | {meanings.get(name) or _cell(rule.about)} |"


def _row(name: str, default: Any, rule: Rule) -> str:
    return f"| `{name}` | {_type(default, rule)} | {_written(default)} | {_cell(rule.about)} |"


def _default(item: "Field[Any]") -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def _type(default: Any, rule: Rule) -> str:
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, int | float):
        bounds = [
            f"{word} {bound:g}"
            for word, bound in (("from", rule.low), ("to", rule.high))
            if bound is not None
        ]
        return " ".join(("whole number" if isinstance(default, int) else "number", *bounds))
    if isinstance(default, str):
        return "one of " + ", ".join(f"`{one}`" for one in rule.choices) if rule.choices else "text"
    if isinstance(default, tuple):
        if rule.choices:
            return "list of " + ", ".join(f"`{one}`" for one in rule.choices)
        return "list of patterns" if rule.patterns else "list of texts"
    return "table"


def _written(default: Any) -> str:
    if default in ("", {}):
        return "(none)"
    if isinstance(default, tuple):
        return f"`{json.dumps(list(default))}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{json.dumps(default)}`"


def _opening(docstring: str) -> str:
    """Return what a section's docstring says after its name, as a sentence with links to pages."""
    said = docstring.partition(":")[2].strip().partition("\n")[0].removesuffix(".")
    about, _, page = said.partition("; see docs/")
    sentence = f"{about[:1].upper()}{about[1:]}"
    return f"{sentence}: [{page}]({page})." if page else f"{sentence}."


def _shown(name: str, language: str) -> Iterator[str]:
    yield f"```{language}"
    yield find_default(name).read_text(encoding="utf-8").rstrip("\n")
    yield "```"
    yield ""


def _flat(values: dict[str, Any], *above: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, *above, name)
        else:
            yield ".".join((*above, name)), value


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

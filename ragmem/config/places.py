"""Where ragmem keeps its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ragmem.errors import ConfigError

HOME_VARIABLE = "RAGMEM_HOME"
SOURCES_FILE = "sources.toml"

_PACKAGE = Path(__file__).resolve().parents[1]
# The wheel carries the files inside the package; in a checkout they lie at the top of the repository.
_SHIPPED = (_PACKAGE / "defaults", _PACKAGE.parent)

_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


# Not a dataclass: `dataclasses` imports `inspect`, a quarter of what a Tab costs.
class Places(NamedTuple):
    """The four folders; none needs to exist.

    `config`: config.toml, sources.toml, decay.json. `data`: memory.db and what belongs to it. `state`: logs,
    spool, the pid of the warm process. `cache`: what can be made again.
    """

    config: Path
    data: Path
    state: Path
    cache: Path


def find_places(environ: Mapping[str, str], *, home: Path, cwd: Path | None = None) -> Places:
    """Return the folders: `$RAGMEM_HOME/{config,data,state,cache}`, else the XDG folders' `ragmem`.

    RAGMEM_HOME may begin with `~` or be relative to `cwd`; without a `cwd` a relative one is a ConfigError. A
    relative XDG variable is ignored, as its specification asks; an empty variable counts as unset.
    """
    chosen = environ.get(HOME_VARIABLE, "")
    if chosen:
        root = expand_home(chosen, home)
        if not root.is_absolute():
            if cwd is None:
                raise ConfigError(
                    f'{HOME_VARIABLE} is "{chosen}", a relative path', hint="give an absolute path"
                )
            root = cwd / root
        return Places(*(root / name for name in _XDG))
    return Places(*(_xdg(environ, home, *pair) / "ragmem" for pair in _XDG.values()))


def shipped(name: str) -> Path:
    """Return the path of a default that ragmem ships; raises ConfigError where the installation lacks it."""
    for folder in _SHIPPED:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(f"the shipped {name} is missing", hint="install ragmem again")


def expand_home(text: str, home: Path) -> Path:
    """Return the path with a leading `~` replaced by this home; other users' homes are not looked up."""
    return home / text[2:] if text.startswith("~/") else home if text == "~" else Path(text)


def _xdg(environ: Mapping[str, str], home: Path, variable: str, default: str) -> Path:
    value = Path(environ.get(variable, ""))
    return value if value.is_absolute() else home / default

"""Where ragmem keeps its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ragmem.config.folders import HOME_VARIABLE, XDG, expand_tilde, folder_of
from ragmem.errors import ConfigError

__all__ = ["HOME_VARIABLE", "SOURCES_FILE", "Places", "expand_home", "find_places", "shipped"]

SOURCES_FILE = "sources.toml"

_PACKAGE = Path(__file__).resolve().parents[1]
# The wheel carries the files inside the package; in a checkout they lie at the top of the repository.
_SHIPPED = (_PACKAGE / "defaults", _PACKAGE.parent)


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
    here = None if cwd is None else str(cwd)
    return Places(*(Path(folder_of(name, environ, home=str(home), cwd=here)) for name in XDG))


def shipped(name: str) -> Path:
    """Return the path of a default that ragmem ships; raises ConfigError where the installation lacks it."""
    for folder in _SHIPPED:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(f"the shipped {name} is missing", hint="install ragmem again")


def expand_home(text: str, home: Path) -> Path:
    """Return the path with a leading `~` replaced by this home; other users' homes are not looked up."""
    return Path(expand_tilde(text, str(home)))

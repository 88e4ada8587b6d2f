"""The folders and shipped files of ragmem."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ragmem.config.folders import HOME_VARIABLE, XDG, expand_tilde, folder_of
from ragmem.errors import ConfigError

__all__ = ["HOME_VARIABLE", "SOURCES_FILE", "Places", "expand_home", "find_default", "find_places"]

SOURCES_FILE = "sources.toml"

_PACKAGE = Path(__file__).resolve().parents[1]
# A wheel has the files inside the package, a checkout at the top of the repository.
_SHIPPED = (_PACKAGE / "defaults", _PACKAGE.parent)


# Not a dataclass: `dataclasses` imports `inspect`, a quarter of what a Tab costs.
class Places(NamedTuple):
    """The four folders of a home; none needs to exist.

    `config`: config.toml, sources.toml, decay.json. `data`: memory.db and its companions. `state`: logs and
    tokens. `cache`: files that can be made again.
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


def find_default(name: str) -> Path:
    """Return the path of a shipped file; raises ConfigError if the installation lacks it."""
    for folder in _SHIPPED:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(f"the shipped {name} is missing", hint="install ragmem again")


def expand_home(text: str, home: Path) -> Path:
    """Return the path with a leading `~` replaced by this home; other users' homes are not looked up."""
    return Path(expand_tilde(text, str(home)))

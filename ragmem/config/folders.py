"""The folders of a home, computed without pathlib, which takes too long to import for hooks and Tab."""

import os

from ragmem.errors import ConfigError

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HOME_VARIABLE = "RAGMEM_HOME"

XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def folder_of(name: str, environ: "Mapping[str, str]", *, home: str, cwd: str | None = None) -> str:
    """Return one of the four folders of XDG; see `config.places.find_places`, also for its errors."""
    chosen = environ.get(HOME_VARIABLE, "")
    if not chosen:
        variable, default = XDG[name]
        value = environ.get(variable, "")
        return os.path.join(value if os.path.isabs(value) else os.path.join(home, default), "ragmem")
    root = expand_tilde(chosen, home)
    if not os.path.isabs(root):
        if cwd is None:
            raise ConfigError(f'{HOME_VARIABLE} is "{chosen}", a relative path', hint="give an absolute path")
        root = os.path.join(cwd, root)
    return os.path.join(root, name)


def expand_tilde(text: str, home: str) -> str:
    """Return the path with a leading `~` replaced by this home; other users' homes are not looked up."""
    return os.path.join(home, text[2:]) if text.startswith("~/") else home if text == "~" else text


def sync(path: "str | os.PathLike[str]") -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

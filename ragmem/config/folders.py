"""The folders of a home, computed without pathlib, which takes too long to import for hooks and Tab."""

import os

from ragmem.errors import ConfigError

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def replace_file(
    path: "str | os.PathLike[str]",
    content: bytes,
    *,
    mode: int = 0o600,
    may_replace: "Callable[[], bool]" = lambda: True,
) -> bool:
    """Replace a file atomically and durably by one with this content and mode.

    `may_replace` is asked when all is written; if it says no, nothing changes and the result is false. Raises
    OSError.
    """
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}-{os.urandom(8).hex()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if not may_replace():
            return False
        os.replace(draft, path)
        sync(folder)
        return True
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)

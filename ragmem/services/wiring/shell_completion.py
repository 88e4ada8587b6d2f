"""Install completion scripts where bash, zsh and fish look for them."""

import importlib.metadata
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import ragmem
from ragmem.config.folders import replace_file
from ragmem.config.places import find_default
from ragmem.errors import ConfigError, StorageError, UsageError, os_reason

ShellName = Literal["bash", "zsh", "fish"]
Change = Literal["written", "unchanged", "removed", "absent"]
StartUpChange = Literal["", "needed", "written", "there", "removed", "left"]

SCRIPTS: dict[ShellName, tuple[str, str]] = {
    "bash": ("completions/ragmem.bash", "share/bash-completion/completions/ragmem"),
    "zsh": ("completions/_ragmem", "share/zsh/site-functions/_ragmem"),
    "fish": ("completions/ragmem.fish", "share/fish/vendor_completions.d/ragmem.fish"),
}
"""Per shell: the script in a checkout, and its path in a wheel below the prefix of the environment."""

OURS = b"Completion of ragmem in "
"""A part of the second line of each script, by which older ones are recognized."""

BEGIN, END = "# >>> completion of ragmem >>>", "# <<< completion of ragmem <<<"

BASH_COMPLETION = (
    "usr/share/bash-completion/bash_completion",
    "usr/local/share/bash-completion/bash_completion",
    "usr/local/etc/profile.d/bash_completion.sh",
    "opt/homebrew/etc/profile.d/bash_completion.sh",
    "opt/local/etc/profile.d/bash_completion.sh",
    "etc/bash_completion",
)
"""Paths of the package that loads completions of bash on demand."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What is, or would be, done for one shell; nothing is done before `carry_out`.

    `start_up` is the file in which `lines` must stand for the shell to find `file`; without lines it finds it
    by itself. `start_up_change` is empty where there are none, "needed" where a person has to add them,
    "left" where a person wrote them.
    """

    shell: ShellName
    file: Path
    change: Change
    start_up: Path
    lines: tuple[str, ...] = ()
    start_up_change: StartUpChange = ""
    text: bytes = b""


def script_of(shell: ShellName) -> bytes:
    """Return the completion script of a shell; raises ConfigError where the installation lacks it."""
    name, installed = SCRIPTS[shell]
    try:
        return find_default(name).read_bytes()
    except ConfigError:
        # The wheel puts it where shells look that share its prefix, outside of the package.
        recorded = [
            Path(str(file.locate()))
            for file in importlib.metadata.files("ragmem") or ()
            if file.as_posix().endswith(installed)
        ]
        # `pip install --target` moves it after having written down where it is.
        for place in (*recorded, Path(ragmem.__file__).parents[1] / installed):
            if place.is_file():
                return place.read_bytes()
        raise


def shell_in_use(parent: str, environ: Mapping[str, str]) -> ShellName:
    """Return the shell that has started ragmem, the process `parent`, else the person's login shell.

    Raises UsageError where neither is one of the three.
    """
    for one in (parent.removeprefix("-"), environ.get("SHELL", "")):
        for known in SCRIPTS:
            if Path(one).name == known:
                return known
    raise UsageError("your shell is not bash, zsh or fish", hint="name one: ragmem completions install bash")


def place_of(shell: ShellName, environ: Mapping[str, str], *, home: Path) -> Path:
    """Return where a shell looks for a person's completions; a relative XDG variable is ignored."""
    if shell == "fish":
        return _folder(environ, "XDG_CONFIG_HOME", home / ".config") / "fish" / "completions" / "ragmem.fish"
    data = _folder(environ, "XDG_DATA_HOME", home / ".local" / "share")
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_ragmem"
    # Newer versions of bash-completion take several folders.
    own = environ.get("BASH_COMPLETION_USER_DIR", "").split(":")[0]
    return (Path(own) if own.startswith("/") else data / "bash-completion") / "completions" / "ragmem"


def _folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environ.get(variable, "")
    return Path(value) if value.startswith("/") else default


def plan_installation(
    shell: ShellName,
    environ: Mapping[str, str],
    *,
    home: Path,
    edit: bool = False,
    root: Path = Path("/"),
) -> Installation:
    """Plan the installation for a shell; `edit` adds the lines to the start-up file.

    Raises UsageError for an existing file that was not written by ragmem.
    """
    file, text = place_of(shell, environ, home=home), script_of(shell)
    change: Change = "unchanged" if _read_script(file) == text else "written"
    start_up, lines = _start_up(shell, file, environ, home=home, root=root)
    if not lines:
        return Installation(shell, file, change, start_up, text=text)
    there: StartUpChange = (
        "there" if _is_named(file, start_up, home=home) else "written" if edit else "needed"
    )
    return Installation(shell, file, change, start_up, lines, there, text)


def plan_removal(shell: ShellName, environ: Mapping[str, str], *, home: Path) -> Installation:
    """Plan the removal for a shell, with the lines of ours in its start-up file.

    Without the script they would be an error at each start. Raises UsageError for a file that was not written
    by ragmem, and where the end of our lines is missing.
    """
    file = place_of(shell, environ, home=home)
    change: Change = "absent" if _read_script(file) is None else "removed"
    start_up, lines = _start_up(shell, file, environ, home=home, root=Path("/"))
    if BEGIN in _read(start_up):
        _without_block(start_up)
        return Installation(shell, file, change, start_up, lines, "removed")
    left: StartUpChange = "left" if shell == "bash" and _is_named(file, start_up, home=home) else ""
    return Installation(shell, file, change, start_up, lines if left else (), left)


def apply(plan: Installation) -> None:
    """Carry out a plan; raises StorageError where a file cannot be written."""
    from ragmem.services.processes.atomic_write import new_file  # noqa: PLC0415 - only what writes needs it

    try:
        if plan.change == "written":
            plan.file.parent.mkdir(parents=True, exist_ok=True)
            with new_file(plan.file, force=True) as draft:
                draft.write(plan.text)
        elif plan.change == "removed":
            plan.file.unlink(missing_ok=True)
        if plan.start_up_change == "written":
            text = _read(plan.start_up)
            block = "\n".join((BEGIN, *plan.lines, END))
            _rewrite(plan.start_up, text + ("" if not text or text.endswith("\n") else "\n") + block + "\n")
        elif plan.start_up_change == "removed":
            _rewrite(plan.start_up, _without_block(plan.start_up))
    except OSError as error:
        raise StorageError(
            f'cannot write "{error.filename or plan.file}": {os_reason(error)}',
            hint="check its permissions, or install the script yourself: ragmem completions show",
        ) from error


def _read_script(file: Path) -> bytes | None:
    """Return the installed script, or None; raises UsageError for somebody else's file."""
    if file.is_dir():
        raise UsageError(f'"{file}" is a folder', hint="move it aside")
    if not file.exists():
        return None
    text = file.read_bytes()
    if OURS not in text[:200]:
        raise UsageError(
            f'"{file}" was not written by ragmem', hint="move it aside, or keep it: ragmem completions show"
        )
    return text


def _start_up(
    shell: ShellName, file: Path, environ: Mapping[str, str], *, home: Path, root: Path
) -> tuple[Path, tuple[str, ...]]:
    """Return the start-up file of a shell, and the lines that it needs to find the completion."""
    quoted = "'" + str(file).replace("'", "'\\''") + "'"
    if shell == "fish":
        return _folder(environ, "XDG_CONFIG_HOME", home / ".config") / "fish" / "config.fish", ()
    if shell == "zsh":
        folder = "'" + str(file.parent).replace("'", "'\\''") + "'"
        lines = (
            f"fpath=({folder} $fpath)",
            "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }",
            "autoload -Uz _ragmem && compdef _ragmem ragmem",
        )
        return _folder(environ, "ZDOTDIR", home) / ".zshrc", lines
    start_up = home / ".bashrc"
    if any((root / place).exists() for place in BASH_COMPLETION):
        return start_up, ()
    return start_up, (f". {quoted}",)


def _is_named(file: Path, start_up: Path, *, home: Path) -> bool:
    """Return whether a person's start-up file mentions the completion or its folder in any form."""
    shown = [str(file.parent)]
    if file.is_relative_to(home):
        below = file.parent.relative_to(home)
        shown += [f"~/{below}", f"$HOME/{below}", f"${{HOME}}/{below}"]
    lines = (line for line in _read(start_up).splitlines() if not line.lstrip().startswith("#"))
    return any(place in line for line in lines for place in shown)


def _read(path: Path) -> str:
    # As bytes, because text mode would lose the line ends of other systems.
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.is_file() else ""


def _rewrite(path: Path, text: str) -> None:
    """Replace a person's file atomically and durably, keeping its permissions and links."""
    place = path.resolve()
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o600
    replace_file(place, text.encode("utf-8", "surrogateescape"), mode=mode)


def _without_block(path: Path) -> str:
    """Return the text of a file without our lines; raises UsageError where their end is missing."""
    kept: list[str] = []
    within = False
    for line in _read(path).splitlines(keepends=True):
        within = within or line.strip() == BEGIN
        if not within:
            kept.append(line)
        within = within and line.strip() != END
    if within:
        raise UsageError(f'"{path}" has no line "{END}"', hint=f'remove the lines after "{BEGIN}" manually')
    return "".join(kept)

"""Draw docs/images/terminal-*.svg: what commands show on a terminal, on a copy of the example home."""

import os
import pty
import shutil
import sys
import tempfile
from io import StringIO
from pathlib import Path

from explorer_images import ROOT, drop_fonts
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

IMAGES = ROOT / "docs" / "images"
COLUMNS = 96

# Name of the picture -> the command, and how many lines of its answer are drawn.
PICTURES: dict[str, tuple[tuple[str, ...], int]] = {
    "help": (("--help",), 60),
    "query": (("query", "--all", "-n", "3", "why did the deploy answer 502"), 24),
    "memory": (("inspect", "memory", "Deploy Tideline without dropping requests"), 48),
    "doctor": (("doctor", "--read-only"), 30),
}


def main() -> int:
    """Seed the home, run the commands in a terminal, and write the pictures."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent).resolve() / "tideline"
        shutil.copytree(ROOT / "examples" / "home", folder)
        plain = {
            name: value for name, value in os.environ.items() if not name.startswith(("RAGMEM_", "XDG_"))
        }
        environ = {
            **plain,
            "HOME": str(folder),
            "RAGMEM_HOME": str(folder / ".ragmem"),
            "COLUMNS": str(COLUMNS),
        }
        environ |= {"TERM": "xterm", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        environ.pop("NO_COLOR", None)
        show(("seed", "--quiet"), environ, folder)
        listed = show(
            ("query", "--all", "--ids", "why did the deploy answer 502", "--source", "prds"), environ, folder
        )
        for name, (command, lines) in PICTURES.items():
            shown = (*command[:2], listed.split()[0]) if name == "memory" else command
            text = show(shown, environ, folder).replace(str(folder), "~")
            write_picture(name, shown, "\n".join(text.splitlines()[:lines]))
    return 0


def show(command: tuple[str, ...], environ: dict[str, str], folder: Path) -> str:
    """Return what a command writes to a terminal; raises OSError if it cannot be run."""
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "ragmem", *command], environ)
    written = b""
    try:
        while part := os.read(terminal, 65536):
            written += part
    except OSError:  # what Linux says when the other end is closed
        pass
    finally:
        os.close(terminal)
    os.waitpid(process, 0)
    return written.decode().replace("\r\n", "\n")


def write_picture(name: str, command: tuple[str, ...], text: str) -> None:
    """Write the picture of a command and its answer."""
    console = Console(width=COLUMNS, record=True, file=StringIO(), force_terminal=True, legacy_windows=False)
    words = " ".join(f'"{word}"' if " " in word else word for word in command)
    console.print(Text(f"$ ragmem {words}", style="bold"))
    console.print(Text.from_ansi(text))
    path = IMAGES / f"terminal-{name}.svg"
    picture = console.export_svg(title="ragmem", theme=MONOKAI, unique_id=f"ragmem-{name}")
    path.write_text(drop_fonts(picture), encoding="utf-8")
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())

"""The environments of the tools: a suitable interpreter for each, and its packages."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import common
from peer_tools.process import Failed

READY = "installed.txt"

INTERPRETERS = ("python3", "python3.12", "python3.13", "python3.14")
"""Looked for on PATH where the one of this run is too old for a tool."""

VERSIONS = (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3")
"""Where pyenv and uv keep more of them, below the home."""

SHIM = """import sys

import pysqlite3
import pysqlite3.dbapi2

sys.modules["sqlite3"] = pysqlite3
sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
"""
"""For tools that load an SQLite extension, on interpreters whose sqlite3 cannot."""

ABOUT = "import sys, sqlite3; print(*sys.version_info[:2], hasattr(sqlite3.Connection, 'load_extension'))"


def prepare(
    folder: Path, requirements: Sequence[str], *, minimum: tuple[int, int], loads_extension: bool
) -> Path:
    """Return the interpreter of an environment with these requirements; make it where it is not complete.

    Raise Failed with pip's last words when that cannot be done.
    """
    wanted = "\n".join(requirements)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = folder / READY
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return python
    base, can_load = _interpreter(minimum)
    if folder.exists():
        shutil.rmtree(folder)
    shim = loads_extension and not can_load
    common.tell(f"installing {', '.join(requirements)} into {folder}")
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *requirements]
    done = subprocess.run(
        [*install, "pysqlite3-binary"] if shim else install, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"cannot be installed: {' '.join(done.stderr.strip().splitlines()[-1:])}")
    if shim:
        where = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        )
        Path(where.stdout.strip(), "sitecustomize.py").write_text(SHIM, encoding="utf-8")
    ready.write_text(wanted, encoding="utf-8")
    return python


def _interpreter(minimum: tuple[int, int]) -> tuple[str, bool]:
    """Return the first interpreter that is new enough, and whether its SQLite loads extensions."""
    kept = sorted(str(path) for pattern in VERSIONS for path in Path.home().glob(pattern))
    for name in (sys.executable, *INTERPRETERS, *kept):
        found = shutil.which(name)
        if found is None:
            continue
        asked = subprocess.run([found, "-c", ABOUT], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            major, minor, can_load = asked.stdout.split()
            if (int(major), int(minor)) >= minimum:
                return found, can_load == "True"
    raise Failed(
        f"needs Python {minimum[0]}.{minimum[1]} or newer, and there is none on PATH, of pyenv or of uv"
    )

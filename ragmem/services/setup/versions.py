"""The version of an assistant's program: by where it is installed, else by what it says."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ragmem.assistants.assistant import Assistant

PATIENCE_S = 2.0
"""Seconds for a program to say its version; an assistant that takes longer has none in the table."""

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*(?:-[0-9A-Za-z.]+)?")
_MOST_FOLDERS = 4
"""Folders above a program in which its package may be described."""


def find_versions(assistants: Sequence[Assistant], environ: Mapping[str, str]) -> dict[str, str]:
    """Return assistant -> version of its program; "" where it has none on the PATH, or does not tell."""
    search = environ.get("PATH")
    programs = {
        one.name: next(filter(None, (shutil.which(name, path=search) for name in one.programs)), "")
        for one in assistants
    }
    with ThreadPoolExecutor(max_workers=len(programs) or 1) as pool:
        versions = pool.map(lambda program: _version(Path(program)) if program else "", programs.values())
        return dict(zip(programs, versions, strict=True))


def _version(program: Path) -> str:
    return _installed_version(program.resolve()) or _told_version(program)


def _installed_version(program: Path) -> str:
    """Return the version in the path of a program, or in the package.json above it; "" without one."""
    for part in reversed(program.parts):
        if _VERSION.fullmatch(part):
            return part
    for folder in list(program.parents)[:_MOST_FOLDERS]:
        try:
            package = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):  # it is no package of JavaScript
            continue
        # Above a package there may be another one, of which this is only a part.
        return str(package.get("version", "")) if isinstance(package, dict) and "bin" in package else ""
    return ""


def _told_version(program: Path) -> str:
    try:
        said = subprocess.run(  # noqa: S603 - the assistant that the person has installed
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # then the version is unknown
        return ""
    found = _VERSION.search(said.stdout[:1000].decode("utf-8", "replace"))
    return found[0] if found else ""

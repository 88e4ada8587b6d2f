"""Try the wheel in an empty environment of each Python that ragmem supports.

Usage: try_wheel.py [VERSION]... [--uv PROGRAM] [--require] [--json]

Builds the wheel, lets uv install it with its dependencies into an empty environment for each version (by
default 3.11 to 3.14), and runs `ragmem --version`, `ragmem demo` twice and one query there. Then uvx runs the
demo and `setup --dry-run` of the wheel without an installation, with an empty cache and once more. uv takes a
Python of this machine, or fetches one. A version that cannot be had, or for which a dependency lacks a wheel,
is named with its reason, and counts as a failure with `--require`. Exit code 1: something failed. Needs uv
and a package index.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
LONGEST_S = 600
"""Seconds that an installation may take; a command of ragmem gets a tenth."""

WARM_DEMO_S, COLD_DEMO_S = 20, 60
"""Seconds that a second and a first demo may take."""

QUESTION, ANSWER = "where do we keep sessions", "PostgreSQL"
NOTE = "We decided to keep sessions in PostgreSQL because Redis lost them twice."


@dataclass
class Trial:
    """What became of one version: "ok", "failed", or "missing" where it cannot be had, and why."""

    version: str
    state: str = "ok"
    python: str = ""
    reason: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


class TrialError(Exception):
    """A command failed; the message has its last lines."""


def main(words: Sequence[str]) -> int:
    """Try each version and print a table; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--uv", default=shutil.which("uv") or "uv", metavar="PROGRAM")
    parser.add_argument("--require", action="store_true", help="a version that cannot be had is a failure")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="try-wheel-") as folder:
        place = Path(folder)
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RAGMEM_", "XDG_", "VIRTUAL_ENV", "PYTHON"))
        }
        _run([given.uv, "build", "--quiet", "--wheel", "--out-dir", folder, str(ROOT)], place, environ)
        (wheel,) = place.glob("*.whl")
        trials = [_try(version, given.uv, wheel, place / version, environ) for version in given.versions]
        trials.append(_try_uvx(given.uv, wheel, place / "uvx", environ))
    if given.json:
        print(json.dumps({"wheel": wheel.name, "trials": [asdict(one) for one in trials]}, indent=2))
    else:
        print("\n".join(_lines(trials)))
    bad = {"failed", "missing"} if given.require else {"failed"}
    return int(any(one.state in bad for one in trials))


def _try(version: str, uv: str, wheel: Path, folder: Path, environ: Mapping[str, str]) -> Trial:
    trial = Trial(version)
    home = folder / "home"
    home.mkdir(parents=True)
    inside = folder / "venv"
    try:
        _run([uv, "venv", "--quiet", "--python", version, str(inside)], folder, environ)
        trial.python = _run([str(inside / "bin" / "python"), "--version"], folder, environ).split()[1]
    except TrialError as error:
        trial.state, trial.reason = "missing", f"no Python {version}: {error}"
        return trial
    install = [uv, "pip", "install", "--quiet", "--only-binary", ":all:"]
    try:
        _timed(trial, "install", [*install, "--python", str(inside), str(wheel)], folder, environ)
    except TrialError as error:
        trial.state, trial.reason = "missing", f"not all dependencies have wheels: {error}"
        return trial
    alone = {
        "PATH": f"{inside / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(home),
        "NO_COLOR": "1",
        "TMPDIR": str(home),
    }
    try:
        said = _timed(trial, "version", ["ragmem", "--version"], home, alone)
        _require(re.fullmatch(r"ragmem \S+\n", said), "no version is shown")
        for name, longest in (("demo, cold", COLD_DEMO_S), ("demo, warm", WARM_DEMO_S)):
            shown = _timed(trial, name, ["ragmem", "demo"], home, alone)
            _require(shown.count("\n1. ") == 3, "the demo has not three answers")
            _require(trial.seconds[name] <= longest, f"{name} took more than {longest} s")
        _require(not list(home.iterdir()), "the demo has left something")
        _run(["ragmem", "ingest", "-"], home, alone, text=NOTE)
        _require(ANSWER in _timed(trial, "query", ["ragmem", "query", QUESTION], home, alone), "no answer")
    except TrialError as error:
        trial.state, trial.reason = "failed", str(error)
    return trial


def _try_uvx(uv: str, wheel: Path, folder: Path, environ: Mapping[str, str]) -> Trial:
    """Run the wheel by `uvx --from WHEEL`, which is `uv tool run`, on a home with one file to read."""
    trial = Trial("uvx")
    home = folder / "home"
    rules = home / ".claude" / "CLAUDE.md"
    rules.parent.mkdir(parents=True)
    rules.write_text(NOTE)
    before = sorted(home.rglob("*"))
    folders = {"UV_CACHE_DIR": str(folder / "cache"), "UV_TOOL_DIR": str(folder / "tools")}
    alone = {**environ, **folders, "HOME": str(home), "NO_COLOR": "1"}
    run = [uv, "tool", "run", "--quiet", "--from", str(wheel), "ragmem"]
    try:
        for name, longest in (("demo, cold", COLD_DEMO_S), ("demo, warm", WARM_DEMO_S)):
            shown = _timed(trial, name, [*run, "demo"], home, alone)
            _require(shown.count("\n1. ") == 3, "the demo has not three answers")
            _require(trial.seconds[name] <= longest, f"{name} took more than {longest} s")
        planned = _timed(trial, "setup, dry", [*run, "setup", "--dry-run"], home, alone)
        _require("read 1 file" in planned, "setup does not find the file of the home")
        _require(sorted(home.rglob("*")) == before, "something was written into the home")
    except TrialError as error:
        trial.state, trial.reason = "failed", str(error)
    return trial


def _require(holds: object, what: str) -> None:
    if not holds:
        raise TrialError(what)


def _timed(trial: Trial, name: str, words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> str:
    began = time.monotonic()
    said = _run(words, folder, environ)
    trial.seconds[name] = round(time.monotonic() - began, 1)
    return said


def _run(words: Sequence[str], folder: Path, environ: Mapping[str, str], *, text: str = "") -> str:
    """Run a command and return its output; raises TrialError if it fails."""
    # The program is looked for in the PATH of the environment that it gets, not in ours.
    program = shutil.which(words[0], path=environ["PATH"])
    if program is None:
        raise TrialError(f"there is no {words[0]}")
    try:
        done = subprocess.run(
            [program, *words[1:]],
            cwd=folder,
            env=dict(environ),
            input=text,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TrialError(f"{' '.join(words[:3])} took more than {LONGEST_S} s") from error
    if done.returncode:
        told = " ".join((done.stderr or done.stdout).split())
        raise TrialError(f"{Path(words[0]).name} {words[1]}: exit code {done.returncode}: {told[-300:]}")
    return done.stdout


def _lines(trials: Sequence[Trial]) -> list[str]:
    names = list(dict.fromkeys(name for one in trials for name in one.seconds))
    lines = ["| Python | " + " | ".join(f"{name}, s" for name in names) + " | state |"]
    lines.append("| --- |" + " ---: |" * len(names) + " --- |")
    for one in trials:
        cells = (str(one.seconds.get(name, "")) for name in names)
        state = f"{one.state}: {one.reason}" if one.reason else one.state
        lines.append(f"| {one.python or one.version} | {' | '.join(cells)} | {state} |")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The wheels of a bundle: the installed ragmem and its dependencies, in the installed versions."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from ragmem.errors import BackendError, RagmemError, UsageError

PACKAGE = "ragmem"

_SYSTEMS = {"linux": ("linux", "manylinux", "musllinux"), "darwin": ("macosx",)}
"""The prefixes of a system's platform names."""

_SEPARATORS = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class WheelTarget:
    """The target of the wheels: this machine's Python, unless another platform or version is named.

    With `folder` they are taken from there, not from an index.
    """

    extras: tuple[str, ...] = ()
    folder: Path | None = None
    platforms: tuple[str, ...] = ()
    python: str = ""

    @property
    def foreign(self) -> bool:
        """Return whether the target is another machine, for which nothing can be built here."""
        return bool(self.platforms or self.python)

    @property
    def for_python(self) -> str:
        """Return the Python version of the target, such as 3.11."""
        return self.python or f"{sys.version_info[0]}.{sys.version_info[1]}"

    @property
    def for_platform(self) -> str:
        """Return the platforms of the target."""
        here = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        return " ".join(self.platforms) or here


def check(target: WheelTarget) -> None:
    """Raise UsageError for impossible wheels, BackendError without pip."""
    for name in target.platforms:
        if not name.startswith(_SYSTEMS.get(sys.platform, "any")) and name != "any":
            raise UsageError(
                f'wheels for "{name}" cannot be chosen on this system',
                hint="pip resolves dependencies for the system that it runs on: build the bundle there",
            )
    known = importlib.metadata.metadata(PACKAGE).get_all("Provides-Extra") or []
    for extra in target.extras:
        if extra not in known:
            raise UsageError(f'ragmem has no extra "{extra}"', hint=f"extras: {', '.join(sorted(known))}")
    if target.folder is not None and not any(target.folder.glob("*.whl")):
        raise UsageError(f'there are no wheels in "{target.folder}"', hint="fill it with `pip download`")
    if importlib.util.find_spec("pip") is None:
        raise BackendError(
            "collecting wheels needs pip, which is missing in this environment",
            hint="python -m ensurepip, or omit the wheels with --no-wheels",
        )


def source_folder() -> Path | None:
    """Return the folder that ragmem was installed from, None if it came from an index."""
    text = importlib.metadata.distribution(PACKAGE).read_text("direct_url.json")
    if not text:
        return None
    url = urllib.parse.urlsplit(orjson.loads(text).get("url", ""))
    folder = Path(urllib.request.url2pathname(url.path))
    return folder if url.scheme == "file" and folder.is_dir() else None


def own_version() -> str:
    """Return the version of the installed ragmem."""
    return importlib.metadata.version(PACKAGE)


def own_wheel_source(target: WheelTarget) -> str:
    """Return the source of ragmem's own wheel, for people."""
    if target.folder is not None and _list_own_wheels(target.folder):
        return f'"{target.folder}"'
    folder = source_folder()
    return f'built from "{folder}"' if folder else "the package index"


def collect(target: WheelTarget, folder: Path) -> str:
    """Download all wheels into a new folder and return the version of ragmem among them.

    Raises RagmemError with pip's message if a wheel is unavailable.
    """
    folder.mkdir(mode=0o700)
    constraints = folder.parent / "constraints.txt"
    constraints.write_text("".join(_constraints()), encoding="utf-8")
    places = ("--no-index", "--find-links", str(target.folder)) if target.folder else ()
    named = PACKAGE + (f"[{','.join(target.extras)}]" if target.extras else "")
    own = _find_own_wheel(target, folder.parent / "own", places)
    # By path, so that no index can offer another package of that name.
    what = f"{named} @ {own.as_uri()}" if own else f"{named}=={own_version()}"
    chosen = ("--constraint", str(constraints), *places, what)
    if target.foreign:
        _pip("download", "--only-binary=:all:", "--dest", str(folder), *_platform_options(target), *chosen)
    else:
        _pip("wheel", "--wheel-dir", str(folder), *chosen)
    return own.name.split("-")[1] if own else own_version()


def _find_own_wheel(target: WheelTarget, workplace: Path, places: Sequence[str]) -> Path | None:
    """Return ragmem's own wheel, built if necessary; None if it is on the index."""
    if target.folder and (found := _list_own_wheels(target.folder)):
        return found[-1].resolve()
    folder = source_folder()
    if folder is None:
        return None
    _pip("wheel", "--no-deps", "--wheel-dir", str(workplace), *places, str(folder))
    return next(workplace.resolve().glob(f"{PACKAGE}-*.whl"))


def _platform_options(target: WheelTarget) -> list[str]:
    tags = [option for name in target.platforms for option in ("--platform", name)]
    return tags + (["--python-version", target.python] if target.python else [])


def _list_own_wheels(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PACKAGE}-{own_version()}-*.whl"))


def _constraints() -> list[str]:
    """Return the versions of all installed packages, so that the target runs the tested ones."""
    versions = {
        _SEPARATORS.sub("-", found.name).lower(): found.version
        for found in importlib.metadata.distributions()
    }
    return [f"{name}=={version}\n" for name, version in sorted(versions.items()) if name != PACKAGE]


def _pip(*arguments: str) -> None:
    environment: Mapping[str, str] = {
        **os.environ,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }
    done = subprocess.run(  # noqa: S603 - no shell
        [sys.executable, "-m", "pip", "--quiet", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=environment,
    )
    if done.returncode:
        raise RagmemError(
            f"pip could not collect the wheels: {_reason(done.stderr.splitlines())}",
            hint="use --wheels DIR for a folder, or --no-wheels",
        )


def _reason(lines: Sequence[str]) -> str:
    told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return told[0] if told else next((line for line in reversed(lines) if line.strip()), "no output")

"""`ragmem models bundle`: one archive for a machine without a network."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import open_memory, plural, say, say_json, size, table, tell
from ragmem.cli.options import DryRunOption, ForceOption, JsonOption, QuietOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.models.bundle import Plan
    from ragmem.services.models.bundle_archive import Manifest
    from ragmem.services.models.bundle_wheels import WheelTarget

EPILOG = """\b
Examples:
  ragmem models bundle ragmem.tar --extras code,onnx,serve
  ragmem models bundle ragmem.tar --dry-run
  ragmem models bundle --verify ragmem.tar

\b
Exit codes:
  0  written, or verified
  2  usage, or the file exists
  3  a wheel is not available, or the bundle is damaged
  4  pip is missing
"""


def bundle(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The archive, .tar or .tar.gz.", dir_okay=False)
    ],
    with_models: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="MODEL", help="Add this model: a name or a folder; repeatable."),
    ] = None,
    extras: Annotated[str, typer.Option("--extras", help="Add what these extras need: onnx,serve.")] = "",
    no_wheels: Annotated[bool, typer.Option("--no-wheels", help="Only models and configuration.")] = False,
    wheels: Annotated[
        Path | None,
        typer.Option(
            "--wheels",
            metavar="DIR",
            help="Take the wheels from this folder, without network access.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    platform: Annotated[
        list[str] | None,
        typer.Option("--platform", help="Wheels for this platform, in pip's notation; repeatable."),
    ] = None,
    python_version: Annotated[
        str, typer.Option("--python-version", metavar="VERSION", help="Wheels for this Python: 3.12.")
    ] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Verify every file of a bundle; write nothing.")
    ] = False,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Pack wheels, models and configuration for a machine without a network."""
    from ragmem.services.models.bundle import build, plan
    from ragmem.services.models.bundle_archive import is_compressed, sizes_by_part
    from ragmem.services.models.bundle_wheels import WheelTarget
    from ragmem.services.processes.atomic_write import place_for

    asked = [with_models, extras, no_wheels, wheels, platform, python_version, force, dry_run]
    if verify and any(asked):
        raise UsageError(
            "--verify cannot be combined with other options", hint=f"ragmem models bundle --verify {file}"
        )
    if verify:
        return _verify(file, as_json=as_json)
    if no_wheels and any((extras, wheels, platform, python_version)):
        raise UsageError("--no-wheels cannot be combined with options for wheels", hint="omit one of them")
    wanted = None
    if not no_wheels:
        names = tuple(name for part in extras.split(",") if (name := part.strip()))
        folder = wheels.resolve() if wheels else None
        wanted = WheelTarget(names, folder, tuple(platform or ()), python_version)
        _check_network(wanted)
    is_compressed(file)
    with open_memory(quiet=quiet) as memory:
        decided = plan(
            memory.settings,
            models=with_models or (),
            wheels=wanted,
            environ=os.environ,
            home=memory.home,
            cwd=memory.cwd,
        )
    if not quiet:
        for note in decided.notes:
            tell(f"note: {note}")
    if dry_run:
        place_for(file, force=force)
        _say_plan(decided, file, as_json=as_json)
        return EXIT_OK
    if wanted is not None and not quiet:
        tell(f"collecting wheels; ragmem's own: {decided.wheels_from}")
    made = build(decided, file, force=force)
    parts = _parts(sizes_by_part((part.name, part.bytes) for part in made.manifest.files))
    if as_json:
        said = {"file": str(made.path), "bytes": made.bytes, "sha256": made.sha256, "notes": decided.notes}
        say_json({"schema": 1, "dry_run": False, **said, **_shape(made.manifest), "parts": parts})
        return EXIT_OK
    _say_parts(parts)
    say()
    say(f"{made.path}  {size(made.bytes)}")
    say(f"sha256  {made.sha256}")
    return EXIT_OK


def _check_network(wanted: "WheelTarget") -> None:
    from ragmem.config import offline

    if offline.active() and wanted.folder is None:
        raise UsageError(
            "offline, wheels can only come from a folder", hint="use --wheels DIR, or --no-wheels"
        )


def _verify(file: Path, *, as_json: bool) -> int:
    from ragmem.services.models.bundle_archive import sizes_by_part, verify

    manifest = verify(file)
    parts = _parts(sizes_by_part((part.name, part.bytes) for part in manifest.files))
    if as_json:
        say_json({"schema": 1, "sound": True, "file": str(file), **_shape(manifest), "parts": parts})
    else:
        _say_parts(parts)
        say()
        say(f"verified: {plural(len(manifest.files), 'file')} as they were packed")
    return EXIT_OK


def _shape(manifest: "Manifest") -> dict[str, Any]:
    return {
        "ragmem": manifest.ragmem,
        "python": manifest.python or None,
        "platform": manifest.platform or None,
        "extras": list(manifest.extras),
        "models": list(manifest.models),
    }


def _parts(sizes: dict[str, tuple[int, int]]) -> list[dict[str, Any]]:
    return [{"part": name, "files": count, "bytes": total} for name, (count, total) in sizes.items()]


def _say_parts(parts: list[dict[str, Any]]) -> None:
    table(("part", "files", "size"), [(part["part"], part["files"], size(part["bytes"])) for part in parts])


def _say_plan(decided: "Plan", file: Path, *, as_json: bool) -> None:
    parts = _parts(decided.sizes())
    if as_json:
        said = {"file": str(file), "notes": decided.notes, "wheels_from": decided.wheels_from or None}
        say_json({"schema": 1, "dry_run": True, **said, "parts": parts})
        return
    rows: list[tuple[Any, ...]] = [(part["part"], part["files"], size(part["bytes"])) for part in parts]
    if decided.wheels is not None:
        rows.append(("wheels", "", "known after they are collected"))
    table(("part", "files", "size"), rows)
    if decided.wheels is not None:
        say(f"ragmem's own wheel: {decided.wheels_from}")
    say(f"would write {file}")

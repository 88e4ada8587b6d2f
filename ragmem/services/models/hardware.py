"""Check whether this machine can run a large model: its memory and its accelerator."""

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ragmem.config.hub import MODELS, find_model
from ragmem.config.settings import Settings
from ragmem.services.models.local_models import LocalModel, examine_folder
from ragmem.services.models.use import LOCAL_BACKEND

LARGE = 300_000_000
"""Number of parameters above which a model is too slow without an accelerator."""

# Measured on one core of a server with AVX-512, with OpenBLAS where it helps; see docs/models.md.
_OPERATIONS_PER_PARAMETER = 2  # per token
_EMBEDDING_OPERATIONS_PER_S = 100e9
"""For an embedding model with float32 weights, which processes whole texts at once."""
_CHAT_OPERATIONS_PER_S = 1.5e9
"""For a language model with quantised weights, which generates token by token."""

_WIDE_BYTES = 4
"""Bytes of a parameter in float32."""

MEMORY_SHARE = 0.7
"""Share of a machine's memory that a model may use."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The relevant hardware: `accelerator` is "Metal", "CUDA" or ""; memory in bytes, 0 if unknown."""

    accelerator: str
    memory: int


def detect_machine() -> Machine:
    """Return the hardware of this machine; loads nothing."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):  # not available on this system
        memory = 0
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return Machine("Metal", memory)
    nvidia = Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()
    return Machine("CUDA" if nvidia else "", memory)


def configured_models(
    settings: Settings, environ: Mapping[str, str], *, home: Path
) -> Iterator[tuple[str, LocalModel]]:
    """Yield (table, model) of the configured local models."""
    for table, chosen in (("models", settings.models), ("language_model", settings.language_model)):
        if chosen.backend != LOCAL_BACKEND or not chosen.model:
            continue
        folder: Path | None = Path(chosen.model).expanduser()
        if not chosen.model.startswith(("/", "~", ".")):
            folder = find_model(
                chosen.model, models=settings.places.data / MODELS, environ=environ, home=home
            )
        model = examine_folder(chosen.model, "cache", folder) if folder is not None else None
        if model is not None:
            yield table, model


def hardware_problems(table: str, model: LocalModel, machine: Machine) -> list[str]:
    """Return the problems of a model on this machine, one line each."""
    found = []
    wide = table == "models" and not machine.accelerator
    needed = max(model.bytes, model.parameters * _WIDE_BYTES) if wide else model.bytes
    if machine.memory and needed > machine.memory * MEMORY_SHARE:
        found.append(
            f"{model.name} needs {needed / 1e9:.1f} GB of memory; there are {machine.memory / 1e9:.1f}"
        )
    if model.parameters > LARGE and not machine.accelerator:
        speed = _EMBEDDING_OPERATIONS_PER_S if table == "models" else _CHAT_OPERATIONS_PER_S
        rate = speed / (_OPERATIONS_PER_PARAMETER * model.parameters)
        found.append(
            f"{model.name} has {model.parameters / 1e6:,.0f} million parameters; large MLX models are for"
            f" Apple silicon or CUDA: a processor makes about {rate:.2g} tokens a second of it"
        )
    return found

"""Which engine runs the bundled model on this machine."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragmem.errors import BackendError, ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENGINES = ("auto", "numpy", "onnx", "mlx")
INT8_FLAGS = frozenset({"avx512_vnni", "avx_vnni"})
"""Without them x86 processors may saturate int8 products, and are no faster with them than with float32."""

ARM = frozenset({"arm64", "aarch64"})

CPU_INFO = Path("/proc/cpuinfo")


class Engine(Protocol):
    """Turns token ids into vectors."""

    @property
    def id(self) -> str:
        """Name of the engine; it is stored with the vectors."""

    @property
    def batch_tokens(self) -> int:
        """Fewest tokens that one call should get, if there are that many."""

    def forward(self, sequences: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        """Return unit vectors (n, 384) of n >= 1 sequences; safe to call from several threads."""


def has_fast_int8(*, machine: str, cpu_info: str) -> bool:
    """Return whether int8 arithmetic is fast and exact, from the machine type and /proc/cpuinfo."""
    if machine.lower() in ARM:
        return True
    return any(INT8_FLAGS & set(line.split()) for line in cpu_info.splitlines() if line.startswith("flags"))


def candidates(*, system: str, machine: str, cpu_info: str, installed: frozenset[str]) -> tuple[str, ...]:
    """Return the engines to try, best first; numpy is always the last.

    `system` is sys.platform, `machine` is platform.machine(), `installed` names those of mlx and onnxruntime
    that can be imported.
    """
    order = []
    if system == "darwin" and machine == "arm64" and "mlx" in installed:
        order.append("mlx")
    if "onnxruntime" in installed and has_fast_int8(machine=machine, cpu_info=cpu_info):
        order.append("onnx")
    return (*order, "numpy")


def local_candidates() -> tuple[str, ...]:
    """Return the engines to try on this machine, best first by its processor; numpy is always the last."""
    installed = frozenset(name for name in ("mlx", "onnxruntime") if find_spec(name) is not None)
    return candidates(
        system=sys.platform, machine=machine_type(), cpu_info=read_cpu_info(), installed=installed
    )


def must_measure(names: Sequence[str]) -> bool:
    """Return whether the fastest of these candidates is unknown, best first by its processor.

    On x86 processors with INT8_FLAGS, onnx has 2.4 to 3 times the speed of numpy (benchmarks/embed.py).
    """
    is_arm = machine_type().lower() in ARM
    return len(names) > 1 and (is_arm or names[0] != "onnx")


def processor_name() -> str:
    """Return a name of this machine's processor, as far as the system reveals it cheaply."""
    lines = read_cpu_info().splitlines()
    model = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "CPU part"))]
    flags = sorted(INT8_FLAGS & {word for line in lines if line.startswith("flags") for word in line.split()})
    return " ".join([sys.platform, machine_type(), *model, *flags])


def open_engine(name: str, folder: Path, *, first: str | None = None) -> Engine:
    """Open an engine on the weights in `folder`.

    "auto" takes the first candidate that loads; `first` is one that is tried before the others. Raise
    BackendError when the weights are missing or damaged or the named engine is not installed, ConfigError
    when there is no engine of that name.
    """
    if name != "auto":
        return _open(name, folder)
    *better, last = local_candidates()
    if first in {*better, last}:
        better = [str(first), *(each for each in better if each != first)]
    for candidate in better:
        try:
            return _open(candidate, folder)
        except BackendError:  # a broken optional library must not take the memory away
            continue
    return _open(last, folder)


def _open(name: str, folder: Path) -> Engine:
    weights = folder / "minilm.safetensors"
    if name == "numpy":
        from ragmem.backends.minilm.numpy_engine import NumpyEngine
        from ragmem.backends.minilm.weights import Weights

        return NumpyEngine(Weights(weights))
    if name == "onnx":
        from ragmem.backends.minilm.onnx_engine import OnnxEngine

        return OnnxEngine(folder / "minilm.onnx")
    if name == "mlx":
        # By name, because that package imports this one.
        engine: Engine = import_module("ragmem.backends.mlx.minilm").MlxEngine(weights)
        return engine
    raise ConfigError(f'there is no engine "{name}"', hint=f"engine is one of {', '.join(ENGINES)}")


def machine_type() -> str:
    """Return the machine type, such as "x86_64" or "arm64"."""
    if hasattr(os, "uname"):
        return os.uname().machine
    import platform  # Windows; elsewhere 3 ms that a question can do without

    return platform.machine()


def read_cpu_info() -> str:
    """Return the lines of /proc/cpuinfo about one processor; empty where there is no such file."""
    try:
        # One processor's lines: they are the same for all, and on a large server the file takes its time.
        return CPU_INFO.read_text(encoding="ascii", errors="replace").partition("\n\n")[0]
    except OSError:  # not Linux
        return ""

"""The engine on onnxruntime: the same weights in int8 arithmetic, fastest where the processor has it."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.weights import Weights
from ragmem.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ERRORS_ONLY = 3

FEW = 8
"""Sequences before the weights are packed, which takes as long as it saves on so many."""


class OnnxEngine:
    """One session, safe to run from several threads.

    It gets one sequence at a time: dynamic quantisation scales whole tensors, so in a batch a text's vector
    would depend on the others.
    """

    id = "onnx"
    batch_tokens = 256
    """The unit of work for a thread; the session itself never gets a batch."""

    def __init__(self, graph: Path) -> None:
        """Open the session; raise BackendError when onnxruntime is missing or refuses the graph."""
        Weights(graph.with_name("minilm.safetensors"))  # onnxruntime's own message for a bad file says little
        self._np = import_numpy()
        self._graph = graph
        self._session = self._open_session(packed=False)
        self._unpacked = FEW
        self._packing = threading.Lock()

    def _open_session(self, *, packed: bool) -> Any:
        onnxruntime = import_onnxruntime(hint="pip install 'ragmem[onnx]', or set engine = auto")
        options = session_options(onnxruntime, threads=1)
        # The kernels get the same panels either way: the vectors are the same to the bit.
        options.add_session_config_entry("session.disable_prepacking", "0" if packed else "1")
        try:
            return onnxruntime.InferenceSession(str(self._graph), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a dozen exception types without a common base
            message = f'onnxruntime cannot open "{self._graph}": {str(error).splitlines()[0]}'
            raise BackendError(message, hint="reinstall ragmem, or set engine = numpy") from error

    def _session_for(self, count: int) -> Any:
        """Return the session for so many more sequences."""
        if self._unpacked > 0:
            with self._packing:
                if 0 < self._unpacked <= count:
                    self._session = self._open_session(packed=True)
                self._unpacked -= count
        return self._session

    def forward(self, sequences: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        """Return unit vectors (n, 384) of n >= 1 sequences of 2 to 256 token ids; repeatable to the bit.

        Raise BackendError where onnxruntime fails.
        """
        np, session = self._np, self._session_for(len(sequences))
        try:
            vectors = [
                session.run(["vector"], {"token_ids": np.asarray([sequence], np.int64)})[0]
                for sequence in sequences
            ]
        except Exception as error:  # see above
            message = f"onnxruntime cannot embed: {(str(error) or type(error).__name__).splitlines()[0]}"
            raise BackendError(message, hint="set engine = numpy in config.toml, [models]") from error
        return np.concatenate(vectors)  # type: ignore[no-any-return]


def import_onnxruntime(*, hint: str) -> Any:
    """Import onnxruntime with its telemetry turned off; raise BackendError with this hint without it."""
    # Since 1.29 its Linux and macOS wheels report to their maker unless this is set before the import
    # (github.com/microsoft/onnxruntime, pull request 27379), and they write a device id into the cache.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise BackendError(f"the onnx engine cannot load: {error}", hint=hint) from error
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def session_options(onnxruntime: Any, *, threads: int) -> Any:
    """Return options of a session with a number of threads for each operator, which logs errors only."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Texts differ in length: a plan of memory for each length would grow without end.
    options.enable_mem_pattern = False
    options.log_severity_level = ERRORS_ONLY
    return options

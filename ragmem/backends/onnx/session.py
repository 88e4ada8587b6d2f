"""A session of onnxruntime on a model's graph: token ids in, numbers out."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakMethod

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.onnx_engine import import_onnxruntime, session_options
from ragmem.backends.mlx.device import MEGABYTE, first_line, usable_memory
from ragmem.backends.onnx.description import Graph
from ragmem.backends.onnx.options import OnnxOptions
from ragmem.errors import BackendError
from ragmem.heap import trim_heap

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_M = TypeVar("_M")

LONG = 512
"""Tokens of a text from which its memory of attention counts."""

INSTALL = "pip install 'ragmem[onnx]'"


class Session:
    """A graph in memory; safe to run from several threads."""

    def __init__(self, graph: Graph, options: OnnxOptions) -> None:
        """Load the graph; raise BackendError where onnxruntime is missing or refuses it."""
        self._np = import_numpy()
        self._graph = graph
        self._threads = options.threads
        self._long = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._opening = threading.Lock()
        limit = int(options.memory_limit_mb * MEGABYTE) or usable_memory()
        if graph.header.weight_bytes > limit:
            raise BackendError(
                f'the model "{graph.name}" needs {graph.header.weight_bytes / MEGABYTE:,.0f} MB, '
                f"the limit is {limit / MEGABYTE:,.0f} MB",
                hint="use a smaller model or its int8 file, or raise memory_limit_mb in its options",
            )
        onnxruntime = import_onnxruntime(hint=INSTALL)
        # Batches run side by side: threads within an operator cost a fifth more processor time.
        settings = session_options(onnxruntime, threads=1)
        self._run_options = onnxruntime.RunOptions()
        # The memory of a large batch goes back to the system when the batch is done.
        self._run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(graph.path), settings, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has a dozen exception types without a common base
            raise BackendError(
                f'onnxruntime cannot open "{graph.path}": {first_line(error)}',
                hint="fetch the model again with `ragmem models pull`, or update onnxruntime",
            ) from error

    def map(self, work: Callable[[Sequence[int]], None], batches: Sequence[Sequence[int]]) -> None:
        """Call `work` with each batch of places, in several threads; raise its first error."""
        if self._threads == 1 or len(batches) == 1:
            for places in batches:
                work(places)
            return
        from concurrent.futures import ThreadPoolExecutor  # 9 ms, and a single question needs no pool

        with self._opening:
            self._pool = self._pool or ThreadPoolExecutor(self._threads, thread_name_prefix="onnx")
        for _ in self._pool.map(work, batches):
            pass

    def run(
        self, output: str, sequences: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]] = ()
    ) -> Any:
        """Return an output as float32 for sequences of ids, padded on the right.

        `kinds` are their token types, zeros if left out. Raise BackendError where onnxruntime fails.
        """
        return self.compute(output, self._feed(sequences, kinds), tokens=max(map(len, sequences)))

    def compute(self, output: str, feed: Mapping[str, Any], *, tokens: int) -> Any:
        """Return an output as float32; `feed` has an array for each input, `tokens` is the longest text's.

        Raise BackendError where onnxruntime fails.
        """
        np, inputs = self._np, self._graph.header.inputs
        arrays = {name: np.ascontiguousarray(feed[name], inputs[name].type) for name in inputs}
        # The memory of attention grows with the square: long texts take it one after the other.
        alone = self._long if tokens > LONG else nullcontext()
        try:
            with alone:
                found = self._session.run([output], arrays, self._run_options)[0]
        except Exception as error:  # see above
            raise BackendError(
                f'the model "{self._graph.name}" cannot be computed: {first_line(error)}',
                hint="use another model, or another of its ONNX files: NAME@FILE",
            ) from error
        return np.asarray(found, np.float32)

    def _feed(self, sequences: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]]) -> dict[str, Any]:
        np = self._np
        shape = (len(sequences), max(map(len, sequences)))
        ids = np.full(shape, self._graph.padding, np.int64)
        types, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        for row, kind in enumerate(kinds):
            types[row, : len(kind)] = kind
        feed: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": types,
            "position_ids": np.broadcast_to(np.arange(shape[1]), shape),
            "use_cache_branch": np.zeros(1, bool),
        }
        for name, (heads, width) in self._graph.past.items():
            feed[name] = np.zeros((shape[0], heads, 0, width))
        return feed


class Resident(Generic[_M]):
    """Something that is loaded on first use and freed when it was idle for a while; safe in threads."""

    def __init__(self, load: Callable[[], _M], *, idle_s: float) -> None:
        """Take the function that loads it; `idle_s` is 0 for never freeing it."""
        self._load, self._idle_s = load, idle_s
        self._guard = threading.Lock()
        self._model: _M | None = None
        self._used = 0.0
        self._timer: threading.Timer | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether it is in memory."""
        return self._model is not None

    def get(self) -> _M:
        """Return it, loaded; raise what the loading raises."""
        with self._guard:
            if self._model is None:
                self._model = self._load()
            self._used = time.monotonic()
            self._watch(self._idle_s)
            return self._model

    def touch(self) -> None:
        """Count the time until it is idle from now."""
        self._used = time.monotonic()

    def free(self) -> None:
        """Free it; the next use loads it again."""
        with self._guard:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._model = None
        trim_heap()

    def _watch(self, seconds: float) -> None:
        if self._idle_s and self._timer is None:
            self._timer = threading.Timer(
                min(seconds, threading.TIMEOUT_MAX), _call, [WeakMethod(self._free_if_idle)]
            )
            self._timer.daemon = True  # a process that ends does not wait for it
            self._timer.start()

    def _free_if_idle(self) -> None:
        with self._guard:
            self._timer = None
            rest = self._used + self._idle_s - time.monotonic()
            if rest > 0 and self._model is not None:
                self._watch(rest)
                return
            self._model = None
        trim_heap()


def _call(method: "WeakMethod[Callable[[], None]]") -> None:
    """Call a method if its object still exists."""
    found = method()
    if found is not None:
        found()

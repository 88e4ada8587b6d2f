"""A cross-encoder on onnxruntime: it reads question and text together and returns a score."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.cross_encoder import LONGEST_QUESTION, WINDOW
from ragmem.backends.model_folder import find_folder, model_name
from ragmem.backends.onnx.description import Graph, describe_graph
from ragmem.backends.onnx.options import OnnxOptions, read_options
from ragmem.backends.onnx.session import Resident, Session
from ragmem.backends.onnx.variants import split_model
from ragmem.backends.tokens import bucket, clean, load_tokenizer
from ragmem.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_TOKENS = 512
"""Tokens of one batch, padding included; the time is looked at between batches."""

SHARE_OF_TIMEOUT = 0.9
"""The part of the time limit that is used; who asked needs some of the rest."""

_HINT = "name a cross-encoder with one label in config.toml, [reranker]"


class OnnxReranker:
    """Scores of pairs; satisfies ports.Reranker, safe in several threads. Loads on first use."""

    def __init__(self, graph: Graph, output: str, options: OnnxOptions) -> None:
        self._graph, self._output, self._options = graph, output, options
        self._window = min(graph.window, options.window or WINDOW)
        self._opening = threading.Lock()
        self._tokenizer: Any = None
        self._session = Resident(lambda: Session(graph, options), idle_s=options.idle_s)

    @property
    def model_id(self) -> str:
        """Name of the model."""
        return self._graph.name

    def score(self, query: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the score of each text (n,), higher is better.

        The texts are read in their order as far as `timeout_s` allows, loading included: a batch that would
        end too late does not begin. A text that was not read has NaN. Raises BackendError where the model
        does not load, or reads no text in that time.
        """
        np = import_numpy()
        until = time.monotonic() + (self._options.timeout_s or float("inf")) * SHARE_OF_TIMEOUT
        scores = np.full(len(texts), np.nan, np.float32)
        if not texts:
            return scores  # type: ignore[no-any-return]
        session, pairs = self._session.get(), self._encode(query, texts)

        slowest = 0.0  # seconds of a token so far

        def work(places: Sequence[int]) -> None:
            nonlocal slowest
            tokens = len(places) * max(len(pairs[place][0]) for place in places)
            began = time.monotonic()
            if began + slowest * tokens > until:
                return
            found = session.run(
                self._output, [pairs[place][0] for place in places], [pairs[place][1] for place in places]
            )
            if found.size != len(places) or not np.isfinite(found).all():
                raise BackendError(
                    f'the reranker "{self.model_id}" gives an array {found.shape} for {len(places)} texts',
                    hint=_HINT,
                )
            scores[places] = found.reshape(-1)
            slowest = max(slowest, (time.monotonic() - began) / tokens)

        session.map(work, self._batches([len(ids) for ids, _ in pairs]))
        if np.isnan(scores).all():
            raise BackendError(
                f'the reranker "{self.model_id}" read no text within {self._options.timeout_s:g} s',
                hint="raise timeout_s in config.toml, [reranker], or use a smaller model",
            )
        return scores  # type: ignore[no-any-return]

    def close(self) -> None:
        """Free the model; the next text would load it again."""
        self._session.free()
        with self._opening:
            self._tokenizer = None

    def _batches(self, lengths: Sequence[int]) -> list[list[int]]:
        """Return the places of the texts in batches, the first texts first."""
        if not self._graph.batches:
            return [[place] for place in range(len(lengths))]
        limit = self._options.batch_tokens or BATCH_TOKENS
        return sorted((sorted(each) for each in bucket(lengths, tokens=limit)), key=min)

    def _encode(self, query: str, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """Return ids and token types of each pair; the text is cut at the window, a long question before."""
        with self._opening:
            if self._tokenizer is None:
                self._tokenizer = load_tokenizer(self._graph.folder, extra="onnx")
                self._tokenizer.enable_truncation(self._window)  # cuts the longer of both
        query = clean(query, window=LONGEST_QUESTION)
        asked = self._tokenizer.encode(query, add_special_tokens=False)
        most = min(LONGEST_QUESTION, self._window // 3)
        if len(asked.ids) > most:
            query = query[: asked.offsets[most - 1][1]]
        found = [self._tokenizer.encode(query, clean(text, window=self._window)) for text in texts]
        return [(each.ids, each.type_ids) for each in found]


def open_reranker(model: str, options: Mapping[str, object]) -> OnnxReranker:
    """Return the reranker of a model, not yet loaded; `model` has the form of the option `reranker`.

    Raise BackendError where files are missing, damaged or not those of a cross-encoder with one label.
    """
    name, wanted = split_model(model)
    folder = find_folder(name, options, prefix="onnx:")
    checked = read_options(options)
    graph = describe_graph(folder, model_name(name, folder), wanted, checked)
    for output, tensor in graph.header.outputs.items():
        if output == "logits" and tensor.shape is not None and len(tensor.shape) <= 2:
            labels = tensor.shape[-1] if len(tensor.shape) == 2 else 1
            labels = labels or len(graph.config.get("id2label") or {0: ""})
            if labels == 1:
                return OnnxReranker(graph, output, checked)
            raise BackendError(f'"{graph.path}" has {labels} labels for each text', hint=_HINT)
    raise BackendError(f'"{graph.path}" has no output "logits" with one number for each text', hint=_HINT)

"""A BERT cross-encoder from a folder, in numpy: it reads question and text together and returns a score.

The folder is one of the hub's: config.json, vocab.txt and model.safetensors with the tensors of a
BertForSequenceClassification with one label, such as the ms-marco-MiniLM models, which have six layers of the
bundled embedder's size. Each pair is computed alone, so that no score depends on the other texts.
"""

import json
import struct
import threading
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.wordpiece import WordPiece, read_vocabulary
from ragmem.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILES = ("config.json", "vocab.txt", "model.safetensors")

WINDOW = 512
"""Most tokens of a pair; a model with fewer positions reads fewer."""

LONGEST_QUESTION = 64
"""Most tokens of the question, so that the text has room."""

_HINT = "name the folder of a cross-encoder (a BERT with one label) in config.toml, [reranker]"
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class CrossEncoder:
    """Scores of pairs; satisfies ports.Reranker, safe in several threads. Loads on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._loading = threading.Lock()
        self._network: _Network | None = None

    @property
    def model_id(self) -> str:
        """Name of the folder."""
        return self.folder.name

    def find_problems(self) -> list[str]:
        """Return the missing files, one line each."""
        paths = [self.folder / name for name in FILES]
        return [f'the reranker lacks "{path}"' for path in paths if not path.is_file()]

    def score(self, query: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the score of each text (n,), higher is better; raises BackendError for damaged files."""
        np = import_numpy()
        if not texts:
            return np.zeros(0, np.float32)  # type: ignore[no-any-return]
        network = self._load_network()
        return np.array([network.score(query, text) for text in texts], np.float32)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Free the model; the next text would load it again."""
        with self._loading:
            self._network = None

    def _load_network(self) -> "_Network":
        with self._loading:
            if self._network is None:
                if problems := self.find_problems():
                    raise BackendError(problems[0], hint=_HINT)
                try:
                    self._network = _Network(self.folder)
                except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                    raise BackendError(
                        f'"{self.folder}" does not load as a cross-encoder: {error}', hint=_HINT
                    ) from error
            return self._network


class _Network:
    """The weights as float32, and the forward pass."""

    def __init__(self, folder: Path) -> None:
        self._np = np = import_numpy()
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError("it is not a BERT model with GELU activation")
        self._weights = {
            name.removeprefix("bert."): values
            for name, values in read_tensors(folder / "model.safetensors").items()
        }
        self._layers, self._heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._positions = self._weights["embeddings.position_embeddings.weight"]
        vocabulary = read_vocabulary(folder / "vocab.txt")
        self._tokenizer = WordPiece(vocabulary)
        self._window = min(WINDOW, len(self._positions))
        self._start, self._end = self._tokenizer.encode("", limit=2)
        words = len(self._weights["embeddings.word_embeddings.weight"])
        if len(vocabulary) > words:
            raise ValueError(f"its vocabulary has {len(vocabulary)} pieces, the model {words}")
        # Computes one pair, so that a missing or misshapen tensor is reported now.
        if self._weights["classifier.weight"].shape[0] != 1 or not np.isfinite(self.score("", "")):
            raise ValueError("it does not have exactly one label")

    def score(self, query: str, text: str) -> float:
        """Return the score of a pair: its first token, pooled and classified."""
        np = self._np
        asked = self._tokenizer.pieces(query)[:LONGEST_QUESTION]
        asked = asked[: max(0, self._window // 2 - 2)]
        read = self._tokenizer.pieces(text)[: self._window - len(asked) - 3]
        ids = [self._start, *asked, self._end, *read, self._end]
        kinds = [0] * (len(asked) + 2) + [1] * (len(read) + 1)
        first = self.hidden_states(ids, kinds)[0]
        pooled = np.tanh(self._linear(first, "pooler.dense"))
        return float(self._linear(pooled, "classifier")[0])

    def hidden_states(self, ids: Sequence[int], kinds: Sequence[int]) -> Any:
        """Return the last layer's vectors (tokens, width) of token ids with their token types."""
        weights = self._weights
        x = (
            weights["embeddings.word_embeddings.weight"][list(ids)]
            + weights["embeddings.token_type_embeddings.weight"][list(kinds)]
            + self._positions[: len(ids)]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        for number in range(self._layers):
            layer = f"encoder.layer.{number}"
            context = self._linear(self._attend(x, layer), f"{layer}.attention.output.dense")
            x = self._norm(x + context, f"{layer}.attention.output.LayerNorm")
            inner = self._gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return x

    def _attend(self, x: Any, layer: str) -> Any:
        np = self._np
        query, key, value = (
            self._linear(x, f"{layer}.attention.self.{part}")
            .reshape(len(x), self._heads, -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        shares = query @ key.transpose(0, 2, 1) * np.float32(query.shape[2] ** -0.5)
        shares = np.exp(shares - shares.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        return (shares @ value).transpose(1, 0, 2).reshape(len(x), -1)

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        np = self._np
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float32(self._epsilon))
        return centred / deviation * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, x: Any) -> Any:
        """Return x * Phi(x), with erf accurate to 1.5e-7.

        The polynomial: Abramowitz and Stegun 1964, 7.1.26.
        """
        np = self._np
        size = np.abs(x) * np.float32(0.5**0.5)
        t = 1 / (1 + np.float32(0.3275911) * size)
        series = t * (
            0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
        )
        return 0.5 * x * (1 + np.sign(x) * (1 - series * np.exp(-size * size)))


def read_tensors(path: Path) -> dict[str, Any]:
    """Return the tensors of a safetensors file as float32, without those of integers.

    Raises ValueError or KeyError for a file that is cut short or of another form.
    """
    np = import_numpy()
    content = path.read_bytes()
    if len(content) < 8:
        raise ValueError("model.safetensors has no header")
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"].startswith(("I", "U", "B")):
            continue
        begin, _ = entry["data_offsets"]
        dtype = np.dtype(_TYPES[entry["dtype"]])
        values = np.frombuffer(content, dtype, prod(entry["shape"]), 8 + length + begin)
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (values.astype(np.uint32) << 16).view(np.float32)
        found[name] = values.reshape(entry["shape"]).astype(np.float32)
    return found

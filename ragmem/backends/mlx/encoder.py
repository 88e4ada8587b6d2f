"""BERT, RoBERTa and XLM-RoBERTa on MLX: models that read a text in both directions."""

import re
from typing import Any

from ragmem.backends.mlx import device
from ragmem.backends.mlx.description import Description
from ragmem.backends.mlx.numerics import MASKED, attend, gelu, pool, unpack
from ragmem.backends.mlx.weights import weight_files
from ragmem.backends.model_folder import first_position
from ragmem.errors import BackendError

# PyTorch's files name the tensors of one BERT differently, depending on the model around it.
_KNOWN = re.compile(r"(?:.*\.)?((?:embeddings|encoder)\..+)")
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}


class Encoder:
    """The forward pass; made and called on the device's thread only."""

    def __init__(self, description: Description) -> None:
        """Load the weights; raise BackendError when the configuration needs an unsupported feature."""
        config = description.config
        activation = config.get("hidden_act", "gelu")
        positions = config.get("position_embedding_type", "absolute")
        if activation != "gelu" or positions != "absolute":
            raise BackendError(
                f'ragmem does not support a {config["model_type"]} with activation "{activation}" and '
                f'positions "{positions}"',
                hint='set library = "mlx-embeddings" in [models.options], or use another model',
            )
        self._mx = device.import_mlx()
        self._on_processor = device.on_processor(self._mx)
        self._layers = int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._pooling = description.pooling
        self._weights = self._load(description)
        token_type = self._weights["embeddings.token_type_embeddings.weight"][0]
        places = self._weights["embeddings.position_embeddings.weight"][first_position(config) :]
        self._places = places + token_type
        self._check_tables(description)

    def __call__(self, token_ids: Any, lengths: Any) -> Any:
        """Return vectors (n, width), not normalised, of ids (n, longest) padded on the right."""
        mx = self._mx
        length = token_ids.shape[1]
        x = self._weights["embeddings.word_embeddings.weight"][token_ids] + self._places[:length]
        x = self._norm(x, "embeddings.LayerNorm")
        mask = mx.where(mx.arange(length) < lengths[:, None], 0, MASKED).astype(x.dtype)[:, None, None, :]
        for number in range(self._layers):
            x = self._layer(x, f"encoder.layer.{number}", mask)
        return pool(mx, x, lengths, self._pooling)

    def _layer(self, x: Any, name: str, mask: Any) -> Any:
        count, length, width = x.shape
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}")
            .reshape(count, length, self._heads, width // self._heads)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scale = (width // self._heads) ** -0.5
        context = attend(self._mx, query, key, value, mask=mask, scale=scale)
        context = context.transpose(0, 2, 1, 3).reshape(count, length, width)
        attended = self._linear(context, f"{name}.attention.output.dense")
        x = self._norm(x + attended, f"{name}.attention.output.LayerNorm")
        hidden = gelu(self._mx, self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _check_tables(self, description: Description) -> None:
        """Raise BackendError where the weights do not match the configuration."""
        words = self._weights["embeddings.word_embeddings.weight"]
        said = (description.config.get("vocab_size"), description.width)
        if words.shape != said or len(self._places) < description.window:
            raise BackendError(
                f'"{description.folder}" has weights for {words.shape[0]} tokens of {words.shape[1]} numbers '
                f"at {len(self._places)} positions, its config.json says {said[0]}, {said[1]} and "
                f"{description.window}",
                hint="fetch the model again with `ragmem models pull`, or use another",
            )

    def _linear(self, x: Any, name: str) -> Any:
        weights = self._weights
        return self._mx.addmm(weights[f"{name}.bias"], x, weights[f"{name}.weight"].T)

    def _norm(self, x: Any, name: str) -> Any:
        weights = self._weights
        return self._mx.fast.layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], self._epsilon)

    def _load(self, description: Description) -> dict[str, Any]:
        mx = self._mx
        stored: dict[str, Any] = {}
        for path in weight_files(description.folder):
            stored |= mx.load(str(path))
        named = {}
        for name, values in stored.items():
            known = _KNOWN.fullmatch(name)
            if known is not None and "position_ids" not in name:
                inner = known[1]
                for old, new in _OLD_NAMES.items():
                    inner = inner.removesuffix(old) + new if inner.endswith(old) else inner
                named[inner] = values
        weights = {}
        for name, values in named.items():
            stem = name.removesuffix(".weight")
            if name.endswith((".scales", ".biases")):
                continue
            if f"{stem}.scales" in named:
                values = self._unpack(stem, named, description)  # noqa: PLW2901 - the same tensor, unpacked
            # A processor computes in float16 at a hundredth of its speed; a BERT is small enough to widen.
            weights[name] = values.astype(mx.float32) if self._on_processor else values
        mx.eval(weights)
        return weights

    def _unpack(self, name: str, stored: dict[str, Any], description: Description) -> Any:
        packing = description.quantization.get(name)
        packing = packing if isinstance(packing, dict) else description.quantization
        return unpack(
            self._mx,
            stored[f"{name}.weight"],
            stored[f"{name}.scales"],
            stored.get(f"{name}.biases"),
            group_size=packing["group_size"],
            bits=packing["bits"],
            mode=packing.get("mode", "affine"),
        )

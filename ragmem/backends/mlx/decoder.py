"""Decoders (models that read from left to right) as embedding models, computed by mlx-lm's modules.

The modules themselves need nothing but mlx, while `import mlx_lm` brings transformers, which takes seconds.
So the modules that work alone are imported under a different package name.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ragmem.backends.mlx import device
from ragmem.backends.mlx.description import DECODERS, Description
from ragmem.backends.mlx.numerics import pool, unpack
from ragmem.backends.mlx.weights import weight_files
from ragmem.errors import BackendError

STANDALONE_PACKAGE = "_ragmem_mlx_lm"
"""A package with mlx-lm's files but without its `__init__`; it never replaces `mlx_lm`."""


class Decoder:
    """The forward pass; made and called on the device's thread only."""

    def __init__(self, description: Description) -> None:
        """Load the weights; raise BackendError when mlx-lm is not installed or lacks the architecture."""
        self._mx = device.import_mlx()
        self._pooling = description.pooling
        module_name = DECODERS.get(description.config["model_type"])
        # Only mlx-lm reads other formats of quantisation.
        foreign = "quantization_config" in description.config and not description.quantization
        if module_name is None or foreign:
            self._model = _load_by_mlx_lm(description.folder)
        else:
            self._model = _load_standalone(module_name, description)
        if device.on_processor(self._mx):
            widen(self._mx, self._model)
        self._mx.eval(self._model.parameters())

    def __call__(self, token_ids: Any, lengths: Any) -> Any:
        """Return vectors (n, width), not normalised, of ids (n, longest) padded on the right.

        A token sees only what is before it, so the padding changes nothing.
        """
        return pool(self._mx, self._model(token_ids), lengths, self._pooling)


def import_standalone(name: str) -> ModuleType:
    """Import mlx_lm.models.<name> without mlx_lm; raise BackendError when mlx-lm is not installed."""
    if STANDALONE_PACKAGE not in sys.modules:
        found = find_spec("mlx_lm")
        if found is None or found.submodule_search_locations is None:
            raise BackendError("mlx-lm is not installed", hint="pip install 'ragmem[mlx]'")
        spec = ModuleSpec(STANDALONE_PACKAGE, None, is_package=True)
        spec.submodule_search_locations = list(found.submodule_search_locations)
        sys.modules[STANDALONE_PACKAGE] = module_from_spec(spec)
    try:
        return importlib.import_module(f"{STANDALONE_PACKAGE}.models.{name}")
    except ImportError as error:
        raise BackendError(
            f'this version of mlx-lm cannot compute "{name}": {error}', hint="pip install --upgrade mlx-lm"
        ) from error


def _load_standalone(name: str, description: Description) -> Any:
    mx = device.import_mlx()
    from mlx import nn

    architecture = import_standalone(name)
    arguments = architecture.ModelArgs.from_dict(dict(description.config))
    model = architecture.Model(arguments)
    weights: dict[str, Any] = {}
    for path in weight_files(description.folder):
        weights |= mx.load(str(path))
    if not any(key.startswith("model.") for key in weights):  # saved without the language model head
        weights = {f"model.{key}": values for key, values in weights.items()}
    weights = model.sanitize(weights) if hasattr(model, "sanitize") else weights
    # Only the hidden states are needed.
    inner = model.model
    prefix = "model."
    weights = {key.removeprefix(prefix): values for key, values in weights.items() if key.startswith(prefix)}
    packing = description.quantization
    if packing:

        def is_packed(path: str, _: Any) -> bool | dict[str, Any]:
            if f"{path}.scales" not in weights:
                return False
            own = packing.get(f"{prefix}{path}")
            return own if isinstance(own, dict) else True

        nn.quantize(
            inner,
            group_size=packing["group_size"],
            bits=packing["bits"],
            mode=packing.get("mode", "affine"),
            class_predicate=is_packed,
        )
    inner.load_weights(list(weights.items()))
    inner.eval()
    return inner


def _load_by_mlx_lm(folder: Path) -> Any:
    try:
        with device.keep_file_limit():
            from mlx_lm.utils import load_model
    except ImportError as error:
        raise BackendError(f"mlx-lm cannot load: {error}", hint="pip install 'ragmem[mlx]'") from error
    model, _ = load_model(folder, lazy=True)
    if not hasattr(model, "model"):
        raise BackendError(f'mlx-lm gives no hidden states of "{folder}"', hint="use another embedding model")
    return model.model


def widen(mx: Any, model: Any) -> None:
    """Make the matrices float32: a processor computes with packed or half numbers at 1/50 of its speed.

    Word embeddings stay packed, because only the rows of the text's tokens are read.
    """
    from mlx import nn
    from mlx.utils import tree_unflatten

    wide = []
    for path, module in model.named_modules():
        if isinstance(module, nn.QuantizedLinear):
            values = unpack(
                mx,
                module.weight,
                module.scales,
                module.get("biases"),
                group_size=module.group_size,
                bits=module.bits,
                mode=module.mode,
            )
            linear = nn.Linear(1, 1, bias="bias" in module)
            linear.weight = values
            if "bias" in module:
                linear.bias = module.bias
            wide.append((path, linear))
    if wide:
        model.update_modules(tree_unflatten(wide))
    model.set_dtype(mx.float32)

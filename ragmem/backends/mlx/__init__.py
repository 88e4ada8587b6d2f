"""Models on MLX: Apple silicon's own engine, CUDA's on Linux, and tested on every Linux processor."""

from collections.abc import Mapping

from ragmem.backends.minilm import MODEL_ID, MiniLmModels
from ragmem.backends.minilm import open_models as open_minilm
from ragmem.errors import BackendError


def open_models(options: Mapping[str, object]) -> MiniLmModels:
    """Return the bundled model on MLX, without loading it.

    Raise BackendError when the options name another model.
    """
    model = options.get("model") or MODEL_ID
    if model not in {MODEL_ID, "all-MiniLM-L6-v2"}:
        raise BackendError(
            f'the mlx backend cannot load the model "{model}" yet',
            hint=f"leave out model, or set it to {MODEL_ID}",
        )
    return open_minilm({**options, "engine": "mlx"})

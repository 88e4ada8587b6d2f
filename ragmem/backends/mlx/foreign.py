"""Embedding models computed by mlx-embeddings: an extra (GPLv3, 1 GB) that is imported only if chosen."""

import warnings
from typing import Any

from ragmem.backends.mlx import device
from ragmem.backends.mlx.decoder import widen
from ragmem.backends.mlx.description import Description
from ragmem.errors import BackendError


class ForeignEncoder:
    """The forward pass with the library's own pooling; made and called on the device's thread only."""

    def __init__(self, description: Description) -> None:
        """Load the model; raise BackendError when the library is not installed or lacks the architecture."""
        self._mx = device.import_mlx()
        try:
            with warnings.catch_warnings(), device.keep_file_limit():
                warnings.simplefilter("ignore")  # from its dozens of packages
                from mlx_embeddings.utils import load_model
        except ImportError as error:
            raise BackendError(
                f"mlx-embeddings cannot load: {error}",
                hint="pip install 'ragmem[mlx-embeddings]' (1 GB, GPLv3), or leave out library",
            ) from error
        # The same value that the library would pass on; some architectures read the image size from it.
        self._model = load_model(description.folder, lazy=True, path_to_repo=str(description.folder))
        if device.on_processor(self._mx):
            widen(self._mx, self._model)
        self._mx.eval(self._model.parameters())

    def __call__(self, token_ids: Any, lengths: Any) -> Any:
        """Return vectors (n, width) of ids (n, longest) padded on the right: the left gives NaN there."""
        present = (self._mx.arange(token_ids.shape[1]) < lengths[:, None]).astype(self._mx.int32)
        return self._model(token_ids, attention_mask=present).text_embeds

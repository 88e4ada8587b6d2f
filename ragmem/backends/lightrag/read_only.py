"""The models of a store that another process only reads: their name is known, and none is loaded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragmem.errors import BackendError
from ragmem.ports import LanguageModel, Role

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ModelStub:
    """Models of which only the name is known."""

    language_model: LanguageModel | None = None
    dimensions = 0

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id

    @property
    def embedder(self) -> "ModelStub":
        """Itself."""
        return self

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Raise BackendError: whoever opened the store to read it has nothing to embed."""
        del texts, role
        raise BackendError(f'"{self.model_id}" is not loaded here', hint="this is a bug in ragmem")

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Hold nothing that must be freed."""

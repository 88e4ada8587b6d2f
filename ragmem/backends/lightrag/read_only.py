"""Models for a store that another process only reads: they have a name, but load nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragmem.errors import BackendError
from ragmem.ports import LanguageModel, Role

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ModelStub:
    """Models with only a name."""

    language_model: LanguageModel | None = None
    dimensions = 0

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id

    @property
    def embedder(self) -> "ModelStub":
        """Itself."""
        return self

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Raise BackendError: a read-only store embeds nothing."""
        del texts, role
        raise BackendError(f'"{self.model_id}" is not loaded here', hint="this is a bug in ragmem")

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Do nothing: nothing was loaded."""

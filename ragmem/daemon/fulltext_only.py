"""The memory that answers while the model loads."""

from ragmem.api.memory import Ragmem
from ragmem.errors import BackendError
from ragmem.services.models.active_models import ActiveModels


class FulltextMemory(Ragmem):
    """A memory without models: it answers by full-text search alone."""

    @property
    def models(self) -> ActiveModels:
        """Raise BackendError, because the model is still being loaded."""
        raise BackendError("the model is still being loaded", hint="the next query uses it")

"""A memory that answers while its model loads."""

from ragmem.api.memory import Ragmem
from ragmem.errors import BackendError
from ragmem.services.models.active_models import ActiveModels


class FulltextMemory(Ragmem):
    """A memory without models; full text alone answers."""

    @property
    def models(self) -> ActiveModels:
        """Raise BackendError."""
        raise BackendError("the model is still being loaded", hint="the next question has it")

"""A memory that is asked while its model is being loaded."""

from ragmem.api.memory import Ragmem
from ragmem.errors import BackendError
from ragmem.services.models.active_models import ActiveModels


class ByWords(Ragmem):
    """A memory none of whose models can be asked; full text answers alone."""

    @property
    def models(self) -> ActiveModels:
        """Raise BackendError."""
        raise BackendError("the model is still being loaded", hint="the next question has it")

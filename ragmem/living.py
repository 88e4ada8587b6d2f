"""The methods of an open memory for the lives of memories."""

from typing import TYPE_CHECKING

from ragmem.receiving import Receiving

if TYPE_CHECKING:
    from ragmem.domain.lifecycle import LifecyclePolicy

# Services are imported where they are used: a question must not pay for what only the lifecycle needs.


class Living(Receiving):
    """What can be done with the lives of memories."""

    def lifecycle(self) -> "LifecyclePolicy":
        """Return how memories live, from the settings."""
        return self.settings.lifecycle.policy

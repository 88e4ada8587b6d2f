"""The method of an open memory for agents: who works here, and what they tell one another."""

from typing import TYPE_CHECKING

from ragmem.api.home import Opened, now

if TYPE_CHECKING:
    from ragmem.services.agents.agents import Agents

# Services are imported where they are used: a question must not pay for what only agents need.


class Conversing(Opened):
    """What lets agents know of one another; works in a home without memories."""

    _agents: "Agents | None" = None

    @property
    def agents(self) -> "Agents":
        """The agents of this home; nothing is created before the first has checked in."""
        with self._opening:
            if self._agents is None:
                from ragmem.services.agents.agents import Agents
                from ragmem.storage.operational.file import OperationalFile

                settings = self.settings
                file = OperationalFile(settings.places.data, busy_timeout=settings.write.busy_timeout_s)
                self._agents = Agents(file, settings.agents, now=now, redactor=self.redactor)
            return self._agents

    def close(self) -> None:
        """Close everything; closing twice is fine."""
        if self._agents is not None:
            self._agents.close()
        super().close()

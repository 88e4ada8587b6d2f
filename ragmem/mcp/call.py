"""One call of a tool (the memory, the caller and the arguments), and its result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.api.home import now
from ragmem.domain.model import USER
from ragmem.errors import RagmemError
from ragmem.readers.roots import marked_root

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.domain.secrets.redaction import Redactor

EVERYWHERE = frozenset({"*", "all"})
"""Values of `project` that mean all projects."""


_HINTS = {
    "`ragmem query --ids TEXT` prints ids": "search lists ids",
    "ids look like 3q7hn2zk5x4m; `ragmem query --ids` prints them": "search lists ids",
    "`ragmem agents` lists all": "list_agents lists all",
    "it does so by a heartbeat; `ragmem agents` lists all": "report_status checks in; list_agents lists all",
}
"""Hints for the command line, and the tools that do the same."""


def hint_of(error: RagmemError) -> str:
    """Return the hint of an error, in which a tool is the next step where there is one."""
    return _HINTS.get(error.hint, error.hint)


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a tool: text for the model, and the same as data."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call with checked `arguments`; `cwd`, `session` and `agent` describe the caller."""

    memory: "Ragmem"
    arguments: Mapping[str, Any]
    session: str = ""
    agent: str = ""
    cwd: Path | None = None

    @property
    def redactor(self) -> "Redactor":
        """The redactor with the rules of the home, for all text that is shown."""
        return self.memory.redactor

    @property
    def place(self) -> Path:
        """The folder in which the caller works."""
        return self.cwd or self.memory.cwd

    def with_arguments(self, arguments: Mapping[str, Any]) -> "Call":
        """Return the call of the same caller with other arguments."""
        return replace(self, arguments=arguments)

    def projects(self) -> tuple[str, ...] | None:
        """Return the projects to search: the one in the arguments, else the caller's and the user's.

        None means all projects: for `*`, and outside of any project. For a project without memories it is the
        user's alone. Raises NotFoundError.
        """
        named = self.arguments.get("project", "").strip()
        if named.lower() in EVERYWHERE:
            return None
        if named:
            # Opening a missing catalog would create it.
            self.memory.require()
            return self.memory.projects.resolve([named])
        found = self.memory.projects.at(self.place)
        return found if len(found) > 1 or marked_root(str(self.place), str(self.memory.home)) else None

    def count_recalls(self, ids: Iterable[str]) -> None:
        """Count memories as recalled by the session, each at most once."""
        # Callers without a session count as one session a day.
        self.memory.recalls.note(ids, session=self.session or f"tools {now():%Y-%m-%d}")

    def project_label(self, project: str) -> str:
        """Return the name of a project."""
        return "user" if project == USER else f"project {self._names().get(project, project)}"

    def _names(self) -> Mapping[str, str]:
        catalog = self.memory.catalog
        return catalog.projects.names() if catalog.exists() else {}

    def path_label(self, path: str) -> str:
        """Return a path in one line, with ~ for the home."""
        home = f"{self.memory.home}/"
        return " ".join(("~/" + path.removeprefix(home) if path.startswith(home) else path).split())

    def projects_label(self, projects: tuple[str, ...] | None) -> str:
        """Return the names of projects as a phrase."""
        if projects is None:
            return "all projects"
        names = self._names()
        told = [names.get(project, project) for project in projects if project != USER]
        if not told:
            return "the user's memories"
        return f"project {', '.join(told)}" + (" and the user's memories" if USER in projects else "")

"""Projects: find them by path or name, join, split, rename and move them."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.domain.model import USER
from ragmem.services.ingestion.scope import project_at, project_by_path, resolve_project
from ragmem.storage.memories.read_cache import ReadCache

if TYPE_CHECKING:
    from ragmem.services.processes.progress import Progress
    from ragmem.services.projects.projects import ProjectContext


class Projects:
    """The projects of a home."""

    def __init__(self, home: Home, drain: Callable[[], object]) -> None:
        self._home = home
        self._drain = drain
        self._here = ReadCache(home.catalog.database, lambda: self.at(home.cwd))

    def default(self) -> tuple[str, ...] | None:
        """Return the projects that a question searches: this one and the user's; None (all) outside any."""
        # Once for all questions, until something is written.
        found = self._here.value() if self._home.is_prepared else self.at(self._home.cwd)
        return found if len(found) > 1 else None

    def at(self, path: Path, *, by_name: bool = False) -> tuple[str, ...]:
        """Return the project that contains a path and the user's; outside of any only the user's.

        With `by_name`, only the name of the path counts: nothing is read from disk.
        """
        find = project_by_path if by_name else project_at
        project = find(self._home.catalog, path, home=self._home.home)
        return (USER,) if project is None else (project, USER)

    def resolve(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of projects given by name, id or path; raises NotFoundError."""
        return tuple(resolve_project(self._home.catalog, name) for name in names)

    def changes(self, *, dry_run: bool = False, progress: "Progress | None" = None) -> "ProjectContext":
        """Return the dependencies of `services.projects.projects`, which joins, splits, renames and moves."""
        from ragmem.services.processes.progress import Silent
        from ragmem.services.projects.projects import ProjectContext

        home = self._home
        home.require()
        if not dry_run:
            self._drain()
        return ProjectContext(
            home.catalog, lambda: home.store, home.home, now(), dry_run, progress or Silent()
        )

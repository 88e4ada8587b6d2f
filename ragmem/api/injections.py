"""The methods of an open memory for what assistants are given: the log of it, and their memory file."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Opened, now
from ragmem.domain.model import USER
from ragmem.errors import UsageError

if TYPE_CHECKING:
    from ragmem.charts.plots.model import Plot
    from ragmem.services.context.injection_list import Listed
    from ragmem.services.context.refresh import Index
    from ragmem.services.context.refresh_file import Refreshed
    from ragmem.services.reporting.latency import Latency
    from ragmem.services.reporting.reading import Reading
    from ragmem.services.reporting.report import Report

# Services are imported where they are used: a question must not pay for what only these need.


class Telling(Opened):
    """What tells which memories assistants were given, and why, and writes down for them what is proven."""

    def injections(
        self, *, session: str = "", memory: str = "", since: datetime | None = None, limit: int | None = None
    ) -> "list[Listed]":
        """Return what was injected, latest first.

        Into a session and of a memory, named by the beginnings of their ids, since a moment. Raises
        NotFoundError for a memory that was never there.
        """
        from ragmem.services.context.injection_list import known_id, listed

        self.require()
        wanted = known_id(self.catalog, memory) if memory else ""
        return listed(self.catalog, session=session, memory=wanted, since=since, limit=limit)

    def plots(
        self,
        names: Sequence[str] = (),
        *,
        projects: Sequence[str] | None = None,
        private: bool = False,
        latency: "Latency | None" = None,
        at: datetime | None = None,
    ) -> "dict[str, Plot]":
        """Return plots of these projects (None: of all) by their names; see `services.reporting.table`."""
        from ragmem.services.reporting.table import plots_of

        return plots_of(self._reading(projects, latency, at, private=private), names)

    def report(
        self,
        *,
        where: str,
        projects: Sequence[str] | None = None,
        private: bool = False,
        latency: "Latency | None" = None,
        at: datetime | None = None,
    ) -> "Report":
        """Return a report of these projects (None: of all), which it calls `where`.

        With `private` without names and titles. The same for the same store, moment and latency.
        """
        from ragmem import __version__
        from ragmem.services.reporting.report import report_of

        reading = self._reading(projects, latency, at, private=private)
        return report_of(reading, where=where, version=__version__)

    def _reading(
        self,
        projects: Sequence[str] | None,
        latency: "Latency | None",
        at: datetime | None,
        *,
        private: bool,
    ) -> "Reading":
        from ragmem.services.reporting.latency import latency_plot
        from ragmem.services.reporting.reading import Reading

        self.require()
        return Reading(
            self.catalog,
            lambda: self.store,
            self.settings.decay,
            self.settings.lifecycle.policy,
            at or now(),
            projects,
            private,
            latency_plot(latency) if latency else None,
        )

    def plan_refresh(
        self,
        *,
        project: str = "",
        file: Path | None = None,
        environ: Mapping[str, str] | None = None,
        max_lines: int = 100,
    ) -> "Refreshed":
        """Return the memory file of a project as it should be; writes nothing.

        The project is that of the working folder unless its id is given; the file is Claude Code's memory of
        it unless a path is (then, outside of any project, what belongs to the user is told). Raises
        UsageError where there is no project or folder, or Claude Code has none for it.
        """
        from ragmem.services.context.refresh import index, size_of_frame
        from ragmem.services.context.refresh_file import plan
        from ragmem.services.ingestion.scope import project_at

        self.require()
        known = project or project_at(self.catalog, self.cwd, home=self.home)
        if known is None and file is None:
            raise UsageError(
                f'no memory belongs to a project at "{self.cwd}"',
                hint="go to a project that was seeded, or give --project or --file",
            )
        if file is not None and not file.absolute().parent.is_dir():
            raise UsageError(
                f'there is no folder "{file.parent}"', hint="make it, or give the path of a file in another"
            )
        path = file or self._memory_file(known or USER, environ or {})

        def found(said: str, without: frozenset[str], room: int) -> "Index":
            return index(
                self.catalog,
                project=known or USER,
                policy=self.settings.lifecycle.policy,
                room=max(0, room - size_of_frame()),
                said=said,
                without=without,
            )

        return plan(path, found, most=max_lines)

    def refresh(
        self,
        *,
        project: str = "",
        file: Path | None = None,
        environ: Mapping[str, str] | None = None,
        max_lines: int = 100,
    ) -> "Refreshed":
        """Bring the memory file of a project up to date.

        See `plan_refresh` and `services.context.refresh_file`.
        """
        from ragmem.services.context.refresh_file import write

        def planned() -> "Refreshed":
            return self.plan_refresh(project=project, file=file, environ=environ, max_lines=max_lines)

        return write(planned(), planned)

    def _memory_file(self, project: str, environ: Mapping[str, str]) -> Path:
        """Return where Claude Code keeps its memory of a project; it must have been there once."""
        from ragmem.readers.slugs import slug_of
        from ragmem.services.context.refresh_file import MEMORY_FILE

        named = environ.get("CLAUDE_CONFIG_DIR", "")
        folder = Path(named) if Path(named).is_absolute() else self.home / ".claude"
        roots = sorted(self.catalog.projects.paths(project), key=self._distance)
        for root in roots:
            place = folder / "projects" / slug_of(root)
            if place.is_dir():
                return place / "memory" / MEMORY_FILE
        raise UsageError(
            f'Claude Code has no folder for "{roots[0] if roots else project}" below "{folder}/projects"',
            hint="start it there once, or name the file: ragmem refresh --file AGENTS.md",
        )

    def _distance(self, root: str) -> tuple[bool, str]:
        """Put the folder that one is in first."""
        return not self.cwd.is_relative_to(root), root

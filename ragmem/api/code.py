"""The code graph: store it, map it, find what a change affects."""

from pathlib import Path
from typing import Any

from ragmem.api.home import Home
from ragmem.api.projects import Projects
from ragmem.services.code.impact import Impact, impact
from ragmem.services.code.map import code_map
from ragmem.services.code.report import CodeReport
from ragmem.services.code.targets import project_of_code
from ragmem.services.processes.progress import Progress, Silent


class Code:
    """The code of projects."""

    def __init__(self, home: Home, projects: Projects) -> None:
        self._home = home
        self._projects = projects

    def ingest(
        self, path: Path, *, rebuild: bool = False, dry_run: bool = False, progress: Progress | None = None
    ) -> CodeReport:
        """Store the code of a repository or folder as a graph; see `services.code.ingest_code`."""
        from ragmem.services.code.ingest_code import ingest_code

        return ingest_code(
            self._home.catalog,
            self._home.settings,
            path,
            home=self._home.home,
            cwd=self._home.cwd,
            rebuild=rebuild,
            dry_run=dry_run,
            progress=progress or Silent(),
        )

    def impact(self, name: str, *, project: str = "", depth: int = 3, memories: int = 50) -> Impact:
        """Return the code that a change of a symbol or file affects, and the memories about it.

        `depth` is the number of steps to follow, `memories` the most memories to return.

        See `services.code.impact`.
        """
        return impact(self._home.catalog, self._project(project), name, depth=depth, memories=memories)

    def map(self, name: str = "", *, project: str = "") -> dict[str, Any]:
        """Return a map of the code, or of one folder, file or symbol; see `services.code.map`."""
        return code_map(self._home.catalog, self._project(project), name)

    def _project(self, project: str) -> str:
        self._home.require()
        named = self._projects.resolve([project]) if project else ()
        return project_of_code(self._home.catalog, named or self._projects.default(), named=bool(named))

"""The file in which an assistant keeps its memory of a project."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ragmem.api.home import Home
from ragmem.assistants import load_assistant
from ragmem.domain.model import USER
from ragmem.errors import UsageError
from ragmem.readers.git_history import gone_names
from ragmem.readers.slugs import slug_of
from ragmem.services.context.refresh import FRAME_LINES, Index, index
from ragmem.services.context.refresh_file import MEMORY_FILE, RefreshPlan, plan, write
from ragmem.services.ingestion.scope import project_at


class MemoryFile:
    """Writes proven memories into the memory file of a project."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def update(
        self,
        *,
        project: str = "",
        file: Path | None = None,
        assistant: str = "",
        environ: Mapping[str, str] | None = None,
        max_lines: int = 100,
        dry_run: bool = False,
    ) -> RefreshPlan:
        """Bring the memory file of a project up to date; see `services.context.refresh_file`.

        `project` is an id, by default that of the working folder; `file` is by default the one that the
        `assistant` reads in the project's folder, and without one the one that Claude Code keeps for it. For
        a file outside of any project, the memories of the user are written. Raises UsageError if there is no
        project, no folder for the file, or no folder of Claude Code.
        """
        planned = partial(self._plan, project, file, assistant, environ or {}, max_lines)
        return planned() if dry_run else write(planned(), planned)

    def _plan(
        self, project: str, file: Path | None, assistant: str, environ: Mapping[str, str], max_lines: int
    ) -> RefreshPlan:
        home = self._home
        home.require()
        known = project or project_at(home.catalog, home.cwd, home=home.home)
        if known is None and file is None:
            raise UsageError(
                f'no memory belongs to a project at "{home.cwd}"',
                hint="change to the folder of a seeded project, or give --project or --file",
            )
        if file is not None and not file.absolute().parent.is_dir():
            raise UsageError(
                f'there is no folder "{file.parent}"', hint="create it, or give a path in another folder"
            )
        roots = self._roots(known) if known else []
        reader = load_assistant(assistant) if assistant else None
        if reader is not None and reader.memory_file and file is None:
            file = self._in_project(roots, known, reader.memory_file)
        path = file or self._path(known or USER, environ)

        def build_index(said: str, without: frozenset[str], room: int) -> Index:
            return index(
                home.catalog,
                project=known or USER,
                policy=home.settings.lifecycle.policy,
                room=max(0, room - FRAME_LINES),
                said=said,
                without=without,
                gone=partial(gone_names, roots[0]) if roots else None,
            )

        return plan(path, build_index, most=max_lines, head=reader.memory_file_head if reader else "")

    def _roots(self, project: str) -> list[Path]:
        """Return the folders of a project that exist; one that contains the working folder comes first."""
        known = map(Path, self._home.catalog.projects.paths(project))
        return sorted(
            (root for root in known if root.is_dir()),
            key=lambda root: (not self._home.cwd.is_relative_to(root), root),
        )

    def _in_project(self, roots: Sequence[Path], project: str | None, name: str) -> Path:
        """Return the path of a file in a project's folder; raises UsageError without a folder."""
        if not roots:
            raise UsageError(f'no folder of the project "{project}" exists', hint="give the path with --file")
        path = roots[0] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _path(self, project: str, environ: Mapping[str, str]) -> Path:
        """Return the path of Claude Code's memory of a project; raises UsageError without a folder."""
        named = environ.get("CLAUDE_CONFIG_DIR", "")
        folder = Path(named) if Path(named).is_absolute() else self._home.home / ".claude"
        # A folder that contains the working folder comes first.
        roots = sorted(
            self._home.catalog.projects.paths(project),
            key=lambda root: (not self._home.cwd.is_relative_to(root), root),
        )
        for root in roots:
            place = folder / "projects" / slug_of(root)
            if place.is_dir():
                return place / "memory" / MEMORY_FILE
        raise UsageError(
            f'Claude Code has no folder for "{roots[0] if roots else project}" below "{folder}/projects"',
            hint="start it there once, or name the file: ragmem refresh --file AGENTS.md",
        )

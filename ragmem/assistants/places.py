"""The locations and formats of assistants' settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Scope = Literal["user", "project"]

Form = Literal["json", "toml", "plugin", "json server", "toml server"]
"""Content and format of a file: hooks as JSON, their switch, a plug-in; the MCP server as JSON or TOML."""

SERVER_FORMS: tuple[Form, ...] = ("json server", "toml server")

Shape = Literal["groups", "flat", "plugin"]
"""How hooks are written: groups with a matcher, a flat list for each event, or a plug-in of ours."""


@dataclass(frozen=True, slots=True)
class Places:
    """The environment, the home folder and the current folder, which determine where settings are."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path

    def folder(self, variable: str, default: Path) -> Path:
        """Return the absolute path in an environment variable, else the default."""
        path = Path(self.environ.get(variable, ""))
        return path if path.is_absolute() else default

    @property
    def project(self) -> Path:
        """The root of the repository around the current folder, else the folder itself."""
        here = self.cwd
        return next((one for one in (here, *here.parents) if (one / ".git").exists()), here)

    @property
    def in_project(self) -> bool:
        """Whether this is a project. The home is not, because its settings apply everywhere."""
        return self.project != self.home

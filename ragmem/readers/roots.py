"""Which folder above a path is the root of a project, told on texts alone."""

import os.path

GIT = ".git"
OTHER_MARKERS = (".ragmem.toml", "CLAUDE.md", "AGENTS.md")
"""What the root of a project has; git's is looked for first, in all folders above."""


def marked_root(folder: str, home: str) -> str:
    """Return the nearest folder from an absolute one up that bears a marker, empty where none does.

    The home and what is above it are never a root for what lies inside of it, so that a home under version
    control is not one big project; and `/` never is.
    """
    above = candidates(folder, home)
    for markers in ((GIT,), OTHER_MARKERS):
        for candidate in above:
            if any(os.path.exists(os.path.join(candidate, marker)) for marker in markers):
                return candidate
    return ""


def candidates(folder: str, home: str) -> list[str]:
    """Return the folder and those above it that may be the root of a project; none for the home itself."""
    found = []
    while folder not in {home, os.path.dirname(folder)}:
        found.append(folder)
        folder = os.path.dirname(folder)
    return found

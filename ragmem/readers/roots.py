"""Find the folder above a path that is the root of a project, with paths as strings."""

import os.path

GIT = ".git"
OTHER_MARKERS = (".ragmem.toml", "CLAUDE.md", "AGENTS.md")
"""Markers of a project's root; git's is searched first, in all folders above."""


def marked_root(folder: str, home: str) -> str:
    """Return the nearest folder with a marker, from an absolute one upwards; empty without one.

    The home and the folders above it are never a root for folders inside it, so that a home under version
    control is not one big project; and `/` never is.
    """
    above = candidates(folder, home)
    for markers in ((GIT,), OTHER_MARKERS):
        for candidate in above:
            if any(os.path.exists(os.path.join(candidate, marker)) for marker in markers):
                return candidate
    return ""


def candidates(folder: str, home: str) -> list[str]:
    """Return the folder and its parents that may be the root of a project; none for the home itself."""
    found = []
    while folder not in {home, os.path.dirname(folder)}:
        found.append(folder)
        folder = os.path.dirname(folder)
    return found

"""Which paths are left out, by patterns in .gitignore syntax."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pathspec

from ragmem.errors import ConfigError

_HOME = "~/"


class Exclusions:
    """Patterns with the folder that each list is relative to."""

    def __init__(self, lists: Iterable[tuple[Path, Sequence[str]]], *, home: Path) -> None:
        rooted: dict[Path, list[str]] = {}
        for root, patterns in lists:
            for pattern in patterns:
                if pattern.startswith(_HOME):
                    rooted.setdefault(home, []).append(pattern[1:])
                else:
                    rooted.setdefault(root, []).append(pattern)
        self._specs = [(root, _compile(patterns)) for root, patterns in rooted.items()]

    def covers(self, path: Path, *, folder: bool = False) -> bool:
        """Tell whether a path is left out; a path outside of a list's folder is not its business."""
        for root, spec in self._specs:
            if path.is_relative_to(root) and path != root:
                inner = path.relative_to(root).as_posix()
                if spec.match_file(f"{inner}/" if folder else inner):
                    return True
        return False


def _compile(patterns: Sequence[str]) -> pathspec.GitIgnoreSpec:
    for pattern in patterns:
        try:
            pathspec.GitIgnoreSpec.from_lines([pattern])
        except ValueError as error:
            raise ConfigError(
                f'the exclusion "{pattern}" is no pattern in .gitignore syntax',
                hint="see `git help gitignore`",
            ) from error
    return pathspec.GitIgnoreSpec.from_lines(patterns)

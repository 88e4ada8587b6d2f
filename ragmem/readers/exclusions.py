"""Exclude paths by patterns in .gitignore syntax."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.errors import ConfigError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_HOME = "~/"


class Exclusions:
    """Lists of patterns, each relative to a folder."""

    def __init__(self, lists: Iterable[tuple[Path, Sequence[str]]], *, home: Path) -> None:
        rooted: dict[Path, list[str]] = {}
        for root, patterns in lists:
            for pattern in patterns:
                if pattern.startswith(_HOME):
                    rooted.setdefault(home, []).append(pattern[1:])
                else:
                    rooted.setdefault(root, []).append(pattern)
        self._specs = [(root, _compile(tuple(patterns))) for root, patterns in rooted.items()]

    def covers(self, path: Path, *, folder: bool = False) -> bool:
        """Return whether a path is excluded; a list does not apply outside of its folder."""
        for root, spec in self._specs:
            if path.is_relative_to(root) and path != root:
                inner = path.relative_to(root).as_posix()
                if spec.match_file(f"{inner}/" if folder else inner):
                    return True
        return False


@cache
def _compile(patterns: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - a single file needs no patterns

    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError as error:
            raise ConfigError(
                f'the exclusion "{pattern}" is not a pattern in .gitignore syntax',
                hint="see `git help gitignore`",
            ) from error
    return GitIgnoreSpec.from_lines(patterns)

"""Find the files of code in a folder that people wrote there."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pathspec

from ragmem.readers.code import language_of
from ragmem.readers.discover import SkippedPath
from ragmem.readers.exclusions import Exclusions
from ragmem.readers.git import output_of

MAX_BYTES = 2_000_000
"""A larger file is data, whatever its name."""

MAX_PATH = 1_000
"""Characters of a path; a longer one does not fit into PostgreSQL's index."""

LIST_TIMEOUT = 60.0
"""Seconds for git to list files; it takes one second for 100,000."""

FOREIGN = frozenset(
    ".build .eggs .gradle .nox .tox .venv .yarn Carthage Pods __pycache__ _vendor bower_components dist"
    " jspm_packages node_modules site-packages third_party vendor venv virtualenv".split()
)
"""Folders of third-party or generated code."""

_IgnoreRules = tuple[Path, pathspec.GitIgnoreSpec]


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file of code: its path relative to the root, with slashes, its bytes and modification time."""

    path: str
    size: int
    modified_ns: int


@dataclass(slots=True)
class CodeFiles:
    """The files of code in a folder, and those that were skipped."""

    files: list[CodeFile] = field(default_factory=list)
    skipped: list[SkippedPath] = field(default_factory=list)


def root_of(path: Path, project_root: Path) -> Path:
    """Return the folder that paths are relative to: git's working folder or that of a worktree."""
    if not (project_root / ".git").exists():
        return project_root
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), project_root)


def find_code(root: Path, within: Path, *, home: Path, exclude: Sequence[str] = ()) -> CodeFiles:
    """Return the files of code in `within`, which is `root` or a folder inside it.

    In a repository these are the files that git tracks or does not ignore, else those that no .gitignore
    names. Excluded files and files behind links are left out. Raises ConfigError for an invalid exclusion.
    """
    prefix = "" if within == root else within.relative_to(root).as_posix()
    exclusions = Exclusions([(root, exclude)], home=home) if exclude else None
    found = CodeFiles()
    foreign: set[str] = set()
    for path in sorted(_list_files(root, prefix)):
        if prefix and path != prefix and not path.startswith(f"{prefix}/"):
            continue
        if language_of(path) is None or (exclusions and exclusions.covers(root / path)):
            continue
        if folder := _foreign_folder(path):
            foreign.add(folder)
        else:
            _add_file(root, path, found)
    found.skipped += [SkippedPath(Path(folder), "what others wrote") for folder in sorted(foreign)]
    return found


def _add_file(root: Path, path: str, found: CodeFiles) -> None:
    try:
        status = os.lstat(root / path)
    except FileNotFoundError:
        return  # git still tracks it
    except OSError as error:
        found.skipped.append(SkippedPath(Path(path), (error.strerror or "unreadable").lower()))
        return
    reason = ""
    if stat.S_ISLNK(status.st_mode):
        reason = "a link"
    elif _lies_behind_link(root, path):
        reason = "behind a link"
    elif not stat.S_ISREG(status.st_mode):
        reason = "not a regular file"
    elif status.st_size > MAX_BYTES:
        reason = f"larger than {MAX_BYTES:,} bytes"
    elif len(path) > MAX_PATH:
        reason = f"its path is longer than {MAX_PATH:,} characters"
    elif not path.isprintable():
        # Control characters, and surrogates for bytes that are not UTF-8.
        reason = "its name cannot be shown"
    if reason:
        shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
        found.skipped.append(SkippedPath(Path(shown), reason))
    else:
        found.files.append(CodeFile(path, status.st_size, status.st_mtime_ns))


def _lies_behind_link(root: Path, path: str) -> bool:
    """Return whether a folder of the path is a link now, although git tracks it as a folder."""
    folder = os.path.dirname(path)  # noqa: PTH120 - pathlib is slow for a hundred thousand paths
    while folder:
        if (root / folder).is_symlink():
            return True
        folder = os.path.dirname(folder)  # noqa: PTH120
    return False


def _foreign_folder(path: str) -> str:
    """Return the outermost third-party folder of a path; empty without one."""
    parts = path.split("/")
    for position, part in enumerate(parts[:-1]):
        if part in FOREIGN or part.endswith(".egg-info"):
            return "/".join(parts[: position + 1])
    return ""


def _list_files(root: Path, prefix: str) -> set[str]:
    if (root / ".git").exists():
        # A name that begins with a colon would be a pattern.
        within = f":(literal){prefix}" if prefix else "."
        arguments = ("ls-files", "-co", "--exclude-standard", "-z", "--", within)
        output = output_of(root, *arguments, timeout=LIST_TIMEOUT)
        if output is not None:
            return {os.fsdecode(path) for path in output.split(b"\0") if path}
    return set(_walk(root, root, prefix, ()))


def _walk(root: Path, folder: Path, prefix: str, above: Sequence[_IgnoreRules]) -> Iterator[str]:
    """Yield the paths of files; a third-party folder is not entered, but stands for one file in it."""
    ignored = (*above, *_read_gitignore(folder))
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in listed:
        path = Path(entry.path)
        is_folder = entry.is_dir(follow_symlinks=False)
        inner = path.relative_to(root).as_posix()
        if _is_ignored(path, ignored, folder=is_folder):
            continue
        if not is_folder:
            yield inner
        elif entry.name.startswith(".") or not _leads_to(inner, prefix):
            continue
        elif entry.name in FOREIGN:
            yield f"{inner}/__init__.py"
        elif not (path / "pyvenv.cfg").exists():
            yield from _walk(root, path, prefix, ignored)


def _leads_to(folder: str, prefix: str) -> bool:
    """Return whether a folder is inside the prefix, or above it."""
    return f"{folder}/".startswith(f"{prefix}/" if prefix else "") or f"{prefix}/".startswith(f"{folder}/")


def _read_gitignore(folder: Path) -> Iterator[_IgnoreRules]:
    path = folder / ".gitignore"
    try:
        # Git does not follow a link here either, and reading a pipe would never end.
        is_file = stat.S_ISREG(os.lstat(path).st_mode)
        lines = path.read_text("utf-8", errors="replace").splitlines() if is_file else []
    except OSError:
        return
    valid = []
    for line in lines:
        try:
            pathspec.GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git ignores such a line as well
        valid.append(line)
    yield folder, pathspec.GitIgnoreSpec.from_lines(valid)


def _is_ignored(path: Path, ignored: Sequence[_IgnoreRules], *, folder: bool) -> bool:
    # The nearest .gitignore with a rule for the path decides, as in git.
    for above, spec in reversed(ignored):
        inner = path.relative_to(above).as_posix()
        decided = spec.check_file(f"{inner}/" if folder else inner).include
        if decided is not None:
            return decided
    return False

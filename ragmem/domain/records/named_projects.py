"""Find the projects that a text names: in fields, in its first lines, by addresses and by paths."""

import re
from collections.abc import Iterator, Mapping

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

NAME_KEYS = ("project", "project_name", "repo", "repository", "git_repo", "git_remote")
FOLDER_KEYS = tuple(
    "cwd workdir working_dir working_directory project_dir project_path project_root repo_path".split()
)
PATH_KEYS = ("path",)
"""May be a path within a project, or unrelated to it."""

SESSION_KEYS = ("session_id", "sessionid", "session")
"""Fields with the session in which the text was created."""

HEAD_LINES = 40
"""Number of first lines that may name a project."""

MOST_CHARS = 400_000
"""Characters of a text that are searched for paths and addresses."""

MOST_VALUE = 300

_LINE = lazy(
    r"[\s>*_#|\-+]{0,12}(project|repo(?:sitory)?|work(?:ing)?[ _-]?dir(?:ectory)?|working folder|cwd)"
    r"[*_`\s]{0,6}[:|][*_`\s:|]{0,8}(\S.*)",
    re.IGNORECASE,
)
_FENCE = lazy(r"\s{0,3}(?:```|~~~)")
_LINK = lazy(r"\[([^\]]+)\]\([^)]*\)")
_REST = lazy(r"\s+(?:[-\u2013\u2014(|,;].*)$|[,;|].*$")
_NAME = lazy(r"[\w@~./:][\w@~./:+ -]{0,120}")
_PATH = lazy(r"(?<![\w.~/\\:-])(?:~|/)[^\s\"'`<>|*?()\[\]{},;:$\\]*[^\s\"'`<>|*?()\[\]{},;:$\\.]")
_ADDRESS = lazy(r"(?:\b(?:https?|ssh|git)://|\bgit@)[^\s\"'`<>|()\[\]{},;]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about the project of a text: a name, a folder or an address.

    `binds`: if the value is unknown, no other statement counts.
    """

    value: str
    binds: bool = True


def find_in_fields(fields: Mapping[str, str]) -> list[Statement]:
    """Return the project statements in the fields of frontmatter or JSON; field names in lower case."""
    found: list[Statement] = []
    for key, value in fields.items():
        name = key.lower().replace("-", "_").replace(" ", "_")
        if name in NAME_KEYS or (name in FOLDER_KEYS and _is_path(value)):
            found += _parts(value)
        elif name in PATH_KEYS and _is_path(value):
            found.append(Statement(value, binds=False))
    return found


def find_in_head(text: str) -> list[Statement]:
    """Return the project statements in the first lines, such as `**Project:** tideline`, outside of code."""
    found: list[Statement] = []
    fenced = False
    for line in text[: HEAD_LINES * 400].splitlines()[:HEAD_LINES]:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (said := _LINE.match(line)):
            found += _parts(_LINK.sub(r"\1", said[2]))
    return found


def find_paths(text: str) -> Iterator[str]:
    """Yield the absolute paths and those that begin with `~/`, including repetitions."""
    for found in _PATH.finditer(text[:MOST_CHARS]):
        if found[0].count("/") > found[0].startswith("/"):
            yield found[0]


def find_addresses(text: str) -> Iterator[str]:
    """Yield addresses that may be remotes or lie in one."""
    for found in _ADDRESS.finditer(text[:MOST_CHARS]):
        yield found[0].rstrip(".")


def _is_path(value: str) -> bool:
    return value.strip().strip("`\"'").startswith(("/", "~"))


def _parts(value: str) -> list[Statement]:
    """Return the valid names in a value."""
    found = []
    for part in re.split(r",|;| and | & ", value[:MOST_VALUE]):
        said = _REST.sub("", part.strip()).strip("`*_\"'[]<> ").rstrip(".")
        if said and _NAME.fullmatch(said):
            found.append(Statement(said))
    return found

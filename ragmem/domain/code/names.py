"""Resolve a mention to a file or symbol of a project; an ambiguous one to nothing."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragmem.domain.code.mentions import Mention, is_distinctive
from ragmem.domain.code.qualified_names import ends_with, is_constructor

_ITSELF = ("self.", "this.", "cls.")
SURE_PARTS = 3
"""Number of parts from which a dotted name is unique across projects."""

NEAR = 10
"""Number of lines above and below a mention that can disambiguate it."""

SURE_FOLDERS = 2
"""Number of folders from which a relative path is unique; every project has a `src/index.ts`."""


@dataclass(frozen=True, slots=True)
class ProjectSymbol:
    """A symbol that a project defines."""

    qualified: str
    path: str
    is_module: bool = False
    is_test: bool = False
    is_method: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a project's code: symbols by name, files by path, and former paths.

    `former` maps a former path to the current one; `roots` are the folders of the project as they are
    written.
    """

    symbols: Mapping[str, Sequence[ProjectSymbol]]
    files: Mapping[str, Sequence[str]]
    former: Mapping[str, str] = field(default_factory=dict)
    roots: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MentionTargets:
    """The files (by path) and symbols (by qualified name) of the mentions, and their lines."""

    files: Mapping[str, Sequence[int]]
    symbols: Mapping[str, Sequence[int]]


def resolve_mentions(mentions: Iterable[Mention], names: Names, *, own: bool) -> MentionTargets:
    """Resolve the mentions in one text.

    `own`: the text belongs to the project. A text of the user may be about another project, so only
    distinctive mentions count: a path with two folders or under a root, a name that is not a word. If several
    symbols have a name, it means the one whose file is mentioned nearby, directly or by another symbol; else
    none. The same applies to a method in backticks whose name is a word.
    """
    files: dict[str, dict[int, None]] = defaultdict(dict)
    symbols: dict[str, dict[int, None]] = defaultdict(dict)
    ambiguous: list[tuple[int, list[ProjectSymbol]]] = []
    near: dict[str, set[int]] = defaultdict(set)
    for mention in mentions:
        if mention.is_path:
            if path := file_of(mention.text, names, own=own):
                files[path][mention.line] = None
                near[path].add(mention.line)
            continue
        candidates = candidates_of(mention, names, own=own)
        if not candidates:
            continue
        if not needs_context(mention, candidates):
            _add(candidates[0], mention.line, files, symbols)
            for one in candidates:
                near[one.path].add(mention.line)
        else:
            ambiguous.append((mention.line, candidates))
    for line, candidates in ambiguous:
        here = {one.qualified: one for one in candidates if _is_near(line, near.get(one.path, ()))}
        if len(here) == 1:
            _add(next(iter(here.values())), line, files, symbols)
    return MentionTargets(
        {path: sorted(lines) for path, lines in files.items()},
        {qualified: sorted(lines) for qualified, lines in symbols.items()},
    )


def _is_near(line: int, lines: Iterable[int]) -> bool:
    return any(abs(line - other) <= NEAR for other in lines)


def _add(
    known: ProjectSymbol, line: int, files: dict[str, dict[int, None]], symbols: dict[str, dict[int, None]]
) -> None:
    symbols[known.qualified][line] = None
    if known.is_module:
        files[known.path][line] = None


def needs_context(mention: Mention, candidates: Sequence[ProjectSymbol]) -> bool:
    """Return whether nearby lines must disambiguate the mention."""
    several = len({one.qualified for one in candidates}) > 1
    return several or (mention.is_word and any(one.is_method for one in candidates))


def candidates_of(mention: Mention, names: Names, *, own: bool) -> list[ProjectSymbol]:
    """Return the symbols that a name may refer to; symbols of tests only if there are no others.

    The name of a class means the class, not its constructor of the same name.
    """
    found = _candidates(mention.text, names, own=own)
    return [
        one
        for one in found
        if not (mention.is_word and one.is_test)
        and not (one.is_method and any(is_constructor(one.qualified, other.qualified) for other in found))
    ]


def _candidates(name: str, names: Names, *, own: bool) -> list[ProjectSymbol]:
    for itself in _ITSELF:
        name = name.removeprefix(itself)
    parts = name.split(".")
    known = names.symbols.get(parts[-1], ())
    if len(parts) > 1:
        found = [one for one in known if ends_with(one.qualified, parts)]
        if found and (own or len(parts) >= SURE_PARTS or any(map(is_distinctive, parts))):
            return _without_tests(found)
        # The receiver is unknown: `config.parse_config()`.
        return _without_tests(known) if is_distinctive(parts[-1]) else []
    if is_distinctive(name):
        return _without_tests(known)
    # A module with the name of a common word is rather something else.
    return _without_tests(one for one in known if not one.is_module) if own else []


def _without_tests(known: Iterable[ProjectSymbol]) -> list[ProjectSymbol]:
    """Return the symbols outside of tests, else all; modules only if there is nothing else."""
    found = list(known)
    found = [one for one in found if not one.is_test] or found
    return [one for one in found if not one.is_module] or found


def file_of(path: str, names: Names, *, own: bool) -> str:
    """Return the file of a path, by suffix, former path or absolute path; "" if none matches."""
    name = path.rpartition("/")[2]
    current = names.files.get(name, ())
    former = [old for old in names.former if old.rpartition("/")[2] == name]
    if path.startswith(("/", "~/")) or path[1:3] == ":/":
        return _absolute(path, [*current, *former], names, own=own)
    if not own and path.count("/") < SURE_FOLDERS:
        return ""
    if path in current:
        return path
    if path in names.former:
        return names.former[path]
    beginning, _, rest = path.partition("/")
    if rest in current and any(root.endswith(f"/{beginning}") for root in names.roots):
        return rest
    ending = f"/{path}"
    ends = [one for one in current if one.endswith(ending)]
    ends = ends or list({names.former[one] for one in former if one.endswith(ending)})
    return ends[0] if len(ends) == 1 else ""


def _absolute(path: str, files: Sequence[str], names: Names, *, own: bool) -> str:
    for root in names.roots:
        inside = _inside(path, root.rstrip("/"))
        if inside:
            return names.former.get(inside, inside) if inside in files else ""
    # It may be a copy on another machine; a bare file name occurs everywhere.
    ends = [one for one in files if own and "/" in one and path.endswith(f"/{one}")]
    found = max(ends, key=len, default="")
    return names.former.get(found, found)


def _inside(path: str, root: str) -> str:
    """Return the path below a root, "" if it is outside; `~` may be any folder."""
    if not path.startswith("~/"):
        inside = path.removeprefix(f"{root}/")
        return inside if inside != path else ""
    parts = path.split("/")[1:]
    for count in range(len(parts) - 1, 0, -1):
        if root.endswith("/" + "/".join(parts[:count])):
            return "/".join(parts[count:])
    return ""

"""Resolve the names of one thing: spellings of a name, and a path and its suffixes.

- form: the common key of the spellings of a name; "" for a name with one spelling only, such as a version.
- class: the names of one project with the same form. head: the name that represents its class.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ragmem.domain.model import Entity, Extraction, Relation
from ragmem.domain.text.known_names import AMBIGUOUS_NAMES, COMMON_WORDS, KNOWN_NAMES
from ragmem.frozen import dataclass
from ragmem.heap import word_cache
from ragmem.patterns import lazy

MAX_PATHS = 100
"""Maximum paths with the same last part that are resolved; more of them are ambiguous."""

WEAK = "concept"
"""The fallback type of the rules; it is compatible with every other."""

CODE = "code"

_SOFTWARE = "software"
_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("tool", "library", "service", "project", "protocol", "language", "model"), _SOFTWARE),
    "person": "person",
    "organization": "organization",
    "dataset": "dataset",
    "file": "file",
    "symbol": CODE,
    WEAK: WEAK,
}
"""Types that one thing may have together; all others (version, host, command) have one spelling."""

_HAVE_PLURALS = frozenset({WEAK, "protocol", "dataset"})

_SEPARATORS = lazy(r"(?<=\d)[\s_-]+(?=\d)|[\s_-]+")
_INNER_CAPITAL = lazy(r"[a-z0-9][A-Z]")
_ACRONYM = lazy(r"[A-Z]{2,5}$")
_ACRONYMS = lazy(r"([A-Z]{2,5})s$")
_LOWER_IDENTIFIER = lazy(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*$")
_NOUNS = lazy(r"(?:tion|sion|ment|ing|ure|age|gent|tor)s$")
_PLURAL = lazy(r"..[^aiosu]s$")
_PLURALS_IN_ES = ("sses", "xes", "ches", "shes")
_BEGINNING = lazy(r"^(?:\.{0,2}/)+")
_PATTERN_MARKS = frozenset("*{}<>$?[]")

_SHORTEST = 3
"""Minimum letters of a name with spellings; `Go` and `go`, `C`, `C++` and `C#` stay distinct."""

_SHORTEST_CODE = 6
_SHORTEST_LONE_PLURAL = 9
"""Shortest word that may be a plural by its ending; Adams is not the plural of Adam."""

_GENERIC = """
__init__ __main__ main app cli utils util helpers helper common constants types models model settings config
conftest setup index mod lib server client api routes router handlers handler errors error manager service
services session base core data store schema test tests hooks hook plugin package pyproject tsconfig makefile
dockerfile compose readme changelog license contributing claude agents gemini skill memory todo llms notes
plan spec design style styles env gitignore agent agents tool tools provider providers database manifest auth
state report run start build install migrate migrations example examples reference token development
production
"""
GENERIC_FILES = frozenset(_GENERIC.split())
"""File names, without extension, that occur several times in most projects."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a project with all its types; `order` is the position of its first mention.

    `apart`: a user said that it is not a spelling of another.
    """

    name: str
    types: frozenset[str]
    order: int
    apart: bool = False

    @property
    def family(self) -> str:
        """The type families that may share a node with it; empty for any."""
        strong = sorted({_FAMILIES.get(kind, kind) for kind in self.types} - {WEAK})
        return strong[0] if strong else WEAK


def canonical_form(name: str, types: Iterable[str]) -> str:
    """Return the form that the spellings of a name with these types share; "" if it has only one."""
    strong = sorted(kind for kind in types if kind != WEAK)
    if len({_FAMILIES.get(kind, kind) for kind in strong}) > 1:
        # Unknown type
        return ""
    return _plain_form(name, strong[0] if strong else WEAK)


@word_cache(8192)
def _plain_form(name: str, kind: str) -> str:
    family = _FAMILIES.get(kind)
    if family is None:
        return ""
    if family == "file":
        return _path_form(name)
    if family == CODE:
        return _identifier_form(name)
    return _form_of_plain(" ".join(name.strip(" _-").split()), kind)


def _identifier_form(name: str) -> str:
    # Case and separators distinguish identifiers; one in lower case may be the name of a product.
    if not _LOWER_IDENTIFIER.match(name) or name in COMMON_WORDS:
        return ""
    joined = _join_parts(name)
    return joined if len(joined) >= _SHORTEST_CODE else ""


def _form_of_plain(name: str, kind: str) -> str:
    if kind in _HAVE_PLURALS and name.casefold() not in KNOWN_NAMES:
        name = _singular(name)
    if _ACRONYM.match(name):
        # CAT is not a plural or a form of cat.
        return f"^{name.casefold()}" if len(name) >= _SHORTEST else ""
    joined = _join_parts(name)
    is_word = name.islower() and name.isalpha() and (name in AMBIGUOUS_NAMES or name in COMMON_WORDS)
    has_letters = any(letter.isalpha() for letter in joined)
    return joined if has_letters and not is_word and len(joined) >= _SHORTEST else ""


def _join_parts(name: str) -> str:
    """Return a name without its separators, except those between digits."""
    return _SEPARATORS.sub(lambda found: "-" if _between_digits(found) else "", name.casefold())


def _between_digits(found: re.Match[str]) -> bool:
    text, start, end = found.string, found.start(), found.end()
    return start > 0 and end < len(text) and text[start - 1].isdigit() and text[end].isdigit()


def _singular(name: str) -> str:
    """Return a name in the singular if its last word is certainly a plural."""
    if acronyms := _ACRONYMS.search(name):
        return name[: acronyms.start()] + acronyms[1]
    before, separator, last = _last_word(name)
    lowered = last.lower()
    lone_noun = len(lowered) >= _SHORTEST_LONE_PLURAL and _NOUNS.search(lowered)
    if not lowered.isalpha() or not _PLURAL.search(lowered) or not (before or lone_noun):
        return name
    if lowered.endswith("ies"):
        return f"{before}{separator}{last[:-3]}y"
    return f"{before}{separator}{last[: -2 if lowered.endswith(_PLURALS_IN_ES) else -1]}"


def _last_word(name: str) -> tuple[str, str, str]:
    at = max(name.rfind(mark) for mark in " -_")
    return (name[:at], name[at], name[at + 1 :]) if at > 0 else ("", "", name)


def _path_form(name: str) -> str:
    """Return the form that a path shares with its suffixes."""
    path = plain_path(name)
    if not path or path.endswith("/") or not _PATTERN_MARKS.isdisjoint(path):
        return ""
    parts = path.split("/")
    if parts[-1] in {".", ".."} or (len(parts) == 1 and "." not in path):
        return ""
    if parts[-1].lstrip(".").partition(".")[0].casefold() in GENERIC_FILES:
        return f"/{parts[-2]}/{parts[-1]}" if len(parts) > 1 and parts[-2] not in {"", "~"} else ""
    return f"/{parts[-1]}"


def plain_path(name: str) -> str:
    """Return a path without a leading `./`, `../` or `/`."""
    return _BEGINNING.sub("", name)


def _is_absolute(name: str) -> bool:
    """Return whether a path is absolute, so that no longer path is the same file.

    `.claude/settings.json` is a project's, `~/.claude/settings.json` is its user's.
    """
    return name.startswith("/") or plain_path(name).startswith(".")


def heads(names: Sequence[Name]) -> dict[str, str]:
    """Return name -> head of all names of one class; a name that joins no other is its own head.

    The result does not depend on the order of the names. The head is the well-known spelling, else the first;
    for paths the longest. If a class has two type families, names without a family join neither.
    """
    found = {name.name: name.name for name in names}
    free = sorted((name for name in names if not name.apart), key=lambda name: name.order)
    paths = [name for name in free if name.family == "file"]
    if paths:
        found |= _heads_of_paths(paths)
    plain_names = [name for name in free if name.family not in {"file", CODE}]
    families: dict[str, list[Name]] = {}
    for name in plain_names:
        families.setdefault(name.family, []).append(name)
    strong = [family for family in families if family != WEAK]
    if len(strong) == 1 and WEAK in families:
        families = {strong[0]: plain_names}
    elif not strong and WEAK in families and any(map(_is_distinctive, families[WEAK])):
        # A package is written as an identifier; a single capitalized word may be anything.
        families[WEAK] = [name for name in free if name.family in {WEAK, CODE}]
        if sum(name.family == CODE for name in families[WEAK]) > 1:
            families[WEAK] = plain_names
    for group in families.values():
        head = next((name for name in group if _is_known(name.name)), group[0])
        for name in group:
            found[name.name] = head.name
    return found


def _is_known(name: str) -> bool:
    return KNOWN_NAMES.get(name.casefold(), ("", ""))[0] == name


def _is_distinctive(name: Name) -> bool:
    return " " in name.name or "-" in name.name or bool(_INNER_CAPITAL.search(name.name))


def _heads_of_paths(paths: Sequence[Name]) -> dict[str, str]:
    """Return path -> the only longest path that ends in it; itself if there is none or more than one."""
    if len(paths) > MAX_PATHS:
        return {}
    # Of two equal ones, the relative path.
    ranked = sorted((name.name for name in paths), key=lambda name: name.startswith("."))
    plain = {name: f"/{plain_path(name)}" for name in ranked}
    extensible = {path for name, path in plain.items() if not _is_absolute(name)}
    longest: dict[str, str] = {}
    for name, path in plain.items():
        if path not in extensible or not any(
            other != path and other.endswith(path) for other in plain.values()
        ):
            longest.setdefault(path, name)
    found = {}
    for name, path in plain.items():
        rooted = _is_absolute(name)
        whole = [other for other in longest if other == path or (other.endswith(path) and not rooted)]
        found[name] = longest[whole[0]] if len(whole) == 1 else name
    return found


def rule_of(name: str, head: str) -> str:
    """Return why two names of a class are one: case, spelling (blanks, hyphens), plural or path."""
    if name.casefold() == head.casefold():
        return "case"
    if plain_path(head).endswith(plain_path(name)):
        return "path"
    return "spelling" if _join_parts(name) == _join_parts(head) else "plural"


def compatible(names: Iterable[Name]) -> bool:
    """Return whether all these names may be one thing: all have the same type family, or none."""
    return len({name.family for name in names} - {WEAK, CODE}) <= 1


def names_in(extraction: Extraction) -> dict[str, str]:
    """Return the names of an extraction with their types, including the ends of relations."""
    found = {end: WEAK for relation in extraction.relations for end in (relation.source, relation.target)}
    found.update((entity.name, entity.type) for entity in extraction.entities)
    return found


def resolve_names(extraction: Extraction, canonical: Mapping[str, str]) -> Extraction:
    """Replace each name of an extraction by that of its node; each entity and pair stays once."""
    if canonical.keys().isdisjoint(names_in(extraction)):
        return extraction
    entities: dict[str, Entity] = {}
    for entity in extraction.entities:
        name = canonical.get(entity.name, entity.name)
        before = entities.get(name)
        if before is None:
            entities[name] = replace(entity, name=name)
        elif before.type == WEAK != entity.type:
            entities[name] = Entity(name, entity.type, before.description)
    relations: dict[frozenset[str], Relation] = {}
    for relation in extraction.relations:
        source = canonical.get(relation.source, relation.source)
        target = canonical.get(relation.target, relation.target)
        pair = frozenset((source, target))
        known = relations.get(pair)
        if source != target and (known is None or relation.weight > known.weight):
            relations[pair] = replace(relation, source=source, target=target)
    return Extraction(extraction.chunk_id, tuple(entities.values()), tuple(relations.values()))

"""Parse the text of an expression: names, types, the receiver of a call."""

import re
from functools import lru_cache

from ragmem.readers.code.syntax import Syntax

_SEPARATORS = re.compile(r"\s*(?:\?\.|!\.|\??->|::|&\.|\.|\\)\s*")
_PATH = re.compile(r"@{0,2}[\w$]+(?:\.[\w$]+)*\Z")
_MAKING = re.compile(r"(?:await\s+)?new\s+([\w$.:\\]+)")
_SHARED = re.compile(r"(?:std::)?make_(?:unique|shared)<([^>]+)>")
_CALLING = re.compile(r"(?:await\s+)?([@$\w.:]+)(?:(?:::)?<[^()]*>)?\(.*", re.DOTALL)
_BUILDING = re.compile(r"([\w.:]+)\.(\w+)(?!\w)")
_BEFORE_TYPE = re.compile(
    r"(?:(?:const|mut|dyn|impl|struct|class|enum|union|readonly|ref|static|async|any|some)\s+|[&*?\[\]]+\s*|'\w+\s+)+"
)
_WRAPPED = re.compile(
    r"(?:std::|sync::|rc::)?(?:Promise|Option|Result|Box|Rc|Arc|RefCell|Mutex|RwLock|Optional|Task|ValueTask|"
    r"unique_ptr|shared_ptr|weak_ptr)\s*<(.*)"
)
_AFTER_NAME = re.compile(r"[<({|&\[\];,=]")
_ARGUMENTS = re.compile(r"\s*<[^<>]*>")
_MOST_WRAPPED = 5
MOST_KEPT = 4_096
"""Texts whose names are kept, about 1 MB: the same few types and functions fill most of a file."""

_SINGLETON = re.compile(r"\.(?:Companion|INSTANCE)(?=\.|$)")
"""The only object of a Kotlin class, as Java names it; its members count as those of the class."""

_INFERRED = frozenset({"var", "auto", "dynamic", "let"})


@lru_cache(maxsize=MOST_KEPT)
def dotted_name(text: str) -> str:
    """Return a name with dots in place of the separators of its language."""
    return _SEPARATORS.sub(".", text.strip()).strip(".")


def loaded_name(module: str) -> str:
    """Return the name that stands for a module where it is loaded within an expression."""
    # A dot would divide it into fields.
    return "'" + module.replace(".", "\u2024") + "'"


def without_arguments(name: str) -> str:
    """Return a name without its template arguments; the name of an operator stays as it is."""
    if "<" not in name or "operator" in name or name.startswith("<"):
        return name
    for _ in range(_MOST_WRAPPED):
        bare = _ARGUMENTS.sub("", name)
        if bare == name:
            break
        name = bare
    return name.partition("<")[0].strip()


@lru_cache(maxsize=MOST_KEPT)
def bare_type(text: str) -> str:
    """Return the bare name of a type, without arguments, pointers, references and wrappers such as Option."""
    bare = text.strip().removeprefix(":")
    for _ in range(_MOST_WRAPPED):
        bare = bare.strip()
        before = _BEFORE_TYPE.match(bare)
        bare = bare[before.end() :] if before else bare
        wrapped = _WRAPPED.match(bare)
        if not wrapped:
            break
        bare = wrapped[1]
    return dotted_name(_AFTER_NAME.split(bare, maxsplit=1)[0].rstrip("*&?!> \t\n"))


def type_stated(syntax: Syntax, stated: str, value: str) -> str:
    """Return the type of a declaration by its type or value; `name()` for the result of a call."""
    if stated and (bare := bare_type(stated)) not in _INFERRED:
        return bare
    # The words that a pattern needs are found faster than the pattern.
    if "new" in value and (made := _MAKING.match(value)):
        return dotted_name(made[1])
    if "make_" in value and (shared := _SHARED.match(value)):
        return bare_type(shared[1])
    if syntax.constructors and (built := _BUILDING.match(value)) and built[2] in syntax.constructors:
        return dotted_name(built[1])
    called = "(" in value and _CALLING.match(value)
    return f"{receiver_of(syntax, called[1])}()" if called else ""


@lru_cache(maxsize=MOST_KEPT)
def receiver_of(syntax: Syntax, text: str) -> str:
    """Return the receiver of a call: names joined by dots, with `@self` for the object itself.

    `=Type` is an object that is created on the spot, `=name()` the result of a call, `?` anything else. A
    file's facts have `#7` for the result of the call in their row 7.
    """
    if syntax.loads and (loaded := syntax.loads.fullmatch(text.strip())):
        return f"{loaded_name(loaded[1])}.{dotted_name(loaded[2])}".rstrip(".")
    bare = text.strip().lstrip("(*&").rstrip("!?")
    if made := _MAKING.match(bare):
        return f"={dotted_name(made[1])}"
    path = dotted_name(bare if "(" in bare else bare.rstrip(")"))
    if _PATH.match(path):
        return _resolve_self(syntax, path)
    called = _CALLING.fullmatch(bare)
    if called and "." not in bare[called.end(1) :]:
        return f"={receiver_of(syntax, called[1])}()"
    return "?"


@lru_cache(maxsize=MOST_KEPT)
def call_of(syntax: Syntax, callee: str, receiver: str | None, *, whole: bool) -> tuple[str, str]:
    """Return the receiver of a call, "" without one, and its name; `whole`: the callee is the name."""
    if syntax.loads and syntax.loads.fullmatch(callee):
        return "", receiver_of(syntax, callee)
    name = callee if whole else dotted_name(bare_type(callee))
    if receiver is None and "." in name:
        receiver, _, name = name.rpartition(".")
    return "" if receiver is None else receiver_of(syntax, receiver), name


def _resolve_self(syntax: Syntax, path: str) -> str:
    if path.endswith(".class"):  # Java's name for the reflection object of a class
        return "?"
    if path.endswith(".this"):  # Java's name for the object around an inner one
        return "@self"
    if path.startswith("@"):
        return f"@self.{path.lstrip('@')}"
    first, dot, rest = _SINGLETON.sub("", path).partition(".")
    if first in syntax.selves:
        return f"@self{dot}{rest}"
    return f"@super{dot}{rest}" if first in syntax.supers else f"{first}{dot}{rest}"

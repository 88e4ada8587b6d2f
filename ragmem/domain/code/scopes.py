"""Names of a repository's code: what each scope defines, and what a name means where it is used."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragmem.domain.code.code import ParsedFile, SymbolKind

_MOST_STEPS = 40
"""Bases, exports and types that are followed from one to the next."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a name means: a symbol or namespace of the repository, or the name of something outside."""

    name: str
    internal: bool = True


@dataclass(frozen=True, slots=True)
class Habits:
    """How a family of languages looks names up.

    `implicit_self`: members are named without `this`. `nested`: a namespace sees those around it.
    `absolute`: a namespace can be named from its root anywhere.
    """

    separator: str = "."
    implicit_self: bool = False
    nested: bool = False
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """A name that the file of `path` takes from a module; `member` is empty for the module itself."""

    module: Found
    member: str
    path: str


@dataclass(slots=True)
class FileNames:
    """What a file takes from elsewhere: names, and places of which it sees all names."""

    namespace: str
    local: dict[str, Taken] = field(default_factory=dict)
    everything: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    """Namespaces that the file adds to."""


class Names:
    """The names of all files of one family of languages; the first definition of a name is meant."""

    def __init__(self, files: Sequence[ParsedFile], habits: Habits) -> None:
        self.habits = habits
        self.kinds: dict[str, SymbolKind] = {}
        self.path_of: dict[str, str] = {}
        self.module_of: dict[str, str] = {}
        self.members: dict[str, dict[str, str]] = {}
        self.owner_of: dict[str, str] = {}
        self.exports: dict[str, dict[str, Taken]] = {}
        self.all_of: dict[str, list[str]] = {}
        """Module -> modules of which it exports everything."""
        self.bases: dict[str, list[Found]] = {}
        self.fields: dict[tuple[str, str], tuple[str, str]] = {}
        """Class and field -> type as written, path of the file that says so."""
        self.returns: dict[str, tuple[str, str]] = {}
        self.methods: dict[str, list[str]] = {}
        """Name -> methods of that name."""
        self.files: dict[str, FileNames] = {}
        for file in files:
            self._add(file)
        self.namespaces = self._namespaces()

    def _add(self, file: ParsedFile) -> None:
        names = FileNames(str(file.facts.get("namespace", "")))
        self.files[file.path] = names
        self.module_of[file.path] = file.module
        for symbol in file.symbols:
            self.kinds.setdefault(symbol.qualified, symbol.kind)
            self.path_of.setdefault(symbol.qualified, file.path)
            if symbol.kind is SymbolKind.METHOD:
                known = self.methods.setdefault(symbol.name, [])
                if symbol.qualified not in known:
                    known.append(symbol.qualified)
        for owner, name, qualified in file.facts.get("members", ()):
            # A constructor has its class's name, which means the class.
            is_made = owner.rpartition(self.habits.separator)[2] == name
            if not (is_made and self.kinds.get(qualified) is SymbolKind.METHOD):
                self.members.setdefault(owner, {}).setdefault(name, qualified)
            self.owner_of.setdefault(qualified, owner)
            if owner not in self.kinds and owner not in names.own and owner != file.module:
                names.own.append(owner)
        for owner, name, stated in file.facts.get("fields", ()):
            self.fields.setdefault((owner, name), (stated, file.path))
        for function, stated in file.facts.get("returns", ()):
            self.returns.setdefault(function, (stated, file.path))

    def _namespaces(self) -> frozenset[str]:
        found: set[str] = set()
        for owner in self.members:
            if owner not in self.kinds or self.kinds[owner] is SymbolKind.MODULE:
                while owner and owner not in found:
                    found.add(owner)
                    owner = owner.rpartition(self.habits.separator)[0]  # noqa: PLW2901 - the one around it
        return frozenset(found)

    def is_class(self, name: str) -> bool:
        """Tell whether a symbol is something that has members."""
        return self.kinds.get(name) in {SymbolKind.CLASS, SymbolKind.INTERFACE}

    def join(self, owner: str, name: str) -> str:
        """Return the name of a namespace within another."""
        return f"{owner}{self.habits.separator}{name}" if owner else name

    def scopes(self, path: str, symbol: str) -> Iterator[str]:
        """Yield the scopes around a symbol, its own first, then the file's and the namespaces."""
        at = symbol
        while at in self.owner_of:
            yield at
            at = self.owner_of[at]
        yield from dict.fromkeys((at, self.module_of[path], self.files[path].namespace))
        if self.habits.nested:
            for namespace in (at, *self.files[path].own):
                around = namespace
                while around:
                    yield around
                    around = around.rpartition(self.habits.separator)[0]
            yield ""

    def lookup(self, path: str, symbol: str, name: str) -> Found | None:
        """Return what a bare name means within a symbol of a file."""
        names = self.files[path]
        for scope in self.scopes(path, symbol):
            if self.is_class(scope):
                member = self.member(scope, name) if self.habits.implicit_self else None
                if member:
                    return member
            elif found := self.members.get(scope, {}).get(name):
                return Found(found)
            elif self.habits.nested and scope and (inner := self.join(scope, name)) in self.namespaces:
                return Found(inner)
        if name in names.local:
            return self.taken(names.local[name])
        for place in names.everything:
            if found_there := self.member(place, name):
                return found_there
        return Found(name) if self.habits.absolute and name in self.namespaces else None

    def taken(self, taken: Taken, *, steps: int = _MOST_STEPS) -> Found | None:
        """Return what a name means that a file takes from a module."""
        if not taken.member:
            return taken.module
        if not taken.module.internal:
            if taken.member == "default":
                return taken.module
            return Found(f"{taken.module.name}{self.habits.separator}{taken.member}", internal=False)
        if steps <= 0:
            return None
        found = self.member(taken.module.name, taken.member, steps=steps - 1)
        if found is None and taken.module.name == self.module_of[taken.path]:
            further = self.files[taken.path].local.get(taken.member)
            return self.taken(further, steps=steps - 1) if further and further != taken else None
        # A module that exports something without a name stands for it.
        return found or (taken.module if taken.member == "default" else None)

    def member(self, owner: str, name: str, *, steps: int = _MOST_STEPS) -> Found | None:
        """Return what a class, its bases, a namespace or what a module exports calls by a name."""
        waiting, seen = [owner], {owner}
        while waiting and len(seen) < _MOST_STEPS:
            at = waiting.pop(0)
            if found := self.members.get(at, {}).get(name):
                return Found(found)
            if (exported := self.exports.get(at, {}).get(name)) and (
                through := self.taken(exported, steps=steps - 1)
            ):
                return through
            further = [base.name for base in self.bases.get(at, ()) if base.internal]
            for one in further + self.all_of.get(at, []):
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
        inner = self.join(owner, name)
        return Found(inner) if inner in self.namespaces else None

    def path(self, path: str, symbol: str, dotted: str) -> Found | None:
        """Return what names joined by dots mean."""
        first, *rest = dotted.split(".")
        found = self.lookup(path, symbol, first)
        for name in rest:
            if found is None:
                return None
            found = (
                self.member(found.name, name)
                if found.internal
                else Found(f"{found.name}{self.habits.separator}{name}", internal=False)
            )
        return found

    def type(self, path: str, symbol: str, owner: str, stated: str, *, steps: int = 6) -> Found | None:
        """Return the class that a type as written means; `name()` is what a call returns."""
        if not stated or stated == "?" or steps <= 0:
            return None
        if stated in {"Self", "self", "static", "this", "@self"}:
            return Found(owner) if owner else None
        if not stated.endswith("()"):
            found = self.path(path, symbol, stated)
            return found if found and (not found.internal or self.is_class(found.name)) else None
        return self._returned(path, symbol, owner, stated.removesuffix("()"), steps)

    def _returned(self, path: str, symbol: str, owner: str, called: str, steps: int) -> Found | None:
        called = called.removeprefix("=")
        on, _, name = called.rpartition(".")
        if on.startswith("@self"):
            holder = self.walk(Found(owner), on.split(".")[1:]) if owner else None
            function = self.member(holder.name, name) if holder and holder.internal else None
        else:
            function = self.path(path, symbol, called)
        if function is None or not function.internal:
            return None
        if self.is_class(function.name):
            return function
        stated, where = self.returns.get(function.name, ("", ""))
        around = self.owner_of.get(function.name, "")
        holder_name = around if self.is_class(around) else ""
        return self.type(where, function.name, holder_name, stated, steps=steps - 1)

    def walk(self, found: Found | None, fields: Sequence[str]) -> Found | None:
        """Return the class of a field of a field of an object."""
        for name in fields:
            if found is None or not found.internal:
                return None
            found = self.field(found.name, name)
        return found

    def field(self, owner: str, name: str) -> Found | None:
        """Return the class of what a class, or one of its bases, keeps by a name."""
        holder = self.holder(owner, name)
        stated, where = self.fields.get((holder, name), ("", ""))
        return self.type(where, holder, holder, stated)

    def holder(self, owner: str, name: str) -> str:
        """Return the class, of one and its bases, that states the type of a field; empty where none does."""
        waiting, seen = [owner], {owner}
        while waiting and len(seen) < _MOST_STEPS:
            at = waiting.pop(0)
            if (at, name) in self.fields:
                return at
            for base in self.bases.get(at, ()):
                if base.internal and base.name not in seen:
                    seen.add(base.name)
                    waiting.append(base.name)
        return ""

    def adopt(self, file: ParsedFile) -> None:
        """Give members that a file defines for a type of elsewhere to that type."""
        for owner, name, qualified in file.facts.get("members", ()):
            if owner and owner not in self.kinds and self.kinds.get(qualified) is SymbolKind.METHOD:
                real = self.real(file.path, owner)
                if real and real != owner:
                    self.members.setdefault(real, {}).setdefault(name, qualified)

    def real(self, path: str, owner: str) -> str:
        """Return the class that an owner of members as a file names it is; empty where there is none."""
        if self.is_class(owner):
            return owner
        around, _, bare = owner.rpartition(self.habits.separator)
        found = self.lookup(path, around if around in self.kinds else self.module_of[path], bare)
        return found.name if found and found.internal and self.is_class(found.name) else ""


def by_language(files: Sequence[ParsedFile], families: Mapping[str, str]) -> dict[str, list[ParsedFile]]:
    """Return family -> its files in the order of their paths; files of no family are left out."""
    found: dict[str, list[ParsedFile]] = {}
    for file in sorted(files, key=lambda one: one.path):
        if file.language in families:
            found.setdefault(families[file.language], []).append(file)
    return found

"""Resolve names in a repository's code: the definitions of each scope, and the meaning of a name."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragmem.domain.code.code import ParsedFile, SymbolKind

_MOST_STEPS = 40
"""Longest chain of bases and exports that is followed."""

_MOST_TYPES = 6
"""Longest chain of types that is followed; the type of a field may be made of the field itself."""

_CLASSES = (SymbolKind.CLASS, SymbolKind.INTERFACE)
"""A tuple, because the hash of a kind takes longer than comparing two."""


_SCRIPTS = ("javascript", "typescript")
"""Languages in which functions and objects are assigned methods."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The target of a name: a symbol or namespace of the repository, or an external name."""

    name: str
    internal: bool = True


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """The scope rules of a family of languages.

    `implicit_self`: members are used without `this`. `nested`: a namespace sees its enclosing ones.
    `absolute`: a namespace can be named from the root everywhere. `extensions`: external types get members.
    """

    separator: str = "."
    implicit_self: bool = False
    nested: bool = False
    absolute: bool = False
    extensions: bool = False


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name that the file `path` imports from a module; an empty `member` is the module itself."""

    module: Resolution
    member: str
    path: str


@dataclass(slots=True)
class FileNames:
    """The imports of a file: single names, and namespaces of which it sees all names."""

    namespace: str
    local: dict[str, ImportedName] = field(default_factory=dict)
    everything: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    """Namespaces to which the file adds definitions."""


class Names:
    """The names of all files of one family of languages; the first definition of a name wins."""

    def __init__(self, files: Sequence[ParsedFile], rules: LanguageRules) -> None:
        self.rules = rules
        self.kinds: dict[str, SymbolKind] = {}
        self.path_of: dict[str, str] = {}
        self.module_of: dict[str, str] = {}
        self.members: dict[str, dict[str, str]] = {}
        self.owner_of: dict[str, str] = {}
        self.exports: dict[str, dict[str, ImportedName]] = {}
        self.all_of: dict[str, list[str]] = {}
        """Module -> modules that it re-exports as a whole."""
        self.bases: dict[str, list[Resolution]] = {}
        self.fields: dict[tuple[str, str], tuple[str, str]] = {}
        """(Class, field) -> type as written, and the path of the file that declares it."""
        self.returns: dict[str, tuple[str, str]] = {}
        self.methods: dict[str, list[str]] = {}
        """Name -> methods with that name."""
        self.extensions: set[str] = set()
        """Functions that are called like methods of a type that does not have them."""
        self.crates: dict[str, str] = {}
        """Name of a crate of Rust -> module of its root."""
        self.files: dict[str, FileNames] = {}
        self._scopes: dict[tuple[str, str], tuple[str, ...]] = {}
        self._meanings: dict[tuple[str, str, str], Resolution | None] = {}
        self._imported: dict[tuple[str, str], Resolution | None] = {}
        self._is_settled = False
        for file in files:
            self._add(file)
        scripts = (file for file in files if file.language in _SCRIPTS)
        members = (row for file in scripts for row in file.facts.get("members", ()))
        self.objects = frozenset(row[0] for row in members if self.kinds.get(row[2]) is SymbolKind.METHOD)
        """Functions and objects of JavaScript that are assigned methods, and classes."""
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
            # A constructor has the name of its class and resolves to the class.
            is_made = owner.rpartition(self.rules.separator)[2] == name
            if not (is_made and self.kinds.get(qualified) is SymbolKind.METHOD):
                self.members.setdefault(owner, {}).setdefault(name, qualified)
            self.owner_of.setdefault(qualified, owner)
            if file.language == "kotlin" and owner == names.namespace:
                # Java finds what is outside of classes in a class named after the file.
                stem = posixpath.basename(file.path).partition(".")[0]
                self.members.setdefault(self.join(owner, f"{stem}Kt"), {}).setdefault(name, qualified)
            if owner not in self.kinds and owner not in names.own and owner != file.module:
                names.own.append(owner)
        for owner, name, stated in file.facts.get("fields", ()):
            self.fields.setdefault((owner, name), (stated, file.path))
        self.extensions.update(file.facts.get("extensions", ()))
        for function, stated in file.facts.get("returns", ()):
            self.returns.setdefault(function, (stated, file.path))

    def _namespaces(self) -> frozenset[str]:
        found: set[str] = set()
        for owner in self.members:
            if owner not in self.kinds or self.kinds[owner] is SymbolKind.MODULE:
                while owner and owner not in found:
                    found.add(owner)
                    owner = owner.rpartition(self.rules.separator)[0]  # noqa: PLW2901 - the one around it
        return frozenset(found)

    def is_class(self, name: str) -> bool:
        """Return whether a symbol has members."""
        return self.kinds.get(name) in _CLASSES or name in self.objects

    def join(self, owner: str, name: str) -> str:
        """Join a namespace and a name."""
        return f"{owner}{self.rules.separator}{name}" if owner else name

    def scopes(self, path: str, symbol: str) -> Iterator[str]:
        """Yield the scopes around a symbol: its own, then the file's, then the namespaces."""
        at = symbol
        while at in self.owner_of:
            yield at
            at = self.owner_of[at]
        yield from dict.fromkeys((at, self.module_of[path], self.files[path].namespace))
        if self.rules.nested:
            for namespace in (at, *self.files[path].own):
                around = namespace
                while around:
                    yield around
                    around = around.rpartition(self.rules.separator)[0]
            yield ""

    def lookup(self, path: str, symbol: str, name: str) -> Resolution | None:
        """Resolve a bare name within a symbol of a file."""
        if not self._is_settled:
            return self._lookup(path, symbol, name)
        key = path, symbol, name
        if key not in self._meanings:
            self._meanings[key] = self._lookup(path, symbol, name)
        return self._meanings[key]

    def settle(self) -> None:
        """Keep what each name means from now on, because imports, members and bases are complete."""
        self._is_settled = True

    def _lookup(self, path: str, symbol: str, name: str) -> Resolution | None:
        key = path, symbol
        if (scopes := self._scopes.get(key)) is None:
            scopes = self._scopes[key] = tuple(dict.fromkeys(self.scopes(path, symbol)))
        extended = None
        for scope in scopes:
            if self.is_class(scope):
                member = self.member(scope, name) if self.rules.implicit_self else None
                if member:
                    return member
            elif found := self.members.get(scope, {}).get(name):
                return Resolution(found)
            elif self.rules.nested and scope and (inner := self.join(scope, name)) in self.namespaces:
                if not self.rules.extensions:
                    return Resolution(inner)
                # Members of a type that is defined elsewhere, maybe in what the file imports
                extended = extended or Resolution(inner)
        if not self._is_settled:
            return self._imported_name(path, name) or extended
        if (path, name) not in self._imported:
            self._imported[path, name] = self._imported_name(path, name)
        return self._imported[path, name] or extended

    def _imported_name(self, path: str, name: str) -> Resolution | None:
        names = self.files[path]
        if name in names.local:
            return self.resolve_import(names.local[name])
        for place in names.everything:
            if found_there := self.member(place, name):
                return found_there
        root = name if self.rules.absolute and name in self.namespaces else self.crates.get(name)
        return Resolution(root) if root else None

    def resolve_import(self, taken: ImportedName, *, steps: int = _MOST_STEPS) -> Resolution | None:
        """Resolve a name that a file imports from a module."""
        if not taken.member:
            return taken.module
        if not taken.module.internal:
            if taken.member == "default":
                return taken.module
            return Resolution(f"{taken.module.name}{self.rules.separator}{taken.member}", internal=False)
        if steps <= 0:
            return None
        found = self.member(taken.module.name, taken.member, steps=steps - 1)
        if found is None and taken.module.name == self.module_of[taken.path]:
            further = self.files[taken.path].local.get(taken.member)
            return self.resolve_import(further, steps=steps - 1) if further and further != taken else None
        # A module with a default export stands for that export.
        return found or (taken.module if taken.member == "default" else None)

    def member(self, owner: str, name: str, *, steps: int = _MOST_STEPS) -> Resolution | None:
        """Resolve a member of a class, of its bases, of a namespace or of a module."""
        if found := self.members.get(owner, {}).get(name):
            return Resolution(found)
        leads_on = owner in self.bases or owner in self.exports or owner in self.all_of
        waiting, seen = [owner] if leads_on else [], {owner}
        while waiting and len(seen) < _MOST_STEPS:
            at = waiting.pop(0)
            if found := self.members.get(at, {}).get(name):
                return Resolution(found)
            if (exported := self.exports.get(at, {}).get(name)) and (
                through := self.resolve_import(exported, steps=steps - 1)
            ):
                return through
            further = [base.name for base in self.bases.get(at, ()) if base.internal]
            for one in further + self.all_of.get(at, []):
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
        inner = self.join(owner, name)
        return Resolution(inner) if inner in self.namespaces else None

    def path(self, path: str, symbol: str, dotted: str) -> Resolution | None:
        """Resolve a dotted name."""
        first, *rest = dotted.split(".")
        found = self.lookup(path, symbol, first)
        for name in rest:
            if found is None:
                return None
            found = (
                self.member(found.name, name)
                if found.internal
                else Resolution(f"{found.name}{self.rules.separator}{name}", internal=False)
            )
        return found

    def type(
        self, path: str, symbol: str, owner: str, stated: str, *, steps: int = _MOST_TYPES
    ) -> Resolution | None:
        """Return the class of a type as written; `name()` means the return type of a call."""
        if not stated or stated == "?" or steps <= 0:
            return None
        if stated in {"Self", "self", "static", "this", "@self"}:
            return Resolution(owner) if owner else None
        if not stated.endswith("()"):
            found = self.path(path, symbol, stated)
            is_type = found and (not found.internal or self.is_class(found.name) or self.rules.extensions)
            return found if is_type else None
        return self._return_type(path, symbol, owner, stated.removesuffix("()"), steps)

    def _return_type(self, path: str, symbol: str, owner: str, called: str, steps: int) -> Resolution | None:
        called = called.removeprefix("=")
        on, _, name = called.rpartition(".")
        if on.startswith("@self"):
            holder = self.walk(Resolution(owner), on.split(".")[1:], steps=steps - 1) if owner else None
            function = self.member(holder.name, name) if holder and holder.internal else None
        else:
            function = self.path(path, symbol, called)
        return self.result(function, steps=steps) if function else None

    def result(self, function: Resolution, *, steps: int = _MOST_TYPES) -> Resolution | None:
        """Return the class of what a function returns; a class makes its instances."""
        if not function.internal:
            return None
        if self.is_class(function.name):
            return function
        stated, where = self.returns.get(function.name, ("", ""))
        around = self.owner_of.get(function.name, "")
        holder_name = around if self.is_class(around) else ""
        return self.type(where, function.name, holder_name, stated, steps=steps - 1)

    def walk(
        self, found: Resolution | None, fields: Sequence[str], *, steps: int = _MOST_TYPES
    ) -> Resolution | None:
        """Return the class of a field of a field."""
        for name in fields:
            if found is None or not found.internal:
                return None
            found = self.field(found.name, name, steps=steps)
        return found

    def field(self, owner: str, name: str, *, steps: int = _MOST_TYPES) -> Resolution | None:
        """Return the class of a field that a class or one of its bases declares."""
        holder = self.owner(owner, name)
        stated, where = self.fields.get((holder, name), ("", ""))
        return self.type(where, holder, holder, stated, steps=steps)

    def owner(self, owner: str, name: str) -> str:
        """Return the class, among one and its bases, that declares the type of a field; "" if none does."""
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
        """Attach members that a file defines for a type of another file to that type."""
        for owner, name, qualified in file.facts.get("members", ()):
            if owner and owner not in self.kinds and self.kinds.get(qualified) is SymbolKind.METHOD:
                real = self.real(file.path, owner)
                if real and real != owner:
                    self.members.setdefault(real, {}).setdefault(name, qualified)

    def real(self, path: str, owner: str) -> str:
        """Return the class that owns members defined elsewhere; "" if there is none."""
        if self.is_class(owner):
            return owner
        around, _, bare = owner.rpartition(self.rules.separator)
        found = self.lookup(path, around if around in self.kinds else self.module_of[path], bare)
        return found.name if found and found.internal and self.is_class(found.name) else ""


def by_language(files: Sequence[ParsedFile], families: Mapping[str, str]) -> dict[str, list[ParsedFile]]:
    """Return family -> its files in the order of their paths; other files are left out."""
    found: dict[str, list[ParsedFile]] = {}
    for file in sorted(files, key=lambda one: one.path):
        if file.language in families:
            found.setdefault(families[file.language], []).append(file)
    return found

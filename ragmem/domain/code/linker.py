"""Resolve the references between the files of a repository, in every language but Python.

Precision comes before recall. A call is linked if its name, the declared type of its object or an import
identifies the target, or if exactly one reachable method has this uncommon name. A member of an external
import stays an external reference. All other references are dropped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ragmem.domain.code import imports
from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile, SymbolKind
from ragmem.domain.code.scopes import ImportedName, LanguageRules, Names, Resolution, by_language

_FAMILIES = {
    "javascript": "javascript",
    "typescript": "javascript",
    "go": "go",
    "rust": "rust",
    "java": "java",
    "kotlin": "java",
    "csharp": "csharp",
    "c": "c",
    "cpp": "c",
    "ruby": "ruby",
    "php": "php",
    "swift": "swift",
}
_RULES = {
    "javascript": LanguageRules(),
    "go": LanguageRules(),
    "rust": LanguageRules(separator="::"),
    "java": LanguageRules(implicit_self=True, absolute=True),
    "csharp": LanguageRules(implicit_self=True, nested=True, absolute=True),
    "c": LanguageRules(separator="::", implicit_self=True, nested=True, absolute=True),
    "php": LanguageRules(separator="\\", absolute=True),
    "swift": LanguageRules(implicit_self=True, nested=True, absolute=True, extensions=True),
    "ruby": LanguageRules(separator="::", implicit_self=True, nested=True, absolute=True),
}
_RESOLVERS: dict[str, Callable[[Sequence[ParsedFile], Names], imports.Resolve]] = {
    "javascript": imports.javascript,
    "go": imports.go,
    "rust": imports.rust,
    "java": imports.packages,
    "csharp": imports.packages,
    "c": imports.c,
    "ruby": imports.ruby,
    "php": imports.php,
    "swift": imports.packages,
}
_COMMON = frozenset(
    """
    add all any append apply as_ref as_str at call clear clone close collect concat contains copy count
    create data delete destroy dispose each emit empty end equals error exists fetch fill filter find
    first flush format forEach get getClass getId getName getType handle has hash id index info init
    insert into invoke is_empty iter join key keys last len length list load log lock map match merge name
    new next now off on open parse pop post print push put read reduce remove replace reset resolve run
    save send set setup shift size slice sort split start stop sub tap test then to toByte toByteArray
    toDouble toFloat toInt toList toLong toMap toSet toString to_s to_string trim type update value values
    wait warn write
    """.lower().split()
)
"""Method names that are too common to identify a class."""
_FUNCTIONS = (SymbolKind.FUNCTION, SymbolKind.METHOD)
_MIN_UNIQUE_CHARS = 6
"""Shortest method name in characters that identifies a class."""


def _is_common(name: str) -> bool:
    return name.lower() in _COMMON or len(name) < _MIN_UNIQUE_CHARS


def link(files: Sequence[ParsedFile]) -> list[Edge]:
    """Return the edges of all files of a repository, in the order of paths and lines."""
    edges: list[Edge] = []
    for family, members in by_language(files, _FAMILIES).items():
        edges.extend(_Linker(family, members).edges())
    return sorted(
        dict.fromkeys(edges), key=lambda edge: (edge.path, edge.line, edge.source, edge.kind, edge.target)
    )


class _Linker:
    """Links the files of one family of languages."""

    def __init__(self, family: str, files: Sequence[ParsedFile]) -> None:
        self.files = files
        self.by_path = {file.path: file for file in files}
        self.family = family
        self.names = Names(files, _RULES[family])
        self.resolve = _RESOLVERS[family](files, self.names)
        self._candidates: dict[str, frozenset[str]] = {}
        self.files_in: dict[str, list[str]] = {}
        """Namespace -> paths of its files, without tests."""
        for file in files:
            namespace = self.names.files[file.path].namespace
            if (namespace or family == "swift") and file.symbols and not file.symbols[0].is_test:
                self.files_in.setdefault(namespace, []).append(file.path)

    def edges(self) -> Iterator[Edge]:
        for file in self.files:
            self._register_imports(file)
        for file in self.files:
            self.names.adopt(file)
        inherits = {file.path: list(self._inherits(file)) for file in self.files}
        self.names.settle()
        for file in self.files:
            used = [*inherits[file.path], *self._calls(file)]
            used += list(self._imports(file, used))
            yield from used
            yield from self._mentions(file, known={edge.target for edge in used})

    def _register_imports(self, file: ParsedFile) -> None:
        names = self.names.files[file.path]
        for module, member, local, _, exported, within in file.facts.get("imports", ()):
            found = self.resolve(file, module, within)
            if found is None:
                continue
            holder = within or file.module
            if member == "*":
                if exported and found.internal:
                    self.names.all_of.setdefault(holder, []).append(found.name)
                elif found.internal:
                    names.everything.append(found.name)
            elif local:
                taken = ImportedName(found, member, file.path)
                if exported:
                    self.names.exports.setdefault(holder, {}).setdefault(local, taken)
                if not exported or self.family == "rust":
                    names.local.setdefault(local, taken)

    def _imports(self, file: ParsedFile, used: Sequence[Edge]) -> Iterator[Edge]:
        """Yield the imports of a file: the imported names, or the files of the module or namespace."""
        wholes: dict[tuple[Resolution, int], bool] = {}
        for module, member, _, line, _, within in file.facts.get("imports", ()):
            found = self.resolve(file, module, within) if module else None
            if found is None or (module.startswith("::") and not found.internal):
                continue  # C++: a `using` declaration without a known file
            named = bool(member) and member != "*"
            target = self.names.resolve_import(ImportedName(found, member, file.path)) if named else None
            if target and found.internal and target.name in self.names.kinds:
                yield self._edge(file, file.module, target, EdgeKind.IMPORTS, line)
                wholes[found, line] = True
            elif named and not found.internal and self.family in {"java", "rust", "csharp", "php"}:
                outside = Resolution(f"{found.name}{self.names.rules.separator}{member}", internal=False)
                yield self._edge(file, file.module, outside, EdgeKind.IMPORTS, line)
                wholes[found, line] = True
            elif target or not named or self.family != "php":  # another package has the rest of a namespace
                wholes.setdefault((target if target and target.internal else found, line), False)
        for (found, line), is_covered in wholes.items():
            if not is_covered:
                for target in self._namespace_files(file, found, used):
                    yield self._edge(file, file.module, target, EdgeKind.IMPORTS, line)

    def _mentions(self, file: ParsedFile, *, known: AbstractSet[str]) -> Iterator[Edge]:
        """Yield imports of other files' types that a file names, but does not import, inherit or call."""
        for name, symbol, line in file.facts.get("mentions", ()):
            found = self.names.path(file.path, symbol, name)
            if not found or found.name in known or not self.names.is_class(found.name):
                continue
            if self.names.path_of[found.name] != file.path:
                yield self._edge(file, file.module, found, EdgeKind.IMPORTS, line)

    def _namespace_files(self, file: ParsedFile, found: Resolution, used: Sequence[Edge]) -> list[Resolution]:
        """Return the files of a namespace whose definitions a file uses; a module resolves to itself."""
        if not found.internal or found.name in self.names.kinds:
            return [] if found.name == file.module else [found]
        paths = {
            self.names.path_of[edge.target]
            for edge in used
            if edge.internal and self._namespace_of(edge.target) == found.name
        }
        if not paths and self.family == "go":
            paths = set(self.files_in.get(found.name, ())[:1])
        return [Resolution(self.names.module_of[path]) for path in sorted(paths - {file.path})]

    def _namespace_of(self, symbol: str) -> str:
        while symbol in self.names.owner_of:
            symbol = self.names.owner_of[symbol]
        return symbol

    def _inherits(self, file: ParsedFile) -> Iterator[Edge]:
        for owner, base, line in file.facts.get("bases", ()):
            source = self.names.real(file.path, owner)
            around = self.names.owner_of.get(source, file.module)
            found = self.names.path(file.path, around, base) if source else None
            if found is None or found.name == source:
                continue
            if found.internal:
                found = self._default_export(found)
                if not self.names.is_class(found.name):
                    continue
                self.names.bases.setdefault(source, []).append(found)
            yield self._edge(file, source, found, EdgeKind.INHERITS, line)

    def _calls(self, file: ParsedFile) -> Iterator[Edge]:
        callees: dict[int, Resolution | None] = {}
        rows = file.facts.get("calls", ())
        for number, (symbol, _, _, line, _, _) in enumerate(rows):
            # The call on whose result another one is made comes later.
            chain = [number]
            while (on := rows[chain[-1]][1]).startswith("#") and int(on[1:]) not in callees:
                chain.append(int(on[1:]))
            for one in reversed(chain):
                if one not in callees:
                    callees[one] = self._called(file, rows[one], callees)
            if found := callees[number]:
                yield self._edge(file, symbol, found, EdgeKind.CALLS, line)
        for symbol, receiver, name, line, declared, owner in file.facts.get("passed", ()):
            declared = declared.partition(" ")[2] if declared.startswith("#") else declared  # noqa: PLW2901
            found, _ = self._callee(file.path, symbol, (receiver, name), declared, owner)
            # In Rust also a variant, which stands for its enumeration.
            passed = _FUNCTIONS if self.family != "rust" else (*_FUNCTIONS, SymbolKind.CLASS)
            if found and self.names.kinds.get(found.name) in passed:
                yield self._edge(file, symbol, found, EdgeKind.CALLS, line)

    def _called(
        self, file: ParsedFile, row: Sequence[Any], callees: Mapping[int, Resolution | None]
    ) -> Resolution | None:
        """Return the callee of a call, given those of the file's other calls that it depends on."""
        symbol, receiver, name, _, declared, owner = row
        on: Resolution | None = None
        found, is_known = None, False
        result = receiver if receiver.startswith("#") else declared
        if result.startswith("#"):
            number, _, declared = result[1:].partition(" ")
            callee = callees.get(int(number))
            on = self.names.result(callee) if callee else None
            on = self.names.walk(on, [] if result == receiver else receiver.split(".")[1:])
            declared = declared or "?"
        if on is not None:
            found = self.names.member(on.name, name) if on.internal else None
        elif not receiver.startswith("#"):
            found, is_known = self._callee(file.path, symbol, (receiver, name), declared, owner)
        if found is None and receiver and self.family == "java":
            found = self._extension(file.path, symbol, name)
        # Without a receiver it may be inherited from what is outside, or a member of a lambda's receiver.
        is_known = is_known if receiver else self.family not in {"java", "swift"}
        if found is None and not is_known:
            found = self._only_method(name, self._near(file))
            # A function passes its argument on to the wrapped one of the same name.
            found = None if found and found.name == symbol else found
        found = self._default_export(found) if found else None
        return None if found and found.internal and found.name not in self.names.kinds else found

    def _callee(
        self, path: str, symbol: str, call: tuple[str, str], declared: str, owner: str
    ) -> tuple[Resolution | None, bool]:
        """Return the callee, and whether its receiver is known."""
        names = self.names
        receiver, name = call
        if self.family == "ruby" and call == ("", "new"):
            receiver = "@self"
        if not receiver:
            return self._bare_callee(path, symbol, name, owner), True
        first, *rest = receiver.split(".")
        if receiver == "?" or declared == "?":
            return None, False
        on: Resolution | None
        by_name = False
        if first == "@super":
            bases = names.bases.get(owner, ())
            found = (names.member(base.name, name) for base in bases if base.internal)
            return next((one for one in found if one), None), True
        if first == "@self":
            real = names.real(path, owner) if owner else ""
            on = names.walk(Resolution(real), rest) if real else None
        elif receiver.startswith("="):
            on = names.type(path, symbol, owner, receiver[1:])
        elif declared:
            on = names.walk(names.type(path, symbol, owner, declared), rest)
        else:
            on = self._field_class(path, owner, first)
            by_name = on is None
            on = self._receiver(path, symbol, receiver) if on is None else names.walk(on, rest)
        if on is None:
            return None, self._is_external(path, owner, receiver, declared)
        if on.internal:
            # The names of a module come before those of its default export.
            sides = (on, on := self._default_export(on))
            found_there = next(filter(None, (names.member(one.name, name) for one in sides)), None)
            # Ruby's `new`, and the variants of Rust's enumerations
            makes = name == "new" if self.family == "ruby" else self.family == "rust" and name[:1].isupper()
            is_made = makes and names.is_class(on.name)
            return (on if found_there is None and is_made else found_there), True
        outside = f"{on.name}{names.rules.separator}{name}"
        return (Resolution(outside, internal=False) if by_name else None), True

    def _bare_callee(self, path: str, symbol: str, name: str, owner: str) -> Resolution | None:
        """Return the callee of a call without a receiver."""
        found = self.names.lookup(path, symbol, name)
        if found is None and self.family == "php":
            return self.names.member("", name)  # the global function
        if found is None and self.names.rules.implicit_self and owner:
            return self.names.member(self.names.real(path, owner), name)  # of what a function extends
        is_extension = found is not None and found.name in self.names.extensions
        return self._extension(path, symbol, name) if is_extension else found

    def _extension(self, path: str, symbol: str, name: str) -> Resolution | None:
        """Return the function of Kotlin that extends some type, and is imported or in a scope around."""
        imported = self.names.files[path].local.get(name)
        found = self.names.resolve_import(imported) if imported else self.names.lookup(path, symbol, name)
        if found is None or found.name not in self.names.extensions:
            return None
        if imported:
            return found
        is_member = self.names.is_class(self.names.owner_of[found.name])
        # A method of the unknown object is likelier than the extension that the class around has.
        is_rival = is_member and not self.names.extensions.issuperset(self.names.methods.get(name, ()))
        return None if is_rival or _is_common(name) else found

    def _is_external(self, path: str, owner: str, receiver: str, declared: str) -> bool:
        """Return whether the declared class of a receiver is external."""
        first, _, rest = receiver.partition(".")
        if declared:
            return not declared.endswith("()") and not rest
        if first == "@self":
            first = rest.partition(".")[0]
        real = self.names.real(path, owner) if owner else ""
        return first.lstrip("=")[:1].isupper() or bool(real and first and self.names.owner(real, first))

    def _field_class(self, path: str, owner: str, name: str) -> Resolution | None:
        """Return the class of a field, in languages where `this` may be omitted."""
        real = self.names.real(path, owner) if owner and self.names.rules.implicit_self else ""
        return self.names.field(real, name) if real else None

    def _receiver(self, path: str, symbol: str, receiver: str) -> Resolution | None:
        """Return the target of a receiver: a class, a module or something external."""
        names = self.names
        first, *rest = receiver.split(".")
        if self.family == "rust" and first in {"crate", "super", "self"}:
            return self.resolve(self.by_path[path], receiver.replace(".", "::"), "")
        found = names.path(path, symbol, receiver)
        if found or not rest:
            return found
        # A class or module first, then its fields
        return names.walk(names.lookup(path, symbol, first), rest)

    def _default_export(self, found: Resolution) -> Resolution:
        """Return the default export of a module that is called or inherited from."""
        if found.internal and self.names.kinds.get(found.name) is SymbolKind.MODULE:
            return self.names.member(found.name, "default") or found
        return found

    def _near(self, file: ParsedFile) -> frozenset[str]:
        if file.path not in self._candidates:
            self._candidates = {file.path: self._candidate_paths(file)}
        return self._candidates[file.path]

    def _candidate_paths(self, file: ParsedFile) -> frozenset[str]:
        """Return the paths of a file, of its package and of its imports."""
        paths = {file.path}
        namespace = self.names.files[file.path].namespace
        paths.update(self.files_in.get(namespace, ()))
        for module, member, _, _, _, within in file.facts.get("imports", ()):
            found = self.resolve(file, module, within) if module else None
            if found is None or not found.internal:
                continue
            target = (
                self.names.resolve_import(ImportedName(found, "" if member == "*" else member, file.path))
                or found
            )
            if target.name in self.names.path_of:
                paths.add(self.names.path_of[target.name])
            else:
                paths.update(self.files_in.get(target.name, ()))
        return frozenset(paths)

    def _only_method(self, name: str, near: frozenset[str]) -> Resolution | None:
        candidates = self.names.methods.get(name, ())
        if len(candidates) != 1 or _is_common(name):
            return None
        return Resolution(candidates[0]) if self.names.path_of[candidates[0]] in near else None

    def _edge(self, file: ParsedFile, source: str, target: Resolution, kind: EdgeKind, line: int) -> Edge:
        return Edge(file.path, source, target.name, kind, line, internal=target.internal)

"""Build the edges of a Python repository: calls, imports and base classes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile
from ragmem.domain.python.facts import VERSION
from ragmem.domain.python.flow import MOST_VALUES, Kind
from ragmem.domain.python.modules import Modules, module_name
from ragmem.domain.python.program import Program

_Base = int | str
"""A class of the repository, or the name of an external one."""


def _resolution_orders(bases: Mapping[int, Sequence[_Base]]) -> dict[int, list[_Base]]:
    """Return each class with its bases by the C3 linearization, as Python does.

    If there is none (contradictory bases, circles), the order is depth first.
    """
    known: dict[int, list[_Base]] = {}
    for one in bases:
        _order(one, bases, known)
    return known


def _order(start: int, bases: Mapping[int, Sequence[_Base]], known: dict[int, list[_Base]]) -> None:
    """Compute the order of a class after its bases, without recursion."""
    stack, open_now = [start], set()
    while stack:
        one = stack[-1]
        if one in known:
            stack.pop()
            continue
        open_now.add(one)
        missing = [
            base
            for base in bases[one]
            if isinstance(base, int) and base not in known and base not in open_now
        ]
        if missing:
            stack += missing
            continue
        above = [known.get(base, [base]) if isinstance(base, int) else [base] for base in bases[one]]
        merged = _merge([*(list(order) for order in above), list(bases[one])])
        if merged is None:
            merged = list(dict.fromkeys(base for order in above for base in order))
        known[one] = [one, *(base for base in merged if base != one)]
        open_now.discard(one)
        stack.pop()


def _merge(orders: list[list[_Base]]) -> list[_Base] | None:
    merged: list[_Base] = []
    while orders := [order for order in orders if order]:
        for order in orders:
            head = order[0]
            if not any(head in other[1:] for other in orders):
                break
        else:
            return None
        merged.append(head)
        orders = [order[1:] if order[0] == head else order for order in orders]
    return merged


MOST_MODULES = 200
"""Maximum modules that are searched for the definition of an imported name."""


def link_python(files: Sequence[ParsedFile], *, of: Collection[str] | None = None) -> list[Edge]:
    """Return the edges of all files, in any order, or only of the paths in `of`.

    Works from the facts alone. An edge occurs once per source, target and kind, on its first line. Files
    without facts (parse errors) are only targets of imports.
    """
    ordered = sorted((one for one in files if one.facts.get("version") == VERSION), key=lambda one: one.path)
    modules = Modules(one.path for one in files)
    program, bases = _solve(ordered, modules)
    links = _EdgeBuilder(program, of)
    links.imports()
    links.inherits(bases)
    links.calls()
    return links.edges()


def _solve(files: Sequence[ParsedFile], modules: Modules) -> tuple[Program, dict[int, list[_Base]]]:
    first = Program(files, modules, {})
    first.load_facts(calls=False)
    first.run()
    bases = first.class_bases()
    program = Program(files, modules, _resolution_orders(bases))
    program.load_facts(calls=True)
    program.run()
    found = program.class_bases()
    if found != bases:
        # Some bases come only from a call or a parameter.
        program.rearrange(_resolution_orders(found))
    program.solve()
    return program, found


class _EdgeBuilder:
    """Resolves the numbers of a solved program to names."""

    def __init__(self, program: Program, of: Collection[str] | None) -> None:
        self.program = program
        self.wanted = [of is None or one.path in of for one in program.files]
        self.modules = [one.module for one in program.files]
        self.by_path = {one.path: number for number, one in enumerate(program.files)}
        self.symbols = {symbol.qualified for one in program.files for symbol in one.symbols}
        self.found: dict[tuple[str, str, str, EdgeKind], Edge] = {}
        self.bound = [self._import_bindings(number) for number in range(len(program.files))]

    def _import_bindings(self, number: int) -> dict[str, Sequence[Any]]:
        """Return the module-level imports of a file by the names that they bind."""
        bound: dict[str, Sequence[Any]] = {}
        facts = self.program.file_facts[number].facts
        nodes = {node: name for name, node in facts["globals"].items()}
        for row in facts.get("imports", ()):
            if row[5] in nodes:
                bound[nodes[row[5]]] = row
        return bound

    def edges(self) -> list[Edge]:
        """Return all edges in a fixed order."""
        return [self.found[key] for key in sorted(self.found)]

    def _add(
        self, number: int, source: str, target: str, kind: EdgeKind, line: int, *, internal: bool
    ) -> None:
        path = self.program.files[number].path
        if kind is not EdgeKind.CALLS and source == target:
            return
        key = (path, source, target, kind)
        known = self.found.get(key)
        if known is None or line < known.line:
            self.found[key] = Edge(path, source, target, kind, line, internal)

    def scope_name(self, scope: int) -> str:
        """Return the qualified name of a scope."""
        name = self.program.scope_rows[scope]["name"]
        module = self.modules[self.program.scope_files[scope]]
        return f"{module}.{name}" if name else module

    def _value_name(self, value: int) -> tuple[str, bool] | None:
        """Return the name of a value that can be the target of an edge, and whether it is internal."""
        program = self.program
        kind, first = program.kinds[value], program.parts[value][0]
        if kind is Kind.FUNCTION:
            return self.scope_name(program.functions[first].scope), True
        if kind is Kind.CLASS:
            return self.scope_name(program.classes[first].scope), True
        return (first, False) if kind is Kind.OUTSIDE else None

    def calls(self) -> None:
        """Add the calls."""
        for (scope, line), values in self.program.calls.items():
            number = self.program.scope_files[scope]
            if not self.wanted[number]:
                continue
            inside = sum(self.program.kinds[value] is Kind.FUNCTION for value in values)
            for value in values:
                named = self._value_name(value)
                if named is None or (inside >= MOST_VALUES and named[1]):
                    # A dispatcher through which all calls of a program pass says nothing.
                    continue
                source = self.scope_name(scope)
                self._add(number, source, named[0], EdgeKind.CALLS, line, internal=named[1])

    def inherits(self, bases: dict[int, list[_Base]]) -> None:
        """Add the base classes."""
        classes = self.program.classes
        for number, above in bases.items():
            scope = classes[number].scope
            if not self.wanted[self.program.scope_files[scope]]:
                continue
            for one in above:
                target = one if isinstance(one, str) else self.scope_name(classes[one].scope)
                self._add(
                    self.program.scope_files[scope],
                    self.scope_name(scope),
                    target,
                    EdgeKind.INHERITS,
                    self.program.scope_rows[scope]["line"],
                    internal=not isinstance(one, str),
                )

    def imports(self) -> None:
        """Add the imports: modules, and the definitions of imported names."""
        for number, one in enumerate(self.program.files):
            if not self.wanted[number]:
                continue
            facts = self.program.file_facts[number].facts
            rows = facts["scopes"]
            for line, scope, level, module, name, _ in facts.get("imports", ()):
                inner = rows[scope]["name"]
                source = f"{one.module}.{inner}" if inner else one.module
                for target, internal in self._import_targets(one.path, level, module, name):
                    self._add(number, source, target, EdgeKind.IMPORTS, line, internal=internal)

    def _import_targets(self, path: str, level: int, module: str, name: str | None) -> list[tuple[str, bool]]:
        found = self.program.target_of(path, level, module)
        if found is None:
            if level:
                return []
            return [(f"{module}.{name}" if name and name != "*" else module, False)]
        targets = [] if found.endswith("/") else [(module_name(found), True)]
        if name and name != "*":
            defined = self._definition(found, name, set())
            if defined is not None:
                targets.append(defined)
        return targets

    def _definition(self, path: str, name: str, seen: set[tuple[str, str]]) -> tuple[str, bool] | None:
        """Return the definition of a name in a module, followed through re-exports.

        `seen` are the visited names of modules: star imports may form many cycles.
        """
        if (path, name) in seen:
            return None
        seen.add((path, name))
        further = len(seen) < MOST_MODULES
        number = self.by_path.get(path)
        if number is not None:
            qualified = f"{self.modules[number]}.{name}"
            if qualified in self.symbols and name not in self.bound[number]:
                return qualified, True
            handed = self.bound[number].get(name)
            # In a package, `from . import part` binds a submodule.
            own = handed is not None and handed[4] == name and self._source(path, handed) == path
            if handed is not None and not own and further:
                return self._imported_module(path, handed[2], handed[3], handed[4], seen)
            if not own and name in self.program.file_facts[number].facts["globals"]:
                return None
            for row in self.program.file_facts[number].facts.get("imports", ()):
                if row[4] == "*" and further:
                    found = self._imported_module(path, row[2], row[3], name, seen)
                    if found is not None and found[1]:
                        return found
        below = self.program.modules.below(path, name)
        return None if below is None or below.endswith("/") else (module_name(below), True)

    def _source(self, path: str, row: Sequence[Any]) -> str | None:
        return self.program.target_of(path, row[2], row[3])

    def _imported_module(
        self, path: str, level: int, module: str, name: str | None, seen: set[tuple[str, str]]
    ) -> tuple[str, bool] | None:
        if name == "":
            module = module.partition(".")[0]
        found = self.program.target_of(path, level, module)
        if found is None:
            return None if level else (f"{module}.{name}" if name else module, False)
        if not name:
            return None if found.endswith("/") else (module_name(found), True)
        return self._definition(found, name, seen)

"""A whole repository of Python as one flow of values, set up from the facts of its files."""

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from ragmem.domain.code import ParsedFile
from ragmem.domain.python_builtins import Builtins
from ragmem.domain.python_calls import Call
from ragmem.domain.python_flow import Kind
from ragmem.domain.python_modules import Modules
from ragmem.domain.python_objects import Class, Function, Place

_BUILTIN = frozenset(dir(builtins))

MOST_STARS = 20
"""Star imports of star imports are followed so far."""


class Program(Builtins):
    """The nodes of all files; `solve` fills them, and `calls` holds who calls what on which line."""

    def __init__(self, files: Sequence[ParsedFile], orders: Mapping[int, Sequence[int | str]]) -> None:
        super().__init__(Modules(one.path for one in files))
        self.files = list(files)
        self.calls: dict[tuple[int, int], int] = {}
        self.scope_files: list[int] = []
        self.scope_rows: list[Mapping[str, Any]] = []
        self._of_scope: dict[int, int] = {}
        self._exports = {one.path: set(one.facts["exports"]) for one in files if "exports" in one.facts}
        self._maps: list[list[int]] = []
        self._starts: list[int] = []
        self._decorations: list[tuple[int, Call]] = []
        self._keys: list[tuple[Any, int, tuple[Any, ...]]] = []
        for number, one in enumerate(files):
            self._declare(number, one.path, one.facts)
        for number, order in orders.items():
            self.classes[number].order = list(order)
        self._import_all()

    def _declare(self, number: int, path: str, facts: Mapping[str, Any]) -> None:
        """Make the nodes, functions and classes of a file."""
        first = self.nodes(facts["size"])
        nodes = list(range(first, first + facts["size"]))
        alias = facts["alias"]
        for at in range(0, len(alias), 2):
            nodes[alias[at]] = nodes[alias[at + 1]]
        self._maps.append(nodes)
        self.globals[path] = {name: nodes[node] for name, node in facts["globals"].items()}
        start = len(self.scope_rows)
        self._starts.append(start)
        for at, row in enumerate(facts["scopes"]):
            self.scope_files.append(number)
            self.scope_rows.append(row)
            if row["kind"] == "c":
                self._of_scope[start + at] = self.value(Kind.CLASS, len(self.classes))
                self.classes.append(
                    Class(
                        start + at,
                        [nodes[one] for one in row["bases"]],
                        {name: nodes[node] for name, node in row["names"].items()},
                        row.get("fields", []),
                        [len(self.classes)],
                    )
                )
            elif row["kind"] != "m":
                self._function(start + at, row, nodes, start)
        self.stored.update(row[1] for row in facts.get("stores", ()))
        for row in facts["scopes"]:
            self.stored.update(row.get("fields", ()))

    def _function(self, scope: int, row: dict[str, Any], nodes: Sequence[int], start: int) -> None:
        args = [nodes[one] for one in row.get("args", ())]
        names = dict(zip(row.get("argnames", ()), args, strict=False))
        names.update({name: nodes[node] for name, node in row.get("only", {}).items()})
        box = None
        if "yields" in row:
            box = self.box("generator")
            self.link(nodes[row["yields"]], self.element(box, None))
        self._of_scope[scope] = self.value(Kind.FUNCTION, len(self.functions))
        self.functions.append(
            Function(
                scope,
                row,
                args,
                names,
                nodes[row["vararg"]] if "vararg" in row else None,
                nodes[row["kwarg"]] if "kwarg" in row else None,
                nodes[row["result"]],
                box,
                row["owner"] + start if "owner" in row else None,
            )
        )

    def called(self, place: Place, value: int) -> None:
        """Keep a call, the first line of several."""
        key = (place[0], value)
        line = self.calls.get(key)
        if line is None or place[1] < line:
            self.calls[key] = place[1]

    def _import_all(self) -> None:
        stars: list[tuple[str, str]] = []
        names: list[tuple[str, str, int]] = []
        for one, nodes in zip(self.files, self._maps, strict=True):
            for row in one.facts.get("imports", ()):
                self._import_row(one.path, row, nodes, stars, names)
        for _ in range(MOST_STARS):
            if not sum(self._star(path, source) for path, source in stars):
                break
        for source, name, node in names:
            self.read_module(source, name, node)
        for one, nodes in zip(self.files, self._maps, strict=True):
            for name, node in one.facts["free"].items():
                self._free(one.path, name, nodes[node])

    def _free(self, path: str, name: str, node: int) -> None:
        found = self.globals[path].get(name)
        if found is not None:
            self.link(found, node)
        elif name in _BUILTIN:
            self.put(node, self.outside(f"builtins.{name}"))
        elif path in self.outside_stars:
            self.put(node, self.outside(f"{self.outside_stars[path]}.{name}"))

    def target_of(self, path: str, level: int, module: str) -> str | None:
        """Return the file or folder that an import names, None for what lies outside."""
        if level:
            return self.modules.relative(path, level, module)
        return self.modules.find(path.rpartition("/")[0], module)

    def _import_row(
        self,
        path: str,
        row: Sequence[Any],
        nodes: Sequence[int],
        stars: list[tuple[str, str]],
        names: list[tuple[str, str, int]],
    ) -> None:
        _, _, level, module, name, bound = row
        if name == "":
            module = module.partition(".")[0]
        found = self.target_of(path, level, module)
        if name == "*":
            if found is not None:
                stars.append((path, found))
            elif not level:
                self.outside_stars[path] = module
        elif not name:
            self.put(nodes[bound], self.value(Kind.MODULE, found) if found else self.outside(module))
        elif found is not None:
            names.append((found, name, nodes[bound]))
        elif not level:
            self.put(nodes[bound], self.outside(f"{module}.{name}"))

    def _star(self, path: str, source: str) -> bool:
        """Give a module the names that it imports by a star; return whether any were new."""
        known, changed = self.globals[path], False
        exports = self._exports.get(source)
        for name, node in list(self.globals.get(source, {}).items()):
            if (name in exports) if exports is not None else not name.startswith("_"):
                if name not in known:
                    known[name] = self.node()
                    changed = True
                self.link(node, known[name])
        return changed

    def wire(self, *, calls: bool) -> None:
        """Say what flows where; without calls only what is needed to know the bases of classes."""
        for nodes, start, one in zip(self._maps, self._starts, self.files, strict=True):
            facts = one.facts
            for source, target in facts.get("copies", ()):
                self.link(nodes[source], nodes[target])
            for target, scope in facts.get("defs", ()):
                self.put(nodes[target], self._of_scope[start + scope])
            for base, name, target, line, scope in facts.get("loads", ()):
                self.watch(nodes[base], self.read, (name, nodes[target], (start + scope, line)))
            if calls:
                self._wire_values(facts, nodes)
                self._wire_elements(facts, nodes, start)
                self._wire_calls(facts, nodes, start)

    def _wire_values(self, facts: Mapping[str, Any], nodes: Sequence[int]) -> None:
        for node, key in facts["constants"]:
            self.put(nodes[node], self.constant(key))
        for name, node in facts["types"].items():
            self.put(nodes[node], self.outside(f"builtins.{name}"))
        for target, kind, elements in facts.get("boxes", ()):
            box = self.box(kind, len(elements) if elements else None)
            self.put(nodes[target], box)
            for at, one in enumerate(elements):
                if one >= 0:
                    self.link(nodes[one], self.element(box, at))
        for base, name, source in facts.get("stores", ()):
            if source >= 0 and base >= 0:
                self.watch(nodes[base], self.store, (name, nodes[source]))
        for source, target in facts.get("hints", ()):
            if source >= 0:
                self.watch(nodes[source], self.promise, nodes[target])
        for cls, instance, target in facts.get("supers", ()):
            of = next(iter(self.reached[nodes[cls]]), None)
            if of is not None:
                self.watch(nodes[instance], self.super_of, (of, nodes[target]))

    def _wire_elements(self, facts: Mapping[str, Any], nodes: Sequence[int], start: int) -> None:
        for base, key, target, line, scope in facts.get("items", ()):
            at = nodes[key] if isinstance(key, int) else key
            about = (at, nodes[target], (start + scope, line))
            self.watch(nodes[base], self.subscript, about)
            if isinstance(at, int):
                self._keys.append((self.subscript, nodes[base], about))
        for base, key, source in facts.get("puts", ()):
            if source < 0:
                continue
            at = nodes[key] if isinstance(key, int) else key
            self.watch(nodes[base], self.put_element, (at, nodes[source]))
            if isinstance(at, int):
                self._keys.append((self.put_element, nodes[base], (at, nodes[source])))
        for base, at, target, line, scope in facts.get("parts", ()):
            self.watch(nodes[base], self.unpack, (at, nodes[target], (start + scope, line)))
        for base, lower, upper, plain, target in facts.get("slices", ()):
            self.watch(nodes[base], self.sliced, (lower, upper, plain, nodes[target]))
        for base, target, line, scope in facts.get("iters", ()):
            self.watch(nodes[base], self.iterate, (nodes[target], (start + scope, line)))
        for source, target in facts.get("merges", ()):
            if source >= 0:
                for box in tuple(self.reached[nodes[target]]):
                    self.watch(nodes[source], self._update, box)
        for source, target in facts.get("mixes", ()):
            self.watch(nodes[source], self.mixed, nodes[target])

    def _wire_calls(self, facts: Mapping[str, Any], nodes: Sequence[int], start: int) -> None:
        for callee, target, line, scope, arguments, keywords, *decorates in facts.get("calls", ()):
            call = Call(
                (start + scope, line),
                nodes[target],
                tuple(
                    [nodes[one[0]]]
                    if isinstance(one, list) and one[0] >= 0
                    else None
                    if isinstance(one, list) or one < 0
                    else nodes[one]
                    for one in arguments
                ),
                tuple(
                    (keywords[at], nodes[keywords[at + 1]])
                    for at in range(0, len(keywords), 2)
                    if keywords[at + 1] >= 0
                ),
                bool(decorates),
            )
            if decorates:
                self._decorations.append((nodes[callee], call))
                self.opaque_targets.add(nodes[callee])
            self.watch(nodes[callee], self.call, call)
        for base, target, line, scope in facts.get("enters", ()):
            self.watch(nodes[base], self.enter, (nodes[target], (start + scope, line)))
        for source, line, scope in facts.get("raises", ()):
            self.watch(nodes[source], self.raised, (start + scope, line))

    def mixed(self, value: int, target: int) -> None:
        """Let what an operator joins reach its result: containers, and that text stays text."""
        if self.kinds[value] is Kind.BOX:
            self.put(target, value)
        elif self.kinds[value] is Kind.CONSTANT and isinstance(self.parts[value][0], str):
            self.put(target, self.outside("builtins.str"))

    def sliced(self, value: int, about: tuple[int, int | None, int, int]) -> None:
        """Let a part of a list reach a node."""
        if self.kinds[value] is Kind.BOX:
            box = self.made(about[3], "list")
            self.put(about[3], box)
            self.each_element(value, self._sliced_element, (*about[:3], box, self._box(value).length))

    def _sliced_element(
        self, key: Any, node: int, about: tuple[int, int | None, int, int, int | None]
    ) -> None:
        lower, upper, plain, box, length = about
        if not isinstance(key, int) or not plain or (length is None and (lower < 0 or (upper or 0) < 0)):
            self.link(node, self.element(box, None))
            return
        first, last, _ = slice(lower, upper).indices(length if length is not None else key + 1)
        if first <= key < last:
            self.link(node, self.element(box, key - first))

    def solve(self) -> None:
        """Hand on all values; then suppose what nothing in the repository told, and hand on again."""
        self.run()
        for handler, node, about in self._keys:
            if not self.reached[about[0]]:
                for value in tuple(self.reached[node]):
                    handler(value, (None, *about[1:]))
        for callee, call in self._decorations:
            if not self.reached[callee] or (call.target is not None and not self.reached[call.target]):
                self.pass_through(call)
        self.run()
        for one in self.functions:
            if one.owner is not None and one.args and not self.reached[one.args[0]]:
                owner = self._of_scope[one.owner]
                first = "of_class" in one.row
                self.put(one.args[0], owner if first else self.instance(self.parts[owner][0]))
        self.run()

    def _in_order(self, value: int) -> tuple[int, str]:
        return self.kinds[value], str(self.parts[value][0])

    def bases_found(self) -> dict[int, list[int | str]]:
        """Return what each class derives from: numbers of classes, names of what lies outside."""
        found: dict[int, list[int | str]] = {}
        for number, one in enumerate(self.classes):
            bases: list[int | str] = []
            for node in one.bases:
                for value in sorted(self.reached[node], key=self._in_order):
                    first = self.parts[value][0]
                    if self.kinds[value] in {Kind.CLASS, Kind.OUTSIDE} and first not in {
                        number,
                        "builtins.object",
                    }:
                        bases.append(first)
            found[number] = list(dict.fromkeys(bases))
        return found

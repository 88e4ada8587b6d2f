"""Model a whole Python repository as one flow of values, built from the facts of its files."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragmem.domain.code.code import ParsedFile
from ragmem.domain.python.builtins import Builtins
from ragmem.domain.python.calls import Call
from ragmem.domain.python.flow import Handler, Kind
from ragmem.domain.python.modules import Modules
from ragmem.domain.python.objects import Class, Function, Place

_BUILTIN = frozenset(dir(builtins))

MOST_STARS = 20
"""Maximum depth of star imports of star imports."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file's facts, with the nodes of its numbers; its scopes are numbered from `start`."""

    path: str
    facts: Mapping[str, Any]
    nodes: Sequence[int]
    start: int


class FactLoader(Builtins):
    """Loads the facts of files, with one method for each relation."""

    def __init__(self, modules: Modules) -> None:
        super().__init__(modules)
        self.file_facts: list[FileFacts] = []
        self.defined: dict[int, int] = {}
        self.decorations: list[tuple[int, Call]] = []
        self.keyed: list[tuple[Handler, int, tuple[Any, ...]]] = []

    def load_facts(self, *, calls: bool) -> None:
        """Load all relations; without calls only those that determine the bases of classes."""
        for one in self.file_facts:
            for relation, load in self._LOADERS.items() if calls else self._BASE_LOADERS.items():
                rows = one.facts.get(relation)
                if rows:
                    load(self, rows, one.nodes, one.start)

    def _copies(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for source, target in rows:
            self.link(nodes[source], nodes[target])

    def _defs(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for target, scope in rows:
            self.put(nodes[target], self.defined[start + scope])

    def _loads(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for base, name, target, line, scope in rows:
            self.watch(nodes[base], self.read, (name, nodes[target], (start + scope, line)))

    def _constants(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for node, key in rows:
            self.put(nodes[node], self.constant(key))

    def _types(self, rows: Mapping[str, int], nodes: Sequence[int], _start: int) -> None:
        for name, node in rows.items():
            self.put(nodes[node], self.outside(f"builtins.{name}"))

    def _boxes(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for target, kind, elements in rows:
            box = self.box(kind, len(elements) if elements else None)
            self.put(nodes[target], box)
            for at, one in enumerate(elements):
                if one >= 0:
                    self.link(nodes[one], self.element(box, at))

    def _stores(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for base, name, source in rows:
            if source >= 0 and base >= 0:
                self.watch(nodes[base], self.store, (name, nodes[source]))

    def _hints(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for source, target in rows:
            if source >= 0:
                self.watch(nodes[source], self.promise, nodes[target])

    def _supers(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for owner, instance, target in rows:
            for of in tuple(self.reached[nodes[owner]]):
                self.watch(nodes[instance], self.super_of, (of, nodes[target]))

    def _subscripts(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for base, key, target, line, scope in rows:
            at = nodes[key] if isinstance(key, int) else key
            about = (at, nodes[target], (start + scope, line))
            self.watch(nodes[base], self.subscript, about)
            if isinstance(at, int):
                self.keyed.append((self.subscript, nodes[base], about))

    def _puts(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for base, key, source in rows:
            if source >= 0:
                at = nodes[key] if isinstance(key, int) else key
                self.watch(nodes[base], self.put_element, (at, nodes[source]))
                if isinstance(at, int):
                    self.keyed.append((self.put_element, nodes[base], (at, nodes[source])))

    def _parts(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for base, at, target, line, scope in rows:
            self.watch(nodes[base], self.unpack, (at, nodes[target], (start + scope, line)))

    def _slices(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for base, lower, upper, plain, target in rows:
            self.watch(nodes[base], self.flow_slice, (lower, upper, plain, nodes[target]))

    def _iters(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for base, target, line, scope in rows:
            self.watch(nodes[base], self.iterate, (nodes[target], (start + scope, line)))

    def _merges(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for source, target in rows:
            if source >= 0:
                for box in tuple(self.reached[nodes[target]]):
                    self.watch(nodes[source], self.update, box)

    def _mixes(self, rows: Sequence[Any], nodes: Sequence[int], _start: int) -> None:
        for source, target in rows:
            self.watch(nodes[source], self.flow_operands, nodes[target])

    def _calls(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for callee, target, line, scope, arguments, keywords, *decorates in rows:
            call = Call(
                (start + scope, line),
                nodes[target],
                tuple([_argument(one, nodes) for one in arguments]),
                tuple(
                    [
                        (keywords[at], nodes[keywords[at + 1]])
                        for at in range(0, len(keywords), 2)
                        if keywords[at + 1] >= 0
                    ]
                ),
                bool(decorates),
            )
            if decorates:
                self.decorations.append((nodes[callee], call))
                self.opaque_targets.add(nodes[callee])
            self.watch(nodes[callee], self.call, call)

    def _enters(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for base, target, line, scope in rows:
            self.watch(nodes[base], self.enter, (nodes[target], (start + scope, line)))

    def _raises(self, rows: Sequence[Any], nodes: Sequence[int], start: int) -> None:
        for source, line, scope in rows:
            self.watch(nodes[source], self.raise_class, (start + scope, line))

    def flow_operands(self, value: int, target: int) -> None:
        """Flow the operands of an operator to its result: containers, and text stays text."""
        if self.kinds[value] is Kind.BOX:
            self.put(target, value)
        elif self.kinds[value] is Kind.CONSTANT and isinstance(self.parts[value][0], str):
            self.put(target, self.outside("builtins.str"))

    def flow_slice(self, value: int, about: tuple[int, int | None, int, int]) -> None:
        """Flow a slice of a list to a node."""
        if self.kinds[value] is Kind.BOX and self.container_of(value).kind in {"list", "tuple"}:
            box = self.container_for(about[3], "list")
            self.put(about[3], box)
            self.each_element(value, self._sliced_element, (*about[:3], box, self.container_of(value).length))

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

    _BASE_LOADERS: ClassVar[dict[str, Callable[[Any, Any, Sequence[int], int], None]]] = {
        "copies": _copies,
        "defs": _defs,
        "loads": _loads,
    }

    _LOADERS: ClassVar[dict[str, Callable[[Any, Any, Sequence[int], int], None]]] = {
        **_BASE_LOADERS,
        "constants": _constants,
        "types": _types,
        "boxes": _boxes,
        "stores": _stores,
        "hints": _hints,
        "supers": _supers,
        "items": _subscripts,
        "puts": _puts,
        "parts": _parts,
        "slices": _slices,
        "iters": _iters,
        "merges": _merges,
        "mixes": _mixes,
        "calls": _calls,
        "enters": _enters,
        "raises": _raises,
    }


def _argument(one: int | list[int], nodes: Sequence[int]) -> int | list[int] | None:
    if isinstance(one, list):
        return [nodes[one[0]]] if one[0] >= 0 else None
    return nodes[one] if one >= 0 else None


class Program(FactLoader):
    """The nodes of all files; `solve` fills them, and `calls` holds the calls by line."""

    def __init__(
        self,
        files: Sequence[ParsedFile],
        modules: Modules,
        orders: Mapping[int, Sequence[int | str]],
    ) -> None:
        super().__init__(modules)
        self.files = list(files)
        self.calls: dict[Place, set[int]] = {}
        self.scope_files: list[int] = []
        self.scope_rows: list[Mapping[str, Any]] = []
        self._exports: dict[str, set[str]] = {}
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
        if "exports" in facts:
            self._exports[path] = set(facts["exports"])
        self.globals[path] = {name: nodes[node] for name, node in facts["globals"].items()}
        start = len(self.scope_rows)
        self.file_facts.append(FileFacts(path, facts, nodes, start))
        for at, row in enumerate(facts["scopes"]):
            self.scope_files.append(number)
            self.scope_rows.append(row)
            if row["kind"] == "c":
                self.defined[start + at] = self.value(Kind.CLASS, len(self.classes))
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
        self.defined[scope] = self.value(Kind.FUNCTION, len(self.functions))
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

    def on_call(self, place: Place, value: int) -> None:
        """Record a call."""
        self.calls.setdefault(place, set()).add(value)

    def _import_all(self) -> None:
        stars: list[tuple[str, str]] = []
        names: list[tuple[str, str, int]] = []
        for one in self.file_facts:
            for row in one.facts.get("imports", ()):
                self._import_row(one.path, row, one.nodes, stars, names)
        for _ in range(MOST_STARS):
            if not sum(self._star(path, source) for path, source in stars):
                break
        for source, name, node in names:
            self.read_module(source, name, node)
        for one in self.file_facts:
            for name, node in one.facts["free"].items():
                self._free(one.path, name, one.nodes[node])

    def _free(self, path: str, name: str, node: int) -> None:
        found = self.globals[path].get(name)
        if found is not None:
            self.link(found, node)
        elif name in _BUILTIN:
            self.put(node, self.outside(f"builtins.{name}"))
        elif path in self.outside_stars:
            self.put(node, self.outside(f"{self.outside_stars[path]}.{name}"))

    def target_of(self, path: str, level: int, module: str) -> str | None:
        """Return the file or folder of an import; None if it is external."""
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
        """Bind the names that a module imports by a star; return whether any were new."""
        known, changed = self.globals[path], False
        exports = self._exports.get(source)
        for name, node in list(self.globals.get(source, {}).items()):
            if (name in exports) if exports is not None else not name.startswith("_"):
                if name not in known:
                    known[name] = self.node()
                    changed = True
                self.link(node, known[name])
        return changed

    def solve(self) -> None:
        """Propagate all values; then assume the values that nothing provides, and propagate again."""
        self.run()
        for handler, node, about in self.keyed:
            if not self.reached[about[0]]:
                for value in tuple(self.reached[node]):
                    handler(value, (None, *about[1:]))
        for callee, call in self.decorations:
            if not self.reached[callee] or (call.target is not None and not self.reached[call.target]):
                self.pass_through(call)
        self.run()
        for one in self.functions:
            if one.owner is not None and one.args and not self.reached[one.args[0]]:
                owner = self.defined[one.owner]
                first = "of_class" in one.row
                self.put(one.args[0], owner if first else self.instance(self.parts[owner][0]))
        self.run()

    def _in_order(self, value: int) -> tuple[int, str]:
        return self.kinds[value], str(self.parts[value][0])

    def class_bases(self) -> dict[int, list[int | str]]:
        """Return the bases of each class: numbers of classes, names of external ones."""
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

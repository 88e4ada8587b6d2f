"""Load the facts of files into the flow of values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragmem.domain.python.builtins import Builtins
from ragmem.domain.python.calls import Call
from ragmem.domain.python.flow import Handler, Kind
from ragmem.domain.python.modules import Modules


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

"""Model Python objects: the attributes of modules, classes and instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragmem.domain.python.container_contents import Boxes
from ragmem.domain.python.flow import Kind
from ragmem.domain.python.modules import Modules

MOST_DOTS = 8
"""Maximum parts of an external name; without it `node = node.next` would not end."""

INSTANCE_DOTS = 2
"""Maximum attributes after an external class that are part of a name."""

MARKERS = frozenset(
    "typing.Generic typing.Protocol typing_extensions.Protocol abc.ABC builtins.object".split()
)
"""Bases without relevant attributes."""

Place = tuple[int, int]
"""A position: the number of a scope, and a line."""


@dataclass(slots=True)
class Function:
    """A function or lambda: nodes of its parameters, its result and its yields."""

    scope: int
    row: dict[str, Any]
    args: list[int]
    names: dict[str, int]
    vararg: int | None
    kwarg: int | None
    result: int
    box: int | None
    owner: int | None


@dataclass(slots=True)
class Class:
    """A class: nodes of its bases and of the names in its body."""

    scope: int
    bases: list[int]
    names: dict[str, int]
    fields: list[str]
    order: list[int | str] = field(default_factory=list)


class Objects(Boxes):
    """Values with attributes and elements."""

    def __init__(self, modules: Modules) -> None:
        super().__init__()
        self.modules = modules
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.globals: dict[str, dict[str, int]] = {}
        self.outside_stars: dict[str, str] = {}
        self.stored: set[str] = set()
        self._fields: dict[tuple[int, str], int] = {}
        self._attributes: dict[tuple[int, str], int] = {}
        self._readers: dict[int, list[Place]] = {}
        self._getters: dict[int, list[int]] = {}

    def outside(self, name: str) -> int:
        """Return the value of an external name."""
        return self.value(Kind.OUTSIDE, name)

    def instance(self, number: int) -> int:
        """Return the value of the instances of a class."""
        return self.value(Kind.INSTANCE, number)

    def field(self, owner: int, name: str) -> int:
        """Return the node of a stored attribute of a value."""
        kind, (number, _) = self.kinds[owner], self.parts[owner]
        if kind is Kind.CLASS:
            names: dict[str, int] = self.classes[number].names
            if name in names:
                return names[name]
        if kind is Kind.MODULE and name in self.globals.get(number, ()):
            return self.globals[str(number)][name]
        node: int | None = self._fields.get((owner, name))
        if node is None:
            node = self._fields[owner, name] = self.node()
        return node

    def read(self, value: int, about: tuple[str, int, Place]) -> None:
        """Flow an attribute of a value to a node."""
        name, target, place = about
        kind = self.kinds[value]
        if kind is Kind.OUTSIDE:
            self._read_outside(value, name, target)
        elif kind is Kind.MODULE:
            self.read_module(self.parts[value][0], name, target)
        elif kind in {Kind.INSTANCE, Kind.CLASS, Kind.SUPER}:
            node = self.attribute(value, name)
            self.link(node, target)
            self._readers.setdefault(node, []).append(place)
            for getter in self._getters.get(node, ()):
                self.on_use(place, getter)
        elif kind is Kind.BOX:
            self.put(target, self.value(Kind.BOX_METHOD, value, name))
        elif kind is Kind.CONSTANT:
            self.put(target, self.outside(f"builtins.{self.parts[value][1]}.{name}"))
        elif kind in {Kind.FUNCTION, Kind.BOUND} and name in self.stored:
            self.link(self.field(value, name), target)

    def on_use(self, place: Place, function: int) -> None:
        """Handle the call of a function at a place; a subclass records the edges."""
        raise NotImplementedError

    def _read_outside(self, value: int, name: str, target: int) -> None:
        before = self.parts[value][0]
        parts = before.split(".")
        at = next((at for at, part in enumerate(parts) if is_class_name(part)), len(parts))
        if len(parts) < MOST_DOTS and len(parts) - at <= INSTANCE_DOTS:
            self.put(target, self.outside(f"{before}.{name}"))

    def read_module(self, path: str, name: str, target: int) -> None:
        """Flow a module's variable to a node, or its submodule if there is no such variable."""
        known = self.globals.get(path, {})
        if name in known:
            self.link(known[name], target)
            return
        below = self.modules.below(path, name)
        if below is not None:
            self.put(target, self.value(Kind.MODULE, below))
        elif name in self.stored:
            self.link(self.field(self.value(Kind.MODULE, path), name), target)
        elif path in self.outside_stars:
            self.put(target, self.outside(f"{self.outside_stars[path]}.{name}"))

    def attribute(self, value: int, name: str) -> int:
        """Return the node of an attribute of an instance, a class or a super()."""
        node = self._attributes.get((value, name))
        if node is None:
            node = self._attributes[value, name] = self.node()
            self._look_up(value, name, node)
        return node

    def rearrange(self, orders: Mapping[int, Sequence[int | str]]) -> None:
        """Change the resolution order of classes; attributes of the old order stay."""
        changed = {one for one, order in orders.items() if self.classes[one].order != order}
        for one in changed:
            self.classes[one].order = list(orders[one])
        for (value, name), node in list(self._attributes.items()):
            of = self.parts[value][1] if self.kinds[value] is Kind.SUPER else value
            if self.parts[of][0] in changed:
                self._look_up(value, name, node)

    def _look_up(self, value: int, name: str, node: int) -> None:
        kind, (first, second) = self.kinds[value], self.parts[value]
        if kind is Kind.SUPER:
            after, owner = self.parts[first][0], second
            order = self.classes[self.parts[owner][0]].order
            order = order[order.index(after) + 1 :] if after in order else []
        else:
            owner, order = value, self.classes[first].order
        dynamic = name in self.stored
        if dynamic and self.kinds[value] is Kind.INSTANCE:
            for one in order:
                if not isinstance(one, str):
                    self.link(self.field(self.instance(one), name), node)
        for one in order:
            if isinstance(one, str):
                continue
            found = self.classes[one].names.get(name)
            if found is not None:
                self.watch(found, self._bind, (node, owner))
                break
            if dynamic:
                self.watch(self.field(self.value(Kind.CLASS, one), name), self._bind, (node, owner))
        else:
            above = next((one for one in order if isinstance(one, str) and one not in MARKERS), None)
            if above is not None:
                self.put(node, self.outside(f"{above}.{name}"))

    def _bind(self, value: int, about: tuple[int, int]) -> None:
        """Flow a class attribute to a node as seen from an owner: a function as a method."""
        node, owner = about
        kind = self.kinds[value]
        if kind is Kind.FUNCTION:
            function = self.functions[self.parts[value][0]]
            of_class = "of_class" in function.row
            is_method = self.kinds[owner] is Kind.INSTANCE or of_class
            if is_method and not function.row["name"].endswith("__new__"):
                value = self.value(Kind.BOUND, value, self._class_of(owner) if of_class else owner)
            self.put(node, value)
        elif kind is Kind.STATIC:
            self.put(node, self.parts[value][0])
        elif kind is Kind.OF_CLASS:
            self.put(node, self.value(Kind.BOUND, self.parts[value][0], self._class_of(owner)))
        elif kind is Kind.PROPERTY:
            if self.kinds[owner] is Kind.INSTANCE:
                self._property(self.parts[value][0], node, owner)
        else:
            self.put(node, value)

    def _class_of(self, owner: int) -> int:
        if self.kinds[owner] is Kind.INSTANCE:
            return self.value(Kind.CLASS, self.parts[owner][0])
        return owner

    def _property(self, getter: int, node: int, owner: int) -> None:
        function = self.functions[self.parts[getter][0]]
        if function.args:
            self.put(function.args[0], owner)
        self.link(function.result, node)
        known = self._getters.setdefault(node, [])
        if getter not in known:
            known.append(getter)
            for place in self._readers.get(node, ()):
                self.on_use(place, getter)


def is_class_name(name: str) -> bool:
    """Return whether a name has the form of a class name."""
    bare = name.lstrip("_")
    return bare[:1].isupper() and (len(bare) < 2 or not bare.isupper())

"""Model Python calls: arguments flow to parameters, results flow to the caller."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ragmem.domain.python.container_contents import Container
from ragmem.domain.python.flow import Kind
from ragmem.domain.python.modules import Modules
from ragmem.domain.python.objects import Function, Objects, Place, is_class_name

_WITHOUT_CONSTRUCTOR = ("builtins.", "typing.", "typing_extensions.", "abc.", "collections.abc.")
"""Bases whose constructor has no effect."""

MOST_KEYS = 16
"""A variable with more values does not identify an element of a container."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call: nodes of its arguments, a starred one in a list; `keywords` by name, None for `**`."""

    place: Place
    target: int | None
    arguments: tuple[int | list[int] | None, ...] = ()
    keywords: tuple[tuple[str | None, int], ...] = ()
    decorates: bool = False
    silent: bool = False
    first: int = 0
    """The parameter of the first argument."""


class Calls(Objects):
    """Values that can be called."""

    def __init__(self, modules: Modules) -> None:
        super().__init__(modules)
        self.opaque_targets: set[int] = set()
        self._waiting: set[tuple[int, Callable[[int, Call], None], int]] = set()

    def call(self, value: int, call: Call) -> None:
        """Call a value."""
        do = self._CALL.get(self.kinds[value])
        if do is not None:
            do(self, value, call)

    def _call_bound(self, value: int, call: Call) -> None:
        first, second = self.parts[value]
        if self.kinds[first] is not Kind.FUNCTION:
            self.call(first, call)
            return
        function = self.functions[self.parts[first][0]]
        if function.args:
            self.put(function.args[0], second)
        elif function.vararg is not None:
            self.put(self._extra(function.vararg, "tuple", 0), second)
        self._call_function(first, replace(call, first=call.first + 1))

    def _call_instance(self, value: int, call: Call) -> None:
        self._await(self.attribute(value, "__call__"), self.call, call)

    def _await(self, node: int, do: Callable[[int, Call], None], call: Call) -> None:
        """Call each value that reaches a node once: an object may be its own `__call__`."""
        # The watcher keeps the call alive, so that its identity stays unique.
        key = (node, do, id(call))
        if key not in self._waiting:
            self._waiting.add(key)
            self.watch(node, do, call)

    def _call_static(self, value: int, call: Call) -> None:
        self.call(self.parts[value][0], call)

    def _call_outside(self, value: int, call: Call) -> None:
        self.call_outside(self.parts[value][0], call)

    def _call_box_method(self, value: int, call: Call) -> None:
        self.call_box(*self.parts[value], call)

    def _call_opaque(self, _value: int, call: Call) -> None:
        if call.decorates:
            self.pass_through(call)

    def on_call(self, place: Place, value: int) -> None:
        """Handle the call of a function, class or external name; a subclass records the edges."""
        raise NotImplementedError

    def on_use(self, place: Place, function: int) -> None:
        """Handle the call of a getter."""
        self.on_call(place, function)

    def call_box(self, box: int, method: str, call: Call) -> None:
        """Call a method of a container."""
        raise NotImplementedError

    def call_outside(self, name: str, call: Call) -> None:
        """Call a function that the repository does not define."""
        raise NotImplementedError

    def pass_through(self, call: Call) -> None:
        """Flow the first argument to the result."""
        if call.target is not None and call.arguments and isinstance(call.arguments[0], int):
            self.link(call.arguments[0], call.target)

    def _call_function(self, value: int, call: Call) -> None:
        function = self.functions[self.parts[value][0]]
        if not call.silent:
            self.on_call(call.place, value)
        self.bind_arguments(function, call)
        if call.target is None:
            return
        if function.box is not None:
            self.put(call.target, function.box)
        else:
            self.link(function.result, call.target)

    def bind_arguments(self, function: Function, call: Call) -> None:
        """Flow the arguments of a call to the parameters of a function."""
        for place, one in enumerate(call.arguments, call.first):
            if isinstance(one, list):
                self.watch(one[0], self._spread, (function, place))
            elif one is not None:
                self._bind_position(function, place, one)
        for name, node in call.keywords:
            if name is None:
                self.watch(node, self._spread_names, function)
            elif name in function.names:
                self.link(node, function.names[name])
            elif function.kwarg is not None:
                self.link(node, self._extra(function.kwarg, "dict", name))

    def _bind_position(self, function: Function, place: int, node: int) -> None:
        if place < len(function.args):
            self.link(node, function.args[place])
        elif function.vararg is not None:
            self.link(node, self._extra(function.vararg, "tuple", place - len(function.args)))

    def _extra(self, node: int, kind: str, key: Any) -> int:
        """Return the node of an element of `*args` or `**kwargs`."""
        box = self.container_for(node, kind)
        self.put(node, box)
        return self.element(box, key)

    def _spread(self, value: int, about: tuple[Function, int]) -> None:
        if self.kinds[value] is Kind.BOX:
            self.each_element(value, self._spread_element, about)

    def _spread_element(self, key: Any, node: int, about: tuple[Function, int]) -> None:
        function, start = about
        if isinstance(key, int) and key >= 0:
            self._bind_position(function, start + key, node)
            return
        for parameter in function.args[start:]:
            self.link(node, parameter)
        if function.vararg is not None:
            self.link(node, self._extra(function.vararg, "tuple", None))

    def _spread_names(self, value: int, function: Function) -> None:
        if self.kinds[value] is Kind.BOX:
            self.each_element(value, self._spread_name, function)

    def _spread_name(self, key: Any, node: int, function: Function) -> None:
        if isinstance(key, str):
            self.bind_arguments(function, Call((0, 0), None, keywords=((key, node),)))
            return
        for parameter in function.names.values():
            self.link(node, parameter)
        if function.kwarg is not None:
            self.link(node, self._extra(function.kwarg, "dict", None))

    def _call_class(self, value: int, call: Call) -> None:
        number = self.parts[value][0]
        made = self.instance(number)
        if not call.silent:
            self.on_call(call.place, value)
        if call.target is not None:
            self.put(call.target, made)
        constructor = call
        if call.target is not None or call.decorates:
            constructor = replace(call, target=None, decorates=False)
        self._await(self.attribute(made, "__init__"), self._construct, constructor)
        order = self.classes[number].order
        inside = [self.classes[one] for one in order if isinstance(one, int)]
        if any("__new__" in one.names for one in inside):
            maker = constructor if constructor.first == 1 else replace(constructor, first=1)
            self._await(self.attribute(value, "__new__"), self._construct, maker)
        if not any("__init__" in one.names for one in inside):
            self._fill(number, call)

    def _construct(self, value: int, call: Call) -> None:
        if self.kinds[value] is Kind.OUTSIDE and self.parts[value][0].startswith(_WITHOUT_CONSTRUCTOR):
            return
        self.call(value, call)

    def _fill(self, number: int, call: Call) -> None:
        """Flow the arguments of a generated constructor to the fields of a dataclass."""
        inside = [one for one in self.classes[number].order if isinstance(one, int)]
        fields = list(dict.fromkeys(name for one in reversed(inside) for name in self.classes[one].fields))
        if not fields:
            return
        made = self.instance(number)
        for name, one in zip(fields, call.arguments, strict=False):
            if isinstance(one, int):
                self.link(one, self.field(made, name))
        for key, node in call.keywords:
            if key in fields:
                self.link(node, self.field(made, str(key)))

    def call_method(self, owner: int, name: str, call: Call) -> None:
        """Call a special method of an instance, if the repository defines it."""
        self.watch(self.attribute(owner, name), self._call_inside, call)

    def _call_inside(self, value: int, call: Call) -> None:
        if self.kinds[value] is not Kind.OUTSIDE:
            self.call(value, call)

    def iterate(self, value: int, about: tuple[int, Place]) -> None:
        """Flow the items of an iteration over a value to a node."""
        target, place = about
        kind = self.kinds[value]
        if kind is Kind.BOX:
            self.flow_items(value, target)
        elif kind is Kind.INSTANCE:
            result = self.node()
            self.watch(result, self._next, about)
            for name in ("__iter__", "__aiter__"):
                self.call_method(value, name, Call(place, result))
            if not self._has(value, "__iter__"):
                self.call_method(value, "__getitem__", Call(place, target))

    def _has(self, value: int, name: str) -> bool:
        order = self.classes[self.parts[value][0]].order
        return any(isinstance(one, int) and name in self.classes[one].names for one in order)

    def _next(self, value: int, about: tuple[int, Place]) -> None:
        if self.kinds[value] is Kind.INSTANCE:
            for name in ("__next__", "__anext__"):
                self.call_method(value, name, Call(about[1], about[0]))
        else:
            self.iterate(value, about)

    def unpack(self, value: int, about: tuple[int, int, Place]) -> None:
        """Flow the element at a position of an unpacked value to a node."""
        at, target, place = about
        if self.kinds[value] is Kind.BOX and self.container_of(value).kind in {"tuple", "list"}:
            self.flow_key(value, at, target)
        else:
            self.iterate(value, (target, place))

    def container_of(self, value: int) -> Container:
        """Return the container of a value."""
        box: Container = self.boxes[self.parts[value][0]]
        return box

    def subscript(self, value: int, about: tuple[Any, int, Place]) -> None:
        """Flow an element of a value to a node; the key is a constant in a list, a node, or unknown."""
        key, target, place = about
        kind = self.kinds[value]
        if kind is Kind.BOX:
            if isinstance(key, list):
                self.flow_key(value, key[0], target)
            elif key is None:
                self.all_elements(value, target)
            else:
                self.watch(key, self.flow_element_at, (key, value, target))
        elif kind is Kind.INSTANCE:
            argument = key if isinstance(key, int) else None
            self.call_method(value, "__getitem__", Call(place, target, (argument,)))
        elif kind is Kind.CLASS:
            self.put(target, value)

    def flow_element_at(self, key: int, about: tuple[int, int, int]) -> None:
        """Flow the element at a key to a node; all elements if the key is no constant."""
        of, box, target = about
        if self._identifies(key, of):
            self.flow_key(box, self.parts[key][0], target)
        else:
            self.all_elements(box, target)

    def put_element(self, value: int, about: tuple[Any, int]) -> None:
        """Flow a node to an element of a value."""
        key, node = about
        if self.kinds[value] is not Kind.BOX:
            return
        if isinstance(key, int):
            self.watch(key, self.put_at, (key, value, node))
        else:
            self.link(node, self.element(value, key[0] if isinstance(key, list) else None))

    def put_at(self, key: int, about: tuple[int, int, int]) -> None:
        """Flow a node to the element at a key."""
        of, box, node = about
        self.link(node, self.element(box, self.parts[key][0] if self._identifies(key, of) else None))

    def _identifies(self, key: int, of: int) -> bool:
        """Return whether a key identifies elements: a constant whose node has few values."""
        return self.kinds[key] is Kind.CONSTANT and len(self.reached[of]) <= MOST_KEYS

    def promise(self, value: int, target: int) -> None:
        """Flow the instances of an annotation to a node."""
        if self.kinds[value] is Kind.CLASS:
            self.put(target, self.instance(self.parts[value][0]))
        elif self.kinds[value] is Kind.OUTSIDE and is_class_name(self.parts[value][0].rpartition(".")[2]):
            self.put(target, value)

    def enter(self, value: int, about: tuple[int, Place]) -> None:
        """Enter a context manager."""
        target, place = about
        kind = self.kinds[value]
        if kind is Kind.INSTANCE:
            for name in ("__enter__", "__aenter__"):
                self.call_method(value, name, Call(place, target))
            for name in ("__exit__", "__aexit__"):
                self.call_method(value, name, Call(place, None))
        elif kind is Kind.BOX:
            self.all_elements(value, target)
        elif kind is Kind.OUTSIDE:
            self.put(target, value)

    def raise_class(self, value: int, place: Place) -> None:
        """Raise a class, which calls it first."""
        if self.kinds[value] is Kind.CLASS:
            self.call(value, Call(place, None))

    _CALL: ClassVar[dict[Kind, Callable[[Any, int, Call], None]]] = {
        Kind.FUNCTION: _call_function,
        Kind.BOUND: _call_bound,
        Kind.CLASS: _call_class,
        Kind.INSTANCE: _call_instance,
        Kind.STATIC: _call_static,
        Kind.OUTSIDE: _call_outside,
        Kind.BOX_METHOD: _call_box_method,
        Kind.OPAQUE: _call_opaque,
    }

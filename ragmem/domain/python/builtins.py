"""Model the built-in functions and containers, and a few functions of the standard library."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from ragmem.domain.python.calls import Call, Calls
from ragmem.domain.python.flow import Kind
from ragmem.domain.python.modules import Modules
from ragmem.domain.python.objects import Place, is_class_name

_ADDING = frozenset(["append", "add", "appendleft", "insert"])
_EXTENDING = frozenset(["extend", "update", "extendleft", "union"])
_GETTING = frozenset(["get", "pop", "setdefault"])
_TAKING = frozenset(["popleft", "popitem", "send", "__next__", "__anext__"])
_SAME_CONTAINER = frozenset(["copy", "keys", "__iter__", "__enter__"])

MOST_PAIRS = 4
"""Maximum pairs of a dict whose values are kept apart by key."""

_COLLECT = {
    "builtins.list": "list",
    "builtins.tuple": "tuple",
    "builtins.set": "set",
    "builtins.frozenset": "set",
    "builtins.sorted": "list",
    "builtins.reversed": "list",
    "collections.deque": "list",
    "itertools.chain.from_iterable": "list",
}
_SAME = frozenset(
    "copy.copy copy.deepcopy functools.partial asyncio.run asyncio.create_task asyncio.shield "
    "asyncio.wait_for contextlib.closing".split()
)
_TYPES = frozenset(f"builtins.{name}" for name in "str bytes int float bool complex bytearray".split())
_CALLERS = frozenset(
    "builtins.map builtins.filter functools.reduce asyncio.to_thread threading.Thread threading.Timer "
    "multiprocessing.Process concurrent.futures.ThreadPoolExecutor.submit atexit.register "
    "concurrent.futures.ProcessPoolExecutor.submit concurrent.futures.ThreadPoolExecutor.map".split()
)
"""Functions that call each function among their arguments."""

_BY_KEY = frozenset("builtins.sorted builtins.min builtins.max itertools.groupby".split())
_DICTS = frozenset("builtins.dict collections.OrderedDict collections.defaultdict".split())
_GETTERS = frozenset(
    "builtins.property functools.cached_property abc.abstractproperty cached_property.cached_property "
    "django.utils.functional.cached_property".split()
)

_DESCRIPTORS = frozenset(["builtins.staticmethod", "builtins.classmethod", "builtins.property"])
"""Decorators that declare the kind of a method; they do not count as calls."""


class Containers(Calls):
    """Models the methods of containers, and containers made from others."""

    def __init__(self, modules: Modules) -> None:
        super().__init__(modules)
        self._pairs_of: dict[int, tuple[int, int]] = {}

    def call_box(self, box: int, method: str, call: Call) -> None:
        """Call a method of a list, tuple, set, dict or generator."""
        kind = self.container_of(box).kind
        if not call.silent and kind != "generator":
            self.on_call(call.place, self.outside(f"builtins.{kind}.{method}"))
        arguments = [one if isinstance(one, int) else None for one in call.arguments]
        target = call.target if call.target is not None else self.node()
        if method in _ADDING:
            for one in arguments[-1:]:
                if one is not None:
                    self.link(one, self.element(box, None))
        elif method in _EXTENDING:
            self._extend(box, call, arguments)
            self.put(target, box)
        elif method in _GETTING:
            self._get(box, method, arguments, target)
        elif method in _SAME_CONTAINER:
            self.put(target, box)
        elif method in _TAKING:
            self.all_elements(box, target)
        else:
            self._view(box, method, target)

    def _view(self, box: int, method: str, target: int) -> None:
        if method == "items":
            self._items(box, target)
        elif method == "values":
            made = self.container_for(target, "list")
            self.all_elements(box, self.element(made, None))
            self.put(target, made)

    def _extend(self, box: int, call: Call, arguments: list[int | None]) -> None:
        for one in arguments:
            if one is None:
                continue
            if self.container_of(box).kind == "dict":
                self.watch(one, self.update, box)
            else:
                self.watch(one, self.iterate, (self.element(box, None), call.place))
        for name, node in call.keywords:
            if name is not None:
                self.link(node, self.element(box, name))

    def _get(self, box: int, method: str, arguments: list[int | None], target: int) -> None:
        key = arguments[0] if arguments else None
        if self.container_of(box).kind != "dict" or key is None:
            self.all_elements(box, target)
        else:
            self.watch(key, self.flow_element_at, (key, box, target))
        if len(arguments) > 1 and arguments[1] is not None:
            self.link(arguments[1], target)
            if method == "setdefault" and key is not None:
                self.watch(key, self.put_at, (key, box, arguments[1]))

    def _items(self, box: int, target: int) -> None:
        made = self.container_for(target, "list")
        row = self.container_for(self.element(made, None), "tuple")
        self.flow_items(box, self.element(row, 0))
        self.all_elements(box, self.element(row, 1))
        self.put(self.element(made, None), row)
        self.put(target, made)

    def update(self, value: int, box: int) -> None:
        """Flow the elements of a value to a dict."""
        if self.kinds[value] is not Kind.BOX:
            return
        if self.container_of(value).kind == "dict":
            self.each_element(value, self.flow_into, box)
        else:
            self.all_elements(value, self._pairs(box))

    def _pairs(self, box: int) -> int:
        """Return a node whose pairs become entries of a dict."""
        pairs = self.node()
        self.watch(pairs, self._pair, (pairs, box))
        return pairs

    def _pair(self, value: int, about: tuple[int, int]) -> None:
        of, box = about
        if self.kinds[value] is Kind.BOX:
            key, element = self.pair_nodes(value)
            if len(self.reached[of]) <= MOST_PAIRS:
                self.watch(key, self.put_at, (key, box, element))
            else:
                self.link(element, self.element(box, None))

    def pair_nodes(self, value: int) -> tuple[int, int]:
        """Return the nodes of the first and the second element of a container."""
        known = self._pairs_of.get(value)
        if known is None:
            known = self._pairs_of[value] = (self.node(), self.node())
            self.flow_key(value, 0, known[0])
            self.flow_key(value, 1, known[1])
        return known


class Builtins(Containers):
    """Calls of functions that the repository does not define."""

    def call_outside(self, name: str, call: Call) -> None:
        """Call an external function, whose result is mostly unknown."""
        if not call.silent and not (call.decorates and name in _DESCRIPTORS):
            self.on_call(call.place, self.outside(name))
        arguments = [one if isinstance(one, int) else None for one in call.arguments]
        if call.decorates:
            self._decorate(name, call)
        elif name in self._KNOWN:
            self._KNOWN[name](self, call, arguments)
        elif name in _SAME:
            self._same(name, call)
        elif name in _COLLECT:
            self._collect(name, call, arguments)
        elif call.target is not None:
            self._instantiate_external(name, call.target)
        if name in _CALLERS or name in _BY_KEY:
            self._call_with_elements(name, call, arguments)

    def _instantiate_external(self, name: str, target: int) -> None:
        """Add the result of an external callable to a node; an external class stands for its instances."""
        if name in _TYPES or is_class_name(name.rpartition(".")[2]):
            self.put(target, self.outside(name))
        elif target in self.opaque_targets:
            self.put(target, self.value(Kind.OPAQUE))

    def _cast(self, call: Call, arguments: list[int | None]) -> None:
        if call.target is not None and len(arguments) > 1 and arguments[1] is not None:
            self.link(arguments[1], call.target)

    def _decorate(self, name: str, call: Call) -> None:
        kind = {"builtins.staticmethod": Kind.STATIC, "builtins.classmethod": Kind.OF_CLASS}.get(name)
        if name in _GETTERS:
            kind = Kind.PROPERTY
        if kind is None:
            self.pass_through(call)
        elif isinstance(call.arguments[0], int):
            self.watch(call.arguments[0], self._wrap, (kind, call.target))

    def _wrap(self, value: int, about: tuple[Kind, int]) -> None:
        if self.kinds[value] is Kind.FUNCTION:
            self.put(about[1], self.value(about[0], value))
        else:
            self.put(about[1], value)

    def _same(self, name: str, call: Call) -> None:
        self.pass_through(call)
        if name == "functools.partial" and call.arguments and isinstance(call.arguments[0], int):
            rest = replace(call, arguments=call.arguments[1:], target=None, silent=True)
            self.watch(call.arguments[0], self._prepare, rest)

    def _prepare(self, value: int, call: Call) -> None:
        if self.kinds[value] in {Kind.FUNCTION, Kind.BOUND, Kind.CLASS}:
            self.call(value, call)

    def _collect(self, name: str, call: Call, arguments: list[int | None]) -> None:
        if call.target is None:
            return
        box = self.box(_COLLECT[name])
        self.put(call.target, box)
        if arguments and arguments[0] is not None:
            self.watch(arguments[0], self.iterate, (self.element(box, None), call.place))

    def _call_with_elements(self, name: str, call: Call, arguments: list[int | None]) -> None:
        """Call the functions among the arguments with the elements of the others."""
        elements = self.node()
        result = self.node()
        handed = Call(call.place, result, (elements, elements))
        named = {"key", "target", "function"}
        functions = [node for key, node in call.keywords if key in named]
        if name in _CALLERS:
            functions += [one for one in arguments if one is not None]
        if name in {"asyncio.to_thread", "threading.Thread"} or name.endswith(".submit"):
            handed = replace(handed, arguments=call.arguments[1:])
        for one in functions:
            self.watch(one, self._call_function_only, handed)
        for given in arguments:
            if given is not None:
                self.watch(given, self.iterate, (elements, call.place))
        if call.target is None:
            return
        if name in {"builtins.map", "builtins.filter"}:
            box = self.box("generator")
            self.put(call.target, box)
            self.link(result if name.endswith("map") else elements, self.element(box, None))
        elif name in {"functools.reduce", "asyncio.to_thread"}:
            self.link(result, call.target)
        elif name in {"builtins.min", "builtins.max"}:
            self.link(elements, call.target)

    def _call_function_only(self, value: int, call: Call) -> None:
        if self.kinds[value] in {Kind.FUNCTION, Kind.BOUND, Kind.CLASS, Kind.OUTSIDE}:
            self.call(value, call)

    def _dict(self, call: Call, arguments: list[int | None]) -> None:
        if call.target is None:
            return
        box = self.box("dict")
        self.put(call.target, box)
        for name, node in call.keywords:
            if name is not None:
                self.link(node, self.element(box, name))
        for one in arguments:
            if one is not None:
                self.watch(one, self.update, box)

    def _next_of(self, call: Call, arguments: list[int | None]) -> None:
        if arguments and arguments[0] is not None:
            target = call.target if call.target is not None else self.node()
            self.watch(arguments[0], self._next, (target, call.place))
            if len(arguments) > 1 and arguments[1] is not None:
                self.link(arguments[1], target)

    def _iter_of(self, call: Call, arguments: list[int | None]) -> None:
        if arguments and arguments[0] is not None:
            self.watch(arguments[0], self._iterator, call)

    def _iterator(self, value: int, call: Call) -> None:
        if self.kinds[value] is Kind.INSTANCE:
            self.call_method(value, "__iter__", Call(call.place, call.target))
        elif self.kinds[value] is Kind.BOX and call.target is not None:
            self.put(call.target, value)

    def _several(self, call: Call, arguments: list[int | None], *, numbered: bool) -> None:
        if call.target is None:
            return
        box, row = self.box("generator"), self.box("tuple")
        self.put(call.target, box)
        self.put(self.element(box, None), row)
        for at, one in enumerate(arguments):
            if one is not None:
                self.watch(one, self.iterate, (self.element(row, at + numbered), call.place))

    def _zip(self, call: Call, arguments: list[int | None]) -> None:
        self._several(call, arguments, numbered=False)

    def _enumerate(self, call: Call, arguments: list[int | None]) -> None:
        self._several(call, arguments[:1], numbered=True)

    def _getattr(self, call: Call, arguments: list[int | None]) -> None:
        if len(arguments) < 2 or arguments[0] is None or arguments[1] is None:
            return
        target = call.target if call.target is not None else self.node()
        self.watch(arguments[1], self._get_attribute, (arguments[0], target, call.place))
        if len(arguments) > 2 and arguments[2] is not None:
            self.link(arguments[2], target)

    def _get_attribute(self, value: int, about: tuple[int, int, Place]) -> None:
        if self.kinds[value] is Kind.CONSTANT and isinstance(self.parts[value][0], str):
            self.watch(about[0], self.read, (self.parts[value][0], about[1], about[2]))

    def _setattr(self, _call: Call, arguments: list[int | None]) -> None:
        if len(arguments) > 2 and None not in arguments[:3]:
            self.watch(arguments[1] or 0, self._set_attribute, (arguments[0], arguments[2]))

    def _set_attribute(self, value: int, about: tuple[int, int]) -> None:
        if self.kinds[value] is Kind.CONSTANT and isinstance(self.parts[value][0], str):
            self.watch(about[0], self.store, (self.parts[value][0], about[1]))

    def store(self, value: int, about: tuple[str, int]) -> None:
        """Flow an attribute of a value to a node."""
        if self.kinds[value] in {Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION, Kind.MODULE}:
            self.link(about[1], self.field(value, about[0]))

    def _type(self, call: Call, arguments: list[int | None]) -> None:
        if call.target is not None and len(arguments) == 1 and arguments[0] is not None:
            self.watch(arguments[0], self._on_class, call.target)

    def _on_class(self, value: int, target: int) -> None:
        if self.kinds[value] is Kind.INSTANCE:
            self.put(target, self._class_of(value))

    def _super(self, call: Call, arguments: list[int | None]) -> None:
        if call.target is not None and len(arguments) == 2 and None not in arguments:
            self.watch(arguments[0] or 0, self._super_class, (arguments[1], call.target))

    def _super_class(self, value: int, about: tuple[int, int]) -> None:
        if self.kinds[value] is Kind.CLASS:
            self.watch(about[0], self.super_of, (value, about[1]))

    def super_of(self, value: int, about: tuple[int, int]) -> None:
        """Flow the super() of a class for an instance or class to a node."""
        if self.kinds[value] in {Kind.INSTANCE, Kind.CLASS}:
            self.put(about[1], self.value(Kind.SUPER, about[0], value))

    def _import(self, call: Call, arguments: list[int | None]) -> None:
        if call.target is not None and arguments and arguments[0] is not None:
            self.watch(arguments[0], self._import_module, (call.target, call.place))

    def _import_module(self, value: int, about: tuple[int, Place]) -> None:
        name = self.parts[value][0]
        if self.kinds[value] is Kind.CONSTANT and isinstance(name, str):
            found = self.modules.find("", name)
            self.put(about[0], self.value(Kind.MODULE, found) if found else self.outside(name))

    _KNOWN: ClassVar[dict[str, Callable[[Any, Call, list[int | None]], None]]] = {
        **dict.fromkeys(_DICTS, _dict),
        "builtins.next": _next_of,
        "builtins.anext": _next_of,
        "builtins.iter": _iter_of,
        "builtins.zip": _zip,
        "builtins.enumerate": _enumerate,
        "builtins.getattr": _getattr,
        "builtins.setattr": _setattr,
        "typing.cast": _cast,
        "builtins.type": _type,
        "builtins.super": _super,
        "builtins.__import__": _import,
        "importlib.import_module": _import,
    }

"""Model the methods of lists, dicts and other containers."""

from ragmem.domain.python.calls import Call, Calls
from ragmem.domain.python.flow import Kind
from ragmem.domain.python.modules import Modules

_ADDING = frozenset(["append", "add", "appendleft", "insert"])
_EXTENDING = frozenset(["extend", "update", "extendleft", "union"])
_GETTING = frozenset(["get", "pop", "setdefault"])
_TAKING = frozenset(["popleft", "popitem", "send", "__next__", "__anext__"])
_SAME = frozenset(["copy", "keys", "__iter__", "__enter__"])

MOST_PAIRS = 4
"""Maximum pairs of a dict whose values are kept apart by key."""


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
        elif method in _SAME:
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

"""Model the contents of containers: elements by key, where the key is known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragmem.domain.python.flow import Flow, Kind

MOST_POSITIONS = 32
"""Elements after this position of a list or tuple share one node."""


@dataclass(slots=True)
class Container:
    """A container: nodes of its elements by key; the key None is for elements with an unknown key."""

    kind: str
    length: int | None
    elements: dict[Any, int] = field(default_factory=dict)
    every: int | None = None
    keys: int | None = None
    watchers: list[tuple[Callable[[Any, int, Any], None], Any]] = field(default_factory=list)


class Boxes(Flow):
    """Values that have elements."""

    def __init__(self) -> None:
        super().__init__()
        self.boxes: list[Container] = []
        self._made: dict[int, int] = {}

    def box(self, kind: str, length: int | None = None) -> int:
        """Return the value of a new container."""
        self.boxes.append(Container(kind, length))
        return self.value(Kind.BOX, len(self.boxes) - 1)

    def container_for(self, target: int, kind: str) -> int:
        """Return the container of a node; repeated calls return the same one."""
        box = self._made.get(target)
        if box is None:
            box = self._made[target] = self.box(kind)
        return box

    def element(self, box: int, key: Any) -> int:
        """Return the node of an element; the key None is for elements with an unknown key."""
        made: Container = self.boxes[self.parts[box][0]]
        if isinstance(key, int) and key < 0 and made.length is not None and made.length + key >= 0:
            key += made.length
        if isinstance(key, int) and made.kind != "dict" and not 0 <= key < MOST_POSITIONS:
            # A recursive function that prepends an argument would never end.
            key = None
        node = made.elements.get(key)
        if node is None:
            node = made.elements[key] = self.node()
            for handler, about in tuple(made.watchers):
                self.later(handler, key, node, about)
        return node

    def each_element(self, box: int, handler: Callable[[Any, int, Any], None], about: Any) -> None:
        """Call the handler with the key and node of each element, now and later."""
        made = self.boxes[self.parts[box][0]]
        made.watchers.append((handler, about))
        for key, node in tuple(made.elements.items()):
            self.later(handler, key, node, about)

    def all_elements(self, box: int, target: int) -> None:
        """Flow all elements of a container to a node."""
        made = self.boxes[self.parts[box][0]]
        if made.every is None:
            made.every = self.node()
            self.each_element(box, self._any_element, made.every)
        self.link(made.every, target)

    def _any_element(self, _key: Any, node: int, target: int) -> None:
        self.link(node, target)

    def flow_key(self, box: int, key: Any, target: int) -> None:
        """Flow the element with a key to a node, and those with an unknown key."""
        self.link(self.element(box, key), target)
        self.link(self.element(box, None), target)

    def flow_items(self, box: int, target: int) -> None:
        """Flow the items of an iteration to a node: those of a dict are its keys."""
        if self.boxes[self.parts[box][0]].kind == "dict":
            made = self.boxes[self.parts[box][0]]
            if made.keys is None:
                made.keys = self.node()
                self.each_element(box, self._key, made.keys)
            self.link(made.keys, target)
        else:
            self.all_elements(box, target)

    def _key(self, key: Any, _node: int, target: int) -> None:
        if key is not None:
            self.put(target, self.constant(key))

    def constant(self, key: Any) -> int:
        """Return the value of a constant."""
        return self.value(Kind.CONSTANT, key, type(key).__name__)

    def flow_into(self, key: Any, node: int, box: int) -> None:
        """Flow an element to the same place of another container."""
        self.link(node, self.element(box, key))

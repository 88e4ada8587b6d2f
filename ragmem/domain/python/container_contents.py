"""What containers hold: elements by their key, as far as it is known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragmem.domain.python.flow import Flow, Kind

MOST_POSITIONS = 32
"""Elements of a list or tuple past it are not told apart."""


@dataclass(slots=True)
class Box:
    """A container: nodes of its elements by key, None for those with a key that is not known."""

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
        self.boxes: list[Box] = []
        self._made: dict[int, int] = {}

    def box(self, kind: str, length: int | None = None) -> int:
        """Return the value of a new container."""
        self.boxes.append(Box(kind, length))
        return self.value(Kind.BOX, len(self.boxes) - 1)

    def made(self, target: int, kind: str) -> int:
        """Return the container that is made for a node, one however often it is asked for."""
        box = self._made.get(target)
        if box is None:
            box = self._made[target] = self.box(kind)
        return box

    def element(self, box: int, key: Any) -> int:
        """Return the node of an element, None being those whose key is not known."""
        made: Box = self.boxes[self.parts[box][0]]
        if isinstance(key, int) and key < 0 and made.length is not None and made.length + key >= 0:
            key += made.length
        if isinstance(key, int) and made.kind != "dict" and not 0 <= key < MOST_POSITIONS:
            # A function that calls itself with one more argument before its own would never end.
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
        """Let all elements of a container reach a node."""
        made = self.boxes[self.parts[box][0]]
        if made.every is None:
            made.every = self.node()
            self.each_element(box, self._any_element, made.every)
        self.link(made.every, target)

    def _any_element(self, _key: Any, node: int, target: int) -> None:
        self.link(node, target)

    def at_key(self, box: int, key: Any, target: int) -> None:
        """Let the element with a key reach a node, and those whose key is not known."""
        self.link(self.element(box, key), target)
        self.link(self.element(box, None), target)

    def iterated(self, box: int, target: int) -> None:
        """Let what comes out of iterating over a container reach a node: of a dict, its keys."""
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

    def merged(self, key: Any, node: int, box: int) -> None:
        """Let an element reach the same place of another container."""
        self.link(node, self.element(box, key))

"""A points-to analysis: which values reach which nodes, regardless of order and context.

It follows PyCG's assignment graph (Salis et al., "PyCG: Practical Call Graph Generation in Python", ICSE
2021), with a worklist that propagates only new values. Values and nodes are numbers.
"""

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Any

MOST_VALUES = 32
"""Maximum values of a node; a node with more says nothing about a call."""

MOST_STEPS = 10_000_000
"""Maximum propagated values, about half a minute; 200,000 lines take some millions."""


class Kind(IntEnum):
    """The kind of a value; the comments name its two parts."""

    MODULE = 0  # (path or folder)
    FUNCTION = 1  # (number)
    CLASS = 2  # (number)
    INSTANCE = 3  # (number of its class)
    BOUND = 4  # a method (value of the function, value of its first argument)
    BOX = 5  # a list, tuple, set, dict or generator (number)
    OUTSIDE = 6  # an external name, or its instances (name)
    CONSTANT = 7  # (value, its type)
    SUPER = 8  # (value of the class, value of the instance)
    PROPERTY = 9  # (value of the getter)
    STATIC = 10  # a static method (value of the function)
    OF_CLASS = 11  # a class method (value of the function)
    BOX_METHOD = 12  # (value of the box, name)
    OPAQUE = 13  # the result of an external call


_NOTHING: frozenset[int] = frozenset()

Handler = Callable[[int, Any], None]


class Flow:
    """Nodes with the values that reach them; `run` propagates values until none is new."""

    def __init__(self) -> None:
        self.reached: list[set[int] | frozenset[int]] = []
        self.targets: list[set[int] | None] = []
        self.watchers: list[list[tuple[Handler, Any]] | None] = []
        self.kinds: list[Kind] = []
        self.parts: list[tuple[Any, Any]] = []
        self._known: dict[tuple[Kind, Any, Any], int] = {}
        self._fresh: dict[int, set[int]] = {}
        self._queue: deque[int] = deque()
        self._pending: deque[tuple[Handler, Any, tuple[int, ...]]] = deque()
        self._tasks: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._steps = 0

    def value(self, kind: Kind, first: Any = None, second: Any = None) -> int:
        """Return the number of a value."""
        key = (kind, first, second)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.kinds)
            self.kinds.append(kind)
            self.parts.append((first, second))
        return found

    def node(self) -> int:
        """Return a new node."""
        self.reached.append(_NOTHING)
        self.targets.append(None)
        self.watchers.append(None)
        return len(self.reached) - 1

    def nodes(self, count: int) -> int:
        """Make many nodes; return the first of them."""
        first = len(self.reached)
        self.reached += [_NOTHING] * count
        self.targets += [None] * count
        self.watchers += [None] * count
        return first

    def put(self, node: int, value: int) -> None:
        """Add a value to a node."""
        if value not in self.reached[node]:
            self._give(node, {value})

    def _give(self, node: int, values: set[int]) -> None:
        known = self.reached[node]
        new = values - known
        if not new:
            return
        room = MOST_VALUES - len(known)
        if len(new) > room:
            if room <= 0:
                return
            new = set(sorted(new)[:room])
        if isinstance(known, set):
            known |= new
        else:
            # Most nodes are never reached, so they share one empty set at first.
            self.reached[node] = set(new)
        fresh = self._fresh.get(node)
        if fresh is None:
            self._fresh[node] = new
            self._queue.append(node)
        else:
            fresh |= new

    def link(self, source: int, target: int) -> None:
        """Flow all present and future values of one node to another."""
        if source == target:
            return
        targets = self.targets[source]
        if targets is None:
            targets = self.targets[source] = set()
        elif target in targets:
            return
        targets.add(target)
        reached = self.reached[source]
        if isinstance(reached, set):
            self._give(target, reached)

    def watch(self, node: int, handler: Handler, about: Any) -> None:
        """Call the handler with each present and future value of a node."""
        watchers = self.watchers[node]
        if watchers is None:
            watchers = self.watchers[node] = []
        watchers.append((handler, about))
        reached = self.reached[node]
        if reached:
            fresh = self._fresh.get(node)
            known = reached - fresh if fresh else reached
            if known:
                self._pending.append((handler, about, tuple(sorted(known))))

    def later(self, task: Callable[..., None], *about: Any) -> None:
        """Schedule an action; immediate execution would nest without limit."""
        self._tasks.append((task, about))

    def run(self) -> None:
        """Propagate values until none is new or the limit is reached."""
        while (self._queue or self._pending or self._tasks) and self._steps < MOST_STEPS:
            while self._tasks and self._steps < MOST_STEPS:
                task, given = self._tasks.popleft()
                self._steps += 1
                task(*given)
            while self._pending and self._steps < MOST_STEPS:
                handler, about, values = self._pending.popleft()
                self._steps += len(values)
                for value in values:
                    handler(value, about)
            if self._queue:
                self._hand_on(self._queue.popleft())

    def _hand_on(self, node: int) -> None:
        new = self._fresh.pop(node)
        targets = self.targets[node]
        if targets:
            self._steps += len(targets)
            for target in tuple(targets):
                if not new <= self.reached[target]:
                    self._give(target, new)
        watchers = self.watchers[node]
        if watchers:
            self._steps += len(watchers) * len(new)
            ordered = sorted(new) if len(new) > 1 else tuple(new)
            for handler, about in tuple(watchers):
                for value in ordered:
                    handler(value, about)

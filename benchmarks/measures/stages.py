"""Processor seconds by stage: the package of the code that runs."""

import functools
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any
from unittest import mock


class Clock:
    """The seconds of each stage; each thread is in one stage at a time, the innermost."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._here = threading.local()

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function so that its seconds, without those of other stages within, are the stage's."""

        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            outer = getattr(self._here, "stage", "")
            if outer == stage:
                return function(*arguments, **options)
            self._enter(stage)
            try:
                return function(*arguments, **options)
            finally:
                self._enter(outer)

        return call

    def _enter(self, stage: str) -> None:
        now = time.thread_time()
        if left := getattr(self._here, "stage", ""):
            self.spent[left] += now - self._here.since
        self._here.stage, self._here.since = stage, now


@contextmanager
def watched(packages: Mapping[str, str]) -> Iterator[Clock]:
    """Time the public functions and methods of loaded packages while the block runs: package -> stage.

    A module belongs to the package of the longest name. What a generator does counts where it is consumed.
    Raises LookupError for a package of which nothing is loaded, whose seconds would be missing unseen.
    """
    clock = Clock()
    modules = {name: module for name, module in sys.modules.items() if name.startswith("ragmem")}
    for package in packages:
        if not any(_within(name, package) for name in modules):
            raise LookupError(f"nothing of {package} is loaded")
    timed: dict[int, Callable[..., Any]] = {}
    with ExitStack() as stack:
        for name, module in modules.items():
            of = max((package for package in packages if _within(name, package)), key=len, default="")
            for owner, attribute, function in _public(module) if of else ():
                timed[id(function)] = clock.timed(packages[of], function)
                stack.enter_context(mock.patch.object(owner, attribute, timed[id(function)]))
        # The same functions where other modules have imported them by name.
        for module in modules.values():
            for attribute, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and id(value) in timed:
                    stack.enter_context(mock.patch.object(module, attribute, timed[id(value)]))
        yield clock


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _public(module: ModuleType) -> Iterator[tuple[Any, str, FunctionType]]:
    """Yield the public functions and methods that a module defines, with their owners."""
    mine = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    owners = [module, *(value for value in mine if isinstance(value, type))]
    for owner in owners:
        for attribute, value in list(vars(owner).items()):
            own = isinstance(value, FunctionType) and value.__module__ == module.__name__
            if own and not attribute.startswith("_"):
                yield owner, attribute, value

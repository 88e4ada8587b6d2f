"""Sound Python parses, whatever other threads parse at the same time."""

import ast
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragmem.domain.python.code import parse_python
from ragmem.domain.text.python_syntax import expression_tree, module_tree

TEXT = Path(ast.__file__).read_text(encoding="utf-8")


class Waits:
    """Garbage that lets another thread run while it is collected."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0.0001)


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
def test_threads_that_parse_at_once_do_not_disturb_each_other() -> None:
    # Without the second try a run fails with a SystemError on CPython 3.11.7 about every second time.
    failed: list[SystemError] = []

    def work() -> None:
        for _ in range(6):
            for _ in range(300):
                Waits()
            try:
                module_tree(TEXT)
            except SystemError as error:
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []


def test_text_that_is_no_python_is_told_as_before() -> None:
    with pytest.raises(SyntaxError):
        module_tree("def")
    with pytest.raises(SyntaxError):
        expression_tree("a b")
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_python("deep.py", "x = " + "(" * 150 + "-" * 5000 + "1" + ")" * 150)

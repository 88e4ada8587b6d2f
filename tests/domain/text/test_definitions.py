import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.text.definitions import is_program, parts

PYTHON = '''"""A module."""

import os


class Store:
    """Keeps things."""

    LIMIT = 3

    # Opens the file.
    @property
    def path(self):
        text = """
no = "statement of its own"
"""
        return text

    async def open(self, mode):
        if mode:
            return 1
        else:
            return 2


def main():
    return Store()
'''

SCRIPT = """import x from "y";

export class Store {
  constructor(path) {
    this.path = path;
  }

  async open(mode) {
    if (mode) {
      return 1;
    }
  }
}

const go = async (a) => {
  return a;
};
"""


def told(text, most):
    return [
        (" ".join(part.path), text[part.start : part.end].strip())
        for part in parts(text, 0, len(text), lambda start, end: end - start <= most)
    ]


def test_a_function_that_fits_is_never_divided():
    path, opens = [part for name, part in told(PYTHON, 200) if name == "Store"][-2:]
    assert path.startswith("# Opens the file.\n    @property\n    def path")
    assert path.endswith("return text")
    assert opens.startswith("async def open")
    assert opens.endswith("return 2")
    assert told(PYTHON, 200)[-1] == ("", "def main():\n    return Store()")


def test_other_languages_are_divided_by_their_layout():
    constructor, opens = [part for name, part in told(SCRIPT, 80) if name == "Store"][:2]
    assert constructor == "constructor(path) {\n    this.path = path;\n  }"
    assert opens.startswith("async open(mode)")
    assert told(SCRIPT, 80)[-1] == ("", "const go = async (a) => {\n  return a;\n};")


def test_what_fits_as_a_whole_is_one_part_for_each_definition():
    assert [part.split()[:2] for _, part in told(PYTHON, 10_000)][-2:] == [
        ["class", "Store:"],
        ["def", "main():"],
    ]


def test_what_is_left_of_a_function_stands_under_its_name():
    assert ("Store open", "return 2") in [(name, part[-8:]) for name, part in told(PYTHON, 60)]


@pytest.mark.parametrize("text", [PYTHON, SCRIPT])
def test_programs_are_known(text):
    assert is_program(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The class starts at nine; def not earlier.",
        "# Title\n\nProse; more of it;\n",
        "Use this:\n\n```js\nfunction a() {\n  return 1;\n}\n```\n",
        "class of 1999\n\nwas a good one\nand more\n",
        "def broken(:\n  prose about it\n",
    ],
)
def test_other_texts_are_no_programs(text):
    assert not is_program(text)


CODE = st.lists(
    st.sampled_from(
        ["def a():", "class B:", "  x = 1", "    y", "}", "if (x) {", "@d", "# c", "", "\t", "'''", "\r"]
    ),
    max_size=40,
).map("\n".join)


@given(CODE | st.text(max_size=200), st.integers(1, 80))
def test_the_parts_hold_every_character_once_and_in_order(text, most):
    found = list(parts(text, 0, len(text), lambda start, end: end - start <= most))
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert "".join("".join(text[part.start : part.end].split()) for part in found) == "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "a\n" * 50_000,
        "".join(" " * n + "a\n" for n in range(700)),
        "f(" * 90_000,
        "def a():\n" * 9_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_the_time_is_linear(text):
    start = time.thread_time()
    list(parts(text, 0, len(text), lambda begin, end: end - begin <= 900))
    is_program(text)
    assert time.thread_time() - start < 5  # linear takes half a second

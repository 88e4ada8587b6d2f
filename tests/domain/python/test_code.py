"""What a file of Python defines and is for."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.code.code import Symbol, SymbolKind
from ragmem.domain.python.code import link_python, parse_python


def kinds(text: str, path: str = "pkg/mod.py") -> dict[str, SymbolKind]:
    return {one.qualified: one.kind for one in parse_python(path, text).symbols}


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("main.py", "main"),
        ("pkg/__init__.py", "pkg"),
        ("pkg/a/b.py", "pkg.a.b"),
        ("src/pkg/a.py", "pkg.a"),
        ("libs/one/src/one/__init__.py", "one"),
        ("tests/test_a.py", "tests.test_a"),
        ("__init__.py", "__init__"),
        ("src.py", "src"),
        ("typings/a.pyi", "typings.a"),
    ],
)
def test_a_module_has_the_name_of_its_path(path, module):
    parsed = parse_python(path, "")
    assert parsed.module == module
    assert (parsed.symbols[0].qualified, parsed.symbols[0].name) == (module, module.rpartition(".")[2])


def test_every_definition_is_a_symbol():
    text = (
        "LIMIT = 3\nlower = 4\n"
        "class A(Protocol):\n    SIZE: int = 1\n    def m(self):\n        def inner(): ...\n"
        "if LIMIT:\n    async def f(): ...\ntry:\n    class B: ...\nexcept E:\n    B = None\n"
    )
    assert kinds(text) == {
        "pkg.mod": SymbolKind.MODULE,
        "pkg.mod.LIMIT": SymbolKind.CONSTANT,
        "pkg.mod.A": SymbolKind.INTERFACE,
        "pkg.mod.A.SIZE": SymbolKind.CONSTANT,
        "pkg.mod.A.m": SymbolKind.METHOD,
        "pkg.mod.A.m.inner": SymbolKind.FUNCTION,
        "pkg.mod.f": SymbolKind.FUNCTION,
        "pkg.mod.B": SymbolKind.CLASS,
    }


def test_a_symbol_stands_on_its_lines_with_the_first_sentence_of_its_docstring():
    text = '@wrap\ndef f():\n    """Do it. Then\n    rest.\n\n    More."""\n    return 1\n'
    assert parse_python("a.py", text).symbols[1] == Symbol("a.f", "f", SymbolKind.FUNCTION, 1, 7, "Do it.")


@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        ('"""Reads mail.\n\nAnd more."""', "Reads mail."),
        (
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n# Sends mail\n# at night.\nimport os",
            "Sends mail at night.",
        ),
        (
            "# Copyright 2020 Somebody\nclass A: ...\ndef f(): ...\ndef g(): ...",
            "defines class A and 2 functions (f, g)",
        ),
        ("# Computes taxes.\nimport os", "Computes taxes."),
        ("# (c) 2020 Somebody\n#\n# Sums up.\nimport os", "Sums up."),
        ("import os\n# not leading\n", ""),
        ("LIMIT = 1", "defines constant LIMIT"),
    ],
)
def test_a_file_says_what_it_is_for(text, purpose):
    assert parse_python("a.py", text).purpose == purpose


def test_a_purpose_is_short():
    assert len(parse_python("a.py", f'"""{"word " * 500}"""').purpose) <= 204


@pytest.mark.parametrize(
    ("path", "text", "tests"),
    [
        ("tests/test_a.py", "def test_x(): ...\ndef helper(): ...", {"tests.test_a", "tests.test_a.test_x"}),
        ("pkg/a.py", "def test_x(): ...", set()),
        (
            "a_test.py",
            "class TestA:\n    def test_b(self): ...",
            {"a_test", "a_test.TestA", "a_test.TestA.test_b"},
        ),
        (
            "pkg/check.py",
            "class Check(TestCase):\n    def test_b(self): ...\n    def help(self): ...",
            {"pkg.check.Check", "pkg.check.Check.test_b"},
        ),
    ],
)
def test_tests_are_known_by_the_conventions_of_pytest_and_unittest(path, text, tests):
    assert {one.qualified for one in parse_python(path, text).symbols if one.is_test} == tests


def test_facts_are_json():
    text = "import os\nd = {True: os, 1: '\\ud800', 'k': [1.5, None, b'x', 10**40, *d]}\nd[-1](*d, **d)\n"
    facts = parse_python("a.py", text).facts
    assert json.loads(json.dumps(facts)) == facts


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 250 + ")" * 250,
        "x" + ".a" * (sys.getrecursionlimit() * 3),
        "-" * 20_000 + "1",
        "x = " + "+".join("a" * 20_000),
        "f" + "()" * 5_000,
    ],
)
def test_what_is_nested_too_deeply_is_refused(text):
    with pytest.raises((SyntaxError, ValueError)):
        parse_python("a.py", text)


@pytest.mark.parametrize(
    "text", ["def (", "x = \0", "\ud800 = 1", "return 1 +", "if x:\nprint 1", "'\\N{no}'"]
)
def test_what_is_no_python_is_refused(text):
    with pytest.raises((SyntaxError, ValueError)):
        parse_python("a.py", text)


WORDS = [
    *"def class lambda return yield await async for in if else : ( ) [ ] { } , . = += * ** @ := -> a".split(),
    *"self super import from as with try except raise global nonlocal match case _ 'x' 1 # \\ True".split(),
    *["\n", "\n\t", "f'{a}'", "None", "not", "is", "b"],
]
CODE = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


@given(st.text(max_size=200) | CODE)
@settings(deadline=None, max_examples=300)
def test_any_text_is_parsed_or_refused(text):
    try:
        parsed = parse_python("a.py", text)
    except (SyntaxError, ValueError):
        return
    assert parsed.symbols[0].kind is SymbolKind.MODULE
    link_python([parsed])


LINES = [
    "def f(a, *b, c=1, **d): return a(b, c, **d)",
    "f = f(f)",
    "a, *b = f",
    "[a for a in f if a]",
    "class f(f): f = f",
    "with f() as a, f as b: pass",
    "async def g():\n    async for a in f: yield a",
    "global f",
    "del f",
    "f.a.b[0] += f",
    "match f:\n    case [a, *b] | {'k': a, **b} if a: f(a)\n    case f(a=1) as b: pass",
    "try: f()\nexcept* f as a: a()",
    "x: 'list[f] | None' = f",
    "from . import *",
    "from .. import f",
    "import f.f as g",
    "raise f from f",
    "eval('f(')",
    "lambda *a, **b: (yield a)",
    "f[1:2, ...] = f[::2]",
    "{**f, 'a': f}",
    "print(f'{f()!r:{f}}')",
    "assert f, f()",
    "@f.setter\ndef f(self): super().f()",
    "g = super(f, f).f",
    "getattr(f, 'a')(setattr(f, 'a', f))",
]


@given(st.lists(st.sampled_from(LINES), max_size=12))
@settings(deadline=None, max_examples=150)
def test_any_python_is_linked(lines):
    text = "\n".join(lines)
    try:
        parsed = parse_python("a.py", text)
    except SyntaxError:
        return
    for edge in link_python([parsed]):
        assert edge.source == "a" or edge.source.startswith("a.")
        assert 1 <= edge.line <= text.count("\n") + 1

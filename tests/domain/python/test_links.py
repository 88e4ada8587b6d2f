"""Edges of Python repositories: imports, inheritance, roots, and what holds for all of them."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile, Symbol, SymbolKind
from ragmem.domain.python.code import link_python, parse_python


def link(files: dict[str, str]) -> list[Edge]:
    return link_python([parse_python(path, text) for path, text in files.items()])


def pairs(files: dict[str, str], kind: EdgeKind) -> set[tuple[str, str, bool]]:
    return {(one.source, one.target, one.internal) for one in link(files) if one.kind is kind}


def imports(files: dict[str, str]) -> set[tuple[str, str, bool]]:
    return pairs(files, EdgeKind.IMPORTS)


def test_an_imported_name_leads_to_its_definition_through_those_that_hand_it_on():
    files = {
        "pkg/__init__.py": "from .inner import *\nfrom .other import helper as tool",
        "pkg/inner.py": "class Thing: ...",
        "pkg/other.py": "def helper(): ...",
        "app.py": "from pkg import Thing, tool\nimport os.path\nfrom json import loads",
    }
    assert {one for one in imports(files) if one[0] == "app"} == {
        ("app", "pkg", True),
        ("app", "pkg.inner.Thing", True),
        ("app", "pkg.other.helper", True),
        ("app", "os.path", False),
        ("app", "json.loads", False),
    }


def test_a_function_that_imports_is_the_one_who_imports():
    files = {"a.py": "def go():\n    import b\n    b.run()", "b.py": "def run(): ..."}
    assert imports(files) == {("a.go", "b", True)}
    assert pairs(files, EdgeKind.CALLS) == {("a.go", "b.run", True)}


@pytest.mark.parametrize(
    ("files", "target"),
    [
        ({"src/pkg/__init__.py": "", "src/pkg/a.py": "", "tests/test_a.py": "import pkg.a"}, "pkg.a"),
        ({"libs/x/src/x/__init__.py": "", "libs/x/src/x/a.py": "", "main.py": "import x.a"}, "x.a"),
        (
            {"backend/app/__init__.py": "", "backend/app/m.py": "", "backend/run.py": "import app.m"},
            "backend.app.m",
        ),
        ({"tools/common.py": "", "tools/run.py": "import common"}, "tools.common"),
        (
            {
                "pkg/__init__.py": "",
                "pkg/sub/__init__.py": "",
                "pkg/sub/a.py": "from ... import x",
                "x.py": "",
            },
            None,
        ),
        (
            {
                "pkg/__init__.py": "",
                "pkg/b.py": "",
                "pkg/sub/__init__.py": "",
                "pkg/sub/a.py": "from .. import b",
            },
            "pkg.b",
        ),
        ({"ns/part/a.py": "", "main.py": "from ns.part import a"}, "ns.part.a"),
        ({"redis/script.py": "", "main.py": "import redis"}, None),
    ],
)
def test_imports_are_found_from_where_python_would_look(files, target):
    found = {one for one in imports(files) if one[2]}
    assert {one[1] for one in found} >= ({target} if target else set())
    if target is None:
        assert not found


def test_a_package_that_lies_elsewhere_does_not_hide_the_standard_library():
    files = {"vendor/json/__init__.py": "", "app/main.py": "import json"}
    assert imports(files) == {("app.main", "json", False)}


def test_classes_inherit_from_what_their_bases_stand_for():
    files = {
        "a.py": "import abc\nclass A(abc.ABC): ...\nclass G: ...",
        "b.py": "import a\nfrom a import A as Base\nAlias = a.G\nclass B(Base, Alias): ...\nclass C(B): ...",
        "c.py": "from typing import Generic\nfrom b import B\nclass D(B, Generic['T'], metaclass=type): ...",
    }
    assert pairs(files, EdgeKind.INHERITS) == {
        ("a.A", "abc.ABC", False),
        ("b.B", "a.A", True),
        ("b.B", "a.G", True),
        ("b.C", "b.B", True),
        ("c.D", "b.B", True),
        ("c.D", "typing.Generic", False),
    }


def test_calling_a_class_is_an_edge_to_it_and_to_its_constructor():
    files = {"a.py": "class A:\n    def __init__(self): ...\nA()"}
    assert pairs(files, EdgeKind.CALLS) == {("a", "a.A", True), ("a", "a.A.__init__", True)}


def test_what_lies_outside_has_the_name_that_the_world_knows():
    files = {"a.py": "import os\nfrom pathlib import Path as P\nos.path.join('a')\np = P('x')\np.read_text()"}
    assert pairs(files, EdgeKind.CALLS) == {
        ("a", "os.path.join", False),
        ("a", "pathlib.Path", False),
        ("a", "pathlib.Path.read_text", False),
    }


def test_a_file_that_could_not_be_parsed_is_still_imported():
    broken = ParsedFile(
        "b.py", "python", "b", "", (Symbol("b", "b", SymbolKind.MODULE, 1, 1),), problem="broken"
    )
    edges = link_python([parse_python("a.py", "import b"), broken])
    assert edges == [Edge("a.py", "a", "b", EdgeKind.IMPORTS, 1)]


def test_an_edge_stands_once_on_its_first_line():
    edges = link({"a.py": "def f(): ...\n\nf()\nf()"})
    assert edges == [Edge("a.py", "a", "a.f", EdgeKind.CALLS, 3)]


def test_a_function_that_calls_itself_with_ever_more_arguments_is_linked():
    files = {
        "a.py": "def f(*args):\n    f(1, *args)\n    f(*args, **dict(args))\n    f(list(args).items())\nf()"
    }
    assert ("a.f", "a.f", True) in pairs(files, EdgeKind.CALLS)


def test_a_dispatcher_that_may_call_anything_has_no_edges_to_all_of_it():
    functions = "\n".join(f"def f{number}(): ..." for number in range(100))
    files = {"a.py": f"{functions}\ndef run(f):\n    f()\n" + "\n".join(f"run(f{n})" for n in range(100))}
    assert not [one for one in link(files) if one.source == "a.run"]


PIECES = [
    "import {other}\n",
    "from {other} import f, C\n",
    "from {other} import *\n",
    "def f(x=None):\n    return g\n",
    "def g(*a, **k):\n    f(*a)\n    return C()\n",
    "class C:\n    def m(self):\n        self.x = f\n        return self.n()\n    def n(self): self.x()\n",
    "class D(C):\n    def n(self):\n        return super().n()\n",
    "d = {{'a': f, 'b': [g, C]}}\nd['b'][1]().m()\n",
    "@f\ndef h():\n    yield from g()\n",
    "for x in h():\n    x()\n",
    "f, g = g, f\n",
    "x = lambda y: y(x)\nx(x)\n",
    "while x := f():\n    x = x.next\n",
]
programs = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "p/__init__.py", "p/c.py"]),
    st.lists(st.sampled_from(PIECES), max_size=6),
    min_size=1,
)
others = st.sampled_from(["a", "b", "p", "p.c"])


@given(programs, others, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_edges_do_not_depend_on_the_order_of_files(program, other, chance: random.Random):
    files = [parse_python(path, "".join(pieces).format(other=other)) for path, pieces in program.items()]
    shuffled = files[:]
    chance.shuffle(shuffled)
    edges = link_python(files)
    assert link_python(shuffled) == edges
    assert all(one < two for one, two in pairwise((e.path, e.source, e.target, e.kind) for e in edges))


@given(programs, others)
@settings(deadline=None, max_examples=60)
def test_removing_a_file_leaves_the_imports_and_bases_of_others(program, other):
    """Calls may change: a file that is gone no longer passes its functions to others."""
    files = [parse_python(path, "".join(pieces).format(other=other)) for path, pieces in program.items()]
    gone = files[0].path
    kept = link_python(files[1:])
    still = {symbol.qualified for one in files[1:] for symbol in one.symbols}
    defined = {symbol.qualified for symbol in files[0].symbols} - still
    importing = {(one.path, one.source) for one in kept if one.kind is EdgeKind.IMPORTS}
    for edge in link_python(files):
        if edge.path != gone and edge.kind is EdgeKind.IMPORTS and edge.target in still:
            assert (edge.path, edge.source) in importing
    assert all(one.path != gone for one in kept)
    assert all(not one.internal or one.target not in defined for one in kept)


@given(programs, others)
@settings(deadline=None, max_examples=60)
def test_a_file_that_has_nothing_to_do_with_the_others_changes_none_of_their_edges(program, other):
    files = [parse_python(path, "".join(pieces).format(other=other)) for path, pieces in program.items()]
    alone = parse_python("alone.py", "def f(): ...\nclass C:\n    def m(self): f()\nC().m()")
    without = link_python(files)
    assert [one for one in link_python([*files, alone]) if one.path != "alone.py"] == without


@given(programs, others)
@settings(deadline=None, max_examples=30)
def test_the_edges_of_some_files_are_those_that_they_have_among_all(program, other):
    files = [parse_python(path, "".join(pieces).format(other=other)) for path, pieces in program.items()]
    some = {one.path for one in files[::2]}
    assert link_python(files, of=some) == [one for one in link_python(files) if one.path in some]


@pytest.mark.parametrize(
    "text",
    [
        "class K: ...\nk = K()\nK.__call__ = k\nk()",
        "class A: ...\nA.__init__ = A\nA()",
        "class A: ...\nclass B: ...\nA.__init__ = B()\nB.__call__ = A\nA()",
        "class A:\n    def __new__(cls): ...\nA.__new__ = A\nA()",
    ],
)
def test_what_leads_back_to_itself_when_it_is_called_comes_to_an_end(text):
    assert {one.source for one in link({"a.py": text})} == {"a"}


def test_modules_that_take_everything_of_each_other_come_to_an_end():
    every = "".join(f"from m{number} import *\n" for number in range(9))
    files = {f"m{number}.py": every for number in range(9)} | {"m8.py": "def last(): ...\n" + every}
    files["user.py"] = "from m0 import last, nothing"
    assert ("user", "m8.last", True) in imports(files)

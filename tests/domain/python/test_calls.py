"""Calls in small programs, one feature of Python each, as Python itself would make them."""

import json
import textwrap
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.code.code import EdgeKind, SymbolKind
from ragmem.domain.python.code import link_python, parse_python

Calls = set[tuple[str, str]]


def calls(files: dict[str, str]) -> Calls:
    """Return who calls what; that a class is called stands for its constructor, so it is left out."""
    # Facts are stored as JSON between parsing and linking.
    parsed = [parse_python(path, text) for path, text in files.items()]
    parsed = [replace(one, facts=json.loads(json.dumps(one.facts))) for one in parsed]
    classes = {
        symbol.qualified for one in parsed for symbol in one.symbols if symbol.kind is SymbolKind.CLASS
    }
    edges = link_python(parsed)
    return {
        (one.source, one.target) for one in edges if one.kind is EdgeKind.CALLS and one.target not in classes
    }


PROGRAMS: dict[str, tuple[dict[str, str], Calls]] = {
    "a decorated function is what the decorator returns": (
        {
            "main.py": """
def dec(f):
    def inner():
        f()
    return inner
@dec
def func():
    pass
func()
""",
        },
        {
            ("main", "main.dec"),
            ("main", "main.dec.inner"),
            ("main.dec.inner", "main.func"),
        },
    ),
    "a decorator may return the function itself": (
        {
            "main.py": """
def dec(f):
    return f
@dec
def func():
    pass
func()
""",
        },
        {
            ("main", "main.dec"),
            ("main", "main.func"),
        },
    ),
    "a decorator may be made by a call": (
        {
            "main.py": """
def maker(a):
    def dec(f):
        def inner():
            return f()
        return inner
    return dec
@maker(1)
def func():
    pass
func()
""",
        },
        {
            ("main", "main.maker"),
            ("main", "main.maker.dec"),
            ("main", "main.maker.dec.inner"),
            ("main.maker.dec.inner", "main.func"),
        },
    ),
    "decorators nest": (
        {
            "main.py": """
def d1(f):
    def inner1():
        f()
    return inner1
def d2(f):
    def inner2():
        f()
    return inner2
@d1
@d2
def func():
    pass
func()
""",
        },
        {
            ("main", "main.d1"),
            ("main", "main.d2"),
            ("main", "main.d1.inner1"),
            ("main.d1.inner1", "main.d2.inner2"),
            ("main.d2.inner2", "main.func"),
        },
    ),
    "methods can be decorated": (
        {
            "main.py": """
def dec(f):
    def inner(self):
        f(self)
    return inner
class A:
    @dec
    def m(self):
        pass
A().m()
""",
        },
        {
            ("main", "main.dec.inner"),
            ("main.A", "main.dec"),
            ("main.dec.inner", "main.A.m"),
        },
    ),
    "a decorator may be imported": (
        {
            "main.py": """
from lib import dec
@dec
def func():
    pass
func()
""",
            "lib.py": """
def dec(f):
    def inner(*a, **k):
        return f(*a, **k)
    return inner
""",
        },
        {
            ("main", "lib.dec"),
            ("main", "lib.dec.inner"),
            ("lib.dec.inner", "main.func"),
        },
    ),
    "a class may decorate": (
        {
            "main.py": """
class D:
    def __init__(self, f):
        self.f = f
    def __call__(self):
        return self.f()
@D
def func():
    pass
func()
""",
        },
        {
            ("main", "main.D.__init__"),
            ("main", "main.D.__call__"),
            ("main.D.__call__", "main.func"),
        },
    ),
    "a class can be decorated": (
        {
            "main.py": """
def dec(c):
    return c
@dec
class A:
    def __init__(self):
        pass
A()
""",
        },
        {
            ("main", "main.dec"),
            ("main", "main.A.__init__"),
        },
    ),
    "functools.wraps changes nothing": (
        {
            "main.py": """
import functools
def dec(f):
    @functools.wraps(f)
    def inner():
        f()
    return inner
@dec
def func():
    pass
func()
""",
        },
        {
            ("main", "main.dec"),
            ("main", "main.dec.inner"),
            ("main.dec", "functools.wraps"),
            ("main.dec.inner", "main.func"),
        },
    ),
    "a decorator may have another name": (
        {
            "main.py": """
def dec(f):
    def inner():
        f()
    return inner
d = dec
@d
def func():
    pass
func()
""",
        },
        {
            ("main", "main.dec"),
            ("main", "main.dec.inner"),
            ("main.dec.inner", "main.func"),
        },
    ),
    "a decorator may return a lambda": (
        {
            "main.py": """
def reg(f):
    return lambda: 1
@reg
def func():
    pass
func()
""",
        },
        {
            ("main", "main.reg"),
            ("main", "main.reg.<lambda1>"),
        },
    ),
    "a dict tells its entries apart": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": f, "b": g}
d["a"]()
""",
        },
        {
            ("main", "main.f"),
        },
    ),
    "entries are added": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": f}
d["b"] = g
d["a"]()
d["b"]()
""",
        },
        {
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "an entry may have had other values": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": f}
d["a"]()
d["a"] = g
d["a"]()
""",
        },
        {
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "dicts nest": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": {"x": f, "y": g}}
d["a"]["x"]()
""",
        },
        {
            ("main", "main.f"),
        },
    ),
    "a dict is passed on": (
        {
            "main.py": """
def f(): pass
def g(): pass
def call(d):
    d["a"]()
call({"a": f, "b": g})
""",
        },
        {
            ("main", "main.call"),
            ("main.call", "main.f"),
        },
    ),
    "a key is passed on": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": f, "b": g}
def call(key):
    d[key]()
call("a")
""",
        },
        {
            ("main", "main.call"),
            ("main.call", "main.f"),
        },
    ),
    "a dict is returned": (
        {
            "main.py": """
def f(): pass
def g(): pass
def make():
    return {"a": f, "b": g}
make()["a"]()
""",
        },
        {
            ("main", "main.make"),
            ("main", "main.f"),
        },
    ),
    "a key is returned": (
        {
            "main.py": """
def f(): pass
def g(): pass
def key():
    return "a"
d = {"a": f, "b": g}
d[key()]()
""",
        },
        {
            ("main", "main.key"),
            ("main", "main.f"),
        },
    ),
    "a key is imported": (
        {
            "main.py": """
from ext import key
def f(): pass
def g(): pass
d = {"a": f, "b": g}
d[key]()
""",
            "ext.py": """
key = "a"
""",
        },
        {
            ("main", "main.f"),
        },
    ),
    "keys have types": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {1: f, "1": g}
d[1]()
""",
        },
        {
            ("main", "main.f"),
        },
    ),
    "a text is no number": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {}
d["1"] = f
d[1] = g
d[1]()
""",
        },
        {
            ("main", "main.g"),
        },
    ),
    "a dict is updated with another": (
        {
            "main.py": """
def f(): pass
def g(): pass
def h(): pass
d = {"a": f, "c": h}
d.update({"b": g})
d["a"]()
d["b"]()
""",
        },
        {
            ("main", "builtins.dict.update"),
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "the values of a dict are iterated": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": f, "b": g}
for x in d.values():
    x()
""",
        },
        {
            ("main", "builtins.dict.values"),
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "the items of a dict are iterated": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": f, "b": g}
for k, v in d.items():
    v()
""",
        },
        {
            ("main", "builtins.dict.items"),
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "the keys of a dict are iterated": (
        {
            "main.py": """
def f(): pass
def g(): pass
def h(): pass
d = {"a": f, "b": g}
for k in d:
    d[k]()
""",
        },
        {
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "get is a subscript": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = {"a": f, "b": g}
d.get("a")()
""",
        },
        {
            ("main", "builtins.dict.get"),
            ("main", "main.f"),
        },
    ),
    "a key is a variable": (
        {
            "main.py": """
def f(): pass
def g(): pass
k = "b"
d = {"a": f, k: g}
d["b"]()
""",
        },
        {
            ("main", "main.g"),
        },
    ),
    "a dict comprehension has any key": (
        {
            "main.py": """
def f(): pass
d = {i: f for i in range(3)}
d[1]()
""",
        },
        {
            ("main", "main.f"),
            ("main", "builtins.range"),
        },
    ),
    "dict() has keywords for keys": (
        {
            "main.py": """
def f(): pass
def g(): pass
d = dict(a=f, b=g)
d["a"]()
""",
        },
        {
            ("main", "builtins.dict"),
            ("main", "main.f"),
        },
    ),
    "a dict takes in another": (
        {
            "main.py": """
def f(): pass
def g(): pass
base = {"a": f, "b": g}
d = {**base, "c": g}
d["a"]()
""",
        },
        {
            ("main", "main.f"),
        },
    ),
    "a generator gives what it yields": (
        {
            "main.py": """
def f(): pass
def g(): pass
def gen():
    yield f
    yield g
for x in gen():
    x()
""",
        },
        {
            ("main", "main.gen"),
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "iterating calls __iter__ and __next__": (
        {
            "main.py": """
def f(): pass
class It:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        return f
for x in It():
    x()
""",
        },
        {
            ("main", "main.It.__init__"),
            ("main", "main.It.__iter__"),
            ("main", "main.It.__next__"),
            ("main", "main.f"),
        },
    ),
    "who iterates is who calls": (
        {
            "main.py": """
def f(): pass
class It:
    def __init__(self): pass
    def __iter__(self): return self
    def __next__(self):
        return f
def run(it):
    for x in it:
        x()
run(It())
""",
        },
        {
            ("main", "main.run"),
            ("main", "main.It.__init__"),
            ("main.run", "main.It.__iter__"),
            ("main.run", "main.It.__next__"),
            ("main.run", "main.f"),
        },
    ),
    "a generator is kept in a variable": (
        {
            "main.py": """
def f(): pass
def gen():
    for i in range(3):
        yield f
g = gen()
for x in g:
    x()
""",
        },
        {
            ("main", "main.gen"),
            ("main", "main.f"),
            ("main.gen", "builtins.range"),
        },
    ),
    "next() takes one": (
        {
            "main.py": """
def f(): pass
def gen():
    yield f
next(gen())()
""",
        },
        {
            ("main", "main.gen"),
            ("main", "builtins.next"),
            ("main", "main.f"),
        },
    ),
    "a generator expression calls": (
        {
            "main.py": """
def f(): return 1
def g(x): pass
gen = (f() for i in range(2))
[g(a) for a in gen]
""",
        },
        {
            ("main", "main.f"),
            ("main", "builtins.range"),
            ("main", "main.g"),
        },
    ),
    "yield from hands on": (
        {
            "main.py": """
def f(): pass
def inner():
    yield f
def outer():
    yield from inner()
for x in outer():
    x()
""",
        },
        {
            ("main", "main.outer"),
            ("main", "main.f"),
            ("main.outer", "main.inner"),
        },
    ),
    "a method can be a generator": (
        {
            "main.py": """
def f(): pass
class A:
    def gen(self):
        yield f
for x in A().gen():
    x()
""",
        },
        {
            ("main", "main.A.gen"),
            ("main", "main.f"),
        },
    ),
    "__iter__ can be a generator": (
        {
            "main.py": """
def f(): pass
class A:
    def __iter__(self):
        yield f
for x in A():
    x()
""",
        },
        {
            ("main", "main.A.__iter__"),
            ("main", "main.f"),
        },
    ),
    "what is yielded is unpacked": (
        {
            "main.py": """
def f(): pass
def g(): pass
def gen():
    yield f, g
for a, b in gen():
    a()
    b()
""",
        },
        {
            ("main", "main.gen"),
            ("main", "main.f"),
            ("main", "main.g"),
        },
    ),
    "the first base comes first": (
        {
            "main.py": """
class A:
    def func(self): pass
class B:
    def func(self): pass
class C(B, A):
    pass
C().func()
""",
        },
        {
            ("main", "main.B.func"),
        },
    ),
    "a diamond is asked in C3 order": (
        {
            "main.py": """
class A:
    def func(self): pass
class B(A):
    pass
class C(A):
    def func(self): pass
class D(B, C):
    pass
D().func()
""",
        },
        {
            ("main", "main.C.func"),
        },
    ),
    "super() is the class above": (
        {
            "main.py": """
class A:
    def func(self): pass
class B(A):
    def func(self):
        super().func()
B().func()
""",
        },
        {
            ("main", "main.B.func"),
            ("main.B.func", "builtins.super"),
            ("main.B.func", "main.A.func"),
        },
    ),
    "a constructor is inherited": (
        {
            "main.py": """
class A:
    def __init__(self): pass
class B(A):
    pass
B()
""",
        },
        {
            ("main", "main.A.__init__"),
        },
    ),
    "self is who was called": (
        {
            "main.py": """
class A:
    def __init__(self): pass
    def run(self):
        self.step()
    def step(self): pass
class C(A):
    def __init__(self):
        super().__init__()
    def step(self): pass
C().run()
""",
        },
        {
            ("main", "main.C.__init__"),
            ("main", "main.A.run"),
            ("main.A.run", "main.C.step"),
            ("main.C.__init__", "builtins.super"),
            ("main.C.__init__", "main.A.__init__"),
        },
    ),
    "super() is the next in the order of the instance": (
        {
            "main.py": """
class A:
    def f(self):
        super().f()
class B:
    def f(self): pass
class C(A, B):
    def f(self):
        super().f()
C().f()
""",
        },
        {
            ("main", "main.C.f"),
            ("main.C.f", "builtins.super"),
            ("main.C.f", "main.A.f"),
            ("main.A.f", "builtins.super"),
            ("main.A.f", "main.B.f"),
        },
    ),
    "a base is named": (
        {
            "main.py": """
class A:
    def __init__(self): pass
class B(A):
    def __init__(self):
        A.__init__(self)
B()
""",
        },
        {
            ("main", "main.B.__init__"),
            ("main.B.__init__", "main.A.__init__"),
        },
    ),
    "each base gives what it has": (
        {
            "main.py": """
class Base:
    def func(self): pass
    def func2(self): pass
class A(Base):
    def func(self): pass
class B(Base):
    def func2(self): pass
class C(A, B): pass
c = C()
c.func()
c.func2()
""",
        },
        {
            ("main", "main.A.func"),
            ("main", "main.B.func2"),
        },
    ),
    "a base is imported": (
        {
            "main.py": """
import lib
class B(lib.A): pass
b = B()
b.f()
""",
            "lib.py": """
class A:
    def __init__(self): pass
    def f(self): pass
""",
        },
        {
            ("main", "lib.A.__init__"),
            ("main", "lib.A.f"),
        },
    ),
    "what a base stores is there": (
        {
            "main.py": """
def f(): pass
class A:
    attr = f
class B(A):
    def __init__(self):
        self.cb = f
class C(B):
    def func(self):
        self.cb()
C().func()
""",
        },
        {
            ("main", "main.B.__init__"),
            ("main", "main.C.func"),
            ("main.C.func", "main.f"),
        },
    ),
    "arguments are collected": (
        {
            "main.py": """
def f(): pass
def g(): pass
def run(*args, **kw):
    args[0]()
    kw["x"]()
run(f, x=g)
""",
        },
        {
            ("main", "main.run"),
            ("main.run", "main.f"),
            ("main.run", "main.g"),
        },
    ),
    "arguments are spread": (
        {
            "main.py": """
def f(): pass
def g(): pass
def run(a, b):
    a()
    b()
run(*[f], **{"b": g})
""",
        },
        {
            ("main", "main.run"),
            ("main.run", "main.f"),
            ("main.run", "main.g"),
        },
    ),
    "a property is called where it is read": (
        {
            "main.py": """
def f(): pass
class A:
    @property
    def p(self):
        return f
A().p()
""",
        },
        {
            ("main", "main.A.p"),
            ("main", "main.f"),
        },
    ),
    "a class method makes an instance": (
        {
            "main.py": """
class A:
    @classmethod
    def make(cls):
        return cls()
    def go(self): pass
A.make().go()
""",
        },
        {
            ("main", "main.A.make"),
            ("main", "main.A.go"),
        },
    ),
    "a context is entered and left": (
        {
            "main.py": """
class A:
    def __enter__(self): return self
    def __exit__(self, *a): pass
    def go(self): pass
with A() as a:
    a.go()
""",
        },
        {
            ("main", "main.A.__enter__"),
            ("main", "main.A.__exit__"),
            ("main", "main.A.go"),
        },
    ),
    "a closure keeps what it was given": (
        {
            "main.py": """
def f(): pass
def outer(x):
    def inner():
        x()
    return inner
outer(f)()
""",
        },
        {
            ("main", "main.outer"),
            ("main", "main.outer.inner"),
            ("main.outer.inner", "main.f"),
        },
    ),
    "a partial function is called with what it holds": (
        {
            "main.py": """
from functools import partial
def g(): pass
def f(a): a()
partial(f, g)()
""",
        },
        {
            ("main", "functools.partial"),
            ("main", "main.f"),
            ("main.f", "main.g"),
        },
    ),
    "an annotation tells the class": (
        {
            "main.py": """
class A:
    def go(self): pass
def run(a: "A | None"):
    a.go()
""",
        },
        {
            ("main.run", "main.A.go"),
        },
    ),
    "the fields of a dataclass come from its call": (
        {
            "main.py": """
from dataclasses import dataclass
class A:
    def go(self): pass
@dataclass
class B:
    a: A
    def go(self):
        self.a.go()
B(A()).go()
""",
        },
        {
            ("main", "main.B.go"),
            ("main", "dataclasses.dataclass"),
            ("main.B.go", "main.A.go"),
        },
    ),
    "getattr() with a text is an attribute": (
        {
            "main.py": """
class A:
    def go(self): pass
getattr(A(), "go")()
""",
        },
        {
            ("main", "builtins.getattr"),
            ("main", "main.A.go"),
        },
    ),
}


@pytest.mark.parametrize("feature", PROGRAMS)
def test_calls_go_where_python_goes(feature):
    files, expected = PROGRAMS[feature]
    assert calls(files) == expected


OLD_AND_NEW = """
def old(): pass
def new(): pass
"""

OVERWRITTEN = {
    "an entry of a dict": """
d = {"a": old}
d["a"] = new
d["a"]()
""",
    "an entry of a dict with an annotation, twice": """
d: dict = {"a": old, "b": None}
d["a"] = old
d["a"] = new
d["a"]()
""",
    "an entry in the dict itself": """
d = {"a": old, "a": new}
d["a"]()
""",
    "an entry among others that are read": """
d = {"a": old, "b": new}
d["b"]()
d["a"] = new
d["a"]()
""",
    "an element of a list": """
d = [old, new]
d[0] = new
d[0]()
""",
    "an element of a list from its end": """
d = [new, old]
d[-1] = new
d[1]()
""",
    "by update() with a dict": """
d = {"a": old}
d.update({"a": new})
d["a"]()
""",
    "by update() with a name": """
d = {"a": old}
d.update(a=new)
d["a"]()
""",
    "by an operator": """
d = {"a": old}
d |= {"a": new}
d["a"]()
""",
    "by del": """
d = {"a": old, "b": new}
del d["a"]
d["b"]()
for key in d: d[key]()
""",
    "by pop()": """
d = {"a": old, "b": new}
d.pop("a")
for one in d.values(): one()
""",
    "by clear()": """
d = {"a": old}
d.clear()
d["a"] = new
d["a"]()
""",
    "within a function": """
def f():
    d = {"a": old}
    d["a"] = new
    d["a"]()
f()
""",
    "within one branch": """
if __name__:
    d = {"a": old}
    d["a"] = new
    d["a"]()
""",
}

KEPT = {
    "in one branch": """
d = {"a": old}
if __name__:
    d["a"] = new
d["a"]()
""",
    "in the other branch": """
d = {"a": new}
if __name__:
    d = {"a": old}
else:
    d["a"] = new
d["a"]()
""",
    "in a loop": """
d = {"a": old}
for one in range(3):
    d["a"]()
    d["a"] = new
""",
    "by a loop": """
d = {"a": old}
for d["a"] in [new]: pass
d["a"]()
""",
    "where an exception may come between": """
try:
    d = {"a": old}
    new()
    d["a"] = new
except ValueError:
    pass
d["a"]()
""",
    "where a context may end the block": """
import contextlib
with contextlib.suppress(ValueError):
    d = {"a": old}
    new()
    d["a"] = new
d["a"]()
""",
    "when the container has a second name": """
d = {"a": old}
e = d
d["a"] = new
e["a"]()
""",
    "when another variable was given the container too": """
c = d = {"a": old}
x = c["a"]
d["a"] = new
x()
d["a"]()
""",
    "when the old value was read": """
d = {"a": old}
x = d["a"]
d["a"] = new
x()
d["a"]()
""",
    "when the new value is made of the old one": """
def both(one):
    one()
    return new
d = {"a": old}
d["a"] = both(d["a"])
d["a"]()
""",
    "when what is new is taken from the container": """
d = {"a": old}
d.update({"a": new, "b": d["a"]})
d["a"]()
d["b"]()
""",
    "when pop() gives it to somebody": """
d = {"a": old}
d.pop("a")()
new()
""",
    "by a key that is not known": """
d = {"a": old}
d[input()] = new
d["a"]()
""",
    "when a function reads it in between": """
d = {"a": old}
def read():
    d["a"]()
read()
d["a"] = new
read()
""",
    "when a function of the class reads it in between": """
class C:
    d = {"a": old}
    x = d["a"]
    d["a"] = new
C.x()
C.d["a"]()
""",
    "when a lambda reads it in between": """
d = {"a": old}
(lambda: d["a"]())()
d["a"] = new
d["a"]()
""",
    "when a generator reads it in between": """
d = {"a": old}
for one in (d["a"] for _ in range(3)): one()
d["a"] = new
d["a"]()
""",
    "when positions have moved": """
d = [new, old]
del d[0]
d[1:] = [new]
d[0]()
d[1]()
""",
    "when a list was added to": """
d = {"a": [old]}
d["a"] += [new]
d["a"][0]()
d["a"][1]()
""",
    "by a part of an expression that may not run": """
d = {"a": old}
input() and d.update({"a": new})
d["a"]()
""",
    "after a break": """
while True:
    d = {"a": old}
    if input(): break
    d["a"] = new
d["a"]()
""",
}


def targets(program):
    return {target for _, target in calls({"main.py": OLD_AND_NEW + program})} & {"main.old", "main.new"}


@pytest.mark.parametrize("how", OVERWRITTEN)
def test_an_entry_that_is_certainly_overwritten_is_not_called(how):
    assert targets(OVERWRITTEN[how]) == {"main.new"}


@pytest.mark.parametrize("how", KEPT)
def test_an_entry_that_may_have_been_read_is_called_beside_the_new_one(how):
    assert targets(KEPT[how]) == {"main.old", "main.new"}


STATEMENTS = """
d = {"a": f0, "b": f1}
d = {"a": f2}
e = d
d["a"] = f3
d["b"] = f4
d["a"] = d["b"]
e["a"] = f5
d["a"]()
d.update({"a": f6})
d |= {"a": f7, "b": d["a"]}
d.pop("a")
d.clear()
del d["a"]
read()
fail()
if yes(): break
""".strip().splitlines()

TAIL = ["try: d['a']()", "except Exception: pass", "try: e['b']()", "except Exception: pass"]

BLOCKS = ["if yes():", "while yes():", "for d['a'] in [f1, f2]:", "try:", "with suppress(Exception):"]


def programs():
    lines = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6).map("\n".join)
    bodies = st.recursive(
        lines,
        lambda inner: st.tuples(lines, st.sampled_from(BLOCKS), inner, lines).map(
            lambda parts: "\n".join(
                [
                    parts[0],
                    parts[1],
                    textwrap.indent(parts[2], "    "),
                    *(["except Exception: pass"] if parts[1] == "try:" else []),
                    parts[3],
                ]
            )
        ),
        max_leaves=4,
    )
    return st.tuples(bodies, st.booleans(), st.booleans(), st.lists(st.booleans(), max_size=8))


@given(programs())
def test_what_a_program_calls_when_it_runs_is_among_its_calls(program):
    body, within, reads, answers = program
    called, answer = set(), iter(answers)
    functions = [f"def f{number}(): pass" for number in range(10)]
    reader = ["def read():", "    d['a']()"] if reads else ["def read(): pass"]
    # A break needs a loop around it.
    body = "\n".join(["while True:", textwrap.indent(body, "    "), "    break", *TAIL])
    body = textwrap.indent(body, "    ")
    frame = ["def main():", *([textwrap.indent("\n".join(reader), "    ")] if within else []), body, "main()"]
    text = "\n".join([*functions, *(frame if within else [*reader, textwrap.dedent(body)])])
    names = {
        "yes": lambda: next(answer, False),
        "fail": lambda: next(answer, True) and 1 / 0,
        "suppress": suppress,
        "note": called.add,
    }
    running = text
    for number in range(10):
        running = running.replace(f"def f{number}(): pass", f"def f{number}(): note('main.f{number}')")
    with suppress(Exception):
        exec(running, names)
    assert called <= {target for _, target in calls({"main.py": text})}

"""A class of `ragmem.frozen` does what one of `dataclasses` does."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem import frozen


def classes(dataclass):
    @dataclass(frozen=True, slots=True)
    class Point:
        """A class with every sort of field."""

        x: int
        y: float = 0.5
        tags: list[str] = field(default_factory=list, compare=False)
        note: str = field(default="", repr=False)
        total: float = field(init=False)
        kept: int = field(default=3, init=False)
        seen: list[int] = field(default_factory=list, init=False, compare=False)

        def __post_init__(self):
            object.__setattr__(self, "total", self.x + self.y)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        """A class whose fields are named, with a method of its own."""

        first: int = 1
        second: tuple[int, ...] = ()

        def __repr__(self):
            return "named"

    @dataclass(frozen=True, slots=True)
    class Empty:
        """A class without fields."""

    return Point, Named, Empty


OURS, THEIRS = classes(frozen.dataclass), classes(dataclasses.dataclass)


@frozen.dataclass(frozen=True, slots=True)
class Pair:
    """A class that pickle can import."""

    left: int
    right: str = ""


@given(st.tuples(st.integers(-2, 2), st.floats(-1, 1)), st.tuples(st.integers(-2, 2), st.floats(-1, 1)))
def test_it_compares_hashes_and_shows_itself_like_one_of_dataclasses(one, other):
    ours, theirs = OURS[0](*one, note="n"), THEIRS[0](*one, note="n")
    assert repr(ours) == repr(theirs)
    assert hash(ours) == hash(theirs)
    assert asdict(ours) == asdict(theirs)
    assert (ours == OURS[0](*other)) == (theirs == THEIRS[0](*other))
    assert asdict(replace(ours, x=7)) == asdict(replace(theirs, x=7))
    assert ours != theirs
    assert copy.copy(ours) == copy.deepcopy(ours) == ours


def test_its_fields_are_given_as_to_one_of_dataclasses():
    for ours, theirs in zip(OURS, THEIRS, strict=True):
        assert [(one.name, one.init) for one in fields(ours)] == [
            (one.name, one.init) for one in fields(theirs)
        ]
        assert ours.__match_args__ == theirs.__match_args__
        assert ours.__slots__ == theirs.__slots__
    for point, named, empty in (OURS, THEIRS):
        assert point(1).tags is not point(1).tags
        assert repr(named(second=(2,))) == "named"
        assert empty() == empty()
    for point, named, empty in (OURS, THEIRS):
        for made, values, named_values in (
            (point, (), {}),
            (point, (1,), {"total": 2}),
            (named, (1,), {}),
            (empty, (1,), {}),
        ):
            with pytest.raises(TypeError):
                made(*values, **named_values)


def test_the_first_objects_of_a_class_are_made_like_the_later_ones():
    (point, named, _), (their_point, their_named, _) = (
        classes(frozen.dataclass),
        classes(dataclasses.dataclass),
    )

    for number in range(frozen.FEW + 2):
        one, other = point(number, tags=["a"]), their_point(number, tags=["a"])
        assert asdict(one) == asdict(other)
        assert one.tags is not point(number).tags
        assert asdict(named(second=(number,))) == asdict(their_named(second=(number,)))
        for values, named_values in (
            ((), {}),
            ((1,), {"total": 2}),
            ((1,), {"x": 2}),
            ((1, 2, 3, "", 4), {}),
        ):
            with pytest.raises(TypeError):
                point(*values, **named_values)


def test_few_objects_of_a_class_compile_nothing(monkeypatch):
    compiled = []
    monkeypatch.setitem(frozen._SOURCES, "__init__", lambda *given: compiled.append(given))
    point, _, empty = classes(frozen.dataclass)

    for _ in range(frozen.FEW):
        point(1)
        empty()

    assert compiled == []


def test_it_cannot_be_changed():
    for point, *_ in (OURS, THEIRS):
        one = point(1)
        with pytest.raises(FrozenInstanceError):
            one.x = 2
        with pytest.raises(FrozenInstanceError):
            del one.x
        assert one.x == 1


def test_it_goes_through_pickle():
    pair = Pair(1, "a")
    assert pickle.loads(pickle.dumps(pair)) == pair


@pytest.mark.parametrize("options", [{"frozen": False, "slots": True}, {"frozen": True, "slots": False}])
def test_another_sort_of_class_is_refused(options):
    with pytest.raises(ValueError, match=r"dataclasses\.dataclass"):
        frozen.dataclass(**options)

"""Which sessions belong together, and how probably their work goes on."""

from collections import Counter

import pytest

from ragmem.domain.sessions.workstreams import (
    SessionWork,
    activity,
    touch_probabilities,
    workstreams,
)


def work(*files, branch=""):
    return SessionWork([], Counter(files), branch)


def groups(sessions, **more):
    return [[sessions.index(one) for one in stream.sessions] for stream in workstreams(sessions, **more)]


def test_sessions_of_the_same_files_belong_together():
    sessions = [work("a.py", "b.py"), work("c.py"), work("b.py", "d.py")]
    assert groups(sessions) == [[0, 2], [1]]


def test_a_file_that_most_sessions_change_joins_nothing():
    sessions = [work("README.md", f"{number}.py") for number in range(12)]
    assert groups(sessions) == [[number] for number in range(12)]


def test_a_branch_joins_its_sessions_and_a_trunk_does_not():
    sessions = [work("a.py", branch="tide"), work("b.py", branch="tide")]
    assert groups(sessions) == [[0, 1]]
    assert groups(sessions, trunks={"tide"}) == [[0], [1]]
    assert groups([work("a.py", branch="main"), work("b.py", branch="main")]) == [[0], [1]]


def test_what_is_apart_is_joined_with_its_branch_only():
    sessions = [work("a.py", branch="wip"), work("a.py", branch="main"), work("b.py", branch="wip")]
    assert groups(sessions) == [[0, 1, 2]]
    assert groups(sessions, apart={"wip"}) == [[0, 2], [1]]


def test_late_sessions_and_many_say_most_about_what_is_touched_next():
    probable = touch_probabilities([work("late.py"), work("often.py"), work("often.py"), work("early.py")])
    assert probable["often.py"] > probable["late.py"] > probable["early.py"] > 0
    assert activity([], probable) == 0
    assert probable["late.py"] < activity(["late.py", "early.py"], probable) < 1
    assert touch_probabilities([work("a.py")])["a.py"] == pytest.approx(1 / 3)

"""An open memory that tools are called on, as a process that serves agents holds one."""

import pytest
from tool_homes import opened

from ragmem.mcp.dispatch import call as calling


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path) as memory:
        yield memory


@pytest.fixture
def call(memory):
    """Return a function that calls a tool as the session s-1 and raises where the tool says error."""

    def said(name, /, *, session="s-1", agent="", cwd=None, **arguments):
        result = calling(memory, name, arguments, session=session, agent=agent, cwd=cwd)
        assert not result.is_error, result.text
        return result

    return said


@pytest.fixture
def refused(memory):
    """Return a function that calls a tool which says error, and returns what it says."""

    def said(name, /, **arguments):
        result = calling(memory, name, arguments)
        assert result.is_error
        return result.text

    return said

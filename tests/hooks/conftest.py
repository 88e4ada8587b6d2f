"""The hooks of a home."""

import pytest
from hook_calls import Hooks


@pytest.fixture
def hooks(tmp_path):
    """Return the hooks of a home in which nothing is started: a drain seems to run."""
    found = Hooks(tmp_path)
    with found.hold_drain():
        yield found

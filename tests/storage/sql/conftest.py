"""Databases that take the steps of the schema themselves; those of other tests are copies of one that has."""

import new_databases
import pytest

from ragmem.storage.home.catalog import Catalog


@pytest.fixture(autouse=True)
def _own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each database of these tests take the steps of its schema itself."""
    monkeypatch.setattr(Catalog, "prepare", new_databases.take_all_steps)

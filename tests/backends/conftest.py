"""A new home on SQLite, and LightRAG's store in it."""

import pytest

from ragmem.backends import fake, lightrag
from ragmem.catalog.sqlite import SQLiteDatabase


@pytest.fixture
def database(tmp_path):
    database = SQLiteDatabase(tmp_path / "home")
    yield database
    database.close()


@pytest.fixture
def store(database):
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store._create()
    yield store
    store.close()

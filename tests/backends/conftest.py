"""A new home on SQLite, LightRAG's store in it, and tiny models on MLX."""

import json
import shutil

import pytest

from ragmem.backends import fake, lightrag, mlx
from ragmem.storage.sql.sqlite import SQLiteDatabase


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


@pytest.fixture
def open_tiny(tiny_models):
    """Return a function that opens a tiny model's embedder and closes it after the test."""
    opened = []

    def open_one(model="embedding", **options):
        folder = getattr(tiny_models, model) if isinstance(model, str) else model
        models = mlx.open_models({"model": str(folder), **options})
        opened.append(models)
        return models.embedder

    yield open_one
    for models in opened:
        models.close()


@pytest.fixture
def copy_tiny(tiny_models, tmp_path):
    """Return a function that copies a tiny model, changes its configuration, and returns the folder."""

    def copy(model="embedding", *, name="copy", file="config.json", **changes):
        folder = tmp_path / name
        if not folder.exists():
            shutil.copytree(getattr(tiny_models, model), folder)
        path = folder / file
        content = json.loads(path.read_text()) if path.exists() else {}
        content = {key: value for key, value in {**content, **changes}.items() if value is not None}
        path.write_text(json.dumps(content))
        return folder

    return copy

"""A memory with a scripted language model, whose memories are all connected with each other."""

import pytest

from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeModels
from ragmem.domain.model.lifecycle import Connection


@pytest.fixture
def open_with_model(tmp_path):
    """Return a function that opens a memory with a language model, and settings as variables."""
    memories = []

    def open_memory(model, **variables):
        environ = {
            "RAGMEM_HOME": str(tmp_path / "ragmem"),
            "RAGMEM_MODELS_BACKEND": "fake",
            "RAGMEM_STORE_BACKEND": "fake",
            **variables,
        }
        plain = Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path)
        memories.append(Ragmem(plain.settings, home=tmp_path, cwd=tmp_path, models=FakeModels(model)))
        return memories[-1]

    yield open_memory
    for memory in memories:
        memory.close()


@pytest.fixture
def connect_all(monkeypatch):
    """Return a function that connects memories with each other, whatever their texts say."""

    def connect(memory, ids):
        ids = sorted(ids)
        links = [Connection(one, other, 0.8, 0.8, 0.8) for one in ids for other in ids if one < other]
        monkeypatch.setattr("ragmem.services.lifecycle.plan._connect_memories", lambda *_, **__: ({}, ""))
        monkeypatch.setattr(memory.catalog.connections, "of", lambda *_: links)

    return connect

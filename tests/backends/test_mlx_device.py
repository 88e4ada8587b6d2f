"""The device that MLX models share: who is in memory, whose turn it is, and what a full one says."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest
from vectors import documents

from ragmem.backends.mlx import device
from ragmem.backends.mlx.numerics import unit
from ragmem.errors import BackendError

if find_spec("mlx") is None or find_spec("mlx_lm") is None:
    pytest.skip("mlx and mlx-lm are not installed", allow_module_level=True)


def wait_until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_idle_model_is_freed_and_the_next_text_loads_it_again(open_tiny):
    embedder = open_tiny(idle_s=0.1)
    before = documents(embedder)
    assert embedder.loaded
    wait_until(lambda: not embedder.loaded)
    assert np.array_equal(documents(embedder), before)


def test_a_model_in_use_is_not_idle(open_tiny):
    embedder = open_tiny(idle_s=1)
    for _ in range(12):
        documents(embedder, ["x"])
        time.sleep(0.1)
        assert embedder.loaded


def test_a_question_comes_between_the_batches_of_a_long_seeding(open_tiny, monkeypatch):
    embedder = open_tiny(batch_tokens=1)
    documents(embedder)
    answered = threading.Event()

    def take_time(mx, vectors):
        answered.wait(0.03)
        return unit(mx, vectors)

    monkeypatch.setattr("ragmem.backends.mlx.embedder.unit", take_time)
    with ThreadPoolExecutor(1) as pool:
        seeding = pool.submit(documents, embedder, ["a disk"] * 100)
        try:
            embedder.embed(["where is bread"], role="query")
            assert not seeding.done()
        finally:
            answered.set()


def test_a_process_does_not_wait_for_a_model_to_become_idle(tiny_models):
    code = (
        "from ragmem.backends.mlx import open_models\n"
        f"models = open_models({{'model': {str(tiny_models.embedding)!r}, 'idle_s': 3600}})\n"
        "models.embedder.embed(['x'], role='query')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert result.stderr == ""


def test_a_model_that_cannot_fit_is_refused_before_it_is_loaded(open_tiny):
    embedder = open_tiny(memory_limit_mb=0.1)
    with pytest.raises(BackendError, match="the limit is 0 MB") as caught:
        documents(embedder)
    assert "memory_limit_mb" in caught.value.hint
    assert not embedder.loaded


def test_a_model_makes_room_for_the_next_one_where_both_do_not_fit(open_tiny):
    first = open_tiny()
    expected = documents(first)
    documents(open_tiny("bert", memory_limit_mb=0.6))
    assert not first.loaded
    assert np.array_equal(documents(first), expected)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[metal::malloc] Attempting to allocate 99 bytes which is too much."),
        RuntimeError("cudaMallocAsync failed: out of memory"),
    ],
    ids=str,
)
def test_a_full_device_is_a_backend_error_and_frees_the_model(error, open_tiny, monkeypatch):
    embedder = open_tiny()
    before = documents(embedder)

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("ragmem.backends.mlx.embedder.unit", fail)
        with pytest.raises(BackendError, match="out of memory") as caught:
            documents(embedder)
    assert "batch_tokens" in caught.value.hint
    assert not embedder.loaded
    assert np.array_equal(documents(embedder), before)


def test_memory_comes_back_when_a_model_is_closed(open_tiny):
    mx = device.import_mlx()
    before = mx.get_active_memory()
    embedder = open_tiny()
    documents(embedder)
    assert mx.get_active_memory() >= before + 400_000
    embedder.close()
    assert mx.get_active_memory() < before + 100_000

"""The device that MLX models share: who is in memory, whose turn it is, and what a full one says."""

import gc
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest
from vectors import documents

from ragmem.backends import mlx
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
    assert embedder.is_loaded
    wait_until(lambda: not embedder.is_loaded)
    assert np.array_equal(documents(embedder), before)


def test_a_model_in_use_is_not_idle(open_tiny):
    embedder = open_tiny(idle_s=1)
    for _ in range(12):
        documents(embedder, ["x"])
        time.sleep(0.1)
        assert embedder.is_loaded


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


def test_a_process_ends_in_order_while_a_model_is_not_idle_and_another_thread_computes(tiny_models):
    code = """
import os, sys, threading, time
from ragmem.backends.mlx import device, open_models
from ragmem.errors import BackendError

models = open_models({"model": sys.argv[1], "idle_s": 1e12})
models.embedder.embed(["x"], role="query")
child = os.fork()
if child == 0:
    try:
        models.embedder.embed(["x"], role="query")
    except BackendError as error:
        os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
began = threading.Event()

def compute():
    import mlx.core as mx
    began.set()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        mx.eval(mx.ones((9, 9)) @ mx.ones((9, 9)))
    print("computed")

threading.Thread(target=device.run, args=(compute,), daemon=True).start()
began.wait()
"""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tiny_models.embedding)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "7\ncomputed\n", "")


@pytest.mark.parametrize(
    ("groups", "files", "limits"),
    [
        ("0::/\n", {"memory.max": "4000\n"}, [4000]),
        ("0::/user/app\n", {"user/memory.max": "300", "user/app/memory.max": "max"}, [300]),
        ("7:cpu:/x\n4:memory:/docker/1\n0::/\n", {"memory/memory.limit_in_bytes": "55"}, [55]),
        ("0::/\n", {}, []),
    ],
    ids=["container", "service", "older kernel", "none"],
)
def test_the_memory_that_a_container_or_service_may_use_is_read(groups, files, limits, tmp_path, monkeypatch):
    (tmp_path / "cgroup").write_text(groups)
    for name, content in files.items():
        path = tmp_path / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.setattr(device, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(device, "GROUP_ROOT", tmp_path / "fs")
    assert device.read_group_limits() == limits
    mx = device.import_mlx()
    if limits and device.on_processor(mx):
        assert device.default_limit(mx) == int(limits[0] * device.SHARE_OF_MEMORY)


def test_what_mlx_refuses_is_a_backend_error_and_the_device_goes_on(open_tiny, monkeypatch):
    embedder = open_tiny()
    before = documents(embedder)

    def fail(mx, vectors):
        return mx.reshape(vectors, (7, 7, 7))

    with monkeypatch.context() as patch:
        patch.setattr("ragmem.backends.mlx.embedder.unit", fail)
        with pytest.raises(BackendError, match="cannot embed") as caught:
            documents(embedder)
    assert caught.value.hint
    assert np.array_equal(documents(embedder), before)


def test_two_models_work_and_are_closed_at_once(open_tiny):
    one, other = open_tiny(idle_s=0.001), open_tiny("bert", idle_s=0.002)
    expected = [documents(one), documents(other)]

    def embed(number):
        return all(np.array_equal(documents((one, other)[number]), expected[number]) for _ in range(10))

    def close(number):
        for _ in range(10):
            (one, other)[number].close()
            time.sleep(0.003)
        return True

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(work, number) for work in (embed, close) for number in (0, 1)]
        assert all(each.result(30) for each in done)


def test_a_model_that_cannot_fit_is_refused_before_it_is_loaded(open_tiny):
    embedder = open_tiny(memory_limit_mb=0.1)
    with pytest.raises(BackendError, match="the limit is 0 MB") as caught:
        documents(embedder)
    assert "memory_limit_mb" in caught.value.hint
    assert not embedder.is_loaded


def test_a_model_makes_room_for_the_next_one_where_both_do_not_fit(open_tiny):
    first = open_tiny()
    expected = documents(first)
    documents(open_tiny("bert", memory_limit_mb=0.6))
    assert not first.is_loaded
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
    assert not embedder.is_loaded
    assert np.array_equal(documents(embedder), before)


def test_the_bundled_model_is_freed_when_it_is_idle_or_closed(monkeypatch):
    mx = device.import_mlx()
    gc.collect()  # errors of earlier tests hold models
    before = mx.get_active_memory()
    monkeypatch.setattr("ragmem.backends.mlx.minilm.IDLE_S", 0.3)
    models = mlx.open_models({})
    expected = documents(models.embedder, ["x"])
    assert mx.get_active_memory() > before + 20_000_000
    wait_until(lambda: mx.get_active_memory() < before + 1_000_000)
    monkeypatch.setattr("ragmem.backends.mlx.minilm.IDLE_S", 300)
    models.close()
    assert np.array_equal(documents(models.embedder, ["x"]), expected)
    assert mx.get_active_memory() > before + 20_000_000
    models.close()
    assert mx.get_active_memory() < before + 1_000_000


def test_memory_comes_back_when_a_model_is_closed(open_tiny):
    mx = device.import_mlx()
    gc.collect()  # errors of earlier tests hold models
    before = mx.get_active_memory()
    embedder = open_tiny()
    documents(embedder)
    assert mx.get_active_memory() >= before + 400_000
    embedder.close()
    assert mx.get_active_memory() < before + 100_000

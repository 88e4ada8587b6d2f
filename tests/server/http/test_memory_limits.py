"""The memory of a server's process is bounded: its heap by parts."""

import subprocess
import sys

import pytest

from ragmem.server.uvicorn_server import ARENAS, _is_glibc, bound_heap

PARTS = """
import ctypes, re, sys, threading
from ragmem.server.uvicorn_server import bound_heap
assert bound_heap() == (sys.argv[1] == "bound"), "refused"
held, together = [], threading.Barrier(24)
def fill():
    together.wait()
    held.append([b"x" * 1000 for _ in range(1000)])
    together.wait()
threads = [threading.Thread(target=fill) for _ in range(24)]
for one in threads: one.start()
for one in threads: one.join()
system = ctypes.CDLL(None)
system.fopen.restype = ctypes.c_void_p
file = system.fopen(sys.argv[2].encode(), b"w")
system.malloc_info(0, ctypes.c_void_p(file))
system.fclose(ctypes.c_void_p(file))
print(len(re.findall("<heap nr=", open(sys.argv[2]).read())))
"""


@pytest.mark.skipif(not _is_glibc(), reason="another C library has no such parts")
def test_threads_share_the_parts_of_the_heap_unless_a_person_chose(tmp_path):
    def parts(wanted, **environ):
        run = subprocess.run(
            [sys.executable, "-c", PARTS, wanted, str(tmp_path / "parts.xml")],
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return int(run.stdout)

    assert parts("bound") <= ARENAS
    assert parts("chosen", MALLOC_ARENA_MAX="5") > ARENAS


def test_another_c_library_is_left_alone(monkeypatch):
    def unknown(name):
        raise ValueError(f"no such name: {name}")

    monkeypatch.setattr("os.confstr", unknown)
    assert not bound_heap()

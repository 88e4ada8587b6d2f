"""What a hook pays for the client before it has asked anything, and how it finds the folder of the socket."""

import os
import subprocess
import sys

from ragmem.client import runtime

MODULES = "import sys; before = set(sys.modules); import ragmem.client; print(*(set(sys.modules) - before))"


def test_the_client_needs_next_to_nothing():
    run = subprocess.run([sys.executable, "-c", MODULES], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()

    assert len([name for name in loaded if not name.startswith("_")]) <= 12, loaded
    assert not {"json", "re", "socket", "subprocess", "pathlib", "typing", "hashlib"}.intersection(loaded)


def test_a_folder_that_an_ending_process_removes_is_made_anew(tmp_path, monkeypatch):
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    mkdir = os.mkdir

    def mkdir_before_the_other_ends(path, mode):
        try:
            mkdir(path, mode)
        except FileExistsError:
            folder.rmdir()
            raise

    monkeypatch.setattr(os, "mkdir", mkdir_before_the_other_ends)
    runtime.make_private(str(folder))

    assert runtime.is_private(str(folder))

"""What a hook pays for the client before it has asked anything."""

import subprocess
import sys

MODULES = "import sys; before = set(sys.modules); import ragmem.client; print(*(set(sys.modules) - before))"


def test_the_client_needs_next_to_nothing():
    run = subprocess.run([sys.executable, "-c", MODULES], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()

    assert len([name for name in loaded if not name.startswith("_")]) <= 12, loaded
    assert not {"json", "re", "socket", "subprocess", "pathlib", "typing", "hashlib"}.intersection(loaded)

"""What every test stands on: a home of its own, so that none can reach the person's."""

import os
import subprocess
import sys

import pytest

# Variables of the person or of CI that would change what a command writes, or when.
CHANGING = {"NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED", "COLUMNS"}


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory):
    # Neither tmp_path nor monkeypatch: Hypothesis refuses tests that use fixtures of their scope.
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("RAGMEM_", "XDG_")) or name in CHANGING:
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("RAGMEM_HOME", str(home / "ragmem"))
        yield


@pytest.fixture
def ragmem():
    """Return a function that runs `ragmem` in a new process, on the fake backends and the test's own home."""

    def run(*arguments, stdin="", timeout=60, **environ):
        return subprocess.run(
            [sys.executable, "-m", "ragmem", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake", **environ},
        )

    return run

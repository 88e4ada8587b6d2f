"""No library that ragmem loads leaves traces of the person outside of ragmem's home, or calls out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EMBED = """
import sys
from ragmem.backends.minilm import open_models
open_models({"engine": sys.argv[1]}).embedder.embed(["one"], role="query")
"""


@pytest.mark.parametrize("engine", ["numpy", "onnx"])
def test_embedding_writes_nothing_into_the_home(tmp_path: Path, engine: str):
    # CI is unset, because onnxruntime reports nothing where it is set and the test could not fail.
    environ = {
        k: v for k, v in os.environ.items() if k not in {"CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    }
    subprocess.run(
        [sys.executable, "-c", EMBED, engine],
        env={**environ, "HOME": str(tmp_path)},
        check=True,
        timeout=120,
    )
    assert list(tmp_path.rglob("*")) == []

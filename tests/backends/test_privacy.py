"""No library that ragmem loads leaves traces of the person outside of ragmem's home, or calls out."""

import json
import os
import subprocess
import sys

import pytest

EMBED = """
import json, sys
from ragmem.backends import open_models
backend, options = json.loads(sys.argv[1])
open_models(backend, options).embedder.embed(["one"], role="query")
"""


@pytest.mark.parametrize("engine", ["numpy", "onnx", "any onnx model"])
def test_embedding_writes_nothing_into_the_home(tmp_path_factory, engine: str):
    tmp_path, chosen = tmp_path_factory.mktemp("home"), ["minilm", {"engine": engine}]
    if engine == "any onnx model":
        from tiny_onnx import make_model

        chosen = ["onnx", {"model": str(make_model(tmp_path_factory.mktemp("model"), "bert"))}]
    # CI is unset, because onnxruntime reports nothing where it is set and the test could not fail.
    environ = {
        k: v for k, v in os.environ.items() if k not in {"CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    }
    subprocess.run(
        [sys.executable, "-c", EMBED, json.dumps(chosen)],
        env={**environ, "HOME": str(tmp_path)},
        check=True,
        timeout=120,
    )
    assert list(tmp_path.rglob("*")) == []

"""Embedding models that mlx-embeddings computes: an extra whose import takes seconds."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from ragmem.backends import mlx
from ragmem.errors import BackendError, ConfigError
from ragmem.testing import ModelsContract

pytestmark = pytest.mark.slow

needs_mlx_embeddings = pytest.mark.skipif(
    find_spec("mlx_embeddings") is None, reason="mlx-embeddings is not installed"
)
TEXTS = ["a full disk", "", "the server failed because the disk of the deployment was full"]


def open_models(folder, **options):
    return mlx.open_models({"model": str(folder), "library": "mlx-embeddings", **options})


@needs_mlx_embeddings
class TestForeignModels(ModelsContract):
    """On a model whose tokenizer asks for padding on the left, which gives the library no numbers."""

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_models):
        self.folder = tiny_models.embedding_4bit

    def open_models(self):
        return open_models(self.folder)


@needs_mlx_embeddings
@pytest.mark.parametrize("model", ["embedding", "embedding_4bit", "bert"])
def test_the_library_and_our_own_modules_agree_and_have_ids_of_their_own(model, tiny_models):
    folder = getattr(tiny_models, model)
    theirs, ours = open_models(folder), mlx.open_models({"model": str(folder)})
    try:
        vectors = [models.embedder.embed(TEXTS, role="document") for models in (theirs, ours)]
        assert np.abs(vectors[0] - vectors[1]).max() < 2e-4
        assert theirs.embedder.model_id != ours.embedder.model_id
    finally:
        theirs.close()
        ours.close()


def test_the_extra_that_is_not_installed_is_a_backend_error_that_names_its_licence(tiny_models, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlx_embeddings", None)
    monkeypatch.setitem(sys.modules, "mlx_embeddings.utils", None)
    with pytest.raises(BackendError, match="mlx-embeddings") as caught:
        open_models(tiny_models.bert).embedder.embed(["x"], role="query")
    assert "ragmem[mlx-embeddings]" in caught.value.hint
    assert "GPLv3" in caught.value.hint


@needs_mlx_embeddings
def test_an_architecture_that_the_library_lacks_is_a_backend_error(tiny_models, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    for path in tiny_models.bert.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(
                path.read_bytes().replace(b'"model_type": "bert"', b'"model_type": "none"')
            )
    with pytest.raises(BackendError, match="does not load"):
        open_models(folder).embedder.embed(["x"], role="query")


def test_a_pooling_beside_the_librarys_own_is_a_configuration_error(tiny_models):
    with pytest.raises(ConfigError, match="pooling"):
        _ = open_models(tiny_models.bert, pooling="cls").embedder

"""Providers from end to end: the command line before a server, and a real server of OpenAI's shape."""

from importlib.util import find_spec

import pytest
from language_server import language_server
from provider_protocols import KEY, OpenAI
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.errors import BackendError
from ragmem.testing import LanguageModelContract

needs_mlx_lm = pytest.mark.skipif(find_spec("mlx_lm") is None, reason="mlx-lm is not installed")
SAID = "We decided to keep the sessions in PostgreSQL because it survives a restart."


class Local(OpenAI):
    key = ""
    dimensions = 128
    names = ("embedder",)

    def embeddings(self, body):
        if any("poison" in text for text in body["input"]):
            self.refuse(400, "no such words")
        return super().embeddings(body)


@pytest.fixture
def ragmem(started):
    """Return what runs commands in processes from their start: what they load is the point here."""
    return started


@pytest.fixture
def configured():
    """Return a server, and the environment that names it."""
    with serving(Local()) as server:
        yield (
            server,
            {
                "RAGMEM_MODELS_BACKEND": "compatible",
                "RAGMEM_MODELS_MODEL": "embedder",
                "RAGMEM_MODELS_URL": f"{server.root}/v1",
                "RAGMEM_MODELS_RETRIES": "0",
            },
        )


def test_a_memory_is_embedded_by_the_configured_server_and_found(ragmem, configured):
    server, environ = configured

    stored = ragmem(
        "ingest",
        "-",
        "--project",
        "user",
        stdin="We decided to keep the sessions in PostgreSQL because it survives a restart.",
        **environ,
    )
    asked = ragmem("query", "where do we keep the sessions", "--all", "--json", **environ)

    assert (stored.returncode, asked.returncode) == (0, 0), stored.stderr + asked.stderr
    assert "We decided to keep the sessions" in asked.stdout
    texts = [text for seen in server.posts for text in seen.body["input"]]
    assert any("PostgreSQL" in text for text in texts)
    assert "where do we keep the sessions" in texts


def test_a_text_that_the_server_rejects_stops_no_other(ragmem, configured, tmp_path):
    _, environ = configured
    notes = tmp_path / "notes"
    notes.mkdir()
    for word in ("harbour", "poisoned", "lantern", "quarry", "meadow"):
        (notes / f"{word}.md").write_text(f"# {word}\n\nWe decided that the {word} crane is painted red.\n")

    stored = ragmem("ingest", str(notes), "--project", "user", **environ)
    pending = ragmem("inspect", "--json", **environ)
    asked = ragmem("query", "poisoned crane", "--all", "--ids", "-n", "1", **environ)

    assert "poisoned.md" in stored.stderr
    assert "no such words" in stored.stderr
    assert (stored.returncode, asked.returncode) == (3, 0), stored.stderr + asked.stderr
    assert '"pending": 1' in pending.stdout, pending.stdout


def test_a_wrong_key_is_told_without_the_key(ragmem, configured):
    server, environ = configured
    server.protocol.key = "another"

    result = ragmem(
        "ingest",
        "-",
        "--project",
        "user",
        stdin="We decided to keep the sessions in PostgreSQL because it survives a restart.",
        **environ,
        MY_KEY=KEY,
        RAGMEM_MODELS_KEY_VARIABLE="MY_KEY",
    )

    assert "refuses the key" in result.stderr
    assert "; set MY_KEY, or key_command in config.toml" in result.stderr
    assert KEY not in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture(scope="module")
def mlx_server(tiny_models, tmp_path_factory):
    with language_server(tiny_models.chat, tmp_path_factory.mktemp("hub")) as address:
        yield address


@needs_mlx_lm
class TestMLXServer(LanguageModelContract):
    """A real server. It takes no schema, and reads any prompt to its end, however long that takes."""

    MAX_TOKENS = 16
    test_with_a_schema_the_answer_is_json_that_satisfies_it = None
    test_a_prompt_longer_than_any_window_gets_text_or_is_refused = None

    @pytest.fixture(autouse=True)
    def _server(self, mlx_server, tiny_models):
        self.url = f"{mlx_server}/v1"
        self.model = str(tiny_models.chat)

    def open_models(self, options):
        return open_models("compatible", {"url": self.url, "language_model": self.model, **options})

    def test_its_missing_embeddings_are_told(self):
        models = open_models("compatible", {"url": self.url, "model": self.model})
        with pytest.raises(BackendError) as caught:
            models.embedder.embed(["a text"], role="document")
        models.close()

        assert "offers no embeddings" in str(caught.value)

    def test_a_wrong_address_is_told_how_to_write(self):
        models = open_models("compatible", {"url": f"{self.url}/chat", "language_model": self.model})
        with pytest.raises(BackendError) as caught:
            models.language_model.complete("Name a colour.")
        models.close()

        assert f'write url = "{self.url}" in config.toml, [language_model]' in caught.value.hint

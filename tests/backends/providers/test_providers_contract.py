"""Every provider keeps the contracts of the models, against a server of its protocol."""

import json

import pytest
from provider_protocols import KEY, Anthropic, Azure, Gemini, Ollama, OpenAI, Voyage
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.testing import LanguageModelContract, ModelsContract

VARIABLES = ("OPENAI", "AZURE_OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "VOYAGE", "OLLAMA")


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(f"{name}_API_KEY", KEY)


class Local(OpenAI):
    """A server without a key, that counts no tokens and knows few fields."""

    key = ""
    usage = False
    dimensions = 384
    names = ("embedder", "chatter")
    understands = frozenset({"temperature", "max_tokens"})


class Served:
    """Serves a protocol to the tests of a class."""

    protocol = OpenAI
    backend = "openai"
    url = ""
    model = "text-embedding-3-small"
    chatter = "chatter"

    @pytest.fixture(autouse=True)
    def _server(self):
        class Named(self.protocol):
            names = (self.model, self.chatter, *self.protocol.names)

        with serving(Named()) as self.server:
            yield

    def options(self, **given):
        return {"url": f"{self.server.root}{self.url}", **given}


class Embeds(Served, ModelsContract):
    __test__ = False

    def open_models(self):
        return open_models(self.backend, self.options(model=self.model))

    def test_the_two_roles_are_told_apart_where_the_provider_does(self):
        with self._embedder() as embedder:
            embedder.embed(["a text"], role="document")
            embedder.embed(["a text"], role="query")
        document, query = (json.dumps(seen.body) for seen in self.server.posts[-2:])
        assert (document != query) == (self.backend in {"gemini", "voyage"})


class Completes(Served, LanguageModelContract):
    __test__ = False

    def open_models(self, options):
        return open_models(self.backend, self.options(language_model=self.chatter, **options))


class TestOpenAIEmbeddings(Embeds):
    __test__ = True
    url = "/v1"


class TestOpenAIChat(Completes):
    __test__ = True
    url = "/v1"


class TestAzureEmbeddings(Embeds):
    __test__ = True
    backend, protocol, model = "azure", Azure, "my-embedder"


class TestAzureChat(Completes):
    __test__ = True
    backend, protocol, chatter = "azure", Azure, "my-chatter"


class TestAzureEmbeddingsAtTheNewerAddress(Embeds):
    __test__ = True
    backend, protocol, model, url = "azure", Azure, "my-embedder", "/openai/v1"


class TestAnthropicChat(Completes):
    __test__ = True
    backend, protocol = "anthropic", Anthropic


class TestOllamaEmbeddings(Embeds):
    __test__ = True
    backend, protocol, model = "ollama", Ollama, "embedder"


class TestOllamaChat(Completes):
    __test__ = True
    backend, protocol = "ollama", Ollama
    model = "chatter:latest"


class TestGeminiEmbeddings(Embeds):
    __test__ = True
    backend, protocol, model, url = "gemini", Gemini, "gemini-embedding-001", "/v1beta"


class TestGeminiEmbeddingsWithTheTaskInWords(Embeds):
    __test__ = True
    backend, protocol, model, url = "gemini", Gemini, "gemini-embedding-2", "/v1beta"


class TestGeminiContents(Completes):
    __test__ = True
    backend, protocol, url = "gemini", Gemini, "/v1beta"


class TestVoyageEmbeddings(Embeds):
    __test__ = True
    backend, protocol, model, url = "voyage", Voyage, "voyage-3.5", "/v1"


class TestCompatibleEmbeddings(Embeds):
    __test__ = True
    backend, protocol, model, url = "compatible", Local, "embedder", "/v1"


class TestCompatibleChat(Completes):
    __test__ = True
    backend, protocol, url = "compatible", Local, "/v1"

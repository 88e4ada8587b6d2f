"""Every provider keeps the contracts of the models, against a server of its protocol."""

import json

import pytest
from provider_protocols import KEY, SERVICES, Azure, Gemini, OpenAI
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.testing import LanguageModelContract, ModelsContract


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for service in SERVICES:
        monkeypatch.setenv(service.variable, KEY)


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
        assert (document != query) == (self.protocol.tells_roles)


class Completes(Served, LanguageModelContract):
    __test__ = False

    def open_models(self, options):
        return open_models(self.backend, self.options(language_model=self.chatter, **options))


for service in SERVICES:
    for contract, half in ((Embeds, service.model), (Completes, service.chatter)):
        if half:
            name = f"Test{service.backend.title()}{contract.__name__}"
            which = {"backend": service.backend, "protocol": service.protocol, "url": service.path}
            halves = {"model": service.model or Served.model, "chatter": service.chatter or Served.chatter}
            globals()[name] = type(name, (contract,), {"__test__": True, **which, **halves})


class TestAzureEmbeddingsAtTheNewerAddress(Embeds):
    __test__ = True
    backend, protocol, model, url = "azure", Azure, "my-embedder", "/openai/v1"


class TestGeminiEmbeddingsWithTheTaskInWords(Embeds):
    __test__ = True
    backend, protocol, model, url = "gemini", Gemini, "gemini-embedding-2", "/v1beta"


class TestCompatibleEmbeddings(Embeds):
    __test__ = True
    backend, protocol, model, url = "compatible", Local, "embedder", "/v1"


class TestCompatibleChat(Completes):
    __test__ = True
    backend, protocol, url = "compatible", Local, "/v1"

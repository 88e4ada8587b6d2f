"""Azure OpenAI: OpenAI's protocol, at a deployment that has a name and an address of its own.

Two addresses are taken as `url`: the endpoint (https://NAME.openai.azure.com), asked with an api-version, and
the newer one that ends in /openai/v1, asked without. `model` is the name of the deployment.
Shapes: learn.microsoft.com/azure/ai-services/openai/reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.openai import OpenAIChat, OpenAIEmbeddings, model_names
from ragmem.backends.providers.provider import ChatRequest, Provider, Request
from ragmem.backends.providers.settings import read_settings, section_of
from ragmem.ports import Role

API_VERSION = "2024-10-21"
"""The newest dated version of the API that is not a preview."""

_ENDPOINT = "https://NAME.openai.azure.com"


class _Paths:
    """The paths of a deployment's requests."""

    def __init__(self, url: str, api_version: str) -> None:
        self._newer = url.endswith("/v1")
        self._version = api_version or ("" if self._newer else API_VERSION)

    def place(self, request: Request, deployment: str) -> Request:
        """Return the request with the path of this deployment."""
        before = "" if self._newer else f"/openai/deployments/{quote(deployment, safe='')}"
        after = f"?api-version={quote(self._version)}" if self._version else ""
        return replace(request, path=f"{before}{request.path}{after}")


class _Embeddings(OpenAIEmbeddings):
    def __init__(self, paths: _Paths) -> None:
        super().__init__()
        self._paths = paths

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        request = super().request(model, texts, role=role, dimensions=dimensions, refused=refused)
        return self._paths.place(request, model)


class _Chat(OpenAIChat):
    def __init__(self, paths: _Paths) -> None:
        super().__init__()
        self._paths = paths

    def request(self, chat: ChatRequest, *, refused: frozenset[str]) -> Request:
        return self._paths.place(super().request(chat, refused=refused), chat.model)


def root(url: str) -> str:
    """Return the endpoint of an address that may include a deployment, as the portal shows it."""
    before, found, _ = url.partition("/openai/deployments/")
    return before if found else url


def provider(options: Mapping[str, Any]) -> Provider:
    """Return Azure at the configured address."""
    section = section_of(options)
    settings = read_settings(options, section=section)
    paths = _Paths(root(settings.url), settings.api_version)
    return Provider(
        name="azure",
        key_variables=("AZURE_OPENAI_API_KEY",),
        key_header="api-key",
        embeddings=_Embeddings(paths),
        chat=_Chat(paths),
        example=_ENDPOINT,
        # The key of the API cannot list deployments; the newer address lists models at least.
        model_names=model_names if root(settings.url).endswith("/v1") else None,
        root=root,
    )


def open_models(options: Mapping[str, Any]) -> ProviderModels:
    """Return the models of a deployment; raises ConfigError for an option of another type."""
    return ProviderModels(provider(options), options)

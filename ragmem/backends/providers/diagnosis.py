"""Why a server does not know a path or a model: the address lacks its /v1, or the model has another name."""

import difflib
from collections.abc import Callable
from typing import Any

from ragmem.backends.providers.failures import ProviderError
from ragmem.backends.providers.provider import Provider
from ragmem.backends.providers.settings import Settings, redact_url

MOST_NAMES = 8

Fetch = Callable[[str], Any]
"""Returns the JSON at an address, or None."""


def diagnose(
    error: ProviderError, provider: Provider, settings: Settings, *, root: str, fetch: Fetch
) -> ProviderError:
    """Return the error with a better message where asking the server for its models explains it."""
    names = _names(provider, fetch(f"{root}{provider.models_path}"))
    if names is not None:
        return _about_model(error, provider, settings, names)
    for address in provider.other_addresses(root):
        if _names(provider, fetch(f"{address}{provider.models_path}")) is not None:
            return error.with_message(
                f"{redact_url(root)} is not the address of the API: {redact_url(address)} is",
                hint=f'write url = "{redact_url(address)}" in {settings.place}',
            )
    return error


def _names(provider: Provider, answer: Any) -> list[str] | None:
    if answer is None or provider.model_names is None:
        return None
    try:
        return provider.model_names(answer)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None


def _about_model(
    error: ProviderError, provider: Provider, settings: Settings, names: list[str]
) -> ProviderError:
    wanted = settings.model or provider.model
    # mlx_lm.server serves models that it does not list, and lists none.
    if not names or wanted in {name.removesuffix(":latest") for name in names} | set(names):
        if error.status not in {200, 404, 405}:
            return error
        lacks = {"models": "embeddings", "reranker": "reranking"}.get(
            settings.section, "completions of chats"
        )
        return error.with_message(
            f'the server of "{wanted}" offers no {lacks} ({error.detail or f"status {error.status}"})',
            hint="docs/models.md says who offers what",
        )
    likely = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    # Where vectors are wanted, models with "embed" in their name come first.
    embedding = [name for name in names if settings.section == "models" and "embed" in name.lower()]
    listed = list(dict.fromkeys([*likely, *embedding, *names]))
    more = f" and {len(listed) - MOST_NAMES} more" if len(listed) > MOST_NAMES else ""
    pull = f"run `{provider.pull} {wanted}`, or use one of " if provider.pull else "it has "
    return error.with_message(
        f'{provider.name} has no model "{wanted}"', hint=f"{pull}{', '.join(listed[:MOST_NAMES])}{more}"
    )

"""Backends: models and stores behind the ports, found by name through entry points."""

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, cast

from ragmem.errors import BackendError
from ragmem.ports import Models, Store
from ragmem.storage.sql.database import Database

ENTRY_POINTS = "ragmem.backends"

# The same names as in pyproject.toml (a test holds them equal). Reading entry points opens the metadata of
# every installed package, some 50 ms that a query need not pay for a backend that ships with ragmem.
SHIPPED: Mapping[str, str] = {
    "anthropic": "ragmem.backends.providers.anthropic",
    "azure": "ragmem.backends.providers.azure",
    "compatible": "ragmem.backends.providers.compatible",
    "fake": "ragmem.backends.fake",
    "gemini": "ragmem.backends.providers.gemini",
    "lightrag": "ragmem.backends.lightrag",
    "minilm": "ragmem.backends.minilm",
    "mlx": "ragmem.backends.mlx",
    "ollama": "ragmem.backends.providers.ollama",
    "onnx": "ragmem.backends.onnx",
    "openai": "ragmem.backends.providers.openai",
    "voyage": "ragmem.backends.providers.voyage",
}


def is_in_process(name: str) -> bool:
    """Return whether a backend of ours asks no server, neither on this machine nor elsewhere."""
    return name in SHIPPED and ".providers." not in SHIPPED[name]


def names() -> list[str]:
    """Return the names of all installed backends, with models or a store."""
    from importlib.metadata import entry_points

    return sorted({*SHIPPED, *(entry.name for entry in entry_points(group=ENTRY_POINTS))})


def names_with_models() -> list[str]:
    """Return the names of the backends with models; those of other packages count without being loaded."""
    return [name for name in names() if name not in SHIPPED or hasattr(_module(name), "open_models")]


def _module(name: str) -> ModuleType:
    if name in SHIPPED:
        return importlib.import_module(SHIPPED[name])
    from importlib.metadata import entry_points

    found = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in found:
        raise BackendError(f'there is no backend "{name}"', hint=f"installed backends: {', '.join(names())}")
    try:
        return cast("ModuleType", found[name].load())
    except ImportError as error:
        raise BackendError(
            f'the backend "{name}" cannot load: {error}', hint="check that its package is installed"
        ) from error


def open_models(name: str, options: Mapping[str, Any]) -> Models:
    """Return the models of a backend; raises BackendError for an unknown name."""
    module = _module(name)
    if not hasattr(module, "open_models"):
        raise BackendError(f'the backend "{name}" has no models', hint="see `ragmem inspect config`")
    return cast("Models", module.open_models(options))


def open_store(name: str, options: Mapping[str, Any], models: Models, *, database: Database) -> Store:
    """Return the store of a backend; raises BackendError for an unknown name."""
    module = _module(name)
    if not hasattr(module, "open_store"):
        raise BackendError(f'the backend "{name}" has no store', hint="see `ragmem inspect config`")
    return cast("Store", module.open_store(options, models, database=database))

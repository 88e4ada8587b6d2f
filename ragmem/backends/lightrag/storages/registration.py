"""Import LightRAG without its side effects, and register our storages with it."""

import gc
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

KV, VECTOR, GRAPH, DOC_STATUS = (
    "RagmemKVStorage",
    "RagmemVectorStorage",
    "RagmemGraphStorage",
    "RagmemDocStatusStorage",
)

_STORAGES: Final = {
    "KV_STORAGE": (KV, "ragmem.backends.lightrag.storages.kv"),
    "VECTOR_STORAGE": (VECTOR, "ragmem.backends.lightrag.storages.vectors"),
    "GRAPH_STORAGE": (GRAPH, "ragmem.backends.lightrag.storages.graph"),
    "DOC_STATUS_STORAGE": (DOC_STATUS, "ragmem.backends.lightrag.storages.doc_status"),
}

_LOGGERS = ("lightrag", "nano-vectordb", "pipmaster", "ascii_colors")


def import_lightrag(folder: Path) -> ModuleType:
    """Return the module `lightrag.lightrag`, with our storages registered; cheap when done before.

    Its import reads `.env` of the working folder, which may be that of any repository, into the environment:
    so it happens in `folder`, and the environment is restored. pypinyin (0.5 s to import) only sorts file
    names, and LightRAG works without it.
    """
    name = "lightrag.lightrag"
    if name not in sys.modules:
        _import_quietly(name, folder)
        # A hundred thousand objects that live as long as the process: without this, each full garbage
        # collection visits them all.
        gc.freeze()
    _register()
    return sys.modules[name]


def _import_quietly(name: str, folder: Path) -> None:
    pinyin = sys.modules.get("pypinyin")
    silence()
    try:
        if pinyin is None:
            sys.modules["pypinyin"] = None  # type: ignore[assignment]
        with temporary_surroundings(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
            # Submodules that LightRAG imports on first use, with the same side effects.
            for part in ("base", "kg", "kg.factory", "kg.shared_storage", "operate", "types", "utils"):
                importlib.import_module(f"lightrag.{part}")
    finally:
        if pinyin is None:
            sys.modules.pop("pypinyin", None)
    silence()


@contextmanager
def temporary_surroundings(folder: Path) -> Iterator[None]:
    """Work in a folder; restore the working folder and the environment variables afterwards."""
    environment = dict(os.environ)
    try:
        before = Path.cwd()
    except OSError:  # the working folder was removed
        before = Path("/")
    try:
        os.chdir(folder)
        yield
    finally:
        for variable in os.environ.keys() - environment.keys():
            del os.environ[variable]
        os.environ.update(environment)
        os.chdir(before)


def silence() -> None:
    """Keep LightRAG's log records away from the terminal; errors reach the caller as exceptions."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        logger.setLevel(logging.CRITICAL)


def _register() -> None:
    """Enter the four classes in LightRAG's registry of storages (three public dicts of lightrag.kg)."""
    registry = importlib.import_module("lightrag.kg")
    for kind, (name, module) in _STORAGES.items():
        registry.STORAGES[name] = module
        registry.STORAGE_ENV_REQUIREMENTS[name] = []
        implementations = registry.STORAGE_IMPLEMENTATIONS[kind]["implementations"]
        if name not in implementations:
            implementations.append(name)

"""Configuration: files and environment become one frozen Settings that knows the origin of each value.

Each name is imported on first use: a Tab asks for the folders alone, and the parsers of all the files would
double what it costs.
"""

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ragmem.config.loading import load
    from ragmem.config.models import (
        ExtractionSettings,
        LanguageModelSettings,
        ModelSettings,
        SpendSettings,
    )
    from ragmem.config.places import Places, expand_home, find_places, shipped
    from ragmem.config.settings import (
        ArchiveSettings,
        ChunkingSettings,
        Origin,
        ProjectSettings,
        QuerySettings,
        SeedSettings,
        ServeSettings,
        Settings,
        SourceSpec,
        StoreSettings,
        WriteSettings,
    )
    from ragmem.config.sources import glob_problem

__all__ = [
    "ArchiveSettings",
    "ChunkingSettings",
    "ExtractionSettings",
    "LanguageModelSettings",
    "ModelSettings",
    "Origin",
    "Places",
    "ProjectSettings",
    "QuerySettings",
    "SeedSettings",
    "ServeSettings",
    "Settings",
    "SourceSpec",
    "SpendSettings",
    "StoreSettings",
    "WriteSettings",
    "expand_home",
    "find_places",
    "glob_problem",
    "load",
    "shipped",
]

_HOMES = {
    "load": "loading",
    "Places": "places",
    "expand_home": "places",
    "find_places": "places",
    "shipped": "places",
    "glob_problem": "sources",
    "ModelSettings": "models",
    "LanguageModelSettings": "models",
    "ExtractionSettings": "models",
    "SpendSettings": "models",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no {name}")
    import importlib  # noqa: PLC0415 - a write to the inbox asks for no name of these

    module = importlib.import_module(f"{__name__}.{_HOMES.get(name, 'settings')}")
    value = globals()[name] = getattr(module, name)
    return value

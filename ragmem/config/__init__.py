"""Configuration: files and environment become one frozen Settings that knows the origin of each value."""

from ragmem.config.loading import load, shipped
from ragmem.config.places import Places, expand_home, find_places
from ragmem.config.settings import (
    ChunkingSettings,
    ModelSettings,
    Origin,
    ProjectSettings,
    QuerySettings,
    SeedSettings,
    ServeSettings,
    Settings,
    SourceSpec,
    StoreSettings,
    TrashSettings,
    WriteSettings,
)
from ragmem.config.sources import glob_problem

__all__ = [
    "ChunkingSettings",
    "ModelSettings",
    "Origin",
    "Places",
    "ProjectSettings",
    "QuerySettings",
    "SeedSettings",
    "ServeSettings",
    "Settings",
    "SourceSpec",
    "StoreSettings",
    "TrashSettings",
    "WriteSettings",
    "expand_home",
    "find_places",
    "glob_problem",
    "load",
    "shipped",
]

"""The settings as frozen values, with what each key means and may be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ragmem.config.models import (
    ExtractionSettings,
    LanguageModelSettings,
    ModelSettings,
    RerankerSettings,
    SpendSettings,
)
from ragmem.config.places import Places
from ragmem.config.values import key
from ragmem.domain.decay import DecayPolicy
from ragmem.domain.lifecycle import CURATED, LifecyclePolicy
from ragmem.domain.model import Kind

ReaderName = Literal["markdown", "reflections"]
SourceScope = Literal["user", "project", "slug"]
SignalRule = Literal["graded", "classic", "off"]
PROFILES = ("sqlite", "json", "postgres", "custom")

BYTES_PER_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """[store]: which backend keeps vectors and graph."""

    backend: str = key("lightrag", "name of the store's backend, an entry point of ragmem.backends")
    profile: str = key(
        "sqlite",
        "where LightRAG keeps its data: sqlite, json (its own files, to compare), postgres or custom",
        choices=PROFILES,
    )
    url: str = key("", "address of the PostgreSQL database of the profile postgres: postgresql://host/name")
    storages: Mapping[str, str] = key(
        {}, "profile custom: LightRAG's storages for kv, vector, graph, doc_status"
    )
    environment: Mapping[str, str] = key({}, "profile custom: variables that those storages read")
    options: Mapping[str, Any] = key({}, "passed to the backend as it is")


@dataclass(frozen=True, slots=True)
class SeedSettings:
    """[seed]: how files are read."""

    max_file_mb: float = key(8.0, "a larger file is reported, not read", low=0)
    batch: int = key(32, "memories per write transaction", low=1, high=10_000)

    @property
    def max_file_bytes(self) -> int:
        """The size limit in bytes."""
        return int(self.max_file_mb * BYTES_PER_MB)


@dataclass(frozen=True, slots=True)
class ChunkingSettings:
    """[chunking]: how large the parts of a text are; a project's file may set these too."""

    max_chars: int = key(900, "most characters of a chunk; the bundled model reads about 1,000", low=1)
    min_chars: int = key(300, "neighbouring chunks below this size are joined", low=0)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """[query]: how matches are found and ranked."""

    limit: int = key(8, "matches shown unless asked otherwise", low=1, high=10_000)
    candidates: int = key(60, "memories taken from each list", low=1, high=100_000)
    lexical_weight: float = key(0.7, "weight of what the words say", low=0)
    vector_weight: float = key(1.0, "weight of what the vectors say", low=0)
    min_similarity: float = key(0.2, "cosine from which a vector hit is evidence", low=-1, high=1)
    min_coverage: float = key(0.25, "share of the question from which a text hit is evidence", low=0, high=1)
    earned_recency: bool = key(True, "being new counts as far as a match is relevant; false: as published")
    graph_weight: float = key(
        0.3, "weight of a name shared with the best matches; 0: the graph is not asked", low=0
    )
    time_weight: float = key(0.15, "weight of having happened when the question says", low=0)
    abstain: bool = key(True, "find nothing where the nearest memory is too far away to answer")
    expand: bool = key(False, "ask the language model for other words of each question")


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """[archive]: what gc took out, and can be brought back."""

    keep_days: int = key(
        30, "days that a memory lies in the archive before `gc --purge` may delete it", low=0
    )


_LIVES = LifecyclePolicy()


@dataclass(frozen=True, slots=True)
class LifecycleSettings:
    """[lifecycle]: how memories are connected, merged and archived; see docs/lifecycle.md."""

    age_after: int = key(
        _LIVES.age_after, "newer memories of its project after which one is checked for isolation", low=1
    )
    reprieves: int = key(
        _LIVES.reprieves, "times that an isolated memory of substance stays in the buffer", low=0
    )
    promote_sessions: int = key(
        _LIVES.promote_sessions, "sessions that recall a memory until it is proven", low=1
    )
    min_cluster: int = key(_LIVES.min_cluster, "connected memories that are merged into one", low=2)
    merge_by: str = key(
        "rules", "rules; llm: the language model, where its text holds all of it", choices=("rules", "llm")
    )
    curated: tuple[str, ...] = key(
        CURATED,
        "sources whose files people keep: never merged or archived by themselves",
    )
    automatic: bool = key(True, "let `ragmem serve` run gc by itself while nobody asks it anything")
    idle_minutes: float = key(10.0, "minutes without a request until it does; 0 is never", low=0)

    @property
    def policy(self) -> LifecyclePolicy:
        """What the rules of the lifecycle are given of this."""
        return LifecyclePolicy(
            age_after=self.age_after,
            reprieves=self.reprieves,
            promote_sessions=self.promote_sessions,
            min_cluster=self.min_cluster,
            curated=frozenset(self.curated),
        )


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """[write]: how writers share the database."""

    busy_timeout_s: float = key(30.0, "seconds that a writer waits for another", low=0)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """[serve]: where the warm process listens."""

    host: str = key("127.0.0.1", "address to listen on; another than loopback needs a token")
    port: int = key(9622, "port to listen on; LightRAG's own server uses 9621", low=1, high=65535)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source: which files, how they are read, to whom they belong.

    `globs` may begin with `~`; relative ones start at `base`. `kind` None lets each text be judged.
    """

    name: str
    globs: tuple[str, ...]
    base: Path
    reader: ReaderName = "markdown"
    kind: Kind | None = None
    scope: SourceScope = "user"
    signal: SignalRule = "graded"
    exclude: tuple[str, ...] = ()
    enabled: bool = True
    description: str = ""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """What a project's `.ragmem.toml` may set, for files below `root` only."""

    root: Path
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    chunking: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Origin:
    """A value under its dotted key, with the place that set it."""

    key: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one run; `warnings` are for people, one line each."""

    places: Places
    models: ModelSettings = field(default_factory=ModelSettings)
    language_model: LanguageModelSettings = field(default_factory=LanguageModelSettings)
    reranker: RerankerSettings = field(default_factory=RerankerSettings)
    extraction: ExtractionSettings = field(default_factory=ExtractionSettings)
    spend: SpendSettings = field(default_factory=SpendSettings)
    store: StoreSettings = StoreSettings()
    seed: SeedSettings = SeedSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    query: QuerySettings = QuerySettings()
    archive: ArchiveSettings = ArchiveSettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    write: WriteSettings = WriteSettings()
    serve: ServeSettings = ServeSettings()
    sources: Mapping[str, SourceSpec] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    decay: DecayPolicy = field(default_factory=DecayPolicy)
    project: ProjectSettings | None = None
    warnings: tuple[str, ...] = ()
    provenance: tuple[Origin, ...] = ()

    def origins(self) -> list[tuple[str, Any, str]]:
        """Return (dotted key, value, origin) of each setting, sources and half-lives included.

        The origin is "default", "config.toml:12" or the name of an environment variable.
        """
        return [(item.key, item.value, item.origin) for item in self.provenance]

    def enabled_sources(self) -> Iterator[SourceSpec]:
        """Yield the sources that are not turned off, in the order of the files."""
        return (source for source in self.sources.values() if source.enabled)


SECTIONS: Mapping[str, Any] = {
    "models": ModelSettings,
    "language_model": LanguageModelSettings,
    "reranker": RerankerSettings,
    "extraction": ExtractionSettings,
    "spend": SpendSettings,
    "store": StoreSettings,
    "seed": SeedSettings,
    "chunking": ChunkingSettings,
    "query": QuerySettings,
    "archive": ArchiveSettings,
    "lifecycle": LifecycleSettings,
    "write": WriteSettings,
    "serve": ServeSettings,
}
"""The tables of config.toml."""

FORMER: Mapping[tuple[str, str], str] = {
    ("trash", ""): "its name is [archive] now; nothing is deleted by itself any more: `ragmem gc --purge`",
    ("query", "rrf_k"): "it is gone, since ranks are not fused any more: remove the line",
    ("query", "full_similarity"): "it is gone, since cosines count as they are: remove the line",
}
"""Keys of older releases, and tables (with no key), and what to do about them."""

"""The settings as frozen values, with the description and bounds of each key."""

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragmem.config import hook_defaults
from ragmem.config.models import (
    ExtractionSettings,
    LanguageModelSettings,
    ModelSettings,
    RerankerSettings,
    SpendSettings,
)
from ragmem.config.places import Places
from ragmem.config.values import key
from ragmem.domain.model import Kind
from ragmem.domain.model.decay import Decay
from ragmem.domain.model.lifecycle import CURATED, LifecyclePolicy
from ragmem.frozen import dataclass

if TYPE_CHECKING:
    from ragmem.domain.secrets.redaction import Redactor

ReaderName = Literal["markdown", "instructions", "reflections", "transcripts", "checkpoints", "documents"]
"""Readers of a source's files. A further name is a module `ragmem.readers.NAME` with a function `read`."""
SourceScope = Literal["user", "project", "slug", "named"]
REPOSITORY = "{repository}"
"""At the beginning of a glob: each repository that is found."""
AUTO_MEMORY = "{auto_memory}"
"""At the beginning of a glob: the folder that Claude Code's settings name for its memory."""
SignalRule = Literal["judge", "classic", "off"]
ENGINES = ("builtin", "docling", "mineru")
PROFILES = ("sqlite", "json", "postgres", "custom")
SHARE_KINDS = ("decision", "convention", "gotcha", "error_solution", "record")
"""What a rule may choose for sharing; see `domain.sharing.policy`."""

BYTES_PER_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """[store]: where vectors and graph are stored."""

    backend: str = key("lightrag", "name of the store's backend, an entry point of ragmem.backends")
    profile: str = key(
        "sqlite",
        "where LightRAG stores its data: sqlite, json (its own files, for comparison), postgres or custom",
        choices=PROFILES,
    )
    url: str = key("", "profile postgres: URL of the database, postgresql://host/name")
    storages: Mapping[str, str] = key(
        {}, "profile custom: LightRAG's storages for kv, vector, graph, doc_status"
    )
    environment: Mapping[str, str] = key({}, "profile custom: environment variables for these storages")
    options: Mapping[str, Any] = key({}, "passed to the backend unchanged")


@dataclass(frozen=True, slots=True)
class SeedSettings:
    """[seed]: limits on reading files."""

    max_file_mb: float = key(8.0, "a larger file is reported, not read", low=0)
    batch: int = key(32, "memories per write transaction", low=1, high=10_000)
    trusted_repositories: tuple[str, ...] = key(
        (),
        (
            "repositories whose sessions are read although you have no commits there: github.com/acme/*, "
            "~/work/*"
        ),
    )

    @property
    def max_file_bytes(self) -> int:
        """The size limit in bytes."""
        return int(self.max_file_mb * BYTES_PER_MB)


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """[documents]: limits on reading documents, OCR and vision models; see docs/documents.md."""

    max_file_mb: float = key(100.0, "a larger document is reported, not read", low=0)
    seconds: float = key(60.0, "time limit in seconds for reading one document", low=1, high=3_600)
    max_memory_mb: int = key(1_000, "memory limit in megabytes for reading one document", low=100)
    max_pages: int = key(
        2_000, "maximum number of pages, slides, sheets or chapters read per document", low=1
    )
    max_characters: int = key(5_000_000, "maximum number of characters read per document", low=1_000)
    ocr: bool = key(True, "read scanned pages and pictures, with ragmem[ocr] or tesseract")
    ocr_languages: str = key("", "languages for tesseract, by its names: eng+deu; empty: its default")
    ocr_seconds: float = key(300.0, "time limit in seconds for OCR of one document", low=1, high=86_400)
    vision: str = key("", "model that describes pictures, as backend/model: ollama/qwen2.5vl; empty: none")
    vision_url: str = key("", "URL of its server; empty: that of [language_model], or the backend's own")
    vision_key_variable: str = key("", "environment variable with its key, if it is not the usual one")
    max_pictures: int = key(200, "maximum number of new pictures described in one run", low=0)
    engine: str = key(
        "builtin",
        "document reader: builtin, or a server with the protocol of docling-serve or MinerU",
        choices=ENGINES,
    )
    endpoint: str = key("", "URL of that server: http://127.0.0.1:5001")
    engine_seconds: float = key(
        600.0, "time limit in seconds for the server, per document", low=1, high=86_400
    )

    @property
    def max_file_bytes(self) -> int:
        """The size limit in bytes."""
        return int(self.max_file_mb * BYTES_PER_MB)


@dataclass(frozen=True, slots=True)
class ChunkingSettings:
    """[chunking]: the size of chunks; a project's file may set it too."""

    max_chars: int = key(
        900, "maximum number of characters in a chunk; the bundled model reads about 1,000", low=1
    )
    min_chars: int = key(300, "neighbouring chunks below this size are merged", low=0)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """[query]: how matches are found and ranked."""

    limit: int = key(8, "default number of matches", low=1, high=10_000)
    candidates: int = key(60, "number of candidate memories per source", low=1, high=100_000)
    lexical_weight: float = key(0.7, "weight of full text", low=0)
    vector_weight: float = key(1.0, "weight of vectors", low=0)
    min_similarity: float = key(0.2, "minimum cosine similarity of a vector hit", low=-1, high=1)
    min_coverage: float = key(0.25, "minimum share of the question's words in a text hit", low=0, high=1)
    earned_recency: bool = key(
        True, "recency counts in proportion to the relevance of a match; false: the published formula"
    )
    graph_weight: float = key(
        0.3, "weight of a name shared with the best matches; 0: do not use the graph", low=0
    )
    time_weight: float = key(0.15, "weight of an event date that matches the question", low=0)
    abstain: bool = key(True, "return nothing if the nearest memory is not relevant enough")
    expand: bool = key(False, "let the language model rephrase each question")


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """[archive]: archived memories, which can be restored."""

    keep_days: int = key(30, "days in the archive before `gc --purge` may delete a memory", low=0)


_LIVES = LifecyclePolicy()


@dataclass(frozen=True, slots=True)
class LifecycleSettings:
    """[lifecycle]: how memories are connected, hidden and archived; see docs/lifecycle.md."""

    age_after: int = key(
        _LIVES.age_after,
        "number of newer memories in the project after which a memory is checked for isolation",
        low=1,
    )
    reprieves: int = key(
        _LIVES.reprieves, "number of reprieves of an isolated memory before it becomes permanent", low=0
    )
    promote_sessions: int = key(
        _LIVES.promote_sessions, "number of sessions that must recall a memory until it is proven", low=1
    )
    min_cluster: int = key(_LIVES.min_cluster, "minimum number of connected memories in a cluster", low=2)
    merge_by: str = key(
        "none",
        "none; llm: the language model writes a text for each cluster; rules: old name of none",
        choices=("none", "llm", "rules"),
    )
    judge_by: str = key(
        "none",
        "none; llm: if the rules are unsure, gc asks the language model what is outdated or worthless",
        choices=("none", "llm"),
    )
    judgements: int = key(
        50, "maximum number of memories that the language model compares with older ones in one gc", low=0
    )
    curated: tuple[str, ...] = key(CURATED, "sources maintained by people: never archived automatically")
    automatic: bool = key(
        False,
        "let `ragmem serve` run gc while it is idle; `ragmem gc --enable-idle` sets it",
    )
    idle_minutes: float = key(10.0, "minutes without a request until idle gc runs; 0: never", low=0)

    @property
    def policy(self) -> LifecyclePolicy:
        """The parameters of the lifecycle's rules."""
        return LifecyclePolicy(
            age_after=self.age_after,
            reprieves=self.reprieves,
            promote_sessions=self.promote_sessions,
            min_cluster=self.min_cluster,
            curated=frozenset(self.curated),
        )


@dataclass(frozen=True, slots=True)
class InjectionSettings:
    """[injection]: retention of the injection log; see docs/context.md."""

    keep_days: int = key(30, "retention of the injection log in days", low=0)
    keep: int = key(5000, "maximum number of injections in the log", low=0)


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """[approval]: whether memories need approval before they take effect; see docs/records.md."""

    enabled: bool = key(False, "memories that no person wrote wait for `ragmem approve`")


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """[share]: what is shared with a team over git; see docs/share.md."""

    remote: str = key("origin", "name of the git remote used for sharing")
    member: str = key("", "your member id; empty: derived from git's user.email")
    kinds: tuple[str, ...] = key(
        SHARE_KINDS, "kinds of memories that `ragmem share push` shares", choices=SHARE_KINDS
    )
    tags: tuple[str, ...] = key((), "memories with one of these tags are shared too")
    private: tuple[str, ...] = key((), "projects that are never shared, by name or id")
    review: bool = key(True, "shared memories wait for `ragmem share review` before they are used")
    after_git: bool = key(
        False, "hooks share after a `git push`, and fetch after a `git pull` or `git fetch`"
    )
    max_records_a_member: int = key(
        10_000, "maximum number of memories stored per member", low=1, high=1_000_000
    )
    weight: float = key(0.95, "score factor of shared memories", low=0, high=1)


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """[write]: how long writers wait for each other."""

    busy_timeout_s: float = key(30.0, "seconds that a writer waits for another", low=0)


@dataclass(frozen=True, slots=True)
class SecretsSettings:
    """[secrets]: what is removed from texts before they are stored; see docs/secrets.md."""

    redact: bool = key(True, "remove secrets before a text is stored; false: only hide them in output")
    allow: tuple[str, ...] = key((), "patterns of whole values that are not secrets", patterns=True)
    extra: tuple[str, ...] = key((), "patterns of further secrets; the first group, if any", patterns=True)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """[serve]: address, limits and log of `ragmem serve`; see docs/serve.md."""

    host: str = key(
        "127.0.0.1", "address to listen on; addresses other than loopback need allow_remote and TLS"
    )
    port: int = key(9622, "port to listen on; LightRAG's own server uses 9621", low=1, high=65535)
    allow_remote: bool = key(
        False, "let other machines connect; `ragmem serve` also needs `--allow-remote` or `--team`"
    )
    hosts: tuple[str, ...] = key(
        (), "host names that the server accepts in addition to addresses and loopback"
    )
    tls_cert: str = key("", "PEM file of the TLS certificate with its chain, for https")
    tls_key: str = key("", "PEM file of the certificate's private key")
    writes_per_minute: int = key(
        6_000,
        "limit of write requests, for all clients with the token and for each browser; 0: no limit",
        low=0,
    )
    requests_per_minute: int = key(3_000, "limit of requests per team member; 0: no limit", low=0)
    issuer: str = key("", "OpenID Connect issuer whose access tokens a team server accepts; empty: none")
    audience: str = key("", "required `aud` of these tokens; needed with issuer")
    jwks_url: str = key("", "URL of the issuer's keys; empty: from its discovery document")
    member_claim: str = key("sub", "claim that identifies a member; users must not be able to choose it")
    role_claim: str = key("scope", "claim with the role: a list, or a text separated by blanks")
    role_prefix: str = key("ragmem:", "prefix of reader, writer or admin in that claim")
    projects_claim: str = key(
        "", "claim with the ids of the projects that a member may see; empty: all projects"
    )
    max_connections: int = key(
        1_024,
        "maximum number of connections; at the limit the oldest idle one is closed",
        low=256,
        high=50_000,
    )
    head_seconds: float = key(10.0, "time limit in seconds for the head of a request", low=0.1, high=600)
    body_seconds: float = key(60.0, "time limit in seconds for the body of a request", low=0.1, high=3_600)
    log_format: str = key(
        "text", "log format on stderr: text for people, json for programs", choices=("text", "json")
    )
    log_level: str = key(
        "warning",
        "lowest level to log: error, warning, info (a line for each request) or debug",
        choices=("debug", "info", "warning", "error"),
    )


@dataclass(frozen=True, slots=True)
class HooksSettings:
    """[hooks]: settings of the assistants' hooks; see docs/hooks.md."""

    enabled: bool = key(hook_defaults.ENABLED, "false: every hook exits immediately and does nothing")
    write_deadline_s: float = key(
        hook_defaults.WRITE_DEADLINE_S,
        "time limit in seconds for a hook that writes an event",
        low=0.01,
        high=60,
    )
    query_deadline_s: float = key(
        hook_defaults.QUERY_DEADLINE_S, "time limit in seconds for a hook that queries", low=0.01, high=60
    )
    max_chars: int = key(
        hook_defaults.MAX_CHARS,
        "maximum number of characters of an injection",
        low=1,
        high=hook_defaults.MOST_CHARS,
    )
    start_chars: int = key(
        hook_defaults.START_CHARS,
        "maximum number of characters injected at session start",
        low=1,
        high=hook_defaults.MOST_CHARS,
    )
    research: bool = key(hook_defaults.RESEARCH, "query before subagents, searches and fetches")
    moments: bool = key(
        hook_defaults.MOMENTS, "query for touched files, commands, failures and starting subagents"
    )
    drain_every_s: float = key(
        hook_defaults.DRAIN_EVERY_S,
        "seconds between two inbox drains during a session",
        low=0.01,
        high=60,
    )


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """[check]: rules for an assistant's answers; see docs/records.md."""

    enabled: bool = key(False, "check each answer; needs connected hooks")
    rules: str = key("", "file with the rules; empty: rules.toml or rules.md next to config.toml")
    judge: bool = key(False, "ask the language model about rules that need judgement")
    judgements_per_day: int = key(
        50, "maximum number of answers that the language model judges per day (UTC)", low=0
    )
    patterns_s: float = key(10.0, "time limit in seconds for the patterns of all rules", low=0.1, high=60)
    judgement_s: float = key(60.0, "time limit in seconds for a judgement", low=1, high=600)


@dataclass(frozen=True, slots=True)
class WarmSettings:
    """[warm]: the background process that answers hooks; see docs/serve.md."""

    idle_minutes: float = key(30.0, "minutes without a query until it exits", low=0)
    max_memory_mb: float = key(700.0, "megabytes of memory above which it exits, to be started again", low=1)


@dataclass(frozen=True, slots=True)
class AgentsSettings:
    """[agents]: limits on agents and their messages; see docs/api.md."""

    stale_s: float = key(90.0, "seconds without a heartbeat until an agent counts as stale", low=0.1)
    inbox: int = key(
        1000, "maximum number of waiting messages per agent; beyond it senders are refused", low=1
    )
    most: int = key(1000, "maximum number of agents; ended and stale ones are removed first", low=1)
    keep_days: float = key(7.0, "retention of events and acknowledged messages in days", low=0)
    keep: int = key(10_000, "maximum number of events, and of acknowledged messages", low=1)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source: its files, their reader, and the project they belong to.

    `globs` may begin with `~` or `REPOSITORY`; relative ones start at `base`. With `kind` None each text is
    classified.
    """

    name: str
    globs: tuple[str, ...]
    base: Path
    reader: ReaderName = "markdown"
    kind: Kind | None = None
    scope: SourceScope = "user"
    signal: SignalRule = "judge"
    exclude: tuple[str, ...] = ()
    enabled: bool = True
    description: str = ""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings of a project's `.ragmem.toml`, for files below `root` only."""

    root: Path
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    chunking: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Origin:
    """The value of a dotted key, and the place that set it."""

    key: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The tables of config.toml."""

    models: ModelSettings = field(default_factory=ModelSettings)
    language_model: LanguageModelSettings = field(default_factory=LanguageModelSettings)
    reranker: RerankerSettings = field(default_factory=RerankerSettings)
    extraction: ExtractionSettings = field(default_factory=ExtractionSettings)
    spend: SpendSettings = field(default_factory=SpendSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    seed: SeedSettings = field(default_factory=SeedSettings)
    documents: DocumentSettings = field(default_factory=DocumentSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    query: QuerySettings = field(default_factory=QuerySettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    lifecycle: LifecycleSettings = field(default_factory=LifecycleSettings)
    injection: InjectionSettings = field(default_factory=InjectionSettings)
    approval: ApprovalSettings = field(default_factory=ApprovalSettings)
    share: ShareSettings = field(default_factory=ShareSettings)
    write: WriteSettings = field(default_factory=WriteSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    secrets: SecretsSettings = field(default_factory=SecretsSettings)
    hooks: HooksSettings = field(default_factory=HooksSettings)
    check: CheckSettings = field(default_factory=CheckSettings)
    warm: WarmSettings = field(default_factory=WarmSettings)
    agents: AgentsSettings = field(default_factory=AgentsSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Sections):
    """All settings of one run; `warnings` are for people, one line each."""

    places: Places
    sources: Mapping[str, SourceSpec] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    decay: Decay = field(default_factory=Decay)
    project: ProjectSettings | None = None
    warnings: tuple[str, ...] = ()
    provenance: tuple[Origin, ...] = ()

    @property
    def redactor(self) -> "Redactor":
        """The redactor that [secrets] configures."""
        from ragmem.domain.secrets.redaction import Redactor  # noqa: PLC0415 - not all readers of settings show texts

        return Redactor(not self.secrets.redact, self.secrets.allow, self.secrets.extra)

    def origins(self) -> list[tuple[str, Any, str]]:
        """Return (dotted key, value, origin) of each setting, sources and half-lives included.

        The origin is "default", "config.toml:12" or the name of an environment variable.
        """
        return [(item.key, item.value, item.origin) for item in self.provenance]

    def enabled_sources(self) -> Iterator[SourceSpec]:
        """Yield the sources that are not turned off, in the order of the files."""
        return (source for source in self.sources.values() if source.enabled)


SECTIONS: Mapping[str, Any] = {item.name: item.default_factory for item in fields(Sections)}
"""The tables of config.toml."""

FORMER: Mapping[tuple[str, str], str] = {
    ("trash", ""): "renamed to [archive]; nothing is deleted automatically any more: `ragmem gc --purge`",
    ("query", "rrf_k"): "removed, because ranks are no longer fused: delete the line",
    ("query", "full_similarity"): "removed, because cosines are used directly: delete the line",
}
"""Hints for the keys and tables (key "") of older releases."""

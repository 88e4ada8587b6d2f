"""Turn a draft into a memory with its chunks: tier, kind, category, summary, identity."""

from dataclasses import dataclass
from datetime import datetime

from ragmem.config.settings import ChunkingSettings, SignalRule
from ragmem.domain.classification.kinds import detect_category, detect_kind, is_protected
from ragmem.domain.classification.signal import Signal, classify, summarize
from ragmem.domain.classification.substance import substance_of
from ragmem.domain.model import Chunk, Draft, Memory, State, Tier, content_hash, memory_id
from ragmem.domain.secrets.redaction import DEFAULT, Redactor
from ragmem.domain.text.chunking import chunk
from ragmem.services.ingestion.sanitize import sanitize_draft

RULES_VERSION = "5"
"""Raised when tiers, kinds, chunking or reading change, so that seed looks at every file again."""


def rules_version(redactor: Redactor) -> str:
    """Return the version of the rules for drafts: this release, and the settings for secrets."""
    if redactor == DEFAULT:
        return RULES_VERSION
    return f"{RULES_VERSION} {redactor.stored} {[list(redactor.allow), list(redactor.extra)]}"


SHORT = 600
"""A text with at most this many characters is indexed whole: leaving a sentence out saves nothing, and a
search for it would fail."""


@dataclass(frozen=True, slots=True)
class ClassifiedMemory:
    """A memory with its chunks, and the signal that decided its tier."""

    memory: Memory
    chunks: tuple[Chunk, ...]
    signal: Signal
    dated: bool
    """Whether the source has a date; otherwise the event time is when we first saw it."""


def classify_draft(
    draft: Draft,
    *,
    now: datetime,
    sizes: ChunkingSettings,
    rule: SignalRule = "graded",
    keep_discarded: bool = False,
    redactor: Redactor,
) -> ClassifiedMemory:
    """Sanitize a draft, classify it and cut it into chunks.

    With rule "off" every draft is ingested. A discarded draft gets no chunks, unless `keep_discarded` asks
    for a memory: it is buffered (found by full text only), or indexed like any other if its text has
    substance, because other memories may be about that fact. Protected drafts are never discarded.
    """
    draft = sanitize_draft(draft, redactor=redactor)
    protected = is_protected(draft.text, title=draft.title, metadata=draft.metadata, source=draft.source)
    signal = _signal(draft, rule=rule, protected=protected, redactor=redactor)
    # The sentences of a doubtful text are as doubtful: where it has substance, it is indexed whole.
    whole = signal.is_doubtful and substance_of(draft.text).passes
    summary = summarize(draft.text) if signal.tier is Tier.SUMMARIZE and not whole else ""
    if len(summary) >= len(draft.text) or len(draft.text) <= SHORT:
        summary = ""
    identifier = draft.id or memory_id(draft.source, draft.scope, draft.uri)
    faint = signal.tier is Tier.DISCARD and not (keep_discarded and substance_of(draft.text).passes)
    state = State.BUFFERED if faint else State.PENDING
    memory = Memory(
        id=identifier,
        source=draft.source,
        uri=draft.uri,
        text=draft.text,
        title=draft.title,
        event_time=draft.event_time or now,
        created_at=now,
        updated_at=now,
        content_hash=content_hash(draft.text),
        scope=draft.scope,
        kind=draft.kind or detect_kind(draft.text, source=draft.source, title=draft.title),
        category=draft.category or detect_category(draft.text, title=draft.title),
        tier=signal.tier,
        state=state,
        protected=protected,
        summary=summary,
        tags=draft.tags,
        metadata=dict(draft.metadata),
    )
    if signal.tier is Tier.DISCARD and not keep_discarded:
        return ClassifiedMemory(memory, (), signal, draft.event_time is not None)
    return ClassifiedMemory(
        memory, chunks_of(memory, sizes, redactor=redactor), signal, draft.event_time is not None
    )


def _signal(draft: Draft, *, rule: SignalRule, protected: bool, redactor: Redactor) -> Signal:
    if rule == "off":
        return Signal(Tier.INGEST, (), "every text of this source is kept")
    # The reason of the signal quotes words of the text.
    redacted = redactor.redact(draft.text)[0] if redactor.stored else draft.text
    return classify(redacted, rule=rule, protected=protected, source=draft.source)


def chunks_of(memory: Memory, sizes: ChunkingSettings, redactor: Redactor) -> tuple[Chunk, ...]:
    """Return the chunks of a memory's indexed text."""
    return chunk(
        memory.indexed_text,
        memory_id=memory.id,
        max_chars=sizes.max_chars,
        min_chars=sizes.min_chars,
        redactor=redactor,
    )

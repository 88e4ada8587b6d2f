"""Turn a draft into a memory with its chunks: tier, kind, category, summary, identity."""

from datetime import datetime

from ragmem.config.settings import ChunkingSettings, SignalRule
from ragmem.domain.classification.judge import Verdict, judge, telling_sentences
from ragmem.domain.classification.protection import is_protected
from ragmem.domain.classification.signal import Signal, classify
from ragmem.domain.classification.summary import summarize
from ragmem.domain.model import Chunk, Draft, Memory, State, Tier, content_hash, memory_id
from ragmem.domain.secrets.redaction import DEFAULT, Redactor
from ragmem.domain.text.chunking import chunk
from ragmem.frozen import dataclass
from ragmem.services.ingestion.sanitize import sanitize_draft

RULES_VERSION = "10"
"""Raised when tiers, kinds, chunking or reading change, so that seed looks at every file again."""


def rules_version(redactor: Redactor) -> str:
    """Return the version of the rules for drafts: this release, and the settings for secrets."""
    if redactor == DEFAULT:
        return RULES_VERSION
    return f"{RULES_VERSION} {redactor.stored} {[list(redactor.allow), list(redactor.extra)]}"


QUOTED = 120
"""Maximum characters of a sentence in an explanation."""


@dataclass(frozen=True, slots=True)
class ClassifiedMemory:
    """A memory with its chunks, and the signal that decided its tier."""

    memory: Memory
    chunks: tuple[Chunk, ...]
    signal: Signal
    dated: bool
    """Whether the source has a date; otherwise the event time is when we first saw it."""
    is_left_out: bool = False
    """Whether the classic rule discards it: seed stores nothing of it."""

    def explain(self, redactor: Redactor) -> str:
        """Return the reason with the sentences that moved the judge most."""
        if not self.signal.judged:
            return self.signal.reason
        found = telling_sentences(redactor.redact(self.memory.text)[0], source=self.memory.source)
        labels = ("sentence for it", "sentence against it")
        told = [
            f'{label}: "{" ".join(one.split())[:QUOTED]}"'
            for label, one in zip(labels, found, strict=True)
            if one
        ]
        return "; ".join((self.signal.reason, *told))


def classify_draft(
    draft: Draft,
    *,
    now: datetime,
    sizes: ChunkingSettings,
    rule: SignalRule = "judge",
    redactor: Redactor,
) -> ClassifiedMemory:
    """Sanitize a draft, classify it and cut it into chunks.

    With rule "off" every draft is ingested. A discarded draft is buffered: full text alone finds it, where it
    is asked for or nothing else answers. By the classic rule a discarded draft is left out by seed, and a
    summarized one is indexed by its summary alone. Protected drafts are never discarded.
    """
    draft = sanitize_draft(draft, redactor=redactor)
    # Reasons quote words of the text.
    text = redactor.redact(draft.text)[0] if redactor.stored else draft.text
    protected = is_protected(draft.text, title=draft.title, metadata=draft.metadata, source=draft.source)
    verdict = judge(text, source=draft.source)
    signal = _signal(text, rule=rule, protected=protected, source=draft.source, verdict=verdict)
    is_classic = rule == "classic"
    summary = summarize(draft.text) if is_classic and signal.tier is Tier.SUMMARIZE else ""
    summary = summary if len(summary) < len(draft.text) else ""
    memory = Memory(
        id=draft.id or memory_id(draft.source, draft.scope, draft.uri),
        source=draft.source,
        uri=draft.uri,
        text=draft.text,
        title=draft.title,
        event_time=draft.event_time or now,
        created_at=now,
        updated_at=now,
        content_hash=content_hash(draft.text),
        scope=draft.scope,
        kind=draft.kind or verdict.kind,
        category=draft.category or verdict.category,
        tier=signal.tier,
        state=State.BUFFERED if signal.tier is Tier.DISCARD else State.PENDING,
        protected=protected,
        summary=summary,
        tags=draft.tags,
        metadata=dict(draft.metadata),
        clean_hash=redactor.clean_hash(summary or draft.text),
    )
    return ClassifiedMemory(
        memory,
        chunks_of(memory, sizes, redactor=redactor),
        signal,
        draft.event_time is not None,
        is_left_out=is_classic and signal.tier is Tier.DISCARD,
    )


def _signal(text: str, *, rule: SignalRule, protected: bool, source: str, verdict: Verdict) -> Signal:
    if rule == "off":
        return Signal(Tier.INGEST, (), "every text of this source is kept")
    return classify(text, rule=rule, protected=protected, source=source, verdict=verdict)


def chunks_of(memory: Memory, sizes: ChunkingSettings, redactor: Redactor) -> tuple[Chunk, ...]:
    """Return the chunks of a memory's indexed text."""
    return chunk(
        memory.indexed_text,
        memory_id=memory.id,
        max_chars=sizes.max_chars,
        min_chars=sizes.min_chars,
        redactor=redactor,
    )

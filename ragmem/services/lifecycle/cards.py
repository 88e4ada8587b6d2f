"""Let a language model write one text of connected memories of a session, beside them.

A text that lacks anything of theirs is not used. The memories stay as they are, found by their own words.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.lifecycle.connections import star_clusters
from ragmem.domain.lifecycle.consolidation_prompt import SCHEMA, SYSTEM, prompt, read_draft
from ragmem.domain.lifecycle.folds import age_order
from ragmem.domain.model import Chunk, Memory, Scope, State, Tier, content_hash, digest, memory_id
from ragmem.domain.model.lifecycle import Entry, LifecyclePolicy
from ragmem.errors import BackendError
from ragmem.ports import INVALID, Call, LanguageModel, Meter, Store
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import index_by_id
from ragmem.services.lifecycle.items import CARD
from ragmem.services.processes.progress import Progress, Silent
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.gc_runs import GcChange

SOURCE = "consolidated"
"""The source of cards, and of the merged memories of earlier releases."""

MOST_CHARS = 12_000
"""Maximum characters of what a model is given; of more it forgets some, and its text is thrown away."""

LEAST_TOKENS = 512
"""Minimum tokens of an answer: title, text and braces of a short cluster."""

CHARS_PER_TOKEN = 2
"""Names and paths have few characters per token, and a truncated answer is useless."""


@dataclass(frozen=True, slots=True)
class Card:
    """A memory that a language model wrote of its `members`, which stay."""

    memory: Memory
    chunks: tuple[Chunk, ...]
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Writer:
    """The language model of a backend, and the meter that counts its unusable answers."""

    model: LanguageModel
    backend: str
    meter: Meter


def find_clusters(
    catalog: Catalog, projects: Sequence[str], staying: Collection[str], *, policy: LifecyclePolicy
) -> tuple[tuple[str, ...], ...]:
    """Return the clusters of connected memories of one session, source and scope, each by event time.

    All are among the ids in `staying`, and `is_foldable`. A memory of which a text was written is in none.
    """
    told = {one for some in catalog.gc_runs.originals(catalog.gc_runs.merged_ids()).values() for one in some}
    sessions: dict[tuple[Scope, str, str], dict[str, Entry]] = defaultdict(dict)
    # A card is its project's: it must not tell all members what one of them keeps to itself.
    told |= catalog.memories.readers().keys()
    for entry in catalog.lives.entries(projects, policy=policy):
        free = entry.id in staying and entry.id not in told and entry.memory.state is State.INDEXED
        if free and entry.is_foldable:
            sessions[entry.scope, entry.memory.source, entry.session][entry.id] = entry
    connections = catalog.connections.of(projects)
    found = []
    for members in sessions.values():
        for cluster in star_clusters(connections, members, minimum=policy.min_cluster):
            ordered = sorted((members[key] for key in cluster), key=age_order)
            if sum(len(entry.text) for entry in ordered) <= MOST_CHARS:
                found.append(tuple(entry.id for entry in ordered))
    return tuple(sorted(found))


def write_cards(
    clusters: Sequence[tuple[str, ...]],
    catalog: Catalog,
    writer: Writer,
    *,
    sizes: ChunkingSettings,
    progress: Progress | None = None,
) -> tuple[list[Card], str]:
    """Return the cards that the model wrote, and why some clusters have none; changes nothing.

    After the model fails or a daily cap is reached, it is not asked again.
    """
    told = progress or Silent()
    told.begin("writing", len(clusters))
    cards: list[Card] = []
    faults: list[str] = []
    for members in clusters:
        known = catalog.memories.get(members)
        try:
            made = _write([known[key] for key in members if key in known], writer)
        except BackendError as error:
            faults.append(error.full_message)
            break
        if isinstance(made, str):
            faults.append(made)
        else:
            cards.append(Card(made, chunks_of(made, sizes, redactor=catalog.redactor), members))
        told.advance(1)
    left = len(clusters) - len(cards)
    return cards, f"{left} of {len(clusters)} clusters have no text: {faults[0]}" if faults else ""


def _write(originals: Sequence[Memory], writer: Writer) -> Memory | str:
    """Return the memory that the model wrote, or why its answer is unusable."""
    given = "\n\n".join(
        f"{one.event_time.astimezone(UTC):%Y-%m-%d}: {one.title}\n{one.text}" for one in originals
    )
    most = max(LEAST_TOKENS, len(given) // CHARS_PER_TOKEN)
    answer = writer.model.complete(prompt(given), system=SYSTEM, max_tokens=most, json_schema=SCHEMA)
    title, text, fault = read_draft(answer, given, [one.text for one in originals])
    if fault:
        writer.meter.record(Call(writer.backend, writer.model.model_id, "extraction", error=INVALID))
        return fault
    return _card(originals, title, text, writer.model.model_id)


def _card(originals: Sequence[Memory], title: str, text: str, model: str) -> Memory:
    """Return the memory of a text; its id depends on its members only, so a second run gives the same."""
    newest = originals[-1]
    uri = f"{SOURCE}:{digest(*sorted(f'{one.id}{one.content_hash}' for one in originals))}"
    return Memory(
        id=memory_id(SOURCE, newest.scope, uri),
        source=SOURCE,
        uri=uri,
        text=text,
        title=title or newest.title,
        event_time=newest.event_time,
        created_at=newest.created_at,
        updated_at=newest.updated_at,
        content_hash=content_hash(text),
        scope=newest.scope,
        kind=newest.kind,
        category=newest.category,
        tier=Tier.INGEST,
        state=State.PENDING,
        tags=tuple(dict.fromkeys(tag for one in originals for tag in one.tags)),
        metadata={CARD: model, "merged_from": " ".join(one.id for one in originals)},
    )


def store_cards(catalog: Catalog, store: Store, run: str, cards: Sequence[Card]) -> tuple[int, str]:
    """Store and index cards whose members are all there, in the caller's run.

    Return how many, and why their vectors have to wait, or "". Undo takes them out again.
    """
    with catalog.database.write():
        there = catalog.memories.hashes(key for card in cards for key in card.members)
        fresh = [card for card in cards if there.keys() >= set(card.members)]
        catalog.memories.accept([(card.memory, card.chunks) for card in fresh])
        catalog.gc_runs.link(run, {card.memory.id: card.members for card in fresh})
        changes = [GcChange(card.memory.id, "", card.memory.content_hash) for card in fresh]
        catalog.gc_runs.note(run, "made", changes)
        catalog.gc_runs.add(run, {"make/card": len(fresh)} if fresh else {})
    try:
        index_by_id(catalog, store, [card.memory.id for card in fresh])
    except BackendError as error:
        return len(fresh), error.full_message
    return len(fresh), ""

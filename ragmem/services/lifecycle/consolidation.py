"""Have merged memories written by a language model, as far as its answers hold what is merged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragmem.config import ChunkingSettings
from ragmem.domain.lifecycle.consolidation_prompt import SCHEMA, SYSTEM, prompt, read_draft
from ragmem.domain.model import content_hash
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError
from ragmem.ports import INVALID, Call, LanguageModel, Meter
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.lifecycle.items import MergePlan, Plan
from ragmem.services.processes.progress import Progress, Silent
from ragmem.storage.home.catalog import Catalog

LEAST_TOKENS = 512
"""Of an answer: a short cluster's title, text and braces."""

CHARS_PER_TOKEN = 2
"""Names and paths have few characters a token; an answer that is cut is of no use."""


@dataclass(frozen=True, slots=True)
class DraftResult:
    """A plan, how many of its merges a model wrote, and why not the others, by the id of what is merged."""

    plan: Plan
    written: int
    kept: dict[str, str]

    @property
    def note(self) -> str:
        """One line for people; empty where the model wrote all."""
        if not self.kept:
            return ""
        total = self.written + len(self.kept)
        return f"{len(self.kept)} of {total} merged by rule: {next(iter(self.kept.values()))}"


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: a model of this backend, and who counts its answers that are of no use."""

    model: LanguageModel
    backend: str
    meter: Meter


def write_draft(
    plan: Plan,
    catalog: Catalog,
    writer: Writer,
    *,
    sizes: ChunkingSettings,
    progress: Progress | None = None,
) -> DraftResult:
    """Return the plan with the merged texts as a model writes them; nothing is changed.

    An answer that lacks a name, a number or a path, refuses, or adds much, is not used: then what was merged
    by rule stands. Once the model is down, or a daily cap is reached, it is not asked again.
    """
    told = progress or Silent()
    told.begin("writing", len(plan.merges))
    merges: list[MergePlan] = []
    kept: dict[str, str] = {}
    down = ""
    for one in plan.merges:
        made, why = one, down
        if not down:
            try:
                made, why = _write(one, _texts(catalog, one), writer, sizes, redactor=catalog.redactor)
            except BackendError as error:
                why = down = error.told
        if why:
            kept[one.memory.id] = why
        merges.append(made)
        told.advance(1)
    return DraftResult(replace(plan, merges=tuple(merges)), len(merges) - len(kept), kept)


def _texts(catalog: Catalog, merging: MergePlan) -> list[str]:
    return [memory.text for memory in catalog.memories.get(merging.members).values()]


def _write(
    merging: MergePlan, originals: Sequence[str], writer: Writer, sizes: ChunkingSettings, redactor: Redactor
) -> tuple[MergePlan, str]:
    """Return a merge as the model writes it, or as it was and why."""
    before = merging.memory
    model = writer.model
    most = max(LEAST_TOKENS, len(before.text) // CHARS_PER_TOKEN)
    answer = model.complete(prompt(before.text), system=SYSTEM, max_tokens=most, json_schema=SCHEMA)
    title, text, fault = read_draft(answer, before.text, originals)
    if fault:
        writer.meter.record(Call(writer.backend, model.model_id, "extraction", error=INVALID))
        return merging, fault
    memory = replace(
        before,
        title=title or before.title,
        text=text,
        content_hash=content_hash(text),
        metadata={**before.metadata, "merged_by": model.model_id},
    )
    return replace(merging, memory=memory, chunks=chunks_of(memory, sizes, redactor=redactor)), ""

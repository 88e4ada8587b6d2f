"""Let a language model write merged memories, if its answers keep the facts of the originals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragmem.config.settings import ChunkingSettings
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
"""Minimum tokens of an answer: title, text and braces of a short cluster."""

CHARS_PER_TOKEN = 2
"""Names and paths have few characters per token, and a truncated answer is useless."""


@dataclass(frozen=True, slots=True)
class DraftResult:
    """A plan, the number of merges written by a model, and id -> reason for the others."""

    plan: Plan
    written: int
    kept: dict[str, str]

    @property
    def note(self) -> str:
        """One line for people; empty if the model wrote all."""
        if not self.kept:
            return ""
        total = self.written + len(self.kept)
        return f"{len(self.kept)} of {total} merged by rule: {next(iter(self.kept.values()))}"


@dataclass(frozen=True, slots=True)
class Writer:
    """The language model of a backend, and the meter that counts its unusable answers."""

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
    """Return the plan with merged texts written by a model; changes nothing.

    An answer that lacks a name, a number or a path, refuses, or adds too much is not used: the text merged by
    rule stays. After the model fails or a daily cap is reached, it is not asked again.
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
                why = down = error.full_message
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
    """Return the merge as written by the model and "", or the unchanged merge and the reason."""
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

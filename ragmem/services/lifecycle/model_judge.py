"""Let a language model decide what the rules are unsure of: what is outdated, and what is worthless.

It is asked within `gc`, and an error of its does no harm that one cannot see: an outdated memory is only
marked, a worthless one is archived only where the judge tends to the same, and an undo takes back both.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path

import numpy as np

from ragmem.domain.classification.signal import is_perhaps_noise
from ragmem.domain.lifecycle import judgement_prompt as prompts
from ragmem.domain.lifecycle.ageing import COLD
from ragmem.domain.lifecycle.changes import ReadMemory, Statements, may_be_replaced
from ragmem.domain.model import SHARED, State
from ragmem.domain.model.lifecycle import Decision, Entry, LifecyclePolicy
from ragmem.domain.model.supersession import JUDGED_OUTDATED
from ragmem.errors import BackendError
from ragmem.ports import INVALID, Call, Store
from ragmem.services.connections.connect import nearest
from ragmem.services.lifecycle.cards import Writer
from ragmem.services.lifecycle.items import CARD, Comparison, Item, Plan, item_of
from ragmem.services.lifecycle.known_changes import short_hash
from ragmem.services.lifecycle.text_cache import read_arrays, write_arrays
from ragmem.services.processes.progress import Progress, Silent
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches

MOST_OLDER = 6
"""Older memories that the model compares with a newer one: those that are most strongly connected with it."""

NOTES = 8
"""Memories of one question about worth."""

MAX_TOKENS = 1024
"""Tokens of an answer: six quotations."""

CACHE = "gc-judged"
"""The file in the cache folder for `KnownAnswers`."""

_KEYS = "keys"


class KnownAnswers:
    """The pairs of texts that a model has compared, by their keys, in a file; `model` names it.

    None is compared again until one of its texts changes, or the file is lost.
    """

    def __init__(self, file: Path, model: str) -> None:
        self._file = file
        self._rules = f"{model}\n{prompts.OUTDATED_SYSTEM}".encode()
        self._stored = frozenset(read_arrays(file, self._rules).get(_KEYS, np.empty(0, np.uint64)).tolist())
        self.keys: set[int] = set(self._stored)

    def save(self) -> None:
        """Write what is new."""
        if self.keys != self._stored:
            write_arrays(self._file, self._rules, {_KEYS: np.array(sorted(self.keys), np.uint64)})


def find_comparisons(
    catalog: Catalog,
    projects: Sequence[str],
    staying: Collection[str],
    known: Collection[int],
    *,
    policy: LifecyclePolicy,
) -> tuple[Comparison, ...]:
    """Return what the model is to compare, the newest memories first; all are among the ids in `staying`.

    Older are connected memories that the rules of `changes` let be replaced, that nothing marks yet, and
    whose pair is not in `known`. What somebody shares or keeps to themselves is in no comparison.
    """
    found: list[tuple[Entry, Comparison]] = []
    apart = catalog.memories.readers().keys()
    for project in projects:
        entries = {
            entry.id: entry
            for entry in catalog.lives.entries([project], policy=policy)
            if entry.id in staying and entry.id not in apart and _is_comparable(entry)
        }
        near: dict[str, list[tuple[float, str, int]]] = defaultdict(list)
        for one in catalog.connections.of([project]):
            if one.first in entries and one.second in entries:
                for newer, older in ((one.first, one.second), (one.second, one.first)):
                    pair = entries[newer], entries[older]
                    if _may_replace(*pair) and (key := _pair_key(*pair)) not in known:
                        near[newer].append((-one.strength, older, key))
        for newer, others in near.items():
            _, nearest_ids, keys = zip(*sorted(others)[:MOST_OLDER], strict=True)
            found.append((entries[newer], Comparison(newer, nearest_ids, keys)))
    found.sort(key=lambda one: (one[0].memory.event_time, one[0].id), reverse=True)
    return tuple(comparison for _, comparison in found)


def _is_comparable(entry: Entry) -> bool:
    withheld = entry.approval.is_withheld or entry.memory.state is not State.INDEXED
    return not (withheld or CARD in entry.memory.metadata or entry.memory.source == SHARED)


def _pair_key(newer: Entry, older: Entry) -> int:
    return short_hash(f"{newer.memory.content_hash}\n{older.memory.content_hash}")


def _may_replace(newer: Entry, older: Entry) -> bool:
    nothing = Statements(None, ())
    return (
        may_be_replaced(older)
        and not (older.pinned or older.perhaps_outdated)
        and ReadMemory.of(newer, nothing).may_replace(ReadMemory.of(older, nothing))
    )


def ask_model(
    catalog: Catalog,
    store: Store,
    plan: Plan,
    writer: Writer,
    *,
    most: int,
    policy: LifecyclePolicy,
    known: KnownAnswers,
    progress: Progress | None = None,
) -> tuple[Plan, str]:
    """Return the plan with what the model decided, and why questions have no answer, or "".

    At most `most` comparisons are made. After the model fails or a daily cap is reached, it is not asked
    again. What it answered is added to `known`.
    """
    waiting = (plan.comparisons or ())[:most]
    alone = [item for item in plan.items if (item.action, item.rule) == ("reprieve", "alone")]
    judge = _ModelJudge(catalog, writer, policy, progress or Silent())
    decided: dict[str, Item] = {}
    try:
        judge.progress.begin("judging", len(waiting) + len(alone))
        for comparison in waiting:
            told = judge.compare(comparison)
            if told is not None:
                known.keys.update(comparison.keys)
                decided |= {key: item for key, item in told.items() if key not in decided}
        for batch in batches([item.id for item in alone], NOTES):
            decided |= judge.archive(batch, store)
    except BackendError as error:
        judge.faults.append(error.full_message)
    known.save()
    note = f"the language model did not decide everything: {judge.faults[0]}" if judge.faults else ""
    return replace(plan, items=tuple(decided.get(item.id, item) for item in plan.items)), note


@dataclass
class _ModelJudge:
    """Asks the model, and turns its answers into items of the plan; `faults` are its unusable answers."""

    catalog: Catalog
    writer: Writer
    policy: LifecyclePolicy
    progress: Progress
    faults: list[str] = field(default_factory=list)

    def compare(self, asked: Comparison) -> dict[str, Item] | None:
        """Return older memory -> its mark; None where the answer is unusable."""
        self.progress.advance(1)
        entries = self.catalog.lives.find_entries([asked.newer, *asked.older], policy=self.policy)
        newer = entries.pop(asked.newer, None)
        older = [entries[key] for key in asked.older if key in entries]
        if newer is None or not older:
            return {}
        text = _note(newer)
        answer = self._complete(
            prompts.outdated_prompt(text, list(map(_note, older))),
            system=prompts.OUTDATED_SYSTEM,
            schema=prompts.OUTDATED_SCHEMA,
        )
        found = prompts.read_outdated(answer, text, len(older))
        if found is None:
            self._count_invalid()
            return None
        return {
            older[place].id: item_of(
                Decision(older[place].id, "mark", JUDGED_OUTDATED, self._reason(quote), (newer.id,)),
                older[place],
            )
            for place, quote in found.items()
        }

    def archive(self, ids: Sequence[str], store: Store) -> dict[str, Item]:
        """Return memory -> its archival, of isolated ones that the model and the judge call worthless."""
        self.progress.advance(len(ids))
        entries = self.catalog.lives.find_entries(ids, policy=self.policy)
        unsure = [one for key in ids if (one := entries.get(key)) and _is_unsure(one)]
        if not unsure:
            return {}
        answer = self._complete(
            prompts.worthless_prompt([one.text for one in unsure]),
            system=prompts.WORTHLESS_SYSTEM,
            schema=prompts.WORTHLESS_SCHEMA,
        )
        found = prompts.read_worthless(answer, len(unsure))
        if found is None:
            self._count_invalid()
            return {}
        worthless = [unsure[place] for place in sorted(found)]
        # In large projects, connections are searched approximately.
        strengths = nearest(self.catalog, store, [entry.id for entry in worthless])
        reason = f"isolated, never recalled, and worthless to {self.writer.model.model_id}"
        return {
            entry.id: item_of(Decision(entry.id, "archive", COLD, reason), entry)
            for entry in worthless
            if strengths.get(entry.id) == 0
        }

    def _reason(self, quote: str) -> str:
        said = self.catalog.redactor.redact(quote)[0]
        return f'{self.writer.model.model_id}: "{said}" makes it untrue'

    def _complete(self, prompt: str, *, system: str, schema: Mapping[str, object]) -> str:
        return self.writer.model.complete(prompt, system=system, max_tokens=MAX_TOKENS, json_schema=schema)

    def _count_invalid(self) -> None:
        call = Call(self.writer.backend, self.writer.model.model_id, "extraction", error=INVALID)
        self.writer.meter.record(call)
        self.faults.append("an answer does not have the requested format")


def _is_unsure(entry: Entry) -> bool:
    return not entry.sessions and is_perhaps_noise(entry.text, source=entry.memory.source)


def _note(entry: Entry) -> str:
    memory = entry.memory
    title = f" {memory.title}" if memory.title else ""
    return f"{memory.event_time.astimezone(UTC):%Y-%m-%d}{title}\n{memory.text}"

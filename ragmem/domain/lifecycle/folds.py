"""Find memories that say nothing of their own: another one says the same, or all of it and more.

What a reader puts around a text (labels of speakers, headings of phases, the prompt as a title) makes no two
memories alike.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ragmem.domain.lifecycle.templates import mask_values, own_title
from ragmem.domain.model import Scope, State
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Entry, LifecycleState
from ragmem.domain.sessions.phases import Phase
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.domain.text.blocks import BlockType, units
from ragmem.domain.text.turns import turns

FEWEST = 3
"""Minimum memories that are the same but for the values of a run; two may be two measurements."""

FEWEST_WORDS = 6
"""Minimum words of a memory that can be a copy: "Looks good." depends on its context."""

MOST_CHARS = 4_000
"""Maximum characters of a report of a machine; a longer text is a document."""

_LABELS = frozenset({"user", "assistant", *Phase})
"""What the reader of transcripts writes around a text."""

_LABEL = re.compile(r"\W*(\w+)\W*")
_PART = re.compile(r"\s*\(part \d+\)")


@dataclass(frozen=True, slots=True)
class Fold:
    """A memory that stays, and `others` that add nothing to it; `reason` says why."""

    keeper: Entry
    others: tuple[Entry, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class _StatementList:
    """The statements of a memory, the headings above each, and all headings and prompts `around` them."""

    statements: tuple[str, ...]
    headings: tuple[frozenset[str], ...]
    around: frozenset[str]

    @property
    def words(self) -> int:
        return sum(len(one.split()) for one in self.statements)

    @property
    def size(self) -> tuple[int, int, int]:
        return len(self.statements), len(self.around), sum(map(len, self.headings))

    def holds(self, part: "_StatementList", at: int) -> bool:
        """Return whether all statements of a part are here, from position `at` on."""
        end = at + len(part.statements)
        return (
            at >= 0
            and self.statements[at:end] == part.statements
            and all(map(frozenset.issubset, part.headings, self.headings[at:end]))
            and part.around <= self.around.union(self.statements)
        )


def masked_text(entry: Entry) -> str:
    """Return the text of a memory without the values of a run; see `mask_values`."""
    return mask_values(entry.text)


def repeated_reports(
    entries: Iterable[Entry], *, masking: Callable[[Entry], str] = masked_text
) -> list[Fold]:
    """Return 3 or more reports of one source and scope that differ only in values of a run; the newest stays.

    Only what is in the buffer may fold. What is protected, pinned, curated, superseded or a page of a
    document never does. A text without values of a run is a fact, however often it is repeated. The order of
    the entries does not matter. `masking` stands in for `masked_text`.
    """
    alike: dict[tuple[Scope, str, str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        memory = entry.memory
        free = entry.life is LifecycleState.BUFFER and not (
            entry.is_protected
            or entry.curated
            or entry.superseded_by
            or entry.approval.is_withheld
            or memory.state is State.BUFFERED
        )
        if not free or len(entry.text) > MOST_CHARS or is_of_document(memory.metadata):
            continue
        masked = masking(entry)
        if "\0" in masked and _said(entry).words >= FEWEST_WORDS:
            alike[entry.scope, memory.source, own_title(memory), masked].append(entry)
    found = []
    for group in alike.values():
        if len(group) >= FEWEST:
            *others, keeper = sorted(group, key=age_order)
            reason = f"says what {keeper.id[:12]} says but for the values of a run"
            found.append(Fold(keeper, tuple(others[::-1]), reason))
    return sorted(found, key=lambda fold: fold.keeper.id)


def contained(entries: Iterable[Entry]) -> list[Fold]:
    """Return the memories whose statements another one of their session, source and scope contains.

    They are there word for word, in order and without a gap, under the same headings, like the prompt. All
    are `is_foldable`. The longest one stays, of equals the newest. The order of the entries does not matter.
    """
    sessions: dict[tuple[Scope, str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.is_foldable:
            sessions[entry.scope, entry.memory.source, entry.session].append(entry)
    found = []
    for members in sessions.values():
        ordered = sorted(members, key=age_order)
        for keeper, others in _containers(ordered).items():
            reason = f"{ordered[keeper].id[:12]} of its session says all of it"
            found.append(Fold(ordered[keeper], tuple(ordered[other] for other in others[::-1]), reason))
    return sorted(found, key=lambda fold: fold.keeper.id)


def _containers(members: Sequence[Entry]) -> dict[int, list[int]]:
    """Return place -> the places of those that it contains, for memories of one session, oldest first."""
    said = [_said(entry) for entry in members]
    titles = ["" if entry.memory.source == SOURCE else own_title(entry.memory) for entry in members]
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, one in enumerate(said):
        for at, statement in enumerate(one.statements):
            places[statement].append((number, at))
    order = [(one.size, number) for number, one in enumerate(said)]
    found: dict[int, list[int]] = defaultdict(list)
    for number, part in enumerate(said):
        if part.words < FEWEST_WORDS:
            continue
        # The rarest statement leads to the fewest candidates.
        anchor = min(range(len(part.statements)), key=lambda at: len(places[part.statements[at]]))
        holding = {
            other
            for other, at in places[part.statements[anchor]]
            if other != number
            and order[other] > order[number]
            and said[other].holds(part, at - anchor)
            and titles[number] in {"", titles[other]}
        }
        if holding:
            found[max(holding, key=lambda other: order[other])].append(number)
    return found


def _said(entry: Entry) -> _StatementList:
    text, of_reader = entry.text, entry.memory.source == SOURCE
    prompts = [(turn.body, turn.end) for turn in turns(text) if turn.asks]
    statements: list[str] = []
    above: list[frozenset[str]] = []
    around: set[str] = set()
    path: list[tuple[int, str]] = []
    for block, start, end in units(text):
        statement = " ".join(text[start:end].split())
        label = _LABEL.fullmatch(statement) if of_reader else None
        if label and label[1].lower() in _LABELS:
            path = [] if block.form is BlockType.HEADING else path
        elif block.form is BlockType.HEADING:
            path = [*(one for one in path if one[0] < block.level), (block.level, block.title)]
            around.add(block.title)
        elif any(begin < end and start < stop for begin, stop in prompts):
            around.add(_PART.sub("", statement.removeprefix("User: ")))
        else:
            statements.append(statement)
            above.append(frozenset(title for _, title in path))
    return _StatementList(tuple(statements), tuple(above), frozenset(around))


def age_order(entry: Entry) -> tuple[float, int, str]:
    """Return a sort key: by event time, then in the order of insertion."""
    return entry.memory.event_time.timestamp(), entry.number, entry.id

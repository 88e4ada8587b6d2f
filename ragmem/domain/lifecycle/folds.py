"""Find memories that say nothing of their own: another one says the same, or all of it and more.

What a reader puts around a text (labels of speakers, headings of phases, the prompt as a title) makes no two
memories alike.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ragmem.domain.classification.judge import is_foreign_prose
from ragmem.domain.model import Memory, Scope, State
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

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]m\b)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?\b"
_DATE = rf"(?:\d{{4}}[-/]\d{{2}}[-/]\d{{2}}|\d{{1,2}}\s{_MONTH}\s\d{{4}}|{_MONTH}\s\d{{1,2}},?\s\d{{4}})"
_UNIT = r"(?:ms|s|secs?|seconds?|min|mins|minutes?|h|hrs?|hours?|milliseconds?|us|\u00b5s|ns)"
_RAN = (
    r"(?:passed|finished|completed|succeeded|done|ended|ran|took|elapsed|built|compiled|exited|ready|loaded|"
    r"written|synced|deployed|uploaded|downloaded|indexed|copied|started|failed)"
)
_WENT = (
    r"(?:passed|copied|processed|touched|scanned|checked|synced|indexed|compiled|uploaded|downloaded|"
    r"transferred|written|fetched)"
)
_RUN = (
    r"(?:(?:ci|test|nightly|workflow|pipeline|backup|build|cron|batch)[ -])?"
    r"(?:run|build|pipeline|attempt|iteration|epoch|job)"
)


def _search_of(words: str) -> Callable[[str], re.Match[str] | None]:
    """Return a search for words in any case, which takes a third of the time for a text of ASCII."""
    any_case, small = re.compile(words, re.IGNORECASE), re.compile(words)
    return lambda text: small.search(text.lower()) if text.isascii() else any_case.search(text)


_search_report = _search_of(rf"\b{_RAN}\b")
"""Words of a report; a text without them, and without a leading timestamp in a line, states a fact."""

_search_rule = _search_of(
    r"\b(?:must|shall|should|needs?|requir\w+|allow\w*|limit\w*|max\w*|minim\w*|at least|at most|within|"
    r"timeouts?|budget|deadline|target|threshold|quota|pinned|default\w*|always|never|because|decided)\b"
)
"""Words of a rule or explanation, whose numbers are never masked."""

_TELLS_WHEN = re.compile(
    r"(?:\b(?:until|till|due|valid|expir\w+|before|after|by|since|from|next|runs?|start(?:s|ing)?|begin\w*|"
    r"ends|opens?|closes?|scheduled|planned|every|daily|nightly|weekly|version|release\w*|born|birthday|"
    r"between|to|and|for|of)(?:\s(?:on|at|in|the))?|[(/=#v-])\s*$",
    re.IGNORECASE,
)
"""Words before a date or time that is a fact: an appointment, a deadline or a range."""

_DIGIT = re.compile(r"\d")
_LETTER_HASH = re.compile(r"[a-f]{8}-", re.IGNORECASE)
"""Each value of a run has a digit, but for a hash of letters alone."""

_STAMP = re.compile(rf"(?<![\w./:-]){_DATE}(?:,?[T\s](?:at\s)?{_CLOCK}{_ZONE})?(?![\w/-])", re.IGNORECASE)
_TIME = re.compile(rf"(?<![\w./:-]){_CLOCK}{_ZONE}(?![\w/-]|:\d)", re.IGNORECASE)
_LEADING = re.compile(
    rf"^(\W{{0,4}})(?:{_DATE}(?:,?[T\s]{_CLOCK}{_ZONE})?|\d{{2}}:\d{{2}}:\d{{2}})(?![\w/-])",
    re.IGNORECASE | re.MULTILINE,
)
_HASH = re.compile(
    r"\b(commit|sha|hash|digest|checksum|revision|session|run|build|backup|snapshot|checkpoint|trace|request)"
    r"(:?\s+)(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64})(?![\w/@-])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"\b({_RUN})(\s+(?:(?:no\.?|number|id)\s+)?#?|\s*#)\d+(?=\s+(?:{_RAN}|of)\b|[,;)]|[:.](?!\S)|\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_HASH_NUMBERED = re.compile(rf"^(\W{{0,3}})#\d+(?=\s+{_RAN}\b)", re.IGNORECASE | re.MULTILINE)
_TOOK = re.compile(
    rf"\b({_RAN}\s+(?:at\s+\0time\s+)?(?:(?:in|after)\s+)?)"
    rf"(?:\d+(?:\.\d+)?\s?{_UNIT}\b(?:\s(?=\d))?){{1,3}}(?!\s?\d)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    rf"(?<![\w.,:/#$\u20ac-])[1-9]\d*(?:,\d{{3}})*(?=(?:\s+[A-Za-z]+)?\s+{_WENT}\b)", re.IGNORECASE
)

_TIMES, _RUNS, _HASHES, _DURATIONS, _COUNTS = "\0time", "\0run", "\0hash", "\0duration", "\0count"
"""Placeholders of masked values; no stored text contains NUL."""


def mask_values(text: str) -> str:
    """Return a text with run values masked and white space folded; copies of a template become equal.

    Such a value is a timestamp, the number or hash of a run, the time that it took, or what it went through.
    Any other word or number is a fact: a port, a limit, a version, a name. When in doubt, it is a fact.
    Nothing is masked in a text that rules or explains something, in one that does not report, and in one of
    another language than English, whose rules nobody here can tell. A report says that something ran, or a
    line of it begins with a timestamp.
    """
    plain = " ".join(text.split())
    has_value = _DIGIT.search(text) or _LETTER_HASH.search(text)
    if not has_value or not (_search_report(text) or _LEADING.search(text)) or _search_rule(text):
        return plain
    if is_foreign_prose(text):
        return plain
    found = _LEADING.sub(rf"\1{_TIMES}", text)
    found = _mask_dates(_STAMP, found)
    found = _mask_dates(_TIME, found)
    found = _HASH.sub(rf"\1\2{_HASHES}", found)
    found = _NUMBERED.sub(rf"\1\2{_RUNS}", found)
    found = _HASH_NUMBERED.sub(rf"\1{_RUNS}", found)
    found = _TOOK.sub(rf"\1{_DURATIONS}", found)
    found = _COUNTED.sub(_COUNTS, found)
    return " ".join(found.split())


def _mask_dates(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with dates and times masked, except where the word before makes one a fact."""

    def mark(found: re.Match[str]) -> str:
        is_term = _TELLS_WHEN.search(text, max(0, found.start() - 24), found.start())
        return found.group() if is_term else _TIMES

    return pattern.sub(mark, text)


def own_title(memory: Memory) -> str:
    """Return the information that a title adds to the text; "" for a file name or a part of the text."""
    title = " ".join(memory.title.split())
    name = memory.uri.rpartition("/")[2]
    told = title in {name, name.rpartition(".")[0]} or title.rstrip("\u2026") in " ".join(memory.text.split())
    return "" if told else mask_values(title)


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
            reason = f"repeats {keeper.id[:12]}, except for run values"
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
            reason = f"{ordered[keeper].id[:12]} from its session contains all of it"
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

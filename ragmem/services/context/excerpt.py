"""The excerpt of one memory: whole sentences, without secrets, under a line with their source."""

import math
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

from ragmem.domain.classification.summary import summary_spans
from ragmem.domain.model import SHORT_ID_LENGTH, Chunk, Memory, Tier
from ragmem.domain.model.document_place import describe_place
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.domain.sessions.transcript import SOURCE as SESSIONS
from ragmem.domain.text.excerpts import GAP, announces, atoms, estimate_tokens, find_overlaps, runs
from ragmem.services.retrieval.excerpts import WHOLE, SecretSearch, answer_order, secret_search

ALIKE = 0.7
"""Minimum share of the smaller one's word pairs in common from which two excerpts are duplicates."""

MAX_TITLE = 120
"""Maximum characters of a title with its headings in the line above a text."""

PLACE_SHARE = 0.1
"""Maximum share of a block for the place of one memory: a small block has room for the text alone."""

MOST_ANSWERS = 3
"""Maximum sentences outside of the best chunk that are shown because they answer the question."""

MOST_MEASURED = 100_000
"""Characters from which parts are measured as they are: they have room in hardly any block, and a search for
secrets in a file in base64 takes a second for three megabytes."""

COMPARED = 4000
"""Characters of an excerpt that are compared with others."""

_WORD = re.compile(r"\w+")
_MARKS = " #\t=\r\n"

Chosen = frozenset[int]
"""The numbers of the parts of a text that are shown."""


class Excerpt:
    """A memory with some shown parts; `chunks` are its matching chunks, best first, perhaps none.

    Of a memory without room for a whole chunk the sentences that answer the `question` are shown first.
    The line above has a `note` if the memory is no longer valid, and `elsewhere` if other projects have the
    same text. `room` is the tokens of the whole block.
    """

    def __init__(
        self,
        memory: Memory,
        chunks: Sequence[Chunk] = (),
        *,
        redactor: Redactor,
        question: str = "",
        home: str = "",
        note: str = "",
        elsewhere: str = "",
        room: float = math.inf,
    ) -> None:
        self.memory = memory
        self.text = memory.indexed_text
        self._chunks = tuple(chunks)
        self._question = question
        self._home = home
        self._redactor = redactor
        self.note = note
        self._elsewhere = elsewhere
        self._room = room
        self._costs: dict[Chosen, tuple[int, int]] = {}
        self._heads: dict[bool, str] = {}

    @cached_property
    def all_parts(self) -> Chosen:
        """All parts except a heading that repeats the title."""
        parts = range(len(self._parts))
        return frozenset(parts) - {n for n in parts[:1] if self._is_heading(n, self.memory.title)}

    @cached_property
    def core(self) -> tuple[int, ...]:
        """The parts of the best chunk that matched.

        Without one: all parts of an ingested memory, and the sentences with the signal of a summarized one.
        """
        if kept := self._parts_of(self._chunks[0]) if self._chunks else ():
            return kept
        if self.memory.tier is Tier.INGEST:
            return tuple(sorted(self.all_parts))
        spans = summary_spans(self.text)
        told = {number for start, end in spans for number in find_overlaps(self._parts, start, end)}
        return tuple(sorted(self.all_parts.intersection(told))) or tuple(sorted(self.all_parts))

    @cached_property
    def best_first(self) -> tuple[int, ...]:
        """The parts of the core: those that answer the question first, then the others in their order."""
        core = frozenset(self.core)
        return tuple(dict.fromkeys([*(part for part in self._answering if part in core), *self.core]))

    def answers(self, number: int) -> bool:
        """Return whether a part answers the question, so that the next one may do as well."""
        return number in self._answering

    @cached_property
    def _answering(self) -> tuple[int, ...]:
        """The parts that answer the question, best first; none without a question."""
        if not self._question:
            return ()
        matched = [(chunk.start, chunk.end) for chunk in self._chunks]
        spans = answer_order(self.text, self._question, matched)
        found = (number for start, end in spans for number in find_overlaps(self._parts, start, end))
        return tuple(dict.fromkeys(number for number in found if number in self.all_parts))

    @cached_property
    def other_matches(self) -> list[Chosen]:
        """The parts that answer best, and those of each of the other chunks that matched, best first."""
        best = frozenset(self._answering[:MOST_ANSWERS])
        return [best, *(frozenset(self._parts_of(chunk)) for chunk in self._chunks[1:])]

    def _parts_of(self, chunk: Chunk) -> tuple[int, ...]:
        numbers = find_overlaps(self._parts, chunk.start, chunk.end)
        above = chunk.heading.rsplit(" > ", 1)[-1]
        if numbers and self._is_heading(numbers[0], above):
            numbers = numbers[1:]
        return tuple(number for number in numbers if number in self.all_parts)

    def around(self, chosen: Chosen) -> list[Chosen]:
        """Return the next candidates: the text after a shown part, then the text before it.

        An announcing part, such as a heading, comes with the text below it. A summarized memory has none:
        only its excerpt is shown.
        """
        if self.memory.tier is not Tier.INGEST:
            return []
        found = []
        for first, last in runs(chosen):
            after = last + 1
            while after < len(self._parts) - 1 and announces(self.text, self._parts[after]):
                after += 1
            if after < len(self._parts):
                found.append(frozenset(range(last + 1, after + 1)) - chosen)
            if first - 1 in self.all_parts:
                found.append(frozenset({first - 1}))
        return [group for group in found if group]

    def complete(self, chosen: Chosen) -> Chosen:
        """Return the parts without announcing ones (such as headings) at the end of a gap."""
        kept = set(chosen)
        for _, last in runs(chosen):
            number = last
            while (
                number in kept and number + 1 < len(self._parts) and announces(self.text, self._parts[number])
            ):
                kept.discard(number)
                number -= 1
        return frozenset(kept)

    def render(self, chosen: Chosen) -> str:
        """Return a blank line, the line above, and the chosen parts in the order of the text."""
        return self._below_head(chosen, [self._redact_span(*span) for span in self._spans(chosen)])

    def cost(self, chosen: Chosen) -> tuple[int, int]:
        """Return the tokens and the characters of these parts; of very long ones with their secrets."""
        if chosen not in self._costs:
            spans = self._spans(chosen)
            if sum(end - start for start, end in spans) > MOST_MEASURED:
                text = self._below_head(chosen, [self.text[start:end] for start, end in spans])
            else:
                text = self.render(chosen)
            self._costs[chosen] = estimate_tokens(text), len(text)
        return self._costs[chosen]

    def _spans(self, chosen: Chosen) -> list[tuple[int, int]]:
        return [(self._parts[first][0], self._parts[last][1]) for first, last in runs(chosen)]

    def _below_head(self, chosen: Chosen, pieces: Sequence[str]) -> str:
        body = f"\n{GAP}\n".join(pieces)
        return f"\n{self._head(chosen)}\n{body}\n"

    def repeats(self, other: "Excerpt") -> bool:
        """Return whether nearly all of one excerpt is in the other, and both are valid or neither is."""
        if bool(self.note) != bool(other.note):
            return False
        smaller = min(len(self.pairs), len(other.pairs))
        return bool(smaller) and len(self.pairs & other.pairs) >= ALIKE * smaller

    @cached_property
    def has_content(self) -> bool:
        """Whether there is more than a heading that repeats the title; computed without a split."""
        first, _, rest = self.text.lstrip().partition("\n")
        return bool(rest.strip()) or (bool(first.strip()) and not _repeats(first, self.memory.title))

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of adjacent words in the best match, in lower case.

        Computed without splitting the text: most compared excerpts are never shown.
        """
        start, end = (self._chunks[0].start, self._chunks[0].end) if self._chunks else (0, len(self.text))
        said = self.text[start:end].lstrip()
        heading, _, rest = said.partition("\n")
        if heading.startswith("#") and rest.strip():
            said = rest
        return frozenset(pairwise(_WORD.findall(said[:COMPARED].lower())))

    def is_fence(self, number: int) -> bool:
        """Return whether a part is a code fence, which may be omitted alone."""
        return self.text.startswith(("```", "~~~"), self._parts[number][0])

    @cached_property
    def _parts(self) -> Sequence[tuple[int, int]]:
        return _parts_of_long(self.text) if len(self.text) > WHOLE else atoms(self.text)

    def _redact_span(self, start: int, end: int) -> str:
        """Return a part of the text with its secrets redacted; some may begin or end outside of it."""
        return cover(self.text, self._secrets.near([(start, end)]), start, end)

    @cached_property
    def _secrets(self) -> SecretSearch:
        return secret_search(self.text, self._redactor, self.memory.clean_hash)

    def _is_heading(self, number: int, title: str) -> bool:
        """Return whether a part is this heading."""
        start, end = self._parts[number]
        return _repeats(self.text[start:end], title)

    def _head(self, chosen: Chosen) -> str:
        # Without chosen parts, too: the line above can be measured without a split of the text.
        in_part = not chosen or chosen < self.all_parts
        if in_part not in self._heads:
            self._heads[in_part] = self._line_above(in_part=in_part)
        return self._heads[in_part]

    def _line_above(self, *, in_part: bool) -> str:
        memory = self.memory
        headings = self._chunks[0].heading.split(" > ") if self._chunks and in_part else []
        path: list[str] = []
        for name in (memory.title, *headings):
            plain = " ".join(name.split())
            # A title may have the aliases of a note behind it.
            if plain and not (path and f"{path[-1]} (".casefold().startswith(f"{plain} (".casefold())):
                path.append(plain)
        title = " > ".join(path)
        if len(title) > MAX_TITLE:
            title = title[: MAX_TITLE - 1].rstrip() + "…"
        said = f"[{memory.short_id}] {memory.event_time:%Y-%m-%d} {memory.provenance}"
        place = self._place()
        if estimate_tokens(place) > PLACE_SHARE * self._room:
            place = ""
        extent = "summary" if memory.summary else "in part" if in_part else ""
        return self._redactor.redact(
            " | ".join(filter(None, (said, self.note, title, place, self._elsewhere, extent)))
        )[0]

    def _place(self) -> str:
        """Return the source file of the memory, with ~ for the home, or its session; "" if it has none."""
        uri, told = " ".join(self.memory.uri.split()), self.memory.metadata
        if not uri.startswith(("/", "~")):
            return ""
        if self.memory.source == SESSIONS and told.get("session"):
            # The path of a transcript names its session twice, and is of no use to a reader.
            return f"{told.get('assistant', '')} session {told['session'][:SHORT_ID_LENGTH]}".strip()
        if self._home and uri.startswith(f"{self._home}/"):
            uri = "~" + uri[len(self._home) :]
        return describe_place(uri, self.memory.metadata)


@lru_cache(maxsize=16)
def _parts_of_long(text: str) -> tuple[tuple[int, int], ...]:
    """Return the parts of a long text; answers show the same ones again, and splitting takes milliseconds."""
    return tuple(atoms(text))


def _repeats(line: str, title: str) -> bool:
    """Return whether a part is a heading, and this one."""
    if not line.startswith("#") or "\n" in line:
        return False
    return line.strip(_MARKS).casefold() == title.strip(_MARKS).casefold()

"""The excerpt of a match: the sentences that answer the question, in whole, within some characters."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from ragmem.domain.model import Match, Memory
from ragmem.domain.retrieval.sentences import (
    Sentence,
    Span,
    rank_sentences,
    sentences_of,
    without_fields,
    without_repeated_tables,
)
from ragmem.domain.secrets.redaction import Redactor, Secret, cover
from ragmem.domain.sessions.transcript import ANSWER_LABEL, QUESTION_LABEL, RESULT_HEADING
from ragmem.domain.text.excerpts import visible
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.words import fold_words, pairs, stem
from ragmem.patterns import lazy

FIRST, FURTHER = 480, 240
"""Characters of the excerpt of the first match, and of each further one."""

AROUND = 1_000
"""Characters of a text that are read before and after each chunk that matched."""

RESULT = 3_000
"""Characters of the result of an exchange that are read, wherever the match is."""

ASKED, WORK, DONE = 0.3, 0.75, 0.5
"""Worth of a sentence of an exchange that is its question, of one that was said during the work, and of a
line that lists actions."""

OUTSIDE = 0.7
"""Worth of a sentence outside of the chunks that matched."""

LONGEST_HEADING = 80
"""Maximum characters of a heading that stands before the sentences of its section."""

SHORTEST = 100
"""Minimum characters of a sentence that is cut to fit."""

GAP = " \u2026 "
"""Stands for what is left out between two sentences."""

REACH = 4_000
"""Characters searched for secrets on both sides of what is shown: no key is as long, and texts were
redacted before they were stored."""

WHOLE, STEP = 8_000, 2_000
"""Maximum characters of a text that is searched for secrets as a whole, and the steps in a longer one."""

MOST_SEARCHED = 16
"""Texts of which the secrets that were found are kept: as many as an answer has."""

FAR_REACHING = lazy(r"<private|-----BEGIN", re.IGNORECASE)
"""The beginning of a secret that may end anywhere."""

_DONE = lazy(r"- (?:Looked at|Searched for|Handed on|Changed|Wrote|Ran|Tested with|Plan:) ")
"""The beginning of a line of actions, as `domain.sessions.phases` writes it."""

_SENDER = lazy(r'\s*(?:# [^\n]*\n\s*)?From:[ \t]*(?=[^\n]*@)"?([^"<\n]{1,80})')
"""The name in the first line of a mail, which may follow its subject."""

_WORD = lazy(r"\w+")
_AROUND_WORDS = lazy(r"^[ \t]*[->*+]+[ \t]|(?<=\])\([^()\s]{1,500}\)|[\[\]*_\s]")
"""White space and marks of quotes, items and emphasis, and the targets of links."""


class SecretSearch:
    """A search for secrets in a text, near to what is shown of it; each part of the text is searched once.

    A text with a valid clean hash is not searched.
    """

    def __init__(self, text: str, redactor: Redactor, clean_hash: int = 0) -> None:
        self._text = text
        self._redactor = redactor
        self._is_clean = redactor.is_clean(text, clean_hash)
        self._windows: dict[Span, list[Secret]] = {}
        self._as_a_whole = not self._is_clean and (len(text) <= WHOLE or _reaches_far(text))

    def near(self, spans: Sequence[Span]) -> list[Secret]:
        """Return the secrets in some parts, in order, also those that begin or end outside of them."""
        if self._is_clean:
            return []
        size = len(self._text)
        found: list[Secret] = []
        for first, last in [(0, size)] if self._as_a_whole else _windows_around(spans, size):
            found += [one for one in self._within(first, last) if one.start < last and first < one.end]
        return found

    def _within(self, first: int, last: int) -> list[Secret]:
        # A copy, because another thread may add to them.
        for (at, to), known in list(self._windows.items()):
            if at <= first and last <= to:
                return known
        # In steps, so that parts beside each other share one search.
        begin, end = first // STEP * STEP, min(len(self._text), -(-last // STEP) * STEP)
        secrets = self._redactor.find(self._text[begin:end])
        found = [Secret(begin + one.start, begin + one.end, one.kind) for one in secrets]
        self._windows[begin, end] = found
        return found


def _reaches_far(text: str) -> bool:
    """Return whether a text has a secret that may end anywhere."""
    if text.isascii():
        # The pattern ignores case, and takes a hundred times as long.
        small = text.lower()
        return "<private" in small or "-----begin" in small
    marked = any(mark in text for mark in ("-----B", "-----b", "<p", "<P"))
    return marked and FAR_REACHING.search(text) is not None


def find_secrets_near(memory: Memory, spans: Sequence[Span], redactor: Redactor) -> list[Secret]:
    """Return the secrets in parts of an indexed text, in order; some begin or end outside of the parts."""
    return secret_search(memory.indexed_text, redactor, memory.clean_hash).near(spans)


# An answer shows both the excerpt of a match and its chunk, which is near.
secret_search = lru_cache(maxsize=MOST_SEARCHED)(SecretSearch)


def _windows_around(spans: Sequence[Span], size: int) -> list[Span]:
    """Return what is searched for secrets in some parts of a text of this size, in order and apart."""
    found: list[Span] = []
    for start, end in sorted(spans):
        first, last = max(0, start - REACH), min(size, end + REACH)
        if found and first <= found[-1][1]:
            first, last = found[-1][0], max(last, found.pop()[1])
        found.append((first, last))
    return found


def excerpt(match: Match, question: str, *, most: int = FIRST, redactor: Redactor) -> str:
    """Return the sentences of a match that answer the question, in one line of at most `most` characters.

    They are in the order of the text, with "…" for omissions, and the first of a section follows its
    heading. A sentence is cut only if it is the best one, or too long for any excerpt. Where no word of the
    question occurs, the result of an exchange is shown, or the beginning of the chunk that matched.
    """
    text = match.memory.indexed_text
    matched = [(one.start, one.end) for one in (match.chunk, *match.also)]
    section = _sections_of(match.memory, redactor)
    # A template may have nothing but headings.
    chosen = _choose(text, _answer(text, question, matched), most, section) or {matched[0]: (most, "")}
    secrets = find_secrets_near(match.memory, [*chosen, (match.chunk.start, match.chunk.end)], redactor)
    shown, last, above = "", -1, None
    for (start, end), (room, headings) in sorted(chosen.items()):
        said = cover(text, secrets, start, end)
        if not _is_in_fence(text, start):
            said = visible(said) or said
        said = _around(" ".join(said.split()), question, room)
        if headings != above and (name := section(headings)):
            said = f"{name}: {said}"
        above = headings
        shown += said if not shown else f" {said}" if not text[last:start].strip() else f"{GAP}{said}"
        last = end
    return shown


def answer_order(text: str, question: str, matched: Sequence[Span]) -> list[Span]:
    """Return the sentences of a text in the order in which they answer the question, the best first.

    `matched` are the chunks that a search has found, best first. Without a word of the question in the text
    these are the sentences of the result of an exchange, else those of the best chunk, in their order.
    """
    return [(one.start, one.end) for one in _answer(text, question, matched)]


def _answer(text: str, question: str, matched: Sequence[Span]) -> list[Sentence]:
    asked, result = _frame_of(text)
    read = _windows(text, matched, result)
    sentences = [
        one for span in read for one in sentences_of(text, *span) if text[one.start : one.end] != ANSWER_LABEL
    ]

    sentences = without_repeated_tables(text, sentences)
    sentences = without_fields(text, sentences, question) or sentences

    def weigh(one: Sentence) -> float:
        worth = 1.0 if any(one.start < end and start < one.end for start, end in matched) else OUTSIDE
        if one.start >= result:
            return worth
        if one.start < asked:
            return worth * ASKED
        said = text[one.start : one.end]
        return worth * (DONE if _DONE.match(said) else WORK)

    ranked = rank_sentences(text, sentences, question, weigh)
    if ranked:
        return [sentences[number] for number in ranked]
    start, end = (result, len(text)) if result else matched[0] if matched else (0, len(text))
    return [one for one in sentences if one.start < end and start < one.end]


def _sections_of(memory: Memory, redactor: Redactor) -> Callable[[str], str]:
    """Return a function from the headings above a sentence to the one that an excerpt shows.

    It shows none that is the title, and none of an exchange, whose headings are those of its frame. Above the
    text of a mail it is the name of the sender, who is "I".
    """
    text, title = memory.indexed_text, memory.title.casefold()
    is_clean = redactor.is_clean(text, memory.clean_hash)
    found = _SENDER.match(text)
    sender = found[1].strip() if found else ""

    def section(headings: str) -> str:
        name = visible(headings.rpartition(" > ")[2])
        if name.casefold() in title or text.lstrip().startswith(f"# {name}\n"):
            name = sender
        if len(name) > LONGEST_HEADING:
            return ""
        return name if is_clean else redactor.redact(name)[0]

    return (lambda _: "") if text.startswith(QUESTION_LABEL) else section


def _frame_of(text: str) -> Span:
    """Return the end of the question of an exchange, and the beginning of its result; 0 and 0 without one."""
    if not text.startswith(QUESTION_LABEL):
        return 0, 0
    asked = text.find(f"\n{ANSWER_LABEL}\n")
    return max(0, asked), max(0, asked, text.rfind(f"\n{RESULT_HEADING}\n"))


def _windows(text: str, matched: Sequence[Span], result: int) -> list[Span]:
    """Return the parts of a text that are read: whole lines around the matches, and the result."""
    wanted = [(start - AROUND, end + AROUND) for start, end in matched]
    if not matched:
        wanted.append((0, AROUND))
    if result:
        wanted.append((result, result + RESULT))
    found: list[Span] = []
    for start, end in sorted(wanted):
        # A line without an end in reach is data, and may be very long.
        begin = text.rfind("\n", max(0, start - AROUND), max(0, start)) + 1 or max(0, start)
        stop = text.find("\n", end, end + AROUND)
        stop = min(end, len(text)) if stop < 0 else stop
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((begin, stop))
    return found


def _choose(
    text: str, ordered: Sequence[Sentence], most: int, section: Callable[[str], str]
) -> dict[Span, tuple[int, str]]:
    """Return the sentences that fit, the best first, each with its room in characters and its headings.

    What a clipping says in its summary and again below, with links or without, is chosen once.
    """
    chosen: dict[Span, tuple[int, str]] = {}
    said: set[str] = set()
    named: set[str] = set()
    room = most
    for one in ordered:
        start, end = one.start, one.end
        bare = _AROUND_WORDS.sub("", text[start:end])
        if bare in said:
            continue
        said.add(bare)
        name = "" if one.heading in named else section(one.heading)
        free = room - (len(name) + 2 if name else 0)
        size = min(end - start, free)
        if size == end - start or not chosen or (end - start > most // 2 and free >= SHORTEST):
            chosen[start, end] = size, one.heading
            named.add(one.heading)
            room = free - size - len(GAP)
        if room <= 0:
            break
    return chosen


def _is_in_fence(text: str, at: int) -> bool:
    """Return whether an odd number of lines before a place open or close a code fence."""
    return any((text.startswith(mark) + text.count(f"\n{mark}", 0, at)) % 2 for mark in ("```", "~~~"))


def _around(line: str, question: str, most: int) -> str:
    """Return a line; of a long one, the part that has most words of the question."""
    if len(line) <= most:
        return line
    asked = {stem(word) for word in fold_words(question)}
    at = [
        found.start() for found in _WORD.finditer(line) if asked.intersection(map(stem, fold_words(found[0])))
    ]
    reach = most * 2 // 3
    first = max(at, key=lambda begin: (sum(begin <= one < begin + reach for one in at), -begin), default=0)
    if first <= most // 3:
        return f"{line[: most - 1].rstrip()}\u2026"
    start = line.rfind(" ", 0, first - most // 4) + 1
    part = line[start : start + most - 2].strip()
    return f"\u2026{part}" + ("\u2026" if start + most - 2 < len(line) else "")


def find_words(text: str, question: str) -> list[Span]:
    """Return the positions of the question's words in a text, in any of their forms, in order.

    Stop words are left out. In scripts without spaces these are the pairs of letters of the question.
    """
    asked = {stem(word) for word in fold_words(question) if not is_stop_word(word)}
    asked_pairs = set(pairs(question))
    found: list[Span] = []
    for run in _WORD.finditer(text):
        known = asked_pairs.intersection(pairs(run[0]))
        if not known and asked.intersection(map(stem, fold_words(run[0]))) and not pairs(run[0]):
            found.append(run.span())
        for place in range(run.start(), run.end() - 1) if known else ():
            if text[place : place + 2] in known:
                # Pairs overlap: the second begins with the last letter of the first.
                start = found.pop()[0] if found and found[-1][1] > place else place
                found.append((start, place + 2))
    return found

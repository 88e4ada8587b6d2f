"""Find the details that a question names and no candidate has.

A detail is a name, a number, a version, an identifier or a quoted word. Which chunk has which word of the
question, full text has told already, so that no text is read.
"""

import re
from collections.abc import Iterable, Mapping

from ragmem.domain.retrieval.question import Query
from ragmem.domain.text.identifiers import parts
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.words import fold_words
from ragmem.patterns import lazy

_TOKEN = lazy(r"\d{1,3}(?:,\d{3})+(?![\d,])|[^\W_]+(?:[-_./:@#]+[^\W_]+)*")
_OPENS = lazy(r"(?:^|[.!?:\n]\s*)[\"'\u2018\u201c(]*$")
_DATE = lazy(
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\d{1,2}(?:st|nd|rd|th)?|(?:19|20)\d\d(?:\d{4})?|\d+(?:[-/:]\d+)+|\d{1,2}\.\d{1,2}\.\d{4}",
    re.IGNORECASE,
)
"""A part of a date, which the time of a memory tells and not its text, and a number that may be one."""

SHORTEST_NAME = 3
"""Minimum letters of a name: an abbreviation such as "CV" or "Dr" is usually written out elsewhere."""

SUBJECT = 0.05
"""Maximum share of the chunks that have a name which is a detail; a more frequent one is a subject."""


def absent_details(query: Query, frequencies: Mapping[str, float], having: Iterable[int]) -> tuple[str, ...]:
    """Return the details of a question that no candidate has, as they are written in it, in their order.

    `frequencies` has the words of the question, and bit n of `having`, one for each chunk, tells whether it
    has the n-th of them. Names that follow each other are one detail; an identifier is there if it is as a
    whole, or all its parts are.
    """
    there = 0
    for mask in having:
        there |= mask
    absent = {word for place, word in enumerate(frequencies) if not there >> place & 1}
    if not absent:
        return ()
    text = query.text
    quoted = {word for phrase in query.phrases for word in fold_words(phrase)}
    spans: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text):
        words = fold_words(token[0])
        whole = "".join(words)
        if whole in frequencies and whole not in absent:
            continue
        if absent.isdisjoint((*words, *parts(token[0]))) or not _is_detail(query, token, quoted, frequencies):
            continue
        if spans and text[spans[-1][1] : token.start()].isspace():
            spans[-1] = spans[-1][0], token.end()
        else:
            spans.append(token.span())
    return tuple(dict.fromkeys(text[start:end] for start, end in spans))


def _is_detail(
    query: Query, token: re.Match[str], quoted: set[str], frequencies: Mapping[str, float]
) -> bool:
    """Return whether a token is a name, a number, an identifier or quoted, and no date or function word."""
    said = token[0]
    if len(said) == 1 or is_stop_word(said.lower()) or _DATE.fullmatch(said):
        return False
    words = fold_words(said)
    if said in query.identifiers or any(map(str.isdigit, said)) or quoted.issuperset(words):
        return True
    if len("".join(words)) < SHORTEST_NAME or max(frequencies.get(word, 0.0) for word in words) > SUBJECT:
        return False
    # The first word of a sentence has a capital, whatever it is.
    opens = said.istitle() and _OPENS.search(query.text, 0, token.start())
    return not said.islower() and not opens

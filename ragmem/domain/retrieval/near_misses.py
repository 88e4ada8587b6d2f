"""Detect near misses: the question is about another speaker than the text, or names what no candidate has.

"I" is the speaker, and "you" the other one: by that each sentence is about somebody, whoever says it. A
detail is a name, a number, a version, an identifier or a quoted word. Which chunk has which word of the
question, full text has told already, so that no text is read for it.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ragmem.domain.retrieval.proximity import ENDING
from ragmem.domain.retrieval.question import MAX_ASKED, Query
from ragmem.domain.text.identifiers import parts
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.turns import labels
from ragmem.domain.text.words import fold_words, stem
from ragmem.patterns import lazy

_NAME = lazy(r"[^\W\d_][\w-]+")
_LABEL_ENDS = (":", " :", "*", " (")
_SENTENCE_END = lazy(r"(?<=[.!?])\s+|\n+")
_FIRST_PERSON = lazy(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b")
_PERSON = lazy(r"\b(?:I|[Mm]e|[Mm]y|[Ww]e|[Uu]s|[Oo]ur|[Yy]ou|[Yy]our)\b")
_SECOND_PERSON = lazy(r"\b(?:you|your|yours|yourself)\b")

UNSURE = 0.7
"""Weight of a sentence that has neither "I" nor "you", or both: it is about the speaker as a rule."""

ASKED_BACK = 0.5
"""Weight of a question that the speaker asked about puts to others: it is rather about them."""

BEHIND = 0.03
"""Share that each place further back takes of what a text tells."""

OF_TWO, OF_MORE = 0.08, 0.4
"""Share of the question's words (by idf) by which the best sentence about another speaker must be ahead,
where two speak, and where more do. The first is chosen for at most 3 % told wrongly: with each of five
conversations left out in turn, it tells .58 of the questions about the wrong person, and .026 of others."""

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


def possible_speakers(query: Query) -> dict[str, str]:
    """Return the words of a question that may name a speaker, by their lower case."""
    # In a longer text only some sentences ask.
    said: list[str] = _NAME.findall(query.text) if len(query.text) <= MAX_ASKED else []
    return {key: name for name in said if name != (key := name.lower()) and not is_stop_word(key)}


def told_of_another(names: Mapping[str, str], frequencies: Mapping[str, float], texts: Sequence[str]) -> str:
    """Return the name of the speaker whom an English question asks about if only another one fits; else "".

    `names` are the possible speakers, `frequencies` the words of the question with the shares of the chunks
    that have them, `texts` the best chunks, best first. A question that names none of their speakers, or
    several, is not judged.
    """
    if not any(name + end in text for name in names.values() for text in texts for end in _LABEL_ENDS):
        return ""
    turns = [turn for place, text in enumerate(texts) for turn in _turns(text, place)]
    speakers = {speaker for speaker, _, _ in turns if speaker}
    named = [speaker for speaker in speakers if not names.keys().isdisjoint(speaker.split(" "))]
    # A list of terms, each with a colon, is no talk.
    if len(named) != 1 or not any(speaker and _PERSON.search(text) for speaker, _, text in turns):
        return ""
    person = named[0]
    own, other = _evidence(person, turns, _weights(frequencies, fold_words(person)))
    if other - own < (OF_TWO if len(speakers) <= 2 else OF_MORE):
        return ""
    return next(name for key, name in names.items() if key in person.split(" "))


def _turns(text: str, place: int) -> Iterator[tuple[str, int, str]]:
    """Yield (speaker, place of the text, words) of the turns; the speaker of what is before them is ""."""
    known = labels(text)
    starts = [start for start, _, _ in known] + [len(text)]
    yield "", place, text[: starts[0]]
    for (_, body, speaker), end in zip(known, starts[1:], strict=True):
        yield speaker, place, text[body:end]


def _weights(frequencies: Mapping[str, float], name: Sequence[str]) -> dict[str, float]:
    """Return the idf of the stems of a question, without those of a name and those that no chunk has."""
    known = {stem(word): -math.log(share) for word, share in frequencies.items() if 0 < share < 1}
    return {word: weight for word, weight in known.items() if word not in map(stem, name)}


def _evidence(
    person: str, turns: Sequence[tuple[str, int, str]], weights: Mapping[str, float]
) -> tuple[float, float]:
    """Return the share of the weights in the best sentence about a person, and in the best about another."""
    own = other = 0.0
    total = sum(weights.values())
    beginnings = {word: word.removesuffix(ENDING) for word in weights}
    for speaker, place, text in turns:
        lowered = text.lower()
        here = {begin: weights[word] for word, begin in beginnings.items() if begin in lowered}
        near = (1 - BEHIND * place) / total if here else 0.0
        for sentence in _SENTENCE_END.split(lowered) if here else ():
            # Most sentences are passed over by what they could have at most.
            if near * sum([weight for begin, weight in here.items() if begin in sentence]) <= min(own, other):
                continue
            words = weights.keys() & set(map(stem, fold_words(sentence)))
            share = near * sum([weights[word] for word in words])
            of_own, of_other = 1.0, 0.0
            if speaker:
                of_own, of_other = _about(sentence, is_own=speaker == person, is_named=person in sentence)
            own = max(own, of_own * share)
            other = max(other, of_other * share)
    return own, other


def _about(sentence: str, *, is_own: bool, is_named: bool) -> tuple[float, float]:
    """Return how much a sentence is about the person of the question, and about others.

    `is_own`: the person says it; `is_named`: it has the name of the person.
    """
    first, second = _FIRST_PERSON.search(sentence), _SECOND_PERSON.search(sentence)
    asks = "?" in sentence
    speaker = 1.0 if first and not second else UNSURE
    if is_own:
        return (0.0, ASKED_BACK) if asks and not first else (speaker, 0.0)
    to_listener = bool(second or asks or is_named)
    listener = (UNSURE if first else 1.0) if to_listener else 0.0
    return listener, 0.0 if asks or (to_listener and not first) else speaker


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

"""Rank the sentences of a text by how well they answer a question, by their words alone."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from ragmem.domain.text.blocks import Block, BlockType, lines, trim, units
from ragmem.domain.text.data_lines import is_data
from ragmem.domain.text.excerpts import announces, visible
from ragmem.domain.text.identifiers import parts
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.words import fold_words, stem
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

Span = tuple[int, int]

BESIDE, ABOVE, ALIKE = 0.4, 0.4, 0.7
"""Weight of a word of the question that stands in the sentence before or after, in a heading above, or only
begins like a word of the sentence."""

EXPECTED = 0.2
"""Share of the question's weight that a sentence gains if it has what the question wants to know."""

COUNTED = 0.4
"""The same where a number stands before the thing that is counted."""

LEAD, CODE = 0.5, 0.7
"""Worth of a sentence that only announces the next one or leads elsewhere, and of a line of code."""

LENGTH = 0.3
"""How much a longer sentence must say more; 0 for not at all (b of BM25)."""

WEAK = 0.15
"""Share of the best sentence's score below which a sentence is left out."""

MOST = 12
"""Maximum sentences of an answer."""

LONGEST_CAPTION = 300
"""Characters of a caption that a row in words may begin with."""

SHORTEST_ALIKE = 4
"""Minimum letters of a word that another one begins with."""

_LABEL = lazy(r"\*\*[^*\n]{1,60}:?\*\*:?\s|[A-Z][\w ]{1,30}: ")
"""The beginning of a line such as "**Config:** ..." or "Status: ..."."""

_LINK = lazy(
    r"!?\[\[[^\[\]\n]{1,300}\]\]|!?\[[^\[\]\n]{0,300}\]\([^()\s]{0,500}\)|`[^`<\n]{0,200}<[^>\s]{1,300}>`_{1,2}"
    r"|<?https?://[^\s<>]{1,500}>?"
)
_NAME_OF_LINKS = lazy(r"(?:\w[\w ]{0,24}:[*_]{0,2}(?:\s|$)|\W)*")
"""What may stand beside the links of a line that only leads elsewhere: "Previous: ... | Next: ..."."""

_HUMP = lazy("[a-z][A-Z]")
_HUMPED = lazy(r"(?<![A-Za-z])[A-Za-z]*[a-z][A-Z]\w*")
_DATE = lazy(
    r"\b(?:\d{4}-\d{2}(?:-\d{2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d{2}|(?:19|20)\d\d"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d{1,2}|q[1-4]"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today|tomorrow)\b",
    re.IGNORECASE,
)
_NUMBER = lazy(r"(?<![\w.-])~?\d[\d.,]*\s?(?:%|[kKMG]i?B\b|\w*)")
_CAUSE = lazy(
    r"\b(?:because|since|due to|cause[sd]?|reason|so that|therefore|hence|which is why|avoids?|prevents?"
    r"|otherwise|weil|da|denn|damit|deshalb|ursache|grund|parce que|car|afin|porque)\b|\u2192|->",
    re.IGNORECASE,
)
_NAME = lazy(r"`[^`\n]+`|\b\w+[_./:]\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z][A-Z0-9_]{2,}\b")
_FILE = lazy(r"(?<![\w~.-])[\w~.-]*/[\w./-]+|(?<![\w-])[\w-]+\.[a-z]{1,5}\b")

_FIELD = lazy(
    r"\W*(project|status|branch|session|authors?|tags?|projekt|zweig|autor|statut|projet|proyecto|estado)"
    r"\W{1,4}(?:\S+[ \t]*){1,3}|\W*(super[sc]ede|replace)[sd](?: by)?:?[ \t]+!?\[[^\n]{1,200}",
    re.IGNORECASE,
)
"""A line such as "**Project:** tideline", which says nothing of its own."""
_HEADER = lazy(
    r"\s*(?:# [^\n]*\n\s*)?(?:(?:<pre>|```)\n)?"
    r"(?:(?:[-*+][ \t]+)?[ ]{0,2}[*_]{0,2}[^\W\d_][\w #-]{0,40}:[*_]{0,2}(?:[ \t][^\n]*)?\n"
    r"(?:[ \t]+\S[^\n]*\n)*){2,40}(?=[ \t]*\n|</pre>|```)"
)
_TITLE = lazy(
    r"^(?:[-*+][ \t]+)?[ ]{0,2}[*_]{0,2}(?:title|titel|titre|t\u00edtulo|titolo|feature name|start date"
    r"|from):",
    re.IGNORECASE | re.MULTILINE,
)
"""The fields above a text, as above mail; what tells them from a text of its own, and stands above each
answer: a title, a sender or a date of the document."""
_BARE_KEY = lazy(r"\W*\"([\w-]+)\":\s*(?:[\[{]|-?[\d.]+|true|false|null|\"\")?[\s,\]}]*")
"""A line of JSON that holds a number or opens a list, and tells nothing alone: `"end_line": 95,`."""
_CELL_BORDER = lazy(r"(?<!\\)\|")
_ONLY_DATE = lazy(r"\W*(?:[^\W\d][\w ]{0,24}:)?\W*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ][\d:.Z+]+)?\W*")
_ASKS_WHEN = r"\b(?:when|what (?:date|day|time)|wann|quand|cu\u00e1ndo)\b"
_WHEN = lazy(_ASKS_WHEN, re.IGNORECASE, needs="when|what |wann|quand")
_WHO = lazy(
    r"\b(?:who|whom|whose|wer|wem|wessen|qui|qui\u00e9n(?:es)?|quem|chi)\b",
    re.IGNORECASE,
    needs="who|wer|wem|wessen|qui|quem|chi",
)
_ASKS_NUMBER = (
    r"\bhow (?:many|much|long|large|big|often|fast|old)\b|\bwhat (?:size|number|limit|percentage|share)\b"
    r"|\bwie (?:viele?|lange|gro\u00df|oft|hoch)\b|\b(?:combien|cu\u00e1nt[oa]s?)\b"
)
_ASKS_WHY = r"\b(?:why|reason|cause[sd]?|warum|wieso|weshalb|pourquoi)\b|\bpor qu\u00e9\b"
_ASKS_WHERE = (
    r"\b(?:which|what|where|welche[rmns]?) (?:is the )?(?:file|folder|path|module|script|datei)s?\b"
    r"|^where\b|^wo\b"
)
_ASKS_NAME = (
    r"\b(?:which|what|welche[rsn]?) (?:\w+ ){0,2}(?:function|method|class|variable|field|flag|option|hook"
    r"|helper|tool|branch|command|commit|hash|model|library|package|funktion|klasse)s?\b"
    r"|\bcalled\b|\bname of\b|\bunder which\b"
)
_ASKS_OUTCOME = (
    r"\b(?:decide[sd]?|decisions?|outcome|conclu(?:ded?|sion)|consensus|resol(?:ved|ution)|agreed?|verdict"
    r"|entschieden|beschlossen|entscheidung|ergebnis|d\u00e9cid\u00e9e?s?|d\u00e9cision|decidi[\u00f3do]+"
    r"|decisi\u00f3n|resultado)\b|^(?:did|was|were|has|have)\b"
)
_OUTCOME = lazy(
    r"\b(?:decided|agreed|approved|rejected|adopted|withdrawn|consensus|entschieden|beschlossen"
    r"|d\u00e9cid\u00e9|adopt\u00e9|decidido|acordado)\b",
    re.IGNORECASE,
)
_OUTCOME_HEADING = lazy(
    r"\b(?:conclusions?|decisions?|outcomes?|resolutions?|results?|verdict|entscheidung|ergebnis|fazit"
    r"|beschluss|d\u00e9cisions?|r\u00e9sultats?|decisi\u00f3n|conclusi\u00f3n|resultado)\b[^>]*\Z",
    re.IGNORECASE,
)
_OF_OUTCOMES = (
    "deci|outcome|conclu|consensus|resol|agree|verdict|entsch|beschlossen|ergebnis|resultado"
    "|did|was|were|has|have"
)
_OF_NAMES = (
    "function|method|class|variable|field|flag|option|hook|helper|tool|branch|command|commit|hash|model|library"
    "|package|funktion|klasse|called|name of|under which"
)
_WANTS = (
    (_WHEN, _DATE),
    *(
        (lazy(asks, re.IGNORECASE, needs), wanted)
        for asks, needs, wanted in (
            (_ASKS_NUMBER, "how |what |wie |combien", _NUMBER),
            (_ASKS_WHY, "why|reason|cause|warum|wieso|weshalb|pourquoi", _CAUSE),
            (_ASKS_OUTCOME, _OF_OUTCOMES, _OUTCOME),
            (_ASKS_WHERE, "file|folder|path|module|script|datei|where|wo", _FILE),
            (_ASKS_NAME, _OF_NAMES, _NAME),
        )
    ),
)
"""What a question asks for, and the form of what it wants to know."""
_ABOVE = {_CAUSE: _CAUSE, _OUTCOME: _OUTCOME_HEADING}
"""What a heading says of the sentences below it, for some of these forms."""

_ASKS = lazy(
    r"\bhow (?:long|large|big|often|fast|old|far|high|deep)\b|\bwie (?:viele?|lange|gro\u00df|oft|hoch|alt)\b"
    r"|\bcalled\b",
    re.IGNORECASE,
    needs="how |wie |called",
)
"""What asks for a quantity or a name, and is no word of the answer."""

_QUANTITY = lazy(r"\bhow (long|large|big|often|fast|old|far|high|deep|much)\b", re.IGNORECASE, needs="how ")
_ATTRIBUTES = {
    "long": "length duration",
    "large": "size",
    "big": "size",
    "often": "frequency interval",
    "fast": "speed latency",
    "old": "age",
    "far": "distance",
    "high": "height",
    "deep": "depth",
    "much": "amount cost price",
}
"""Adjective of a question -> what an answer calls the quantity: "how long" has the answer "Length: ..."."""

_WRITER = "author autor autorin autora autore auteur verfasser writer written"
_ROLES = {
    **dict.fromkeys("wrote written authored drafted".split(), _WRITER),
    **dict.fromkeys("schrieb geschrieben verfasst verfasste".split(), _WRITER),
    **dict.fromkeys(
        "\u00e9crit r\u00e9dig\u00e9 escribi\u00f3 redact\u00f3 escreveu scritto".split(), _WRITER
    ),
    "owns": "owner",
    "approved": "approver",
    "decided": "decider",
    "maintains": "maintainer",
    "reviewed": "reviewer",
}
"""What somebody did or does -> what a document calls such a person: "who wrote ..." has "Author: ..."."""
_FIELD_LABEL = lazy(r"\W{0,20}((?:\w{1,30}[ -]){0,3}\w{1,30})[*_ ]*[:\uff1a|]")
_ROLE = lazy(
    rf"\b(?:who|wer|qui|qui\u00e9n(?:es)?|quem|chi)\b(?:\W+\w+){{0,12}}?\W+({'|'.join(_ROLES)})\b",
    re.IGNORECASE,
    needs="who|wer|qui|quem|chi",
)

_COUNT = lazy(
    r"\b(?:how many|wie viele|combien de|cu\u00e1nt[oa]s)\s+(?:\w+\s+){0,2}?(\w{3,})",
    re.IGNORECASE,
    needs="how many|wie viele|combien",
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, list item, table row or line of code: `text[start:end]`, its block, and headings."""

    start: int
    end: int
    block: Block
    heading: str = ""


def sentences_of(text: str, start: int = 0, end: int | None = None) -> list[Sentence]:
    """Return the sentences of text[start:end] in order, without headings, marks and invisible markup.

    Lines of data count as sentences, and the end of a line of data ends one.
    """
    found: list[Sentence] = []
    path: list[tuple[int, str]] = []
    heading = ""
    for block, begin, stop in units(text, start, end):
        if block.form is BlockType.HEADING:
            while path and path[-1][0] >= block.level:
                path.pop()
            if block.level == 1 and not path:
                # Fields above the title, as of an RFC, belong to it.
                found = [replace(one, heading=block.title) if not one.heading else one for one in found]
            path.append((block.level, block.title))
            heading = " > ".join(title for _, title in path)
            continue
        is_code = block.form is BlockType.FENCE
        for first, last in [(begin, stop)] if is_code else _statements(text, begin, stop):
            part = text[first:last]
            # No invisible markup begins with a letter.
            if part[:1].isalnum() or any(map(str.isalnum, part if is_code else visible(part))):
                found.append(Sentence(first, last, block, heading))
    return found


def _worth_of(text: str, one: Sentence) -> float:
    """Return less than 1 for a sentence that only announces the next one or leads elsewhere, and for code."""
    if one.block.form is BlockType.FENCE:
        return CODE
    return LEAD if _leads(text, one.block, one.start, one.end) else 1.0


def _leads(text: str, block: Block, start: int, end: int) -> bool:
    """Return whether a statement only announces the next one, heads a table, or consists of links."""
    if announces(text, (start, end)):
        return True
    if block.form is BlockType.TABLE and start == block.start:
        below = text[end : block.end].lstrip().partition("\n")[0]
        return bool(below) and not below.strip("|-: \t")
    part = text[start:end]
    beside, links = _LINK.subn("", part) if "[" in part or "//" in part else (part, 0)
    return links > 0 and _NAME_OF_LINKS.fullmatch(beside) is not None


def _statements(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a sentence, or its parts: each line of data, and each line that begins with a label."""
    begun = start
    rows = list(lines(text, start, end)) if "\n" in text[start:end] else []
    for before, row in pairwise(rows):
        if is_data(text[slice(*before)]) or is_data(text[slice(*row)]) or _LABEL.match(text, row[0]):
            yield trim(text, begun, row[0])
            begun = row[0]
    yield begun, end


def without_fields(text: str, sentences: Sequence[Sentence], question: str) -> list[Sentence]:
    """Return the sentences without lines that have only a date, or a field that the question does not name.

    Each answer shows its date and project anyway, and a year in the question would make such a line the best.
    Above a text with a title among its fields each line is such a field. A bare key of JSON stays if the
    question has one of its words.
    """
    low = question.lower()
    asks_when = _WHEN.search(low) is not None
    asks_who = _WHO.search(low) is not None
    header = _HEADER.match(text)
    body = header.end() if header and _TITLE.search(header[0]) else 0

    def is_asked(one: Sentence) -> bool:
        if one.start < body and not (asks_when or asks_who):
            name = text[one.start : one.end].partition(":")[0].strip("-*+_ ").lower()
            return not is_stop_word(name) and name in low
        if field := _FIELD.fullmatch(text, one.start, one.end):
            name = (field[1] or field[2]).lower()
            return name in low or (asks_who and name.startswith(("author", "autor")))
        if key := _BARE_KEY.fullmatch(text, one.start, one.end):
            return any(word in low for word in fold_words(key[1].replace("_", " ")))
        return asks_when or not _ONLY_DATE.fullmatch(text, one.start, one.end)

    return [one for one in sentences if is_asked(one)]


def without_repeated_tables(text: str, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences without the rows of tables that a document repeats below in words.

    The reader of documents writes each row again as `Header: value; Header: value.`, which is clear alone.
    """
    tables = {one.block.start: one.block for one in sentences if one.block.form is BlockType.TABLE}
    repeated = {start for start, block in tables.items() if _is_repeated(text, block)}
    return [one for one in sentences if one.block.start not in repeated]


def _is_repeated(text: str, table: Block) -> bool:
    rows = [text[slice(*row)].strip() for row in lines(text, table.start, table.end)]
    if len(rows) <= 2 or rows[1].strip("|-: \t"):
        return False
    names, values = (
        [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(row.strip("|"))]
        for row in (rows[0], rows[2])
    )
    words = [
        f"{name}: {value}" if name else value for name, value in zip(names, values, strict=False) if value
    ]
    last = f"{'; '.join(words).rstrip('.')}."
    # A line below may begin with the caption.
    return last in text[table.end : table.end + len(last) + LONGEST_CAPTION].lstrip().partition("\n")[0]


def rank_sentences(
    text: str,
    sentences: Sequence[Sentence],
    question: str,
    weigh: Callable[[Sentence], float] = lambda _: 1.0,
) -> list[int]:
    """Return the numbers of the sentences that answer a question, best first.

    A word of the question counts by its rarity among these sentences, less if it stands beside or above a
    sentence. A sentence gains by what the question wants to know: a date, a number, a cause, a name, a role.
    `weigh` gives its worth, 1 for any. Sentences that have no word of the question in reach, and those that
    are far weaker than the best one, are left out.
    """
    if not sentences:
        return []
    asked, roles = _terms_of(question), _roles_of(question)
    quantities = _quantities_of(question) | roles
    letters = {term[0] for term in chain(asked, *quantities.values())}
    words, sizes = zip(*(_words_of(text[one.start : one.end], letters) for one in sentences), strict=True)
    rarity, forms = _rarity_of(asked, quantities, words)
    held = [_shares(forms, of) for of in words]
    headings = {one.heading for one in sentences}
    above = {heading: _shares(forms, _words_of(heading, letters)[0]) for heading in headings}
    gain = _gain_of(question, {*chain(*roles.values())}, sum(rarity.values()))
    usual = sum(sizes) / len(sizes)
    scores: dict[int, float] = {}
    for number, one in enumerate(sentences):
        if not any(held[max(0, number - 1) : number + 2]):
            continue
        found = dict(held[number])
        for beside in (number - 1, number + 1):
            if 0 <= beside < len(sentences) and sentences[beside].heading == one.heading:
                for term, share in held[beside].items():
                    found[term] = max(found.get(term, 0.0), BESIDE * share)
        if not found:
            continue
        for term, share in above[one.heading].items():
            found[term] = max(found.get(term, 0.0), ABOVE * share)
        said = sum(rarity[term] * share for term, share in found.items())
        said /= 1 - LENGTH + LENGTH * max(1.0, sizes[number] / usual)
        part = text[one.start : one.end]
        scores[number] = weigh(one) * _worth_of(text, one) * (said + gain(part, one.heading))
    ranked = sorted(scores, key=lambda number: (-scores[number], number))[:MOST]
    return [number for number in ranked if scores[number] >= WEAK * scores[ranked[0]]]


def _gain_of(question: str, roles: set[str], whole: float) -> Callable[[str, str], float]:
    """Return what a sentence under a heading gains if it has what the question wants to know.

    `roles` are the stems of what a document calls a person that the question asks for.
    """
    wanted = [pattern for asks, pattern in _WANTS if asks.search(question)]
    counted = {stem(word) for noun in _COUNT.findall(question) for word in fold_words(noun)}

    def gain(sentence: str, heading: str) -> float:
        if (
            roles
            and (label := _FIELD_LABEL.match(sentence))
            and not roles.isdisjoint(map(stem, fold_words(label[1])))
        ):
            return whole  # the field is the answer, however much others speak of the document
        if counted and _counts(sentence, counted):
            return COUNTED * whole
        has = any(
            pattern.search(sentence) or (pattern in _ABOVE and _ABOVE[pattern].search(heading))
            for pattern in wanted
        )
        return EXPECTED * whole if has else 0.0

    return gain


def _words_of(text: str, letters: Collection[str]) -> tuple[list[str], int]:
    """Return the stems of a text that begin with some letters, and the number of its words.

    The words in its camelCase names count as well. A stem begins as its word does, so no other is made.
    """
    words = fold_words(text)
    if _HUMP.search(text):
        words += [part for name in _HUMPED.findall(text) for part in parts(name)]
    return [stem(word) for word in words if word[0] in letters], len(words)


def _terms_of(question: str) -> dict[str, None]:
    """Return the stems of a question, without stop words and with the words in its camelCase names."""
    plain = [word for word in fold_words(_ASKS.sub(" ", question)) if not is_stop_word(word)]
    named = [part for name in _HUMPED.findall(question) for part in parts(name)]
    return dict.fromkeys(map(stem, [*plain, *named]))


def _quantities_of(question: str) -> dict[str, list[str]]:
    """Return what a question asks of a quantity -> the stems of what an answer calls that."""
    return {
        f"how {adjective}": [stem(word) for word in _ATTRIBUTES[adjective].split()]
        for adjective in _QUANTITY.findall(question.lower())
    }


def _roles_of(question: str) -> dict[str, list[str]]:
    """Return what a question asks of a person -> the stems of what a document calls such a person."""
    return {
        f"who {act}": [form for word in _ROLES[act].split() for form in {stem(word), stem(f"{word}s")}]
        for act in _ROLE.findall(question.lower())
    }


def _rarity_of(
    asked: Mapping[str, None], quantities: Mapping[str, Sequence[str]], words: Sequence[Sequence[str]]
) -> tuple[Mapping[str, float], Mapping[str, tuple[str, float]]]:
    """Return word -> rarity for the words of a question that occur, and form -> such a word and its share."""
    frequency = Counter(chain.from_iterable(map(set, words)))
    rarity: dict[str, float] = {}
    forms: dict[str, tuple[str, float]] = {term: (term, 1.0) for term in asked if term in frequency}
    begun = {term[:SHORTEST_ALIKE] for term in asked if term not in frequency}
    alike = [word for word in frequency if word[:SHORTEST_ALIKE] in begun and len(word) >= SHORTEST_ALIKE]
    for term in asked:
        often = frequency[term]
        if not often and len(term) >= SHORTEST_ALIKE and not term.isdigit():
            for word in alike:
                if word.startswith(term) or term.startswith(word):
                    forms.setdefault(word, (term, ALIKE))
                    often += frequency[word]
        if often:
            rarity[term] = math.log1p((max(0, len(words) - often) + 0.5) / (often + 0.5))
    for quantity, named_so in quantities.items():
        often = sum(frequency[word] for word in named_so)
        if often:
            forms |= {word: (quantity, 1.0) for word in named_so if word not in forms}
            rarity[quantity] = math.log1p((max(0, len(words) - often) + 0.5) / (often + 0.5))
    return rarity, forms


def _shares(forms: Mapping[str, tuple[str, float]], words: Sequence[str]) -> dict[str, float]:
    """Return the words of a question that are among these words, each with its share."""
    if forms.keys().isdisjoint(words):
        return {}
    return dict(sorted(forms[word] for word in words if word in forms))


def _counts(sentence: str, counted: set[str]) -> bool:
    """Return whether a number precedes one of these words, with at most two words between."""
    words = fold_words(sentence)
    return any(
        word[0].isdigit() and not counted.isdisjoint(map(stem, words[at + 1 : at + 4]))
        for at, word in enumerate(words)
    )

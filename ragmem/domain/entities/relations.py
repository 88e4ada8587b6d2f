"""Relate the mentions of one statement: by verb, definition, bracket, column, arrow or proximity."""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, product

from ragmem.domain.entities.entities import Mention
from ragmem.domain.entities.statements import Statement
from ragmem.domain.entities.verbs import verb_in
from ragmem.domain.text.blocks import BlockType
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

VERB_WEIGHT = 1.0
DEFINITION_WEIGHT = 0.8
PREPOSITION_WEIGHT = 0.75
BRACKET_WEIGHT = 0.7
TOPIC_WEIGHT = 0.5
CO_MENTION_WEIGHT = 0.25
"""Weight of a relation by its evidence; a co-mention counts least."""

CO_MENTIONED = "co-mentioned"

MAX_GAP_CHARS = 90
"""Maximum characters between subject and object of a verb."""

MAX_LISTED = 8
"""Maximum members of one list to which a verb applies."""

_LIST_GAP = lazy(
    r"[\s`*_\"')\]]*(?:\([^()]{0,24}\))?[\s`*_\"']*(?:[,/&+]|,? ?\b(?:and|or|nor|plus)\b)+"
    r"[\s`*_\"'(\[]*(?:the |an? )?[`*\"']*$"
)
_DEFINES = lazy(
    r"[`*_)\]\s]*(?:[a-z]+ ){0,2}(?:[a-z]+)?[`*_)\]\s]*(?:\([^()]{0,60}\))?[`*_\s]*"
    r"(?::|\u2014|\u2013| - |=)(?:[\s*`\"']|$)"
)
_BEFORE_TERM = " -*+`_[(#0123456789."
_CLAUSE = lazy(r"[.;!?](?:\s|$)|\|")
_ARROW = lazy(r"\s*[`*\"')]*\s*(?:\([^()]{0,40}\))?\s*(?:\u2192|->|=>|-->|\u21d2)\s*[`*\"'(]*$")
_AGAIN = lazy(r"[\s`*)\"']*(?:,|;|\band\b|\bthen\b|\bbut\b|, )\s*(?:and |then |but |also )*\w+")
_VALUE_GAP = lazy(r"[\"'`]?[ =:][ =]?[\"'`]?$")
_EXPLAINS = lazy(r"\s[\u2014\u2013]\s|:\s")
_ON = lazy(r"[`*_\"')]* (?:on|at) (?:(?:the|our|my|a|host|machine|server) )*[`*_\"'(]*$")
_AT_WORK = frozenset({"serves", "uses", "stores", "contains", "returns", "supports"})
"""What is done on a host by the subject of the sentence: X serves Y on Z."""

_CLAUSE_BEGINS = lazy(
    r"[`*_\"')]* (?:runs?|serves?|uses?|is|are|was|has|calls?|stores?|needs?|exposes|listens|requires|"
    r"handles|owns|built|wrote|leads|said|asked|approved|reviewed|maintains|decided)\b"
)
_JOINS = lazy(r",? (?:and|but|while) [`*\"']*$")
_SEMICOLON = lazy(r"[`*_\"')]*; ?[`*_\"'(]*$")
_ADJACENT = lazy(r"(?:['\u2019]s)?[ `*]{1,3}$")


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two mentions of a statement: its keywords, its weight, and the statement."""

    source: Mention
    target: Mention
    keywords: str
    weight: float
    sentence: str


def relate(
    statement: Statement,
    mentions: Sequence[Mention],
    *,
    above: Mention | None = None,
    has_subject: bool = False,
) -> Iterator[Link]:
    """Yield the relations between the mentions of one statement, in order; a pair may repeat.

    `above` is the mention that the statement belongs to; `has_subject`: the first mention is the subject. A
    single mention relates only to `above`.
    """
    text = statement.text
    if statement.form is BlockType.TABLE:
        links = list(_row(statement, mentions))
    elif statement.form is BlockType.FENCE or statement.shell:
        links = list(_line(statement, mentions))
    else:
        links = list(_verb_links(text, mentions))
    yield from links
    if above is None or not mentions:
        return
    explicit = {link.target.start for link in links if link.weight > CO_MENTION_WEIGHT}
    if has_subject or statement.form is BlockType.FENCE:
        members = _first_list(text, mentions)
    else:
        members = [one for one in mentions if one.start not in explicit]
    for one in members[:MAX_LISTED]:
        yield Link(above, one, "about", TOPIC_WEIGHT, text)


def _first_list(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Return the first mention and the others of its list."""
    members = [mentions[0]]
    for before, after in pairwise(mentions):
        if not _LIST_GAP.match(text[before.end : after.start]):
            break
        members.append(after)
    return members


def _row(statement: Statement, mentions: Sequence[Mention]) -> Iterator[Link]:
    """Yield the relations of the first cell of a row to the others, named by the column."""
    columns = [[one for one in mentions if start <= one.start < end] for start, end in statement.cells]
    filled = [at for at, column in enumerate(columns) if column]
    for at in filled[1:]:
        title = statement.header[at].lower() if at < len(statement.header) else ""
        for source, target in product(columns[filled[0]][:MAX_LISTED], columns[at][:MAX_LISTED]):
            yield Link(source, target, title or "listed with", TOPIC_WEIGHT, statement.text)
    for column in columns:
        yield from (link for link in _verb_links(statement.text, column) if link.keywords != CO_MENTIONED)


def _line(statement: Statement, mentions: Sequence[Mention]) -> Iterator[Link]:
    """Yield the relations in a line of code: arrows, assignments, and arguments of a command."""
    text = statement.text
    for before, after in pairwise(mentions):
        gap = text[before.end : after.start]
        if _ARROW.match(gap):
            yield Link(before, after, "to", VERB_WEIGHT, text)
        elif before.type == "config" != after.type and _VALUE_GAP.match(gap):
            yield Link(before, after, "set to", VERB_WEIGHT, text)
    if not statement.shell or text.startswith("#"):
        return
    for one in mentions[1:]:
        if mentions[0].type in {"command", "file", "tool"}:
            yield Link(mentions[0], one, "takes", TOPIC_WEIGHT, text)


def _verb_links(text: str, mentions: Sequence[Mention]) -> Iterator[Link]:
    """Yield the relations that the words between the mentions state.

    A bracket belongs to the mention before it, a verb applies to all members of the lists on both sides, and
    a definition extends to the end of the statement.
    """
    if not mentions:
        return
    outer, inner = _split_brackets(text, mentions)
    for owner, members in inner:
        for one in members:
            verb = verb_in(text[owner.end : one.start])[0]
            yield Link(owner, one, verb or "includes", BRACKET_WEIGHT, text)
        yield from _chain(text, _lists(text, members))
    groups = _lists(text, outer)
    first = mentions[0]
    defined = not text[: first.start].strip(_BEFORE_TERM) and bool(_DEFINES.match(text, first.end))
    for link in _chain(text, groups):
        if not defined or link.source is first or link.weight in {VERB_WEIGHT, BRACKET_WEIGHT}:
            yield link
    if defined:
        for one in chain.from_iterable(groups[1:]):
            yield Link(first, one, "defined as", DEFINITION_WEIGHT, text)


def _split_brackets(
    text: str, mentions: Sequence[Mention]
) -> tuple[list[Mention], list[tuple[Mention, list[Mention]]]]:
    """Split the mentions into those outside of round brackets, and each bracket with its owner."""
    outer: list[Mention] = []
    inner: list[tuple[Mention, list[Mention]]] = []
    inside = False
    at = 0
    for one in mentions:
        gap = text[at : one.start]
        opened, closed = gap.rfind("("), gap.rfind(")")
        if opened > closed:
            inside = True
            if outer and len(gap[:opened].strip("`*\"' ")) <= 12 and not _CLAUSE.search(gap[:opened]):
                inner.append((outer[-1], []))
            else:
                inside = False
        elif closed >= 0:
            inside = False
        if inside and inner:
            inner[-1][1].append(one)
        else:
            outer.append(one)
        at = one.end
    return outer, inner


def _lists(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Group the mentions into lists of parallel members; the subject of a second clause is no member."""
    groups: list[list[Mention]] = []
    for one in mentions:
        listed = groups and _LIST_GAP.match(text[groups[-1][-1].end : one.start])
        if listed and not (len(groups) > 1 and _CLAUSE_BEGINS.match(text, one.end)):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _chain(text: str, groups: Sequence[Sequence[Mention]]) -> Iterator[Link]:
    """Yield the relations between one list of mentions and the next."""
    if not groups:
        return
    subjects = groups[0]
    workers: Sequence[Mention] = ()
    for nearest, after in pairwise(groups):
        gap = text[nearest[-1].end : after[0].start]
        before = subjects if nearest[0].type == "version" else nearest
        guests = [one for one in workers or before if one.type != "person"]
        if guests and after[0].type == "host" and _ON.match(gap):
            weight = VERB_WEIGHT if workers else PREPOSITION_WEIGHT
            for source, target in product(guests[:MAX_LISTED], after[:MAX_LISTED]):
                yield Link(source, target, "runs on", weight, text)
            workers = ()
            continue
        workers = ()
        if _ARROW.match(gap):
            yield Link(before[-1], after[0], "to", VERB_WEIGHT, text)
        elif _CLAUSE.search(gap) or (_JOINS.search(gap) and _CLAUSE_BEGINS.match(text, after[-1].end)):
            subjects = after
            if _SEMICOLON.match(gap):
                yield Link(before[-1], after[0], CO_MENTIONED, CO_MENTION_WEIGHT, text)
        elif _ADJACENT.match(gap):
            yield Link(before[-1], after[0], "has", BRACKET_WEIGHT, text)
        else:
            sources = subjects if _AGAIN.match(gap) else before
            links = list(_gap_links(text, gap, sources, after, subjects[0]))
            yield from links
            if links[0].source is sources[0] and links[0].keywords in _AT_WORK:
                workers = [one for one in sources if one.type not in {"host", "person"}]


def _gap_links(
    text: str, gap: str, sources: Sequence[Mention], targets: Sequence[Mention], subject: Mention
) -> Iterator[Link]:
    """Yield the relation in a gap: a verb between all on both sides, else mere proximity."""
    verb, passive, sure = verb_in(gap) if len(gap) <= MAX_GAP_CHARS else ("", False, False)
    if not verb or (verb == "runs on" and any(one.type == "person" for one in sources)):
        for target in targets[:MAX_LISTED] if _EXPLAINS.search(gap) else targets[:1]:
            yield Link(subject, target, CO_MENTIONED, CO_MENTION_WEIGHT, text)
        return
    for source, target in product(sources[:MAX_LISTED], targets[:MAX_LISTED]):
        pair = (target, source) if passive else (source, target)
        yield Link(*pair, verb, VERB_WEIGHT if sure else PREPOSITION_WEIGHT, text)

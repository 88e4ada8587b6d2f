"""Relate the mentions of one statement: by verb, definition, bracket, column, arrow or proximity."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, product

from ragmem.domain.entities.entities import Mention
from ragmem.domain.entities.statements import Statement
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

_ACTIVE = {
    "uses": r"us(?:es?|ed|ing)|leverag(?:es?|ing)|utiliz(?:es?|ing)",
    "depends on": r"depends? on|relies on|rely on|requir(?:es?|ing)|needs?",
    "replaces": r"replac(?:es|ed|ing)|supersed(?:es|ed|ing)|instead of|rather than",
    "runs on": r"runs? (?:on|in|at|as|under|inside)|running (?:on|in|at)|listens? on|"
    r"(?:hosted|deployed) (?:on|at|to)|l(?:\u00e4uft|aufen) auf|tourne(?:nt)? sur|s'ex\u00e9cute sur|"
    r"corren? en|rodam? em|\u0440\u0430\u0431\u043e\u0442\u0430\u0435\u0442 \u043d\u0430",
    "calls": r"calls?|calling|invok(?:es?|ing)|triggers?|executes?|runs?|spawns?|dispatches?",
    "imports": r"imports?|importing|loads?|loading|reads?(?: from)?|parses?",
    "stores": r"stor(?:es?|ing)|persists?|writes?(?: to)?|saves?|caches?|logs?(?: to)?|records?",
    "serves": r"serv(?:es?|ing)|exposes?|provid(?:es?|ing)|offers?|publishes?",
    "causes": r"caus(?:es?|ing|ed)|leads? to|results? in|breaks?|raises?|throws?|fail(?:s|ed)? with",
    "fixes": r"fix(?:es|ed)|resolv(?:es|ed)|solv(?:es|ed)|prevents?|avoids?|works around",
    "implements": r"implements?|extends?|inherits?(?: from)?|wraps?|overrides?|subclasses",
    "contains": r"contains?|includes?|including|holds?|defines?|consists of|comprises",
    "returns": r"returns?|yields?|produces?|generates?|creates?|emits?|outputs?|sends?",
    "supports": r"supports|supporting|(?:to|not|can|must|should|will|and|also) support|handles?|"
    r"manages?|validates?|checks?|converts?|"
    r"queries|updates?|targets?|gets?|takes?",
    "located in": r"(?:lives?|stored|located|defined|declared|installed|found) (?:in|at|under)",
    "owns": r"owns?",
    "wrote": r"wrote|authored|drafted",
    "approves": r"approve[sd]?|signed off on",
    "decides": r"decide[sd]?(?: on)?|chose",
    "reviews": r"review(?:s|ed)",
    "maintains": r"maintain(?:s|ed)|betreut|verantwortet|g\u00e8re|maintient|mantiene|mant\u00e9m|"
    r"\u043f\u043e\u0434\u0434\u0435\u0440\u0436\u0438\u0432\u0430\u0435\u0442",
    "leads": r"leads|led",
    "works at": r"work(?:s|ed) (?:at|for)|joined",
    "set to": r"set to|defaults? to|equals|points? to|maps? to|changed to",
}
_WEAK = {
    "is a": r"is|are",
    "located in": r"in|at|from|under",
    "contains": r"with|has",
    "uses": r"via|through",
    "replaces": r"not",
    "set to": r"=",
    "to": r"to|\u2192|->|=>",
}
"""Prepositions and weak verbs, which count only if no verb stands between two names."""

_PASSIVE = {
    "uses": r"used (?:by|in|for)|leveraged by|consumed by",
    "calls": r"called (?:by|from)|invoked by|triggered by|executed by",
    "causes": r"caused by|because of|due to",
    "fixes": r"fixed (?:by|with|in)|resolved (?:by|with)|solved (?:by|with)",
    "imports": r"imported (?:by|from)|loaded (?:by|from)|read by",
    "stores": r"(?:stored|persisted) by",
    "owns": r"owned by|geh\u00f6rt|appartient \u00e0|pertenece a|pertence a",
    "wrote": r"(?:written|authored|drafted) by",
    "approves": r"approved by|signed off by",
    "decides": r"(?:decided|chosen) by",
    "reviews": r"reviewed by",
    "leads": r"led by",
    "serves": r"served by|provided by|exposed by",
    "implements": r"implemented (?:by|in|with)|wrapped by",
}
_FIXED = {
    "replaced by": r"replaced (?:by|with)|superseded by|renamed (?:to)|migrated to",
    "managed by": r"managed by|handled by|developed by|maintained by|configured (?:by|via|in|with|through)",
    "returned by": r"returned by|created (?:by|in)|generated by|emitted by|returned from",
}


def _verb_pattern(verbs: dict[str, str], prefix: str) -> str:
    """Return one alternation with a named group for each verb."""
    return "|".join(f"(?P<{prefix}{at}>{pattern})" for at, pattern in enumerate(verbs.values()))


_TO_BE = r"(?:(?:is|are|was|were|be|been|being|get|gets|got) (?:\w+ly )?)?"
_VERB = lazy(
    rf"(?<![\w-])(?:{_TO_BE}(?:{_verb_pattern(_PASSIVE, 'p')}|{_verb_pattern(_FIXED, 'f')})"
    rf"|{_verb_pattern(_ACTIVE, 'a')})(?![\w-])",
    re.IGNORECASE,
)
_PREPOSITION = lazy(rf"(?<![\w-])(?:{_verb_pattern(_WEAK, 'w')})(?![\w-])", re.IGNORECASE)
_NAMES = {
    **{f"a{at}": (name, False) for at, name in enumerate(_ACTIVE)},
    **{f"p{at}": (name, True) for at, name in enumerate(_PASSIVE)},
    **{f"f{at}": (name, False) for at, name in enumerate(_FIXED)},
    **{f"w{at}": (name, False) for at, name in enumerate(_WEAK)},
}
MAX_PREPOSITION_CHARS = 45
"""A preposition further from its name belongs to another word."""

_DASH = lazy(r"\s[\u2014\u2013-]\s|[()]")
_NEGATION = lazy(
    r"\b(?:not|never|no longer|doesn't|don't|didn't|isn't|can't|cannot|won't|without)\b", re.IGNORECASE
)


def verb_in(gap: str) -> tuple[str, bool, bool]:
    """Return the first verb between two mentions, whether it is passive, and whether it is a real verb.

    A preposition counts as a weak verb; the verb is "" if there is neither.
    """
    found = _VERB.search(gap)
    sure = found is not None
    if found is None and len(gap) <= MAX_PREPOSITION_CHARS and not _DASH.search(gap):
        found = _PREPOSITION.search(gap)
    if found is None or found.lastgroup is None:
        return "", False, False
    name, passive = _NAMES[found.lastgroup]
    if _NEGATION.search(gap, 0, found.start()):
        name = f"not {name}"
    return name, passive, sure


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

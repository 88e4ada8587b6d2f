"""Read records of decisions: whether one holds, and the sentence that states what was decided."""

import re
from collections.abc import Iterable, Iterator

from ragmem.domain.classification.standalone import (
    ASIDE,
    LONGEST,
    WORD,
    has_verb,
    is_order,
    main_clause,
    plain,
    stands_alone,
    without_comments,
)
from ragmem.domain.model import Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import Block, BlockType, units
from ragmem.domain.text.words import words_of

HEAD = 1_000
"""Number of characters in which a text may say that it is obsolete."""

_ENDED = r"superseded|deprecated|rejected|obsolete|abandoned|withdrawn|cancelled|canceled"

_STATUS = r"^#{0,6}\W{0,6}status\W{1,8}"

_NO_LONGER = re.compile(
    rf"{_STATUS}(?:{_ENDED})\b|^\W{{0,6}}(?:{_ENDED})\b|^\W{{0,6}}(?:replaced|amended) (?:in part )?by\b"
    r"|\bdo not follow\b",
    re.IGNORECASE | re.MULTILINE,
)

_PUT_AWAY = re.compile(
    r"/(?:docs?|adrs?|decisions?|notes|rules|memory|memories|memory-bank|agent-memory)/(?:[^/]+/)*"
    r"(?:legacy|old|archived?|deprecated|obsolete|superseded|rejected|historical|examples?|samples?|templates?)/"
    r"|[/_-](?:template|prompt|example|draft)\.\w+$",
    re.IGNORECASE,
)
"""The path of a document in a folder of what no longer holds, or of a form."""

_RESOLVED = re.compile(
    r"\W{0,6}(?:resolved|fixed|closed|done|obsolete|superseded|outdated)\b"
    r"(?=\s*(?:[:(,.\u2014\u2013]|- |$)|\s+(?:in|on|by|since|as of)\b|\s+\d)",
    re.IGNORECASE,
)
"""The beginning of the description of a matter that is over."""

_OVER = re.compile(r"(?:^|[-:(\[\u2014\u2013]\s*)(?:RESOLVED|FIXED|CLOSED|DONE|COMPLETED?|SHIPPED|MERGED)\b")
"""The same in a title."""

_ENDED_STATUS = re.compile(
    rf"{_STATUS}[^\n]{{0,200}}\b(?:{_ENDED}|amended|retracted|historical|moved|partially)\b"
    r"|^#{1,4} (?:update|amendment)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What was decided and no longer holds as it was written."""

_UNDECIDED = re.compile(
    rf"{_STATUS}(?:proposed|draft|pending|under review|in review|open|rfc)\b|\$ARGUMENTS\b|\{{\{{\w",
    re.IGNORECASE | re.MULTILINE,
)
"""A status of what is not decided yet, and the marks of a template."""

_STATUS_LINE = re.compile(
    r"^#{0,6}\W{0,6}(?:status|statut|estado|stato|\u0441\u0442\u0430\u0442\u0443\u0441|\u72b6\u6001|\u30b9\u30c6\u30fc\u30bf\u30b9|\uc0c1\ud0dc)\b"
    r"(?:[ \t*_]*[:\uff1a|][^\w\n]*|(?:\*\*|__)[ \t]+|[ \t*_:]*\n\W{0,8})(\w[^\n]{0,80})",
    re.IGNORECASE | re.MULTILINE,
)
"""The line of a status, or the one below its heading; also in other languages."""

_ACCEPTED = re.compile(
    r"(?:accepted|approved|adopted|implemented|active|agreed|decided|done|ratified|in force"
    r"|angenommen|akzeptiert|beschlossen|entschieden|umgesetzt|accept[\u00e9e]e?|adopt[\u00e9e]e?|aceptad[ao]|aprobad[ao]|aceit[ao]|aprovad[ao]"
    r"|accettat[ao]|geaccepteerd|\u043f\u0440\u0438\u043d\u044f\u0442\w*)\b"
    r"|\u5df2(?:\u63a5\u53d7|\u91c7\u7eb3|\u6279\u51c6|\u901a\u8fc7|\u5b9e\u65bd)|\u751f\u6548|\u63a1\u7528|\u63a1\u629e|\u627f\u8a8d|\uc2b9\uc778|\ucc44\ud0dd",
    re.IGNORECASE,
)
"""The status of a decision that holds."""

_RECORD = re.compile(
    r"(?:^|/|__|_)(?:adrs?|(?:architecture-)?decisions?(?:-records?)?|d\u00e9cisions?|decisiones|decis[\u00f5o]es"
    r"|decisioni|entscheidungen)(?:/|_)",
    re.IGNORECASE,
)

_RECORD_TITLE = re.compile(r"(?:adr|decision)[-_ #]?\d|\d{2,4}\s?[-:.]\s", re.IGNORECASE)
"""The path or the title of a record of one decision, whose title states it."""

_NO_RECORD = re.compile(
    r"(?:^|[/_])(?:template|_?index|0000[-_][^/]*)\.\w+$|(?:^|(?:^|/)(?!\d)[^/]*/|_)readme\.\w+$"
    r"|/(?:future|proposals?|drafts?|[\w-]*briefs?|research|appendi(?:x|ces)|discussions?|consultations?)/",
    re.IGNORECASE,
)
"""The path of a file beside the records of decisions, and of what is only proposed.

A numbered or dated folder may hold one record, as its readme.
"""

_ABOUT_RECORDS = re.compile(
    r"\b(?:architectur\w+|any) decisions?\b|\b(?:record|document)(?:ing)? (?:\w+ ){0,2}decisions\b"
    r"|\bd[\u00e9e]cisions? (?:concernant )?(?:l|d)['\u2019]architecture\b"
    r"|\barchitekturentscheidung|\b(?:ADRs?|decision record) (?:process|template|format)\b",
    re.IGNORECASE,
)
"""The title of the record that comes with a template of such records."""

_STATES = re.compile(
    r"(?:^|[:\u2014-]\s+)(?!users?\b)(?:use|adopt|make|migrate|model(?! (?-i:[A-Z]))|replace|remove|record"
    r"|keep|split|move|store|drop|prefer|expose|introduce|separate|support(?!ed)|require|serve(?!r)|treat|mine"
    r"|self-host|build|run|pin|enforce|allow|deny|combine|centrali[sz]e|consolidate|standardi[sz]e|reuse)\w{0,3}\b"
    r"|\b(?:over|instead of|rather than|without|is|are|must|not|no(?!-)|never|only|as)\b",
    re.IGNORECASE,
)
"""A title that states a decision."""

_DECISION_HEADING = re.compile(
    r"^#{2,4}[ \t]+(?:[\d.]+[ \t]+)?(?:(?:the|our|final) )?(?:decisions?(?: outcome| made)?|outcome"
    r"|(?:ergebnis der )?entscheidung|entscheidungsergebnis|r\u00e9sultat de la d\u00e9cision"
    r"|d[\u00e9e]cision|decisi[\u00f3o]n|decis[\u00e3a]o|decisione|besluit|\u0440\u0435\u0448\u0435\u043d\u0438\u0435|\u51b3\u7b56|\u51b3\u5b9a|\u6c7a\u5b9a|\uacb0\uc815)"
    r"[ \t]*:?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)

_SECTION = re.compile(r"^##", re.MULTILINE)

_FIELD = re.compile(r"\W*[^\W\d][\w ]{1,20}\W{0,3}:")
"""A line such as "Date: 2026-03-01" above the text of a record without sections."""

MOST_OF_DECISION = 4
"""Sentences of a decision in which the first one that can stand alone is looked for."""

_TEXTS = frozenset({BlockType.PARAGRAPH, BlockType.ITEM})

_OPTION = re.compile(
    r"^(?:(?:\u9078\u629e\u80a2|\u65b9\u6848|\u9009\u9879|\u9078\u9805)\s*\w{1,2}\s*[:\uff1a]"
    r"|option \w{1,2}\s*[-:.\u2013\u2014]+|\(#?\d{1,2}\))\s*",
    re.IGNORECASE,
)
"""The label before what was chosen."""

_REFERENCE = re.compile(r" \[[a-z]{2,20}\](?!\[)|\[(?:\^[^\]\[\n]{1,20}|([^\]\[\n]{2,80}))\]")
"""A mark such as [binding], a footnote, or a link whose address stands elsewhere."""

_COUNTS = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|several|\d+)(?: [\w-]+){0,2}? (?:tiers|layers|levels|rules"
    r"|principles?|shapes|parts|options|strateg(?:y|ies)|phases|stages|channels|steps|things|sources|adapters"
    r"|components|changes|elements|modules)\b",
    re.IGNORECASE,
)
"""The announcement of a list, which says nothing without the list."""

_RESOLVES = re.compile(
    r"(?:we|the (?:team|project)|all|every|each|no|only|adopt|use|keep|prefer|store|serve|treat|require"
    r"|reject|allow|deny|apply|choose|avoid|replace|introduce|run|make|move|split|provide|define|implement|build"
    r"|add|create)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence of a decision that says what is done from then on."""

_DECIDED = re.compile(
    r"\b(?:we|it|i|the (?:team|project))(?:'ve| have| has| was| is)?(?: been)?(?: \w+ly)?"
    r" (?:decided|chose|chosen|agreed|adopt(?:ed)?|went with)\b|\bdecision (?:has been|was) made\b"
    r"|\b(?:we|the team)(?:'ll| will(?! not)| use|(?:'re| are) (?:going to|using))\b",
    re.IGNORECASE,
)
"""The words of a sentence that states a decision."""

_NEEDS = re.compile(
    r"\bwe(?:'ve| have) (?!(?:also )?(?:decided|chosen|agreed|selected|adopted|opted|moved|switched)\b)"
    r"|^(?!.*\b(?:decided|chose|chosen|agreed|selected|adopted|opted)\b)"
    r"we (?:discussed|considered|evaluated|explored|investigated|looked|compared|tested|trialled|tried"
    r"|reviewed|found|developed|wrote|designed)\b|\bwe (?:will|do) not change\b|\bwe will defer\b|^we(?:'ve"
    r"| have| will)? also\b|\bwe will (?:first )?(?:evaluate|investigate|explore|research|compare"
    r"|experiment)\b|^(?:chosen|selected) option\W+(?:status quo|do nothing|none)\b"
    r"|^we already\b|^we (?:(?:should|will|can) )?then\b|\bdecided to (?:postpone|defer|delay|wait)\b"
    r"|\b(?:was|were) (?:tried|tested|evaluated|considered|discussed|compared|investigated)\b"
    r"|^if\b|^no (?:new|change|additional|breaking)\b"
    r"|\b(?:we|they|users|teams) (?:will )?need to\b|\bwill have to\b",
    re.IGNORECASE,
)
"""What was done before the decision, and what it still takes."""

_TELLS_WHY = re.compile(
    r"current\b|(?:the|our) (?:\w+ ){0,2}(?:options|alternatives|candidates|choices)\b"
    r"|(?!(?:we|use|all|every|each|no|only)\b)(?:(?!\b(?:because|since|therefore|as)\b).)*?"
    r"\b(?:(?:is|are) (?:limited|difficult|hard|unclear|insufficient|cumbersome|error-prone"
    r"|too (?:slow|large|big|complex|expensive|many|much|hard))|lacks?|struggles?|suffers? from|reduces"
    r"|offers|recommends|makes (?:for|it)|least expensive|best option"
    r"|(?:do|does|did|ca|is|are)(?: ?not|n't) (?:allow|support|provide|offer|scale|work|fit|meet|have))\b"
    r"|(?:our|the|this) (?:[\w-]+ )?(?:proposal|concept|solution|approach|design|decision|process|idea)"
    r" (?:consists|comprises|contains|presents|includes|involves|aims)\b",
    re.IGNORECASE,
)
"""A sentence that begins with the problem or the options, or announces the parts of a solution."""

_DEFINES = re.compile(
    r"(?:(?i:an?|the) )?(?P<subject>[\w'./ -]{2,60}?)"
    r" (?:is|are|means?|ist|sind|est|sont|es|son|\u00e9) (?:an?|the|ein|eine|der|die|das|une?|le|la|uma?|el)"
    r" (?!.*[`\d\"])(?!.*\w [A-Z])",
)
"""A definition, with no name in what follows the verb."""

CHOSEN = re.compile(r"(?:chosen|selected) option\W+", re.IGNORECASE)
"""The label of what was chosen; what about stands in the title."""

_NO_REASON = re.compile(
    r"[.,]?(?P<quote>[\"'`]?),? because(?:\W*| (?:it )?comes? out best\b.*| (?:it )?resolves all forces\W*)$",
    re.IGNORECASE,
)
"""A reason that is a list below, or says nothing."""

_QUOTED = re.compile(
    r"(?:chosen|selected) option\W+(?P<quote>[\"'`])(?!(?:option|none|all|both|no|keep)\b)"
    r"[^\"{}\[\]]*[^\W\d]{3}[^\"{}\[\]]*(?P=quote)\.",
    re.IGNORECASE,
)
"""What was chosen, quoted and without a reason, however short."""

_GOING_TO = re.compile(r"\bwe(?:'re| are) (?:now )?going to\b", re.IGNORECASE)

_AS_WE = re.compile(
    r".{20,}?, (?P<we>(?:we|the (?:decision|team)) (?:have |has |was |were |are |will )?(?:\w+ )?"
    r"(?:decided|chose|chosen|agreed|opted|made|adopt|use|going)\b.*)",
    re.IGNORECASE,
)
"""A long introduction before what was decided."""

_REASON = re.compile(
    r"(?:,| \u2014| -|;)?"
    r" (?=(?:because|since|so that|in order to|to achieve|accepting|and (?:remove|delete|drop))\b)| \u2014 "
)
"""The end of the main clause of a decision; what stands behind a semicolon may be the decision itself."""

MIN_DECISION = 15
"""Least characters of a main clause before its reason."""

MOST_OF_RECORD = 300
"""Longest sentence of a record in characters: a shorter one often loses what was decided."""

_AMENDS = re.compile(
    r"\b(?:supersedes|replaces|reverses|reverts?|amends|obsoletes|overrides|revises|refines|narrows|relaxes|retires)"
    r"\W{1,6}(?:in part\W{1,4})?"
    r"(?P<series>adr|[a-z]dr|[a-z]{3}dr|decision|record)[-_ #]{0,2}0*(?P<number>\d{1,4})\b",
    re.IGNORECASE,
)
"""What a record says of the record that it changes."""

_REMOVES = re.compile(
    r"(?:(?:adr|decision)?[-_ #]*\d{1,4}\s*[-:.\u2013\u2014]*\s*)?"
    r"(?:remove|drop|abandon|retire|get rid of|stop using|no longer use|replace|move away from)"
    r" (?:the |our )?(?P<what>[\w.+#-]{3,})"
    r"(?=\W*$|\s*[(,:;\u2014]|\s+(?:with|by|in favou?r|from|for|as|and)\b)",
    re.IGNORECASE,
)
"""The title of a record that ends the use of one thing, named by one word."""

_MOVES = re.compile(
    r"(?:\W*(?:adr|decision)?[-_ #]*\d{1,4}\s*[-:.\u2013\u2014]*\s*)?(?:we (?:will )?)?"
    r"(?:move|migrate|switch)(?: [\w-]+){0,4} from (?:the |our )?(?P<what>[A-Z][\w.+#-]{2,})(?: \w+)? to\b",
    re.IGNORECASE,
)
"""The title or the decision of a record that goes over from one thing to another."""

_ONCE = re.compile(r"(?:remove|delete|drop|rename|update)\b", re.IGNORECASE)
"""The beginning of an order that is carried out once; nothing follows from it then."""

_OWN_NUMBER = re.compile(r"^(?:(?:adr|decision)?[-_ #]*\d{1,4}\s*[-:.\u2013\u2014]*\s*)", re.IGNORECASE)

_SUBJECT = re.compile(
    r"\b(?:and not (?:used|chosen)|options|alternatives|considerations|questions?|comparison"
    r"|evaluation|investigation|candidates?)\b",
    re.IGNORECASE,
)
"""Words of a title that says what a record is about."""

_CHANGED = re.compile(
    r"\b(?P<series>adr|[a-z]dr|[a-z]{3}dr|decision|record)[-_ #]{0,2}0*(?P<number>\d{1,4})\b[^.|]{0,60}?"
    r"\b(?:rescoped|amended|superseded|reversed|replaced|revised|narrowed|overridden|retracted|retired"
    r"|no longer|as originally"
    r"|this (?:adr|record|decision) (?:supersedes|replaces|amends|changes|revises))\b",
    re.IGNORECASE,
)
"""What a record says of an earlier one that no longer holds as it was written."""

_SAID_BEFORE = re.compile(
    r"\b(?P<series>adr|[a-z]dr|[a-z]{3}dr|decision|record)[-_ #]{0,2}0*(?P<number>\d{1,4})\b"
    r"(?:(?!\b(?:[a-z]{0,3}dr|decision|record)[-_ #]{0,2}\d)[^|]){0,160}?"
    r"\bthis (?:adr|record|decision) (?:supersedes|replaces|amends|changes|revises|refines|narrows|relaxes"
    r"|overrides|corrects|reverses) (?:that|it|this)\b",
    re.IGNORECASE,
)
"""The same in a sentence after the one that names the earlier record."""

_QUALIFIED = re.compile(
    r"\b(?:since|later|but|however|until|except|part(?:ly|ially)?|carried out|update[ds]?|changed|revised"
    r"|corrected|refined|retracted|retired|reopened|pending|not yet|conditional(?:ly)?)\b",
    re.IGNORECASE,
)
"""Words in the status of a record that was accepted and may no longer hold as it was written."""

_ENDED_SINCE = re.compile(
    r"\b(?:retired|retracted|reversed|withdrawn|removed|dropped|superseded|replaced|abandoned)\b"
    r"[^.\n\d]{0,12}\(?20\d\d-\d\d-\d\d",
    re.IGNORECASE,
)
"""What a record says to have ended on a later day."""

_NUMBERED = re.compile(r"(?P<series>[a-z]*)[-_ ]?0*(?P<number>\d{1,4})[-_. ]", re.IGNORECASE)
"""The number at the beginning of the name of a record's file."""

MIN_TITLE_WORDS = 3


def is_obsolete(memory: Memory) -> bool:
    """Return whether a memory says at its beginning, in its status or its title that it is over."""
    return (
        _NO_LONGER.search(memory.text[:HEAD]) is not None
        or _NO_LONGER.match(f"status: {memory.metadata.get('status', '')}") is not None
        or _RESOLVED.match(memory.metadata.get("description", "")) is not None
        or _OVER.search(memory.title) is not None
        or _PUT_AWAY.search(memory.uri) is not None
    )


def is_undecided(memory: Memory) -> bool:
    """Return whether a document only proposes, no longer holds as it was written, or is a template."""
    undecided = _UNDECIDED.search(memory.text) or _ENDED_STATUS.search(memory.text)
    return undecided is not None or _NO_RECORD.search(memory.uri) is not None


def is_record(memory: Memory) -> bool:
    """Return whether a memory is a decision record: in a folder of such, with a decision or a status."""
    return lies_among_records(memory) and (
        _DECISION_HEADING.search(memory.text) is not None or _ACCEPTED.match(status_of(memory)) is not None
    )


def lies_among_records(memory: Memory) -> bool:
    """Return whether the path or the title of a memory is that of a record, or of a file beside records."""
    return _RECORD.search(memory.uri) is not None or _RECORD_TITLE.match(memory.title) is not None


def is_in_force(memory: Memory) -> bool:
    """Return whether the status of a record says that its decision was accepted and still holds."""
    return (
        _ACCEPTED.match(status_of(memory)) is not None
        and not _QUALIFIED.search(status_of(memory))
        and not _ENDED_SINCE.search(memory.text)
        and not _NO_LONGER.search(memory.text[:HEAD])
        and not _ENDED_STATUS.search(memory.text)
    )


def status_of(memory: Memory) -> str:
    """Return what the status of a record says: of its frontmatter, else of its first line of that name."""
    if told := memory.metadata.get("status", ""):
        return told
    found = _STATUS_LINE.search(memory.text)
    return found[1] if found else ""


def amended_ids(memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the records that another accepted record beside them says it amends or replaces.

    A record that removes something amends the earlier ones that have it in their titles.
    """
    records: dict[tuple[str, int], list[tuple[str, str]]] = {}
    titles: list[tuple[str, int, str, str]] = []
    amended: list[tuple[str, str, int]] = []
    removed: list[tuple[str, int, str]] = []
    for memory in memories:
        folder, _, name = memory.uri.rpartition("/")
        if not lies_among_records(memory) or not (found := _NUMBERED.match(name)):
            continue
        series = found["series"].lower()
        number = int(found["number"])
        records.setdefault((folder, number), []).append((series, memory.id))
        titles.append((folder, number, memory.title.lower(), memory.id))
        if may_be_told(memory, memory.title) and (gone := _removal(memory)):
            removed.append((folder, number, gone["what"].lower()))
        if is_in_force(memory):
            told = [
                *_AMENDS.finditer(f"{memory.title}\n{memory.text}"),
                *_CHANGED.finditer(memory.text),
                *_SAID_BEFORE.finditer(memory.text),
            ]
            named = ((one["series"].lower(), int(one["number"])) for one in told)
            amended += [(folder, name, earlier) for name, earlier in named if earlier < number]
    ended = {
        key
        for folder, number, what in removed
        for place, earlier, title, key in titles
        if place == folder and earlier < number and re.search(rf"(?<!\w){re.escape(what)}(?!\w)", title)
    }
    return ended | {
        key
        for folder, series, number in amended
        for own, key in records.get((folder, number), ())
        if own in {"", series} or series in {"decision", "record"}
    }


def _removal(memory: Memory) -> re.Match[str] | None:
    """Return the match of what a record says to have been removed or replaced."""
    told = (_MOVES.match(memory.text, start) for _, start, _ in _statements_of_decision(memory.text))
    return _REMOVES.match(memory.title) or _MOVES.match(memory.title) or next(filter(None, told), None)


def may_be_told(memory: Memory, title: str) -> bool:
    """Return whether a record was accepted or has no status, and is no template of records."""
    beside = "?" in title or _ABOUT_RECORDS.search(title) or _NO_RECORD.search(memory.uri)
    return not beside and (is_in_force(memory) or not status_of(memory))


def states_decision(title: str) -> bool:
    """Return whether a title says what was decided, and not only what about."""
    if _ONCE.match(_OWN_NUMBER.sub("", title)) or _SUBJECT.search(title):
        return False
    return len(WORD.findall(title)) >= MIN_TITLE_WORDS and _STATES.search(title) is not None


def decision_of(memory: Memory, redactor: Redactor) -> str:
    """Return the first sentence of a record that says it decides, else the first that may, or ""."""
    first, weak = True, ""
    text = without_comments(memory.text)
    for block, start, end in _statements_of_decision(text):
        if block.form not in _TEXTS:
            first = False
            continue
        for sentence in _wordings(plain(text[start:end], redactor=redactor)):
            is_fragment = sentence[:1].islower() and not has_verb(sentence)
            if block.form is BlockType.PARAGRAPH:
                decides = (first or _RESOLVES.match(sentence) is not None) and not is_fragment
            else:
                decides = first and not sentence[:1].islower() and has_verb(sentence)
            if (
                (decides or is_order(sentence))
                and (_QUOTED.fullmatch(sentence) or _stands_alone(sentence))
                and not _is_beside(sentence)
                and not _defines(sentence, memory.title)
            ):
                if _DECIDED.search(sentence):
                    return sentence
                weak = weak or sentence
                break
        first = False
    return weak


def _statements_of_decision(text: str) -> Iterator[tuple[Block, int, int]]:
    """Yield the statements of the decision to its last sentence; of a text without sections, of all of it."""
    heading = _DECISION_HEADING.search(text)
    if heading is None and _SECTION.search(text):
        return
    level = len(heading[0].split(None, 1)[0]) if heading else 1
    number = 0
    for block, start, end in units(text, heading.end() if heading else 0):
        if block.form is BlockType.HEADING:
            if block.level <= level and (heading or number):
                return
        elif heading or not _FIELD.match(text, start, end):
            number += block.form in _TEXTS
            if number > MOST_OF_DECISION:
                return
            yield block, start, end


def _stands_alone(sentence: str) -> bool:
    """Return whether a sentence of a decision can stand alone; there "we are going to" is no plan."""
    return stands_alone(_GOING_TO.sub("we will", sentence), longest=MOST_OF_RECORD)


def _wordings(sentence: str) -> Iterator[str]:
    """Yield a sentence without its label and an empty reason, and its main clause; first of a long one."""
    sentence = _OPTION.sub("", _REFERENCE.sub(r"\1", sentence))
    if CHOSEN.match(sentence):
        sentence = _NO_REASON.sub(r"\g<quote>.", sentence)
    if len(sentence) > MOST_OF_RECORD and (ours := _AS_WE.match(sentence)):
        sentence = f"{ours['we'][0].upper()}{ours['we'][1:]}"
    clause = main_clause(sentence, ends=_REASON, least=MIN_DECISION)
    yield from (sentence, clause) if len(sentence) <= LONGEST else (clause, sentence)
    part, semicolon, _ = sentence.partition("; ")
    if semicolon and (_RESOLVES.match(part) or is_order(part)):
        yield f"{part}."


def _is_beside(sentence: str) -> bool:
    """Return whether a sentence explains, announces, or describes what came before or is still needed."""
    return any(
        (
            ASIDE.match(sentence),
            _NEEDS.search(sentence),
            _COUNTS.search(sentence),
            _ONCE.match(sentence),
            _TELLS_WHY.match(sentence),
            _ABOUT_RECORDS.search(sentence),
        )
    )


def _defines(sentence: str, title: str) -> bool:
    """Return whether a sentence only says what the subject of a title is."""
    found = _DEFINES.match(sentence)
    return found is not None and set(words_of(found["subject"])) <= set(words_of(title))

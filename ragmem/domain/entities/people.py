"""Find people, by given names, verbs, roles, handles and mails, and the organisations that they work for."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path

from ragmem.domain.entities.ordinary_words import is_ordinary
from ragmem.domain.entities.proper_names import Named, is_inside
from ragmem.domain.text.blocks import BlockType
from ragmem.domain.text.known_names import (
    AMBIGUOUS_NAMES,
    COMMON_WORDS,
    GENERIC_NOUNS,
    KIND_NOUNS,
    KNOWN_NAMES,
    NAME_STARTERS,
)
from ragmem.domain.text.token_types import KNOWN_WEIGHT, WEAK_WEIGHT
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

Cells = Sequence[tuple[int, int]]
"""Spans of cells in a row."""


def _names(file: str) -> frozenset[str]:
    return frozenset(Path(__file__).with_name(file).read_text(encoding="utf-8").split())


GIVEN_NAMES = _names("given_names.txt")
"""Given names, in lower case, that with a capital are hardly anything else."""

AMBIGUOUS_GIVEN_NAMES = _names("ambiguous_given_names.txt")
"""Given names, in lower case, that are words, places or products too: they need a cue beside them."""

MAX_WORDS = 4
MAX_ACRONYM = 5
_REACH = 40

_CAPITAL = r"[^\W\d_a-z\u00df-\u00f6\u00f8-\u00ff\u0430-\u045f]"
_REST = rf"(?:['\u2019]{_CAPITAL})?[^\W\d_]+(?:-{_CAPITAL}[^\W\d_]+)*"
_WORD = rf"(?:(?:al|el)-)?{_CAPITAL}{_REST}"
_PARTICLES = "(?:van|von)(?: der| den)?|de(?: la| los)?|da|do|dos|das|du|del|della|di|ter|bin"
_PARTICLE_WORDS = frozenset("van von der den de la los da do dos das du del della di ter bin".split())
_RUN = lazy(
    rf"{_CAPITAL}(?<![\w@#./$`\\-].){_REST}"
    rf"(?: (?:(?:{_PARTICLES}) )?(?:{_WORD}|{_CAPITAL}\.(?= {_CAPITAL}))){{0,4}}"
    r"(?![\w@(=`]|[./:-]\w)"
)
_TITLE_CASE = lazy(r"(?:al-|el-|Mc|Mac|De|Di|Le|La|[OD]['\u2019])?\w[^\W\d_A-Z]+(?:-\w[^\W\d_A-Z]+)*$|\w\.$")

_TITLES = frozenset(
    "mr mrs ms dr prof sir herr herrn frau monsieur madame mme mlle señor señora sr sra doña senhor senhora "
    "dona".split()
)
_OPENERS = frozenset(
    "asked told met thanks dear hi hello by per laut nach selon d'après según segundo por von mit reviewed "
    "written approved owned author owner contact according ping with from and".split()
)
"""Words with a capital at the beginning of a sentence that stand before a name."""

_PLACES = frozenset(
    "san santa santo são saint st new north south east west los las port fort mount lake".split()
)
"""Words before a given name that make it a place."""

_NEVER_LAST = (
    KIND_NOUNS.keys()
    | GENERIC_NOUNS
    | COMMON_WORDS
    | NAME_STARTERS
    | frozenset(
        "loop example examples way pattern method law theorem algorithm space code studio course test tests "
        "book street avenue university college prize award ventures style theme capital invest partners "
        "group bank media holdings".split()
    )
) - AMBIGUOUS_GIVEN_NAMES

_CYRILLIC = "\u0400"
_FAMILY_NAME = lazy(
    "(?:ов|ова|ев|ева|ёв|ёва|ин|ина|ын|ына|кий|кая|ко|ук|юк|ич|вна|чна|ян|дзе|ли|ий|ц|ль|ан|он|"
    "\u043d\u0435\u0440)$"
)
"""Endings of family names and patronymics in Cyrillic letters, which hardly any adjective has."""

_ROLES = (
    r"(?:co-?)?(?:authors?|owners?|reviewers?|approvers?|assignees?|maintainers?|deciders?|attendees|"
    r"participants|presenters?|contributors?|contacts?|colleagues?|teammates?|coworkers?|engineers?|"
    r"developers?|designers?|architects?|managers?|leads?|founders?|directors?|researchers?|professors?|"
    r"analysts?|recruiters?|interns?|"
    r"consultants?|CEO|CTO|CFO|COO|CISO|VP|PM|SRE|DBA|autor(?:in|es|as?|en)?|kolleg(?:e|in|en)|"
    r"verantwortlich(?:er?)?|ansprechpartner(?:in)?|entwickler(?:in)?|auteure?s?|responsable|collègue|"
    r"compañer[oa]|colega|responsável|desenvolvedora?|desarrolladora?|développeu(?:r|se)|автор|коллега)"
)
_ROLE = lazy(_ROLES, re.IGNORECASE)
_COLUMN = lazy(
    rf"{_ROLES}|who|people|person|responsible|on[- ]call|(?:decided|reviewed|asked) by", re.IGNORECASE
)
_BEFORE = lazy(
    r"(?:(?<![\w-])(?:(?:written|authored|reviewed|approved|owned|requested|reported|suggested|proposed|"
    r"signed|signed[ -]off|drafted|filed|merged|maintained|designed|decided|noticed|spotted|diagnosed|"
    r"discovered|handled)[ -]by|assigned to|(?:spoke|talked|spoken|paired|synced|met|meeting|call|interview|"
    r"chat(?:ted)?|discussed|agreed) with|ask(?:ed|ing|s)?|told|tell|ping(?:ed)?|thank(?:s|ed|s to)?|hired|"
    r"interviewed|emailed|messaged|contact(?:ed)?|cc|according to|credits? to|[ée]crit par|relu par|revu par|"
    r"validé par|approuvé par|d'après|selon|appartient à|escrit[oa] por|revisad[oa] por|apro[bv]ad[oa] por|"
    r"según|segundo|"
    rf"pertenece a|pertence a|{_ROLES}),?|(?<!\w)(?:{_ROLES}|by|[\w-]+-by)\W{{0,4}}:\W{{0,4}}) ?[*_\"'(]*$",
    re.IGNORECASE,
)
"""What stands before people only: a verb, a role, a label such as Reviewed-by."""

_AFTER = lazy(
    r"[*_\"')]*,? (?:who )?(?:also |then |already |just |finally |now |once |has |had |have |later )?"
    r"(?:owns?|wrote|writes|approve[ds]|decide[ds]|asked|asks|said|says|review(?:ed|s)|reported|"
    r"suggest(?:ed|s)|propose[ds]|thinks|thought|wants|wanted|prefers|preferred|maintains|leads|led|joined|"
    r"noticed|(?:dis)?agree[ds]|objected|explained|pushed back|pointed out|insist(?:ed|s)|told|complained|"
    r"argued|volunteered|works|worked|drafted|confirmed|mentioned|requested|manages|designed|presented|"
    r"signed off|"
    rf"took over|takes over|is responsible|is on (?:call|leave|vacation)|(?:is|was) (?:the|our|an?) "
    rf"(?:[\w-]+ ){{0,2}}{_ROLES}|a (?:dit|demandé|[ée]crit|décidé|proposé|validé|approuvé|relu)|pense|"
    rf"préfère|"
    r"gère|maintient|dirige|[ée]value|s'occupe|dijo|dice|pidió|escribió|decidió|propuso|aprobó|revisó|"
    r"prefiere|mantiene|lidera|se encarga|es (?:el|la) responsable|disse|pediu|escreveu|decidiu|propôs|"
    r"aprovou|revisou|"
    r"prefere|mantém|cuida|é (?:o|a) responsável|(?:написал|сказал|решил|предложил|одобрил|проверил)\u0430?|"
    r"отвечает|поддерживает)(?!\w)"
    rf"|[*_\"')]* ?(?:[(,]|[\u2014\u2013-] ) ?(?:(?:the|our|an?) )?(?:[A-Za-z][\w-]+ ){{0,3}}{_ROLES}\b"
)
"""What people only do, or are."""

_AFTER_GERMAN = lazy(
    r"[*_\"')]*,? (?:hat|sagte?|meinte?|fragte?|betreut|verantwortet|schrieb|entschied|kümmert|übernimmt|"
    r"leitet|prüfte?)(?!\w)"
)
"""Verbs that prove no name: in German, two nouns with a capital may stand before them."""

_MAIL = lazy(r" <(?P<box>[^<>\s@]+)@(?P<host>[^<>\s@]+)>")
_ROBOT = lazy(r"(?i)no-?reply|bot\b|agent")
_CITED = lazy(rf"(?<!\w)({_WORD})(?= et al\b)")
_LISTED = lazy(r"[*_\"')]*(?: \([^()]{1,40}\))?(?:, ?(?:and )?| and | & | und | et | y | e | и )[*_\"'(]*")
_NOUN = lazy(r"[*_\"']* ([a-z]+)")

_HANDLE = lazy(r"(?<![\w./`@-])@([A-Za-z][\w-]*[A-Za-z0-9])(?![\w/(@-]|\.\w)")
_NO_HANDLE = lazy(
    r"(?i)(?:latest|next|here|channel|everyone|all|team|claude|copilot|codex|cursor|gemini|.*bot)$"
)
_TO_HANDLE = lazy(
    r"(?i)(?<!\w)(?:by|cc|thanks|thank you|thanks to|ping(?:ed)?|ask(?:ed)?|tell|told|contact|authors?|"
    r"owners?|reviewers?|assignees?|"
    r"maintainers?|contributors?|credits?(?: to)?|assigned to|reported by)\W{0,6}$"
)

_HONORED = lazy(r"(?<![一-\u9fff々])[一-\u9fff々]{2,3}(?=さん)")
_ANYBODY = lazy("[者員人客屋長母父師手業皆何多方]")
"""Signs of words for a role or for everybody, which are honored too."""

_CALLED = lazy(
    "[王李张刘陈杨黄赵吴周徐孙马朱胡郭林高梁郑罗宋谢唐韩曹许邓萧冯曾程蔡彭潘袁董余苏叶吕魏蒋田杜丁沈姜范]"
    "(?:先生|女士|老师|经理|工程师)"
)
"""One of the most frequent family names with a title behind it; given names would need a dictionary."""

_OWNED = lazy(
    r"(?:(?<=\b[Tt]he )|(?<=\b[Oo]ur ))((?:[a-z][a-z0-9-]{2,} ){1,2}(?:services?|pipelines?|servers?|"
    r"gateway|workers?|daemon|dashboards?|database|cluster|api|app|module|library|plugin|exporter|importer|"
    r"parser|scheduler|integration|migration|platform|backend|frontend|client|bot))(?![\w-])"
)
_NO_THING = lazy(
    r"(?:new|old|whole|entire|same|other|first|last|next|main|current|right|wrong|and|for|with|that|of)\b"
)

_LEGAL_FORM = lazy(
    r"GmbH(?: & Co\. KG)?(?!\w)|Inc\b\.?|Ltd\b\.?|LLC\b|AG\b|S\.A\.(?!\w)|B\.V\.(?!\w)|Corp\b\.?|SARL\b|"
    r"Ltda\b\.?|S\.L\.(?!\w)|KG\b|PLC\b|plc\b|Oy\b"
)
_ARTICLES = frozenset("der die das the la le les el los die".split())
_WORDS_BEFORE = lazy(rf"(?:{_CAPITAL}[\w&'\u2019-]*,? (?:& )?){{1,4}}$")
_EMPLOYER = lazy(
    r" (?:at|for|by|bei|für|chez|en|na|customer|client|vendor|employer) "
    r"(?P<name>[A-Z][\w&-]+(?: [A-Z][\w&-]+){0,2})(?!\w)"
)
_EMPLOYED = lazy(
    r"(?:(?<!\w)(?:work(?:s|ed|ing)?|employed|interned|hired|engineers?|developers?|CTO|CEO|CFO|founder|"
    r"intern|job|role|position|interview(?:ed)?|application|offer|folks|colleagues) (?:at|for|by)|"
    r"arbeitet (?:bei|für)|"
    r"travaille chez|trabaja en|trabalha na|(?<!\w)(?:[Oo]ur|[Tt]he|new|a) (?:customer|client|vendor|"
    r"employer))$"
)


@dataclass(frozen=True, slots=True)
class _Name:
    """The words of a name that may be a person's, and what is known of them before the context is read.

    `given`: it begins with a given name; `known`: with one that may be a word as well. `titled`: a title
    stands before it; `role`: a role.
    """

    start: int
    words: tuple[str, ...]
    given: bool
    known: bool
    titled: bool
    role: bool

    @property
    def end(self) -> int:
        """The end offset of the name in the statement."""
        return self.start + len(" ".join(self.words))


def find_people(text: str, form: BlockType, cells: Cells = ()) -> Iterator[Named]:
    """Yield the people and organisations of a statement, without order: start, end, name, type and weight.

    A line of code has people before mail addresses only. `cells` are those of a row that name people.
    """
    is_code = form is BlockType.FENCE
    if is_code and _MAIL.search(text) is None:
        return
    found = _people(text, form, cells)
    if "@" in text and not is_code:
        found += _handles(text, {end for _, end in found}, cells)
    if " et al" in text:
        found += [one.span() for one in _CITED.finditer(text)]
    if not text.isascii():
        found += [one.span() for one in _HONORED.finditer(text) if not _ANYBODY.search(one.group())]
        found += [one.span() for one in _CALLED.finditer(text)]
    for start, end in found:
        yield start, end, text[start:end], "person", KNOWN_WEIGHT
    if not is_code:
        yield from _organizations(text)


def people_columns(header: Sequence[str]) -> list[int]:
    """Return which columns of a table name people, by its header."""
    return [at for at, title in enumerate(header) if _COLUMN.fullmatch(title.strip())]


def find_responsibilities(text: str) -> Iterator[Named]:
    """Yield what people answer for, in a statement that names one: the billing service."""
    for one in _OWNED.finditer(text):
        if not _NO_THING.search(one.group(1)):
            kind = KIND_NOUNS.get(one.group(1).rsplit(" ", 1)[1].removesuffix("s"), "service")
            yield *one.span(1), one.group(1), kind, WEAK_WEIGHT


def _people(text: str, form: BlockType, cells: Cells) -> list[tuple[int, int]]:
    """Return the spans of the people by name; in a list, the neighbours of a person are people too."""
    mailed = _MAIL.search(text) is not None
    names = [
        name
        for run in _RUN.finditer(text)
        if _may_name(run.group().lower(), mailed=mailed) and (name := _name(run)) is not None
    ]
    if not names:
        return []
    found = {
        name: _MAIL.match(text, name.end) is not None
        if form is BlockType.FENCE
        else _is_person(text, name, form, listed=_in_cells(name.start, cells))
        for name in names
    }
    if any(found.values()) and form is not BlockType.FENCE:
        for before, after in (*pairwise(names), *pairwise(reversed(names))):
            if found[before] and not found[after]:
                first, second = sorted((before, after), key=lambda name: name.start)
                listed = _LISTED.fullmatch(text, first.end, second.start) is not None
                found[after] = listed and _is_person(text, after, form, listed=True)
    return [
        (name.start, name.end) for name, is_person in found.items() if is_person and not _is_robot(text, name)
    ]


def _name(run: re.Match[str]) -> _Name | None:
    """Return the name in a run of capitalized words, without the words before and after it."""
    words = run.group().split(" ")
    start = run.start()
    titled = False
    while words and ((title := words[0].rstrip(".").lower() in _TITLES) or _opens(words)):
        titled = titled or title
        start += len(words.pop(0)) + 1
    behind = _given_behind(words)
    role = behind > 0 and _ROLE.fullmatch(words[behind - 1]) is not None
    start += sum(len(word) + 1 for word in words[:behind])
    words = _cut(words[behind:])
    if not words or _is_other(words):
        return None
    first = words[0].lower()
    parts = first.split("-")
    given = first in GIVEN_NAMES or (len(parts) > 1 and all(map(_may_be_given, parts)))
    return _Name(start, tuple(words), given, given or first in AMBIGUOUS_GIVEN_NAMES, titled, role)


def _is_person(text: str, name: _Name, form: BlockType, *, listed: bool) -> bool:
    """Return whether a name is a person's.

    A given name proves a full name. Without one, or where it is a word or product as well, something that
    only people do or are must stand beside it; `listed` means that it does.
    """
    last = name.words[-1].lower()
    single = len(name.words) == 1
    if not single and (name.given or (name.known and (last in GIVEN_NAMES or not is_ordinary(last)))):
        return True
    if not single and _MAIL.match(text, name.end):
        return True
    if not name.known and not name.titled and (single or is_ordinary(name.words[0].lower())):
        return False
    if listed or name.titled or name.role or _is_cued(text, name):
        return True
    if single and name.given and form is not BlockType.HEADING and is_inside(text, name.start):
        noun = _NOUN.match(text, name.end)
        return noun is None or noun.group(1) not in KIND_NOUNS
    return False


def _is_cued(text: str, name: _Name) -> bool:
    """Return whether a name has a cue of a person beside it: an action or role of people."""
    if _AFTER.match(text, name.end) or (name.known and _AFTER_GERMAN.match(text, name.end)):
        return True
    return _BEFORE.search(text[max(0, name.start - _REACH) : name.start]) is not None


def _is_robot(text: str, name: _Name) -> bool:
    """Return whether the mail address behind a name is a program's; a person may hide theirs at GitHub."""
    mail = _MAIL.match(text, name.end)
    return mail is not None and bool(_ROBOT.search(mail["box"])) and "users.noreply" not in mail["host"]


def _opens(words: Sequence[str]) -> bool:
    """Return whether the first of several words only begins the sentence."""
    first = words[0].lower()
    if len(words) == 1 or (first in AMBIGUOUS_GIVEN_NAMES and words[1].lower() not in GIVEN_NAMES):
        return False
    return first in _OPENERS or first in COMMON_WORDS or first in NAME_STARTERS


def _in_cells(start: int, cells: Cells) -> bool:
    return any(begin <= start < end for begin, end in cells)


def _may_be_given(word: str) -> bool:
    return word in GIVEN_NAMES or word in AMBIGUOUS_GIVEN_NAMES or "-" in word


def _may_name(run: str, *, mailed: bool) -> bool:
    """Return whether a run may have a name, in lower case: quick, because most are headings and terms."""
    if " " not in run:
        return _may_be_given(run)
    words = run.split(" ")
    titled = words[0].rstrip(".") in _TITLES
    return mailed or titled or any(_may_be_given(word) or not is_ordinary(word) for word in words)


def _given_behind(words: Sequence[str]) -> int:
    """Return where a given name begins behind other words (Engineer Ana Ruiz, Prototipo do Davi), else 0."""
    first = words[0].lower() if words else ""
    if first in _PLACES or _may_be_given(first):
        return 0
    for at, word in enumerate(words[1:], 1):
        led = words[at - 1] in _PARTICLE_WORDS or _ROLE.fullmatch(words[at - 1]) is not None
        if word.lower() in GIVEN_NAMES and (led or at + 1 < len(words)):
            return at
    return 1 if len(words) > 2 and _ROLE.fullmatch(words[0]) is not None else 0


def _cut(words: Sequence[str]) -> list[str]:
    """Return the words of a name without those that follow it: Ada Lovelace Billing."""
    if len(words) > 1 and words[1][0] >= _CYRILLIC and not _FAMILY_NAME.search(words[1]):
        return [words[0]]
    kept = list(words[:MAX_WORDS])
    for at in range(1, len(kept) - 1):
        if kept[at] in _PARTICLE_WORDS and kept[at + 1].lower() in KNOWN_NAMES:
            del kept[at:]  # o Davi do Redis
            break
    while len(kept) > 2 and kept[-1].lower() not in GIVEN_NAMES and is_ordinary(kept[-1].lower()):
        if kept[-2].endswith(".") or kept[-2] in _PARTICLE_WORDS:
            break  # John F. Kennedy, Ana de la Cruz
        kept.pop()
    while kept and (kept[-1] in _PARTICLE_WORDS or len(kept[-1].rstrip(".")) == 1):
        kept.pop()
    return kept


def _is_other(words: Sequence[str]) -> bool:
    """Return whether words are surely not a person: a known name, a common noun, an acronym, camel case."""
    first = words[0].lower()
    if len(words) > 1 and (words[-1].lower() in _NEVER_LAST or " ".join(words).lower() in KNOWN_NAMES):
        return True
    for word in words:
        lowered = word.lower()
        shouted = word.isupper() and len(word) > 2
        if shouted or not (_TITLE_CASE.match(word) or word in _PARTICLE_WORDS):
            return True
        if lowered in KNOWN_NAMES and lowered not in AMBIGUOUS_NAMES:
            return True
    return first in COMMON_WORDS and first not in AMBIGUOUS_GIVEN_NAMES


def _handles(text: str, people: AbstractSet[int], cells: Cells) -> Iterator[tuple[int, int]]:
    """Yield the spans of handles of people; decorators and packages do not count.

    `people` are the ends of names: Ada Lovelace (@ada).
    """
    last = -1
    for one in _HANDLE.finditer(text):
        start, end = one.span()
        cued = _in_cells(start, cells) or start - len(" (") in people
        listed = last >= 0 and _LISTED.fullmatch(text, last, start)
        addressed = _TO_HANDLE.search(text[max(0, start - _REACH) : start])
        if (cued or listed or addressed or _AFTER.match(text, end)) and not _NO_HANDLE.match(one.group(1)):
            last = end
            yield start, end


def _organizations(text: str) -> Iterator[Named]:
    """Yield the organisations with a legal form, and those whom somebody works for or sells to."""
    for one in _LEGAL_FORM.finditer(text):
        before = _WORDS_BEFORE.search(text, max(0, one.start() - _REACH), one.start())
        words = before.group().split(" ") if before else []
        while words and (words[0].lower() in _ARTICLES or words[0].rstrip(",").lower() in COMMON_WORDS):
            words.pop(0)
        if any(words):
            name = " ".join(words) + one.group()
            yield one.end() - len(name), one.end(), name, "organization", KNOWN_WEIGHT
    for one in _EMPLOYER.finditer(text):
        name = one.group("name")
        if _may_employ(name) and _EMPLOYED.search(text[max(0, one.start() - _REACH) : one.start("name") - 1]):
            yield *one.span("name"), name, "organization", KNOWN_WEIGHT


def _may_employ(name: str) -> bool:
    """Return whether a name may be an organisation's: no word, person, known product or emphasis."""
    first = name.split(" ", 1)[0].lower()
    if name.lower() in KNOWN_NAMES or first in COMMON_WORDS or first in GIVEN_NAMES:
        return False
    return not (name.isupper() and len(name) > MAX_ACRONYM) and (" " in name or not is_ordinary(first))

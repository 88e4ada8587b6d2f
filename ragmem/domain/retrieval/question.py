"""Parse a question: its syntax, its dates, and the cues by which candidates are found and ranked."""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ragmem.domain.retrieval import date_languages, date_words
from ragmem.domain.retrieval.dates_asked import SMALL, Dates, dates_asked, without_dates
from ragmem.domain.text.identifiers import identifiers, paths
from ragmem.domain.text.keywords import means_nothing
from ragmem.domain.text.spans import Span, time_match

__all__ = ["Query", "parse", "time_match"]

MAX_TYPED = 2_000
"""Characters of a question that a person types; a longer text is pasted, and its marks and dates its own."""

MAX_ASKED = 300
"""Characters of which all may tell what is asked; of a longer text only its questions do."""

MAX_QUOTED_WORDS = 4
"""A text of more words that stands in quotes as a whole was quoted for a shell, not to be found verbatim."""

_QUOTES = '"\u201c\u201d\u201e\u201f\u00ab\u00bb'
_BETWEEN = rf"[^{_QUOTES}\n]"
_PAIRS = "|".join(
    rf"{first}({_BETWEEN}+){last}"
    for first, last in (('"', '"'), ("[\u201c\u201e\u201f]", "[\u201c\u201d]"), ("\u00ab", "\u00bb"))
)
_PHRASE = re.compile(rf"(?P<minus>(?<!\S)-)?(?:{_PAIRS})")
_SINGLE = re.compile(r"(?<![^\s(])\u2018([^\u2018\u2019\n]+)\u2019(?!\w)")
_SYNTAX = re.compile(f"[`\u2018{_QUOTES}]|(?<!\\S)-")
_LONE_QUOTE = re.compile(f"[{_QUOTES}]")
_DASHES = re.compile(r"(?<!\S)-+|-+(?!\S)")
_EXCLUDED = re.compile(r"(?<!\S)-([^\W\d_]\w+(?:[.'\u2019-]\w+)*)[,.;:!?]*(?!\S)")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_MASK = 0xE000
"""The first character of Unicode's private area, which stands for a piece of code while syntax is read."""

_MASKS = re.compile("[\ue000-\uf8ff]")
_LONG_OPTIONS = frozenset("find java javac gcc clang go terraform openssl ffmpeg tar ls rm".split())
"""Commands whose options are words behind a single dash."""

_OPTION_CHARS = 3
_BLANKS = re.compile(r"[ \t]{2,}")
_WORD = re.compile(r"[^\W_]\w*(?:['\u2019.-]\w+)*")

_COMMIT = re.compile(r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}\b")
"""A commit's hash or its beginning: a number alone is none, and neither is a word."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

_ERROR_LINE = re.compile(
    r"^[ \t]*Traceback \(most recent call last\)"
    r"|^[ \t]*File \W?[^\n]{1,200}, line \d+"
    r"|^[ \t]*at [^\n]{1,200}:\d+(?::\d+)?\)?[ \t]*$"  # JavaScript and Java
    r"|^[ \t]*(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)\b[:(]"
    r"|\b[A-Z]\w*(?:Error|Exception): \S"
    r"|^[ \t]*(?:\S+ ){0,2}(?:fatal|panic|error|Error|ERROR|FATAL|ERR!)(?:\[\w+\]| TS\d+)?: \S"
    r"|^[^\s:]+:\d+(?::\d+)?: (?:error|warning|fatal)"
    r"|^[ \t]*thread '[^'\n]{1,80}' panicked at"
    r"|^\S+: [^\n]{0,200}(?:command not found|No such file or directory|Permission denied)"
    r"|\bgoroutine \d+ \[|^Segmentation fault|^Caused by: \S",
    re.MULTILINE,
)

_HISTORY = re.compile(
    # "what is it used to do" asks for a purpose
    r"\b(?P<purpose>(?:is|are|was|were|be|being|been|gets?|got|getting|have|has|had|\w+['\u2019]ve)\b(?:\s\S+){0,4}?\s+used\s+to)\b"
    r"|\bused\s+to\b"
    r"|\b(?:previously|originally|formerly|initially|historically|back\s+then|no\s+longer|anymore|any\s+more|at\s+first"
    r"|in\s+the\s+past|superseded|(?:was|were)\s+replaced\s+by|used?\s+before|changed?\s+(?:since|over))\b"
    r"|\b(?:history|evolution)\s+of\b|\b(?:changed?|switched?|moved?|migrated?|renamed?)\s+(?:\S+\s+)?from\b"
    r"|\bhow\s+(?:has|have|did|had|was|were)\b.{1,80}\b(?:changed?|evolved?)\b"
    r"|\bbefore\s+(?:(?:the|that|this|our|my)\s+)?(?:change|switch|move|migration|refactor\w*|rename|rewrite|we\s+changed"
    r"|i\s+changed|it\s+(?:was\s+)?changed)\b"
    r"|\bbefore\s+(?:that|this)(?!\s*\w)"
    r"|\b(?:original|earlier|old(?:er)?|previous|prior|former)\s+(?:version|design|plan|approach|name|value|setting"
    r"|decision|choice|address|job|way|rule|default|behaviou?r)s?\b",
    re.IGNORECASE,
)
_NEWEST = re.compile(
    r"(?<![\w:/.-])(?:latest|newest|currently|most\s+recent(?:ly)?|nowadays|up[\s-]to[\s-]date|(?:right|as\s+of)\s+now"
    r"|these\s+days|at\s+(?:the\s+moment|present)|as\s+of\s+today|(?:compared\s+(?:to|with)|than)\s+today"
    r"|(?<!from )(?<!until )now(?!\s+that\b)"
    r"|current(?=\s+[^\W\d_])(?!\s+(?:director(?:y|ies)|working|dir|folder|user|time|date|thread|process|line"
    r"|position|path|object|element|week|month|year|file|function|module|branch)\b))(?![\w/-])",
    re.IGNORECASE,
)
_HAVE = r"(?:did|do|does|was|were|is|are|will|would|has|have|had|should|can)"
_WHEN = re.compile(
    rf"(?:^|[.,;:!?]\s*|\b(?:and|or|but|so|since|until|by|about|exactly)\s+)when(?:'s|\u2019s|\s+exactly)?\s+{_HAVE}\b"
    rf"|\bwhen(?:'s|\u2019s)\s|\b(?:tell\s+me|remember|know|remind\s+me|say|ask)\s+when\b"
    r"|\b(?:what|which)\s+(?:exact\s+|specific\s+)?(?:day|date|weekday|week|month|year|season)s?\b"
    r"(?!\s+(?:format|type|picker|library)\b)"
    rf"|\bhow\s+long\s+ago\b|\bhow\s+many\s+(?:hours|days|weeks|months|years)\s+ago\b|\bsince\s+when\b",
    re.IGNORECASE,
)

_EDITS = re.compile(
    r"\b(?:chang(?:ed?|es|ing)|edit(?:ed|s|ing)?|modif(?:y|ied|ies|ying)|touch(?:ed|es|ing)?|updat(?:ed?|es|ing)"
    r"|rewr(?:ote|itten|ite)|refactor(?:ed|ing)?|renam(?:ed?|ing)|creat(?:ed|ing)|wrote|written"
    r"|work(?:ed|ing)?\s+on|commit(?:s|ted)?)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?:what|who|whose|whom|when|where|which|why|how|is|are|was|were|am|did|do|does|can|could|should|would|will"
    r"|has|have|had|if|tell|show|give|list|explain|find)\b",
    re.IGNORECASE,
)


_OF_ANYTHING = frozenset(
    "happen happened happening happens entries entry events event memories memory new news notes note recap "
    "sessions session since summarise summarize summary till today until worked working written wrote write "
    # German and French, whose little words carry no meaning either
    "der die das den dem in am im was habe hast haben hat ich wir war waren ist passiert geschah geschehen "
    "gemacht notiert geschrieben getan gearbeitet notizen zusammenfassung le la les de du des un une et en "
    "que quoi qu'ai-je qu'est-ce qu'avons-nous ai-je j'ai ai avons nous on a s'est est passé arrivé fait "
    "noté écrit notes résumé".split()
)
"""Words of a question that asks for all of a time: "what happened last week", "notes of 3 May"."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question as it was parsed; nothing changes it."""

    text: str
    """What is searched: without exclusions and the quotes of phrases, whose words stay."""
    words: tuple[str, ...]
    """The words of the text in order, as they are written."""
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    """Words and phrases that a match must not contain."""
    identifiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Those of the identifiers that are paths or names of files."""
    commits: tuple[str, ...] = ()
    """Hashes of commits or their beginnings, in small letters."""
    pasted_error: bool = False
    """A traceback, a compiler's message or the like was pasted; such a text has no syntax and no dates."""
    times: tuple[Span, ...] = ()
    """The spans of time that the question names; see `domain.retrieval.dates_asked`."""
    days: tuple[Span, ...] = ()
    """The days of which it names a time of day."""
    wants_history: bool = False
    """It asks for what was before, or how something changed: what is superseded may be the answer."""
    wants_newest: bool = False
    """It asks how things are now: of memories that contradict each other the newest is the answer."""
    asks_when: bool = False
    """It asks for a point in time: the answer is a date."""
    only_times: bool = False
    """Beside the times it names nothing: whatever happened then is the answer."""
    about_edits: bool = False
    """It asks who, what or when changed something: the answer tells of an edit."""

    @property
    def required(self) -> tuple[str, ...]:
        """The phrases that must occur.

        In a sentence quotes stand around a title, which not every part of the answer repeats: there they are
        words like the others.
        """
        text = self.text.strip()
        return () if text.endswith("?") or _SENTENCE.match(text) else self.phrases


def parse(text: str, *, now: datetime, zone: tzinfo | None = None) -> Query:
    """Return a question as it is read; `now` carries the zone of its days, `zone` that of its times of day.

    "..." is a phrase, -word and -"..." are excluded. An option behind a command (`rm -rf`), a single letter
    and a dash inside a word or between blanks exclude nothing; nor does a question of exclusions alone.
    Inline code, pasted errors and texts of more than 2,000 characters are read without syntax and dates.
    """
    whole = _unquoted(text.strip())
    pasted = _ERROR_LINE.search(whole) is not None
    plain = len(whole) <= MAX_TYPED and not pasted
    rest, phrases, excluded = _without_syntax(whole) if plain else (whole, (), ())
    named = tuple(identifiers(rest))
    spoken = _PHRASE.sub(" ", _CODE.sub(" ", whole)) if plain else ""
    asking = _asking(spoken)
    # Most questions name no date, and no time is spent on reading them.
    has_date = date_words.HINT.search(spoken.translate(SMALL)) or date_languages.HINT.search(spoken)
    dates = dates_asked(spoken, now=now, zone=zone) if has_date else Dates()
    times = dates.spans
    return Query(
        text=rest,
        words=tuple(_WORD.findall(rest)),
        phrases=phrases,
        excluded=excluded,
        identifiers=named,
        paths=tuple(paths(named)),
        commits=tuple(dict.fromkeys(_COMMIT.findall(rest.lower()))),
        pasted_error=pasted,
        times=times,
        days=dates.days,
        only_times=bool(times) and not phrases and _says_nothing(without_dates(spoken, now=now)),
        wants_history=any(found["purpose"] is None for found in _HISTORY.finditer(asking)),
        wants_newest=_NEWEST.search(asking) is not None,
        asks_when=_WHEN.search(asking) is not None,
        about_edits=_EDITS.search(asking) is not None,
    )


def _says_nothing(text: str) -> bool:
    return all(
        means_nothing(word) or word in _OF_ANYTHING
        for word in (found.lower().replace("\u2019", "'") for found in _WORD.findall(text))
    )


def _asking(spoken: str) -> str:
    """Return the part of a text that asks."""
    if len(spoken) <= MAX_ASKED:
        return spoken
    return "\n".join(part for part in _SENTENCE_END.split(spoken) if part.endswith("?"))


def _unquoted(whole: str) -> str:
    """Return a question without the quotes around the whole of it, where these cannot mean a phrase."""
    phrase = _PHRASE.fullmatch(whole)
    if phrase is None or phrase["minus"]:
        return whole
    inner = whole[1:-1].strip()
    return inner if inner.endswith("?") or len(inner.split()) > MAX_QUOTED_WORDS else whole


def _without_syntax(whole: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the text that is searched, the phrases and what is excluded."""
    if not _SYNTAX.search(whole):
        return whole, (), ()
    codes: dict[int, str] = {}
    phrases: dict[str, None] = {}
    excluded: dict[str, None] = {}

    def masked(code: re.Match[str]) -> str:
        codes[_MASK + len(codes)] = code[0]
        return chr(_MASK + len(codes) - 1)

    def phrase(found: re.Match[str]) -> str:
        content = _without_dashes(next(filter(None, found.groups()[-3:]), ""))
        said = content.translate(codes)
        if any(letter.isalnum() for letter in said):
            (excluded if found["minus"] else phrases)[said] = None
        return " " if found["minus"] else f" {content} "

    def single(found: re.Match[str]) -> str:
        content = _without_dashes(found[1])
        said = content.translate(codes)
        if any(letter.isalnum() for letter in said):
            phrases[said] = None
        return content

    def exclusion(found: re.Match[str]) -> str:
        excluded[found[1]] = None
        return " "

    asked = _CODE.sub(masked, _MASKS.sub(" ", whole))
    text = _SINGLE.sub(single, _LONE_QUOTE.sub(" ", _PHRASE.sub(phrase, asked)))
    if not _is_command_line(text):
        text = _EXCLUDED.sub(exclusion, text)
    if not any(letter.isalnum() for letter in text.translate(codes)):
        # Nothing would be asked: then nothing was excluded.
        text, excluded = _DASHES.sub(" ", _LONE_QUOTE.sub(" ", asked)), {}
    return _BLANKS.sub(" ", text.translate(codes)).strip(), tuple(phrases), tuple(excluded)


def _without_dashes(phrase: str) -> str:
    return " ".join(_DASHES.sub(" ", phrase).split())


def _is_command_line(text: str) -> bool:
    """Tell whether the dashes of a text belong to options of a command."""
    words = text.split()
    options = [at for at, word in enumerate(words) if word[0] == "-" and len(word) > 1]
    if not options:
        return False
    from ragmem.domain.text.token_types import COMMANDS  # noqa: PLC0415 - few questions have a dash

    if not _LONG_OPTIONS.isdisjoint(words[: options[-1]]):
        return True
    return any(
        not COMMANDS.isdisjoint(words[:at] if words[at].startswith("--") else words[max(0, at - 1) : at])
        and (words[at].startswith("--") or len(words[at]) <= 1 + _OPTION_CHARS)
        for at in options
    )

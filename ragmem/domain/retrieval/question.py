"""Parse a question: its syntax, its dates, and the cues by which candidates are found and ranked."""

import re
from datetime import datetime, tzinfo

from ragmem.domain.retrieval import date_languages, date_words
from ragmem.domain.retrieval.question_dates import TO_LOWER, Dates, find_dates, without_dates
from ragmem.domain.text.identifiers import identifiers, paths
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.language import ENGLISH, detect, function_words
from ragmem.domain.text.spans import Span, time_match
from ragmem.domain.text.words import fold_words
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

__all__ = ["Query", "parse", "time_match"]

MAX_TYPED = 2_000
"""Maximum characters of a typed question; a longer text is pasted, and its marks and dates are content."""

MAX_ASKED = 300
"""Maximum characters of a text that is read as a question as a whole; in a longer one only its questions
are."""

MAX_QUOTED_WORDS = 4
"""A fully quoted text of more words was quoted for a shell, not as a phrase."""

_QUOTES = '"\u201c\u201d\u201e\u201f\u00ab\u00bb'
_BETWEEN = rf"[^{_QUOTES}\n]"
_PAIRS = "|".join(
    rf"{first}({_BETWEEN}+){last}"
    for first, last in (('"', '"'), ("[\u201c\u201e\u201f]", "[\u201c\u201d]"), ("\u00ab", "\u00bb"))
)
_PHRASE = lazy(rf"(?P<minus>(?<!\S)-)?(?:{_PAIRS})", needs='"')
_SINGLE = lazy(r"(?<![^\s(])\u2018([^\u2018\u2019\n]+)\u2019(?!\w)")
_SYNTAX = lazy(f"[`\u2018{_QUOTES}]|(?<!\\S)-", needs='"|`|-')
_LONE_QUOTE = lazy(f"[{_QUOTES}]")
_DASHES = lazy(r"(?<!\S)-+|-+(?!\S)")
_EXCLUDED = lazy(r"(?<!\S)-([^\W\d_]\w+(?:[.'\u2019-]\w+)*)[,.;:!?]*(?!\S)")
_CODE = lazy(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_MASK = 0xE000
"""The first character of Unicode's private area; it replaces a piece of code while syntax is parsed."""

_MASKS = lazy("[\ue000-\uf8ff]")
_LONG_OPTIONS = frozenset("find java javac gcc clang go terraform openssl ffmpeg tar ls rm".split())
"""Commands whose options are words after a single dash."""

_OPTION_CHARS = 3
_BLANKS = lazy(r"[ \t]{2,}")
_WORD = lazy(r"[^\W_]\w*(?:['\u2019.-]\w+)*")

_COMMIT = lazy(r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}\b")
"""The hash of a commit or its prefix, with letters and digits."""

_SENTENCE_END = lazy(r"(?<=[.!?])\s+|\n+")

_ERROR_LINE = lazy(
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
    needs=", line |:|(|panicked|goroutine|segmentation",
)

_FORMERLY = (
    r"^(?:what|which|who|where|why|how)\b.{0,100}\b(?:did|was|were|had)\b.{1,80}\bbefore\W*$"
    r"|\b(?:fr(?:\u00fc|ue)her(?!\s+oder)|damals|urspr(?:\u00fc|ue)nglich"
    r"|(?:hat|haben|habt|hatten?|war(?:en)?|wurden?|liefen?|galt(?:en)?)\s(?:.{0,80}\s)?(?:vorher|zuvor)"
    r"|auparavant|autrefois|anciennement|(?:avait|avions|avaient|\u00e9tai(?:t|ent)|utilis(?:ait|ions))\s(?:.{0,80}\s)?avant(?=\W*$)"
    r"|anteriormente|antiguamente|antigamente|(?<!que )antes(?=\W*$)"
    r"|in\s+(?:precedenza|passato)|inizialmente|(?:usavamo|avevamo|era(?:no)?)\s(?:.{0,80}\s)?prima(?=\W*$)"
    r"|vroeger|voorheen|oorspronkelijk|wcze\u015bniej|poprzednio|dawniej|pierwotnie"
    r"|\u0440\u0430\u043d\u044c\u0448\u0435|\u043f\u0440\u0435\u0436\u0434\u0435|\u0438\u0437\u043d\u0430\u0447\u0430\u043b\u044c\u043d\u043e)\b"
)
"""What asks for an earlier state in English, German, French, Spanish, Portuguese, Italian, Dutch, Polish and
Russian."""

_HISTORY = lazy(
    # "what is it used to do" asks for a purpose
    r"\b(?P<purpose>(?:is|are|was|were|be|being|been|gets?|got|getting|have|has|had|\w+['\u2019]ve)\b(?:\s\S+){0,4}?\s+used\s+to)\b"
    r"|\bused\s+to\b|\b(?:previously|originally|formerly|initially|historically|back\s+then|no\s+longer"
    r"|anymore|any\s+more|at\s+first|in\s+the\s+past|superseded|(?:was|were)\s+replaced\s+by|used?\s+before"
    r"|changed?\s+(?:since|over))\b|\b(?:history|evolution)\s+of\b|\b(?:changed?|switched?|moved?|migrated?"
    r"|renamed?)\s+(?:\S+\s+)?from\b|\bhow\s+(?:has|have|did|had|was|were)\b.{1,80}\b(?:changed?|evolved?)\b"
    r"|\bbefore\s+(?:(?:the|that|this|our|my)\s+)?(?:change|switch|move|migration|refactor\w*|rename|rewrite|we\s+changed"
    r"|i\s+changed|it\s+(?:was\s+)?changed)\b|\bbefore\s+(?:that|this)(?!\s*\w)"
    rf"|{_FORMERLY}"
    r"|\b(?:original|earlier|old(?:er)?|previous|prior|former)\s+(?:version|release|design|plan|approach|name|value|setting"
    r"|decision|choice|address|job|way|rule|default|behaviou?r)s?\b",
    re.IGNORECASE,
    needs="used|previous|original|former|initial|historical|back|longer|more|first|past|superseded|replaced|before"
    "|change|history|evol|switch|move|migrate|rename|earlier|old|prior|frueher|damals|ursprue|vorher|zuvor|avant"
    "|autrefois|ancienn|antes|antig|anterior|prima|precedenza|passato|inizial|vroeger|voorheen|oorspronkelijk"
    "|poprzednio|dawniej|pierwotnie",
)
_NEWEST = lazy(
    r"(?<![\w:/.-])(?:latest|newest|currently|most\s+recent(?:ly)?|nowadays|up[\s-]to[\s-]date|(?:right|as\s+of)\s+now"
    r"|these\s+days|at\s+(?:the\s+moment|present)|as\s+of\s+today|(?:compared\s+(?:to|with)|than)\s+today"
    r"|(?<!from )(?<!until )now(?!\s+that\b)"
    r"|current(?=\s+[^\W\d_])(?!\s+(?:director(?:y|ies)|working|dir|folder|user|time|date|thread|process|line"
    r"|position|path|object|element|week|month|year|file|function|module|branch)\b))(?![\w/-])",
    re.IGNORECASE,
    needs="latest|newest|current|recent|now|date|days|moment|present|today",
)
_HAVE = r"(?:did|do|does|was|were|is|are|will|would|has|have|had|should|can)"
_WHEN = lazy(
    rf"(?:^|[.,;:!?]\s*|\b(?:and|or|but|so|since|until|by|about|exactly)\s+)when(?:'s|\u2019s|\s+exactly)?\s+{_HAVE}\b"
    rf"|\bwhen(?:'s|\u2019s)\s|\b(?:tell\s+me|remember|know|remind\s+me|say|ask)\s+when\b"
    r"|\b(?:what|which)\s+(?:exact\s+|specific\s+)?(?:day|date|weekday|week|month|year|season)s?\b"
    r"(?!\s+(?:format|type|picker|library)\b)"
    rf"|\bhow\s+long\s+ago\b|\bhow\s+many\s+(?:hours|days|weeks|months|years)\s+ago\b|\bsince\s+when\b",
    re.IGNORECASE,
    needs="when|ago|day|date|week|month|year|season",
)

_EDITS = lazy(
    r"\b(?:chang(?:ed?|es|ing)|edit(?:ed|s|ing)?|modif(?:y|ied|ies|ying)|touch(?:ed|es|ing)?|updat(?:ed?|es|ing)"
    r"|rewr(?:ote|itten|ite)|refactor(?:ed|ing)?|renam(?:ed?|ing)|creat(?:ed|ing)|wrote|written"
    r"|work(?:ed|ing)?\s+on|commit(?:s|ted)?)\b",
    re.IGNORECASE,
    needs="chang|edit|modif|touch|updat|rewr|refactor|renam|creat|wrote|written|work|commit",
)
_SENTENCE = lazy(
    r"(?:what|who|whose|whom|when|where|which|why|how|is|are|was|were|am|did|do|does|can|could|should|would|will"
    r"|has|have|had|if|tell|show|give|list|explain|find)\b",
    re.IGNORECASE,
)
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_INTERROGATIVE = lazy(
    r"(?:what|who|whose|whom|where|which|why|how|is|are|was|were|am|did|does|could|should|would|has|have|had)\b",
    re.IGNORECASE,
)


_GENERAL_WORDS = frozenset(
    "happen happened happening happens entries entry events event memories memory new news notes note recap "
    "sessions session since summarise summarize summary till today until worked working written wrote write "
    # German and French, whose little words carry no meaning either
    "der die das den dem in am im was habe hast haben hat ich wir war waren ist passiert geschah geschehen "
    "gemacht notiert geschrieben getan gearbeitet notizen zusammenfassung le la les de du des un une et en "
    "que quoi qu'ai-je qu'est-ce qu'avons-nous ai-je j'ai ai avons nous on a s'est est passé arrivé fait "
    "noté écrit notes résumé".split()
)
"""Words of a question for everything at a time: "what happened last week", "notes of 3 May"."""

_GENERAL_WORDS_ABROAD = frozenset(
    # Spanish, Portuguese, Italian, Dutch and Russian without accents, beside their function words
    "paso pasaron ocurrio sucedio hice hiciste hizo hicimos hecho trabaje trabajamos trabajado notas "
    "nota anote anotamos escribi escribimos escrito resumen novedades aconteceu aconteceram ocorreu "
    "fiz fizemos feito trabalhei trabalhamos anotei escrevi escrevemos resumo anotacoes novidades "
    "cosa ho abbiamo successo succede accaduto fatto feci scritto lavorato annotato note appunti "
    "riassunto novita gebeurde gebeurd deed deden gedaan geschreven genoteerd gewerkt notities "
    "samenvatting aantekeningen nieuws heb er произошло случилось было делал делала делали сделал сделала "
    "сделали сделано написал написала написали писал писала записал записала работал работала "
    "работали заметки записи итоги новости".split()
)
_GENERAL_EAST_ASIAN = lazy(
    "(?:发生|發生|什么|什麼|了|过|過|我们|我們|我|做|写|寫|工作|记录|記錄|笔记|筆記|总结|總結|一下|事情|事|哪些|有|的|都|在|是|吗|呢"
    "|怎么|怎麼|新|消息|何|なに|が|を|は|に|も|の|あった|ありました|あり|起きた|起きました|起こった|した|しました|やった|やりました|私|僕|俺"
    "|たち|書いた|書きました|こと|出来事|メモ|ノート|まとめ|か|どんな|でした|です|私達)+"
)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed question."""

    text: str
    """The searched text, without exclusions and quotation marks."""
    words: tuple[str, ...]
    """The words of the text in order."""
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    """Words and phrases that a match must not contain."""
    identifiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """The identifiers that are paths or file names."""
    commits: tuple[str, ...] = ()
    """Hashes of commits or their prefixes, in lower case."""
    pasted_error: bool = False
    """It is a traceback, a compiler message or similar; such a text has no syntax and no dates."""
    times: tuple[Span, ...] = ()
    """The time spans of the question; see `domain.retrieval.question_dates`."""
    days: tuple[Span, ...] = ()
    """The days for which it names a time of day."""
    wants_history: bool = False
    """It asks about the past or a change: a superseded memory may be the answer."""
    wants_newest: bool = False
    """It asks for the current state: of contradicting memories the newest is the answer."""
    asks_when: bool = False
    """It asks for a point in time: the answer is a date."""
    only_times: bool = False
    """It names only times: every event of that time is an answer."""
    about_edits: bool = False
    """It asks who, what or when changed something: the answer is an edit."""

    @property
    def is_question(self) -> bool:
        """Whether it is a sentence that asks, and no list of words or pasted text."""
        text = self.text.strip()
        return not self.pasted_error and (text.endswith(_QUESTION_MARKS) or _SENTENCE.match(text) is not None)

    @property
    def is_interrogative(self) -> bool:
        """Whether it has the form of a question; "show the date in the list" is a question or an order."""
        text = self.text.strip()
        return not self.pasted_error and (
            text.endswith(_QUESTION_MARKS) or _INTERROGATIVE.match(text) is not None
        )

    @property
    def required_phrases(self) -> tuple[str, ...]:
        """The phrases that must occur.

        Quotation marks in a sentence mark a title, which not every answer repeats; its words are not
        required.
        """
        return () if self.is_question else self.phrases


def parse(text: str, *, now: datetime, zone: tzinfo | None = None) -> Query:
    """Parse a question; `now` has the time zone of its days, `zone` is that of its times of day.

    "..." is a phrase; -word and -"..." are exclusions. An option of a command (`rm -rf`), a single letter and
    a dash inside a word or between blanks exclude nothing, nor does a question of exclusions only. Inline
    code, pasted errors and texts of more than 2,000 characters have no syntax and no dates.
    """
    whole = _strip_quotes(text.strip())
    pasted = _ERROR_LINE.search(whole) is not None
    plain = len(whole) <= MAX_TYPED and not pasted
    rest, phrases, excluded = _without_syntax(whole) if plain else (whole, (), ())
    named = tuple(identifiers(rest))
    spoken = _PHRASE.sub(" ", _CODE.sub(" ", whole)) if plain else ""
    asking = _question_part(spoken)
    # Most questions name no date; skip the search for them.
    has_date = date_words.HINT.search(spoken.translate(TO_LOWER)) or date_languages.has_hint(spoken)
    dates = find_dates(spoken, now=now, zone=zone) if has_date else Dates()
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
        only_times=bool(times)
        and not phrases
        and _has_only_stop_words(without_dates(spoken, now=now), spoken),
        wants_history=any(found["purpose"] is None for found in _HISTORY.finditer(asking)),
        wants_newest=_NEWEST.search(asking) is not None,
        asks_when=_WHEN.search(asking) is not None,
        about_edits=_EDITS.search(asking) is not None,
    )


def _has_only_stop_words(rest: str, whole: str) -> bool:
    """Return whether the rest of a question without its dates is in words for everything."""
    words = [found.lower().replace("\u2019", "'") for found in _WORD.findall(rest)]
    words = [word for word in words if not is_stop_word(word) and word not in _GENERAL_WORDS]
    if not words or detect(whole) == ENGLISH:
        return not words
    from ragmem.domain.retrieval.date_phrases import EAST_ASIAN, language_of  # noqa: PLC0415 - few need it

    if (language := language_of(whole)) is None:
        return False
    if language == EAST_ASIAN:
        return all(map(_GENERAL_EAST_ASIAN.fullmatch, words))
    general = function_words()[language] | _GENERAL_WORDS_ABROAD
    return general.issuperset(fold_words(" ".join(words)))


def _question_part(spoken: str) -> str:
    """Return the questions in a text."""
    if len(spoken) <= MAX_ASKED:
        return spoken
    return "\n".join(part for part in _SENTENCE_END.split(spoken) if part.endswith("?"))


def _strip_quotes(whole: str) -> str:
    """Return a question without quotation marks around all of it, unless they mark a phrase."""
    phrase = _PHRASE.fullmatch(whole)
    if phrase is None or phrase["minus"]:
        return whole
    inner = whole[1:-1].strip()
    return inner if inner.endswith("?") or len(inner.split()) > MAX_QUOTED_WORDS else whole


def _without_syntax(whole: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the searched text, the phrases and the exclusions."""
    if not _SYNTAX.search(whole):
        return whole, (), ()
    codes: dict[int, str] = {}
    phrases: dict[str, None] = {}
    excluded: dict[str, None] = {}

    def mask_code(code: re.Match[str]) -> str:
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

    asked = _CODE.sub(mask_code, _MASKS.sub(" ", whole))
    text = _SINGLE.sub(single, _LONE_QUOTE.sub(" ", _PHRASE.sub(phrase, asked)))
    if not _is_command_line(text):
        text = _EXCLUDED.sub(exclusion, text)
    if not any(letter.isalnum() for letter in text.translate(codes)):
        # A question of exclusions only excludes nothing.
        text, excluded = _DASHES.sub(" ", _LONE_QUOTE.sub(" ", asked)), {}
    return _BLANKS.sub(" ", text.translate(codes)).strip(), tuple(phrases), tuple(excluded)


def _without_dashes(phrase: str) -> str:
    return " ".join(_DASHES.sub(" ", phrase).split())


def _is_command_line(text: str) -> bool:
    """Return whether the dashes of a text belong to options of a command."""
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

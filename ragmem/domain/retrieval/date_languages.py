"""Translate dates of other languages into English, because the date parser knows only English.

The rules for German and French are here, those of further languages in `date_phrases`.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

from ragmem.domain.retrieval.date_words import (
    ENGLISH_DATE_START,
    ENGLISH_MONTH,
    ENGLISH_WEEKDAY,
    ENGLISH_YEAR,
    SPANISH_WEEKEND,
)
from ragmem.domain.text.language import ENGLISH, detect
from ragmem.patterns import lazy

_UNITS = {
    "minute": "minute", "minuten": "minute", "stunde": "hour", "stunden": "hour", "tag": "day", "tage": "day",
    "tagen": "day", "woche": "week", "wochen": "week", "monat": "month", "monate": "month",
    "monaten": "month", "monats": "month", "jahr": "year", "jahre": "year", "jahren": "year",
    "jahres": "year", "quartal": "quarter", "quartals": "quarter", "wochenende": "weekend", "nacht": "night",
    "minutes": "minute", "heure": "hour", "heures": "hour", "jour": "day", "jours": "day", "semaine": "week",
    "semaines": "week", "mois": "month", "an": "year", "ans": "year", "annee": "year", "annees": "year",
    "année": "year", "années": "year", "trimestre": "quarter", "trimestres": "quarter",
    "week-end": "weekend", "nuit": "night",
}  # fmt: skip
MONTHS = {
    "januar": "January", "jänner": "January", "jaenner": "January", "februar": "February", "märz": "March",
    "maerz": "March", "april": "April", "mai": "May", "juni": "June", "juli": "July", "august": "August",
    "september": "September", "oktober": "October", "november": "November", "dezember": "December",
    "janvier": "January", "février": "February", "fevrier": "February", "mars": "March", "avril": "April",
    "juin": "June", "juillet": "July", "août": "August", "aout": "August", "septembre": "September",
    "octobre": "October", "novembre": "November", "décembre": "December", "decembre": "December",
}  # fmt: skip
_SHARED = frozenset({"mai", "mars", "april", "august", "september", "november"})
"""Months that are English words, or have other meanings."""

WEEKDAYS = {
    "montag": "Monday", "dienstag": "Tuesday", "mittwoch": "Wednesday", "donnerstag": "Thursday",
    "freitag": "Friday", "samstag": "Saturday", "sonnabend": "Saturday", "sonntag": "Sunday",
    "lundi": "Monday", "mardi": "Tuesday", "mercredi": "Wednesday", "jeudi": "Thursday",
    "vendredi": "Friday", "samedi": "Saturday", "dimanche": "Sunday",
}  # fmt: skip
_SEASONS = {
    "frühling": "spring", "fruehling": "spring", "frühjahr": "spring", "sommer": "summer", "herbst": "autumn",
    "printemps": "spring", "été": "summer", "automne": "autumn", "hiver": "winter",
}  # fmt: skip
_NUMBERS = {
    "einem": "1", "einer": "1", "eine": "1", "ein": "1", "zwei": "2", "drei": "3", "vier": "4", "fünf": "5",
    "fuenf": "5", "sechs": "6", "sieben": "7", "acht": "8", "neun": "9", "zehn": "10", "ein paar": "a few",
    "einigen": "a few", "wenigen": "a few", "mehreren": "several", "un": "1", "une": "1", "deux": "2",
    "trois": "3", "quatre": "4", "cinq": "5", "six": "6", "sept": "7", "huit": "8", "neuf": "9", "dix": "10",
    "quelques": "a few", "plusieurs": "several",
}  # fmt: skip
_ORDINALS = (
    ("first", r"erste[nrsm]?|1\.|premi(?:er|ère|ere)|1(?:er|re|ère)"),
    ("second", r"zweite[nrsm]?|2\.|deuxi[èe]me|seconde?|2(?:e|ème|nde?)"),
    ("third", r"dritte[nrsm]?|3\.|troisi[èe]me|3(?:e|ème)"),
    ("fourth", r"vierte[nrsm]?|4\.|quatri[èe]me|4(?:e|ème)"),
    ("fifth", r"fünfte[nrsm]?|fuenfte[nrsm]?|5\.|cinqui[èe]me|5(?:e|ème)"),
    ("last", r"letzte[nrsm]?|derni(?:er|ère|ere)"),
)
_PARTS = {"anfang": "early", "mitte": "mid", "ende": "late", "début": "early", "debut": "early",
          "mi": "mid", "fin": "late"}  # fmt: skip

_IN_A_MONTH = "(?:" + "|".join(
    rf"(?<={before})"
    for before in (
        r"\d\s", r"\bmi-",
        *(
            rf"\b{word}\s"
            for word in (
                "im en de mid fin seit vom des von bis ab mitte ende anfang début debut depuis avant après"
                " letzten und et zwischen entre vor nach"
            ).split()
        ),
    )
) + ")"  # fmt: skip
"""The text before the name of a month that has other meanings."""

_HINT = lazy(
    rf"\b(?:vor)?gestern\b|\bheute\b|\b(?:avant-)?hier\b|aujourd|\buhr\b|\d\s?h\b|\d\s?h\d\d|\bkw\s?\d|\bsoir\b"
    rf"|(?:letzte|vergangene|voriger?|vorletzte|diese)[nrsm]?\s|derni[eè]re?s?\b|\b(?:cet?|cette)\s"
    rf"|\b(?:{'|'.join([*WEEKDAYS, *MONTHS, *_SEASONS])})|\b\d\d?\.\s?(?:woche|kalenderwoche|quartal)"
    r"|\b(?:seit|bis|ab|von|vor|nach|zwischen|depuis|avant|apr\u00e8s|d\u00e8s|jusqu\S{1,3})\s(?:19|20)\d\d\b"
    r"|(?:woche|semaine|halbjahr|hälfte|haelfte|moiti|semestre|quartal|trimestre|\bt[1-4]\s)"
    r"|\b(?:vor|il y a)\s\S+(?:\s\S+)?\s(?:minute|stunde|tag|woche|monat|jahr|heure|jour|mois|an)",
    re.IGNORECASE,
)
"""Every date in German and French matches this; most questions do not."""

_STARTS = frozenset(
    # Spanish, Portuguese, Italian, Dutch, and the words before a year
    "ano ant aye est hoy hoj ont ava ier ogg sta lal alt noi sem set mes m\xeas ann a\xf1o dia d\xeda gio "
    "hor ora ore min pas sco fin fim lun mar mi\xe9 mie jue vie s\xe1b sab dom seg ter qua qui sex "
    "mer ven ene feb fev gen mag mai may m\xe4r abr apr jun jul giu lug ago sep oct out ott nov dic "
    "dez jan van gis eer dag wee wek maa jaa uur gel vor afg mei aug okt din woe don vri zat zon que "
    "ult \xfalt dec en em nel at\xe9 dal hac h\xe1 ha "
    "pri ver oto inv aut zom her len naj voo win tri kwa ter cua eer twe der vie".split()
)
"""The first letters of the words of dates; few English words begin with them."""

_START = lazy(r"\b[^\W\d_]{2,3}")
_SINCE = lazy(r"\b(?:desde|hasta|sinds|vanaf)\s", re.IGNORECASE)
_OTHER_SCRIPT = lazy("[\u0430-\u044f\u0451\u3040-\u30ff\u3400-\u9fff]", re.IGNORECASE)


def has_hint(text: str) -> bool:
    """Return whether a text may have a date of another language than English; most questions have none."""
    return bool(_HINT.search(text) or _has_further_hint(text))


def _has_further_hint(text: str) -> bool:
    """Return whether a text may have a date in one of the languages of `date_phrases`."""
    if not text.isascii() and _OTHER_SCRIPT.search(text):
        return True
    starts = _START.findall(unicodedata.normalize("NFC", text).lower())
    possible = not _STARTS.isdisjoint(starts) or _SINCE.search(text) is not None
    return possible and detect(SPANISH_WEEKEND.sub("", text)) != ENGLISH


def _any(words: Sequence[str] | dict[str, str]) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + ")"


def translate_dates(text: str) -> str:
    """Return a text with the dates of other languages in English.

    A text in English is read for German and French dates, and else only for those in its own language.
    """
    further = text
    if _has_further_hint(text):
        from ragmem.domain.retrieval.date_phrases import translate  # noqa: PLC0415 - few questions need it

        further = translate(text)
    if further != text or not _HINT.search(text):
        return further
    for pattern, replaced in _rules():
        text = pattern.sub(replaced, text)
    return text


@cache
def _rules() -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str] | str], ...]:
    month, day, season = _any(MONTHS), _any(WEEKDAYS), _any(_SEASONS)
    english, weekday, year, said = ENGLISH_MONTH, ENGLISH_WEEKDAY, ENGLISH_YEAR, ENGLISH_DATE_START
    number = rf"(?:\d{{1,3}}|{_any(_NUMBERS)})"
    unit = _any(_UNITS)
    nth = "|".join(pattern for _, pattern in _ORDINALS)
    part = _any(_PARTS)
    late = "(?:letzte|vergangene|vorige)[nrsm]?"

    def lookup(table: dict[str, str], group: int | str = 1) -> Callable[[re.Match[str]], str]:
        return lambda found: table[found[group].lower()]

    def ordinal(text: str) -> str:
        return next(name for name, one in _ORDINALS if re.fullmatch(one, text, re.IGNORECASE))

    def number_of(found: re.Match[str]) -> str:
        return _NUMBERS.get(found["n"].lower(), found["n"])

    def of_unit(found: re.Match[str]) -> str:
        return _UNITS[found["unit"].lower()]

    rules: list[tuple[str, Callable[[re.Match[str]], str] | str]] = [
        # Times of day
        (r"\b(\d{1,2})[.:](\d\d)\s?(?:uhr\b|h\b)", r"\1:\2"),
        (r"\b(\d{1,2})\s?(?:uhr|h)\s?(\d\d)\b", r"\1:\2"),
        (r"\b(\d{1,2})\s?(?:uhr|h)\s(?:(?:am|in der)\s)?(?:nachmittags?|abends?)\b", r"\1 pm"),
        (r"\b(\d{1,2})\s?(?:heures?|h)\s(?:du\s(?:soir)|de\sl['\u2019]après-midi)\b", r"\1 pm"),
        (r"\b(\d{1,2})\s?heures?\s(\d\d)\b", r"\1:\2"),
        (r"\b(\d{1,2})\s?(?:uhr|heures?|h)\b", r"\1 o'clock"),
        (r"\b(?:um|à|a|gegen|vers)\s(?=\d{1,2}(?::\d\d|\so'clock|\s[ap]m))",
         lambda found: "around " if found[0].lower().startswith(("ge", "ve")) else "at "),
        (r"\bentre\s(?=\d{1,2}(?::\d\d|\so'clock))", "between "),
        (r"(?<=\d|k)\s(?:et|und)\s(?=\d{1,2}(?::\d\d|\so'clock))", " and "),
        (r"\b(?:mitternacht|minuit)\b", "midnight"),
        # Days relative to now
        (r"\b(?:vorgestern|avant-hier)\b", "the day before yesterday"),
        (r"\bheute\s(?:früh|frueh|morgen)\b|\bce\smatin\b", "this morning"),
        (r"\bheute\snachmittag\b|\bcet(?:te)?\saprès-midi\b", "this afternoon"),
        (r"\bheute\sabend\b|\bce\ssoir\b", "this evening"),
        (r"\b(?:letzte[nr]?\snacht|la\snuit\sdernière|cette\snuit)\b", "last night"),
        (r"\bheute\b|\baujourd['\u2019]hui\b", "today"),
        (r"\bgestern\b|\bhier\b(?=\s(?:à|a|at|around|between|soir|matin|après|dans|vers)|\s*[?.!,]|\s*$)",
         "yesterday"),
        (r"\bqu['\u2019]est-ce\sque?\b", "what"),
        # Months, weekdays, seasons.
        (rf"\b(\d{{1,2}})\.\s?(?={month}\b)", r"\1 "),
        (rf"\b1er\s(?={month}\b)", "1 "),
        (rf"\bmi[\s-](?={month}\b)", "mid "),
        (rf"\b({nth}|\d\.)\s({month})-?woche\b",
         lambda found: f"{ordinal(found[1])} week of {MONTHS[found[2].lower()]}"),
        (rf"\b({_any([name for name in MONTHS if name not in _SHARED])})\b", lookup(MONTHS)),
        (_IN_A_MONTH + r"(mai|mars)\b", lookup(MONTHS)),
        (rf"\b(mai|mars)\b(?=\s{year})", lookup(MONTHS)),
        (rf"\b({day})\b(?!s\b)", lookup(WEEKDAYS)),
        (rf"\b(?:(?:im|en|au|l['\u2019])\s?)?({season})\b(?=\s(?:de\s)?{year})", lookup(_SEASONS)),
        # Time ago, and the last units
        (rf"\bvor\s(?P<n>{number})\s(?P<unit>{unit})\b",
         lambda found: f"{number_of(found)} {of_unit(found)}s ago"),
        (rf"\bil\sy\sa\s(?P<n>{number})\s(?P<unit>{unit})\b",
         lambda found: f"{number_of(found)} {of_unit(found)}s ago"),
        (rf"\b(?:letzten|vergangenen)\s(?P<n>{number})\s(?P<unit>{unit})\b",
         lambda found: f"last {number_of(found)} {of_unit(found)}s"),
        (rf"\b(?P<n>{number})\sderni(?:er|ère)s\s(?P<unit>{unit})\b",
         lambda found: f"last {number_of(found)} {of_unit(found)}s"),
        # Parts of a month or a year.
        (
            (
                rf"\b({nth}|\d\.)\s(?:woche|semaine)\s(?:(?:im|in|des|vom|von|der|de|du)\s)?"
                rf"(?:(?:monats?|mois)\s(?:de\s|d['\u2019])?)?({english})"
            ),
         lambda found: f"{ordinal(found[1])} week of {found[2]}"),
        (rf"\b(?:der\s|la\s)?derni[èe]re\ssemaine\s(?:de|d['\u2019])\s?({english})", r"last week of \1"),
        (rf"\b({nth}|\d\.)\s({weekday})\s(?:im|in|des|vom|von|de|du|d['\u2019])\s?({english})",
         lambda found: f"{ordinal(found[1])} {found[2]} of {found[3]}"),
        (
            (
                rf"\b({nth})\s?(?:jahres)?(?:hälfte|haelfte|moitié)\s(?:(?:des|von|vom|im|de|du|d['\u2019])\s?)?"
                rf"(?:(?:jahres|l['\u2019]année)\s)?({english}|{year})"
            ),
         lambda found: f"{ordinal(found[1])} half of {found[2]}"),
        (rf"\b({nth})\s(?:halbjahr|semestre)\s(?:(?:des\sjahres|von|de)\s)?({year})",
         lambda found: f"{ordinal(found[1])} half of {found[2]}"),
        (rf"\b({nth})\s(?:quartal|trimestre)s?(?:\s(?:(?:des\sjahres|von|de)\s)?({year}))?",
         lambda found: f"{ordinal(found[1])} quarter" + (f" of {found[2]}" if found[2] else ",")),
        (rf"\bquartal\s([1-4])(?:[\s/]({year}))?\b", lambda found: f"Q{found[1]} {found[2] or ''},"),
        (rf"\bt([1-4])\s(?={year})", r"Q\1 "),
        (r"\b(?:kw|kalenderwoche|woche|semaine)\s?(\d{1,2})\b", r"week \1"),
        (rf"\b(\d{{1,2}})\.\s?(?:kalender)?woche(?:\s(?:des\sjahres\s|von\s|in\s)?({year}))?",
         lambda found: f"week {found[1]}" + (f" of {found[2]}" if found[2] else "")),
        # Relative units
        (r"\bvorletzte[nr]?\swoche\b|\bla\ssemaine\sd['\u2019]avant\b", "the week before last"),
        (rf"\b({weekday})\s(?:de\sla|der)\s(?=semaine\s(?:derni|pass)|{late}\swoche)",
         r"\1 of "),
        (rf"\b{late}\s(?P<unit>{unit})\b", lambda found: f"last {of_unit(found)}"),
        (rf"\b(?:la\s|le\s|l['\u2019])?(?P<unit>{unit})\s(?:derni[eè]re?|pass[ée]e?)\b",
         lambda found: f"last {of_unit(found)}"),
        (rf"\b(?:diese[nrsm]?|cet?|cette)\s(?P<unit>{unit})\b", lambda found: f"this {of_unit(found)}"),
        (rf"\b{late}\s(?={weekday}|{english}|spring|summer|autumn|winter)", "last "),
        (rf"\b(?:le\s)?({weekday}|{english})\sdernier\b", r"last \1"),
        (rf"\b(?:l['\u2019])({season})\sdernier\b", lambda found: f"last {_SEASONS[found[1].lower()]}"),
        (rf"\bletzte[nr]?\s({season})\b", lambda found: f"last {_SEASONS[found[1].lower()]}"),
        (rf"\b({part})\s(?:des\s|de\s|du\s|d['\u2019])?(?={english}|last\s|this\s|{year}\b)",
         lambda found: f"{_PARTS[found[1].lower()]} "),
        (
            (
                rf"\b({weekday}|yesterday|today|{english}\s\d{{4}}|\d\s{english}|\d{{4}}),?\s"
                r"(?:am\s|au\s|dans\sla\s)?(?:(abends?|soirée|soir)|(nachmittags?|après-midi)|(vormittags?|morgens?|früh|matin)"
                r"|(nachts|nuit))\b"
            ),
         lambda found: f"{found[1]} " + ("evening" if found[2] else "afternoon" if found[3]
                                         else "morning" if found[4] else "night")),
        # Prepositions
        (rf"\b(?:seit|depuis)\s(?:dem\s|der\s|le\s|la\s)?(?={said})", "since "),
        (rf"\b(?:bis(?:\s(?:zum|zur))?|jusqu['\u2019](?:au|à|en))\s(?={said})", "until "),
        (rf"\b(?:ab|à\spartir\sd[eu])\s(?:dem\s|der\s)?(?={said})", "since "),
        (rf"\b(?:vor|avant)\s(?:dem\s|der\s|le\s|la\s)?(?={said})", "before "),
        (rf"\b(?:nach|après)\s(?:dem\s|der\s|le\s|la\s)?(?={said})", "after "),
        (rf"\b(?:zwischen|entre)\s(?:dem\s|der\s|le\s|la\s)?(?={said})", "between "),
        (rf"\b(?:vom|von|du)\s(?:le\s)?(?={said}[^?]{{0,30}}\b(?:until|bis|au)\s)", "from "),
        (rf"(?<=[\w\d])\s(?:und|et)\s(?:dem\s|der\s|le\s|la\s)?(?={said})", " and "),
        (rf"(?<=[\w\d])\sau\s(?={said})", " to "),
        (rf"\b(?:am|an\sdem|le)\s(?={said})", "on "),
        (rf"\b(?:im\s(?:jahre?\s)?|in\sder\s|en\s|in\sden\s|dans\sla\s|pendant\sla\s|au\s)(?={said})", "in "),
    ]  # fmt: skip
    return tuple((re.compile(pattern, re.IGNORECASE), replaced) for pattern, replaced in rules)

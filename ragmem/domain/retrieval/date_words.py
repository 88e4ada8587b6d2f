"""The forms of dates in a question, as one pattern for lower-case text."""

import re
from functools import cache

from ragmem.patterns import lazy

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NUMBERS = {
    word: (number, number)
    for number, words in enumerate(
        ("a an one", "two couple", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=1
    )
    for word in words.split()
} | {"few": (2, 5), "several": (3, 8)}
"""Minimum and maximum that people mean."""

PARTS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
LAST = -1
NTH = ORDINALS | {"fifth": 5, "5th": 5, "last": LAST, "final": LAST}
HALVES = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "latter": 2, "last": 2, "other": 2}

_ = r"\s{1,3}"
_OF = rf"(?:,|{_}of)?{_}"
_YEAR = r"(?:19|20)\d\d"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_CLEAR_MONTH = (  # mar, oct and dec are other words too
    r"(?:jan(?:uary)?|feb(?:ruary)?|march|apr(?:il)?|may|june|july|aug(?:ust)?|sept(?:ember)?|october"
    r"|nov(?:ember)?|december)\b"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
_SEASON = r"(?:spring|summer|autumn|fall|winter)"
_AMOUNT = rf"(?:an?{_}(?=few|couple))?(?:\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})\b"
_UNIT = r"(?:minute|hour|day|week|fortnight|month|quarter|year)"
_PART = rf"(?:{'|'.join(PARTS)})(?:{_}of)?[\s-]{{1,3}}"
_BEFORE = r"(?<![\w./:#@$-])"
_AFTER = r"(?![\w/%]|[-.:,]\w)"
_NOT_OF = rf"(?!{_}of\b)"
_NTH = rf"(?:{'|'.join(NTH)})"
_HALF = rf"(?:{'|'.join(HALVES)})"


def _in_a(form: str) -> str:
    """Return the pattern of the month or year after "of": May 2024, last month, 2024."""
    return (
        rf"(?:the{_}month{_}of{_})?(?:(?P<{form}_m>{_MONTH})(?:{_OF}(?P<{form}_y>{_YEAR}))?(?![\w%]|[.:/-]\w)"
        rf"|(?P<{form}_rel>last|this|the){_}(?P<{form}_unit>month|year)\b|(?P<{form}_whole>{_YEAR}){_AFTER})"
    )


ALONE = (
    r"(?:[01]?\d|2[0-3])(?::[0-5]\d(?!:?\d)|\s{0,2}(?:[ap]\.?m\b|o['\u2019]?clock\b))"
    r"|(?:noon|midday|midnight)\b"
)
"""A time of day without a date, after a preposition."""

FORMS = {
    "iso": (
        rf"(?P<iso_y>{_YEAR})(?P<iso_mark>[-/])(?P<iso_m>\d\d)(?P=iso_mark)(?P<iso_d>\d\d)"
        rf"(?:(?=t\d\d:\d\d)|{_AFTER})"
    ),
    "compact": rf"(?P<compact_y>{_YEAR})(?P<compact_m>\d\d)(?P<compact_d>\d\d){_AFTER}",
    "iso_week": rf"(?P<iso_week_y>{_YEAR})-?w(?P<iso_week_n>\d\d){_AFTER}",
    "iso_month": rf"(?P<iso_month_y>{_YEAR})-(?P<iso_month_m>\d\d){_AFTER}",
    "year_quarter": rf"(?P<year_quarter_y>{_YEAR})[\s-]?q(?P<year_quarter_n>[1-4]){_AFTER}",
    "numeric": (
        r"(?P<numeric_a>\d\d?)(?P<numeric_mark>[/.])(?P<numeric_b>\d\d?)(?P=numeric_mark)"
        rf"(?P<numeric_y>{_YEAR}){_AFTER}"
    ),
    "day_month": (
        rf"(?:(?P<day_month_from>\d\d?)(?:st|nd|rd|th)?(?:\s?[-\u2013]\s?|{_}(?:to|and){_}))?"
        rf"(?P<day_month_d>\d\d?)(?P<day_month_sure>(?:st|nd|rd|th)(?:{_}of)?|{_}of)?{_}(?P<day_month_m>{_MONTH})"
        rf"(?:,?{_}(?P<day_month_y>{_YEAR})(?![\w%]|[.:/-]\w))?"
    ),
    "month_day": (
        rf"(?P<month_day_m>{_MONTH}){_}(?P<month_day_d>\d\d?)(?P<month_day_sure>st|nd|rd|th)?"
        r"(?:\s?[-\u2013]\s?(?P<month_day_to>\d\d?)(?:st|nd|rd|th)?)?(?![\w%]|[.:/]\w)"
        rf"(?:,?{_}(?P<month_day_y>{_YEAR})(?![\w%]|[.:/-]\w))?"
    ),
    "month_week": (
        rf"(?:(?P<month_week_o>{_NTH}){_}week|week{_}(?P<month_week_n>[1-5])){_}(?:of|in){_}{_in_a('month_week')}"
    ),
    "year_week": (
        rf"(?P<year_week_n>\d\d?)(?:st|nd|rd|th){_}(?:calendar{_})?week(?:{_}(?:of|in))?{_}(?P<year_week_y>{_YEAR})"
        rf"{_AFTER}"
    ),
    "month_weekday": (
        rf"(?P<month_weekday_o>{_NTH}){_}(?P<month_weekday_d>{_WEEKDAY}){_}(?:of|in){_}{_in_a('month_weekday')}"
    ),
    "part_half": rf"(?P<part_half_o>{_HALF}){_}half{_}(?:of{_})?{_in_a('part_half')}",
    "week_day": (
        rf"(?P<week_day_d>{_WEEKDAY}){_}(?:of{_}|in{_})?(?P<week_day_rel>last|this|the{_}previous){_}week\b"
    ),
    "day_in_week": (
        rf"(?P<day_in_week_rel>last|this){_}week(?:['\u2019]s)?{_}(?:on{_})?(?P<day_in_week_d>{_WEEKDAY})"
    ),
    "month_year": (
        rf"(?P<month_year_part>{_PART})?(?P<month_year_m>{_MONTH}){_OF}(?P<month_year_y>{_YEAR}){_AFTER}"
    ),
    "month": rf"(?P<month_part>{_PART})?(?P<month_m>{_CLEAR_MONTH})(?!['\u2019/-])",
    "ago": rf"(?P<ago_n>{_AMOUNT})(?:{_}of)?{_}(?P<ago_unit>{_UNIT})s?{_}(?:ago|back)\b",
    "rolling": (
        rf"(?:last|past|previous){_}(?P<rolling_n>{_AMOUNT})(?:{_}of)?{_}(?P<rolling_unit>{_UNIT})s?\b{_NOT_OF}"
    ),
    "past_unit": rf"(?:the{_}last|(?:the{_})?past)(?P<past_unit_n>){_}(?P<past_unit_unit>{_UNIT})\b{_NOT_OF}",
    "before_last": rf"(?P<before_last_unit>week|weekend|month|quarter|year){_}before{_}last\b",
    "last_unit": (
        rf"(?P<last_unit_part>{_PART})?last{_}(?P<last_unit_unit>week|weekend|month|quarter|year|night)\b"
        rf"{_NOT_OF}"
    ),
    "this_unit": (
        rf"(?P<this_unit_part>{_PART})?(?:this|the{_}current){_}"
        rf"(?P<this_unit_unit>week|weekend|month|quarter|year|morning|afternoon"
        rf"|evening)\b{_NOT_OF}"
    ),
    "last_month": rf"last{_}(?P<last_month_m>{_CLEAR_MONTH})(?!{_}\d)",
    "last_season": (
        rf"(?P<last_season_mark>last|this(?:{_}past)?){_}(?P<last_season_name>{_SEASON})\b{_NOT_OF}"
    ),
    "last_weekday": rf"(?:last|(?:this{_})?past){_}(?P<last_weekday_d>{_WEEKDAY})",
    "weekday": rf"(?P<weekday_d>{_WEEKDAY})(?!['\u2019-])",
    "season": (
        rf"(?P<season_name>{_SEASON})(?:{_OF}(?P<season_y>{_YEAR}){_AFTER}"
        rf"|{_}(?:of{_})?(?P<season_rel>last|this){_}year\b)"
    ),
    "quarter": (
        rf"(?:q(?P<quarter_n>[1-4])|(?P<quarter_o>{'|'.join(ORDINALS)}){_}quarter)"
        rf"(?:(?:{_OF}|/)(?P<quarter_y>{_YEAR}))?{_AFTER}"
    ),
    "half": rf"h(?P<half_n>[12]){_OF}(?P<half_y>{_YEAR}){_AFTER}",
    "year_half": rf"(?P<year_half_y>{_YEAR})[\s-]?h(?P<year_half_n>[12]){_AFTER}",
    "week": (
        rf"(?:(?:calendar{_})?week{_}|(?:cw|kw|wk)\s?)(?P<week_n>\d\d?)(?:{_OF}(?P<week_y>{_YEAR}))?"
        rf"{_AFTER}{_NOT_OF}"
    ),
    "day": rf"(?P<day_name>the{_}day{_}before{_}yesterday|yesterday|today|tonight)\b(?!['\u2019])",
    "clock": rf"(?P<clock_word>at|around|about|before|after|since|until){_}(?={ALONE})",
    "year": rf"(?P<year_part>{_PART})?(?P<year_y>{_YEAR}){_AFTER}",
}
"""Most certain first: of two forms at one position the first match counts."""


@cache
def date_pattern() -> re.Pattern[str]:
    """Return the pattern of all forms; it takes 10 ms to compile, and most questions do not need it."""
    return re.compile(_BEFORE + "(?:" + "|".join(f"(?P<{name}>{form})" for name, form in FORMS.items()) + ")")


HINT = lazy(
    r"(?:19|20)\d\d|\bhalf\s|\b(?:[ck]w|wk)\s?\d|q[1-4]\b|\b(?:ago|back|last|past|previous|this|current|today|tonight)\b"
    rf"|yesterday|day\b|week|\b{_MONTH}|\b{_SEASON}\b|quarter"
    r"|\d:\d\d|\d\s{0,2}[ap]\.?m\b|\b(?:midday|midnight|noon)\b|o['\u2019]?clock"
)
"""Every date matches this; most questions do not."""

RELATIVE = frozenset(
    (
        "ago rolling past_unit before_last last_unit this_unit last_month last_season last_weekday weekday"
        " week_day day_in_week day clock"
    ).split()
)
"""Forms relative to now, or to another date of the question."""

_FOR_ALL = "since before after until till by from between"
LINKED = {
    "compact": frozenset(f"{_FOR_ALL} on in of around dated starting".split()),
    "month": frozenset(f"{_FOR_ALL} in during of within through throughout around starting".split()),
    "weekday": frozenset(f"{_FOR_ALL} on".split()),
    "quarter": frozenset(f"{_FOR_ALL} in during throughout of starting".split()),
    "week": frozenset(f"{_FOR_ALL} in during of starting".split()),
    "year": frozenset(f"{_FOR_ALL} in during throughout through around starting".split()),
    "clock": frozenset(),
}
"""Forms that are dates only after these words or beside another date: "in May", "since Monday"."""

OF_A_DAY = frozenset(
    (
        "iso compact numeric day_month month_day day weekday last_weekday week_day day_in_week ago"
        " month_weekday clock"
    ).split()
)
"""Forms that name a day and may have a time of day beside them."""

COUNTED = frozenset("quarter week year".split())
"""Forms that are not a date if another word follows: "in 2023 requests"."""

NUMERIC = frozenset("iso compact iso_month numeric year quarter".split())
"""Forms that are not a date after a word such as "version"."""

LINK = (
    r"(?:^|[^\w-])(?P<word>in|on|at|during|within|since|before|after|until|till|through|throughout|by|from|between"
    r"|of|around|dated|starting|prior to|up to|(?:earlier|later|older|newer) than"
    r"|more than|over|at least|longer than|less than|under)"
    r"\s{1,3}(?:the\s{1,3})?(?:(?:month|year|night|morning|evening|week)s?\s{1,3}of\s{1,3})?$"
)
AWAY = (
    rf"(?:(?P<n>{_AMOUNT})(?:{_}of)?|the|last){_}(?P<unit>{_UNIT}|weekend|night|{_WEEKDAY})s?"
    rf"{_}(?:before|after){_}$"
)
"""A distance before or after a date: "two weeks before", "the Sunday after"."""

NAMES_A_NUMBER = (
    r"\b(?:version|release|build|port|id|issue|ticket|pr|line|error|code|api|tag|rfc|http|status|commit|revision"
    r"|model|row|page|step|number|no\.?)s?[\s#:=]{1,3}(?:the\s)?$"
)
JOINED = r"\s{0,3}(,|and|or|to|until|till|through|[-\u2013&])?\s{0,3}(?:in\s{1,3}|on\s{1,3}|the\s{1,3})?"
FOLLOWS = (
    r"\s{0,3}(?:$|[^\w\s%:.,/-]|[,.:](?!\w)|[-\u2013]\s|(?:and|or|to|until|till|through|when|that|which|who|what|why|how"
    r"|for|with|as|at|by|from|in|on|of|the|an?|was|were|is|are|did|do|does|have|has|had|i|we|you|they|it|he|she|our"
    r"|my|their|about|but|because|after|before|since|than|versus|vs|so|if|according|compared|onwards?)\b)"
)
ENDS = r"\s{0,3}[?.!]{0,3}\s{0,3}$"
ONWARDS = r"\s{1,3}(?:on|onwards?|(?:until|till|to)\s{1,3}(?:now|today))\b"

SPANISH_WEEKEND = lazy(r"\bfin(?=(?:es)?\sde\ssemana\b)", re.IGNORECASE)
"""A word that tells of English to the detection of languages, in a phrase that is Spanish."""

ENGLISH_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
ENGLISH_WEEKDAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
ENGLISH_YEAR = _YEAR
ENGLISH_DATE_START = (
    rf"(?:(?:the\s)?\d{{1,2}}\b|{ENGLISH_MONTH}|{ENGLISH_WEEKDAY}|yesterday|today|the day before|last\s"
    rf"|this\s|week\s\d|early\s|mid\s|late\s|{_YEAR}|Q\d|first\s|second\s|third\s|fourth\s|fifth\s|\d+\s\w+\sago)"
)
"""The beginning of a date that was translated from another language."""

ENGLISH_DATE = (
    rf"(?:(?:early |mid |late )?(?:\d{{1,2}} )?{ENGLISH_MONTH}(?: {_YEAR})?|{_YEAR}|yesterday|today"
    rf"|the day before yesterday|(?:last|this) (?:week|month|year|weekend)|the \w+ before last"
    rf"|{ENGLISH_WEEKDAY}|\d+ \w+s ago)\b,?"
)
"""A date that was translated from another language."""


@cache
def compile_once(pattern: str) -> re.Pattern[str]:
    """Return one of the patterns above, compiled when the first date is read."""
    return re.compile(pattern)

"""Mask the values of a run in a text, so that reports of one template become equal.

Such a value is a timestamp, the number or hash of a run, the time that it took, or how much it went through.
Any other word or number is a fact: a port, a limit, a version, a name. Where it is not sure which of both it
is, it is a fact.
"""

import re
from collections.abc import Callable

from ragmem.domain.classification.judge import is_foreign_prose
from ragmem.domain.model import Memory

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]m\b)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?\b"
_DATE = rf"(?:\d{{4}}[-/]\d{{2}}[-/]\d{{2}}|\d{{1,2}}\s{_MONTH}\s\d{{4}}|{_MONTH}\s\d{{1,2}},?\s\d{{4}})"
_UNIT = r"(?:ms|s|secs?|seconds?|min|mins|minutes?|h|hrs?|hours?|milliseconds?|us|\u00b5s|ns)"
_RAN = (
    r"(?:passed|finished|completed|succeeded|done|ended|ran|took|elapsed|built|compiled|exited|ready|loaded|"
    r"written|synced|deployed|uploaded|downloaded|indexed|copied|started|failed)"
)
_WENT = (
    r"(?:passed|copied|processed|touched|scanned|checked|synced|indexed|compiled|uploaded|downloaded|"
    r"transferred|written|fetched)"
)
_RUN = (
    r"(?:(?:ci|test|nightly|workflow|pipeline|backup|build|cron|batch)[ -])?"
    r"(?:run|build|pipeline|attempt|iteration|epoch|job)"
)


def _search_of(words: str) -> Callable[[str], re.Match[str] | None]:
    """Return a search for words in any case, which takes a third of the time for a text of ASCII."""
    any_case, small = re.compile(words, re.IGNORECASE), re.compile(words)
    return lambda text: small.search(text.lower()) if text.isascii() else any_case.search(text)


_search_report = _search_of(rf"\b{_RAN}\b")
"""Words of a report; a text without them, and without a leading timestamp in a line, states a fact."""

_search_rule = _search_of(
    r"\b(?:must|shall|should|needs?|requir\w+|allow\w*|limit\w*|max\w*|minim\w*|at least|at most|within|"
    r"timeouts?|budget|deadline|target|threshold|quota|pinned|default\w*|always|never|because|decided)\b"
)
"""Words of a rule or explanation, whose numbers are never masked."""

_TELLS_WHEN = re.compile(
    r"(?:\b(?:until|till|due|valid|expir\w+|before|after|by|since|from|next|runs?|start(?:s|ing)?|begin\w*|"
    r"ends|opens?|closes?|scheduled|planned|every|daily|nightly|weekly|version|release\w*|born|birthday|"
    r"between|to|and|for|of)(?:\s(?:on|at|in|the))?|[(/=#v-])\s*$",
    re.IGNORECASE,
)
"""Words before a date or time that is a fact: an appointment, a deadline or a range."""

_DIGIT = re.compile(r"\d")
_LETTER_HASH = re.compile(r"[a-f]{8}-", re.IGNORECASE)
"""Each value of a run has a digit, but for a hash of letters alone."""

_STAMP = re.compile(rf"(?<![\w./:-]){_DATE}(?:,?[T\s](?:at\s)?{_CLOCK}{_ZONE})?(?![\w/-])", re.IGNORECASE)
_TIME = re.compile(rf"(?<![\w./:-]){_CLOCK}{_ZONE}(?![\w/-]|:\d)", re.IGNORECASE)
_LEADING = re.compile(
    rf"^(\W{{0,4}})(?:{_DATE}(?:,?[T\s]{_CLOCK}{_ZONE})?|\d{{2}}:\d{{2}}:\d{{2}})(?![\w/-])",
    re.IGNORECASE | re.MULTILINE,
)
_HASH = re.compile(
    r"\b(commit|sha|hash|digest|checksum|revision|session|run|build|backup|snapshot|checkpoint|trace|request)"
    r"(:?\s+)(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64})(?![\w/@-])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"\b({_RUN})(\s+(?:(?:no\.?|number|id)\s+)?#?|\s*#)\d+(?=\s+(?:{_RAN}|of)\b|[,;)]|[:.](?!\S)|\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_HASH_NUMBERED = re.compile(rf"^(\W{{0,3}})#\d+(?=\s+{_RAN}\b)", re.IGNORECASE | re.MULTILINE)
_TOOK = re.compile(
    rf"\b({_RAN}\s+(?:at\s+\0time\s+)?(?:(?:in|after)\s+)?)"
    rf"(?:\d+(?:\.\d+)?\s?{_UNIT}\b(?:\s(?=\d))?){{1,3}}(?!\s?\d)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    rf"(?<![\w.,:/#$\u20ac-])[1-9]\d*(?:,\d{{3}})*(?=(?:\s+[A-Za-z]+)?\s+{_WENT}\b)", re.IGNORECASE
)

_TIMES, _RUNS, _HASHES, _DURATIONS, _COUNTS = "\0time", "\0run", "\0hash", "\0duration", "\0count"
"""Placeholders of masked values; no stored text contains NUL."""


def mask_values(text: str) -> str:
    """Return a text with run values masked and white space folded; copies of a template become equal.

    Nothing is masked in a text that rules or explains something, in one that does not report, and in one of
    another language than English, whose rules nobody here can tell. A report says that something ran, or a
    line of it begins with a timestamp.
    """
    plain = " ".join(text.split())
    has_value = _DIGIT.search(text) or _LETTER_HASH.search(text)
    if not has_value or not (_search_report(text) or _LEADING.search(text)) or _search_rule(text):
        return plain
    if is_foreign_prose(text):
        return plain
    found = _LEADING.sub(rf"\1{_TIMES}", text)
    found = _mask_dates(_STAMP, found)
    found = _mask_dates(_TIME, found)
    found = _HASH.sub(rf"\1\2{_HASHES}", found)
    found = _NUMBERED.sub(rf"\1\2{_RUNS}", found)
    found = _HASH_NUMBERED.sub(rf"\1{_RUNS}", found)
    found = _TOOK.sub(rf"\1{_DURATIONS}", found)
    found = _COUNTED.sub(_COUNTS, found)
    return " ".join(found.split())


def _mask_dates(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with dates and times masked, except where the word before makes one a fact."""

    def mark(found: re.Match[str]) -> str:
        is_term = _TELLS_WHEN.search(text, max(0, found.start() - 24), found.start())
        return found.group() if is_term else _TIMES

    return pattern.sub(mark, text)


def own_title(memory: Memory) -> str:
    """Return the information that a title adds to the text; "" for a file name or a part of the text."""
    title = " ".join(memory.title.split())
    name = memory.uri.rpartition("/")[2]
    told = title in {name, name.rpartition(".")[0]} or title.rstrip("\u2026") in " ".join(memory.text.split())
    return "" if told else mask_values(title)

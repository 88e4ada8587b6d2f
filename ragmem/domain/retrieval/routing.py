"""Route a question to a type of answer: knowledge, an episode, the current state, findings, or code."""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ragmem.domain.retrieval.routing_cues import CUES, Route
from ragmem.domain.retrieval.routing_words import WORDS
from ragmem.domain.text.known_names import KNOWN_NAMES
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_READ = 600
"""Maximum characters of a question that are read, half of them from its end; a longer one has pasted text."""

PRIOR: Mapping[Route, float] = MappingProxyType({Route.KNOWLEDGE: 1.5})
"""Initial scores of the routes: a question without a cue wants knowledge."""

PASTED = 12.0
"""The weight of a pasted error, more than that of all words in it."""

_QUOTED = lazy(r"`[^`\n]{1,200}`|\"[^\"\n]{2,200}\"|(?<!\w)'[^'\n]{2,200}'(?!\w)|“[^”\n]{2,200}”")
_HOST = lazy(
    r"\bhttps?://\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|dev|local|internal)\b(?!/)",
    re.IGNORECASE,
)
_TICKET = lazy(r"\b(?!CVE-)[A-Z]{2,8}-\d+\b|(?<![\w#])#\d+\b")
_SYMBOL = lazy(
    r"[\w.:/-]*\w\(\)|\b\w+::[\w:]+|[\w.-]*(?:/[\w.-]+)*/[\w-]+\.[A-Za-z]{1,5}\b|\b\w+\.[A-Za-z]\w+(?:\.\w+)*"
    r"|\b[A-Za-z]\w*_\w+|\b_\w+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*"
)
_MARKS = lazy("[`\"'\u201c]", needs="`|\"|'")
_ASKED_WHEN = r"when(?! (?:do|did|does|was|were|is|are|will|has|have|should|can)\b)"
_ASIDE = lazy(
    rf"(?<=\w) (?:while|{_ASKED_WHEN}|whenever|if|until|because|so that|so i|so we|as soon as|once"
    r"|before (?:the|an?|it|we|i))\b[^,?]*"
    rf"|^(?:while|if|whenever|once|as soon as|{_ASKED_WHEN})\b[^,?]*,",
    needs="while|when|if|until|because|so |as soon as|once|before ",
)
"""A subordinate clause; the question is not about a state in it."""

_OF_THE_MAIN_CLAUSE = frozenset({Route.OPERATIONAL, Route.EPISODE})
_CODE_QUOTE = lazy(r"`[\w.:/()-]+`")
_ERROR_LINE = lazy(
    r"^\W*(?:\w+(?:\.\w+)*)?(?:error|exception|fatal|panic|failure|failed|err!?|traceback)\b"
    r"(?:\[\w+\]|\w*)?(?: \(|:|!| [A-Z]{4})|^\s*(?:[\w.]+(?:Error|Exception|Warning|Exit|Interrupt)\b)"
    r"|^\[ERROR\]|^Traceback \(|^\s*File \"|^\s+at [\w.$<]+\(|\bexit (?:status|code) \d"
    r"|^(?:\$|>|%) \S+.*\n.*(?:fatal|error)|^goroutine \d|^thread '\w+' panicked|^npm ERR!|^\S+:\d+:\d+: "
    r"|^(?:bash|zsh|sh|git|make|curl|ssh|docker): |^FAILED |^E  +\w|\bsegmentation fault\b|\bcore dumped\b",
    re.MULTILINE | re.IGNORECASE,
)
_ASKS = lazy(
    r"^\W*(?:who|what|which|where|when|why|how|is|are|was|were|do|does|did|has|have|had|can|could|should)\b"
    r"|^\W*(?:list|show|any)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reason:
    """A cue in the question, its route and its weight."""

    cue: str
    route: Route
    weight: float


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """The route of a question, the second best one, the margin, and the reasons."""

    route: Route
    second: Route
    margin: float
    reasons: tuple[Reason, ...] = ()


def route(question: str) -> RouteDecision:
    """Return the type of answer that a question wants, deterministically.

    Each cue in the question adds its weight to its route; equal sums go to the first in `Route`. `reasons`
    are all cues, heaviest first. A text without cues wants knowledge, with margin 1.5.
    """
    text = (
        question
        if len(question) <= MAX_READ
        else f"{question[: MAX_READ // 2]}\n{question[-MAX_READ // 2 :]}"
    )
    scores = {item: PRIOR.get(item, 0.0) for item in Route}
    reasons = []
    if is_pasted_error(text):
        reasons.append(Reason("a pasted error", Route.KNOWLEDGE, PASTED))
    read = mask_names(text)
    clause = _ASIDE.sub("", read)
    reasons += [
        Reason(cue.name, cue.route, cue.weight)
        for cue in CUES
        if cue.matches(clause if cue.route in _OF_THE_MAIN_CLAUSE else read)
    ]
    for reason in reasons:
        scores[reason.route] += reason.weight
    best, second = sorted(Route, key=lambda item: -scores[item])[:2]
    ordered = tuple(sorted(reasons, key=lambda reason: -reason.weight))
    return RouteDecision(best, second, scores[best] - scores[second], ordered)


def is_pasted_error(text: str) -> bool:
    """Return whether a text is the output of a failed program, not a question about it."""
    stripped = text.strip()
    if _ASKS.match(stripped) or stripped.endswith("?"):
        return False
    return _ERROR_LINE.search(stripped) is not None


def mask_names(text: str) -> str:
    """Return a question in lower case, with its names replaced by QUOTED, SYMBOL, HOST and TICKET."""
    text = text.replace("\u2019", "'")
    if "`" in text:
        text = _CODE_QUOTE.sub(" SYMBOL ", text)
    if _MARKS.search(text):
        text = _QUOTED.sub(" QUOTED ", text)
    words: list[str] = []
    for word in text.split():
        bare = word.rstrip("?.,;:!)")
        if bare.isalpha() and (bare.islower() or bare.istitle()):
            words.append(word.lower())
            continue
        named = _SYMBOL.sub(_mask_symbol, _TICKET.sub(" TICKET ", _HOST.sub(" HOST ", word)))
        words += [part if part in _PLACEHOLDERS else part.lower() for part in named.split()]
    return " ".join(words)


def symbols(text: str) -> tuple[str, ...]:
    """Return the names of code and the paths in a question, as they are written, each once.

    Parentheses of calls are removed; a plain word counts only in backticks.
    """
    found = [item[0].strip("`") for item in _CODE_QUOTE.finditer(text)]
    found += [item[0] for item in _SYMBOL.finditer(text) if item[0].lower() not in KNOWN_NAMES]
    return tuple(dict.fromkeys(name.removesuffix("()") for name in found))


_NEWEST = lazy(r"\b(?:last|latest|most recent(?:ly)?|newest|previous)\b", re.IGNORECASE)


def wants_newest(text: str) -> bool:
    """Return whether a question asks for the latest of several events."""
    return _NEWEST.search(text) is not None


def speaks_of_findings(text: str) -> int:
    """Count the distinct words of a text about security: flaws, scanners, findings."""
    return len({found[0].lower() for found in _finding_pattern().finditer(text)})


@cache
def _finding_pattern() -> re.Pattern[str]:
    # Compiled on demand, because most questions do not need it.
    return re.compile(
        rf"\b(?:{WORDS['flaw']}|{WORDS['tool']}|findings?|severity|audit(?:ed)?|pen-?test|attackers?"
        r"|untrusted|exposed)\b",
        re.IGNORECASE,
    )


_PLACEHOLDERS = frozenset({"QUOTED", "SYMBOL", "HOST", "TICKET"})


def _mask_symbol(found: re.Match[str]) -> str:
    return found[0] if found[0].lower() in KNOWN_NAMES else " SYMBOL "

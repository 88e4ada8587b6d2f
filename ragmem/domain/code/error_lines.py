"""Find the lines of an output that name an error, and tell how much of one a text repeats.

What differs from one run to the next is left out: numbers, paths, addresses, times. What says least is common
to all programs (`error`, `TypeError`, `not found`); a line of nothing else is the same in all of them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ragmem.domain.code.mentions import is_distinctive
from ragmem.domain.text.words import fold_words, stem

MOST_LINES = 4
"""Maximum error lines of an output: the last ones, which tell the cause, before the first ones."""

MAX_LINE = 400

RARE = 3.0
"""Weight of a code, of an exception of one program, of an identifier, and of what an error is about."""

PLAIN, COMMON = 1.0, 0.25
"""Weight of a word, and of one that is in the errors of all programs."""

LEAST = 2.25
"""Minimum weight of a line that is worth a search: a rare name, or two words beside a common one.

Two of its weight must be in words that are not common to all programs, however many of these it has.
"""

FAINT_WORDS = 4
"""Minimum words of a line that is known again only word for word."""

MESSAGE = 0.5
"""Minimum share of the weight beside the rare names: one name is in many errors."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][^\x07]{0,200}\x07|[\x00-\x08\x0b-\x1f]")
_NAMES_ERROR = re.compile(
    r"(?:[A-Za-z_][\w.]*(?:Error|Exception|Failure|Fault|Panic)\b"
    r"|\b(?:ERR_[A-Z_]+|E[A-Z]{4,}|[A-Z]{1,6}\d{3,6})\b|\b(?:error|fatal|panic(?:ked)?|failed|failure|cannot"
    r"|could not|unable to|undefined|refused|denied|invalid"
    r"|missing|unknown|unexpected|not found|no such|not a|does not|doesn't|timed out|conflict|mismatch"
    r"|unresolved|unsupported|deprecated|exceeded|segmentation fault|traceback)\b)",
    re.IGNORECASE,
)
_NO_ERROR = re.compile(
    r"\b(?:0|no) (?:errors?|failed|failures?|warnings?)\b|\bexit(?:ed)? (?:code|status|with)\b", re.IGNORECASE
)
_LABEL = re.compile(r"^\[[a-z]{1,20}(?::[a-z]{1,20})*\] ")
"""Who says a line, as task runners and loggers put it: `[lint:go] ERROR task failed`."""
_FRAME = re.compile(
    r"^\s*(?:at |File \"|in <|--> |\^|~|\||\d+ \||#\d+ (?:\S+\(\d+\)|\[internal function\]): |Traceback)"
)
# What differs from run to run, each with a blank in its place.
_VARIABLE = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b|\bhttps?://\S+"
    r"|\b0x[0-9a-fA-F]+\b"
    r"|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"
    r"|\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"
    r"|(?<![\w.])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+~-]+[/\\])*[\w.@+~-]*"
    r"|\b(?:[\w.@+-]+[/\\])+[\w.@+-]+\.[A-Za-z]\w{0,7}\b"
    r"|(?<![A-Za-z_\d])\d[\d.,:_]*(?:ms|s|m|h|kB|KB|MB|GB|MiB|GiB|B|%)?\b"
)
_CODE = re.compile(r"ERR_[A-Z_]+|E[A-Z]{4,}|[A-Z]{1,6}\d{3,6}|[A-Z][A-Z_]{5,}")
_TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Fault|Panic)")
_NAMED = re.compile(
    r"(?<!\w)['\"\u2018]([A-Za-z]{3,60})['\"\u2019](?!\w)"
    r"|(?:^|[\s:])([A-Za-z]{3,40}): (?:command )?not found$"
)
"""The one thing that an error is about: in quotation marks, or the command that is not there."""

_TOKEN = re.compile(r"[A-Za-z_$][\w$]*(?:[.:-]{1,2}[A-Za-z_$][\w$]*)*")

_EVERYWHERE = frozenset(
    "a an and are as at be been but by can could did do does done for from had has have he i if in into "
    "is it its my no not of on one or our out so than that the their them then there this those to up "
    "us use was we were what when which while will with you your error errors exception fatal panic "
    "panicked fail failed fails failure failing cannot could unable undefined refused denied invalid "
    "missing unknown unexpected found such timed timeout time conflict mismatch unresolved unsupported "
    "deprecated exceeded segmentation fault traceback exit code status command process returned non- "
    "zero zero test tests passed expected received got actual assert assertion value values type types "
    "null none nan true false string str number int object array list dict function method property "
    "attribute module modules package import export require name names file files directory folder path "
    "line column character token tokens syntax parse parsing read reading write writing open opened "
    "close closed connection connect host port server client request response call called argument "
    "arguments parameter input output data key keys index range bounds memory permission access build "
    "run running main thread stack most recent last resolve resolved load loaded start started stopped "
    "stop check see more help usage option options version warning warn info debug log npm err node "
    "python java bash sh zsh make at task tasks recipe target job step script".split()
)
_COMMON_WORDS = frozenset(map(stem, _EVERYWHERE))
_COMMON_TYPES = frozenset(
    "Error Exception TypeError ValueError KeyError IndexError RuntimeError AttributeError ImportError "
    "NameError ModuleNotFoundError AssertionError SyntaxError IndentationError ReferenceError "
    "RangeError OSError IOError EnvironmentError FileNotFoundError FileExistsError PermissionError "
    "NotImplementedError StopIteration ZeroDivisionError UnicodeDecodeError UnicodeEncodeError "
    "TimeoutError ConnectionError BrokenPipeError ConnectionRefusedError KeyboardInterrupt "
    "NullPointerException IllegalArgumentException RecursionError IllegalStateException "
    "ClassNotFoundException IOException RuntimeException CalledProcessError HTTPError "
    "UnhandledPromiseRejection AggregateError NoMethodError ArgumentError StandardError FAILED ERROR "
    "FATAL FAILURE WARNING TRACEBACK EXCEPTION ENOENT EACCES EPERM EEXIST EPIPE EINVAL ETIMEDOUT "
    "ECONNREFUSED ECONNRESET EADDRINUSE ENOTFOUND ELIFECYCLE".split()
)


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """A line that names an error: verbatim, as searched, and with the weight of each word."""

    text: str
    search: str
    weights: Mapping[str, float]

    @property
    def weight(self) -> float:
        """The weight of all its words."""
        return sum(self.weights.values())

    @property
    def is_telling(self) -> bool:
        """Whether it says enough to be known again."""
        own = sum(weight for weight in self.weights.values() if weight > COMMON)
        return self.weight >= LEAST and own >= 2 * PLAIN

    @property
    def is_faint(self) -> bool:
        """Whether it says too little by its words, and may be known again by all of them in their order."""
        own = any(weight > COMMON for weight in self.weights.values())
        return not self.is_telling and own and len(self.weights) >= FAINT_WORDS

    @property
    def rare(self) -> frozenset[str]:
        """Its codes, exceptions of one program, and identifiers."""
        return frozenset(word for word, weight in self.weights.items() if weight >= RARE)

    def share_in(self, words: frozenset[str]) -> float:
        """Return the share (0..1) of its weight that is in a set of `text_words`."""
        return self._weight_in(words) / (self.weight or 1.0)

    def is_quoted(self, text: str) -> bool:
        """Return whether a text has its words in their order, with nothing between them."""
        return phrase_of(self.search) in phrase_of(text)

    def is_in(self, words: frozenset[str], *, least: float) -> bool:
        """Return whether a set of `text_words` has its rare names, its message, and this share of it."""
        if not self.rare <= words or self.share_in(words) < least:
            return False
        message = self.weight - RARE * len(self.rare)
        return self._weight_in(words) - RARE * len(self.rare) >= MESSAGE * message

    def _weight_in(self, words: frozenset[str]) -> float:
        return sum(weight for word, weight in self.weights.items() if word in words)

    @property
    def key(self) -> str:
        """The same for the same error of another run."""
        return " ".join(sorted(self.weights))


def error_lines(output: str) -> list[ErrorLine]:
    """Return the lines of an output that name an error, most telling first.

    Lines that say too little to be known again, even word for word, are left out.
    """
    found: dict[str, ErrorLine] = {}
    lines = [line for raw in output.splitlines() if (line := _ESCAPES.sub("", raw).strip())]
    for line in reversed(lines):
        if len(line) > MAX_LINE or _FRAME.match(line) or not _NAMES_ERROR.search(line):
            continue
        if _NO_ERROR.search(line):
            continue
        made = error_line(line)
        if made.is_telling or made.is_faint:
            found.setdefault(made.key, made)
    # What says little is often the last line of any failure, such as "recipe failed".
    if any(one.is_telling for one in found.values()):
        found = {key: one for key, one in found.items() if one.is_telling}
    # The last one of equal weight: a cause follows its effects.
    return sorted(found.values(), key=lambda one: -min(one.weight, 2 * LEAST))[:MOST_LINES]


def error_line(line: str) -> ErrorLine:
    """Return one line, without what differs from run to run."""
    plain = _VARIABLE.sub(" ", _LABEL.sub("", line))
    weights: dict[str, float] = {}
    for word, weight in _weighted(plain):
        weights[word] = max(weight, weights.get(word, 0.0))
    for named in _NAMED.finditer(plain.strip()):
        words = map(stem, fold_words(named[1] or named[2]))
        weights.update((word, RARE) for word in words if word in weights and word not in _COMMON_WORDS)
    return ErrorLine(line, " ".join(plain.split()), weights)


def phrase_of(text: str) -> str:
    """Return the words of a text in their order, in lower case."""
    return f" {' '.join(_TOKEN.findall(text.lower()))} "


def text_words(text: str) -> frozenset[str]:
    """Return the words of a text as `ErrorLine` knows them."""
    return frozenset(word for word, _ in _weighted(text))


def _weighted(text: str) -> Iterator[tuple[str, float]]:
    for found in _TOKEN.finditer(text):
        token = found[0]
        last = re.split(r"[.:]", token)[-1]
        if last in _COMMON_TYPES:
            yield last, COMMON
        elif _TYPE.fullmatch(token) or _CODE.fullmatch(token) or is_distinctive(last):
            yield last, RARE
        elif "-" in token and len(token) > 6:
            yield token.lower(), RARE if token.lower() not in _EVERYWHERE else COMMON
        else:
            for word in fold_words(token):
                if len(word) > 1:
                    yield stem(word), COMMON if stem(word) in _COMMON_WORDS else PLAIN

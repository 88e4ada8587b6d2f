"""Classify inline code: a symbol, a path, a setting, a command, a route, or an error."""

import re

from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.known_names import COMMON_WORDS
from ragmem.domain.text.token_types import (
    CODE_WEIGHT,
    COMMANDS,
    KEBAB,
    MAX_NAME_CHARS,
    MIN_NAME_CHARS,
    NUMERIC,
    PATH,
    classify_token,
    is_file,
)
from ragmem.heap import word_cache
from ragmem.patterns import lazy

MAX_CODE_CHARS = 160
MAX_PLAIN_COMMAND = 4

_WORDLIKE = lazy(r"[\w.$:@#*+-]*\w[*!?]?$")
_ASSIGNMENT = lazy(r"([A-Za-z_][\w.]+)(?:=|:(?=$|[\"'{\[\d]|true|false))")
_CAMEL = lazy(r"(?:^|/)[a-z]+[A-Z]\w*$")
_SETTING = lazy(r"[\"']?([A-Za-z_][\w.-]+)\??[\"']?\s?[=:]\s")
_DECLARED = lazy(
    r"(?:(?:export|public|async|abstract|static) )*"
    r"(?:class|def|function|func|fn|const|let|var|interface|type|struct|enum|trait|record) ([A-Za-z_$][\w$]+)"
)
_CALLED = lazy(r"@?([A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$]*)*)\(")
_INDEXED = lazy(r"#?([A-Za-z_$][\w$.]*)[\[<{]")
_ELEMENT = lazy(r"</?([A-Z]\w+)[\s/>]")
_COMPARED = lazy(r"([A-Za-z_][\w.]{2,}) (?:[<>]=?|[=!]==?) ")
_FLAG_WITH_VALUE = lazy(r"(--?[a-zA-Z][\w-]*)[ =]")
_METHOD = lazy(r"(?:GET|POST|PUT|PATCH|DELETE|HEAD) /[^\s?]{1,70}")
_QUOTED_PATH = lazy(r"['\"]([^'\"\s]{3,80})['\"]")
_ERROR_WORDS = lazy(
    r"(?i)\b(?:error|exception|failed|failure|denied|refused|timed out|not found|bad request|unauthorized|"
    r"forbidden|panic|traceback|cannot)\b"
)
_ARGUMENT = lazy(r"\s*(?:[\"'<|;#\[({$>]|\.\.\.|&&|\s\\)")
_PROGRAM = lazy(r"(?:[.~]?/)?[a-z][\w./:-]*$")
_FLAG = lazy(r"--?[a-z][\w-]*(?:=\S*)?$")
_SUBCOMMAND = lazy(r"[a-z][a-z0-9]*(?:[:_-][a-z0-9]+)*$")
LITERALS = frozenset(
    "true false null none nil undefined True False None string int str bool float dict list object number "
    "boolean any void self this Optional List Dict Array Promise Result Map Set".split()
)
KEYWORDS = frozenset(
    "await import from def class return select const let type new async function if for while not use in "
    "with raise throw try except export public private static var fn func struct enum interface where "
    "assert".split()
)
PLAIN_PROGRAMS = frozenset(
    "cd ls cat cp mv rm mkdir find tar which touch chmod tee echo pwd head tail".split()
)
"""Common programs; only the paths in their command lines are of interest."""

_NAMELESS = LITERALS | KEYWORDS | PLAIN_PROGRAMS
_WORDS = (
    ("event", lazy(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}$")),
    ("symbol", lazy(r"[\w-]+(?:\.[\w-]+)*\.\*$")),
    ("file", lazy(r"[\w.-]*\w[-_]\*$")),
    ("config", lazy(r"-[a-zA-Z]$")),
    ("symbol", lazy(r"[a-z][a-z+-]{1,15}://[\w<{][^\s\"']*$")),
    ("tool", KEBAB),
    ("tool", lazy(rf"(?:{'|'.join(map(re.escape, sorted(COMMANDS)))})$")),
    ("symbol", _WORDLIKE),
)
"""Patterns of code words with an ambiguous form, the most certain first."""

_PARTS = (
    ("symbol", _DECLARED),
    ("symbol", _CALLED),
    ("symbol", _ELEMENT),
    ("symbol", _INDEXED),
    ("symbol", _COMPARED),
    ("config", _FLAG_WITH_VALUE),
)
"""Patterns of the beginning of longer code."""


@word_cache(8192)
def classify_code(code: str) -> tuple[str, str, float] | None:
    """Return name, type and weight of the entity of a piece of inline code, or None."""
    text = " ".join(code.strip().strip("\"'").rstrip(",;").split())
    if not (MIN_NAME_CHARS <= len(text) <= MAX_CODE_CHARS) or not any(letter.isalpha() for letter in text):
        return None
    found = classify_token(text)
    if found is not None:
        return found[0], found[1], CODE_WEIGHT
    name, kind = _by_phrase(text) if " " in text else _by_word(text)
    if not kind:
        name, kind = _by_prefix(text)
    if not kind or not MIN_NAME_CHARS <= len(name) <= MAX_NAME_CHARS:
        return None
    return name, kind, CODE_WEIGHT


def _by_word(text: str) -> tuple[str, str]:
    """Return name and type of a word of code with an ambiguous form; the type is "" for no name."""
    if assigned := _ASSIGNMENT.match(text):
        return assigned.group(1), "config"
    if text.lower() in COMMON_WORDS or text in _NAMELESS or NUMERIC.match(text):
        return text, ""
    if PATH.match(text):
        return text, "symbol" if _CAMEL.search(text) else "file"
    return text, next((kind for kind, pattern in _WORDS if pattern.match(text)), "")


def _by_phrase(text: str) -> tuple[str, str]:
    """Return name and type of code with several words: a command, a setting, a route, or an error."""
    if assigned := _SETTING.match(text):
        name = assigned.group(1)
        if _ERROR_WORDS.search(text, assigned.end()):
            return text, "error"
        return name, "config" if name.lower() not in COMMON_WORDS and len(name) > MIN_NAME_CHARS else ""
    if routed := _METHOD.match(text):
        return routed.group(), "symbol"
    if (quoted := _QUOTED_PATH.search(text)) and is_file(quoted.group(1)):
        return quoted.group(1), "file"
    if (
        text[0].isalpha()
        and _ERROR_WORDS.search(text)
        and not (" -" in text or text.split(maxsplit=1)[0] in COMMANDS)
    ):
        return text, "error"
    name = command_name(text)
    return name, "command" if name else ""


def _by_prefix(text: str) -> tuple[str, str]:
    """Return name and type of the beginning of longer code."""
    first = text.split(" ", 1)[0]
    if first != text and is_file(first):
        return first, "file"
    for kind, pattern in _PARTS:
        found = pattern.match(text)
        if found is not None:
            name = found.group(1)
            return name, "" if name.lower() in COMMON_WORDS or name in _NAMELESS else kind
    return "", ""


def command_name(line: str) -> str:
    """Return the command in a line, without quoted and example arguments; "" if there is none.

    A command line begins with a known program, a script or a slash command, has flags, or consists of two to
    four lower-case words of which the first does not begin another phrase.
    """
    cut = _ARGUMENT.search(line)
    words = (line[: cut.start()] if cut else line).split()
    while words and (words[-1] in {"&", "&&", "\\", "-", "--"} or (cut and words[-1].startswith("-"))):
        words.pop()
    if not words or not _PROGRAM.match(words[0]):
        return ""
    known = words[0] in COMMANDS or words[0].startswith(("./", "/", "~/"))
    has_flags = any(_FLAG.match(word) for word in words[1:])
    is_plain = 1 < len(words) <= MAX_PLAIN_COMMAND and all(_SUBCOMMAND.match(word) for word in words)
    begins_phrase = words[0] in KEYWORDS or words[0] in COMMON_WORDS or is_stop_word(words[0])
    return " ".join(words) if known or ((has_flags or is_plain) and not begins_phrase) else ""

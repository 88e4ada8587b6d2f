"""What the form of a single word or piece of code proves about the thing it names."""

import re
from functools import lru_cache

from ragmem.domain.names import AMBIGUOUS_NAMES, COMMON_WORDS, FILE_ENDINGS, KNOWN_NAMES

ENTITY_TYPES = (
    "person",
    "organization",
    "project",
    "tool",
    "library",
    "language",
    "model",
    "service",
    "host",
    "file",
    "symbol",
    "command",
    "config",
    "error",
    "protocol",
    "concept",
    "version",
    "dataset",
    "event",
)

MIN_NAME_CHARS = 2
MAX_NAME_CHARS = 80
MAX_CODE_CHARS = 160
MAX_PLAIN_COMMAND = 4

CODE_WEIGHT = 3.0
IDENTIFIER_WEIGHT = 2.5
KNOWN_WEIGHT = 2.0
NAME_WEIGHT = 1.5
WEAK_WEIGHT = 0.8
"""How specific a mention is: code in backticks, then identifiers, known names, proper names, and the rest."""

_NUMERIC = re.compile(r"[\d.,%+$\u20ac\u00a3~<>=/x\u00d7-]+$")
_LINE_NUMBER = re.compile(r"(?<=\.)([A-Za-z]\w{0,5}):\d+(?:[-:]\d+)?$")
_URL = re.compile(r"(?:https?|wss?|ftp|redis|postgres(?:ql)?|mongodb|amqp)://[^\s\"'<>]+$")
_VERSION = re.compile(r"v\d+(?:\.\d+)+[\w.+-]*$|v?\d+\.\d+\.\d+[\w.+-]*$")
_CALL = re.compile(r"([A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$]*)*)\([^()]*\)$")
_FILE = re.compile(r"(?:[~\w@.*+{}<>$-]*/)*\.?[\w@*+{}<>$-]+(?:\.[\w*+{}<>-]+)*\.([A-Za-z0-9]{1,12})$")
_CALLED_LIKE_FILES = frozenset({"console.log", "Math.log", "logger.log", "np.log"})
_DOT_FILE = re.compile(r"(?:[~\w@.-]*/)*\.(?:env|[a-z]{2,8}ignore|[a-z]{2,6}rc)(?:\.\w+)?$")
_PATH = re.compile(r"(?:~|\.{1,2})?/?(?:[\w.@*+{}<>$-]+/)+[\w.@*+{}<>$-]*$|(?:~|\.{1,2})/[\w.@*+-]{2,}$")
_FORMS = (
    ("version", _VERSION),
    (
        "host",
        re.compile(r"(?:localhost|(?:\d{1,3}\.){3}\d{1,3})(?::\d{2,5})?$|[a-z][\w-]*(?:\.[\w-]+)*:\d{4,5}$"),
    ),
    (
        "model",
        re.compile(
            r"[a-z][\w.-]*\d?[\w.-]*:(?:\d[\w.-]*b\b[\w.-]*|latest)$"
            r"|(?:gpt|claude|llama|gemini|qwen|mistral|gemma|phi|deepseek|glm)-?[a-z-]*\d[\w.:-]*$"
            r"|(?:[a-z]+\d?-)?(?:embed|embedding|minilm|bge|e5|gte|whisper|bert)-[a-z0-9.-]+$"
            r"|[a-z]+-[a-z-]*\d[\w.-]*-(?:flash|mini|nano|instruct|chat|turbo|preview|haiku|sonnet|opus)$",
            re.IGNORECASE,
        ),
    ),
    (
        "config",
        re.compile(r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*$|\$?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|\$[A-Z]{2,}$"),
    ),
    ("command", re.compile(r"/[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*$")),
    (
        "error",
        re.compile(
            r"(?:[A-Z][A-Za-z0-9]*[a-z](?:Error|Exception|Warning|Fault)|SIG(?:TERM|KILL|SEGV|INT|"
            r"HUP|PIPE|ABRT|USR[12])"
            r"|E(?:NOENT|ACCES|PERM|EXIST|AGAIN|PIPE|INVAL|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|"
            r"NOSPC|MFILE|BUSY))$"
        ),
    ),
    ("event", re.compile(r"[A-Z][A-Z0-9]{1,9}-\d{1,6}$|#\d{1,6}$")),
    ("symbol", re.compile(r"_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2}$")),
    ("symbol", re.compile(r"[a-z]+[a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+$|(?:[A-Z]+[a-z0-9]+){2,}[A-Z]*$")),
    ("concept", re.compile(r"[A-Z][a-z]+\d?[A-Z]{2,}$")),
    ("tool", re.compile(r"[A-Z][a-z]+\d+[a-z]{0,3}$")),
)
"""What the form of a bare word proves, surest first."""

_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$!?]*)+(?:/\d)?$")
_JOINTS = re.compile(r"\.|::|->|#|:|/")
_WORDLIKE = re.compile(r"[\w.$:@#*+-]*\w[*!?]?$")
_ROUTE = re.compile(r"/(?:[a-z]+/)?(?:api|v\d+)(?:/|$)")
_KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+$")
_ASSIGNMENT = re.compile(r"([A-Za-z_][\w.]+)(?:=|:(?=$|[\"'{\[\d]|true|false))")
_CAMEL = re.compile(r"(?:^|/)[a-z]+[A-Z]\w*$")
_ARITY = re.compile(r"(?<=\w)/\d$")
_SETTING = re.compile(r"[\"']?([A-Za-z_][\w.-]+)[\"']?\s?[=:]\s")
_METHOD = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE|HEAD) /[^\s?]{1,70}")
_QUOTED_PATH = re.compile(r"['\"]([^'\"\s]{3,80})['\"]")
_ERROR_WORDS = re.compile(
    r"(?i)\b(?:error|exception|failed|failure|denied|refused|timed out|not found|bad request|unauthorized|"
    r"forbidden|panic|traceback|cannot)\b"
)
_ARGUMENT = re.compile(r"\s*(?:[\"'<|;#\[({$>]|\.\.\.|&&|\s\\)")
_PROGRAM = re.compile(r"(?:[.~]?/)?[a-z][\w./:-]*$")
_FLAG = re.compile(r"--?[a-z][\w-]*(?:=\S*)?$")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]*(?:[:_-][a-z0-9]+)*$")
LITERALS = frozenset(
    "true false null none nil undefined True False None string int str bool float dict list object number "
    "boolean any void self this".split()
)
KEYWORDS = frozenset(
    "await import from def class return select const let type new async function if for while not use in "
    "with raise throw try except export public private static var fn func struct enum interface where "
    "assert".split()
)
_COMMAND_WORDS = """
git npm npx yarn pnpm pip pipx uv uvx python python3 node cargo go make docker kubectl helm brew apt curl
wget ssh bash sh mix bundle rake gh aws gcloud terraform ansible pytest ruff mypy cd cp mv rm ls cat grep
sed tmux systemctl psql redis-cli sqlite3 poetry conda deno bun jq rg fd fzf ffmpeg rsync sudo awk find
docker-compose podman gradle mvn dotnet rustc tsc eslint prettier pre-commit tox nox pdm just ollama
journalctl launchctl crontab openssl tar gpg vim emacs claude codex gemini
"""
COMMANDS = frozenset(_COMMAND_WORDS.split())
PLAIN_PROGRAMS = frozenset(
    "cd ls cat cp mv rm mkdir find tar which touch chmod tee echo pwd head tail".split()
)
"""Programs that everybody runs everywhere: a line of them is worth its paths alone."""

_WORDS = (
    ("symbol", re.compile(r"[\w-]+(?:\.[\w-]+)*\.\*$")),
    ("file", re.compile(r"[\w.-]*\w[-_]\*$")),
    ("config", re.compile(r"-[a-zA-Z]$")),
    ("symbol", re.compile(r"[a-z][a-z+-]{1,15}://[\w<{][^\s\"']*$")),
    ("tool", _KEBAB),
    ("tool", re.compile(rf"(?:{'|'.join(map(re.escape, sorted(COMMANDS)))})$")),
    ("symbol", _WORDLIKE),
)
"""What a word of code is, surest first, where the form of a bare word proves nothing."""


@lru_cache(maxsize=8192)
def classify_code(code: str) -> tuple[str, str, float] | None:
    """Return name, type and weight of the entity that a piece of inline code names, or None."""
    text = " ".join(code.strip().strip("\"'").rstrip(",;").split())
    if not (MIN_NAME_CHARS <= len(text) <= MAX_CODE_CHARS) or not any(letter.isalpha() for letter in text):
        return None
    found = classify_token(text)
    if found is not None:
        return found[0], found[1], CODE_WEIGHT
    name, kind = _by_phrase(text) if " " in text else _by_word(text)
    if not kind or not MIN_NAME_CHARS <= len(name) <= MAX_NAME_CHARS:
        return None
    return name, kind, CODE_WEIGHT


_NAMELESS = LITERALS | PLAIN_PROGRAMS | KEYWORDS


def _by_word(text: str) -> tuple[str, str]:
    """Return name and type of a word of code whose form alone proves nothing; the type is "" for no name."""
    if assigned := _ASSIGNMENT.match(text):
        return assigned.group(1), "config"
    if text.lower() in COMMON_WORDS or text in _NAMELESS or _NUMERIC.match(text):
        return text, ""
    if _PATH.match(text):
        return text, "symbol" if _CAMEL.search(text) else "file"
    return text, next((kind for kind, pattern in _WORDS if pattern.match(text)), "")


def _by_phrase(text: str) -> tuple[str, str]:
    """Return name and type of code of several words: a command, a setting, a route, or an error."""
    if assigned := _SETTING.match(text):
        name = assigned.group(1)
        if _ERROR_WORDS.search(text, assigned.end()):
            return text, "error"
        return name, "config" if name.lower() not in COMMON_WORDS and len(name) > MIN_NAME_CHARS else ""
    if routed := _METHOD.match(text):
        return routed.group(), "symbol"
    if quoted := _QUOTED_PATH.search(text):
        return quoted.group(1), "file" if _is_file(quoted.group(1)) else ""
    if name := command_name(text):
        return name, "command"
    return text, "error" if text[0].isalpha() and _ERROR_WORDS.search(text) else ""


def command_name(line: str) -> str:
    """Return the command that a line runs, without what it is given in quotes or as an example; "" if none.

    A line runs a command when it begins with a known program, a script or a slash command, when it has
    flags, or when it is of two to four words in small letters none of which opens a phrase of another kind.
    """
    cut = _ARGUMENT.search(line)
    words = (line[: cut.start()] if cut else line).split()
    while words and (words[-1] in {"&", "&&", "\\", "-", "--"} or (cut and words[-1].startswith("-"))):
        words.pop()
    if not words or not _PROGRAM.match(words[0]):
        return ""
    known = words[0] in COMMANDS or words[0].startswith(("./", "/", "~/"))
    flagged = len(words) > 1 and any(_FLAG.match(word) for word in words[1:])
    plain = 1 < len(words) <= MAX_PLAIN_COMMAND and all(_SUBCOMMAND.match(word) for word in words)
    plain = plain and words[0] not in KEYWORDS and words[0] not in COMMON_WORDS
    if known or flagged or (plain and (COMMON_WORDS.isdisjoint(words) or any(":" in word for word in words))):
        return " ".join(words)
    return ""


@lru_cache(maxsize=32768)
def classify_token(token: str) -> tuple[str, str, float] | None:
    """Return name, type and weight of the entity that one bare word names by its form, or None."""
    known = KNOWN_NAMES.get(token.lower())
    if known and (
        token[0].isupper() or (token.islower() and token not in AMBIGUOUS_NAMES) or token == known[0]
    ):
        return known[0], known[1], KNOWN_WEIGHT
    if not (MIN_NAME_CHARS <= len(token) <= MAX_NAME_CHARS) or " " in token:
        return None
    if "://" in token:
        return (token, "host", IDENTIFIER_WEIGHT) if _URL.match(token) else None
    if _NUMERIC.match(token) and not (_VERSION.match(token) and token.count(".") == 2):
        return None
    found = _by_form(_LINE_NUMBER.sub(r"\1", token))
    return (*found, IDENTIFIER_WEIGHT) if found else None


def _by_form(token: str) -> tuple[str, str] | None:
    """Return name and type of what a word names that is surely no plain word, or None."""
    if token.isalpha() and token[1:].islower():
        return None
    if call := _CALL.match(token):
        return call.group(1), "symbol"
    if _is_file(token):
        return token, "symbol" if _ROUTE.match(token) else "file"
    for kind, pattern in _FORMS:
        if pattern.match(token):
            return token.lstrip("$"), kind
    parts = _JOINTS.split(_ARITY.sub("", token))
    if min(map(len, parts)) >= MIN_NAME_CHARS and not token.isupper() and _DOTTED.match(token):
        return token, "symbol"
    return None


def _is_file(token: str) -> bool:
    """Tell whether a bare word is a path; alternatives such as input/output are not.

    A path is rooted, ends in a slash, or its last part has a file ending or marks that words do not have.
    """
    if (found := _FILE.match(token)) and found.group(1).lower() in FILE_ENDINGS:
        return token not in _CALLED_LIKE_FILES
    if _DOT_FILE.match(token):
        return True
    if "/" not in token or not _PATH.match(token):
        return False
    rooted = token.startswith(("~/", "./", "../", ".")) or (token[0] == "/" and token.count("/") > 1)
    return rooted or token.endswith("/") or "_" in token or "*" in token

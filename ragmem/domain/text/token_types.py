"""Infer the entity type of a single word or piece of code from its form."""

import re

from ragmem.domain.text.known_names import AMBIGUOUS_NAMES, FILE_ENDINGS, KNOWN_NAMES
from ragmem.heap import word_cache
from ragmem.patterns import lazy

ENTITY_TYPES = tuple(
    "person organization project tool library language model service host file symbol command config error "
    "protocol concept version dataset event".split()
)

MIN_NAME_CHARS = 2
MAX_NAME_CHARS = 80

CODE_WEIGHT = 3.0
IDENTIFIER_WEIGHT = 2.5
KNOWN_WEIGHT = 2.0
NAME_WEIGHT = 1.5
WEAK_WEIGHT = 0.8
"""Weight of a mention by its form: code in backticks, then identifiers, known and proper names."""

NUMERIC = lazy(r"[\d.,%+$\u20ac\u00a3~<>=/x\u00d7-]+$")
_LINE_NUMBER = lazy(r"(?<=\.)([A-Za-z]\w{0,5}):\d+(?:[-:]\d+)?$")
_URL = lazy(r"(?:https?|wss?|ftp|redis|postgres(?:ql)?|mongodb|amqp)://[^\s\"'<>]+$")
_VERSION = lazy(r"v\d+(?:\.\d+)+[\w.+-]*$|v?\d+\.\d+\.\d+[\w.+-]*$")
_CALL = lazy(r"([A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$]*)*)\([^()]*\)$")
_FILE = lazy(r"(?:[~\w@.*+{}<>$-]*/)*\.?[\w@*+{}<>$-]+(?:\.[\w*+{}<>-]+)*\.([A-Za-z0-9]{1,12})$")
_CALLED_LIKE_FILES = frozenset({"console.log", "Math.log", "logger.log", "np.log"})
_DOT_FILE = lazy(r"(?:[~\w@.-]*/)*\.(?:env|[a-z]{2,8}ignore|[a-z]{2,6}rc)(?:\.\w+)?$")
PATH = lazy(r"(?:~|\.{1,2})?/?(?:[\w.@*+{}<>$-]+/)+[\w.@*+{}<>$-]*$|(?:~|\.{1,2})/[\w.@*+-]{2,}$")
_FORMS = (
    ("version", _VERSION),
    (
        "host",
        lazy(
            r"(?:localhost|(?:\d{1,3}\.){3}\d{1,3})(?::\d{2,5})?$|[a-z][\w-]*(?:\.[\w-]+)*:\d{4,5}$",
            needs="localhost|.|:",
        ),
    ),
    (
        "model",
        lazy(
            r"[a-z][\w.-]*\d?[\w.-]*:(?:\d[\w.-]*b\b[\w.-]*|latest)$"
            r"|(?:gpt|claude|llama|gemini|qwen|mistral|gemma|phi|deepseek|glm)-?[a-z-]*\d[\w.:-]*$"
            r"|(?:[a-z]+\d?-)?(?:embed|embedding|minilm|bge|e5|gte|whisper|bert)-[a-z0-9.-]+$"
            r"|[a-z]+-[a-z-]*\d[\w.-]*-(?:flash|mini|nano|instruct|chat|turbo|preview|haiku|sonnet|opus)$",
            re.IGNORECASE,
            needs=":|gpt|claude|llama|qwen|mistral|gemma|phi|deepseek|glm|embed|bge|e5|gte|whisper|bert"
            "|flash|mini|nano|instruct|chat|turbo|preview|haiku|sonnet|opus",
        ),
    ),
    (
        "config",
        lazy(
            r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*$|\$?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|\$[A-Z]{2,}$",
            needs="--|_|$",
        ),
    ),
    ("command", lazy(r"/[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*$", needs="/")),
    (
        "error",
        lazy(
            r"(?:[A-Z][A-Za-z0-9]*[a-z](?:Error|Exception|Warning|Fault)|SIG(?:TERM|KILL|SEGV|INT|"
            r"HUP|PIPE|ABRT|USR[12])"
            r"|E(?:NOENT|ACCES|PERM|EXIST|AGAIN|PIPE|INVAL|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|"
            r"NOSPC|MFILE|BUSY))$",
            needs="error|exception|warning|fault|sig|eno|eac|epe|eex|eag|epi|ein|ead|eco|eti|emf|ebu",
        ),
    ),
    (
        "protocol",
        lazy(
            r"(?:RFC|ISO|SHA|MD|UTF|HTTP|PEP|ES|AES|RSA|BASE)-?\d+$",
            re.IGNORECASE,
            needs="rfc|iso|sha|md|utf|http|pep|es|rsa|base",
        ),
    ),
    ("event", lazy(r"[A-Z][A-Z0-9]{1,9}-\d{1,6}$|[A-Z]{3,10}\d{2,5}$|#\d{1,6}$")),
    ("symbol", lazy(r"_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2}$", needs="_")),
    ("symbol", lazy(r"[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*$|(?:[A-Z]+[a-z0-9]+){2,}[A-Z]*$")),
    ("concept", lazy(r"[A-Z][a-z]+\d?[A-Z]{2,}$")),
    ("tool", lazy(r"[A-Z][a-z]+\d+[a-z]{0,3}$")),
)
"""Patterns of the form of a bare word, the most certain first."""

_DOTTED = lazy(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$!?]*)+(?:/\d)?$")
_JOINTS = lazy(r"\.|::|->|#|:|/")
_ROUTE = lazy(r"/(?:[a-z]+/)?(?:api|v\d+)(?:/|$)")
KEBAB = lazy(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+$")
_ARITY = lazy(r"(?<=\w)/\d$")
_COMMAND_WORDS = """
git npm npx yarn pnpm pip pipx uv uvx python python3 node cargo go make docker kubectl helm brew apt curl
wget ssh bash sh mix bundle rake gh aws gcloud terraform ansible pytest ruff mypy cd cp mv rm ls cat grep
sed tmux systemctl psql redis-cli sqlite3 poetry conda deno bun jq rg fd fzf ffmpeg rsync sudo awk find
docker-compose podman gradle mvn dotnet rustc tsc eslint prettier pre-commit tox nox pdm just ollama
journalctl launchctl crontab openssl tar gpg vim emacs claude codex gemini
"""
COMMANDS = frozenset(_COMMAND_WORDS.split())


@word_cache(8192)
def classify_token(token: str) -> tuple[str, str, float] | None:
    """Return name, type and weight of the entity of a bare word by its form, or None."""
    known = KNOWN_NAMES.get(token.lower())
    if known and (
        token[0].isupper() or (token.islower() and token not in AMBIGUOUS_NAMES) or token == known[0]
    ):
        return known[0], known[1], KNOWN_WEIGHT
    if not (MIN_NAME_CHARS <= len(token) <= MAX_NAME_CHARS) or " " in token:
        return None
    if "://" in token:
        return (token, "host", IDENTIFIER_WEIGHT) if _URL.match(token) else None
    if NUMERIC.match(token) and not (_VERSION.match(token) and token.count(".") == 2):
        return None
    found = _by_pattern(_LINE_NUMBER.sub(r"\1", token))
    return (*found, IDENTIFIER_WEIGHT) if found else None


def _by_pattern(token: str) -> tuple[str, str] | None:
    """Return name and type of a word that is surely no plain word, or None."""
    if token.isalpha() and token[1:].islower():
        return None
    if call := _CALL.match(token):
        return call.group(1), "symbol"
    if is_file(token):
        return token, "symbol" if _ROUTE.match(token) else "file"
    for kind, pattern in _FORMS:
        if pattern.match(token):
            return token.lstrip("$"), kind
    parts = _JOINTS.split(_ARITY.sub("", token))
    if min(map(len, parts)) >= MIN_NAME_CHARS and not token.isupper() and _DOTTED.match(token):
        return token, "symbol"
    return None


def is_file(token: str) -> bool:
    """Return whether a bare word is a path; alternatives such as input/output are not.

    A path is absolute, ends in a slash, or has a file extension or a mark that words do not have.
    """
    if (found := _FILE.match(token)) and found.group(1).lower() in FILE_ENDINGS:
        return token not in _CALLED_LIKE_FILES
    if _DOT_FILE.match(token):
        return True
    if "/" not in token or not PATH.match(token):
        return False
    rooted = token.startswith(("~/", "./", "../", ".")) or (token[0] == "/" and token.count("/") > 1)
    return rooted or token.endswith("/") or "_" in token or "*" in token

"""How a statement's words become mentions of entities: identifiers, paths, hosts, versions and proper names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ragmem.domain.blocks import Form
from ragmem.domain.names import COMMON_WORDS, FILE_ENDINGS, KNOWN_NAMES, NAME_STARTERS

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
MAX_NAME_WORDS = 4

CODE_WEIGHT = 3.0
IDENTIFIER_WEIGHT = 2.5
KNOWN_WEIGHT = 2.0
NAME_WEIGHT = 1.5
WEAK_WEIGHT = 0.8
"""How specific a mention is: code in backticks, then identifiers, known names, proper names, and the rest."""

_TOKEN = re.compile(
    r"`([^`\n]{1,160})`|\*\*([^*\n]{1,80})\*\*|\[([^\]\n]{1,80})\]\(([^)\s]{1,300})\)|[^\s`]+"
)
_STRIP = "\"'*_~,;:!?()[]{}<>|=#\u2014\u2013\u2022\u2192\u201c\u201d\u2018\u2019`\u2705\u274c"
_ENDS_SENTENCE = (".", "!", "?", ":", ";")
_URL = re.compile(r"(?:https?|wss?|ftp|redis|postgres(?:ql)?|mongodb|amqp)://[^\s/?#\"'<>]+")
_HOST = re.compile(r"(?:localhost|(?:\d{1,3}\.){3}\d{1,3})(?::\d{2,5})?$|[a-z][\w-]*(?:\.[\w-]+)*:\d{4,5}$")
_VERSION = re.compile(r"v\d+(?:\.\d+)+[\w.+-]*$|v?\d+\.\d+\.\d+[\w.+-]*$")
_VARIABLE = re.compile(r"\$?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_FLAG = re.compile(r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*$")
_SLASH_COMMAND = re.compile(r"/[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*$")
_PATH = re.compile(r"(?:~|\.{1,2})?/?(?:[\w.@*+{}$-]+/)+[\w.@*+{}$-]*$|(?:~|\.{1,2})?/[\w.@*+-]{2,}$")
_FILE = re.compile(r"\.?[\w@*+-]+(?:\.[\w*+-]+)*\.([A-Za-z0-9]{1,10})$|\.(?:env|gitignore|npmrc)[\w.-]*$")
_CALL = re.compile(r"([A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$]*)*)\([^)]*\)?$")
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$!?]*)+(?:/\d)?$")
_SNAKE = re.compile(r"_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2}$")
_CAMEL = re.compile(
    r"[A-Z]?[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+$|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+$|[A-Z]{2,}[a-z]+[A-Za-z0-9]*$"
)
_MODEL = re.compile(
    r"[a-z][\w.-]*\d[\w.]*:(?:\d[\w.-]*|latest)$|(?:gpt|claude|llama|gemini|qwen|mistral|gemma|phi|deepseek)[\w.-]*\d[\w.:-]*$",
    re.IGNORECASE,
)
_ERROR = re.compile(r"(?:[A-Z][A-Za-z0-9]*(?:Error|Exception|Warning|Fault)|E[A-Z]{4,}|SIG[A-Z]{3,})$")
_TICKET = re.compile(r"[A-Z][A-Z0-9]{1,9}-\d{1,6}$|#\d{1,6}$")
_PERCENT = re.compile(r"[\d.,%+$\u20ac\u00a3~<>=/x\u00d7-]+$")
_PLAIN_WORD = re.compile(r"[a-z][a-z'\u2019-]*[.,;:!?)]*$")
_PROPER = re.compile(r"[A-Z][A-Za-z0-9]*(?:[.&+#/'\u2019-][A-Za-z0-9]+)*\+{0,2}$")
_PACKAGE = re.compile(r"@?[a-z][a-z0-9]*(?:[-./@][a-z0-9]+)+$")
_KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+$")
_CONFIG_LINE = re.compile(r"[A-Z][A-Z0-9_]{2,}=|[a-z_.]+=")
_COMMAND_STARTERS = frozenset(
    "git npm npx yarn pnpm pip pipx uv uvx python python3 node cargo go make docker kubectl helm brew apt curl wget ssh "
    "bash sh mix bundle rake gh aws gcloud terraform ansible pytest ruff mypy cd cp mv rm ls cat grep sed tmux systemctl "
    "psql redis-cli sqlite3 poetry conda deno bun".split()
)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a statement names an entity: its span in the statement, its canonical name and type."""

    start: int
    end: int
    name: str
    type: str
    weight: float


def canonical_key(name: str) -> str:
    """Return what two spellings of one entity share: identifiers keep their case, plain names do not."""
    return name if any(mark in name for mark in "_/.$:-") else name.casefold()


def find_mentions(text: str, form: Form) -> list[Mention]:
    """Return the mentions of a statement in order, without overlap; each name has 2 to 80 characters."""
    mentions: list[Mention] = []
    run: list[re.Match[str]] = []
    opening = True
    for token in _TOKEN.finditer(text):
        raw = token.group()
        if _PLAIN_WORD.match(raw):
            known = KNOWN_NAMES.get(raw.rstrip(".,;:!?)"))
            _close(run, mentions, form)
            if known:
                name = raw.rstrip(".,;:!?)")
                mentions.append(
                    Mention(token.start(), token.start() + len(name), known[0], known[1], KNOWN_WEIGHT)
                )
            opening = raw.endswith(_ENDS_SENTENCE)
            continue
        found = _mention(token, form)
        if found is not None:
            _close(run, mentions, form)
            mentions.append(found)
        elif _begins_name(raw, opening=opening and not run):
            run.append(token)
            if raw.rstrip("*_\"')").endswith((",", ".", ":", ";", "!", "?", "|")) or raw.endswith(")"):
                _close(run, mentions, form)
        else:
            _close(run, mentions, form)
        opening = raw.endswith(_ENDS_SENTENCE)
    _close(run, mentions, form)
    return mentions


def _mention(token: re.Match[str], form: Form) -> Mention | None:
    """Return the mention that one token makes on its own, or None."""
    code, bold, label, _ = token.groups()
    raw = token.group()
    if code is not None:
        found = classify_code(code)
    elif bold is not None:
        found = classify_token(bold.strip(_STRIP).rstrip("."))
    elif label is not None:
        found = classify_token(label.strip(_STRIP))
        if found is None and MIN_NAME_CHARS <= len(label) <= MAX_NAME_CHARS:
            found = None
    else:
        found = classify_token(_bare(raw))
    if found is None:
        return None
    name, kind, weight = found
    at = raw.find(name)
    start = token.start() + max(at, 0)
    end = start + len(name) if at >= 0 else token.end()
    return Mention(start, end, name, kind, weight * (0.7 if form is Form.FENCE else 1.0))


def _bare(raw: str) -> str:
    """Return a token without the punctuation around it."""
    if len(raw) > 2 * MAX_NAME_CHARS:
        return ""
    stripped = raw.strip(_STRIP)
    if raw.endswith(")") and "(" in stripped:
        stripped += ")"
    stripped = stripped.rstrip(".") if not stripped.endswith("..") else stripped.rstrip(".")
    if raw.startswith("__") and stripped.endswith("py"):
        stripped = "__" + stripped
    return stripped


@lru_cache(maxsize=8192)
def classify_code(code: str) -> tuple[str, str, float] | None:
    """Return name, type and weight of the entity that a piece of inline code names, or None."""
    text = code.strip().strip("\"'")
    if not (MIN_NAME_CHARS <= len(text) <= MAX_NAME_CHARS) or not any(letter.isalpha() for letter in text):
        return None
    found = classify_token(text.rstrip(",;"))
    if found is not None:
        return found[0], found[1], CODE_WEIGHT
    words = text.split()
    if len(words) > 1:
        if words[0] in _COMMAND_STARTERS or words[0].startswith(("./", "/")) or words[1].startswith("-"):
            return " ".join(words), "command", CODE_WEIGHT
        return None
    if text.lower() in COMMON_WORDS or _PERCENT.match(text):
        return None
    if _CONFIG_LINE.match(text):
        return text.split("=", 1)[0], "config", CODE_WEIGHT
    if _KEBAB.match(text):
        return text, "tool", CODE_WEIGHT
    if text in _COMMAND_STARTERS:
        return text, "tool", CODE_WEIGHT
    if re.fullmatch(r"[\w.$:@#*+-]+[!?]?", text):
        return text, "symbol", CODE_WEIGHT
    return None


@lru_cache(maxsize=32768)
def classify_token(token: str) -> tuple[str, str, float] | None:
    """Return name, type and weight of the entity that one bare word names by its form, or None."""
    if not (MIN_NAME_CHARS <= len(token) <= MAX_NAME_CHARS) or " " in token:
        known = KNOWN_NAMES.get(token.lower()) if " " in token else None
        return (known[0], known[1], KNOWN_WEIGHT) if known else None
    if _PERCENT.match(token):
        return (
            (token, "version", IDENTIFIER_WEIGHT) if _VERSION.match(token) and token.count(".") == 2 else None
        )
    known = KNOWN_NAMES.get(token.lower())
    if known and (token.islower() or token[0].isupper() or token == known[0]):
        return known[0], known[1], KNOWN_WEIGHT
    for kind, name in _by_form(token):
        return name, kind, IDENTIFIER_WEIGHT
    return None


def _by_form(token: str) -> Iterator[tuple[str, str]]:
    """Yield the type and name that the form of a word proves, surest first."""
    if "://" in token:
        if _URL.match(token):
            yield "host", token.rstrip(".,;")
        return
    if _VERSION.match(token):
        yield "version", token
    elif _HOST.match(token):
        yield "host", token
    elif _MODEL.match(token) and not token.lower().endswith((".md", ".py", ".json")):
        yield "model", token
    elif _FLAG.match(token) or _VARIABLE.match(token):
        yield "config", token.lstrip("$")
    elif (found := _FILE.match(token)) and (found.group(1) or "env").lower() in FILE_ENDINGS:
        yield "file", token
    elif _CALL.match(token):
        yield "symbol", token
    elif "/" in token:
        if _SLASH_COMMAND.match(token):
            yield "command", token
        elif _PATH.match(token) and _is_path(token):
            yield "file", token
    elif _ERROR.match(token):
        yield "error", token
    elif _TICKET.match(token):
        yield "event", token
    elif _DOTTED.match(token) and _is_dotted(token) or _SNAKE.match(token):
        yield "symbol", token
    elif _CAMEL.match(token) and not token.endswith("s") or (_CAMEL.match(token) and len(token) > 5):
        yield "symbol" if token[0].islower() or token[1:2].islower() else "concept", token


def _is_path(token: str) -> bool:
    """Tell a path from alternatives such as and/or, input/output: it is rooted, has a file name or is deep."""
    if token[0] in "~/." or token.endswith("/") or token.count("/") > 1:
        return True
    last = token.rsplit("/", 1)[1]
    return "." in last.strip(".") or "_" in token or "*" in token


def _is_dotted(token: str) -> bool:
    """Tell a dotted symbol from abbreviations such as e.g and words with a colon between them."""
    parts = re.split(r"\.|::|->|#|:", token)
    return min(map(len, parts)) >= 2 and (not token[0].isupper() or len(parts) > 1) and not token.isupper()


def _begins_name(raw: str, *, opening: bool) -> bool:
    """Tell whether a word can be part of a proper name; at the beginning of a sentence a common word cannot."""
    word = raw.strip(_STRIP).rstrip(".")
    if not word or not word[0].isupper() or not _PROPER.match(word):
        return False
    lowered = word.lower()
    return not (lowered in COMMON_WORDS or (opening and lowered in NAME_STARTERS))


def _close(run: list[re.Match[str]], mentions: list[Mention], form: Form) -> None:
    """Turn the run of capitalised words into a mention where it is surely a name, and empty it."""
    if not run:
        return
    first, last = run[0], run[-1]
    count = len(run)
    words = [token.group().strip(_STRIP).rstrip(".") for token in run]
    name = " ".join(words)
    run.clear()
    if count > MAX_NAME_WORDS or not (MIN_NAME_CHARS < len(name) <= MAX_NAME_CHARS) or form is Form.FENCE:
        return
    known = KNOWN_NAMES.get(name.lower())
    if known:
        mentions.append(Mention(first.start(), last.end(), known[0], known[1], KNOWN_WEIGHT))
        return
    sure = _stands_inside(first)
    if form is Form.HEADING or not sure:
        if count == 1:
            return
        weight = WEAK_WEIGHT
    else:
        weight = NAME_WEIGHT
    mentions.append(Mention(first.start(), last.end(), name, "concept", weight))


def _stands_inside(token: re.Match[str]) -> bool:
    """Tell whether a token stands in the middle of a sentence, where a capital letter means a name."""
    before = token.string[: token.start()].rstrip(" *_\"'(")
    return bool(before) and before[-1] not in ".!?:|-\u2022>\u2014" and not before.endswith(("]", "#"))

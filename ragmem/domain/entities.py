"""How a statement's words become mentions of entities: identifiers, paths, hosts, versions and proper names."""

import re
from dataclasses import dataclass
from functools import lru_cache

from ragmem.domain.blocks import Form
from ragmem.domain.names import AMBIGUOUS_NAMES, COMMON_WORDS, FILE_ENDINGS, KNOWN_NAMES, NAME_STARTERS

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
FENCE_FACTOR = 0.7
"""How specific a mention is: code in backticks, then identifiers, known names, proper names, and the rest."""

_TOKEN = re.compile(
    r"([a-z][a-z'\u2019-]*(?:\s[a-z][a-z'\u2019-]*)*(?=[\s.,;:!?)]|$))"  # a run of plain words
    r"|`([^`\n]{1,160})`"
    r"|\[([^\]\n]{1,80})\]\(([^)\s]{1,300})\)"
    r"|[^\s`]+"
)
_AROUND = "\"'*_,;:!?[]{}<>|=\u2014\u2013\u2022\u2192\u201c\u201d\u2018\u2019\u2705\u274c"
_ENDS_SENTENCE = (".", "!", "?", ":", ";", "|")
_ENDS_NAME = (*_ENDS_SENTENCE, ",", ")", "]")
_LINE_NUMBER = re.compile(r"(?<=\.)(\w{1,6}):\d+(?:[-:]\d+)?$")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_NUMERIC = re.compile(r"[\d.,%+$\u20ac\u00a3~<>=/x\u00d7-]+$")
_PROPER = re.compile(r"[A-Z][A-Za-z0-9]*(?:[.&+'\u2019-][A-Za-z0-9]+)*[+#]{0,2}$")
_URL = re.compile(r"(?:https?|wss?|ftp|redis|postgres(?:ql)?|mongodb|amqp)://[^\s\"'<>]+$")
_VERSION = re.compile(r"v\d+(?:\.\d+)+[\w.+-]*$|v?\d+\.\d+\.\d+[\w.+-]*$")
_CALL = re.compile(r"([A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$]*)*)\([^()]*\)$")
_FILE = re.compile(r"(?:[~\w@.*+{}<>$-]*/)*\.?[\w@*+{}<>$-]+(?:\.[\w*+{}<>-]+)*\.([A-Za-z0-9]{1,12})$")
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
            r"|(?:gpt|claude|llama|gemini|qwen|mistral|gemma|phi|deepseek)-?[a-z-]*\d[\w.:-]*$",
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
            r"(?:[A-Z][A-Za-z0-9]*[a-z](?:Error|Exception|Warning|Fault)|SIG(?:TERM|KILL|SEGV|INT|HUP|PIPE|ABRT|USR[12])"
            r"|E(?:NOENT|ACCES|PERM|EXIST|AGAIN|PIPE|INVAL|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|NOSPC|MFILE|BUSY))$"
        ),
    ),
    ("event", re.compile(r"[A-Z][A-Z0-9]{1,9}-\d{1,6}$|#\d{1,6}$")),
    ("symbol", re.compile(r"_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2}$")),
    ("symbol", re.compile(r"[a-z]+[a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+$|(?:[A-Z]+[a-z0-9]+){2,}[A-Z]*$")),
    ("concept", re.compile(r"[A-Z][A-Za-z]+\d?[A-Z]{2,}$")),
)
"""What the form of a bare word proves, surest first."""

_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|:)[A-Za-z_$][\w$!?]*)+(?:/\d)?$")
_JOINTS = re.compile(r"\.|::|->|#|:|/")
_WORDLIKE = re.compile(r"[\w.$:@#*+-]+[!?]?$")
_KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+$")
_ASSIGNMENT = re.compile(r"([A-Za-z_][\w.]+)=")
_COMMANDS = """
git npm npx yarn pnpm pip pipx uv uvx python python3 node cargo go make docker kubectl helm brew apt curl wget ssh bash
sh mix bundle rake gh aws gcloud terraform ansible pytest ruff mypy cd cp mv rm ls cat grep sed tmux systemctl psql
redis-cli sqlite3 poetry conda deno bun
"""
_COMMAND_STARTERS = frozenset(_COMMANDS.split())
_SINGLE_CAPITALS = 5
"""A longer word in capitals is shouted, not named; shorter ones are acronyms."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a statement names an entity: its span in the statement, its canonical name and type."""

    start: int
    end: int
    name: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class _Word:
    """A capitalised word that may be a part of a proper name, and what it names on its own, if anything."""

    start: int
    end: int
    text: str
    alone: tuple[str, str, float] | None
    inside: bool


def canonical_key(name: str) -> str:
    """Return what two spellings of one entity share: identifiers keep their case, plain names do not."""
    return name if any(mark in name for mark in "_/.$:-") else name.casefold()


def find_mentions(text: str, form: Form) -> list[Mention]:
    """Return the mentions of a statement in order, without overlap; each name has 2 to 80 characters."""
    mentions: list[Mention] = []
    run: list[_Word] = []
    opening = True
    for token in _TOKEN.finditer(text):
        plain, code, label, target = token.groups()
        if plain is not None:
            _close(run, mentions, form)
            words = plain.split()
            if not KNOWN_NAMES.keys().isdisjoint(words):
                mentions.extend(_plain_mentions(token.start(), plain))
            opening = False
            continue
        if code is not None or label is not None:
            _close(run, mentions, form)
            found = classify_code(code) if code is not None else _linked(label, target)
            if found is not None:
                mentions.append(Mention(token.start(), token.end(), *found))
            opening = False
            continue
        raw = token.group()
        word = _bare(raw)
        if word:
            _read(token, word, run, mentions, form, opening=opening)
            if run and raw.rstrip("*_\"'").endswith(_ENDS_NAME):
                _close(run, mentions, form)
        else:
            _close(run, mentions, form)
        opening = raw.endswith(_ENDS_SENTENCE) or (opening and not word)
    _close(run, mentions, form)
    if form is Form.FENCE:
        return [Mention(m.start, m.end, m.name, m.type, m.weight * FENCE_FACTOR) for m in mentions]
    return mentions


def _plain_mentions(start: int, plain: str) -> list[Mention]:
    """Return the known names in a run of words in small letters."""
    mentions = []
    for found in re.finditer(r"\S+", plain):
        known = KNOWN_NAMES.get(found.group())
        if known and found.group() not in AMBIGUOUS_NAMES:
            mentions.append(Mention(start + found.start(), start + found.end(), *known, KNOWN_WEIGHT))
    return mentions


def _linked(label: str, target: str) -> tuple[str, str, float] | None:
    """Return what a Markdown link names: the file it leads to, else its label where that is a name."""
    path = target.split("#", 1)[0].removeprefix("./")
    if "://" not in path:
        found = classify_token(path)
        if found is not None and found[1] == "file":
            return found
    return classify_code(label.strip("*`_ "))


def _read(
    token: re.Match[str], word: str, run: list[_Word], mentions: list[Mention], form: Form, *, opening: bool
) -> None:
    """Take one bare word: into the run of capitalised words, or as a mention of its own, or not at all."""
    at = token.start() + max(token.group().find(word), 0)
    if "/" in word and word[0].isupper() and all(_PROPER.match(part) for part in word.split("/")):
        _close(run, mentions, form)
        for part in word.split("/"):
            inside = _is_inside(token.string, token.start())
            run.append(_Word(at, at + len(part), part, classify_token(part), inside))
            _close(run, mentions, form)
            at += len(part) + 1
        return
    found = classify_token(word)
    if _PROPER.match(word) and (
        found is None or found[1] not in {"config", "event", "version", "error", "model"}
    ):
        lowered = word.lower()
        if run or not (
            (lowered in COMMON_WORDS and found is None)
            or (opening and (lowered in NAME_STARTERS or lowered in AMBIGUOUS_NAMES))
        ):
            inside = run[0].inside if run else _is_inside(token.string, token.start())
            run.append(_Word(at, at + len(word), word, found, inside))
            return
    _close(run, mentions, form)
    if found is not None and not (opening and word.lower() in AMBIGUOUS_NAMES):
        mentions.append(Mention(at, at + len(word), *found))


def _bare(raw: str) -> str:
    """Return a word without the punctuation around it, or "" where nothing nameable is left."""
    if len(raw) > 2 * MAX_NAME_CHARS:
        return ""
    word = raw.strip(_AROUND).rstrip(".")
    if word.startswith("("):
        word = word.strip("()" + _AROUND).rstrip(".")
    elif word.endswith(")") and "(" not in word:
        word = word.rstrip(")" + _AROUND).rstrip(".")
    elif "(" in word and ")" not in word:
        word = word.split("(", 1)[0]
    if raw.startswith("__") and word.endswith("__.py"):
        word = f"__{word}"
    word = _POSSESSIVE.sub("", word).strip("~" if not word.startswith("~/") else "")
    return word if any(letter.isalnum() for letter in word) else ""


@lru_cache(maxsize=8192)
def classify_code(code: str) -> tuple[str, str, float] | None:
    """Return name, type and weight of the entity that a piece of inline code names, or None."""
    text = " ".join(code.strip().strip("\"'").rstrip(",;").split())
    if not (MIN_NAME_CHARS <= len(text) <= MAX_NAME_CHARS) or not any(letter.isalpha() for letter in text):
        return None
    found = classify_token(text)
    if found is not None:
        return found[0], found[1], CODE_WEIGHT
    words = text.split()
    if len(words) > 1:
        is_command = (
            words[0] in _COMMAND_STARTERS or words[0].startswith(("./", "/")) or words[1].startswith("-")
        )
        return (text, "command", CODE_WEIGHT) if is_command and '"' not in text else None
    kind = ""
    if assigned := _ASSIGNMENT.match(text):
        text, kind = assigned.group(1), "config"
    elif text.lower() in COMMON_WORDS or _NUMERIC.match(text):
        kind = ""
    elif _PATH.match(text):
        kind = "file"
    elif _KEBAB.match(text) or text in _COMMAND_STARTERS:
        kind = "tool"
    elif _WORDLIKE.match(text):
        kind = "symbol"
    return (text, kind, CODE_WEIGHT) if kind else None


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
    if _NUMERIC.match(token) and not (_VERSION.match(token) and token.count(".") == 2):
        return None
    if "://" in token:
        return (token, "host", IDENTIFIER_WEIGHT) if _URL.match(token) else None
    token = _LINE_NUMBER.sub(r"\1", token)
    if call := _CALL.match(token):
        return call.group(1), "symbol", IDENTIFIER_WEIGHT
    if _is_file(token):
        return token, "file", IDENTIFIER_WEIGHT
    for kind, pattern in _FORMS:
        if pattern.match(token):
            return token.lstrip("$"), kind, IDENTIFIER_WEIGHT
    if _DOTTED.match(token) and min(map(len, _JOINTS.split(token))) >= MIN_NAME_CHARS and not token.isupper():
        return token, "symbol", IDENTIFIER_WEIGHT
    return None


def _is_file(token: str) -> bool:
    """Tell whether a bare word is a path; alternatives such as input/output are not.

    A path is rooted, ends in a slash, or its last part has a file ending or marks that words do not have.
    """
    if (found := _FILE.match(token)) and found.group(1).lower() in FILE_ENDINGS:
        return True
    if _DOT_FILE.match(token):
        return True
    if "/" not in token or not _PATH.match(token):
        return False
    rooted = token.startswith(("~/", "./", "../", ".")) or (token[0] == "/" and token.count("/") > 1)
    return rooted or token.endswith("/") or "_" in token or "*" in token


def _close(run: list[_Word], mentions: list[Mention], form: Form) -> None:
    """Turn the run of capitalised words into a mention where it is surely a name, and empty it."""
    if not run:
        return
    words = run.copy()
    run.clear()
    name = " ".join(word.text for word in words)
    known = KNOWN_NAMES.get(name.lower())
    if known:
        mentions.append(Mention(words[0].start, words[-1].end, *known, KNOWN_WEIGHT))
    elif len(words) == 1 and words[0].alone is not None:
        mentions.append(Mention(words[0].start, words[0].end, *words[0].alone))
    elif _is_name(words, name, form):
        weight = NAME_WEIGHT if words[0].inside else WEAK_WEIGHT
        kinds = [word.alone[1] for word in words if word.alone is not None]
        mentions.append(
            Mention(words[0].start, words[-1].end, name, kinds[0] if kinds else "concept", weight)
        )
    else:
        mentions.extend(
            Mention(word.start, word.end, *word.alone) for word in words if word.alone is not None
        )


def _is_name(words: list[_Word], name: str, form: Form) -> bool:
    """Tell whether a run of capitalised words is surely a name.

    One word is when it stands inside a sentence and is neither common nor shouted; several are unless they are
    too many, or a heading or the beginning of a statement without anything that is a name on its own.
    """
    if (
        form is Form.FENCE
        or len(words) > MAX_NAME_WORDS
        or not (MIN_NAME_CHARS < len(name) <= MAX_NAME_CHARS)
    ):
        return False
    first = words[0].text
    if len(words) == 1:
        shouted = first.isupper() and len(first) > _SINGLE_CAPITALS
        return (
            form is not Form.HEADING and words[0].inside and not shouted and first.lower() not in COMMON_WORDS
        )
    if all(word.text.lower() in COMMON_WORDS for word in words):
        return False
    return words[0].inside or any(word.alone is not None or word.text.isupper() for word in words)


def _is_inside(text: str, start: int) -> bool:
    """Tell whether a word stands in the middle of a sentence, where a capital letter means a name."""
    before = text[max(0, start - 12) : start].rstrip(" *_\"'(")
    return bool(before) and before[-1] not in ".!?:|-\u2022>\u2014#]"

"""Take secrets out of a text before anyone reads it: keys, tokens, passwords, and what is marked private."""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ragmem.domain.secret_shapes import SHAPES

MIN_VALUE = 8
"""Characters of the value behind a telling name (`password = ...`); a shorter one is rarely a secret."""

MIN_ENTROPY = 3.0
"""Bits a character that a random value has at least; a short one 80 % of what it can have."""

MIN_TURNS = 0.2
"""Changes between small letters, capitals and digits a character: 0.4 in random strings, few in names."""

MIN_LETTERS = 3
"""Different characters at the end of a value; with fewer it is a row of x or of zeros."""

MIN_KEY_LETTERS = 64
"""Letters within a private key block; with fewer it shows only what one looks like."""

READ = 64
"""Characters of a value in which the words that make it a placeholder are looked for."""

_PEM = re.compile(
    r"-----BEGIN (?P<name>[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----)[\s\S])*+-----END (?P=name)-----|(?:(?:\s|\\n){1,4}[A-Za-z0-9+/=]{16,}+)+)"
)
_PRIVATE = re.compile(r"<(?P<close>/)?private\s{0,8}>", re.IGNORECASE)
_ADDRESS = re.compile(r"://(?P<user>[^\s/?#:@\"'<>`]{0,64}+):(?P<value>[^\s/@\"'<>`]{1,256}+)@(?=[\w\[$])")
_HEADER = re.compile(
    r"(?:bearer|(?:authorization|auth)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|token|apikey))\s{1,3}"
    r"(?P<value>[A-Za-z0-9._~+/=-]{16,}+)",
    re.IGNORECASE,
)
_USER = re.compile(r"://(?P<value>[A-Za-z0-9_-]{20,256}+)@(?=\w)")
_OPTION = re.compile(
    r"-(?:(?<![\w-]-)-(?P<before>(?:[a-z]{1,20}-){0,3})"
    r"(?P<name>password|passwd|passphrase|pass|secret|token|key)[ \t]{1,3}"
    r"|(?<![\w-]-)(?:u|-user)[ =]{1,3}[\"']?[^\s:\"']{1,64}:|(?<=sshpass -)p ?)"
    r"[\"']?(?P<value>[^\s\"'`,;<>()\[\]{}|]{8,256}+)"
)
"""What a command is given: `--token ...`, `curl -u name:...`."""

_NAMES = ("password", "passwd", "passphrase", "pwd", "_pass", "secret", "credential", "token", "key")
_ASSIGNED = re.compile(
    r"(?i:password|passwd|passphrase|pwd|_pass|secret|credentials?|token|key)"
    r"(?i:_?\d{1,2}|[_-](?:prod|production|dev|live|test|staging|value|base))?"
    r"[\"'`*\]]{0,4}[ \t]{0,8}+(?::=|=>|==?|:|(?<=[A-Za-z])>)\*{0,2}[ \t]{0,8}+"
    r"(?:(?P<mark>[\"'`])(?P<quoted>[^\s\"'`]{8,512}+)(?P=mark)"
    r"|(?P<bare>[^\s\\\"'`,;:=&<>()\[\]{}|]{8,512}+={0,2})(?![(\[]))"
)
_REST = re.compile(r"[^\s\\\"'`,;<>()\[\]{}|]{0,512}(?<![.!?*:])")
"""What belongs to a value without quotes behind its first `:`, `=` or `&`."""

_SURE_KEY = re.compile(
    r"(?:api|access|auth|private|signing|encryption|master|secret|account|service|session|deploy|client|"
    r"bearer|refresh|bot|id|jwt|csrf)[_ -]?$"
)
"""What stands before `key` and `token` where they mean a secret, not the key of a table."""

_PLACEHOLDERS = tuple(
    "your example placeholder changeme change-me change_me xxxx *** ... … dummy fake sample redacted insert "
    "replace todo notareal not_a_real not-a-real ${ {{ %(".split()
)
"""Words and marks by which a value says that it is none."""

_TRIAL = re.compile(r"12345|abc123|abcdef|foobar|qwerty|p[a@]ss?w[o0]rd|secret|^test|test$", re.IGNORECASE)
"""In the value of a telling name: what people type to try something."""

_STAND_INS = frozenset("password passwd pass pwd secret token key pw user admin root test guest".split())
_APART = "\n\0\n"
"""Stands between texts that are searched together; no secret reaches over it but what begins like _FAR."""

_FAR = re.compile(r"-----BEGIN|<private", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]+")
_TURN = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_REFERENCE = re.compile(
    r"[$%@&~./]|[a-z][a-z0-9+.-]{1,12}://"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"
    r"|[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+$"
)
"""The beginning of a path, an address or a variable; a name in capitals; an expression in code."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret found in a text, `text[start:end]`, and what sort it is."""

    start: int
    end: int
    kind: str


MOST_PASSES = 6
"""Each finds all but what is glued to another secret."""


def redact(text: str) -> tuple[str, int]:
    """Return the text with each secret replaced by `[redacted: kind]`, and how many were replaced.

    The time is linear in the text; the result has nothing more to redact. Values that stand for a secret
    (YOUR_API_KEY, xxxx, ${TOKEN}) and hashes, ids and names that are none stay.
    """
    count = 0
    # What a secret is glued to may be known as one only when that is gone.
    for _ in range(MOST_PASSES):
        secrets = find_secrets(text)
        if not secrets:
            break
        text, count = cover(text, secrets), count + len(secrets)
    return text, count


def cover(text: str, secrets: Sequence[Secret], start: int = 0, end: int | None = None) -> str:
    """Return text[start:end] with the secrets replaced that reach into it; they are those of the whole text.

    So a part of a text shows nothing of a secret that begins before it or goes on behind it.
    """
    stop = len(text) if end is None else end
    parts: list[str] = []
    at = start
    for secret in secrets:
        if secret.end <= at or secret.start >= stop:
            continue
        parts += [text[at : max(at, secret.start)], f"[redacted: {secret.kind}]"]
        at = secret.end
    parts.append(text[at:stop])
    return "".join(parts)


def beginning(text: str, most: int) -> str:
    """Return up to so many characters of a text; fewer where a secret would be cut and no longer be known."""
    if len(text) <= most:
        return text
    for secret in find_secrets(text):
        if secret.start < most < secret.end:
            return text[: secret.start].rstrip() or f"[redacted: {secret.kind}]"[:most]
    return text[:most]


def redact_document(document: Any) -> Any:
    """Return a copy of a JSON document with the secrets of its texts replaced.

    The key above a text is the name that its value was given: `{"password": ...}` is found as in a text.
    """
    named = list(_named_texts(document, ""))
    redacted = iter(_redact_each(named))

    def copied(part: Any) -> Any:
        if isinstance(part, str):
            return next(redacted)
        if isinstance(part, Mapping):
            return {key: copied(value) for key, value in part.items()}
        return [copied(item) for item in part] if isinstance(part, list | tuple) else part

    return copied(document)


def _named_texts(part: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _named_texts(value, str(key))
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _named_texts(item, name)


def _redact_each(named: Sequence[tuple[str, str]]) -> list[str]:
    """Return the texts redacted; they are searched together, since each search has its price."""
    lines = [f"{name}: {text}" for name, text in named]
    near = [number for number, line in enumerate(lines) if not _FAR.search(line)]
    starts = list(accumulate((len(lines[number]) + len(_APART) for number in near), initial=0))
    found = find_secrets(_APART.join(lines[number] for number in near))
    hit = {near[bisect_right(starts, secret.start) - 1] for secret in found}
    hit |= set(range(len(lines))) - set(near)
    return [
        cover(lines[number], find_secrets(lines[number]), len(name) + 2) if number in hit else text
        for number, (name, text) in enumerate(named)
    ]


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets of a text in order; none overlaps another."""
    found = sorted(
        (
            *_private_spans(text),
            *_key_blocks(text),
            *_shaped(text),
            *_in_addresses(text),
            *_in_headers(text),
            *_in_options(text),
            *_named(text),
        ),
        key=lambda secret: (secret.start, -secret.end),
    )
    kept: list[Secret] = []
    for secret in found:
        if kept and secret.start < kept[-1].end:
            # What reaches beyond the one before is covered with it.
            if secret.end > kept[-1].end:
                kept[-1] = Secret(kept[-1].start, secret.end, kept[-1].kind)
        else:
            kept.append(secret)
    return kept


def _private_spans(text: str) -> Iterator[Secret]:
    """Yield what stands between <private> tags; one that is never closed hides the rest of the text."""
    depth = begin = 0
    for tag in _PRIVATE.finditer(text):
        if text[max(0, tag.start() - 1) : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
            # `<private>` speaks of the tag.
            continue
        if not tag["close"]:
            begin = begin if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield Secret(begin, tag.end(), "private")
    if depth:
        yield Secret(begin, len(text), "private")


def _key_blocks(text: str) -> Iterator[Secret]:
    for block in _PEM.finditer(text):
        letters = sum(map(str.isalnum, block.group()))
        if letters >= MIN_KEY_LETTERS + 2 * len(block["name"]) and not _stands_in(block.group()):
            yield Secret(block.start(), block.end(), "private key")


def _shaped(text: str) -> Iterator[Secret]:
    for shape in SHAPES:
        for lead in shape.begins:
            at = text.find(lead)
            pattern = shape.pattern if at >= 0 else None
            while at >= 0 and pattern is not None:
                end = at + 1
                inside = lead[0].isalnum() and at > 0 and text[at - 1].isalnum()
                if not inside and (found := pattern.match(text, at)):
                    end, value = found.end(), found.group()
                    if not _stands_in(value) and (shape.sure or _mixed(value)):
                        yield Secret(at, end, shape.kind)
                at = text.find(lead, end)


def _in_addresses(text: str) -> Iterator[Secret]:
    for found in _ADDRESS.finditer(text):
        value = found["value"]
        known = value.lower() in _STAND_INS or value == found["user"]
        if not (known or _stands_in(value) or value[0] in "$%{["):
            yield Secret(*found.span("value"), "password")
    for found in _USER.finditer(text):
        if not _stands_in(found["value"]) and _random(found["value"]):
            yield Secret(*found.span("value"), "token")


def _in_options(text: str) -> Iterator[Secret]:
    for found in _OPTION.finditer(text):
        name = found["name"] or "password"
        if _is_secret(name, found["value"], before=found["before"] or "", quoted=False):
            yield Secret(*found.span("value"), _kind_of(name))


def _in_headers(text: str) -> Iterator[Secret]:
    for found in _HEADER.finditer(text):
        if not _stands_in(found["value"]) and _random(found["value"]):
            yield Secret(*found.span("value"), "token")


def _named(text: str) -> Iterator[Secret]:
    """Yield the values that are given to a telling name, in code, settings and prose."""
    small = _lowered(text)
    for name in _NAMES:
        at = small.find(name)
        while at >= 0:
            end = at + len(name)
            if found := _ASSIGNED.match(text, at):
                group = "quoted" if found["mark"] else "bare"
                start, value = found.start(group), found[group].rstrip(".!?*")
                # What is none may hold the next name: `key: secret_key = ...`.
                end = start
                if _is_secret(name, value, before=small[max(0, at - 12) : at], quoted=group == "quoted"):
                    end = start + len(value)
                    if group == "bare" and (more := _REST.match(text, end)):
                        end = more.end()
                    yield Secret(start, end, _kind_of(name))
            at = small.find(name, end)


def _kind_of(name: str) -> str:
    return "password" if name.lstrip("_").startswith("p") else "secret"


def _is_secret(name: str, value: str, *, before: str, quoted: bool) -> bool:
    if len(value) < MIN_VALUE or _stands_in(value) or _TRIAL.search(value) or _REFERENCE.match(value):
        return False
    if _kind_of(name) == "password":
        # Without quotes a word in letters alone is a name: `password: privateKey`.
        return (quoted or not value.isalpha()) if _mixed(value) else (quoted and not value.isalpha())
    if name in {"key", "token"} and not _SURE_KEY.search(before):
        # The key of a table or cache may well be a hash or an id.
        ordinary = _HEX.fullmatch(value) or _UUID.fullmatch(value) or before[-1:].isalpha()
        return not ordinary and len(value) >= 2 * MIN_VALUE and _random(value)
    return _random(value)


def _lowered(text: str) -> str:
    """Return the text in small letters, each in its place."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _stands_in(value: str) -> bool:
    """Tell whether a value only shows where a secret would stand."""
    if len(set(value[-16:])) <= MIN_LETTERS:
        return True
    small = value[:READ].lower()
    return any(word in small for word in _PLACEHOLDERS)


def _mixed(value: str) -> bool:
    """Tell whether a value is more than words and numbers side by side, as names are."""
    return any(
        not (run.isdigit() or (run.isalpha() and (run[1:].islower() or run.isupper())))
        for run in _RUN.findall(value)
    )


def _random(value: str) -> bool:
    """Tell whether letters and digits change as in a random string, and are as many different ones."""
    turns = len(_TURN.findall(value))
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return turns >= max(2, MIN_TURNS * len(value)) and entropy >= min(
        MIN_ENTROPY, 0.8 * math.log2(len(value))
    )

"""Find the values that are given to a telling name, in code, settings, commands, headers and prose."""

import re
from collections.abc import Iterator

from ragmem.domain.secret_values import (
    HEX,
    STAND_INS,
    UUID,
    Secret,
    is_mixed,
    is_ordinary,
    is_random,
    is_strong,
    stands_in,
)

MIN_VALUE = 8
"""Characters of the value behind a telling name (`password = ...`); a shorter one is rarely a secret."""

MIN_IN_CONNECTION = 4
"""Characters of a password between the other parts of a connection string, where it can be nothing else."""

MIN_TOKEN = 16

_QUOTE = r"\\{0,3}[\"'`]"
_VALUE = (
    rf"(?:(?:[bruf]{{1,2}}|[A-Z]\w{{2,20}}\()?(?P<mark>{_QUOTE})(?P<quoted>[^\s\"'`\\]{{8,512}}+)(?:(?P=mark)|(?=\\{{0,3}}[nrt\"'`]|\s|\Z))"
    r"|(?P<bare>[^\s\\\"'`,;:=&<>()\[\]{}|]{8,512}+={0,2})(?![(\[]))"
)
_SUFFIX = (
    r"(?i:_?\d{1,2}|[_-](?:prod|production|dev|live|test|staging|value|base|b64|base64|text|plain)){0,2}"
)
_AFTER = rf"(?:{_QUOTE}|[*\]]){{0,4}}(?:[ \t]{{0,8}}+(?!value=))?"
_LOOSE = (
    r":[ \t]?&?[A-Za-z]\w{0,15}[ \t]?=(?=[ \t]?[\"'`])"
    r"|(?:\|\||\?\?|(?<=[\"']),)(?=[ \t]{0,8}[\"'`])"
    r"|(?:,|(?=\s|\\n))(?:\s|\\n){0,40}\\{0,3}[\"']?value\\{0,3}[\"']?[ \t]?[:=]"
)
"""Between a name and its value: the type, what stands in for a variable, an argument, `value` of an entry."""

_ASSIGNED = re.compile(
    r"(?i:password|passwort|kennwort|mot de passe|passwd|passphrase|passcode|pwd|_?pass|secret|credentials?"
    r"|token|key|_auth|signature|sig|psk"
    r"|sess(?:ion)?[_-]?id|(?:connect\.)?sid|\.sid)"
    rf"{_SUFFIX}{_AFTER}"
    rf"(?:(?P<loose>{_LOOSE})|:=|=>|==?|:|%3[Dd]|%3[Aa]|(?<=[A-Za-z])>|(?<=[\"'])\s{{1,4}}value=)"
    rf"\*{{0,2}}[ \t]{{0,8}}+{_VALUE}"
)
_BLOCK = r":[ \t]{1,4}[|>][-+1-9]{0,2}[ \t]{0,4}(?:\r?\n|\\r\\n|\\n)[ \t]{1,40}"
"""Between a name and a value that YAML writes in a line of its own."""

_TOLD = re.compile(
    r"(?i:password|passwd|passphrase|passcode|pwd|secret|token|key|securestring|identified by)"
    rf"{_SUFFIX}{_AFTER}"
    r"(?:(?P<spaced>(?<=[ \t])(?:-String |-b |--body[ =])?)(?!(?:is|to|was|as)[ \t])|"
    rf"(?:is|to|was|as)[ \t]{{1,4}}|(?P<block>{_BLOCK})|[:=][ \t]*\\?[nr]?\s{{1,4}}"
    rf"|\|[ \t]{{0,32}}+){_VALUE}"
)
"""Where a value is only told: `the password is ...`, `| password | ... |`."""

_REST = re.compile(r"[^\s\\\"'`,;<>()\[\]{}|]{0,512}(?<![.!?*:])")
"""What belongs to a value without quotes behind its first `:`, `=` or `&`."""

_IN_CONNECTION = re.compile(
    rf"(?i:password|pwd)[ \t]{{0,4}}=[ \t]{{0,4}}(?P<bare>[^;\s\"'<>&]{{{MIN_IN_CONNECTION},256}}+)"
)
_CONNECTION = re.compile(
    r"(?i)(?:server|data source|host|user ?id|uid|user|username|jdbc:[a-z]+|database|initial catalog|dbname"
    r"|port)[ \t]?[=:]"
)
AROUND = 240
"""Characters before and behind a password in which the other parts of a connection string are looked for."""

_SURE_KEY = re.compile(
    r"(?:api|app|application|access|auth|private|signing|encryption|master|secret|account|service|session|"
    r"deploy|client|bearer|refresh|bot|id|jwt|csrf|shared ?access|storage|license|webhook|ingest|write|admin|"
    r"personal|oauth|security|registry|hmac|consumer)[_ -]?$"
)
"""What stands before `key` and `token` where they mean a secret, not the key of a table."""

_TABLE_KEY = re.compile(
    r"(?:cache|primary|foreign|public|sort|partition|idempotency|object|row|map|lookup|routing|group|dedupe"
    r"|storage|search|next|page|prev|cursor|continuation|translation|i18n|locale|anon|publishable)[_ -]?$"
)
NAMES = (
    b"password",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"pwd",
    b"_pass",
    b"secret",
    b"credential",
    b"token",
    b"key",
    b"_auth",
    b"signature",
    b"sig=",
    b"sess",
    b"sid=",
    b".sid",
    b"psk=",
    b"pass=",
    b"pass =",
    b"pass:",
    b'pass"',
    b"pass'",
    b"passwort",
    b"kennwort",
    b"mot de passe",
    b"securestring",
    b"identified by",
)


def named(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the values of telling names; `raw` is the text in ASCII, `small` that in small letters."""
    for sought in NAMES:
        name = sought.decode().strip("=.: '\"")
        at = small.find(sought)
        while at >= 0:
            end = at + len(sought)
            inside = name == "pass" and raw[max(0, at - 1) : at].isalpha()
            found = None if inside else _ASSIGNED.match(text, at)
            if found is None and sought in _IN_PROSE and raw[end : end + 1] in _TOLD_AFTER:
                found = _TOLD.match(text, at)
            if found:
                group = "quoted" if found["mark"] else "bare"
                start = found.start(group)
                value = found[group] if group == "quoted" else found[group].rstrip(".!?*")
                # What is none may hold the next name: `key: secret_key = ...`.
                end = max(end, min(start, end + AROUND))
                before = small[max(0, at - 16) : at].decode()
                told = found.re is _TOLD
                if told:
                    value = _told_value(found, value, name, before)
                if _is_secret(
                    name,
                    value,
                    before=before,
                    quoted=group == "quoted",
                    told=told or name == "pass" or found["loose"] is not None,
                    # The token or key of a service, in the environment.
                    variable=raw[max(0, at - 1) : end].isupper() and raw[at - 1 : at] == b"_",
                ):
                    end = start + len(value)
                    if group == "bare" and (more := _REST.match(text, end)):
                        end = more.end()
                    yield Secret(start, end, kind_of(name))
            if sought in {b"password", b"pwd"} and (short := _IN_CONNECTION.match(text, at)):
                around = text[max(0, at - AROUND) : short.end() + AROUND]
                if ";" in around and _CONNECTION.search(around) and not _is_shown(short["bare"]):
                    yield Secret(*short.span("bare"), "password")
            at = small.find(sought, end)


def _told_value(found: re.Match[str], value: str, name: str, before: str) -> str:
    """Return the whole of a value that is told; nothing where a sentence only goes on."""
    if not found["mark"]:
        if found["spaced"] is not None and not before.endswith(("_", "-")):
            return ""
        more = _REST.match(found.string, found.start("bare") + len(value))
        value += more.group() if more else ""
    return "" if found["block"] is not None and not _is_alone(found, value, name, before) else value


def _is_alone(found: re.Match[str], value: str, name: str, before: str) -> bool:
    """Tell whether a value has its line to itself, and a name that says more than that it is some key."""
    end = found.start("quoted" if found["mark"] else "bare") + len(value)
    behind = found.string[end : end + AROUND].lstrip(" \t\"'.!?*")
    if behind and behind[0] not in "\r\n\\":
        return False
    return name not in {"key", "token"} or bool(_SURE_KEY.search(before) and not _TABLE_KEY.search(before))


_TOLD_AFTER = frozenset(bytes((code,)) for code in b" \t*`\"'|:=")
_IN_PROSE = frozenset(
    {
        b"password",
        b"passwd",
        b"passphrase",
        b"passcode",
        b"pwd",
        b"secret",
        b"token",
        b"key",
        b"securestring",
        b"identified by",
    }
)


def _is_shown(value: str) -> bool:
    return is_ordinary(value) or value.lower().strip("{}%$") in STAND_INS


def kind_of(name: str) -> str:
    """Return what stands in place of the value of a name."""
    return "password" if name.lstrip("_").startswith(("pa", "pw", "kenn", "mot ", "ident")) else "secret"


def _is_secret(
    name: str, value: str, *, before: str, quoted: bool, told: bool = False, variable: bool = False
) -> bool:
    if len(value) < MIN_VALUE or is_ordinary(value):
        return False
    if told:
        return is_strong(value) and not UUID.fullmatch(value) and not HEX.fullmatch(value)
    if kind_of(name) == "password":
        # Without quotes a word in letters alone is a name: `password: privateKey`.
        return (quoted or not value.isalpha()) if is_mixed(value) else (quoted and not value.isalpha())
    if name in _LONG_ONES:
        # An id of a session is none that opens one; a signature is of an address, or of a function.
        if name.startswith("sig"):
            known = not before.endswith(_LINKED)
        else:
            tail = value.rpartition("-")[2]
            known = bool(UUID.match(value) or _DATED.search(value) or HEX.fullmatch(tail))
        return not known and len(value) >= MIN_TOKEN and is_random(value)
    if name in {"key", "token"} and (_TABLE_KEY.search(before) or not (variable or _SURE_KEY.search(before))):
        # The key of a table or cache may well be a hash or an id.
        ordinary = HEX.fullmatch(value) or UUID.fullmatch(value) or before[-1:].isalpha()
        return not ordinary and len(value) >= MIN_TOKEN and is_random(value)
    return is_random(value)


_LONG_ONES = frozenset({"sig", "signature", "sess", "sid"})
_LINKED = ("?", "&", "-", "&amp;", "u0026")
_DATED = re.compile(r"(?:19|20)\d\d-?[01]\d-?[0-3]\d")


_HEADER = re.compile(
    r"(?:bearer|(?:authorization|auth)(?:\\{0,3}[\"'])?\s{0,3}[:=]\s{0,3}(?:\\{0,3}[\"'])?(?:basic|token|apikey|bearer))"
    r"\s{1,3}(?P<value>[A-Za-z0-9._~+/=-]{12,}+)",
    re.IGNORECASE,
)
_DOCKER = re.compile(r"auth\\{0,3}\"\s{0,4}:\s{0,4}\\{0,3}\"(?P<value>[A-Za-z0-9+/]{12,}={0,2})\\{0,3}\"")

_LOGIN = re.compile(
    r"auth\s{0,2}=?\s{0,2}\(\s{0,16}[\"'][^\"'\n]{1,64}[\"'],\s{0,16}b?[\"'](?P<value>[^\s\"']{8,128}+)[\"']",
    re.IGNORECASE,
)


def in_headers(text: str, small: bytes) -> Iterator[Secret]:
    """Yield what an `Authorization` header, a bearer and the login of a registry carry."""
    for sought in (b"bearer ", b"auth"):
        at = small.find(sought)
        while at >= 0:
            if (
                (pair := _LOGIN.match(text, at))
                and not is_ordinary(pair["value"])
                and is_mixed(pair["value"])
            ):
                yield Secret(*pair.span("value"), "password")
            found = _HEADER.match(text, at) or _DOCKER.match(text, at)
            if found and not stands_in(found["value"]) and is_random(found["value"]):
                yield Secret(*found.span("value"), "token")
            at = small.find(sought, at + 1)


_COOKIE = re.compile(
    r"cookie(?:\\{0,3}[\"'`])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,3}[\"'`])?(?P<pairs>[^\r\n\"'`\\]{8,4096}+)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"[\w.%-]{1,64}=(?P<value>[^;,\s]{16,2048}+)")


def in_cookies(text: str, small: bytes) -> Iterator[Secret]:
    """Yield the random values of the cookies that a header sends or sets."""
    at = small.find(b"cookie")
    while at >= 0:
        end = at + 1
        if found := _COOKIE.match(text, at):
            end = found.end()
            for pair in _PAIR.finditer(text, found.start("pairs"), found.end("pairs")):
                value = pair["value"]
                if not stands_in(value) and is_random(value):
                    yield Secret(*pair.span("value"), "cookie")
        at = small.find(b"cookie", end)


_OPTION = re.compile(
    r"-(?:(?<![\w-]-)-(?P<before>(?:[a-z]{1,20}-){0,3})"
    r"(?P<name>password|passwd|passphrase|pass|secret|token|key)[ \t]{1,3}"
    r"|(?<![\w-]-)(?:u|-user)[ =]{1,3}\\{0,3}[\"']?[^\s:\"']{1,64}:|(?<=sshpass -)p ?)"
    r"\\{0,3}[\"']?(?P<value>[^\s\"'`,;<>()\[\]{}|\\]{8,256}+)"
)
"""What a command is given: `--token ...`, `curl -u name:...`."""


def in_options(text: str) -> Iterator[Secret]:
    """Yield the secrets among the options of a command."""
    for found in _OPTION.finditer(text):
        name = found["name"] or "password"
        if _is_secret(name, found["value"], before=found["before"] or "", quoted=False):
            yield Secret(*found.span("value"), kind_of(name))

"""Find the values that are given to a telling name, in code, settings, commands, headers and prose."""

import base64
import re
from collections.abc import Generator, Iterator

from ragmem.domain.secrets.values import (
    HEX,
    STAND_INS,
    UUID,
    Secret,
    is_chosen,
    is_mixed,
    is_name,
    is_ordinary,
    is_random,
    is_safe,
    is_strong,
    is_word,
    stands_in,
)
from ragmem.domain.secrets.words import held, lazy, places

MIN_VALUE = 8
"""Characters of the value behind a telling name (`token = ...`); a shorter one is rarely a secret."""

MIN_PASSWORD = 4
"""Characters of the value behind a name that means a password and nothing else."""

MIN_BARE = 6
"""Characters of a password that has no quotes, and no mark that no name has."""

MIN_IN_CONNECTION = 4
"""Characters of a password between the other parts of a connection string, where it can be nothing else."""

MIN_TOKEN = 16
MIN_PLAIN = 24
MIN_HEX = 32
"""Characters of a key in hexadecimal that a sentence tells."""

BREAK = r"(?:\r?\n|\\{1,2}r\\{1,2}n|\\{1,2}n)"
"""The end of a line, also as JSON writes it."""

_QUOTE = r"\\{0,3}[\"'`]"
_VALUE = (
    rf"(?:(?:@?[bBruUfFLRN$]{{0,2}}|[A-Z]\w{{2,20}}\(|q[qw]?)(?P<mark>{_QUOTE})"
    r"(?P<quoted>[^\s\"'`\\]{4,512}+)(?:(?P=mark)|(?=\\{0,3}[nrt\"'`]|\s|\Z))"
    # A secret in braces, as Jenkins writes one, or alone in a line between three quotes.
    r"|(?:\{(?=[A-Za-z0-9+/=]{20,512}\})|(?:\"{3}|'{3})\\?\s{1,40}(?=[^\s\"'\\]{8,512}\s{1,40}[\"']{3}))?"
    r"(?P<bare>[^\s\\\"'`,;:=&<>()\[\]{}|]{4,512}+={0,2})(?![(\[]))"
)
_SUFFIX = (
    r"(?i:_?\d{1,2}|[_-](?:prod|production|dev|live|test|staging|value|base|b64|base64|text|plain|data|pem"
    r"|string|content)){0,2}"
)
_AFTER = (
    rf"(?:{_QUOTE}|[*\]_~]){{0,4}}(?:[ \t]?\([^()\n\"'=]{{1,32}}\))?"
    rf"(?:{_QUOTE}|\*){{0,2}}(?:[ \t]{{0,8}}+(?!value=))?"
)
_LOOSE = (
    r":[ \t]?&?\*?[A-Za-z]\w{0,15}[ \t]?=(?=[ \t]?\\{0,3}[\"'`])"
    r"|(?:,|(?=\s|\\n))(?:\s|\\n){0,40}\\{0,3}[\"']?value\\{0,3}[\"']?[ \t]?[:=]"
    r"|(?:\|\||\?\?|(?<=[\"']),)(?=[ \t]{0,24}\\{0,3}[\"'`])"
    r"|(?:[\"'`\])]{0,4}\.(?:send_?[kK]eys|fill|type|setValue|set_value|set|value|with"
    r"|sendKeys))?\((?=\\{0,3}[\"'`])"
    r"|(?<=[\"'])[ \t]?\{[^{}]{0,240}?\b(?:default|value)[ \t]{0,8}[=:]"
    r"|(?<=[\"'])[^<>\n]{0,80}?[ \t](?i:value)="
    r"|(?:(?<=[\"'])[^<>\n]{0,80}?>|:?(?=\s{0,20}<))(?:\s{0,20}</?[A-Za-z][^<>\n]{0,60}>){0,4}:?"
    r"|(?i:[ \t]{1,4}as[ \t]{1,4}(?:string|text|varchar)[ \t]{0,4}=)"
)
"""Between a name and its value: the type, a variable's default, an argument, `value` of an entry, tags."""

_ASSIGNED = lazy(
    rf"{_SUFFIX}{_AFTER}"
    rf"(?:(?P<loose>{_LOOSE})|(?P<operator>:=|=>|<-|\?=|\+?==?|:-|:{{1,2}}|\uff1a|\uff1d|%3[Dd]|%3[Aa]"
    r"|(?<=[A-Za-z])(?:[ \t][^<>\n]{1,80})?>(?:</key>\s{0,20}<string>)?|(?<=[\"'])\s{1,4}value=))"
    rf"\*{{0,2}}[ \t]{{0,24}}+{_VALUE}"
)
_BLOCK = rf":[ \t]{{1,4}}[|>][-+1-9]{{0,2}}[ \t]{{0,4}}{BREAK}[ \t]{{1,40}}"
"""Between a name and a value that YAML writes in a line of its own."""

_TOLD = lazy(
    rf"{_SUFFIX}{_AFTER}"
    r"(?:(?P<spaced>(?<=[ \t])(?:-String |-b |--body[ =])?)(?!(?:is|to|was|as)[ \t])|"
    rf"(?:is|to|was|as)[ \t]{{1,4}}|(?P<block>{_BLOCK})|[:=][ \t]*\\?[nr]?\s{{1,4}}"
    rf"|\|[ \t]{{0,32}}+){_VALUE}"
)
"""Where a value is only told: `the token is ...`, `| token | ... |`."""

_REST = lazy(r"[^\s\\\"'`,;<>()\[\]{}|]{0,512}(?<![.!?*:])")
"""What belongs to a value without quotes behind its first `:`, `=` or `&`."""

_IN_CONNECTION = lazy(rf"[ \t]{{0,4}}=[ \t]{{0,4}}(?P<bare>[^;\s\"'<>&]{{{MIN_IN_CONNECTION},256}}+)")
_CONNECTION = lazy(
    r"(?i)(?:server|data source|host|user ?id|uid|user|username|jdbc:[a-z]+|database|initial catalog|dbname"
    r"|port)[ \t]?[=:]"
)
AROUND = 240
"""Characters before and behind a password in which the other parts of a connection string are looked for."""

_SURE_KEY = lazy(
    r"(?:api|app|application|access|auth|private|signing|encryption|master|secret|account|service|session|"
    r"deploy|client|bearer|refresh|bot|id|jwt|csrf|shared ?access|storage|license|webhook|ingest|write|admin|"
    r"personal|oauth|security|registry|hmac|consumer|device|root|host|vault|unseal|recovery|pre-?shared"
    r"|shared"
    r"|symmetric|crypto|decryption|cipher|aes|ssl|tls|wallet|validator|team|user|server|push|vapid|backup|ssh"
    r"|unlock|developer|node|member|integration)[_ -]?$"
)
"""What stands before `key` and `token` where they mean a secret, not the key of a table."""

_OWNED = lazy(r"(?:api|private|secret|access|auth|master|signing|encryption|bearer|wallet)[_ -]$")
"""The same, where a value follows without a mark."""

_TABLE_KEY = lazy(
    r"(?:cache|primary|foreign|public|sort|partition|idempotency|object|row|map|lookup|routing|group|dedupe"
    r"|storage|search|next|page|prev|cursor|continuation|translation|i18n|locale|anon|publishable)[_ -]?$"
)
_REVERSED = lazy(
    r"value\\{0,3}[\"']?[ \t]{0,2}[:=][ \t]{0,2}\\{0,3}[\"'](?P<value>[^\s\"'\\]{6,128}+)\\{0,3}[\"'],?\s{0,2"
    r"0}"
    r"\\{0,3}[\"']?(?:name|key|id)\\{0,3}[\"']?[ \t]{0,2}[:=][ \t]{0,2}\\{0,3}[\"'][\w.-]{0,40}\Z",
    re.IGNORECASE,
)
"""A value that stands before its name, at the end of what is searched."""

PASSWORDS = (
    *tuple(
        "password passwd passphrase passcode passwrd pwd passwort kennwort motdepasse contrase senha "
        "wachtwoord "
        "parola haslo has?o heslo lozink passord senord adgangskode salasana jelsz aloz".split()
    ),
    "mot de passe",
    "palavra-passe",
    "kata sandi",
    "palabra clave",
)
"""Names of a password in languages with Latin letters, from where they are ASCII; ? is one that is not."""

_NAMED = {
    **dict.fromkeys((name.encode() for name in PASSWORDS), "password"),
    b"secret": "secret",
    b"credential": "credential",
    b"token": "token",
    b"key": "key",
    b"_auth": "_auth",
    b"signature": "signature",
    b"sig=": "sig",
    b"sess": "sess",
    b"sid=": "sid",
    b".sid": "sid",
    b"psk": "psk",
    **dict.fromkeys(
        (b"_pass", b"pass=", b"pass =", b"pass:", b'pass"', b"pass'", b"pass\\", b"pass?", b"pass>"), "pass"
    ),
    **dict.fromkeys((b"_pw", b"pw=", b"pw =", b"pw:", b'pw"', b"pw'", b"pw\\"), "pw"),
    b"mdp": "mdp",
    b"securestring": "secret",
    b"identified by": "password",
    b"_salt": "salt",
    b"bearer": "bearer",
    b"jwt": "bearer",
}
NAMES = tuple(_NAMED)

_TAILS = {
    b"sess": lazy(r"(?i:sess(?:ion)?[_-]?id)"),
    b"credential": lazy(r"(?i:credentials?)"),
    b"sid=": lazy(r"(?i:sid)"),
    b".sid": lazy(r"(?i:\.sid)"),
    b"contrase": lazy(r"(?i:contrase(?:ñ|n|ny)a)"),
    b"senord": lazy(r"(?i:senord(?:et)?)"),
    b"lozink": lazy(r"(?i:lozink\w)"),
    b"jelsz": lazy(r"(?i:jelsz\w{1,4})"),
    b"passwort": lazy(r"(?i:passwort(?:s|es)?)"),
    b"password": lazy(r"(?i:password(?:s(?=[ \t]{0,4}[:=]))?)"),
}
"""What a name is as a whole, where more belongs to it than what is looked for."""


def named(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the values of telling names; `raw` is the text in ASCII, `small` that in small letters."""
    for sought in held(small, _NAMED):
        name = _NAMED[sought]
        at = small.find(sought)
        while at >= 0:
            end = at + len(sought)
            if (behind := _end_of_name(text, raw, at, sought, name)) >= 0:
                reached = yield from _given(text, raw, small, at, behind, name=name, end=end)
                end = max(end, reached)
            at = small.find(sought, end)


def _end_of_name(text: str, raw: bytes, at: int, sought: bytes, name: str) -> int:
    """Return where a name ends; -1 where it is only a part of a word."""
    if sought in _TAILS:
        whole = _TAILS[sought].match(text, at)
        return whole.end() if whole else -1
    if name in _SHORT_NAMES:
        at += sought[:1] == b"_"
        # `dbPass` is a name, `bypass` is none.
        if raw[at - 1 : at].isalpha() and not (
            (raw[at - 1 : at].islower() and raw[at : at + 1].isupper())
            or _OWNER.search(raw[max(0, at - 8) : at].decode())
            or (sought == b"pass=" and _VARIABLE.search(raw[max(0, at - 24) : at + 5].decode()))
        ):
            return -1
        return at + len(name)
    return at + len(sought.rstrip(b"=.: '\""))


_SHORT_NAMES = frozenset({"pass", "pw", "mdp"})
_VARIABLE = lazy(r"(?<![A-Za-z0-9_])(?!BY|COM|ENCOM|SUR|TRES|OVER|UNDER|IM)[A-Z0-9_]{2,20}PASS=\Z")
"""A variable of the environment whose name ends in `pass` without a mark before it."""

_OWNER = lazy(r"(?:root|bind|admin|user|db|my|sql|smtp|mail|ldap|login|proxy|usr|svc|app)$", re.IGNORECASE)
"""What stands right before `pass` and `pw`, which are the end of many a word."""


def _given(
    text: str, raw: bytes, small: bytes, at: int, behind: int, *, name: str, end: int
) -> Generator[Secret, None, int]:
    """Yield the value of the name from `at` to `behind`; return from where on to look for the next name."""
    found = _ASSIGNED.match(text, behind)
    told = found is None and name in _IN_PROSE and raw[behind : behind + 1] in _TOLD_AFTER
    if told:
        found = _TOLD.match(text, behind)
    before = small[max(0, at - 16) : at].decode()
    if found:
        group = "quoted" if found["mark"] else "bare"
        start = found.start(group)
        value = found[group] if group == "quoted" else found[group].rstrip(".!?*")
        # What is none may hold the next name: `key: secret_key = ...`.
        end = max(end, min(start, end + AROUND))
        if told:
            value = _told_value(found, value, name, before)
        operator = "" if told else found["operator"] or ""
        if _is_secret(
            name,
            value,
            before=before,
            quoted=group == "quoted",
            told=told or not operator or (name == "pass" and operator == ":" and group == "bare"),
            # The token or key of a service, in the environment.
            variable=raw[max(0, at - 1) : behind].isupper() and raw[at - 1 : at] == b"_",
            setting=operator in _SETTING and raw[at:behind].isupper() and (name != "pass" or operator != ":"),
        ):
            end = start + len(value)
            if group == "bare" and (more := _REST.match(text, end)):
                end = more.end()
            yield Secret(start, end, kind_of(name))
    if name == "password" and (short := _IN_CONNECTION.match(text, behind)):
        around = text[max(0, at - AROUND) : short.end() + AROUND]
        if ";" in around and _CONNECTION.search(around) and not _is_shown(short["bare"]):
            yield Secret(*short.span("bare"), "password")
    if before.endswith(_REVERSE) or ("name" in before or "key" in before or "id" in before):
        low = max(0, at - AROUND)
        given = _REVERSED.search(text[low:at]) if small.find(b"value", low, at) >= 0 else None
        if given and is_chosen(given["value"]) and not is_ordinary(given["value"]):
            yield Secret(low + given.start("value"), low + given.end("value"), kind_of(name))
    return end


_REVERSE = ('"', "'")
_SETTING = frozenset({"=", ":-", "?=", ":", ":="})
"""Between a variable of the environment and its value."""


def _told_value(found: re.Match[str], value: str, name: str, before: str) -> str:
    """Return the whole of a value that is told; nothing where a sentence only goes on."""
    if not found["mark"]:
        if found["spaced"] is not None and not (before.endswith(("_", "-")) or _OWNED.search(before)):
            return value if _is_plain_key(value) and not _TABLE_KEY.search(before) else ""
        more = _REST.match(found.string, found.start("bare") + len(value))
        value += more.group() if more else ""
    return "" if found["block"] is not None and not _is_alone(found, value, name, before) else value


def _is_plain_key(value: str) -> bool:
    """Tell whether a value is a key of some service by itself, whatever service that is."""
    return (
        len(value) >= MIN_PLAIN
        and value.isalnum()
        and value.isascii()
        and not HEX.fullmatch(value)
        and any(map(str.isupper, value))
        and any(map(str.islower, value))
        and sum(map(str.isdigit, value)) > 1
        and is_random(value)
    )


def _is_alone(found: re.Match[str], value: str, name: str, before: str) -> bool:
    """Tell whether a value has its line to itself, and a name that says more than that it is some key."""
    end = found.start("quoted" if found["mark"] else "bare") + len(value)
    behind = found.string[end : end + AROUND].lstrip(" \t\"'.!?*")
    if behind and behind[0] not in "\r\n\\":
        return False
    return name not in {"key", "token"} or bool(_SURE_KEY.search(before) and not _TABLE_KEY.search(before))


_TOLD_AFTER = frozenset(bytes((code,)) for code in b" \t*`\"'|:=")
_IN_PROSE = frozenset({"password", "secret", "token", "key"})


def _is_shown(value: str) -> bool:
    return is_ordinary(value) or value.lower().strip("{}%$") in STAND_INS


def kind_of(name: str) -> str:
    """Return what stands in place of the value of a name."""
    return "password" if name.startswith(("pa", "pw", "mdp", "psk")) else "secret"


def _is_secret(
    name: str,
    value: str,
    *,
    before: str,
    quoted: bool,
    told: bool = False,
    variable: bool = False,
    setting: bool = False,
) -> bool:
    if kind_of(name) == "password":
        return (
            len(value) >= MIN_PASSWORD
            and not is_ordinary(value)
            and (
                _is_password(name, value, quoted=quoted, told=told, setting=setting)
                # A generator may have used no digit.
                or (name != "pass" and len(value) >= MIN_TOKEN and value.isalpha() and is_random(value))
            )
        )
    if len(value) < MIN_VALUE or is_ordinary(value) or told:
        return told and len(value) >= MIN_VALUE and not is_ordinary(value) and _is_told(value, before)
    if name in _LONG_ONES:
        return not _is_known(name, value, before) and len(value) >= MIN_TOKEN and is_random(value)
    if name in {"key", "token"} and (_TABLE_KEY.search(before) or not (variable or _SURE_KEY.search(before))):
        # The key of a table or cache may well be a hash or an id.
        ordinary = HEX.fullmatch(value) or UUID.fullmatch(value) or before[-1:].isalpha()
        return not ordinary and len(value) >= MIN_TOKEN and is_random(value)
    if name == "secret" or variable:
        return is_random(value) or ((quoted or setting) and is_safe(value)) or (setting and is_chosen(value))
    return is_random(value)


def _is_told(value: str, before: str) -> bool:
    if HEX.fullmatch(value.removeprefix("0x")):
        return len(value) >= MIN_HEX and bool(_OWNED.search(before))
    return is_strong(value) and not UUID.fullmatch(value)


def _is_known(name: str, value: str, before: str) -> bool:
    """Tell whether this is the id of a session, which opens none, or the signature of a function."""
    if name.startswith("sig"):
        return not before.endswith(_LINKED)
    tail = value.rpartition("-")[2]
    return bool(UUID.match(value) or _DATED.search(value) or HEX.fullmatch(tail))


def _is_password(name: str, value: str, *, quoted: bool, told: bool, setting: bool) -> bool:
    """Tell whether the value of a name of a password is one, and not a type, a state or a name in code."""
    letters = value.replace("_", "").replace("-", "")
    if is_word(value) or (letters.isalpha() and name in letters.lower()):
        return False
    if told:
        return is_safe(value) and len(value) >= MIN_BARE and not (name == "pass" and HEX.fullmatch(value))
    if value.isdigit():
        return len(value) >= (MIN_PASSWORD if setting else MIN_BARE)
    if value.isalpha() or not any(map(str.isdigit, value)):
        if (
            is_name(value)
            or (name == "pass" and not setting)
            or (
                value.isalpha()
                and not setting
                and not (quoted and value.islower() and len(value) >= MIN_BARE)
            )
        ):
            return False
        return setting or quoted or is_chosen(value)
    return quoted or setting or ((is_mixed(value) or is_chosen(value)) and (len(value) >= MIN_BARE))


_LONG_ONES = frozenset({"sig", "signature", "sess", "sid", "salt", "bearer"})
_LINKED = ("?", "&", "-", "&amp;", "u0026")
_DATED = lazy(r"(?:19|20)\d\d-?[01]\d-?[0-3]\d")


_HEADER = lazy(
    r"(?:bearer|(?:authorization|auth)(?:\\{0,3}[\"'])?\s{0,3}[:=]\s{0,3}(?:\\{0,3}[\"'])?(?:basic|token"
    r"|apikey|bearer))"
    r"\s{1,3}(?P<value>[A-Za-z0-9._~+/=-]{12,}+)",
    re.IGNORECASE,
)
_DOCKER = lazy(r"auth\\{0,3}\"\s{0,4}:\s{0,4}\\{0,3}\"(?P<value>[A-Za-z0-9+/]{12,}={0,2})\\{0,3}\"")

_LOGIN = lazy(
    r"auth\s{0,2}=?\s{0,2}\(\s{0,16}[\"'][^\"'\n]{1,64}[\"'],\s{0,16}b?[\"'](?P<value>[^\s\"']{8,128}+)[\"']",
    re.IGNORECASE,
)


_BASIC = lazy(r"(?i:basic)[ \t]{1,2}(?P<value>[A-Za-z0-9+/]{8,512}+={0,2})")


def _is_login(encoded: str) -> bool:
    """Tell whether base64 stands for a name and a password."""
    decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4)) if len(encoded) % 4 != 1 else b""
    name, _, password = decoded.decode("utf-8", "replace").partition(":")
    shown = password.lower() in STAND_INS or stands_in(password) or password == name
    return (
        len(password) >= MIN_PASSWORD
        and (name + password).isprintable()
        and not shown
        and "\ufffd" not in password
    )


def in_headers(text: str, small: bytes) -> Iterator[Secret]:
    """Yield what an `Authorization` header, a bearer and the login of a registry carry."""
    for at in places(small, b"basic "):
        login = _BASIC.match(text, at)
        if login and _is_login(login["value"]):
            yield Secret(*login.span("value"), "token")
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


_COOKIE = lazy(
    r"cookie(?:\\{0,3}[\"'`])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,3}[\"'`])?(?P<pairs>[^\r\n\"'`\\]{8,4096}+)",
    re.IGNORECASE,
)
_PAIR = lazy(r"[\w.%-]{1,64}=(?P<value>[^;,\s]{16,2048}+)")


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

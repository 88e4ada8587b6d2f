"""Find values assigned to names of secrets in code, settings, commands, headers and prose."""

import base64
import re
from collections.abc import Generator, Iterator

from ragmem.domain.secrets.values import (
    HEX,
    STAND_INS,
    UUID,
    Secret,
    has_mixed_characters,
    is_name,
    is_ordinary,
    is_placeholder,
    is_plausible_password,
    is_random,
    is_safe,
    is_strong,
    is_word,
)
from ragmem.domain.secrets.words import matches, names_in, places, with_letters
from ragmem.patterns import lazy

MIN_VALUE = 8
"""Minimum characters of an assigned value (`token = ...`); a shorter one is rarely a secret."""

MIN_PASSWORD = 4
"""Minimum characters of the value of a password name."""

MIN_BARE = 6
"""Minimum characters of a password without quotes and without unusual punctuation."""

MIN_IN_CONNECTION = 4
"""Minimum characters of a password within a connection string, where it is unambiguous."""

MIN_TOKEN = 16
MIN_PLAIN = 24
MIN_HEX = 32
"""Minimum characters of a hexadecimal key in prose."""

BREAK = r"(?:\r?\n|\\{1,2}r\\{1,2}n|\\{1,2}n)"
"""The end of a line, also in JSON."""

_QUOTE = r"\\{0,3}[\"'`]"
_VALUE = (
    rf"(?:(?:@?[bBruUfFLRN$]{{0,2}}|[A-Z]\w{{2,20}}\(|q[qw]?)(?P<mark>{_QUOTE})"
    r"(?P<quoted>[^\s\"'`\\]{4,512}+)(?:(?P=mark)|(?=\\{0,3}[nrt\"'`]|\s|\Z))"
    # A secret in braces (Jenkins), or alone in a line between triple quotes
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
"""Between a name and its value: a type, a variable's default, an argument, `value` of an entry, tags."""

_ASSIGNED = lazy(
    rf"{_SUFFIX}{_AFTER}"
    rf"(?:(?P<loose>{_LOOSE})|(?P<operator>:=|=>|<-|\?=|\+?==?|:-|:{{1,2}}|\uff1a|\uff1d|%3[Dd]|%3[Aa]"
    r"|(?<=[A-Za-z])(?:[ \t][^<>\n]{1,80})?>(?:</key>\s{0,20}<string>)?|(?<=[\"'])\s{1,4}value=))"
    rf"\*{{0,2}}[ \t]{{0,24}}+{_VALUE}"
)
_BLOCK = rf":[ \t]{{1,4}}[|>][-+1-9]{{0,2}}[ \t]{{0,4}}{BREAK}[ \t]{{1,40}}"
"""Between a name and a value that YAML writes in the next line."""

_IN_SENTENCE = lazy(
    rf"{_SUFFIX}{_AFTER}"
    r"(?:(?P<spaced>(?<=[ \t])(?:-String |-b |--body[ =])?)(?!(?:is|to|was|as)[ \t])|"
    rf"(?:is|to|was|as)[ \t]{{1,4}}|(?P<block>{_BLOCK})|[:=][ \t]*\\?[nr]?\s{{1,4}}"
    rf"|\|[ \t]{{0,32}}+){_VALUE}"
)
"""A value in prose or a table: `the token is ...`, `| token | ... |`."""

_PHRASE = lazy(r"(?:[ \t]{1,4}[^\s\"'`\\]{1,64}){1,12}(?=\\{0,3}[\"'`])")
"""The other words of a value of several words in quotes."""

_DESCRIPTION = lazy(r"[ \t]{1,4}[A-Za-z]")

_REST = lazy(r"[^\s\\\"'`,;<>()\[\]{}|]{0,512}(?<![.!?*:])")
"""The rest of a value without quotes after its first `:`, `=` or `&`."""

_IN_CONNECTION = lazy(rf"[ \t]{{0,4}}=[ \t]{{0,4}}(?P<bare>[^;\s\"'<>&]{{{MIN_IN_CONNECTION},256}}+)")
_CONNECTION = lazy(
    r"(?i)(?:server|data source|host|user ?id|uid|user|username|jdbc:[a-z]+|database|initial catalog|dbname"
    r"|port)[ \t]?[=:]"
)
AROUND = 240
"""Characters around a password that are searched for the other parts of a connection string."""

_SURE_KEY = lazy(
    r"(?:api|app|application|access|auth|private|signing|encryption|master|secret|account|service|session|"
    r"deploy|client|bearer|refresh|bot|id|jwt|csrf|shared ?access|storage|license|webhook|ingest|write|admin|"
    r"personal|oauth|security|registry|hmac|consumer|device|root|host|vault|unseal|recovery|pre-?shared"
    r"|shared"
    r"|symmetric|crypto|decryption|cipher|aes|ssl|tls|wallet|validator|team|user|server|push|vapid|backup|ssh"
    r"|unlock|developer|node|member|integration)[_ -]?$"
)
"""Words before `key` and `token` that indicate a secret, not the key of a table."""

_OWNED = lazy(r"(?:api|private|secret|access|auth|master|signing|encryption|bearer|wallet)[_ -]$")
"""The same words, if a value follows without a separator."""

_TABLE_KEY = lazy(
    r"(?:cache|primary|foreign|public|sort|partition|idempotency|object|row|map|lookup|routing|group|dedupe"
    r"|storage|search|next|page|prev|cursor|continuation|translation|i18n|locale|anon|publishable)[_ -]?$"
)
_PUBLIC = lazy(r"(?:public|publishable|verifying|page|cursor|continuation)[_ -]?$")
"""Words before `key` and `token` of what everybody may see, and of places in a list."""

_VALUE_BEFORE_NAME = lazy(
    r"value\\{0,3}[\"']?[ \t]{0,2}[:=][ \t]{0,2}\\{0,3}[\"'](?P<value>[^\s\"'\\]{6,128}+)\\{0,3}[\"'],?\s{0,2"
    r"0}"
    r"\\{0,3}[\"']?(?:name|key|id)\\{0,3}[\"']?[ \t]{0,2}[:=][ \t]{0,2}\\{0,3}[\"'][\w.-]{0,40}\Z",
    re.IGNORECASE,
)
"""A value before its name, at the end of the searched text."""

PASSWORDS = (
    *tuple(
        "password passwd passphrase passcode passwrd pwd passwort kennwort motdepasse contrase senha "
        "wachtwoord parola haslo has?o heslo lozink passord senord adgangskode salasana jelsz aloz".split()
    ),
    "mot de passe",
    "palavra-passe",
    "kata sandi",
    "palabra clave",
)
"""Names of a password in languages with Latin letters; ? is a non-ASCII character."""

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
_SOUGHT = with_letters(_NAMED)

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
"""The patterns of whole names that are longer than the searched string."""


def find_assigned_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the values assigned to names of secrets; `raw` is the text in ASCII, `small` in lower case."""
    for sought in names_in(small, _SOUGHT):
        name = _NAMED[sought]
        at = small.find(sought)
        while at >= 0:
            end = at + len(sought)
            if (behind := _end_of_name(text, raw, at, sought, name)) >= 0:
                reached = yield from _assigned_value(text, raw, small, at, behind, name=name, end=end)
                end = max(end, reached)
            at = small.find(sought, end)


def _end_of_name(text: str, raw: bytes, at: int, sought: bytes, name: str) -> int:
    """Return the end of a name; -1 if it is only a part of a word."""
    if sought in _TAILS:
        whole = _TAILS[sought].match(text, at)
        return whole.end() if whole else -1
    if name in _SHORT_NAMES:
        at += sought[:1] == b"_"
        # `dbPass` is a name, `bypass` is not.
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
"""An environment variable that ends in `PASS` without a separator."""

_OWNER = lazy(r"(?:root|bind|admin|user|db|my|sql|smtp|mail|ldap|login|proxy|usr|svc|app)$", re.IGNORECASE)
"""Words directly before `pass` and `pw`, which also end many other words."""


def _assigned_value(
    text: str, raw: bytes, small: bytes, at: int, behind: int, *, name: str, end: int
) -> Generator[Secret, None, int]:
    """Yield the value of the name from `at` to `behind`; return the position for the next search."""
    found = _ASSIGNED.match(text, behind)
    in_sentence = found is None and name in _IN_PROSE and raw[behind : behind + 1] in _SENTENCE_SEPARATORS
    if in_sentence:
        found = _IN_SENTENCE.match(text, behind)
    before = small[max(0, at - 16) : at].decode()
    if found:
        start = found.start("quoted" if found["mark"] else "bare")
        # An ordinary value may contain the next name: `key: secret_key = ...`.
        end = max(end, min(start, end + AROUND))
        if stop := _end_of_value(found, raw, at, behind, name=name, before=before, in_sentence=in_sentence):
            yield Secret(start, stop, kind_of(name))
            end = stop
    if name == "password" and (short := _IN_CONNECTION.match(text, behind)):
        around = text[max(0, at - AROUND) : short.end() + AROUND]
        if (
            ";" in around
            and _CONNECTION.search(around)
            and not (_is_placeholder(short["bare"]) or is_word(short["bare"]))
        ):
            yield Secret(*short.span("bare"), "password")
    if before.endswith(_REVERSE) or ("name" in before or "key" in before or "id" in before):
        low = max(0, at - AROUND)
        given = _VALUE_BEFORE_NAME.search(text[low:at]) if small.find(b"value", low, at) >= 0 else None
        if given and is_plausible_password(given["value"]) and not is_ordinary(given["value"]):
            yield Secret(low + given.start("value"), low + given.end("value"), kind_of(name))
    return end


_REVERSE = ('"', "'")
_SETTING = frozenset({"=", ":-", "?=", ":", ":="})
"""Operators between an environment variable and its value."""


def _end_of_value(
    found: re.Match[str], raw: bytes, at: int, behind: int, *, name: str, before: str, in_sentence: bool
) -> int:
    """Return the end of the secret that is assigned to the name from `at` to `behind`; 0 for no secret."""
    is_quoted = found["mark"] is not None
    value = found["quoted"] if is_quoted else found["bare"].rstrip(".!?*")
    start = found.start("quoted" if is_quoted else "bare")
    operator = "" if in_sentence else found["operator"] or ""
    variable = raw[at:behind].isupper()
    if in_sentence:
        value = _whole_value(found, value, name, before)
    elif is_quoted and not is_safe(value) and (more := _PHRASE.match(found.string, start + len(value))):
        words = value + more.group()
        # Labels of a form have words, too; an equals sign sets a passphrase.
        chosen = operator == "=" and variable and kind_of(name) == "password" and words[0] != "<"
        return more.end() if chosen and not (is_name(words.lower()) or is_ordinary(words)) else 0
    elif not is_quoted and _is_description(found.string, start, value, operator):
        return 0
    if not _is_secret(
        name,
        value,
        before=before,
        quoted=is_quoted,
        in_sentence=not operator or (name == "pass" and operator == ":" and not is_quoted),
        # The token or key of a service in the environment
        variable=raw[max(0, at - 1) : behind].isupper() and raw[at - 1 : at] == b"_",
        setting=operator in _SETTING and variable and (name not in _SHORT_NAMES or operator != ":"),
    ):
        return 0
    rest = None if is_quoted else _REST.match(found.string, start + len(value))
    return rest.end() if rest else start + len(value)


def _is_description(text: str, start: int, value: str, operator: str) -> bool:
    """Return whether a value is a comment, the message of `${NAME:?message}`, or what a list says of it."""
    if operator != ":":
        return value[:1] == "#" and text[start - 1] in " \t"
    return value[:1] == "?" or (value.isalpha() and bool(_DESCRIPTION.match(text, start + len(value))))


def _whole_value(found: re.Match[str], value: str, name: str, before: str) -> str:
    """Return the whole value of a sentence; "" if the sentence only continues."""
    if not found["mark"]:
        if found["spaced"] is not None and not (before.endswith(("_", "-")) or _OWNED.search(before)):
            return value if _is_plain_key(value) and not _TABLE_KEY.search(before) else ""
        more = _REST.match(found.string, found.start("bare") + len(value))
        value += more.group() if more else ""
    return "" if found["block"] is not None and not _is_alone_on_line(found, value, name, before) else value


def _is_plain_key(value: str) -> bool:
    """Return whether a value alone looks like the key of some service."""
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


def _is_alone_on_line(found: re.Match[str], value: str, name: str, before: str) -> bool:
    """Return whether a value is alone in its line, with a name that surely means a secret."""
    end = found.start("quoted" if found["mark"] else "bare") + len(value)
    behind = found.string[end : end + AROUND].lstrip(" \t\"'.!?*")
    if behind and behind[0] not in "\r\n\\":
        return False
    return name not in {"key", "token"} or bool(_SURE_KEY.search(before) and not _TABLE_KEY.search(before))


_SENTENCE_SEPARATORS = frozenset(bytes((code,)) for code in b" \t*`\"'|:=")
_IN_PROSE = frozenset({"password", "secret", "token", "key"})


def _is_placeholder(value: str) -> bool:
    return is_ordinary(value) or value.lower().strip("{}%$") in STAND_INS


def kind_of(name: str) -> str:
    """Return the kind of the mark that replaces the value of a name."""
    return "password" if name.startswith(("pa", "pw", "mdp", "psk")) else "secret"


def _is_secret(
    name: str,
    value: str,
    *,
    before: str,
    quoted: bool,
    in_sentence: bool = False,
    variable: bool = False,
    setting: bool = False,
) -> bool:
    if kind_of(name) == "password":
        return (
            len(value) >= MIN_PASSWORD
            and not is_ordinary(value)
            and (
                _is_password(name, value, quoted=quoted, in_sentence=in_sentence, setting=setting)
                # A generated password may have no digit.
                or (name != "pass" and len(value) >= MIN_TOKEN and value.isalpha() and is_random(value))
            )
        )
    if len(value) < MIN_VALUE or is_ordinary(value) or in_sentence:
        return (
            in_sentence and len(value) >= MIN_VALUE and not is_ordinary(value) and _is_assigned(value, before)
        )
    if name in _LONG_VALUE_NAMES:
        return not _is_harmless(name, value, before) and len(value) >= MIN_TOKEN and is_random(value)
    if name in {"key", "token"} and (_TABLE_KEY.search(before) or not (variable or _SURE_KEY.search(before))):
        # The key of a table or cache may be a hash or an id.
        known = HEX.fullmatch(value) or UUID.fullmatch(value) or _PUBLIC.search(before)
        ordinary = known or before[-1:].isalpha()
        return not ordinary and len(value) >= MIN_TOKEN and is_random(value)
    if name == "secret" or variable:
        return (
            is_random(value)
            or ((quoted or setting) and is_safe(value))
            or (setting and is_plausible_password(value))
        )
    return is_random(value)


def _is_assigned(value: str, before: str) -> bool:
    if HEX.fullmatch(value.removeprefix("0x")):
        return len(value) >= MIN_HEX and bool(_OWNED.search(before))
    return is_strong(value) and not (UUID.fullmatch(value) or _PUBLIC.search(before))


def _is_harmless(name: str, value: str, before: str) -> bool:
    """Return whether the value is the id of a session, which gives no access, or a function signature."""
    if name.startswith("sig"):
        return not before.endswith(_LINKED)
    tail = value.rpartition("-")[2]
    return bool(UUID.match(value) or _DATED.search(value) or HEX.fullmatch(tail))


def _is_password(name: str, value: str, *, quoted: bool, in_sentence: bool, setting: bool) -> bool:
    """Return whether the value of a password name is a password, not a type, a state or a name in code."""
    letters = value.replace("_", "").replace("-", "")
    label = value.rpartition("-")[2] if letters.isalpha() else value
    if is_word(label) or (letters.isalpha() and name in letters.lower()):
        return False
    if in_sentence:
        return is_safe(value) and len(value) >= MIN_BARE and not (name == "pass" and HEX.fullmatch(value))
    if value.isdigit():
        return len(value) >= (MIN_PASSWORD if setting else MIN_BARE)
    if value.isalpha() or not any(map(str.isdigit, value)):
        phrase = quoted and value.islower() and len(value) >= MIN_BARE
        if is_name(value) or (not setting and (name == "pass" or (value.isalpha() and not phrase))):
            return False
        return setting or quoted or is_plausible_password(value)
    mixed = has_mixed_characters(value) or is_plausible_password(value)
    return quoted or setting or (len(value) >= MIN_BARE and mixed)


_LONG_VALUE_NAMES = frozenset({"sig", "signature", "sess", "sid", "salt", "bearer"})
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
    """Return whether base64 encodes a name and a password."""
    decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4)) if len(encoded) % 4 != 1 else b""
    name, _, password = decoded.decode("utf-8", "replace").partition(":")
    shown = password.lower() in STAND_INS or is_placeholder(password) or password == name
    return (
        len(password) >= MIN_PASSWORD
        and (name + password).isprintable()
        and not shown
        and "\ufffd" not in password
    )


_BASICS = with_letters((b"basic ",))
_AUTHORIZATIONS = with_letters((b"bearer ", b"auth"))


def find_header_tokens(text: str, small: bytes) -> Iterator[Secret]:
    """Yield the secrets of `Authorization` headers, bearer tokens and registry logins."""
    for login in matches(text, small, names_in(small, _BASICS), _BASIC):
        if _is_login(login["value"]):
            yield Secret(*login.span("value"), "token")
    for sought in names_in(small, _AUTHORIZATIONS):
        for pair in matches(text, small, (sought,), _LOGIN):
            if not is_ordinary(pair["value"]) and has_mixed_characters(pair["value"]):
                yield Secret(*pair.span("value"), "password")
        for at in places(small, sought):
            found = _HEADER.match(text, at) or _DOCKER.match(text, at)
            if found and not is_placeholder(found["value"]) and is_random(found["value"]):
                yield Secret(*found.span("value"), "token")


_COOKIE = lazy(
    r"cookie(?:\\{0,3}[\"'`])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,3}[\"'`])?(?P<pairs>[^\r\n\"'`\\]{8,4096}+)",
    re.IGNORECASE,
)
_PAIR = lazy(r"[\w.%-]{1,64}=(?P<value>[^;,\s]{16,2048}+)")


def find_cookies(text: str, small: bytes) -> Iterator[Secret]:
    """Yield the random values of the cookies in a header."""
    at = small.find(b"cookie")
    while at >= 0:
        end = at + 1
        if found := _COOKIE.match(text, at):
            end = found.end()
            for pair in _PAIR.finditer(text, found.start("pairs"), found.end("pairs")):
                value = pair["value"]
                if not is_placeholder(value) and is_random(value):
                    yield Secret(*pair.span("value"), "cookie")
        at = small.find(b"cookie", end)
    for option in matches(text, small, names_in(small, _CURL), _CURL_COOKIE):
        for pair in _PAIR.finditer(text, *option.span("pairs")):
            if not is_placeholder(pair["value"]) and is_random(pair["value"]):
                yield Secret(*pair.span("value"), "cookie")


_CURL = with_letters((b"curl",))
_CURL_COOKIE = lazy(
    r"curl[ \t][^\n]{0,400}?(?<=[ \t])(?:-b|--cookie)[ \t=]{1,3}[\"']?(?P<pairs>\w[^\r\n\"'`\\]{8,4096}+)"
)

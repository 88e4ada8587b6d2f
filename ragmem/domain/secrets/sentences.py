"""Find passwords, codes and seed phrases in prose, in many languages."""

import re
from collections.abc import Iterator
from functools import lru_cache

from ragmem.domain.secrets.names import PASSWORDS
from ragmem.domain.secrets.values import (
    HEX,
    UUID,
    Secret,
    is_dense,
    is_name,
    is_ordinary,
    is_plausible_password,
    is_safe,
    is_word,
)
from ragmem.domain.secrets.words import foreign_letters, matches, names_in, places, with_letters
from ragmem.patterns import lazy

MIN_PROSE_PASSWORD = 5
"""Minimum characters of a password in prose."""

FOREIGN = (
    *"парол Парол ПАРОЛ лозинк 密码 密碼 口令 パスワード 暗証番号 合言葉".split(),
    *"비밀번호 암호 पासवर्ड סיסמ κωδικ Κωδικ şifre Şifre".split(),
    *("كلمة المرور", "كلمة السر", "كلمة مرور", "رمز عبور", "گذرواژه", "รหัสผ่าน", "mật khẩu", "Mật khẩu"),
)
"""Names of a password in other scripts, without their inflection."""

_VERB = (
    r"is|was|are|to|be|as|ist|war|lautet|lautete|sei|wäre|heißt|heisst|est|était|es|era|fue|será|é|è|e'|jest"
    r"|brzmi|to"
    r"|är|er|on|este|je|jsou|adalah|yaitu|ialah|olan|becomes|became|equals|vale|são|son|reads|this|là|היא|هي"
    r"|है|είναι"
    r"|теперь|такой|это|c['’]est"
)
_PARTICLE = "[是は가が为為는은이]"
_MARK = r"[:=\uff1a\uff1d→⇒—–]|->|=>|-(?=[ \t])"
_OPEN = r"[*_]{0,2}\\{0,3}[\"'`“”„«»‘’「『<(\[]?[*_]{0,2}"
_WORD = r"[^\s\"'`\\“”„«»‘’「」『』。、，；！？（）：…—–|<>]"
_STATED = lazy(
    r"[^\W\d_A-Z]{0,4}?"
    r"(?:[*_`\"')\]]{1,3})?"
    r"(?P<filler>(?:[ \t]{1,3}(?!is\b)[^\s.!?;:=\"'`|,<>{}]{1,24}){0,6}?"
    r"|[\u3040-\u30ff\u4e00-\u9fff]{0,8}?)[*_`\"')\]]{0,3}[ \t\u3000]{0,3}"
    rf"(?P<verb>{_MARK}|(?:(?<=[ \t])|(?<=[^\x00-\u02ff]))(?:{_VERB})(?![A-Za-z0-9_])|{_PARTICLE})"
    r"(?:[ \t]{1,3}(?i:now|still|currently|set|to|changed|jetzt|noch|ahora|maintenant|agora|adesso|nu|теперь"
    r"|simply|just))"
    rf"{{0,3}}[ \t\u3000]{{0,3}}(?:[:=][ \t]{{0,3}})?(?P<open>{_OPEN})(?P<value>{_WORD}{{5,128}}+)"
)
"""After the name: its system, a verb or a mark, and the password."""

_TO = r"to|auf|zu|en|à|a|em|para|in|na|на|naar|till|til|als|into|by|with|from|von|de|da|с|от|z|van|från|fra"
_CHANGED = lazy(
    r"[^\W\d_A-Z]{0,4}?[*_`\"')\]]{0,3}(?:[ \t]{1,3}[^\s.!?;:=\"'`|,<>{}]{1,24}){0,6}?"
    rf"[ \t]{{1,3}}(?:{_TO})[ \t]{{1,3}}{_OPEN}(?P<value>(?=\S{{0,40}}\d){_WORD}{{6,128}}+)"
    rf"(?:[\"'`“”„«»]?[ \t]{{1,3}}(?:{_TO})[ \t]{{1,3}}{_OPEN}(?P<second>(?=\S{{0,40}}\d){_WORD}{{6,128}}+))?"
)
"""After the name: `was changed to ...`, `from ... to ...`, where no verb precedes the password."""

_WORDS = lazy(
    r"(?:[ \t]{1,3}[^\s.!?;:=\"'`]{1,24}){0,6}?[\"'`]?[ \t]{0,3}(?::|=|(?<=[ \t])(?:is|ist|lautet|est|es"
    r"|è)(?=[ \t]))[ \t]{0,3}"
    r"\\{0,3}[\"'`“„«](?P<value>[^\W\d_]{2,16}(?:[ -][^\W\d_]{2,16}){2,9})\\{0,3}[\"'`”“»]"
)
"""A phrase of several words in quotes, after `passphrase`."""

_AFTER_NAME = lazy(
    rf"[^\W\d_A-Z]{{0,4}}[*_`]{{0,2}}(?P<open>[ \t]{{1,3}}{_OPEN})(?P<value>{_WORD}{{6,128}}+)"
)
"""Directly after the name: `with password ...`."""

_NEXT_LINE = lazy(
    rf"(?:s|es)?[*_`\"')\]]{{0,3}}[:\uff1a][*_]{{0,2}}[ \t]{{0,3}}(?:(?:\r?\n"
    rf"|\\{{1,2}}n)[ \t>*-]{{0,8}}(?:`{{3}}\w{{0,8}}[ \t]{{0,3}})?){{1,4}}"
    rf"`?(?P<value>{_WORD}{{6,128}}+)`?[ \t]{{0,3}}(?=\r?\n|\\|\"|\Z)"
)
"""A password alone in the line below its name."""

_RAISED = frozenset("\u00b2\u00b3\u00b9" + "".join(map(chr, range(0x2070, 0x208A))))
"""Digits above and below the line."""

_BEFORE_NAME = lazy(
    rf"(?:^|[\s(\[])(?P<open>{_OPEN})(?P<value>{_WORD}{{6,64}}+)[\"'`“”’»]?[*_]{{0,2}},?[ \t]"
    r"(?:is|was|as|for|als|ist|war|comme|como|come|est|es|è|é|jako|som|als het|как"
    r"|—)(?:[ \t]\w{1,12}){0,3}[ \t][\w-]{0,12}\Z",
    re.IGNORECASE,
)
"""A password before its name, at the end of the searched text: `use ... as the password`."""

_PAIR = lazy(
    r"(?i:[ \t]?(?:info|data|daten|details|is|are|as|with|using|for|the|staging|prod|production|test|admin"
    r"|account|mit|con|avec"
    r"|als|into|to|it|at|on)\b){0,6}"
    rf"[*_`\"')]{{0,3}}[ \t]{{0,3}}(?:[:=\uff1a\uff1d-]{{1,2}}[ \t]{{0,3}})?{_OPEN}(?P<user>(?!//)[\w.@+-]{{1"
    rf",48}})[\"'`*]{{0,2}}"
    r"(?:[ \t]{0,3}(?:/|:|\||,|;|&|\+|→|->|=>)[ \t]{0,3}|[ \t]{1,3}(?i:and|with|und|mit|et|avec|y|con|e|com"
    r"|en|met|i|och|og|и|pw|pass)"
    rf"[ \t]{{1,3}}(?:(?i:the|password|pass|pw|pwd)[ \t:=]{{1,3}}){{0,2}}){_OPEN}(?P<value>{_WORD}{{6,128}}+)"
)
"""After `login`: a name and a password."""

_CODE_NAMES = with_letters(
    b"recovery,backup,licen,activation,product key,serial,2fa,mfa,otp,totp,one-time,security code,unlock,puk,"
    b"einmal,wiederherstellung,setup key,voucher,registration".split(b",")
)
_KEYS = frozenset((b"serial", b"licen", b"product key", b"registration"))
"""A number alone behind these is that of a version, a zone or a company."""

_OTP = frozenset((b"2fa", b"mfa", b"otp", b"totp", b"setup key"))
_CODE = lazy(
    r"(?i:[a-z]{0,8}(?:[ _-](?:recovery|backup|code|codes|key|keys|number|no\.?|pin|token|secret|password"
    r"|passwort|phrase|seed"
    r"|login|is|for|ist|lautet|of|my|the|your|card|sim|unlock|activation|two|factor)\b){0,5})"
    r"[\"'`*)]{0,3}[ \t]{0,3}(?:[:=\uff1a>→-]{1,2})?(?:\s|\\n|[-*>`\"']|\d{1,2}[.)](?=\s)){0,12}"
    r"(?P<value>[A-Za-z0-9]{3,8}(?:-[A-Za-z0-9]{3,8}){2,8}+|[A-Z2-7]{16,64}=*"
    r"|[A-Za-z0-9]{4,8}-[A-Za-z0-9]{4,8}|\d{6,10})(?![\w-])"
)
_MORE_CODES = lazy(
    r"(?:\s|\\n|[-*>`,;|\"']|\d{1,2}[.)](?=\s)){1,12}(?P<value>[A-Za-z0-9]{3,8}(?:-[A-Za-z0-9]{3,8}){1,8}+"
    r"|\d{6,10})(?![\w-])"
)

_GROUPS = lazy(
    r"[^\n:=]{0,60}[:=\uff1a][ \t*`\"']{0,4}"
    r"(?P<value>[A-Za-z2-7]{4}(?:[ -][A-Za-z2-7]{4}){3,15})(?![A-Za-z0-9])"
)
"""The seed of one-time codes in groups of four."""

_PIN = lazy(
    r"(?<![A-Za-z0-9_])(?:(?:PIN|PUK|CVV|CVC|Pin|[Pp]asscode|PASSCODE)(?![A-Za-z0-9_=\[(]))"
    r"(?:[ -]?(?:[Cc]ode|[Nn]ummer|[Nn]umber|CODE))?"
    r"(?:[ \t]{1,3}[^\s.!?;:=\"'`|,<>()]{1,16}){0,4}?[ \t]{0,3}"
    r"(?::|=|\uff1a|(?<=[ \t])(?:is|ist|lautet|est|es|è|é|jest|är|er"
    r"|on))[ \t]{0,3}[*\"'`]{0,3}(?P<value>\d{4,8})(?![\w.,:-]\d)"
)
_PIN_PLACES = with_letters(b"PIN PUK CVV CVC Pin Passcode passcode PASSCODE".split())

_PHRASES = with_letters(
    b"mnemonic,seed,recovery,wallet,secret words,secret phrase,backup phrase,bip39,bip-39".split(b",")
)
_PHRASE = lazy(
    r"(?i:[\w-]{0,12}(?:[ _-](?:phrases?|words?|seed|mnemonics?|recovery|secret|wallet|key|backup|for|of|my"
    r"|the|our|is|are|was|were"
    r"|metamask|ledger|bitcoin|ethereum|eth|btc|hardware|new|old|wallet's|reads|lautet|12|15|18|21|24|twelve"
    r"|main|cold|hot|trezor"
    r"|\(?bip-?39\)?|\((?:12|15|18|21|24) words\)|follows?|as|these|this|in|order|written|down|here)\b){0,8})"
    r"(?:\)|\\{0,3}[\"'`*:=\uff1a>,-]|\s|\\n){0,12}"
    # Atomic groups: a sentence may be cut into short words in millions of ways.
    r"(?P<words>(?>(?:\d{1,2}[.):]?[ \t]{0,3})?[a-z]{3,8}+(?![a-z])"
    r"(?:[ \t,;|/\"'-]{1,4}|\s{1,8}|(?:\\n){1,2}|\\?\"?,? ?\\?\"?)(?=\d|[a-z]{3})){11,23}"
    r"(?:\d{1,2}[.):]?[ \t]{0,3})?[a-z]{3,8})"
)
_NO_SEED = frozenset(
    "the and for with from are was were has have had not but its been our their his her they're which should "
    "would could does did don doesn how why who than into these those each them then can't isn because while "
    "where".split()
)
"""Common words that are not in the list of seed words (BIP-39, english.txt)."""


_FOREIGN_LETTERS = frozenset(name[0] for name in FOREIGN if not name[0].isascii()) | {"ậ"}
"""Every name in FOREIGN has one of these."""

_FOREIGN = lazy("|".join(map(re.escape, FOREIGN)))


@lru_cache(maxsize=1)
def foreign_names(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the names of a password in other scripts."""
    if text.isascii() or _FOREIGN_LETTERS.isdisjoint(foreign_letters(text)):
        return ()
    return tuple(one.span() for one in _FOREIGN.finditer(text))


def find_prose_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the passwords, logins, codes, PINs and seed phrases in prose."""
    for name in names_in(small, _PASSWORD_NAMES):
        for at in places(small, name, step=len(name)):
            if not raw[at - 1 : at].isalpha() or (
                raw[at : at + 1].isupper()
                or (name in _WITHIN and not _IN_VALUE.search(raw, max(0, at - 24), at))
            ):
                yield from _passwords_near(text, at, at + len(name), short=len(name) < 5 or name in _WEAK)
    for name in names_in(small, _AS):
        for at in places(small, name):
            if one := _password_before(text, at + name.rfind(b" ") + 1):
                yield one
    for at, end in foreign_names(text):
        yield from _passwords_near(text, at, end, short=False)
    for phrase in matches(text, small, names_in(small, _PASSPHRASE), _WORDS, shift=len("passphrase")):
        if (
            phrase
            and not _NO_SEED & set(phrase["value"].lower().split())
            and not is_ordinary(phrase["value"])
        ):
            yield Secret(*phrase.span("value"), "password")
    yield from _login_secrets(text, raw, small)
    yield from _code_secrets(text, raw, small)


_WEAK = (b"clave ", b"clave:", b"chave ", b"chave:", b"chiave ", b"chiave:", b"klucz ", b"klucz:")
"""Words for a key that may also mean a password."""

_PASSPHRASE = with_letters((b"passphrase",))
_AS = with_letters(b"as pw,as the pw,as pass,as the pass,as my pw,als pw".split(b","))
_PASSWORD_NAMES = with_letters(
    (
        *(name.encode() for name in PASSWORDS),
        *b"pw:,pw is,pw ist,pass is,pass was,pass:,pass ,pw ,mdp".split(b","),
        *_WEAK,
    )
)
_IN_VALUE = lazy(rb"=\w*\Z")
_WITHIN = frozenset({b"password", b"passwort", b"kennwort", b"senord", b"aloz", b"wachtwoord"})


def _passwords_near(text: str, at: int, end: int, *, short: bool) -> Iterator[Secret]:
    if short:
        end = at + len(text[at:end].split(maxsplit=1)[0].rstrip(":"))
    found = _STATED.match(text, end)
    # The next part of a connection string is none of the password's.
    value = _NEXT_PART.split(found["value"], 1)[0].rstrip(_STOPS) if found else ""
    if found and value and _is_password(value, found["open"], found["verb"], short=short):
        yield _password_at(found, value)
        return
    if found and (second := _SECOND.match(text, found.start("value"))):
        # `login/password: bob / ...`.
        value = second["value"].rstrip(_STOPS)
        if _LOGIN_BEFORE.search(text, max(0, at - 24), at) and is_safe(value) and not is_ordinary(value):
            yield _password_at(second, value)
            return
    if one := _password_after(text, end) or _password_before(text, at):
        yield one
        return
    if changed := _CHANGED.match(text, end):
        for group in ("value", "second"):
            value = (changed[group] or "").rstrip(_STOPS.replace("!", "").replace("?", ""))
            if is_dense(value) and not is_ordinary(value) and not is_code(value):
                yield _password_at(changed, value, group)


def _password_after(text: str, end: int) -> Secret | None:
    """Return the password directly after its name, or alone in the line below."""
    if side := _AFTER_NAME.match(text, end):
        value = side["value"].rstrip(_STOPS)
        quoted = side["open"].strip() != "" and side["open"].strip() not in "(<["
        ordinary = len(value) < MIN_PROSE_PASSWORD or is_ordinary(value) or is_code(value)
        if not ordinary and (is_safe(value) or (quoted and is_plausible_password(value))):
            return _password_at(side, value)
    if below := _NEXT_LINE.match(text, end):
        value = below["value"].rstrip(_STOPS)
        if len(value) > MIN_PROSE_PASSWORD and _is_safe_word(value):
            return _password_at(below, value)
    return None


def _password_before(text: str, at: int) -> Secret | None:
    """Return the password before its name."""
    low = max(0, at - 110)
    # Without a digit the place alone is not enough.
    has_digit = any(one.isdecimal() or one in _RAISED for one in text[low:at])
    if has_digit and (ahead := _BEFORE_NAME.search(text[low:at])):
        value = ahead["value"].rstrip(_STOPS)
        if _is_safe_word(value):
            return Secret(low + ahead.start("value"), low + ahead.start("value") + len(value), "password")
    return None


def _is_safe_word(value: str) -> bool:
    return is_safe(value) and not is_ordinary(value) and not is_code(value)


def _password_at(found: re.Match[str], value: str, group: str = "value") -> Secret:
    return Secret(found.start(group), found.start(group) + len(value), "password")


_NEXT_PART = lazy(r";(?=[A-Za-z]\w{1,40}=)")
_SECOND = lazy(rf"{_WORD}{{1,48}}?[ \t]{{0,3}}[/|,:;][ \t]{{0,3}}[\"'`]?(?P<value>{_WORD}{{6,128}}+)")
_LOGIN_BEFORE = lazy(r"(?i)(?:login|user\w{0,4}|e?-?mail|account|id|name|konto|usr)[ \t]?[/&+|,-][ \t]?\Z")
_STOPS = ".,;:!?)]}>*_"


def _is_password(value: str, opening: str, verb: str, *, short: bool) -> bool:
    """Return whether the value in a sentence is a password; a plain word is one only in quotes."""
    if len(value) < MIN_PROSE_PASSWORD or is_ordinary(value) or is_word(value) or is_code(value):
        return False
    if short:
        return is_safe(value)
    if is_plausible_password(value):
        return True
    quoted = any(mark in opening for mark in "\"'“”„«»‘’「『")
    return (
        quoted
        and verb not in {"as", "to"}
        and value.isalpha()
        and value.islower()
        and value.isascii()
        and not is_name(value)
        and len(value) > MIN_PROSE_PASSWORD
    )


_CODE_LIKE = lazy(
    r"[A-Za-z_](?:\w|\.|::)*\(|[)\]}]|--[a-z]|\(?[#/.]|@|\([!&|]\(|.*\)\(|\w+[=<>]|.*(?:\.(?:py|md|ts|js|json|yaml|yml|txt|go|rs|html|env|toml|sh|com|org|net"
    r"|io)\b|://|::|->|\]\(|,\S)|\d+[-–]\d+$"
    r"|[\w.-]+(?:/[\w.:{}-]+){2,}\Z"
)


def is_code(value: str) -> bool:
    """Return whether a word is a call, a file, an address or a range."""
    return bool(
        _CODE_LIKE.match(value) or UUID.match(value) or (HEX.fullmatch(value) and len(value) in {40, 64})
    )


def _login_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    for name in names_in(small, _LOGIN_NAMES):
        for at in places(small, name, step=len(name)):
            before = raw[at - 1 : at]
            if name == b"signin" and small[at + len(name) :][:1] == b"g":  # `signingUrl`
                continue
            is_path = before in {b"/", b"\\", b"-"}  # `/home/user/...`, `/auth-credentials/...`
            if before.isalpha() or (is_path and name.endswith(b"/")):
                continue
            found = _LOGIN.match(text, at + len(name))
            if found and not (
                is_path
                and text[at : found.start("value")].isprintable()
                and " " not in text[at : found.start("value")]
            ):
                value = found["value"].rstrip(_STOPS)
                if len(value) > MIN_PROSE_PASSWORD and _is_safe_word(value):
                    yield _password_at(found, value)


_LOGIN = lazy(r"(?i:[a-z]{0,8}(?:[/ ]{1,3}(?:pass(?:word)?|pw|pwd|passwort|name))?)" + _PAIR.pattern)
_LOGIN_NAMES = with_letters(
    b"login;logon;log in;logged in;signin;sign in;credential;creds;user/;user /;username/;username "
    b"/;user,;usr/;account:;zugangsdaten;zugang:;anmeld;identifiant;credencial;credenzial;accesso;acesso;acceso;inlog;logowani".split(
        b";"
    )
)


def _code_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    for name in names_in(small, _CODE_NAMES):
        at = small.find(name)
        while at >= 0:
            end = at + len(name)
            if not raw[at - 1 : at].isalpha():
                groups = _GROUPS.match(text, end) if name in _OTP else None
                if groups and any(map(str.isdigit, groups["value"])):
                    yield Secret(*groups.span("value"), "code")
                found = _CODE.match(text, end)
                while (
                    found
                    and _is_key_of_code(found["value"])
                    and not (name in _KEYS and found["value"].isdigit())
                ):
                    yield Secret(*found.span("value"), "code")
                    end = found.end()
                    found = _MORE_CODES.match(text, end)
            at = small.find(name, end)
    yield from _phrases(text, small)
    for pin in matches(text, raw, names_in(small, _PIN_PLACES), _PIN):
        yield Secret(*pin.span("value"), "PIN")


def _phrases(text: str, small: bytes) -> Iterator[Secret]:
    for name in names_in(small, _PHRASES):
        at = small.find(name)
        while at >= 0:
            end = at + len(name)
            if found := _PHRASE.match(text, end):
                end = found.end()
                lead = text[at : found.start("words")]
                if _is_seed_phrase(lead, found["words"]):
                    yield Secret(*found.span("words"), "seed phrase")
            at = small.find(name, end)


_OF_WORDS = lazy(r"(?i:phrase|word|mnemonic|recovery|bip|wallet)|[:=\uff1a]")


def _is_seed_phrase(lead: str, words: str) -> bool:
    """Return whether words are a seed phrase: announced as one, and neither options nor a sentence."""
    if "--" in words or " -" in words or not _OF_WORDS.search(lead):
        return False
    return not _NO_SEED & set(re.findall("[a-z]+", words))


def _is_key_of_code(value: str) -> bool:
    """Return whether a value has groups of capitals and digits like a code, and is not a date or word."""
    groups = value.split("-")
    if value.isdigit():
        return True
    digits, capitals = sum(map(str.isdigit, value)), sum(map(str.isupper, value))
    if UUID.fullmatch(value) or (len(groups) == 3 and value.replace("-", "").isdigit()):
        return False
    if len(groups) == 1:
        return len(value) >= 16 and digits > 1
    return digits > 1 and (
        (capitals > 1 and not any(map(str.islower, value)))
        or (
            all(any(map(str.isdigit, one)) or len(one) in {4, 5} for one in groups)
            and len({len(one) for one in groups}) == 1
        )
    )

"""Classify a value: a secret, a name, an id, or a placeholder."""

import math
import re
from collections import Counter

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MIN_ENTROPY = 3.0
"""Minimum entropy of a random value in bits per character; a short one needs 80 % of its maximum."""

MIN_TURNS = 0.2
"""Minimum changes between lower case, upper case and digits per character; random strings have 0.4."""

MIN_LETTERS = 3
"""Maximum distinct characters at the end of a placeholder: a row of x or zeros."""

READ = 64
"""Maximum characters of a value that are searched for words of a placeholder."""

MIN_DENSE = 8
MIN_STRONG = 10
"""Minimum characters of a password that is recognized without quotes or an equals sign."""

_PLACEHOLDERS = tuple(
    "your example placeholder changeme change-me change_me xxxx *** ... … dummy fake sample redacted insert "
    "replace todo _here -here notareal not_a_real not-a-real ${ {{ %(".split()
)
"""Words and marks of placeholders."""

_TRIAL = lazy(
    r"(?:(?:my|your|our|the|some|any|new|old|an?|bad|good|wrong|weak|strong|super|very|top|test|user|admin|db"
    r"|root"
    r"|client|app|fake|dummy|mock|real|plain|hashed|current|correct|valid|invalid|temp|wifi"
    r"|login)[-_. ]?){0,3}"
    r"(?:p[a@]ss?w[o0]r[dt]|pass|pwd|pw|secret|token|key|api[-_]?key|cred|foo|foobar|bar|baz|qwerty(?:uiop)?"
    r"|asdf"
    r"|abc|abcd|abcdef|test|testing|admin|root|guest|value|text|string|here|letmein|changeit|dev|local)?"
    r"(?:[-_. ]?(?:0?1?2?3?4?5?6?7?8?9?0?|\d\d?|[!#@$]|s|here|value|name)){0,3}",
    re.IGNORECASE,
)
"""Typical test values, as a whole."""

STAND_INS = frozenset(
    "password passwd pass pwd secret token key pw user admin root test guest postgres mysql".split()
)

_WORDS = frozenset(
    "string str text bool boolean int integer number float double bytes byte object any null none nil "
    "undefined true false yes no on off required optional hidden visible masked encrypted hashed hash plain "
    "plaintext varchar nvarchar char field input label value values empty blank default missing invalid "
    "incorrect wrong unset disabled enabled auto random generated env environment prompt ask stdin stdout "
    "file path self this super new old confirm protected stored sent used set unused expired reset forgotten "
    "changed shown needed valid correct mandatory necessary optionally always never only also not the and "
    "for with from into your here there available unknown sensitive private public shared secure insecure "
    "strong weak length minlength maxlength type name username user login email admin description title "
    "message error errors warning info debug config settings data body form query params header headers "
    "request response result context state props options args kwargs const let var function return await "
    "async passwort kennwort senha parola wachtwoord haslo heslo clave motdepasse contrasena passord "
    "losenord adgangskode salasana md5 sha1 sha256 sha384 sha512 bcrypt argon2 argon2i argon2id scrypt "
    "pbkdf2 base32 base64 base64url utf8 utf-8 utf16 oauth oauth2 oidc saml2 x509 rs256 rs512 es256 hs256 "
    "hs512 eddsa ed25519 secp256k1 aes aes128 aes256 aes-256 aes-256-gcm aes-256-cbc aes-128-gcm hmac-sha256 "
    "hmac ldap ldaps http2 ssl tls i18n l10n a11y k8s s3 ec2 rc4 crc32 fido2 webauthn u2f ipv4 ipv6 es2020 "
    "vec64 int32 int64 uint8 uint32 uint64 float32 float64 varchar255 char64 nvarchar255 varbinary "
    "varchar2 md5sum sha1sum sha256sum sha512sum".split()
)
"""Values that are not secrets: types, states, algorithms, keywords."""

_ABOUT = lazy(
    r"pass|pwd|secret|token|\bkey|_key|Key|auth|login|user|field|input|label|hash|prompt|required|valid"
    r"|config"
    r"|setting|forgot|confirm|reset|encrypt|param|placeholder"
)
"""Parts of a name in code that refers to a secret."""

UUID = lazy(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
HEX = lazy(r"[0-9a-f]+", re.IGNORECASE)
_RUN = lazy(r"[A-Za-z0-9]+")
_TURN = lazy(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_UNUSUAL_MARK = lazy(r"[^\w\s./:,;()\[\]-]")
MIN_UNUSUAL_MARKS = 6
"""Minimum number of marks; names, paths, addresses and calls have fewer."""

_REFERENCE = lazy(
    r"\$\{|\$\(|\$\$|\$\w+(?::\w+)?\Z|%\(|%\{|%[\w-]+%?\Z|@[\w.]+\Z|@\{|&\w+;?\Z|~/|\.{0,2}/|\.[\w.]+\Z"
    r"|!\w+\b[ .]|\]\("
    r"|[a-z][a-z0-9+.-]{1,12}://"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z"
    r"|(?:vault|env|secret|ref|arn|op|ssm|file|path|keychain|aws|gcp):\S"
    r"|[A-Za-z_][\w.]*\([^()]*\)?\Z"
    r"|\$\w+/|\{[A-Za-z_]\w*\}[\w.-]*\Z|\d+(?:\.\d+){2,}\Z|[A-Za-z_][\w.]*\[|v=DKIM|#/|Test[A-Z_]\w*/"
    r"|(?=_?[A-Z]\w*(?:Key|Bearer|Type|Form|Request|Response|Config|Error|Exception|Params|Client|Service"
    r"|Provider))"
    r"_?[A-Z][A-Za-z]*\d{0,2}(?:[A-Z][a-z]{2,})+(?:_?T)?\Z"
    r"|[*&]?[A-Za-z_]\w*!?(?:(?:\??\.|::|->)[A-Za-z_]\w*!?)+\Z|\[?\w+\]\."
)
"""The beginning of a path, an address or a variable; an OID; a constant or type name; other code."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text, `text[start:end]`, and its kind."""

    start: int
    end: int
    kind: str


_SLOT = lazy(r"<[A-Za-z][\w -]{0,40}>|\{[a-z_]\w{1,40}\}")
"""A place in a template that a person or a program fills in."""


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder."""
    if len(set(value[-16:])) <= MIN_LETTERS:
        return True
    small = value[:READ].lower()
    return any(word in small for word in _PLACEHOLDERS)


def is_ordinary(value: str) -> bool:
    """Return whether a value is not a secret: a test value, a placeholder or a reference."""
    return bool(
        is_placeholder(value)
        or _TRIAL.fullmatch(value)
        or _REFERENCE.match(value)
        or _SLOT.search(value[:READ])
    )


def is_word(value: str) -> bool:
    """Return whether a value names a type, an algorithm or a field."""
    small = value.lower().strip("!?.,:;*()[]{}<>+-_")
    return small in _WORDS or small.rstrip("0123456789") in _WORDS


def is_name(value: str) -> bool:
    """Return whether a value is a name in code for a secret (`newPassword`, `current-password`)."""
    return not any(map(str.isdigit, value)) and bool(_ABOUT.search(value) or not value.isascii())


def has_mixed_characters(value: str) -> bool:
    """Return whether a value is more than words and numbers next to each other."""
    return any(
        not (run.isdigit() or (run.isalpha() and (run[1:].islower() or run.isupper())))
        for run in _RUN.findall(value)
    )


def is_random(value: str) -> bool:
    """Return whether letters and digits change as in a random string, with enough entropy."""
    marks = len(_UNUSUAL_MARK.findall(value))
    # More marks than a name has count as changes, too.
    turns = len(_TURN.findall(value)) + (marks if marks >= MIN_UNUSUAL_MARKS else 0)
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return turns >= max(2, MIN_TURNS * len(value)) and entropy >= min(
        MIN_ENTROPY, 0.8 * math.log2(len(value))
    )


def is_strong(value: str) -> bool:
    """Return whether a value alone is a secret: random, or letters, digits and marks within one word."""
    if len(value) < MIN_STRONG:
        return False
    digits = sum(map(str.isdigit, value))
    marks = sum(not (one.isalnum() or one in "-_./:") for one in value[:-1])
    cased = any(map(str.isupper, value)) and any(map(str.islower, value))
    return is_random(value) or bool(
        has_mixed_characters(value) and cased and digits and (marks or digits > 2)
    )


def is_plausible_password(value: str) -> bool:
    """Return whether a value may be a chosen password: letters with digits or marks inside.

    A word with a number after it, or a name with capitals, may match, too: see `is_safe`.
    """
    if is_word(value) or UUID.fullmatch(value):
        return False
    kinds = _kinds(value)
    if not kinds & _DIGIT or not kinds & _LETTER:
        return (
            bool(kinds & _MARK)
            and kinds & _LETTER == _LETTER
            and len(value) >= MIN_STRONG
            and has_mixed_characters(value)
        )
    return has_mixed_characters(value) or kinds == _ALL or (kinds & _MARK > 0 and "-" not in value.strip("-"))


def is_safe(value: str) -> bool:
    """Return whether a value is a password by its place alone: at least three types of characters."""
    kinds = _kinds(value)
    sorts = sum(bool(kinds & one) for one in (_LOWER, _UPPER, _DIGIT, _MARK))
    mixed = has_mixed_characters(value) or kinds == _ALL
    return mixed and kinds & _DIGIT > 0 and (sorts > 2 or is_random(value)) and not is_word(value)


_LOWER, _UPPER, _DIGIT, _MARK = 1, 2, 4, 8
_LETTER = _LOWER | _UPPER
_ALL = _LETTER | _DIGIT | _MARK


def is_dense(value: str) -> bool:
    """Return whether a value alone is surely a password: all types of characters, or random ones."""
    return len(value) >= MIN_DENSE and (_kinds(value) == _ALL or (is_safe(value) and is_random(value)))


def _kinds(value: str) -> int:
    found = 0
    for one in set(value):
        if one.islower():
            found |= _LOWER
        elif one.isupper():
            found |= _UPPER
        elif one.isdigit():
            found |= _DIGIT
        elif not one.isalpha() and one not in "-_./:,":
            found |= _MARK
    return found

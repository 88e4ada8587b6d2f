"""Find secrets after a directive of a configuration or a command, separated by a blank."""

from collections.abc import Iterator

from ragmem.domain.secrets.values import (
    HEX,
    UUID,
    Secret,
    is_ordinary,
    is_plausible_password,
    is_random,
    is_safe,
    is_word,
)
from ragmem.domain.secrets.words import Names, letters, matches, names_in
from ragmem.patterns import lazy

_MARKED = r"[ \t]{1,4}\\?[\"']?(?P<value>[^\s\"'`,;<>|\\]{4,256}+)"
_TYPED = r"(?:[ \t]{1,4}(?:\d|md5|sha\d{0,3}|ascii|encrypted|clear|plain|hash))?"
"""The type of the value, as routers write it."""

_DIRECTIVES = Names(
    (letters(word.encode()), (word.encode(), lazy(pattern + _TYPED + _MARKED)))
    for word, pattern in (
        # Daemons.
        ("requirepass", "requirepass"),
        ("masterauth", "masterauth"),
        ("bindpw", "bindpw"),
        ("rootpw", "rootpw"),
        ("rootbinddn", "rootpw"),
        ("secretstore", r"secretstore"),
        # Routers and switches.
        ("enable secret", r"enable secret(?: level \d{1,2})?"),
        ("enable password", r"enable password(?: level \d{1,2})?"),
        ("password ", r"(?<![\w-])password(?=[ \t]{1,4}(?:\d|encrypted|clear|hash)[ \t])"),
        ("secret ", r"(?<![\w-])secret(?=[ \t]{1,4}\d[ \t])"),
        ("key ", r"(?<![\w-])key(?=[ \t]{1,4}[0-9][ \t])"),
        ("community", r"community"),
        ("key-string", r"key-string"),
        ("server key", r"server key"),
        ("shared-key", r"pre-shared-key(?: local| remote| address \S{1,60} key)?"),
        ("chap ", r"(?:ppp )?(?:chap|pap) (?:password|sent-username \S{1,40} password)"),
        ("wpa-psk", r"wpa-psk(?: ascii| hex)?"),
        ("wpa_passphrase", r"wpa_passphrase[ \t]\"?[^\s\"]{1,40}\"?"),
        ("authentication-key", r"authentication-key(?: \d{1,5})?"),
        # Commands that take a secret as their argument.
        ("vault login", r"vault login(?:[ \t]-[\w=-]{1,40}){0,4}(?:[ \t]token=)?"),
        ("bao login", r"bao login"),
        ("vault unseal", r"vault (?:operator )?unseal"),
        ("operator unseal", r"operator unseal"),
        ("authtoken", r"(?:ngrok[ \t])?(?:config[ \t])?(?:add-)?authtoken"),
        ("snyk auth", r"snyk auth"),
        ("wandb login", r"wandb login(?:[ \t]--[\w=:/.-]{1,60}){0,2}"),
        ("bw unlock", r"bw unlock"),
        ("rclone obscure", r"rclone obscure"),
        ("importprivkey", r"importprivkey"),
        ("openssl passwd", r"openssl passwd(?:[ \t]-\w{1,8}){0,3}"),
        ("oathtool", r"oathtool(?:[ \t]--?[\w=-]{1,24}){1,4}"),
        ("slappasswd", r"slappasswd[ \t]-s"),
        ("pm2 link", r"pm2 link"),
        (
            "auth ",
            r"(?m)(?:(?<=> )|^[ \t]{0,8})(?:AUTH|auth)(?:[ \t][\w.-]{1,40}(?=[ \t]\S))?(?=[ \t]\S{6,64}$)",
        ),
        ("password ", r"(?<=connect )\S{1,40} password"),
    )
)
"""A word in lower case, and a pattern of the text up to the value, including the word."""

MIN_ENCRYPTED = 8


def find_directive_secrets(text: str, small: bytes) -> Iterator[Secret]:
    """Yield the secrets in directives of daemons and routers, and in commands."""
    for sought, pattern in names_in(small, _DIRECTIVES):
        for found in matches(text, small, (sought,), pattern):
            if _is_password(found["value"], sought):
                yield Secret(*found.span("value"), "password" if b"pass" in sought else "secret")


def _is_password(value: str, sought: bytes) -> bool:
    if is_ordinary(value) or is_word(value) or UUID.fullmatch(value) or "](" in value:
        return False
    if sought in {b"password ", b"secret ", b"key "}:
        # Type 7 of a router is hexadecimal.
        return is_safe(value) or (len(value) >= MIN_ENCRYPTED and bool(HEX.fullmatch(value)))
    return is_safe(value) or (
        len(value) >= MIN_ENCRYPTED and (is_random(value) or is_plausible_password(value))
    )

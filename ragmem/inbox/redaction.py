"""Remove secrets from a text before it waits in a file, at no cost for texts that cannot hold one."""

from ragmem.config.folders import folder_of
from ragmem.errors import UsageError

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ragmem.domain.secrets.redaction import Redactor

HINTS = tuple(
    "pass pwd secret credential token key auth signature sig= sess sid= .sid cookie bearer :// private "
    "ragmem -----begin mysql mariadb redis-cli machine kind xox xapp- hooks. webhook .office.com "
    "aq. ya29. 1//0 4/0a 4%2f0a whsec_ sg. -us access_token$ :aa hvs. hvb. hvr. .atlasv1. sntry glsa_ glc_ "
    "fm1 fm2 pscale_ dp. ssws /1 azdo q~ aqe abs eyj v1.0- ops_ :54 :64 :65 :*: 1b[ \x1b[ \\e[ 033[ psk= "
    "kennwort identified securestring /user: /u: chpasswd -stdin sudo login private-lines "
    "pw psk bcrypt mdp contrase senha wachtwoord parola haslo has?o heslo lozink senord adgangskode salasana "
    "jelsz aloz sandi clave "
    "salt jwt user usr zugang anmeld identifiant cred acces acesso inlog logowani logon sign connect client "
    "bind( pdo( auth "
    "recover backup licen activ serial 2fa mfa otp one-time unlock puk einmal wieder voucher regist pin cvv "
    "cvc mnemonic seed "
    "wallet bip -p -a -w -s -x -c -u -h -k -n -e /p /rp =\n @ wifi: ${ $1$ $2 $5$ $6$ $7$ $8$ $9$ $y$ $g $a "
    "$m $s $p $h $b $k "
    "$r $z $o $d $14 pbkdf2 scrypt: argon2 {s {m {c {b {p {a scram sha1$ md5 sha256 sha512$ ::: amzn .acc "
    ":fx sl. dt0 tfp_ | "
    "pat. sat. mlsn. pk. sk. tk. _mmk t1. 1000. :apa _gitlab sc_ ext_ scauth authress cat less echo print "
    "vault bao aws gcloud "
    "az kubectl oc gopass op\x20 bw rbw fly gh doppler chamber sops openssl pwgen terraform tofu "
    "pulumi gpg git "
    "npm kty basic phrase community key- unseal obscure oathtool chap wpa slappasswd pm2 hmac wallet fernet "
    "openai anthropic stripe jdbc".split()
)
"""Every text that holds a secret without a long token has one of these, in lower case."""

RUN = 16
"""Consecutive characters of a token that every other secret has."""

ENCODED = 40
"""Consecutive characters of base64 that may encode a text with a secret."""

_TOKEN = bytes(
    ord("x") if (chr(code).isascii() and chr(code).isalnum()) or chr(code) in "_-" else ord(" ")
    for code in range(256)
)


PHRASE = 12
"""Consecutive words of three to eight letters that may be the phrase of a wallet."""

_WORD = bytes(code if 97 <= code <= 122 else ord(" ") for code in range(256))
_OF_WALLET = bytes(ord("x") if 3 <= length <= 8 else ord(" ") for length in range(256))


def may_hold_a_secret(text: str) -> bool:
    """Return whether a text may hold a secret; False only if `sanitize_text` would not change it."""
    raw = text.encode("ascii", "replace")
    if b"x" * RUN in raw.translate(_TOKEN):
        return True
    # Base64 has two more characters, which most texts use in paths.
    if b"x" * ENCODED in raw.replace(b"+", b"x").replace(b"/", b"x").translate(_TOKEN):
        return True
    if raw.count(b"?") != text.count("?"):  # names in other scripts, and invisible characters
        return True
    small = raw.lower()
    ascii_text = small.decode("ascii")
    if any(hint in ascii_text for hint in HINTS):
        return True
    # The phrase of a wallet needs no other hint.
    lengths = bytes(min(len(word), 255) for word in small.translate(_WORD).split())
    return b"x" * PHRASE in lengths.translate(_OF_WALLET)


def redact_write(
    write: "dict[str, Any]", *, environ: "Mapping[str, str]", home: str, cwd: str
) -> "dict[str, Any]":
    """Return the arguments of `inbox.seal` without secrets, by the rules of the settings.

    Raises UsageError if nothing is left of the text, or if its project or spec contains a secret.
    """
    metadata: dict[str, str] = write.get("metadata") or {}
    names = [write.get("project", ""), write.get("spec", "")]
    said = [write["text"], write.get("title", ""), *write.get("tags", ()), *metadata.values(), *names]
    # The names of the metadata are hints as well.
    if not may_hold_a_secret("\n".join((*said, *metadata))):
        return write
    # Importing these takes longer than everything else here.
    from ragmem.domain.injection.sanitization import sanitize_text
    from ragmem.domain.secrets.redaction import refuse_secret

    redactor = _redactor_of(environ, home=home, cwd=cwd)
    for name, what in zip(names, ("project", "spec"), strict=True):
        refuse_secret(name, f"name of the {what}", redactor)
    text = sanitize_text(write["text"], redactor)
    if not text.strip() and write["text"].strip():
        raise UsageError(
            "the text is empty without its private parts", hint="keep some text outside of the private tags"
        )
    values = {
        sanitize_text(name, redactor): sanitize_text(value, redactor) for name, value in metadata.items()
    }
    return write | {
        "text": text,
        "title": sanitize_text(write.get("title", ""), redactor),
        "tags": [sanitize_text(tag, redactor) for tag in write.get("tags", ())],
        "metadata": values if redactor.stored else redactor.redact_document(values),
    }


def _redactor_of(environ: "Mapping[str, str]", *, home: str, cwd: str) -> "Redactor":
    """Return the redactor of the settings, which are read only if they mention secrets."""
    from ragmem.domain.secrets.redaction import DEFAULT

    if not any(name.startswith("RAGMEM_SECRETS_") for name in environ):
        try:
            with open(f"{folder_of('config', environ, home=home, cwd=cwd)}/config.toml", "rb") as file:
                if b"secrets" not in file.read():
                    return DEFAULT
        except OSError:  # without readable settings the shipped rules apply
            return DEFAULT
    from pathlib import Path

    from ragmem.config.loader import load

    return load(environ=environ, home=Path(home), cwd=Path(cwd)).redactor

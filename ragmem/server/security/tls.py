"""The TLS of the server: a certificate and its private key, from PEM files."""

import ssl
import stat
from pathlib import Path

from ragmem.errors import ConfigError, UsageError, os_errors_as

HANDSHAKE_S = 10.0
"""Seconds that a client has to agree on the encryption."""


def check_pair(cert: str, key: str) -> bool:
    """Return whether there are a certificate and a key; raises UsageError if one of the two is missing."""
    if bool(cert) != bool(key):
        given, missing = ("--cert", "--key") if cert else ("--key", "--cert")
        raise UsageError(f"{given} needs {missing}", hint="give both, as PEM files")
    return bool(cert)


def server_context(cert: Path, key: Path) -> ssl.SSLContext:
    """Return the context of a server, for TLS 1.2 and later.

    Raises ConfigError for files that cannot be read, that do not fit together, or for a key that is encrypted
    or that everybody on this machine can read.
    """
    for path, what in ((cert, "certificate"), (key, "private key")):
        with os_errors_as(ConfigError, f'read the {what} "{path}"', hint="--cert and --key name PEM files"):
            mode = path.stat().st_mode
            with path.open("rb"):
                pass
    if stat.S_IMODE(mode) & 0o007:
        raise ConfigError(f'everyone can read the private key "{key}"', hint=f'chmod 600 "{key}"')
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2

    def refuse_password() -> str:
        raise ConfigError(
            f'the private key "{key}" is encrypted', hint=f'openssl pkey -in "{key}" -out NEW.pem'
        )

    try:
        context.load_cert_chain(cert, key, password=refuse_password)
    except ssl.SSLError as error:
        raise ConfigError(
            f'"{cert}" and "{key}" are not a certificate and its private key: {error.reason or error}',
            hint="both are PEM files; the certificate comes before those that signed it",
        ) from error
    return context

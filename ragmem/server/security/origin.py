"""The valid names of the server, so that a foreign web page cannot reach it under its own name.

A page that rebinds its name to 127.0.0.1 sends that name as Host; a page that calls us sends its own Origin.
"""

import ipaddress
import re
from dataclasses import dataclass

from ragmem.config.settings import ServeSettings
from ragmem.errors import UsageError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]/@?#\\\s]+)(:\d{1,5})?", re.IGNORECASE)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def names_of(host: str, settings: ServeSettings, *, allow_remote: bool, encrypted: bool) -> "Names":
    """Return the names of a server on this address; `encrypted`: it answers by TLS.

    Raises UsageError for an address that other machines can reach, unless both the command line and
    config.toml allow it and what is sent is encrypted: a copied command or a shared file is not enough.
    """
    if is_loopback(host):
        return Names(host, hosts=settings.hosts)
    if not allow_remote:
        raise UsageError(
            f'"{host}" can be reached from other machines',
            hint="listen on 127.0.0.1, or add --allow-remote or --team if that is intended",
        )
    if not settings.allow_remote:
        raise UsageError(
            f'"{host}" can be reached from other machines, which config.toml does not allow',
            hint="listen on 127.0.0.1, or set allow_remote = true in [serve] of config.toml as well",
        )
    if not encrypted:
        raise UsageError(
            f'"{host}" can be reached from other machines, and connections would not be encrypted',
            hint="give --cert and --key, or listen on 127.0.0.1 behind a proxy with TLS",
        )
    return Names(host, remote=True, hosts=settings.hosts)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the server: loopback, its address, and the configured ones.

    `remote` allows every address as Host: only a name can be rebound to another machine.
    """

    host: str
    remote: bool = False
    hosts: tuple[str, ...] = ()

    def knows(self, header: str) -> bool:
        """Return whether a Host header (a name or address, perhaps with a port) is ours."""
        match = _HOST.fullmatch(header)
        if match is None:
            return False
        name = match["name"].lower().strip("[]")
        if name in LOOPBACK_NAMES or name in {one.lower() for one in (self.host, *self.hosts)}:
            return True
        if not self.remote:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def same_origin(origin: str, host: str) -> bool:
    """Return whether an Origin header and a Host header have the same host."""
    scheme, separator, place = origin.partition("://")
    return scheme.lower() in {"http", "https"} and bool(separator) and place.lower() == host.lower()

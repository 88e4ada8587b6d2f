"""Which names the server answers to, so that a foreign web page cannot reach it under a name of its own.

A page that rebinds its name to 127.0.0.1 sends that name as Host; one that calls us sends itself as Origin.
"""

import ipaddress
import re
from dataclasses import dataclass

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]/@?#\\\s]+)(:\d{1,5})?", re.IGNORECASE)


def is_loopback(host: str) -> bool:
    """Tell whether an address to listen on is reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the server: loopback's and the address it listens on; `remote` lets every address in.

    An address as Host cannot be rebound: only a name can be made to mean another machine.
    """

    host: str
    remote: bool = False

    def knows(self, header: str) -> bool:
        """Tell whether a Host header (a name or address, perhaps with a port) is ours."""
        match = _HOST.fullmatch(header)
        if match is None:
            return False
        name = match["name"].lower().strip("[]")
        if name in LOOPBACK_NAMES or name == self.host.lower():
            return True
        if not self.remote:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def same_origin(origin: str, host: str) -> bool:
    """Tell whether an Origin header names the place that the Host header names."""
    scheme, separator, place = origin.partition("://")
    return scheme.lower() in {"http", "https"} and bool(separator) and place.lower() == host.lower()

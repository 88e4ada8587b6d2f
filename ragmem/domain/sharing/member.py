"""Ids of members: who a shared record comes from, and the last part of a git ref."""

import hashlib
import unicodedata

from ragmem.patterns import lazy

MAX_MEMBER = 64
"""Characters of an id."""

_MEMBER = lazy(r"[a-z0-9][a-z0-9._-]*")
_OTHER = lazy(r"[^a-z0-9._-]+|\.(?=\.)")
_HASH_LENGTH = 6


def is_member(name: str) -> bool:
    """Return whether a name is a valid member id: usable as the last part of a git ref and of a path."""
    return (
        len(name) <= MAX_MEMBER
        and _MEMBER.fullmatch(name) is not None
        and ".." not in name
        and not name.endswith((".lock", "."))
    )


def member_of(email: str) -> str:
    """Return the id of the person with an email address; "" for a blank one.

    It is the local part, and six hexadecimal digits of the SHA-256 of the address in lower case: two people
    with the same local part differ.
    """
    address = email.strip().lower()
    if not address:
        return ""
    local = unicodedata.normalize("NFKD", address.partition("@")[0]).encode("ascii", "ignore").decode()
    name = _OTHER.sub("-", local).strip("._-")[: MAX_MEMBER - _HASH_LENGTH - 1].strip("._-")
    mark = hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{name}-{mark}" if name else f"member-{mark}"

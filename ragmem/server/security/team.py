"""A server for a team: who sends a request, by a member's token or by one of an issuer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragmem.ports.principal import Principal
from ragmem.server.security.auth import LONGEST_TOKEN, credentials
from ragmem.server.security.members import Members, is_member_token, token_hash
from ragmem.server.security.oauth import MAX_TOKEN, InvalidTokenError, ResourceServer, is_jwt
from ragmem.server.security.rate_limit import RateLimit

MAX_CREDENTIALS = 4
"""Maximum credentials of a request that are looked at."""

GrantKind: TypeAlias = Literal["member", "issuer"]


@dataclass(frozen=True, slots=True)
class Grant:
    """The member that a credential identifies; `is_current` says whether it still does."""

    principal: Principal
    kind: GrantKind
    is_current: Callable[[], bool]


class Team:
    """The members of this server; `oauth` is None where no issuer is configured."""

    def __init__(
        self, members: Members, *, oauth: ResourceServer | None = None, requests_per_minute: int = 0
    ) -> None:
        self.members = members
        self.oauth = oauth
        self.requests = RateLimit(requests_per_minute)

    async def authenticate(self, headers: Iterable[tuple[bytes, bytes]]) -> Grant | None:
        """Return the member of the first credential that is one; None if no header has any.

        Raises InvalidTokenError if there is only a token of an issuer that does not count.
        """
        refused: InvalidTokenError | None = None
        for given in _credentials(headers):
            if is_member_token(given):
                if (grant := self.grant_of(token_hash(given))) is not None:
                    return grant
            elif self.oauth is not None and is_jwt(given):
                try:
                    return await self._verify(self.oauth, given)
                except InvalidTokenError as error:
                    refused = error
        if refused is not None:
            raise refused
        return None

    def grant_of(self, hashed: str) -> Grant | None:
        """Return the member whose token has this hash, with the present role; None if there is none."""
        member = self.members.find(hashed)
        if member is None:
            return None
        # A change of the role ends the streams that began with the other one.
        return Grant(member.principal, "member", lambda: self.members.find(hashed) == member)

    @staticmethod
    async def _verify(oauth: ResourceServer, token: str) -> Grant:
        verified = await oauth.verify(token)
        return Grant(verified.principal, "issuer", lambda: oauth.is_current(verified))


def _credentials(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    found: dict[str, None] = {}
    for given in credentials(headers):
        if len(given) <= max(LONGEST_TOKEN, MAX_TOKEN) and len(found) < MAX_CREDENTIALS:
            found[given.decode("latin-1")] = None
    return list(found)

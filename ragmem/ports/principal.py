"""The principal: the team member on whose behalf this thread or task reads and writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from ragmem.domain.model import NO_PROJECTS
from ragmem.frozen import dataclass

MemberRole = Literal["reader", "writer", "admin"]
"""What a member may do: read; also write memories; also administer the store."""

Audience = Literal["personal", "project", "team"]
"""Who sees a memory: its owner, the members of its project, or everybody of the team."""

ROLES: tuple[MemberRole, ...] = ("reader", "writer", "admin")
"""All roles, from the least rights to the most."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A member of a team, with its role and the ids of its projects (None: all projects)."""

    member: str
    role: MemberRole
    projects: frozenset[str] | None = None

    def may(self, role: MemberRole) -> bool:
        """Return whether this member has the rights of a role."""
        return ROLES.index(self.role) >= ROLES.index(role)


NOBODY = Principal("nobody", "reader", frozenset())
"""Acts for a request without credentials: a member of no project and of no team, who owns nothing."""

current_principal: ContextVar[Principal | None] = ContextVar("ragmem.principal", default=None)
"""The member that acts; None is the owner of the machine, who may do everything.

A new thread begins with None: whoever hands work to a thread runs it in a copy of its context.
"""


requested_audience: ContextVar[Audience | None] = ContextVar("ragmem.audience", default=None)
"""The audience that a request names for what it stores; None: of a project its members, else the owner."""


def confined_member() -> Principal | None:
    """Return the acting member if it may not see everything; None for an admin, and for the owner."""
    principal = current_principal.get()
    return None if principal is None or principal.role == "admin" else principal


@contextmanager
def for_audience(audience: Audience | None) -> Iterator[None]:
    """Store the memories of the block with this audience."""
    token = requested_audience.set(audience)
    try:
        yield
    finally:
        requested_audience.reset(token)


def owner_of(project: str) -> str:
    """Return the member who owns a new memory of a project; "" if it is not personal."""
    principal = current_principal.get()
    personal = requested_audience.get() == "personal" or project in NO_PROJECTS
    return principal.member if principal is not None and personal else ""


@contextmanager
def acting_as(principal: Principal | None) -> Iterator[None]:
    """Act for a member in the block; restore the former principal at its end, also after an error."""
    token = current_principal.set(principal)
    try:
        yield
    finally:
        current_principal.reset(token)

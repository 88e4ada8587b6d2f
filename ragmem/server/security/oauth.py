"""The server as an OAuth 2.1 resource server: access tokens (JWT) of one issuer become members.

Tokens are checked as RFC 9068 and RFC 8725 ask: asymmetric algorithms only, and issuer, audience and times in
any case. Keys come from the issuer's JWKS (RFC 7517), which OpenID Connect Discovery names.
"""

import asyncio
import hashlib
import json
import re
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ragmem.config.offline import is_loopback
from ragmem.config.settings import ServeSettings
from ragmem.domain.sharing.member import MAX_MEMBER, is_member
from ragmem.errors import BackendError, ConfigError, RagmemError
from ragmem.ports.principal import NOBODY, ROLES, MemberRole, Principal

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS = ("RS256", "ES256", "EdDSA")

_KEY_TYPES = ("RSA", "EC", "OKP")

LEEWAY_S = 60
"""Seconds that the clocks of issuer and server may differ."""

FETCH_S = 5.0
"""Seconds that the issuer has for each piece of an answer."""

MAX_FETCHED = 512 * 1024
"""Maximum bytes of the issuer's metadata, and of its keys."""

REFETCH_S = 30.0
"""Minimum seconds between two requests for keys: anybody can send a token that names an unknown key."""

FRESH_S = 3_600.0
"""Seconds after which keys are fetched again; meanwhile the former ones count."""

STALE_S = 86_400.0
"""Seconds that keys count while the issuer cannot be reached."""

MAX_TOKEN = 16 * 1024
MAX_KEYS = 100
MAX_VERIFIED = 4_096
"""Maximum verified tokens that are not verified anew, by their hash; they are forgotten with their keys."""

MIN_RSA_BITS = 2_048

_HASH_LENGTH = 12
_OTHER = re.compile(r"[^a-z0-9]+")
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class InvalidTokenError(Exception):
    """An access token is not accepted; the text says why, for the client."""


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """Whom a token identifies, and until when, in seconds since 1970."""

    principal: Principal
    until: float


def is_jwt(text: str) -> bool:
    """Return whether a text has the form of a signed JWT."""
    return len(text) <= MAX_TOKEN and _JWT.fullmatch(text) is not None


def check_settings(settings: ServeSettings) -> None:
    """Raise ConfigError where the keys of [serve] about the issuer do not fit together.

    Raises BackendError if a package is missing. Without an issuer there is nothing to check.
    """
    if not settings.issuer:
        if settings.jwks_url:
            raise ConfigError("[serve] jwks_url needs issuer", hint="set issuer to the iss of the tokens")
        return
    if not settings.audience:
        raise ConfigError(
            "[serve] issuer needs audience", hint="set audience to the aud of tokens for ragmem"
        )
    for name, url in (("issuer", settings.issuer), ("jwks_url", settings.jwks_url)):
        if url and not _is_safe(url):
            raise ConfigError(f'[serve] {name} "{url}" is not an https URL', hint="write https://...")
    for package in ("cryptography", "jwt"):
        if find_spec(package) is None:
            raise BackendError(
                f"tokens of an issuer need the package {package}", hint="pip install 'ragmem[team]'"
            )


def fetch_json(url: str) -> Any:
    """Return the JSON document at a URL; follows no redirect.

    Raises BackendError for any failure, and in offline mode for another machine than this one.
    """
    if not _is_safe(url):
        raise BackendError(f'"{url[:200]}" is not an https URL', hint="from the issuer's metadata")
    try:
        request = Request(url, headers={"Accept": "application/json"})  # noqa: S310 - the scheme is checked
        with build_opener(_NoRedirect).open(request, timeout=FETCH_S) as answer:
            raw = answer.read(MAX_FETCHED + 1)
        if len(raw) > MAX_FETCHED:
            raise BackendError(f'"{url[:200]}" answers more than {MAX_FETCHED:,} bytes')
        return json.loads(raw)
    except (OSError, URLError, HTTPException, ValueError, RecursionError) as error:
        raise BackendError(f'"{url[:200]}" does not answer as JSON: {error}') from error


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none: it could lead anywhere."""
        return


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


class ResourceServer:
    """Verifies access tokens; its methods run on the event loop."""

    def __init__(
        self,
        settings: ServeSettings,
        *,
        fetch: Callable[[str], Any] = fetch_json,
        clock: Callable[[], float] = time.time,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take the settings as `check_settings` accepts them; `clock` gives seconds since 1970."""
        self.settings = settings
        self._fetch = fetch
        self._clock = clock
        self._warn = warn
        self._keys: dict[str, PyJWK] = {}
        self._fetched = self._tried = float("-inf")
        self._refresh = asyncio.Lock()
        self._background: asyncio.Task[None] | None = None
        self._verified: OrderedDict[bytes, VerifiedToken] = OrderedDict()
        self._failing = False

    async def verify(self, token: str) -> VerifiedToken:
        """Return whom a token identifies; raises InvalidTokenError."""
        mark = hashlib.sha256(token.encode()).digest()
        known = self._verified.get(mark)
        if known is not None and known.until > self._clock() and not self._is_stale():
            self._verified.move_to_end(mark)
            self._renew()
            return known
        verified = await self._verify(token)
        self._verified[mark] = verified
        while len(self._verified) > MAX_VERIFIED:
            self._verified.popitem(last=False)
        return verified

    def is_current(self, verified: VerifiedToken) -> bool:
        """Return whether a verified token still counts."""
        return verified.until > self._clock()

    async def _verify(self, token: str) -> VerifiedToken:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise InvalidTokenError("the token is not a JWT") from error
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise InvalidTokenError(f"the token is not signed by {', '.join(ALGORITHMS)}")
        if "crit" in header:
            raise InvalidTokenError("the token has a critical header that is unknown")
        key = await self._key(header.get("kid"), algorithm)
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError as error:
            raise InvalidTokenError("the token has expired") from error
        except jwt.PyJWTError as error:
            raise InvalidTokenError(f"the token is not valid: {str(error).lower()[:200]}") from error
        return VerifiedToken(self._principal(claims), float(claims["exp"]) + LEEWAY_S)

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        settings = self.settings
        named = _claim(claims, settings.member_claim)
        if not isinstance(named, str) or not named.strip():
            raise InvalidTokenError(f'the token has no claim "{settings.member_claim}"')
        if settings.member_claim == "email" and claims.get("email_verified") is not True:
            raise InvalidTokenError("the email of the token is not verified")
        given = set(_texts(_claim(claims, settings.role_claim)))
        role = next((one for one in reversed(ROLES) if settings.role_prefix + one in given), None)
        if role is None:
            wanted = ", ".join(settings.role_prefix + one for one in ROLES)
            raise InvalidTokenError(f'the token has none of {wanted} in its claim "{settings.role_claim}"')
        projects = None
        if settings.projects_claim:
            projects = frozenset(_texts(_claim(claims, settings.projects_claim)))
        return Principal(_member_name(named), role, projects)

    async def _key(self, identifier: Any, algorithm: str) -> "PyJWK":
        if identifier is not None and not isinstance(identifier, str):
            raise InvalidTokenError("the token names no key of the issuer")
        if self._is_stale() or (identifier is not None and identifier not in self._keys):
            await self._load()
        self._renew()
        if self._is_stale():
            raise InvalidTokenError("the keys of the issuer cannot be fetched")
        fitting = [
            key
            for name, key in self._keys.items()
            if key.algorithm_name == algorithm and identifier in {None, name}
        ]
        if len(fitting) != 1:
            raise InvalidTokenError("the token names no key of the issuer")
        return fitting[0]

    def _is_stale(self) -> bool:
        return self._clock() - self._fetched >= STALE_S

    def _renew(self) -> None:
        """Fetch keys that are no longer fresh in the background, so that no request waits."""
        running = self._background is not None and not self._background.done()
        if self._clock() - self._fetched >= FRESH_S and not running and self._may_try():
            self._background = asyncio.create_task(self._load())

    def _may_try(self) -> bool:
        return self._clock() - self._tried >= REFETCH_S

    async def _load(self) -> None:
        """Fetch the keys unless that was tried just now; a failure keeps the former ones."""
        async with self._refresh:
            if not self._may_try():
                return
            self._tried = self._clock()
            try:
                self._keys = await asyncio.to_thread(self._fetch_keys)
            except RagmemError as error:
                if not self._failing:
                    self._failing = True
                    self._warn(f"the keys of the issuer cannot be fetched: {error}")
                return
            self._failing = False
            self._fetched = self._clock()
            self._verified.clear()

    def _fetch_keys(self) -> "dict[str, PyJWK]":
        url = self.settings.jwks_url or self._discover()
        document = self._fetch(url)
        listed = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(listed, list):
            raise BackendError(f'"{url[:200]}" has no keys')
        return dict(_usable_keys(listed[:MAX_KEYS]))

    def _discover(self) -> str:
        issuer = self.settings.issuer
        metadata = self._fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if not isinstance(metadata, dict) or metadata.get("issuer") != issuer:
            raise BackendError(f'the metadata of "{issuer}" name another issuer')
        url = metadata.get("jwks_uri")
        if not isinstance(url, str):
            raise BackendError(f'the metadata of "{issuer}" name no jwks_uri')
        return url

    def metadata(self, resource: str) -> dict[str, Any]:
        """Return the metadata of the protected resource at a URL (RFC 9728)."""
        return {
            "resource": resource,
            "authorization_servers": [self.settings.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "ragmem",
            "scopes_supported": [self.scope(one) for one in ROLES],
        }

    def scope(self, role: MemberRole) -> str:
        """Return the value of the role's claim that grants a role."""
        return self.settings.role_prefix + role


def _usable_keys(listed: list[Any]) -> "Iterator[tuple[str, PyJWK]]":
    """Yield the public keys for signatures by their id, or a number; others are of no use here."""
    import jwt

    for number, entry in enumerate(listed):
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or "d" in entry:
            continue
        if entry.get("kty") not in _KEY_TYPES or entry.get("alg", ALGORITHMS[0]) not in ALGORITHMS:
            continue
        try:
            key = jwt.PyJWK(entry)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        weak = entry.get("kty") == "RSA" and key.key.key_size < MIN_RSA_BITS
        if key.algorithm_name in ALGORITHMS and not weak:
            name = entry.get("kid")
            yield name if isinstance(name, str) else f"\0{number}", key


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by a path such as realm_access.roles; None if it is absent."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(value: Any) -> list[str]:
    """Return the values of a claim, which is a list, or one text with blanks in between as in `scope`."""
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _member_name(named: str) -> str:
    """Return the member of a claim: itself where it is the id of one, else a part of it and its hash.

    So no two values of the claim are the same member.
    """
    if is_member(named) and named != NOBODY.member:
        return named
    plain = unicodedata.normalize("NFKD", named.partition("@")[0]).encode("ascii", "ignore").decode().lower()
    slug = _OTHER.sub("-", plain).strip("-")[: MAX_MEMBER - _HASH_LENGTH - 1].strip("-") or "member"
    return f"{slug}-{hashlib.sha256(named.encode('utf-8', 'replace')).hexdigest()[:_HASH_LENGTH]}"

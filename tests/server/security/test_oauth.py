"""Access tokens of an OpenID Connect issuer: which open a team's server, as whom, and which do not."""

import asyncio
import base64
import hmac
import json
import time
from dataclasses import replace

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.config.settings import ServeSettings
from ragmem.domain.sharing.member import is_member
from ragmem.errors import BackendError, ConfigError
from ragmem.server.security.members import Members
from ragmem.server.security.oauth import REFETCH_S, STALE_S, ResourceServer, check_settings, fetch_json
from ragmem.server.security.team import Team
from tests.support.issuer_server import AUDIENCE, issuing

WELL_KNOWN = "/.well-known/oauth-protected-resource"


@pytest.fixture
def issuer():
    with issuing() as made:
        made.add_key("first", "RS256")
        yield made


class Clock:
    def __init__(self):
        self.ahead = 0.0

    def __call__(self):
        return time.time() + self.ahead


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def asking(filled, connect, issuer, clock):
    """Open a server whose [serve] has further settings; return the answer of /session to a token."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def begin(**more):
            serve = replace(ServeSettings(), issuer=issuer.url, **{"audience": AUDIENCE, **more})
            check_settings(serve)
            oauth = ResourceServer(serve, clock=clock)
            team = Team(Members(filled.settings.places.state), oauth=oauth)
            client = stack.enter_context(connect(filled, team=team))
            del client.http.headers["Authorization"]

            def ask(token, path="/v1/memory/projects", method="GET"):
                return client.send(method, path, headers={"Authorization": f"Bearer {token}"})

            return ask

        yield begin


def who(ask, token):
    told = ask(token, "/session").json()
    return told["member"], told["role"], told["by"]


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_token_is_its_member_with_the_role_it_grants(asking, issuer, algorithm):
    issuer.add_key("other", algorithm)
    ask = asking()
    assert who(ask, issuer.token("other")) == ("ann", "writer", "issuer")
    assert ask(issuer.token("other")).status_code == 200
    assert ask(issuer.token("other", aud=["else", AUDIENCE])).status_code == 200
    refused = ask(issuer.token("other"), "/v1/memory/log")
    assert (refused.status_code, "admin" in refused.json()["detail"]) == (403, True)
    assert 'error="insufficient_scope", scope="ragmem:admin"' in refused.headers["WWW-Authenticate"]


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unsigned(issuer, algorithm="none"):
    head = {"alg": algorithm, "kid": "first", "typ": "JWT"}
    return f"{encoded(json.dumps(head).encode())}.{encoded(json.dumps(issuer.claims()).encode())}."


def tampered(token, **changes):
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    return f"{head}.{encoded(json.dumps(claims | changes).encode())}.{signature}"


def signed_by_the_public_key(issuer):
    # The oldest attack on JWT: the public key as the secret of an HMAC.
    public = issuer.keys["first"][1].public_key()
    secret = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = unsigned(issuer, "HS256").removesuffix(".")
    return f"{text}.{encoded(hmac.digest(secret, text.encode(), 'sha256'))}"


NOW = time.time()
WRONG = {
    "expired": lambda one: one.token("first", exp=NOW - 120),
    "without an end": lambda one: one.token("first", exp=None),
    "not yet": lambda one: one.token("first", nbf=NOW + 86_400),
    "made in the future": lambda one: one.token("first", iat=NOW + 86_400),
    "for another server": lambda one: one.token("first", aud="another"),
    "for nobody": lambda one: one.token("first", aud=None),
    "of another issuer": lambda one: one.token("first", iss="https://evil.example"),
    "of no issuer": lambda one: one.token("first", iss=None),
    "without a role": lambda one: one.token("first", scope="openid admin writer ragmem:owner"),
    "without a scope": lambda one: one.token("first", scope=None),
    "a scope that is a number": lambda one: one.token("first", scope=5),
    "without a member": lambda one: one.token("first", sub=None),
    "an empty member": lambda one: one.token("first", sub="  "),
    "unsigned": unsigned,
    "unsigned with the name of an algorithm": lambda one: unsigned(one, "RS256") + "AAAA",
    "an HMAC": signed_by_the_public_key,
    "tampered": lambda one: tampered(one.token("first"), scope="ragmem:admin"),
    "an unknown key": lambda one: one.token("first", headers={"kid": "second"}),
    "a critical header": lambda one: one.token("first", headers={"crit": ["x"], "x": 1}),
    "RS512": lambda one: jwt.encode(
        one.claims(), one.keys["first"][1], algorithm="RS512", headers={"kid": "first"}
    ),
    "a weak key": lambda one: one.token("weak"),
    "huge": lambda one: one.token("first", more="x" * 20_000),
}


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_a_wrong_token_opens_nothing(asking, issuer):
    issuer.add_key("weak", "RS256", bits=1024)
    ask = asking()
    for name, wrong in WRONG.items():
        answer = ask(wrong(issuer))
        assert (answer.status_code, name) == (401, name)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
        assert ask(wrong(issuer), "/health").status_code == 200
    assert ask(issuer.token("first")).status_code == 200


def test_a_client_learns_where_tokens_come_from(asking, issuer):
    ask = asking()
    for path, resource in (("/v1/memory/projects", ""), ("/mcp", "/mcp")):
        refused = ask("", path)
        place = f"http://127.0.0.1:9622{WELL_KNOWN}{resource}"
        assert refused.status_code == 401
        assert refused.headers["WWW-Authenticate"] == f'Bearer resource_metadata="{place}"'
        told = ask("", WELL_KNOWN + resource).json()
        assert told["resource"] == f"http://127.0.0.1:9622{resource}"
        assert told["authorization_servers"] == [issuer.url]
        assert told["scopes_supported"] == ["ragmem:reader", "ragmem:writer", "ragmem:admin"]
    expired = ask(issuer.token("first", exp=NOW - 120))
    assert 'error="invalid_token"' in expired.headers["WWW-Authenticate"]
    assert expired.json()["detail"] == "the token has expired"


def test_behind_a_proxy_the_audience_is_the_address(asking, issuer):
    ask = asking(audience="https://memory.example.org/")
    assert ask("", WELL_KNOWN + "/mcp").json()["resource"] == "https://memory.example.org"
    token = issuer.token("first", aud="https://memory.example.org/")
    assert ask(token).status_code == 200
    assert ask(issuer.token("first")).status_code == 401


def test_without_an_issuer_nothing_is_told_of_one(client):
    assert client.get(WELL_KNOWN).status_code == 404
    refused = client.send("GET", "/v1/memory/projects", headers={"Authorization": ""})
    assert refused.headers["WWW-Authenticate"] == "Bearer"


def test_roles_members_and_projects_come_from_the_claims_that_are_configured(asking, issuer):
    ask = asking(
        member_claim="preferred_username",
        role_claim="realm_access.roles",
        role_prefix="mem-",
        projects_claim="https://example.org/projects",
    )
    token = issuer.token(
        "first", preferred_username="lee", realm_access={"roles": ["mem-reader", "mem-admin", "x"]}
    )
    assert who(ask, token) == ("lee", "admin", "issuer")
    assert ask(issuer.token("first", preferred_username="lee", realm_access=["mem-admin"])).status_code == 401


def test_an_email_counts_only_if_it_is_verified(asking, issuer):
    ask = asking(member_claim="email")
    assert ask(issuer.token("first", email="ann@example.org")).status_code == 401
    assert ask(issuer.token("first", email="ann@example.org", email_verified=False)).status_code == 401
    assert ask(issuer.token("first", email="ann@example.org", email_verified=True)).status_code == 200


def test_no_two_subjects_are_the_same_member(asking, issuer):
    ask = asking()
    subjects = [
        "ann",
        "Ann",
        "ANN",
        "ann ",
        "ann@a.org",
        "ann@b.org",
        "auth0|ann",
        "nobody",
        "ünn",
        "..",
        "x" * 300,
    ]
    members = [who(ask, issuer.token("first", sub=one))[0] for one in subjects]
    assert len(set(members)) == len(subjects)
    assert members[0] == "ann"
    assert all(is_member(one) and one != "nobody" for one in members)


def test_a_new_key_is_fetched_once_and_an_old_one_is_forgotten(asking, issuer, clock):
    ask = asking()
    old = issuer.token("first")
    assert ask(old).status_code == 200
    forged = issuer.token("first", headers={"kid": "none"})
    for _ in range(50):
        ask(forged)
    assert issuer.asked.count("/keys") == 1
    del issuer.keys["first"]
    issuer.add_key("second", "ES256")
    clock.ahead += REFETCH_S + 1
    assert ask(issuer.token("second")).status_code == 200
    assert ask(old).status_code == 401
    assert issuer.asked.count("/keys") == 2


def test_keys_outlive_an_issuer_that_is_down_by_a_day(asking, issuer, clock):
    ask = asking()
    token = issuer.token("first", exp=NOW + 10 * STALE_S)
    other = issuer.token("first", exp=NOW + 10 * STALE_S, sub="bob")
    assert ask(token).status_code == 200
    issuer.fails = True
    clock.ahead = STALE_S / 2
    assert [ask(token).status_code, ask(other).status_code] == [200, 200]
    clock.ahead = STALE_S + 1
    assert [ask(token).status_code, ask(other).status_code] == [401, 401]
    issuer.fails = False
    clock.ahead += REFETCH_S + 1
    assert [ask(token).status_code, ask(other).status_code] == [200, 200]


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "http://keys.example/keys"},
        {"jwks_uri": None},
    ],
)
def test_metadata_of_another_kind_lead_nowhere(asking, issuer, metadata):
    issuer.metadata = metadata
    answer = asking()(issuer.token("first"))
    assert answer.status_code == 401
    assert answer.json()["detail"] == "the keys of the issuer cannot be fetched"


def test_the_address_of_the_keys_can_be_given(asking, issuer):
    issuer.metadata = {"issuer": "https://evil.example"}
    assert asking(jwks_url=f"{issuer.url}/keys")(issuer.token("first")).status_code == 200


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"issuer": "https://id.example"}, "audience"),
        ({"jwks_url": "https://id.example/keys"}, "issuer"),
        ({"issuer": "http://id.example", "audience": "x"}, "https"),
        ({"issuer": "id.example", "audience": "x"}, "https"),
        ({"issuer": "https://id.example", "audience": "x", "jwks_url": "file:///keys"}, "jwks_url"),
    ],
)
def test_settings_that_do_not_fit_together_are_told(more, said):
    with pytest.raises(ConfigError, match=said):
        check_settings(replace(ServeSettings(), **more))


KEYS = st.dictionaries(
    st.sampled_from(("kty", "crv", "alg", "n", "e", "x", "y", "k", "use", "kid", "d")),
    st.sampled_from(
        ("RSA", "EC", "OKP", "oct", "P-256", "Ed25519", "Ed448", "RS256", "ES256", "EdDSA", "none", "AQAB")
    )
    | st.integers()
    | st.lists(st.text(), max_size=1),
    max_size=8,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=st.lists(KEYS | st.none() | st.text(), max_size=3))
def test_keys_that_are_none_do_no_harm(issuer, clock, keys):
    good = issuer.document("/keys")["keys"]
    serve = replace(ServeSettings(), issuer=issuer.url, audience=AUDIENCE, jwks_url="https://id.example/keys")
    oauth = ResourceServer(serve, clock=clock, fetch=lambda _: {"keys": [*keys, *good]})
    assert asyncio.run(oauth.verify(issuer.token("first"))).principal.member == "ann"


def test_what_is_fetched_is_bounded_and_follows_no_link(issuer):
    assert fetch_json(f"{issuer.url}/keys")["keys"]
    for url in ("file:///etc/passwd", "http://192.0.2.1/keys", "ftp://127.0.0.1/x", "https://[", ""):
        with pytest.raises(BackendError):
            fetch_json(url)
    issuer.document = lambda _: {"x": "y" * 600_000}
    with pytest.raises(BackendError, match="more than"):
        fetch_json(f"{issuer.url}/keys")

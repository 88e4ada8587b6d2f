"""What waits for a person over `/v1/memory`: listed, read, accepted and rejected with the token alone."""

import httpx
import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft

WISH = "The user prefers that the kitchen is closed at ten and never earlier, said the cook of the harbour."


@pytest.fixture(scope="module")
def wish(api):
    """The id of a proposed memory."""
    environ = {**api.environ, "RAGMEM_APPROVAL_ENABLED": "true"}
    with Ragmem.open(environ=environ, home=api.home, cwd=api.home) as memory:
        [one] = memory.ingest([Draft("http", "wish", WISH, title="Wish")], by_agent=True)
    return one.id[:12]


def ids(api, **params):
    return [one["id"] for one in api.read("approvals", **params)["proposals"]]


def test_a_proposal_is_listed_read_accepted_and_taken_back(api, wish):
    found = api.read("approvals")
    assert (found["waiting"], [one["says"] for one in found["proposals"]]) == (1, [f"Wish: {WISH}"])
    assert api.read(f"approvals/{wish}")["text"] == WISH
    assert api.read(f"memories/{wish}")["life"]["approval"] == "proposed"
    done = api.post("approvals", ids=[wish], verdict="accept").json()
    assert (done["proposals"][0]["approval"], done["notes"]) == ("accepted", [])
    assert ids(api) == []
    assert ids(api, approval="accepted") == [wish]
    api.post("approvals", ids=[wish], verdict="reject")
    assert ids(api, approval="rejected") == [wish]


def test_an_unknown_id_or_verdict_changes_nothing(api, wish):
    before = ids(api, approval="rejected")
    assert api.post("approvals", ids=[wish, "zzzzzzzz"], verdict="accept").status_code == 404
    assert api.post("approvals", ids=[wish], verdict="perhaps").status_code == 422
    assert api.post("approvals", ids=[], verdict="accept").status_code == 422
    assert ids(api, approval="rejected") == before


def test_drafts_are_looked_for_in_stored_sessions(api):
    assert api.post("approvals/drafts").json() == {"workflows": 0, "new": 0}
    assert api.post("approvals/drafts", projects=["nobody knows it"]).status_code == 404


def test_without_the_token_nothing_is_told_and_nothing_decided(api, wish):
    with httpx.Client(base_url=api.http.base_url) as stranger:
        assert stranger.get("/v1/memory/approvals").status_code == 401
        decision = {"ids": [wish], "verdict": "accept"}
        assert stranger.post("/v1/memory/approvals", json=decision).status_code == 401

"""What members have shared over `/v1/memory`: reviewed, muted, compared; told to nobody before."""

from types import SimpleNamespace

import pytest
from shared_home import (
    ADA,
    BOB,
    HOSTILE,
    fetch,
    make_shared,
    share,
    statement,
    supersession,
    withdrawal,
)

from ragmem.domain.sharing.record import record_id
from ragmem.server.security.access import role_for


@pytest.fixture
def shared(tmp_path, open_memory, connect):
    """A server over a home that has fetched what Ada, Bob and Eve have shared, and nobody has reviewed."""
    remote, folder = make_shared(tmp_path)
    share(remote, tmp_path, "ada", statement("ada", *ADA))
    share(remote, tmp_path, "bob", statement("bob", *BOB))
    share(remote, tmp_path, "eve", statement("eve", *HOSTILE))
    memory = open_memory()

    def refetch():
        return fetch(tmp_path, folder)

    project = refetch()
    with connect(memory) as client:

        def read(path, **params):
            answer = client.get(f"/v1/memory/{path}", **params)
            assert answer.status_code == 200, answer.text
            return answer.json()

        def decide(verdict, *ids, **more):
            body = {"project": project, "ids": list(ids), "verdict": verdict} | more
            return client.post("/v1/memory/shared/records", **body)

        def told(text="which queue did we decide to use for the tide gauge"):
            matches = client.post("/v1/memory/query", query=text).json()["matches"]
            return {one["metadata"].get("origin") for one in matches}

        yield SimpleNamespace(
            client=client,
            project=project,
            read=read,
            decide=decide,
            told=told,
            refetch=refetch,
            remote=remote,
            place=tmp_path,
        )


def waiting(shared, **params):
    return {one["member"]: one for one in shared.read("shared/records", **params)["records"]}


def test_nothing_is_listed_where_nothing_is_shared(reader):
    assert reader.get("/v1/memory/shared").json() == {"projects": [], "waiting": 0}
    assert reader.get("/v1/memory/shared/records").json() == {"records": [], "waiting": 0}
    assert reader.get("/v1/memory/shared/conflicts").json() == {"conflicts": [], "total": 0}


def test_what_waits_is_told_after_it_was_accepted_with_its_author_and_verdict(shared):
    assert shared.told() == set()
    ada = waiting(shared)["ada"]
    assert (ada["title"], ada["verdict"], ada["approval"]) == (ADA[0], "unsigned", "proposed")
    assert shared.read(f"shared/records/{ada['id']}", project=shared.project)["text"] == ADA[1]
    done = shared.decide("accept", ada["id"]).json()
    assert done["records"][0]["approval"] == "accepted"
    assert shared.told() == {"ada"}
    kept = shared.read(f"memories/{done['records'][0]['memory']}")
    assert (kept["source"], kept["metadata"]["origin"], kept["metadata"]["verdict"]) == (
        "shared", "ada", "unsigned",
    )  # fmt: skip
    assert kept["text"] == ADA[1]
    shared.decide("reject", ada["record"])
    assert shared.told() == set()
    assert shared.read("shared/records", approval="rejected")["records"][0]["id"] == ada["id"]


def test_members_are_counted_muted_and_told_again(shared):
    for one in waiting(shared).values():
        shared.decide("accept", one["id"])
    assert shared.told() >= {"ada", "bob"}
    members = shared.read("shared")["projects"][0]["members"]
    assert [(one["member"], one["memories"], one["waiting"]) for one in members] == [
        ("ada", 1, 0), ("bob", 1, 0), ("eve", 1, 0),
    ]  # fmt: skip

    def mute(member, *, muted):
        body = {"project": shared.project, "muted": muted}
        return shared.client.send("PUT", f"/v1/memory/shared/members/{member}", json=body)

    assert mute("ada", muted=True).json()["memories"] == 1
    assert "ada" not in shared.told()
    assert [one["muted"] for one in shared.read("shared")["projects"][0]["members"]] == [True, False, False]
    assert mute("ada", muted=False).status_code == 200
    assert "ada" in shared.told()
    assert mute("nobody", muted=True).status_code == 404


def test_decisions_that_contradict_each_other_are_shown_with_both_texts_until_one_is_rejected(shared):
    (found,) = shared.read("shared/conflicts")["conflicts"]
    assert {(one["member"], one["text"]) for one in found["memories"]} == {("ada", ADA[1]), ("bob", BOB[1])}
    shared.decide("reject", waiting(shared)["bob"]["id"])
    assert shared.read("shared/conflicts") == {"conflicts": [], "total": 0}


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_a_statement_that_waits_is_decided_on_by_its_id(shared, verdict):
    """An unsigned statement of another never replaces a memory by itself."""
    older, newer = statement("ada", *ADA), statement("bob", *BOB)
    for one in waiting(shared).values():
        shared.decide("accept", one["id"])
    share(shared.remote, shared.place, "bob", supersession("bob", older, newer))
    shared.refetch()
    (said,) = shared.read("shared/records")["records"]
    assert (said["sort"], said["member"]) == ("supersession", "bob")
    assert shared.read("shared")["waiting"] == 1
    assert shared.decide(verdict, said["id"]).status_code == 200
    assert shared.read("shared/records") == {"records": [], "waiting": 0}
    kept = shared.read(f"shared/records/{record_id(older)}", project=shared.project)["memory"]
    assert (shared.read(f"memories/{kept}")["superseded_by"] is not None) == (verdict == "accept")


def test_what_its_author_withdraws_is_told_no_more(shared):
    shared.decide("accept", waiting(shared)["ada"]["id"])
    share(shared.remote, shared.place, "ada", withdrawal("ada", statement("ada", *ADA)))
    shared.refetch()
    assert shared.told() == set()
    members = shared.read("shared")["projects"][0]["members"]
    assert [(one["member"], one["withdrawn"]) for one in members] == [("ada", 1), ("bob", 0), ("eve", 0)]


def test_a_decision_with_an_unknown_id_or_project_changes_nothing(shared):
    before = waiting(shared)
    ada = before["ada"]["id"]
    assert shared.decide("accept", ada, "ffffffffffff").status_code == 404
    assert shared.decide("accept", ada, project="nobody knows it").status_code == 404
    assert shared.decide("perhaps", ada).status_code == 422
    assert shared.decide("accept").status_code == 422
    assert shared.decide("accept", "../../etc").status_code == 422
    assert shared.client.get(f"/v1/memory/shared/records/{ada}").status_code == 422, "the project is missing"
    assert waiting(shared) == before
    assert waiting(shared, member="bob").keys() == {"bob"}
    assert len(shared.read("shared/records", limit=2)["records"]) == 2


def test_nobody_without_the_token_reviews_and_members_of_a_team_must_be_admins(shared):
    stranger = {"headers": {"Authorization": ""}}
    for method, path in (
        ("GET", "/v1/memory/shared"),
        ("GET", "/v1/memory/shared/records"),
        ("GET", "/v1/memory/shared/records/abcdef"),
        ("POST", "/v1/memory/shared/records"),
        ("PUT", "/v1/memory/shared/members/ada"),
        ("GET", "/v1/memory/shared/conflicts"),
    ):
        assert shared.client.send(method, path, **stranger).status_code == 401, path
        role, route = role_for(method, path)
        assert (role, route.startswith("/v1/memory/shared")) == ("admin", True)

"""Memories over HTTP: lists, one whole, what is stored, said and forgotten."""

import base64
import json
import uuid

import pytest

from ragmem.api.memory import Ragmem

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA3"


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def refused(response, status):
    assert response.status_code == status, response.text
    answer = response.json()
    assert answer.keys() == {"detail", "hint"}
    return answer


def titles(page):
    return {one["title"] for one in page["memories"]}


@pytest.mark.parametrize("order", ["newest", "oldest", "changed"])
def test_pages_have_each_memory_once_whatever_is_stored_between_them(api, order):
    tag = uuid.uuid4().hex
    ids = {api.stored(f"Lamp number {n} is made of copper {tag}.", tags=[tag]) for n in range(5)}
    first = api.read("memories", tag=tag, limit=2, order=order)
    assert first["total"] == 5
    seen = [one["id"] for one in first["memories"]]
    for year in ("1999", "2099"):
        api.stored(f"A lamp of {year} {tag}.", tags=[tag], event_time=f"{year}-01-01T00:00:00Z")
    page = first
    while page["next"]:
        page = api.read("memories", tag=tag, limit=2, order=order, cursor=page["next"])
        seen += [one["id"] for one in page["memories"]]
    assert len(seen) == len(set(seen))
    assert ids <= set(seen)


def test_each_filter_of_the_list_lets_only_its_own_through(api):
    tag = uuid.uuid4().hex
    old = api.stored(
        f"An old copper lamp {tag}.", tags=[tag], kind="error", event_time="2001-05-05T00:00:00Z"
    )
    new = api.stored(f"A new 100%_ lamp {tag}.", title=f"100%_ {tag}", tags=[tag, "odd"], kind="research")

    def found(**filters):
        return {one["id"] for one in api.read("memories", tag=tag, **filters)["memories"]}

    assert found() == {old, new}
    assert found(kind="error") == {old}
    assert found(since="2002-01-01") == {new}
    assert found(until="2002-01-01") == {old}
    assert found(since="7d") == {new}
    assert found(title="100%_") == {new}
    assert found(title="1_0") == set()
    assert found(project="notes") == set()
    assert found(project=["notes", "user"]) == {old, new}
    assert found(state="pending") == set()
    assert found(source="sessions") == set()
    assert {one["id"] for one in api.read("memories", tag=[tag, "odd"])["memories"]} == {new}


def test_projects_are_named_as_people_call_them(api):
    assert titles(api.read("memories", project="garden")) == {"Garden"}
    assert "garden" in refused(api.get("memories", project="gardening"), 404)["hint"]


@pytest.mark.parametrize("part", ["Öl für", "ÄXTE", "xte, in"])
def test_a_title_is_found_by_a_part_with_capitals_of_any_alphabet(api, part):
    tag = uuid.uuid4().hex
    oil = api.stored(f"The oil for the axes is in the cellar, {tag}.", title="Öl für ÄXTE, INNEN", tags=[tag])
    assert {one["id"] for one in api.read("memories", tag=tag, title=part)["memories"]} == {oil}


def encoded(*place):
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "AAAA",
        "WzEsMl0",
        "not-base64-at-all",
        encoded("newest", 2**63, "x"),
        encoded("newest", -(2**63) - 1, "x"),
        encoded("newest", 1, "x\0"),
    ],
)
def test_a_cursor_that_was_never_given_is_refused(api, cursor):
    assert "take `next`" in refused(api.get("memories", cursor=cursor), 400)["hint"]


def test_a_cursor_of_another_order_begins_anew(api):
    first = api.read("memories", order="oldest", project="notes", limit=2)
    newest = api.read("memories", order="newest", project="notes", limit=2)
    again = api.read("memories", order="newest", project="notes", limit=2, cursor=first["next"])
    assert again == newest


@pytest.mark.parametrize("since", ["soon", "2026-13-41", "-7d", "2026-02-31"])
def test_what_is_no_date_is_refused(api, since):
    assert api.get("memories", since=since).status_code in {400, 422}


def test_a_value_of_a_wrong_form_is_refused_in_plain_words_with_the_right_form(api):
    answer = refused(api.get("memories", since="soon"), 422)
    [problem] = answer["detail"]
    assert (problem["loc"], problem["msg"]) == (["query", "since"], "the value has a wrong form")
    assert "a date, a timestamp, or a period before now" in answer["hint"]
    answer = refused(api.get("memories/abc"), 422)
    assert answer["hint"] == "A memory's id, or a unique prefix of 4 characters or more."
    answer = refused(api.post("forget", ids=["."], confirm=True), 422)
    assert answer["detail"][0]["msg"] == "the value has a wrong form"
    assert answer["hint"] == "GET /openapi.json describes each request"


def test_an_unknown_parameter_is_refused_rather_than_lost(api):
    problem = refused(api.get("memories", projects="notes"), 422)["detail"][0]
    assert problem["loc"] == ["query", "projects"]


def test_one_memory_has_its_text_entities_life_and_chunks(api):
    [listed] = [one for one in api.read("memories", project="notes")["memories"] if one["title"] == "Deploy"]
    whole = api.read(f"memories/{listed['id']}")
    assert "the old host ran full" in whole["text"]
    assert {"PostgreSQL", "Kubernetes"} <= set(whole["entities"])
    assert whole["chunks"][0]["start"] == 0
    assert whole["life"]["life"] in {"buffer", "proven", "permanent"}
    assert whole["life"]["reason"]
    excerpt = listed.pop("excerpt")
    assert {name: whole[name] for name in listed} == listed
    assert excerpt.removeprefix("# Deploy ") in whole["text"]
    assert api.read(f"memories/{listed['full_id'][:6].upper()}")["id"] == listed["id"]


def test_an_unknown_id_is_404_and_what_is_none_422(api):
    assert "ragmem query --ids" in refused(api.get("memories/zzzzzzzz"), 404)["hint"]
    refused(api.get("memories/abc"), 422)


def test_storing_twice_is_storing_once(api):
    text = f"We pin the copper driver {uuid.uuid4().hex}."
    first = ok(api.post("memories", text=text, title="pinned"))
    second = ok(api.post("memories", text=text, title="pinned"))
    assert (first["change"], second["change"]) == ("new", "unchanged")
    assert first["full_id"] == second["full_id"]


def test_another_text_under_the_same_uri_takes_the_place(api):
    uri = f"note:{uuid.uuid4().hex}"
    first = ok(api.post("memories", text="The port of the copper proxy is 8080.", uri=uri))
    second = ok(api.post("memories", text="The port of the copper proxy is 9090.", uri=uri))
    assert (second["change"], second["full_id"]) == ("changed", first["full_id"])
    assert "9090" in api.read(f"memories/{first['id']}")["text"]


def test_what_was_stored_is_there_for_another_process(api):
    stored = api.stored(f"Durable copper {uuid.uuid4().hex}.")
    with Ragmem.open(environ=api.environ, home=api.home, cwd=api.home) as beside:
        assert beside.memory(stored).text.startswith("Durable copper")


def test_no_secret_is_stored_nor_shown(api):
    stored = api.stored(
        f"The token of the copper proxy is {SECRET} {uuid.uuid4().hex}.",
        title=f"key {SECRET}",
        tags=[f"tag {SECRET}"],
        uri=f"note:{SECRET}",
    )
    assert SECRET not in api.get(f"memories/{stored}").text
    assert SECRET not in api.get("memories").text
    files = [path for path in (api.home / "ragmem").rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "body", [{"text": ""}, {"text": "x", "kind": "poem"}, {"text": "x", "colour": "red"}, {}]
)
def test_a_text_that_is_not_as_described_is_refused(api, body):
    refused(api.post("memories", **body), 422)


@pytest.mark.parametrize(
    "body", [{"text": " \n"}, {"text": "a\0b"}, {"text": "x", "event_time": "0001-01-01T00:00Z"}]
)
def test_a_text_that_cannot_be_stored_is_refused(api, body):
    assert refused(api.post("memories", **body), 400)["hint"]


def test_feedback_counts_and_a_pin_holds(api):
    stored = api.stored(f"Copper of use {uuid.uuid4().hex}.")
    life = ok(api.post(f"memories/{stored}/feedback", verdict="good", session="s1"))["life"]
    assert (life["feedback"], life["sessions"]) == (1, 1)
    for _ in range(2):
        life = ok(api.http.put(f"/v1/memory/memories/{stored}/pin", json={"pinned": True}))["life"]
        assert (life["pinned"], life["life"]) == (True, "permanent")
    life = ok(api.http.put(f"/v1/memory/memories/{stored}/pin", json={"pinned": False}))["life"]
    assert not life["pinned"]
    refused(api.post(f"memories/{stored}/feedback", verdict="splendid"), 422)


@pytest.mark.parametrize("confirm", [{}, {"confirm": False}])
def test_nothing_is_forgotten_without_confirmation(api, confirm):
    stored = api.stored(f"Copper to keep {uuid.uuid4().hex}.")
    refused(api.post("forget", ids=[stored], **confirm), 422)
    assert api.read(f"memories/{stored}")["id"] == stored


def test_what_is_forgotten_lies_in_the_archive_tells_its_history_and_comes_back(api):
    stored = api.stored(f"Copper to forget {uuid.uuid4().hex}.")
    run = ok(api.post("forget", ids=[stored, stored], confirm=True))
    assert run["forgotten"] == 1
    assert (
        "ragmem gc --restore" in refused(api.post(f"memories/{stored}/feedback", verdict="good"), 404)["hint"]
    )
    assert [one["what"] for one in api.read(f"memories/{stored}/history")["history"]][-1] == "archived"
    archived = api.read("archive", run=run["run"])
    assert [(one["id"], one["rule"]) for one in archived["archived"]] == [(stored, "asked")]
    assert ok(api.post(f"archive/{stored}/restore"))["restored"].startswith(stored)
    assert api.read(f"memories/{stored}")["life"]["life"] == "proven"
    refused(api.post(f"archive/{stored}/restore"), 404)


def test_forgetting_is_all_or_none(api):
    stored = api.stored(f"Copper that stays {uuid.uuid4().hex}.")
    refused(api.post("forget", ids=[stored, "zzzzzzzz"], confirm=True), 404)
    assert api.read(f"memories/{stored}")["id"] == stored

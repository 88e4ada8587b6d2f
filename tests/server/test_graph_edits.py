"""Changes of the graph over LightRAG's routes, on LightRAG's own store."""

import pytest

from ragmem.api.memory import Ragmem, now
from ragmem.services.entities import merges
from ragmem.services.projects.projects import join
from tests.server.conftest import client_of, environment

NOTES = (
    "We decided that the Mailer takes its work from RabbitMQ, as Celery lost tasks. It runs on Kubernetes.",
    "The root cause was RabbitMQ: its memory watermark was too low. We raised it for RabbitMQ on Kubernetes.",
    "Bunny is the queue that the Mailer of the old host used; Bunny lost messages after each restart.",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    home = tmp_path_factory.mktemp("graph")
    variables = environment(home, RAGMEM_STORE_BACKEND="lightrag")
    with Ragmem.open(environ=variables, home=home, cwd=home) as memory, client_of(memory) as made:
        for number, text in enumerate(NOTES):
            ok(made.post("/documents/text", text=text, file_source=f"note {number}"))
        made.memory = memory
        yield made


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def node(client, name):
    (found,) = [one for one in ok(client.get("/graphs", label=name))["nodes"] if one["labels"] == [name]]
    return found["properties"]


def edge(client, one, other):
    found = [
        each["properties"]
        for each in ok(client.get("/graphs", label=one, max_depth=1))["edges"]
        if {each["source"].partition("/")[2], each["target"].partition("/")[2]} == {one, other}
    ]
    return found[0] if found else None


def exists(client, name):
    return ok(client.get("/graph/entity/exists", name=name))["exists"]


def make_graph_anew(client):
    """Take everything out of the store and put it in again, as after a loss of what is derived."""
    memory = client.memory
    memory.store.delete(sorted(memory.store.memory_ids()))
    with memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET state = 'pending'")
    assert not memory.inbox.index_pending()


def test_an_edited_description_and_type_hold_also_when_the_graph_is_made_anew(client):
    answer = ok(
        client.post(
            "/graph/entity/edit",
            entity_name="Kubernetes",
            updated_data={"description": "Where all of it runs.", "entity_type": "platform"},
            allow_rename=True,
            allow_merge=False,
        )
    )
    assert answer["operation_summary"]["operation_status"] == "success"
    assert answer["data"]["description"] == "Where all of it runs."
    make_graph_anew(client)
    shown = node(client, "Kubernetes")
    assert (shown["description"], shown["entity_type"]) == ("Where all of it runs.", "platform")
    ok(client.post("/graph/entity/edit", entity_name="Kubernetes", updated_data={"entity_type": "cluster"}))
    assert node(client, "Kubernetes")["entity_type"] == "cluster"
    assert node(client, "Kubernetes")["description"] == "Where all of it runs."


def test_entities_that_are_merged_are_one_until_that_is_undone(client):
    answer = ok(
        client.post("/graph/entities/merge", entities_to_change=["Bunny"], entity_to_change_into="RabbitMQ")
    )
    assert answer["data"]["merged_entity"] == "RabbitMQ"
    assert not exists(client, "Bunny")
    later = "We measured that Bunny and the Mailer need 40 MB, because Bunny keeps an index in memory."
    ok(client.post("/documents/text", text=later, file_source="later"))
    make_graph_anew(client)
    assert not exists(client, "Bunny")
    assert exists(client, "RabbitMQ")
    (merge,) = [one for one in merges.merges(client.memory.catalog, name="Bunny") if one.rule == "asked"]
    assert (merge.name, merge.into) == ("Bunny", "RabbitMQ")
    merges.undo(client.memory.catalog, client.memory.store, merge.key, now=now())
    assert exists(client, "Bunny")
    again = {"entities_to_change": ["Bunny"], "entity_to_change_into": "RabbitMQ"}
    ok(client.post("/graph/entities/merge", **again))
    assert not exists(client, "Bunny")
    merges.undo(client.memory.catalog, client.memory.store, merge.key, now=now())
    assert exists(client, "Bunny")


def test_an_entity_goes_by_its_new_name_though_texts_use_the_old_one(client):
    edit = {"entity_name": "Celery", "updated_data": {"entity_name": "Old Queue"}}
    refused = client.post("/graph/entity/edit", **edit)
    assert refused.status_code == 400
    assert "allow_rename" in refused.json()["hint"]
    summary = ok(client.post("/graph/entity/edit", **edit, allow_rename=True))["operation_summary"]
    assert summary["renamed"]
    assert not summary["merged"]
    assert summary["final_entity"] == "Old Queue"
    make_graph_anew(client)
    assert exists(client, "Old Queue")
    assert not exists(client, "Celery")


def test_a_new_name_that_another_entity_has_needs_a_word_more(client):
    edit = {"entity_name": "Kubernetes", "updated_data": {"entity_name": "RabbitMQ"}, "allow_rename": True}
    assert client.post("/graph/entity/edit", **edit).status_code == 400
    assert exists(client, "Kubernetes")


def test_what_was_created_is_related_edited_and_deleted(client):
    new = {"entity_name": "Postmaster", "entity_data": {"entity_type": "person", "description": "Reads it."}}
    assert ok(client.post("/graph/entity/create", **new))["data"]["entity_type"] == "person"
    assert client.post("/graph/entity/create", **new).status_code == 400
    ends = {"source_entity": "Postmaster", "target_entity": "Mailer"}
    ok(
        client.post(
            "/graph/relation/create", **ends, relation_data={"description": "Watches it.", "weight": 2}
        )
    )
    assert client.post("/graph/relation/create", **ends, relation_data={}).status_code == 400
    ok(
        client.post(
            "/graph/relation/edit",
            source_id="Mailer",
            target_id="Postmaster",
            updated_data={"keywords": "watches"},
        )
    )
    make_graph_anew(client)
    shown = edge(client, "Postmaster", "Mailer")
    assert (shown["description"], shown["keywords"]) == ("Watches it.", "watches")
    gone = client.send("DELETE", "/graph/relation/delete", json=ends)
    assert ok(gone)["status"] == "success"
    assert edge(client, "Postmaster", "Mailer") is None
    assert ok(client.send("DELETE", "/graph/entity/delete", json={"entity_name": "Postmaster"}))
    assert not exists(client, "Postmaster")
    assert client.send("DELETE", "/graph/relation/delete", json=ends).status_code == 404


def test_an_entity_is_deleted_with_its_relations_and_comes_back_with_them(client):
    for name in ("Orchard", "Trellis"):
        data = {"description": f"{name} of the garden.", "entity_type": "platform"}
        ok(client.post("/graph/entity/create", entity_name=name, entity_data=data))
    ends = {"source_entity": "Orchard", "target_entity": "Trellis"}
    ok(client.post("/graph/relation/create", **ends, relation_data={"description": "It leans on it."}))
    gone = ok(client.send("DELETE", "/graph/entity/delete", json={"entity_name": "Orchard"}))
    assert not exists(client, "Orchard")
    assert exists(client, "Trellis")
    client.memory.gc.undo(gone["message"].rpartition("--undo ")[2].partition("`")[0])
    assert exists(client, "Orchard")
    assert ok(client.get("/graphs", label="Orchard", max_depth=1))["edges"]


def test_an_edit_that_is_refused_changes_nothing(client):
    data = {"description": "A lamp that stays.", "entity_type": "platform"}
    ok(client.post("/graph/entity/create", entity_name="Lampion", entity_data=data))
    edit = {"description": "half done", "entity_name": "x" * 300}
    refused = client.post("/graph/entity/edit", entity_name="Lampion", updated_data=edit, allow_rename=True)
    assert refused.status_code == 400
    (node,) = ok(client.get("/graphs", label="Lampion", max_depth=1))["nodes"]
    assert node["properties"]["description"] == "A lamp that stays."


def test_what_texts_say_is_not_deleted_and_the_answer_says_why(client):
    refused = client.send("DELETE", "/graph/entity/delete", json={"entity_name": "RabbitMQ"})
    assert refused.status_code == 409
    assert "texts" in refused.json()["detail"]
    assert refused.json()["hint"]
    assert exists(client, "RabbitMQ")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("entity/edit", {"entity_name": "Nobody", "updated_data": {}}, 404),
        ("entity/edit", {"entity_name": "Mailer", "updated_data": {"source_id": "x"}}, 422),
        ("entity/create", {"entity_name": "x", "entity_data": {}}, 422),
        ("relation/create", {"source_entity": "Mailer", "target_entity": "Nobody", "relation_data": {}}, 404),
        ("relation/create", {"source_entity": "Mailer", "target_entity": "Mailer", "relation_data": {}}, 400),
        ("relation/edit", {"source_id": "Mailer", "target_id": "Bunny", "updated_data": {"weight": 3}}, 422),
        ("entities/merge", {"entities_to_change": ["Mailer"], "entity_to_change_into": "Mailer"}, 400),
        ("entities/merge", {"entities_to_change": [], "entity_to_change_into": "Mailer"}, 422),
        ("entity/edit", {"entity_name": "Mailer", "updated_data": {}, "project": "nowhere"}, 404),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_with_the_reason(client, path, body, status):
    refused = client.post(f"/graph/{path}", **body)
    assert refused.status_code == status, refused.text
    assert refused.json()["detail"]


def test_where_several_projects_have_a_name_the_project_says_which_is_meant(client):
    for project in ("shop", "bank"):
        text = f"We decided that Zanzibar of the {project} talks to Pemba, because the old one lost calls."
        ok(client.post("/documents/text", text=text, file_source=project, project=project))
    refused = client.post("/graph/entity/edit", entity_name="Zanzibar", updated_data={"entity_type": "host"})
    assert refused.status_code == 409
    assert "project" in refused.json()["hint"]
    assert [key for key, _ in named(client, "Zanzibar")] == ["bank/Zanzibar", "shop/Zanzibar"]
    edit = {"entity_name": "shop/Zanzibar", "updated_data": {"entity_type": "host"}}
    assert ok(client.post("/graph/entity/edit", **edit))["data"]["project"] == "shop"
    (_, of_bank), (_, of_shop) = named(client, "Zanzibar")
    assert of_shop == "host" != of_bank


def named(client, name):
    nodes = ok(client.get("/graphs", label=name, max_depth=1))["nodes"]
    parts = [one["properties"] for one in nodes if one["labels"] == [name]]
    return sorted((part["entity_id"], part["entity_type"]) for part in parts)


def test_a_part_of_the_whole_graph_has_some_of_each_project(client):
    for project in ("shop", "bank"):
        text = f"We decided that Unguja of the {project} talks to Pemba, because the old one lost calls."
        ok(client.post("/documents/text", text=text, file_source=f"u {project}", project=project))

    def projects(most):
        nodes = ok(client.get("/graphs", label="*", max_nodes=most))["nodes"]
        return {one["id"].partition("/")[0] for one in nodes}

    every = projects(1000)
    assert every >= {"bank", "shop", "user"}
    assert projects(len(every)) == every


def test_what_a_person_states_goes_along_when_two_projects_are_joined(client):
    for project in ("pier", "dock"):
        text = f"We decided that Tumbatu of the {project} talks to Misali, because the old one lost calls."
        ok(client.post("/documents/text", text=text, file_source=f"t {project}", project=project))
    edited = {"entity_name": "Tumbatu", "project": "pier", "updated_data": {"description": "The old crane."}}
    ok(client.post("/graph/entity/edit", **edited))
    memory = client.memory
    join(memory.projects.changes(), "pier", "dock")
    assert node(client, "Tumbatu")["description"] == "The old crane."
    edited |= {"project": "dock", "updated_data": {"description": "The new crane."}}
    ok(client.post("/graph/entity/edit", **edited))
    assert node(client, "Tumbatu")["description"] == "The new crane."
    stated = memory.catalog.overview.places(sources=["graph"])
    assert len([uri for _, _, uri in stated if "Tumbatu" in uri]) == 1

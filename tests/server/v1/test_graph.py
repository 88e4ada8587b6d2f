"""The graph over HTTP: compact, one entity, ways and groups."""

import pytest


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def names(graph):
    return [node["name"] for node in graph["nodes"]]


def test_the_compact_graph_has_nodes_by_degree_and_edges_between_them(api):
    graph = api.read("graph", project="notes")
    assert {"PostgreSQL", "Kubernetes", "Redis"} <= set(names(graph))
    degrees = [node["degree"] for node in graph["nodes"]]
    assert degrees == sorted(degrees, reverse=True)
    assert sum(graph["types"].values()) == graph["total_nodes"] == len(graph["nodes"])
    assert len(graph["edges"]) == graph["total_edges"] > 0
    joined = {frozenset((names(graph)[one], names(graph)[other])) for one, other, _ in graph["edges"]}
    assert frozenset(("PostgreSQL", "Kubernetes")) in joined
    assert all(weight > 0 for _, _, weight in graph["edges"])
    postgres = graph["nodes"][names(graph).index("PostgreSQL")]
    assert postgres["memories"] == 2
    assert graph["projects"][postgres["project"]].startswith("notes")
    assert 0 < postgres["first"] <= postgres["last"]


def test_the_same_question_gives_the_same_graph_to_the_byte(api):
    parameters = {"project": "notes", "limit": 3}
    assert api.get("graph", **parameters).content == api.get("graph", **parameters).content


def test_what_is_cut_is_told(api):
    whole, cut = api.read("graph", project="notes"), api.read("graph", project="notes", limit=2, edges=0)
    assert names(cut) == names(whole)[:2]
    assert cut["edges"] == []
    assert cut["is_truncated"]
    assert not whole["is_truncated"]
    assert cut["total_nodes"] == whole["total_nodes"]
    assert cut["types"] == whole["types"]


def test_types_times_and_projects_narrow_the_graph(api):
    whole = api.read("graph", project="notes")
    tools = api.read("graph", project="notes", kind="tool")
    assert {node["type"] for node in tools["nodes"]} == {"tool"}
    assert len(tools["nodes"]) == whole["types"]["tool"]
    assert api.read("graph", project="notes", until="2001-01-01")["nodes"] == []
    assert names(api.read("graph", project="notes", since="7d")) == names(whole)
    garden = api.read("graph", project="garden")
    assert "PostgreSQL" not in names(garden)
    assert all(node["degree"] for node in api.read("graph", alone=False)["nodes"])


def test_a_graph_that_one_has_is_not_sent_again_until_it_changes(api):
    first = api.get("graph", project="user")
    tag = first.headers["ETag"]

    def again(**headers):
        return api.http.get("/v1/memory/graph", params={"project": "user"}, headers=headers)

    unchanged = again(**{"If-None-Match": tag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert again(**{"If-None-Match": '"other"'}).status_code == 200
    api.stored("We chose Grafana 11 because Prometheus alone draws no dashboards for MariaDB.")
    changed = again(**{"If-None-Match": tag})
    assert changed.status_code == 200
    assert {"Grafana", "Prometheus"} <= set(names(ok(changed)))


def test_an_entity_has_its_memories_and_neighbours(api):
    found = api.read("entity", name="postgresql", project="notes")
    assert found["entity"]["name"] == "PostgreSQL"
    assert {one["title"] for one in found["memories"]} == {"Deploy", "Driver"}
    assert "Kubernetes" in {one["name"] for one in found["neighbours"]}
    limited = api.read("entity", name="PostgreSQL", project="notes", limit=1)
    assert len(limited["memories"]) == 1
    unknown = api.get("entity", name="PostgreSQLL", project="notes")
    assert unknown.status_code == 404
    assert "PostgreSQL" in unknown.json()["hint"]


def test_entities_are_listed_by_the_beginning_of_their_names(api):
    listed = api.read("entities", prefix="POST", project="notes")["entities"]
    assert [one["name"] for one in listed] == ["PostgreSQL"]
    degrees = [one["degree"] for one in api.read("entities", project="notes")["entities"]]
    assert degrees == sorted(degrees, reverse=True)


def test_an_entity_s_timeline_is_in_the_order_of_the_events(api):
    told = api.read("entity/timeline", name="PostgreSQL", project="notes")
    assert told["total"] == 2
    moments = [event["event_time"] for event in told["events"]]
    assert moments == sorted(moments)
    assert (told["first"], told["last"]) == (moments[0], moments[-1])


def test_a_way_leads_from_one_entity_to_another(api):
    found = api.read("path", **{"from": "PostgreSQL", "to": "Kubernetes", "project": "notes"})
    assert found["paths"][0]["names"] == ["PostgreSQL", "Kubernetes"]
    none = api.read("path", **{"from": "PostgreSQL", "to": "Celery", "project": "notes"})
    assert none["paths"] == []


def test_communities_tell_who_belongs_together(api):
    found = api.read("communities", project="notes")
    assert found["total"] == len(found["communities"]) > 0
    around = api.read("communities", project="notes", around="Redis")["communities"]
    assert len(around) == 1
    assert "Redis" in around[0]["members"]


@pytest.mark.parametrize("path", ["graph", "entities", "communities"])
def test_an_unknown_project_is_404_with_the_known_ones(api, path):
    response = api.get(path, project="nowhere")
    assert response.status_code == 404
    assert "garden" in response.json()["hint"]


@pytest.mark.parametrize("name", ["~nobody-at-all/x", "../../etc/passwd", "/etc/passwd"])
def test_a_project_that_looks_like_a_path_is_only_an_unknown_name(api, name):
    assert api.get("graph", project=name).status_code == 404

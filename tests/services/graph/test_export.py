"""The graph as files that other programs read: the same nodes and edges, whatever their names hold."""

import io
import json
import re

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem, now
from ragmem.charts.svg_parts import replace_forbidden
from ragmem.domain.model import Draft, Entity, Extraction, Record, Relation, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.graph.files import Edge, Node, open_graph
from ragmem.services.ingestion.classify import classify_draft

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ODD = [
    '<b>"A & B"</b>',
    "it's `code`",
    "#34; [x] {y} | z",
    "1. first",
    "línea → 漢字 🙂",
    "tab\there",
    "bell\x07",
]

NAMES = st.lists(st.text(min_size=1, max_size=12).map(replace_forbidden), min_size=1, max_size=8, unique=True)


@pytest.fixture(params=["fake", "lightrag"])
def memory(request, open_memory) -> Ragmem:
    return open_memory(RAGMEM_STORE_BACKEND=request.param)


def put(memory, relations, *, names=(), project="user", text="They are related."):
    memory.prepare()
    judged = classify_draft(
        Draft("notes", f"{project}/{text}", text, event_time=now(), scope=Scope(project)),
        now=now(),
        sizes=memory.settings.chunking,
        rule="off",
        redactor=DEFAULT,
    )
    memory.catalog.memories.accept([(judged.memory, judged.chunks)])
    every = dict.fromkeys([*names, *(name for pair in relations for name in pair)])
    extraction = Extraction(
        judged.chunks[0].id,
        tuple(Entity(name, "tool", f"{name} is told of.") for name in every),
        tuple(Relation(source, target, "uses", text) for source, target in relations),
    )
    memory.store.put([Record(judged.memory, judged.chunks, (extraction,))])


def exported(memory, form, *, projects=None, **options):
    file = io.BytesIO()
    done = memory.graph(projects).export(form, file, **options)
    return file.getvalue(), done


def read(form, data):
    """Return the graph as networkx reads it."""
    if form == "graphml":
        return nx.read_graphml(io.BytesIO(data))
    return nx.node_link_graph(json.loads(data), edges="edges")


def ends(graph):
    return {frozenset(pair) for pair in graph.edges}


@pytest.mark.parametrize("form", ["graphml", "json"])
def test_an_export_has_the_same_nodes_and_edges_as_the_store(memory, form):
    pairs = list(zip(ODD, [*ODD[1:], ODD[0]], strict=True))
    put(memory, pairs, names=["alone"])
    data, done = exported(memory, form)
    graph = read(form, data)

    stored = {entity.name: entity for entity, _ in memory.store.nodes("user")}
    shown = {name: replace_forbidden(name) for name in stored}
    assert set(graph) == set(shown.values())
    assert {graph.nodes[shown[name]]["description"] for name in stored} == {
        replace_forbidden(entity.description) if form == "graphml" else entity.description
        for entity in stored.values()
    }
    assert ends(graph) == {
        frozenset((shown[one.source], shown[one.target])) for one in memory.store.edges("user")
    }
    assert all(graph.edges[pair]["weight"] == 1.0 for pair in graph.edges)
    assert (done.entities, done.relations, done.truncated) == (len(stored), len(ends(graph)), False)
    assert not graph.is_directed()


@pytest.mark.parametrize("form", ["graphml", "json"])
@given(NAMES, st.data())
def test_whatever_its_names_a_graph_reads_back_as_it_was_written(form, names, data):
    pairs = data.draw(
        st.lists(st.sampled_from(names).flatmap(lambda a: st.tuples(st.just(a), st.sampled_from(names))))
    )
    edges = {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}
    file = io.BytesIO()
    with open_graph(form, file) as output:
        for name in names:
            output.node(Node(name, name, "tool", f"about\n{name}", "user"))
        for source, target in edges:
            output.edge(Edge(source, target, 0.25, "uses", name))
    graph = read(form, file.getvalue())

    assert set(graph) == set(names)
    assert ends(graph) == {frozenset(pair) for pair in edges}
    assert all(graph.nodes[name]["description"] == f"about\n{name}" for name in names)


LINE = re.compile(
    r'flowchart LR|  n\d+\["[^"\[\]{}<>|`&\\\x00-\x1f]*"\]|  n\d+ ---(\|"[^"\[\]{}<>|`&\\]+"\|)? n\d+'
)


@given(NAMES)
def test_no_name_can_break_out_of_a_mermaid_diagram(names):
    file = io.BytesIO()
    with open_graph("mermaid", file) as output:
        for name in names:
            output.node(Node(name, name, "tool", name, "user"))
        output.edge(Edge(names[0], names[-1], 1.0, names[0], ""))
    lines = file.getvalue().decode().splitlines()

    assert len(lines) == len(names) + 2
    assert [line for line in lines if not LINE.fullmatch(line)] == []


@pytest.mark.parametrize("form", ["graphml", "json", "mermaid"])
def test_secrets_are_replaced_and_names_stay_apart(memory, form):
    put(memory, [(TOKEN, "service"), (TOKEN[:-1] + "Z", "service")], text=f"The token is {TOKEN}.")
    data, done = exported(memory, form)
    assert b"ghp_" not in data
    assert data.count(b"redacted") >= 2
    assert (done.entities, done.relations) == (3, 2)
    if form != "mermaid":
        assert len(read(form, data)) == 3


def test_each_name_says_its_project_where_there_are_several(memory):
    put(memory, [("Redis", "tides")], project="tideline")
    put(memory, [("Redis", "gulls")], project="gullwing")
    data, _ = exported(memory, "json")
    graph = read("json", data)
    assert set(graph) == {"tideline/Redis", "tideline/tides", "gullwing/Redis", "gullwing/gulls"}
    assert nx.number_connected_components(graph) == 2
    data, _ = exported(memory, "graphml", projects=["gullwing"])
    assert set(read("graphml", data)) == {"Redis", "gulls"}


def test_around_an_entity_of_several_projects_there_are_no_more_than_asked_for(memory):
    for project in ("tideline", "gullwing", "user"):
        put(memory, [("Redis", project)], project=project, text=f"Redis serves {project}.")
    for limit in (1, 2, 3):
        data, done = exported(memory, "json", around="Redis", limit=limit)
        assert len(json.loads(data)["nodes"]) == done.entities == limit
        assert done.truncated


def test_what_is_around_an_entity_can_be_exported_alone(memory):
    put(memory, [("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")])
    for depth, wanted in ((1, {"a", "b"}), (2, {"a", "b", "c"}), (9, {"a", "b", "c", "d"})):
        data, done = exported(memory, "graphml", around="A", depth=depth)
        graph = read("graphml", data)
        assert set(graph) == wanted
        assert (len(ends(graph)), done.truncated) == (len(wanted) - 1, False)
    data, done = exported(memory, "json", around="b", limit=2)
    assert (len(read("json", data)), done.truncated) == (2, True)


def test_of_a_limited_export_the_most_connected_are_kept_with_what_is_between_them(memory):
    put(
        memory,
        [("hub", f"leaf {number}") for number in range(5)] + [("leaf 0", "leaf 1"), ("leaf 0", "leaf 2")],
    )
    data, done = exported(memory, "graphml", limit=2)
    graph = read("graphml", data)
    assert set(graph) == {"hub", "leaf 0"}
    assert ends(graph) == {frozenset(("hub", "leaf 0"))}
    assert done.truncated


def test_a_diagram_stays_small_enough_to_be_drawn(memory):
    put(memory, [(f"n{one}", f"n{other}") for one in range(34) for other in range(one)])
    put(memory, [(f"m{number}", "n0") for number in range(40)], text="More.")
    data, done = exported(memory, "mermaid")
    assert (done.entities, done.relations, done.truncated) == (60, 500, True)
    assert len(data.decode().splitlines()) == 561


@pytest.mark.parametrize("form", ["graphml", "json", "mermaid"])
def test_an_empty_graph_is_a_valid_file(memory, form):
    put(memory, [])
    data, done = exported(memory, form)
    assert (done.entities, done.relations) == (0, 0)
    if form != "mermaid":
        assert len(read(form, data)) == 0

"""A query gets the relations that it would keep of all, however many its entities have; others get all."""

import random

import pytest

from ragmem.backends.lightrag import engine, native
from ragmem.backends.lightrag.rows import graph_sql
from ragmem.backends.lightrag.storages import query_relations
from ragmem.testing import make_record

WORKSPACE = "graph"


@pytest.fixture
def storage(store):
    return store._engine.instance(WORKSPACE).rag.chunk_entity_relation_graph


def run(function, *arguments, **options):
    return engine.run(lambda: function(*arguments, **options))


@pytest.fixture
def graph(storage):
    """Two hubs, entities with some edges among each other, and many that only a hub knows."""
    chance = random.Random(5)
    middle = [f"Middle {number}" for number in range(40)]
    edges = {tuple(sorted(chance.sample(middle, 2))) for _ in range(150)}
    edges |= {("Hub A", name) for name in middle[:30]} | {("Hub B", name) for name in middle[10:]}
    edges |= {("Hub A", f"Leaf {number:03}") for number in range(300)} | {("Hub A", "Hub B")}
    run(
        storage.upsert_edges_batch,
        [(one, other, {"weight": float(chance.randint(1, 5))}) for one, other in sorted(edges)],
    )
    return edges


def ranks(database, pairs, workspace=WORKSPACE):
    with database.read() as connection:
        degree = graph_sql.degrees(connection, workspace, {name for pair in pairs for name in pair})
        weight = {pair: data["weight"] for pair, data in graph_sql.edges(connection, workspace, pairs)}
    return sorted(((degree[a] + degree[b], weight[a, b]) for a, b in pairs), reverse=True)


def leading_pairs(database, names, limit):
    with database.read() as connection:
        found = query_relations.top_relations(connection, WORKSPACE, names, limit)
    return {tuple(sorted((name, other))) for name, others in found.items() for other in others}


@pytest.mark.parametrize("limit", [1, 20, 100, 10_000])
@pytest.mark.parametrize("names", [["Hub A"], ["Hub B", "Middle 3"], ["Hub A", "Hub B", "Leaf 007"]])
def test_the_leading_edges_are_those_that_lightrag_ranks_highest(database, graph, names, limit):
    every = [pair for pair in graph if set(pair) & set(names)]
    found = leading_pairs(database, names, limit)
    assert found <= set(every)
    assert ranks(database, found) == ranks(database, every)[:limit]


def test_of_a_great_hub_those_to_the_most_connected_lead(database, graph, monkeypatch):
    monkeypatch.setattr(query_relations, "HUB_DEGREE", 60)
    every = [pair for pair in graph if "Hub A" in pair]
    assert ranks(database, leading_pairs(database, ["Hub A"], 25)) == ranks(database, every)[:25]
    assert len(leading_pairs(database, ["Hub A"], 100)) == 100


def test_reading_a_great_hub_takes_as_long_as_reading_a_lesser_one(storage, database):
    def work(edges):
        leaves = [("Hub", f"Leaf {number:05}", {"weight": 1.0}) for number in range(edges)]
        run(storage.upsert_edges_batch, leaves)
        with database.read() as connection:
            steps = 0

            def count():
                nonlocal steps
                steps += 1

            connection.set_progress_handler(count, 100)
            try:
                found = query_relations.top_relations(
                    connection, WORKSPACE, ["Hub"], query_relations.RELATIONS_OF_A_QUERY
                )
            finally:
                connection.set_progress_handler(None, 0)
        assert len(found["Hub"]) == query_relations.RELATIONS_OF_A_QUERY
        return steps

    lesser = work(query_relations.HUB_DEGREE + 1)
    assert work(3 * query_relations.HUB_DEGREE) < 1.3 * lesser


def test_only_a_query_is_given_the_leading_edges_alone(storage, graph, monkeypatch):
    monkeypatch.setattr(query_relations, "RELATIONS_OF_A_QUERY", 10)
    every = sum("Hub A" in pair for pair in graph)
    with query_relations.limit_relations():
        assert len(run(storage.get_nodes_edges_batch, ["Hub A"])["Hub A"]) == 10
        assert len(run(storage.get_node_edges, "Hub A")) == every
    assert len(run(storage.get_nodes_edges_batch, ["Hub A"])["Hub A"]) == every


@pytest.mark.parametrize("mode", ["local", "hybrid", "mix"])
def test_an_answer_from_the_leading_edges_is_the_answer_from_all(store, database, mode):
    chance = random.Random(7)
    entities = [f"Entity {number}" for number in range(120)]
    records = []
    for number in range(160):
        named = ["Hub", *chance.sample(entities, 4)]
        pairs = [("Hub", named[1]), ("Hub", named[2]), (named[1], named[3]), (named[2], named[4])]
        records.append(
            make_record(f"memory-{number}", f"{number} of {' '.join(named)}", entities=named, relations=pairs)
        )
    store.put(records)
    project = records[0].memory.scope.project
    instance = store._engine.instance(project)
    question, options = "the Hub of Entity 7", {"keywords": ["Hub", "Entity 7"], "limit": 40}
    with_all = run(native.ask, instance, question, mode, **options)
    answer = store.native.native_query(question, mode, project=project, **options)

    def told(document):
        # Which of equal rank comes first is left to chance.
        pairs = {
            graph_sql.sort_pair(relation["src_id"], relation["tgt_id"])
            for relation in document["data"]["relationships"]
        }
        entities = [entity["entity_name"] for entity in document["data"]["entities"]]
        return ranks(database, pairs, project), entities

    with database.read() as connection:
        (edges,) = connection.execute("SELECT count(*) FROM store_edges").fetchone()
    assert edges > query_relations.RELATIONS_OF_A_QUERY
    assert 100 < len(told(answer)[0]) < edges
    assert told(answer) == told(with_all)

"""What LightRAG asks for in bulk is answered in bulk, and a batch merges as single memories would."""

import asyncio
import random
import re

import pytest

from ragmem.backends.lightrag import engine, graph_dump
from ragmem.backends.lightrag.rows import names, records
from ragmem.backends.lightrag.storages import registration
from ragmem.testing import make_record

LEFT_TO_THE_BASE = {
    # Nothing to open or close: the database belongs to the home, and all but vectors are written at once.
    "initialize": {"KV", "VECTOR", "GRAPH", "DOC_STATUS"},
    "finalize": {"KV", "GRAPH", "DOC_STATUS"},
    "drop_pending_index_ops": {"KV", "GRAPH", "DOC_STATUS"},
    # Plain computation on the arguments.
    "resolve_status_filter_values": {"DOC_STATUS"},
    # An operator's repair of stores where one file had several documents: ours never had, and LightRAG says
    # in its capabilities that the storage does not offer it.
    "list_source_conflicts_page": {"DOC_STATUS"},
    "repair_source_conflict": {"DOC_STATUS"},
}


@pytest.fixture
def rag(store):
    return store._engine.instance("bulk").rag


def run(function, *arguments, **options):
    return engine.run(lambda: function(*arguments, **options))


@pytest.mark.parametrize("kind", ["KV", "VECTOR", "GRAPH", "DOC_STATUS"])
def test_every_method_of_lightrags_base_class_is_ours_or_left_to_it_for_a_reason(kind, tmp_path):
    registration.import_lightrag(tmp_path)
    from lightrag.kg.factory import get_storage_class

    ours = get_storage_class(getattr(registration, kind))
    inherited = {
        name
        for base in ours.__mro__[1:-1]
        for name, member in vars(base).items()
        if not name.startswith("_")
        and (callable(member) or isinstance(member, staticmethod))
        and name not in vars(ours)
    }
    assert inherited == {name for name, kinds in LEFT_TO_THE_BASE.items() if kind in kinds}


class Statements:
    """Counts the statements of a connection while it is entered."""

    def __init__(self, database):
        self.connection = database.connection()
        self.count = 0

    def __enter__(self):
        self.connection.set_trace_callback(self.add)
        return self

    def __exit__(self, *_):
        self.connection.set_trace_callback(None)

    def add(self, statement):
        self.count += statement.split()[0] not in {"BEGIN", "ROLLBACK", "COMMIT", "--"}


def names_of(count):
    return [f"Entity {number:03}" for number in range(count)]


def pairs_of(count):
    return [(name, "Hub") for name in names_of(count)]


READS = {
    "has_nodes_batch": ("chunk_entity_relation_graph", names_of),
    "get_nodes_batch": ("chunk_entity_relation_graph", names_of),
    "node_degrees_batch": ("chunk_entity_relation_graph", names_of),
    "edge_degrees_batch": ("chunk_entity_relation_graph", pairs_of),
    "get_nodes_edges_batch": ("chunk_entity_relation_graph", names_of),
    "get_edges_batch": (
        "chunk_entity_relation_graph",
        lambda count: [{"src": one, "tgt": other} for one, other in pairs_of(count)],
    ),
    "get_by_ids": ("text_chunks", names_of),
    "filter_keys": ("entity_chunks", lambda count: set(names_of(count))),
    "get_vectors_by_ids": ("entities_vdb", names_of),
    "get_docs_by_ids": ("doc_status", names_of),
    "get_full_docs_by_ids": ("doc_status", names_of),
}


@pytest.mark.parametrize("method", READS)
def test_a_bulk_read_takes_no_more_statements_for_two_hundred_than_for_one(rag, database, method):
    attribute, arguments = READS[method]
    storage = getattr(rag, attribute)
    counts = []
    for size in (1, 200):
        with Statements(database) as statements:
            run(getattr(storage, method), arguments(size))
        counts.append(statements.count)
    assert counts[0] == counts[1] > 0


def test_many_tracking_rows_take_the_statements_of_one_and_are_as_single_reads_give_them(rag, database):
    rows = {
        name: {"chunk_ids": [f"c{number}" for number in range(place % 40)]}
        for place, name in enumerate(names_of(120))
    }
    run(rag.entity_chunks.upsert, rows)
    with Statements(database) as statements:
        found = run(rag.entity_chunks.get_by_ids, [*rows, "nobody"])
    with Statements(database) as one:
        run(rag.entity_chunks.get_by_id, "Entity 001")
    assert statements.count == one.count
    single = [run(rag.entity_chunks.get_by_id, name) for name in [*rows, "nobody"]]
    assert found == single
    assert found[-1] is None
    assert found[39]["chunk_ids"] == [f"c{number}" for number in range(39 - 32, 39)]


def made_up_batches(seed, project):
    """Several batches of memories of a few entities: some are related without being described."""
    chance = random.Random(seed)
    named = ["Redis", "Kafka", "Postgres", "Billing", "Search", "Ledger", "Hub"]
    for batch in range(6):
        yield [
            make_record(
                f"memory-{batch}-{place}",
                f"memory {place} of batch {batch}",
                entities=sorted({"Hub", *chance.sample(named, 3)}),
                relations=[tuple(chance.sample([*named, "Unnamed"], 2)) for _ in range(3)],
                project=project,
                hours=batch * 10 + place,
            )
            for place in range(chance.randint(1, 5))
        ]


def comparable(data):
    """What a node or edge says without when it was built, and in which order of the edges of one batch.

    Nor the type: LightRAG's depends on what came last, ours on what most say.
    """
    fields = {key: value for key, value in data.items() if key not in {"entity_type", "truncate"}}
    sources = {name: sorted(fields[name].split("<SEP>")) for name in ("source_id", "file_path")}
    return {**fields, **sources, "created_at": 0}


def graph_of(database, instance):
    workspace = instance.rag.workspace
    nodes = {
        name: (degree, comparable(data)) for name, data, degree in graph_dump.node_rows(database, workspace)
    }
    edges = {
        (source, target): (weight, comparable(data))
        for source, target, data, weight in graph_dump.edge_rows(database, workspace)
    }
    tracked = [
        {key: sorted(row["chunk_ids"]) for key, row in zip(keys, run(storage.get_by_ids, keys), strict=True)}
        for storage, keys in (
            (instance.rag.entity_chunks, list(nodes)),
            (instance.rag.relation_chunks, [names.relation_key(*pair) for pair in edges]),
        )
    ]
    with database.read() as connection:
        vectors = set(
            connection.execute(
                "SELECT namespace, id, subject, object, scale, vector FROM store_vectors"
                " WHERE workspace = ? AND namespace <> 'chunks'",
                [workspace],
            )
        )
    return nodes, edges, tracked, vectors


@pytest.mark.parametrize("seed", range(3))
def test_what_is_made_of_a_put_is_what_lightrags_merge_leaves_on_the_storages(store, database, seed):
    ours, theirs = store._engine.instance("ours"), store._engine.instance("theirs")
    from lightrag.operate import merge_nodes_and_edges

    batches = list(made_up_batches(seed, "ours"))
    for batch in batches:
        store.put(batch)
    run(
        merge_nodes_and_edges,
        # All at once: of many sentences LightRAG chooses anew at each merge, from those that it has left.
        chunk_results=[rows for batch in batches for one in batch for rows in records.merge_input(one)],
        knowledge_graph_inst=theirs.rag.chunk_entity_relation_graph,
        entity_vdb=theirs.rag.entities_vdb,
        relationships_vdb=theirs.rag.relationships_vdb,
        global_config=theirs.config,
        pipeline_status={},
        pipeline_status_lock=asyncio.Lock(),
        entity_chunks_storage=theirs.rag.entity_chunks,
        relation_chunks_storage=theirs.rag.relation_chunks,
    )
    for index in theirs.indexes():
        run(index.index_done_callback)
    for index in ours.indexes():
        # A question makes the vectors of names.
        run(index.query, "Redis and Hub", top_k=1)
    found, expected = graph_of(database, ours), graph_of(database, theirs)
    assert len(found[0]) == 8
    assert len(found[3]) == len(found[0]) + len(found[1])
    for name, (_, data) in found[0].items():
        # LightRAG leaves out the files of chunks that only relate an entity.
        wanted = expected[0][name][1]
        assert set(wanted.pop("file_path")) <= set(data.pop("file_path"))
        if name == "Unnamed":
            # Of an entity that is only related, LightRAG's description is that of one relation.
            assert wanted.pop("description")
            assert all("Unnamed" in part for part in data.pop("description").split("<SEP>"))
    assert found == expected


class Plans(Statements):
    """Keeps how SQLite carries out each statement, with the lists that it really gets."""

    def __enter__(self):
        self.statements = set()
        return super().__enter__()

    def add(self, statement):
        # To find the names without a vector, a question reads all names of its workspace.
        of_names = any(
            mark in statement
            for mark in ("ragmem_entity_id(", "ragmem_relation_id(", "SELECT count(*) FROM store_nodes")
        )
        if statement.split()[0] in {"SELECT", "DELETE", "UPDATE"} and "store_" in statement and not of_names:
            self.statements.add(statement)

    def weak(self):
        """The steps that read a table, or all rows of a workspace, with their statement."""
        for statement in sorted(self.statements):
            plan = [step for *_, step in self.connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
            # What was found before, and the values that were given.
            made = {step.split(" ", 1)[1] for step in plan if step.startswith(("CO-ROUTINE", "MATERIALIZE"))}
            for step in plan:
                scanned = re.fullmatch(r"SCAN (\S+|\d+ CONSTANT ROWS?)( USING .*)?", step)
                whole = scanned and scanned[1] not in made and not scanned[1].endswith(("ROW", "ROWS"))
                if whole or step.endswith(("(workspace=?)", "(workspace=? AND namespace=?)", "(space=?)")):
                    yield step, statement[:300]


def test_no_statement_of_a_put_a_query_or_a_deletion_reads_a_whole_table(store, database):
    def made_up(number):
        entities = ["Hub", *(f"Entity {number + step}" for step in range(3))]
        return make_record(
            f"memory-{number}",
            f"memory {number} speaks of {' and '.join(entities)}",
            entities=entities,
            relations=[(entities[0], entities[1]), (entities[1], entities[2])],
        )

    # As many as make SQLite think that reading everything is cheaper.
    memories = [made_up(number) for number in range(300)]
    project = memories[0].memory.scope.project
    store.put(memories[:10])
    with Plans(database) as plans:
        store.put(memories)
        for mode in ("naive", "local", "global", "hybrid", "mix"):
            store.native.native_query("Hub and Entity 7", mode, keywords=["Hub"], limit=200, project=project)
        store.delete([record.memory.id for record in memories])
    assert len(plans.statements) > 50
    assert list(plans.weak()) == []

"""The store on LightRAG's own storages keeps the contract of a store.

JSON files and PostgreSQL always; other servers where RAGMEM_TEST_* variables say how to reach them, named as
LightRAG names them: RAGMEM_TEST_NEO4J_URI, RAGMEM_TEST_NEO4J_USERNAME, ...
"""

import os
import uuid

import pytest

from ragmem.backends import fake, lightrag
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.testing import NativeModesContract, make_record


class TestJsonStore(NativeModesContract):
    def open_store(self, database):
        return lightrag.open_store({"profile": "json"}, fake.open_models({}), database=database)


@pytest.fixture(scope="module")
def template(postgres_server, tmp_path_factory):
    """Return the name of a database that has LightRAG's tables already, which takes it a second to make."""
    psycopg = pytest.importorskip("psycopg")
    name = f"template_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        url = postgres_server.replace("/postgres?", f"/{name}?")
        database = PostgresDatabase(url, tmp_path_factory.mktemp("template"))
        options = {"profile": "postgres", "url": url}
        store = lightrag.open_store(options, fake.open_models({}), database=database)
        record = make_record("first", "the first one")
        store.put([record])
        store.delete([record.memory.id])
        store.close()
        database.close()
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class TestPostgresStore(NativeModesContract):
    @pytest.fixture(autouse=True)
    def _databases(self, postgres_server, template):
        """One database for each folder: a test may compare two stores."""
        import psycopg

        self.url, self.template, self.made = postgres_server, template, {}
        with psycopg.connect(postgres_server, autocommit=True) as self.connection:
            yield
            for name in self.made.values():
                self.connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def open_database(self, tmp_path):
        if tmp_path not in self.made:
            self.made[tmp_path] = f"contract_{uuid.uuid4().hex}"
            self.connection.execute(f"CREATE DATABASE {self.made[tmp_path]} TEMPLATE {self.template}")
        return PostgresDatabase(self.url.replace("/postgres?", f"/{self.made[tmp_path]}?"), tmp_path / "home")

    def open_store(self, database):
        options = {"profile": "postgres", "url": database.url}
        return lightrag.open_store(options, fake.open_models({}), database=database)


# Server: (storages, variables that its storages need). What a server does not keep lies in LightRAG's files.
SERVERS = {
    "Neo4j": ({"graph": "Neo4JStorage"}, ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD")),
    "Memgraph": ({"graph": "MemgraphStorage"}, ("MEMGRAPH_URI",)),
    "Qdrant": ({"vector": "QdrantVectorDBStorage"}, ("QDRANT_URL",)),
    "Milvus": ({"vector": "MilvusVectorDBStorage"}, ("MILVUS_URI", "MILVUS_DB_NAME")),
    "Redis": ({"kv": "RedisKVStorage", "doc_status": "RedisDocStatusStorage"}, ("REDIS_URI",)),
    "MongoDB": (
        {
            "kv": "MongoKVStorage",
            "vector": "MongoVectorDBStorage",
            "graph": "MongoGraphStorage",
            "doc_status": "MongoDocStatusStorage",
        },
        ("MONGO_URI", "MONGO_DATABASE"),
    ),
    "OpenSearch": (
        {
            "kv": "OpenSearchKVStorage",
            "vector": "OpenSearchVectorDBStorage",
            "graph": "OpenSearchGraphStorage",
            "doc_status": "OpenSearchDocStatusStorage",
        },
        ("OPENSEARCH_HOSTS",),
    ),
}
FILES = {
    "kv": "JsonKVStorage",
    "vector": "NanoVectorDBStorage",
    "graph": "NetworkXStorage",
    "doc_status": "JsonDocStatusStorage",
}
PREFIX = "RAGMEM_TEST_"
# Read now: the tests themselves run without the variables of ragmem.
GIVEN = {name.removeprefix(PREFIX): value for name, value in os.environ.items() if name.startswith(PREFIX)}


class CustomStoreContract(NativeModesContract):
    """The contract on the profile custom."""

    STORAGES = FILES

    def open_store(self, database):
        options = {"profile": "custom", "storages": {**FILES, **self.STORAGES}, "environment": GIVEN}
        return lightrag.open_store(options, fake.open_models({}), database=database)


for server, (storages, variables) in SERVERS.items():
    if all(variable in GIVEN for variable in variables):
        name = f"Test{server}Store"
        globals()[name] = type(name, (CustomStoreContract,), {"STORAGES": storages})


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_that_was_named_is_held_to_the_contract(server):
    missing = [PREFIX + variable for variable in SERVERS[server][1] if variable not in GIVEN]
    if missing:
        pytest.skip(f"no {server} server was named: set {', '.join(missing)}")
    assert issubclass(globals()[f"Test{server}Store"], NativeModesContract)


@pytest.mark.parametrize(("server", "needs"), [(name, needs) for name, (_, needs) in SERVERS.items()])
def test_the_variables_that_a_server_needs_are_those_that_lightrag_asks_for(server, needs):
    from lightrag.kg import STORAGE_ENV_REQUIREMENTS, STORAGE_IMPLEMENTATIONS

    known = {name for kind in STORAGE_IMPLEMENTATIONS.values() for name in kind["implementations"]}
    for storage in SERVERS[server][0].values():
        assert storage in known
        assert set(STORAGE_ENV_REQUIREMENTS[storage]) == set(needs)

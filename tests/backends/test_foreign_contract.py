"""The store on LightRAG's own storages keeps the contract of a store."""

import uuid

import psycopg
import pytest

from ragmem.backends import fake, lightrag
from ragmem.catalog.postgres import PostgresDatabase
from ragmem.testing import StoreContract


class TestJsonStore(StoreContract):
    def open_store(self, database):
        return lightrag.open_store({"profile": "json"}, fake.open_models({}), database=database)


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _databases(self, postgres_server):
        """One database for each folder: a test may compare two stores."""
        self.url = postgres_server
        self.made = {}
        yield
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            for name in self.made.values():
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def open_database(self, tmp_path):
        if tmp_path not in self.made:
            self.made[tmp_path] = f"contract_{uuid.uuid4().hex}"
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {self.made[tmp_path]}")
        return PostgresDatabase(self.url.replace("/postgres?", f"/{self.made[tmp_path]}?"), tmp_path / "home")

    def open_store(self, database):
        options = {"profile": "postgres", "url": database.url}
        return lightrag.open_store(options, fake.open_models({}), database=database)

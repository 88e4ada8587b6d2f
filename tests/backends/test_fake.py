"""The fake backend keeps the contracts of the real ones."""

import subprocess
import sys

import pytest

from ragmem.backends import fake
from ragmem.catalog.postgres import PostgresDatabase
from ragmem.testing import ModelsContract, StoreContract


class TestFakeStore(StoreContract):
    def open_store(self, database):
        return fake.open_store({}, fake.open_models({}), database=database)


class TestFakeStoreInPostgres(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres):
        self.url = postgres

    def open_database(self, tmp_path):
        return PostgresDatabase(self.url, tmp_path / "home")

    def open_store(self, database):
        return fake.open_store({}, fake.open_models({}), database=database)


class TestFakeModels(ModelsContract):
    def open_models(self):
        return fake.open_models({})


def test_the_fake_backend_imports_nothing_heavy():
    code = "import sys, ragmem.backends.fake; print({'lightrag', 'pytest', 'asyncio'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_the_contracts_can_be_imported_without_pytest():
    code = "import sys; sys.modules['pytest'] = None; import ragmem.testing"
    subprocess.run([sys.executable, "-c", code], check=True)

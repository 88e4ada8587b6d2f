"""The fake backend keeps the contracts of the real ones."""

import contextlib
import json
import subprocess
import sys

import pytest

from ragmem.backends import fake
from ragmem.errors import BackendError
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.testing import LanguageModelContract, ModelsContract, NativeModesContract, RecordingMeter


class TestFakeStore(NativeModesContract):
    def open_store(self, database):
        return fake.open_store({}, fake.open_models({}), database=database)


class TestFakeStoreInPostgres(NativeModesContract):
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


class TestFakeLanguageModel(LanguageModelContract):
    def open_models(self, options):
        return fake.open_models({"language_model": "valid", **options})


EXTRACTION = {"type": "object", "properties": {"entities": {"type": "array"}, "relationships": {}}}


def test_without_a_name_there_is_no_language_model():
    assert fake.open_models({}).language_model is None


def test_an_unknown_language_model_is_refused_by_name():
    with pytest.raises(BackendError, match='"gpt"'):
        fake.open_models({"language_model": "gpt"})


def test_the_valid_one_finds_the_names_of_the_text():
    model = fake.open_models({"language_model": "valid"}).language_model
    answer = json.loads(model.complete("Billing uses Redis, and Billing is old.", json_schema=EXTRACTION))
    assert [one["name"] for one in answer["entities"]] == ["Billing", "Redis"]
    assert [(one["source"], one["target"]) for one in answer["relationships"]] == [("Billing", "Redis")]
    assert answer == json.loads(
        model.complete("Billing uses Redis, and Billing is old.", system="Return entities as JSON.")
    )


def test_the_garbage_is_of_every_kind_and_the_same_each_time():
    model = fake.open_models({"language_model": "garbage"}).language_model
    prompts = [f"Text {number} names Redis." for number in range(200)]
    answers = [model.complete(prompt, max_tokens=100_000, json_schema=EXTRACTION) for prompt in prompts]
    assert answers == [
        model.complete(prompt, max_tokens=100_000, json_schema=EXTRACTION) for prompt in prompts
    ]
    assert "" in answers
    assert max(len(answer) for answer in answers) > 50_000
    parsed = []
    for answer in answers:
        with contextlib.suppress(ValueError, RecursionError):
            parsed.append(json.loads(answer))
    assert 0 < len(parsed) < len(answers)
    assert any(not isinstance(value, dict) for value in parsed)


def test_the_one_that_is_down_is_counted_as_failed():
    meter = RecordingMeter()
    model = fake.open_models({"language_model": "down", "meter": meter}).language_model
    with pytest.raises(BackendError, match="down"):
        model.complete("Anything.")
    assert [call.error for call in meter.calls] == ["down"]


def test_the_fake_backend_imports_nothing_heavy():
    code = "import sys, ragmem.backends.fake; print({'lightrag', 'pytest', 'asyncio'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_the_contracts_can_be_imported_without_pytest():
    code = "import sys; sys.modules['pytest'] = None; import ragmem.testing"
    subprocess.run([sys.executable, "-c", code], check=True)

"""Vectors of two models side by side: nothing is lost, whoever writes meanwhile, and nothing stays behind."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag.vectors import second_model, vector_index
from ragmem.domain.model import USER
from ragmem.errors import BackendError, TextRejectionError
from ragmem.storage.activity.model_record import ACTIVE, NEXT, ModelRecord
from ragmem.storage.home.catalog import Catalog
from ragmem.testing import make_record
from ragmem.testing.two_models import ModelsToChange, TwoModelsContract

OLD = fake.open_models({}).embedder
NEW = fake.open_models({"model": "next", "dimensions": 64}).embedder


class TestTwoModels(TwoModelsContract):
    def open_store(self, database, models):
        return lightrag.open_store({}, models, database=database)

    def embedders(self):
        return OLD, NEW


def texts_of(records):
    texts = {chunk.id: chunk.searchable for record in records for chunk in record.chunks}
    return lambda chunks: {key: texts[key] for key in chunks if key in texts}


def refuse_none(reasons):
    raise AssertionError(reasons)


@pytest.fixture
def place(tmp_path):
    catalog = Catalog.at(tmp_path / "home")
    catalog.prepare()
    models = ModelsToChange(OLD)
    store = lightrag.open_store({}, models, database=catalog.database)
    yield catalog, store, models
    store.close()
    catalog.close()


def records(count, *, first=0):
    return [
        make_record(
            f"r{number}",
            f"tool{number} and what it is for",
            entities=(f"Tool{number}", "Hub"),
            relations=((f"Tool{number}", "Hub"),),
        )
        for number in range(first, first + count)
    ]


def make_names(store):
    """Ask one of LightRAG's modes, for which the names get vectors."""
    store.native.native_query("what is tool1 for", "hybrid", keywords=["Hub"], limit=5, project=USER)


def test_a_model_that_makes_vectors_of_another_length_under_its_name_is_told(place):
    _, store, models = place
    made = records(2)
    store.put(made)
    models.embedder = fake.open_models({"dimensions": 64}).embedder
    assert models.embedder.model_id == OLD.model_id

    told = "have 384 dimensions, but .* now makes 64"
    with pytest.raises(BackendError, match=told):
        store.search("what is tool1 for", limit=3)
    with pytest.raises(BackendError, match=told) as caught:
        store.put(records(1, first=5))

    assert "doctor --repair" in caught.value.hint
    models.embedder = OLD
    found = {hit.memory_id for hit in store.search("what is tool1 for", limit=9)}
    assert found == {record.memory.id for record in made}


def test_each_batch_is_kept_when_the_next_one_never_comes(place, monkeypatch):
    _, store, _ = place
    monkeypatch.setattr(second_model, "EMBEDDED_AT_ONCE", 4)
    made = records(10)
    store.put(made)
    make_names(store)
    filling = store.fill(NEW, texts_of(made), refuse_none)
    assert [next(filling), next(filling)] == [4, 4]
    filling.close()
    assert store.second_model(NEW.model_id)[0] == 8
    assert sum(store.fill(NEW, texts_of(made), refuse_none)) == store.second_model(NEW.model_id)[1] - 8
    assert list(store.fill(NEW, texts_of(made), refuse_none)) == []


def test_the_newest_chunks_come_first_and_before_the_graph(place, monkeypatch):
    catalog, store, _ = place
    monkeypatch.setattr(second_model, "EMBEDDED_AT_ONCE", 1)
    made = records(3)
    for record in made:
        store.put([record])
    make_names(store)
    for _ in store.fill(NEW, texts_of(made), refuse_none):
        pass
    with catalog.database.read() as connection:
        rows = connection.execute(
            "SELECT namespace, subject FROM store_vectors WHERE model = ? ORDER BY seq", (NEW.model_id,)
        ).fetchall()
    assert [subject for _, subject in rows[:3]] == [record.memory.id for record in reversed(made)]
    assert [namespace for namespace, _ in rows[3:]] == ["entities"] * 4 + ["relationships"] * 3


def test_a_chunk_whose_text_is_nowhere_holds_nothing_up(place):
    _, store, _ = place
    made = records(2)
    store.put(made)
    known = texts_of(made[:1])
    assert sum(store.fill(NEW, known, refuse_none)) == 1
    assert store.change_over(NEW.model_id, finish=lambda: None)


class Picky:
    """Rejects names of Tool1, but no text."""

    model_id, dimensions = NEW.model_id, NEW.dimensions

    def embed(self, texts, *, role):
        if any("Tool1" in text for text in texts):
            raise TextRejectionError("rejected")
        return NEW.embed(texts, role=role)


def test_a_rejected_name_keeps_no_change_from_ending(place):
    _, store, models = place
    made = records(3)
    store.put(made)
    make_names(store)
    total = store.second_model(OLD.model_id)[0]
    assert sum(store.fill(Picky(), texts_of(made), refuse_none)) == total - 2
    assert store.change_over(NEW.model_id, finish=lambda: setattr(models, "embedder", NEW))
    list(store.drop_others(NEW.model_id))
    assert store.check(deep=True) == []


def test_the_files_of_the_former_model_go_and_those_of_the_new_one_are_there(place, monkeypatch):
    catalog, store, models = place
    for module in (vector_index, lightrag.vectors.maintenance):
        monkeypatch.setattr(module, "EXACT_LIMIT", 5)
    monkeypatch.setattr(vector_index, "APPEND_FROM", 5)
    made = records(12)
    store.put(made)
    store.search("tool3", limit=1)
    folder = catalog.database.home / "vectors"
    before = {path for path in folder.iterdir() if path.is_dir()}
    assert len(before) == 1
    list(store.fill(NEW, texts_of(made), refuse_none))
    assert store.change_over(NEW.model_id, finish=lambda: setattr(models, "embedder", NEW))
    assert len({path for path in folder.iterdir() if path.is_dir()}) == 2
    list(store.drop_others(NEW.model_id))
    after = {path for path in folder.iterdir() if path.is_dir()}
    assert len(after) == 1
    assert not after & before
    assert store.search("tool3", limit=1)[0].memory_id == made[3].memory.id


def test_a_sweep_takes_what_a_killed_change_left_and_leaves_what_is_being_made(place):
    catalog, store, _ = place
    made = records(4)
    store.put(made)
    make_names(store)
    total = sum(store.fill(NEW, texts_of(made), refuse_none))
    catalog.models.write(ACTIVE, ModelRecord(OLD.model_id, OLD.dimensions))
    catalog.models.write(NEXT, ModelRecord(NEW.model_id, NEW.dimensions))
    assert set(store.sweep().values()) == {0}
    catalog.models.write(NEXT, None)
    assert store.sweep(dry_run=True)["vectors"] == total
    assert store.sweep()["vectors"] == total
    assert store.vector_models() == {(OLD.model_id, OLD.dimensions): total}
    assert store.check(deep=True) == []


def test_a_sweep_leaves_a_vector_of_another_model_where_there_is_no_better(place):
    catalog, store, _ = place
    store.put(records(3))
    catalog.models.write(ACTIVE, ModelRecord(NEW.model_id, NEW.dimensions))
    assert set(store.sweep().values()) == {0}


def test_a_repair_keeps_what_is_being_made_and_mends_the_rest(place):
    catalog, store, _ = place
    made = records(4)
    store.put(made)
    make_names(store)
    total = sum(store.fill(NEW, texts_of(made), refuse_none))
    catalog.models.write(ACTIVE, ModelRecord(OLD.model_id, OLD.dimensions))
    catalog.models.write(NEXT, ModelRecord(NEW.model_id, NEW.dimensions))
    with catalog.database.write() as connection:
        connection.execute(
            "DELETE FROM store_name_vectors WHERE model = ? AND subject = 'Hub'", (OLD.model_id,)
        )
        connection.execute(
            "DELETE FROM store_chunk_vectors WHERE model = (SELECT n FROM store_vector_models WHERE name = ?)"
            " AND chunk IN (SELECT c.n FROM store_chunks c JOIN store_documents d ON d.n = c.document"
            " WHERE d.id = ?)",
            (OLD.model_id, made[0].memory.id),
        )
    assert any("no vector" in line for line in store.check())
    store.repair()
    assert store.memory_ids() == {record.memory.id for record in made[1:]}
    store.put(made)
    assert store.check(deep=True) == []
    assert 0 < store.second_model(NEW.model_id)[0] < total


class Changing(RuleBasedStateMachine):
    """Puts, replacements, deletes and steps of a change, in any order."""

    names = st.integers(0, 5)

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.catalog = Catalog.at(Path(self.folder.name) / "home")
        self.catalog.prepare()
        self.models = ModelsToChange(OLD)
        self.store = lightrag.open_store({}, self.models, database=self.catalog.database)
        self.other = NEW
        self.texts = {}
        self.held = {}
        self.filling = None

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            self.catalog.close()
            self.folder.cleanup()

    @rule(name=names, words=st.sampled_from(["red", "green", "blue"]), hub=st.booleans())
    def put(self, name, words, hub):
        record = make_record(
            f"m{name}",
            f"{words} memory number{name}",
            entities=(f"E{name}", "Hub") if hub else (f"E{name}",),
            relations=((f"E{name}", "Hub"),) if hub else (),
        )
        self.texts |= {chunk.id: chunk.searchable for chunk in record.chunks}
        self.store.put([record])
        self.held[name] = record

    @rule(name=names)
    def delete(self, name):
        record = self.held.pop(name, None)
        if record is not None:
            self.store.delete([record.memory.id])

    @rule()
    def step(self):
        if self.filling is None:
            self.filling = self.store.fill(
                self.other, lambda chunks: {key: self.texts[key] for key in chunks}, refuse_none
            )
        if next(self.filling, None) is None:
            self.filling = None

    @precondition(lambda self: self.filling is not None)
    @rule()
    def interrupt(self):
        self.filling.close()
        self.filling = None

    @rule()
    def change_over(self):
        former = self.models.embedder
        if self.store.change_over(
            self.other.model_id, finish=lambda: setattr(self.models, "embedder", self.other)
        ):
            self.other = former
            self.filling = None
            list(self.store.drop_others(self.models.embedder.model_id))

    @invariant()
    def everything_is_found(self):
        if hasattr(self, "store"):
            assert self.store.check(deep=True) == []
            for record in self.held.values():
                (hit,) = self.store.search(record.memory.text, limit=1)
                assert (hit.memory_id, hit.score > 0.95) == (record.memory.id, True)


TestChanging = Changing.TestCase
TestChanging.settings = settings(
    max_examples=12,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

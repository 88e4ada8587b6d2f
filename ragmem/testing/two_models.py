"""The contract of a store that holds vectors of two models while one replaces the other."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.domain.model import Record
from ragmem.errors import TextRejectionError
from ragmem.ports import Embedder, LanguageModel, Models, Role, Store, TwoModels
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.testing.stores import make_record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ModelsToChange:
    """Models whose embedder a test changes; satisfies ports.Models."""

    language_model: LanguageModel | None = None

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Do nothing: nothing was loaded."""


def _refuse_none(reasons: Mapping[str, str]) -> None:
    raise AssertionError(reasons)


class _InterruptedEmbedder:
    """An embedder that triggers an event before it embeds."""

    def __init__(self, embedder: Embedder, event: Callable[[], bool]) -> None:
        self.model_id, self.dimensions = embedder.model_id, embedder.dimensions
        self._embedder = embedder
        self._event = event

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Return the vectors, after the event."""
        assert self._event()
        return self._embedder.embed(texts, role=role)


class _PickyEmbedder:
    """An embedder that rejects some texts."""

    def __init__(self, embedder: Embedder, rejected: Collection[str]) -> None:
        self.model_id, self.dimensions = embedder.model_id, embedder.dimensions
        self._embedder = embedder
        self._rejected = rejected

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Return the vectors of texts of which none is rejected."""
        if any(text in self._rejected for text in texts):
            raise TextRejectionError("rejected")
        return self._embedder.embed(texts, role=role)


class TwoModelsContract:
    """The contract of a store with `two_models`; override `open_store` and `embedders`."""

    RECORDS = tuple(
        make_record(
            f"record-{number}",
            f"tool{number} is used by the service{number % 3}",
            entities=(f"Tool{number}", f"Service{number % 3}"),
            relations=((f"Service{number % 3}", f"Tool{number}"),),
            hours=number,
        )
        for number in range(6)
    )

    def open_store(self, database: Database, models: Models) -> Store:
        """Return the store under test on this database."""
        raise NotImplementedError

    def embedders(self) -> tuple[Embedder, Embedder]:
        """Return two embedders with different ids and numbers of dimensions, which distinguish words."""
        raise NotImplementedError

    def open_database(self, tmp_path: Path) -> Database:
        """Return a new, empty database for a store; override it for another database than SQLite."""
        return SQLiteDatabase(tmp_path / "home")

    @contextlib.contextmanager
    def _open_store(self, tmp_path: Path) -> Iterator[tuple[Store, TwoModels, ModelsToChange]]:
        database = self.open_database(tmp_path)
        models = ModelsToChange(self.embedders()[0])
        store = self.open_store(database, models)
        assert store.two_models is not None
        try:
            store.put(self.RECORDS)
            yield store, store.two_models, models
        finally:
            store.close()
            database.close()

    def _texts(self, chunks: Mapping[str, str]) -> dict[str, str]:
        texts = {chunk.id: chunk.searchable for record in self.RECORDS for chunk in record.chunks}
        return {key: texts[key] for key in chunks}

    def _is_found(self, store: Store, record: Record) -> bool:
        hits = store.search(record.memory.text, limit=1)
        return bool(hits) and hits[0].memory_id == record.memory.id and hits[0].score > 0.95

    def test_the_old_vectors_answer_until_the_new_ones_are_complete(self, tmp_path: Path) -> None:
        """A search uses the model of `models`, and the other one after the change."""
        old, new = self.embedders()
        with self._open_store(tmp_path) as (store, two, models):
            total = store.second_model(old.model_id)[1]
            assert store.second_model(new.model_id) == (0, total)
            for _ in two.fill(new, self._texts, _refuse_none):
                assert all(self._is_found(store, record) for record in self.RECORDS)
            assert store.second_model(new.model_id) == (total, total)
            assert two.change_over(new.model_id, finish=lambda: setattr(models, "embedder", new))
            assert all(self._is_found(store, record) for record in self.RECORDS)
            assert sum(two.drop_others(new.model_id)) == total
            assert store.vector_models() == {(new.model_id, new.dimensions): total}
            assert all(self._is_found(store, record) for record in self.RECORDS)
            assert store.check(deep=True) == []

    def test_nothing_changes_over_while_a_vector_lacks(self, tmp_path: Path) -> None:
        """A record that was put after a pass keeps the old model in place until the next pass."""
        _, new = self.embedders()
        with self._open_store(tmp_path) as (store, two, _):
            finished: list[bool] = []
            assert not two.change_over(new.model_id, finish=lambda: finished.append(True))
            store.delete([self.RECORDS[0].memory.id])
            assert sum(two.fill(new, self._texts, _refuse_none))
            store.put(self.RECORDS[:1])
            assert not two.change_over(new.model_id, finish=lambda: finished.append(True))
            assert not finished
            assert sum(two.fill(new, self._texts, _refuse_none))
            assert two.change_over(new.model_id, finish=lambda: finished.append(True))
            assert finished

    def test_a_rejected_text_stops_no_other_and_not_the_change(self, tmp_path: Path) -> None:
        """Its memory is given to `refuse`, which removes it."""
        _, new = self.embedders()
        bad = self.RECORDS[3]
        picky = _PickyEmbedder(new, [chunk.searchable for chunk in bad.chunks])
        with self._open_store(tmp_path) as (store, two, models):
            refused: dict[str, str] = {}

            def refuse(reasons: Mapping[str, str]) -> None:
                refused.update(reasons)
                store.delete(list(reasons))

            assert sum(two.fill(picky, self._texts, refuse))
            assert refused == {bad.memory.id: "rejected"}
            assert two.change_over(new.model_id, finish=lambda: setattr(models, "embedder", new))
            assert sum(two.drop_others(new.model_id))
            assert [self._is_found(store, one) for one in self.RECORDS] == [
                one is not bad for one in self.RECORDS
            ]
            assert store.check(deep=True) == []

    def test_a_delete_takes_the_vectors_of_both(self, tmp_path: Path) -> None:
        """Afterwards the memories have no vectors of any model."""
        old, new = self.embedders()
        with self._open_store(tmp_path) as (store, two, _):
            assert sum(two.fill(new, self._texts, _refuse_none))
            store.delete([record.memory.id for record in self.RECORDS[1:]])
            assert store.second_model(new.model_id) == store.second_model(old.model_id)
            store.delete([self.RECORDS[0].memory.id])
            assert dict(store.vector_models()) == {}
            assert not store.has_vectors_of(new.model_id)
            assert store.model_of_most() is None

    def test_a_put_that_met_the_change_has_vectors_of_the_new_model(self, tmp_path: Path) -> None:
        """It embedded with the old model, and another process changed over before it took the lock."""
        old, new = self.embedders()
        with self._open_store(tmp_path) as (store, two, models):
            store.delete([self.RECORDS[0].memory.id])
            assert sum(two.fill(new, self._texts, _refuse_none))

            models.embedder = _InterruptedEmbedder(
                old,
                lambda: two.change_over(new.model_id, finish=lambda: setattr(models, "embedder", new)),
            )
            store.put(self.RECORDS[:1])
            assert models.embedder is new
            assert self._is_found(store, self.RECORDS[0])
            assert sum(two.drop_others(new.model_id))
            assert store.check(deep=True) == []
